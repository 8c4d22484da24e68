// Sums by hand on meshes of two axes: rows of which every device has a part are summed by what goes
// round inside the unit. One is taken for the sum over an axis where what every device adds is
// that; what only looks so, if axes, numbers of devices or widths are confused, is refused.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/trial.h"

#define ROW "f32[ffn=3]"
#define MOVE(to, from, axes, shift)                                                                \
    "%" to ".sent = permute(%" from ") {axes=" axes ", shift=" #shift "} : " ROW "\n"              \
    "%" to " = wait(%" to ".sent) : " ROW "\n"
#define ADD(to, left, right) "%" to " = add(%" left ", %" right ") : " ROW "\n"
#define REDUCE(to, from, axes)                                                                     \
    "%" to ".sent = all_reduce(%" from ") {axes=" axes "} : " ROW "\n"                             \
    "%" to " = wait(%" to ".sent) : " ROW "\n"
#define PAIR(to, from, axis, shift) MOVE(from ".far", from, axis, shift) ADD(to, from, from ".far")

struct sum {
    const char *name;
    int a, b;            // devices along the axes
    const char *reduce;  // the narrowest type of a sum over devices
    const char *ops;     // of %own, the sum %all over both axes
    const char *refused; // with which code; NULL: it is right
};

static const struct sum sums[] = {
    {"of pairs along one axis", 2, 2, "f32", PAIR("s", "own", "a", 1) REDUCE("all", "s", "b"),
     NULL},
    {"along one axis and then the other", 2, 2, "f32",
     PAIR("s", "own", "a", 1) PAIR("all", "s", "b", 1), NULL},
    {"of as many devices as are counted", 64, 1, "f32",
     PAIR("s1", "own", "a", 32) PAIR("s2", "s1", "a", 16) PAIR("s3", "s2", "a", 8)
         PAIR("s4", "s3", "a", 4) PAIR("s5", "s4", "a", 2) PAIR("all", "s5", "a", 1),
     NULL},
    {"of as many among more than are counted", 128, 1, "f32",
     PAIR("s1", "own", "a", 32) PAIR("s2", "s1", "a", 16) PAIR("s3", "s2", "a", 8)
         PAIR("s4", "s3", "a", 4) PAIR("s5", "s4", "a", 2) PAIR("all", "s5", "a", 1),
     "E413"},
    {"of two that differ along both axes", 2, 2, "f32",
     PAIR("s", "own", "a*b", 1) REDUCE("all", "s", "b"), "E413"},
    {"of one, moved along one axis and then the other", 2, 2, "f32",
     MOVE("near", "own", "a", 1) PAIR("s", "near", "b", 1) REDUCE("all", "s", "b"), "E413"},
    {"of two along one axis, and one along the other", 3, 2, "f32",
     PAIR("s", "own", "a", 2) MOVE("other", "own", "b", 1) ADD("t", "s", "other")
         REDUCE("all", "t", "b"),
     "E413"},
    {"of copies", 2, 2, "f32", REDUCE("s", "own", "a*b") PAIR("all", "s", "a", 1), "E413"},
    {"of three in a chain", 3, 1, "f32",
     PAIR("s", "own", "a", 1) MOVE("last", "own", "a", 2) ADD("all", "s", "last"), "E513"},
    {"of pairs of neighbours", 4, 1, "f32", PAIR("s", "own", "a", 1) PAIR("all", "s", "a", 2),
     "E513"},
    {"of three, of which one comes twice", 3, 1, "f32",
     PAIR("s", "own", "a", 1) MOVE("last", "own", "a", 2) ADD("t", "own.far", "last")
         ADD("all", "s", "t"),
     "E413"},
    {"of pairs of pairs and a chain", 8, 1, "f32",
     PAIR("s2", "own", "a", 4) PAIR("s4", "s2", "a", 2) MOVE("m1", "own", "a", 1)
         MOVE("m3", "own", "a", 3) MOVE("m5", "own", "a", 5) MOVE("m7", "own", "a", 7) ADD(
             "t2", "m1", "m3") ADD("t3", "t2", "m5") ADD("t4", "t3", "m7") ADD("all", "s4", "t4"),
     "E513"},
    {"narrower than a sum over devices may be", 2, 1, "f64", PAIR("all", "own", "a", 1), "E413"},
};

static void read_program(struct trial *t, const struct sum *sum, const char *reduce,
                         const char *ops) {
    static const char program[] =
        "step main {\naxis a = %d\naxis b = %d\n"
        "sizes batch = 16 sequence = 2 microbatches = 1 layers = 1 vocab = 3\n"
        "policy parameters = f32 master = none moments = f32 gradients = f32 compute = f32\n"
        "  accumulate = f32 gather = f32 reduce = %s reproducible = 0\n"
        "arena 100000\n"
        "tensor w [hidden=%d, ffn=3] role norm init ones saved \"w\"\n"
        "tensor sum [ffn=3] role norm init ones saved \"sum\"\n"
        "buffer w : parameters f32[hidden=%d/a*b, ffn=3] of w at 1024\n"
        "buffer sum : parameters f32[ffn=3] of sum at 1536\n"
        "buffer length : output f64[] host grad_norm at 2048\n"
        "train { call square(x = w) -> (y = length, all = sum) }\n}\n"
        "unit main.square {\nphase forward\nparameter %%x : f32[hidden=1, ffn=3]\n"
        "result %%y\nresult %%all\n"
        "%%own = sum_rows(%%x) {keep=1} : " ROW "\n%s%%y = square_sum(%%all) : f64[] out }\n";
    int devices = sum->a * sum->b;
    trial_read(t, arena_format(&t->arena, program, sum->a, sum->b, reduce, devices, devices, ops));
}

static bool is_judged_right(const struct sum *sum) {
    struct trial t = {0};
    t.diagnostics = diagnostics_new(&t.arena, &t.sources);
    read_program(&t, sum, "f32", REDUCE("all", "own", "a*b"));
    t.reference = t.program;
    read_program(&t, sum, sum->reduce, sum->ops);
    trial_judge(&t);
    struct expected_verdict expected = {sum->refused, NULL, NULL};
    return trial_end(&t, trial_is_as_expected(&t, expected), sum->name, expected);
}

static void a_sum_is_taken_for_what_it_is(void **state) {
    unsigned n_failed = 0;
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
        n_failed += !is_judged_right(&sums[i]);
    assert_int_equal(n_failed, 0);
}

// A number for which every device adds in an order of its own, and what it is for.
struct number {
    const char *name, *role, *ops;
    const char *refused, *at; // NULL: it is right; anything
};

static const struct number numbers[] = {
    {"that is reported", "grad_norm", "%q = cast(%x) : f32[hidden=1, ffn=3] in %x", NULL, NULL},
    {"that the host carries to the next step", "next_updates",
     "%q = cast(%x) : f32[hidden=1, ffn=3] in %x", "E513", "y : output"},
    {"by which shards are updated", "grad_norm",
     "%q = sgd(%x, %x, %y, %y) {weight_decay=0.5} : f32[hidden=1, ffn=3] in %x", "E513",
     "%q = sgd"},
    {"by which shards are updated or not", "grad_norm",
     "%silu = silu(%x) : f32[hidden=1, ffn=3]\n"
     "%q = unless_skipped(%x, %silu, %y) : f32[hidden=1, ffn=3] in %x",
     "E513", "%q = unless_skipped"},
};

static void read_number(struct trial *t, const struct number *number, const char *sum) {
    static const char program[] =
        "step main {\naxis a = 3\n"
        "sizes batch = 16 sequence = 2 microbatches = 1 layers = 1 vocab = 3\n"
        "policy parameters = f32 master = none moments = f32 gradients = f32 compute = f32\n"
        "  accumulate = f32 gather = f32 reduce = f32 reproducible = 0\n"
        "arena 100000\n"
        "tensor w [hidden=3, ffn=3] role norm init ones saved \"w\"\n"
        "buffer w : parameters f32[hidden=3/a, ffn=3] of w at 1024\n"
        "buffer y : output f64[] host %s at 2048\n"
        "train { call update(x = w) -> (y = y) }\n}\n"
        "unit main.update {\nphase update\nparameter %%x : f32[hidden=1, ffn=3]\n"
        "result %%y\nresult %%q in %%x\n"
        "%%own = sum_rows(%%x) {keep=1} : " ROW "\n%s%%y = square_sum(%%all) : f64[] out\n";
    const char *head = arena_format(&t->arena, program, number->role, sum);
    trial_read(t, arena_format(&t->arena, "%s%s\n}\n", head, number->ops));
}

static bool is_number_judged_right(const struct number *number) {
    struct trial t = {0};
    t.diagnostics = diagnostics_new(&t.arena, &t.sources);
    read_number(&t, number, REDUCE("all", "own", "a"));
    t.reference = t.program;
    read_number(&t, number,
                PAIR("s", "own", "a", 1) MOVE("last", "own", "a", 2) ADD("all", "s", "last"));
    trial_judge(&t);
    struct expected_verdict expected = {number->refused, number->at, NULL};
    return trial_end(&t, trial_is_as_expected(&t, expected), number->name, expected);
}

static void what_decides_is_one_number(void **state) {
    unsigned n_failed = 0;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        n_failed += !is_number_judged_right(&numbers[i]);
    assert_int_equal(n_failed, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_sum_is_taken_for_what_it_is),
                                       cmocka_unit_test(what_decides_is_one_number)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
