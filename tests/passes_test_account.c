// The account of plans written by hand, in which buffers lie where no plan of the compiler's would
// put them: the parts are of the arena's bytes, so they sum to its size whatever shares bytes. And
// of sums, by which route they go.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ir/limits.h"
#include "passes/passes.h"
#include "tests/program_edit.h"

// Layers of `x` are read in descending order, and below the one that is read those of `y` are
// written: they may share bytes, though both buffers live as long as the loop.
static const char taking_turns[] =
    "step main {\n"
    "  sizes batch = 1 sequence = 1 microbatches = 1 layers = 4 vocab = 1\n"
    "  policy parameters = f64 master = none moments = f64 gradients = f64\n"
    "       compute = f64 accumulate = f64 gather = f64 reduce = f64 reproducible = 0\n"
    "  arena 384\n"
    "  buffer in : input f64[hidden=4] at 0\n"
    "  buffer out : output f64[hidden=4] at 32\n"
    "  buffer x : activations f64[hidden=4] layers 4 at 64\n"
    "  buffer y : %s f64[hidden=4] layers 4 at %d\n"
    "  train {\n"
    "    for l = 0 .. 4 {\n"
    "      call copy(a = in) -> (b = x[l])\n"
    "    }\n"
    "    for l = 0 .. 4 descending {\n"
    "      call copy(a = x[l]) -> (b = out)\n"
    "      call copy(a = in) -> (b = y[l])\n"
    "    }\n"
    "    for l = 0 .. 4 {\n"
    "      call copy(a = y[l]) -> (b = out)\n"
    "    }\n"
    "  }\n"
    "}\n";
static const char units[] = UNIT_COPY;

struct parts {
    int64_t gradients, activations, transient;
};

static void assert_parts(const char *class_of_y, int offset_of_y, struct parts expected) {
    struct arena arena = {0};
    const char *step = arena_format(&arena, taking_turns, class_of_y, offset_of_y);
    const char *text = arena_format(&arena, "%s%s", step, units);
    const struct account_arena *found =
        &account(program_read(&arena, text, 0), &arena)->arenas[TIER_DEVICE];
    assert_int_equal(found->peak, 384);
    assert_int_equal(found->states[STATE_GRADIENTS], expected.gradients);
    assert_int_equal(found->states[STATE_ACTIVATIONS], expected.activations);
    assert_int_equal(found->transient, expected.transient);
    arena_free(&arena);
}

static void buffers_apart_are_added_up(void **state) {
    assert_parts("activations", 192, (struct parts){0, 256, 128});
    assert_parts("gradients", 192, (struct parts){128, 128, 128});
    assert_parts("transient", 192, (struct parts){0, 128, 256});
}

static void bytes_that_buffers_share_count_once(void **state) {
    assert_parts("activations", 96, (struct parts){0, 160, 224});
    assert_parts("activations", 64, (struct parts){0, 128, 256});
}

// In the order of the states; what is of none comes last.
static void shared_bytes_are_of_the_first_state(void **state) {
    assert_parts("gradients", 96, (struct parts){128, 32, 224});
    assert_parts("transient", 96, (struct parts){0, 128, 256});
}

// ---- routes -----------------------------------------------------------------------------------

// One all_reduce in a step, of values of a type and a length, among so many.
static struct account_transfer transfer_of(struct arena *arena, int64_t members, const char *dtype,
                                           int64_t length) {
    static const char step[] =
        "step main {\n"
        "  axis dp = %ld\n"
        "  sizes batch = 1 sequence = 1 microbatches = 1 layers = 1 vocab = 1\n"
        "  policy parameters = f64 master = none moments = f64 gradients = f64\n"
        "       compute = f64 accumulate = f64 gather = f64 reduce = f64 reproducible = 0\n"
        "  arena 65536\n"
        "  buffer x : input %s[hidden=%ld] at 0\n"
        "  buffer y : output %s[hidden=%ld] at 32768\n"
        "  train {\n"
        "    start all_reduce over dp as sum[0] { x -> y }\n"
        "    wait sum[0]\n"
        "  }\n"
        "}\n";
    const char *text =
        arena_format(arena, step, (long)members, dtype, (long)length, dtype, (long)length);
    const struct account *found = account(program_read(arena, text, 0), arena);
    assert_int_equal(found->n_transfers, 1);
    assert_int_equal(found->total_bytes, found->transfers[0].bytes);
    return found->transfers[0];
}

static void assert_route(int64_t members, const char *dtype, int64_t length,
                         struct account_transfer expected) {
    struct arena arena = {0};
    struct account_transfer found = transfer_of(&arena, members, dtype, length);
    assert_int_equal(found.bytes, expected.bytes);
    assert_int_equal(found.n_rings, expected.n_rings);
    assert_int_equal(found.n_direct, expected.n_direct);
    assert_int_equal(found.n_doubling, expected.n_doubling);
    assert_int_equal(found.direct_bytes, expected.n_direct ? expected.bytes : 0);
    assert_int_equal(found.doubling_bytes, expected.n_doubling ? expected.bytes : 0);
    arena_free(&arena);
}

// To all others at once up to the limit; beyond it the logarithm, rounded up, of the members, or
// some rounds more where the tree has leaves without one.
static void small_sums_go_to_all_while_these_are_few(void **state) {
    const int64_t few = LIMIT_DIRECT_MEMBERS;
    assert_route(few, "f64", 5, (struct account_transfer){.n_direct = 1, .bytes = (few - 1) * 40});
    assert_route(2 * few, "f64", 5,
                 (struct account_transfer){.n_doubling = 1,
                                           .bytes = exchange_rounds(2 * few) * INT64_C(40)});
    assert_route(16384, "f64", 1, (struct account_transfer){.n_doubling = 1, .bytes = 14 * 8});
    assert_route(12288, "f64", 1, (struct account_transfer){.n_doubling = 1, .bytes = 14 * 8});
    assert_route(33, "f32", 1, (struct account_transfer){.n_doubling = 1, .bytes = 9 * 4});
}

// Partial sums of 16 bits are singles. What is longer is cut into chunks, whatever the members.
static void partial_sums_travel_as_they_are_added(void **state) {
    assert_route(64, "bf16", 2048,
                 (struct account_transfer){.n_doubling = 1, .bytes = 6 * 2048 * 4});
    assert_route(64, "f16", 2048,
                 (struct account_transfer){.n_doubling = 1, .bytes = 6 * 2048 * 4});
    assert_route(64, "bf16", 2049,
                 (struct account_transfer){.n_rings = 1, .bytes = 2 * 63 * 33 * 2});
    assert_route(8, "bf16", 2048, (struct account_transfer){.n_direct = 1, .bytes = 7 * 2048 * 2});
}

// Whoever sends most is found without looking at all; nobody sends more than twice the rounds.
static void the_most_is_what_some_member_sends(void **state) {
    for (int64_t members = 1; members < 1100; members++) {
        int64_t most = 0, rounds = exchange_rounds(members);
        for (int64_t place = 0; place < members; place++) {
            int64_t sent = exchange_partials_sent(members, place);
            most = sent > most ? sent : most;
        }
        assert_int_equal(exchange_most_partials(members), most);
        assert_true(most <= 2 * rounds);
        assert_true((members & (members - 1)) || most == rounds);
    }
    assert_int_equal(exchange_most_partials(LIMIT_DEVICES), 24);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buffers_apart_are_added_up),
        cmocka_unit_test(bytes_that_buffers_share_count_once),
        cmocka_unit_test(shared_bytes_are_of_the_first_state),
        cmocka_unit_test(small_sums_go_to_all_while_these_are_few),
        cmocka_unit_test(partial_sums_travel_as_they_are_added),
        cmocka_unit_test(the_most_is_what_some_member_sends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
