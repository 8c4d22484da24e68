// The account of plans written by hand, in which buffers lie where no plan of the compiler's would
// put them: the parts are of the arena's bytes, so they sum to its size whatever shares bytes.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

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
    const struct account *found = account(program_read(&arena, text, 0), &arena);
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buffers_apart_are_added_up),
        cmocka_unit_test(bytes_that_buffers_share_count_once),
        cmocka_unit_test(shared_bytes_are_of_the_first_state),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
