// Lifetimes: what the memory plan may put on the same bytes, of schedules as text; and that derived
// programs make nothing that they do not use.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "passes/schedule/uses.h"
#include "tests/derive.h"
#include "tests/program_edit.h"
#include "tests/tiny_strategies.h"

static const char head[] =
    "step main {\n"
    "  sizes batch = 1 sequence = 1 microbatches = 1 layers = 4 vocab = 1\n"
    "  policy parameters = f64 master = none moments = f64 gradients = f64\n"
    "       compute = f64 accumulate = f64 gather = f64 reduce = f64 reproducible = 0\n"
    "  buffer in : input f64[hidden=4]\n"
    "  buffer out : output f64[hidden=4]\n"
    "  buffer x : activations f64[hidden=4] layers 5\n"
    "  buffer slot : transient f64[hidden=4] slots 3\n"
    "  buffer one : transient f64[hidden=4]\n"
    "  buffer two : transient f64[hidden=4]\n"
    "  train {\n";
static const char units[] = "  }\n"
                            "}\n" UNIT_COPY;

// Whether the plan gives two buffers bytes in common.
static bool share_bytes(const char *body, const char *first, const char *second) {
    struct arena arena = {0};
    const char *text = arena_format(&arena, "%s%s%s", head, body, units);
    struct program *program = program_read(&arena, text, 0);
    assert_true(passes_run(program->job, &(struct pass_context){0}, PASS_FUSE, PASS_MEMORY));
    const struct buffer *a = &program->buffers[program_find_buffer(program, first)];
    const struct buffer *b = &program->buffers[program_find_buffer(program, second)];
    bool share = a->offset_bytes < b->offset_bytes + buffer_bytes(program, b) &&
                 b->offset_bytes < a->offset_bytes + buffer_bytes(program, a);
    arena_free(&arena);
    return share;
}

static void what_is_used_in_one_iteration_shares(void **state) {
    assert_true(share_bytes("    for l = 0 .. 4 {\n"
                            "      call copy(a = in) -> (b = one)\n"
                            "      call copy(a = one) -> (b = out)\n"
                            "      call copy(a = in) -> (b = slot[0])\n"
                            "      call copy(a = slot[0]) -> (b = out)\n"
                            "    }\n",
                            "one", "slot"));
}

static void what_crosses_iterations_does_not(void **state) {
    assert_false(share_bytes("    for l = 0 .. 4 {\n"
                             "      call copy(a = in) -> (b = one)\n"
                             "      call copy(a = one) -> (b = out)\n"
                             "      call copy(a = in) -> (b = x[l+1])\n"
                             "      call copy(a = x[l]) -> (b = out)\n"
                             "    }\n",
                             "one", "x"));
}

// From one group to the next, by the variable of the loop inside.
static void nor_does_what_crosses_groups(void **state) {
    assert_false(share_bytes("    for g = 0 .. 2 {\n"
                             "      call copy(a = in) -> (b = one)\n"
                             "      call copy(a = one) -> (b = out)\n"
                             "      for l = 2*g .. 2*g+2 {\n"
                             "        call copy(a = in) -> (b = slot[l+1 mod 3])\n"
                             "        call copy(a = slot[l mod 3]) -> (b = out)\n"
                             "      }\n"
                             "    }\n",
                             "one", "slot"));
    assert_true(share_bytes("    for g = 0 .. 2 {\n"
                            "      call copy(a = in) -> (b = one)\n"
                            "      call copy(a = one) -> (b = out)\n"
                            "      for l = 0 .. 2 {\n"
                            "        call copy(a = in) -> (b = slot[l])\n"
                            "        call copy(a = slot[l]) -> (b = out)\n"
                            "      }\n"
                            "    }\n",
                            "one", "slot"));
}

#define USE_ONE                                                                                    \
    "      call copy(a = in) -> (b = one)\n"                                                       \
    "      call copy(a = one) -> (b = out)\n"
#define USE_TWO                                                                                    \
    "      call copy(a = in) -> (b = two)\n"                                                       \
    "      call copy(a = two) -> (b = out)\n"

// Though each is used before and behind the other, in loops and outside.
static void what_takes_turns_shares(void **state) {
    assert_true(share_bytes(USE_ONE USE_TWO USE_ONE USE_TWO, "one", "two"));
    assert_true(share_bytes(USE_ONE USE_TWO "    for l = 0 .. 4 {\n" USE_TWO USE_ONE USE_TWO
                                            "    }\n" USE_ONE,
                            "one", "two"));
}

// None of its iterations can say that it is not the last one.
static void what_a_loop_leaves_lives_in_all_of_it(void **state) {
    assert_false(share_bytes(USE_TWO "    for l = 0 .. 4 {\n" USE_TWO USE_ONE "    }\n"
                                     "      call copy(a = one) -> (b = out)\n" USE_TWO,
                             "one", "two"));
}

static void what_is_still_needed_does_not(void **state) {
    assert_false(
        share_bytes(USE_ONE USE_TWO "      call copy(a = one) -> (b = out)\n", "one", "two"));
    // In the next iteration, or behind the loop.
    assert_false(share_bytes("      call copy(a = in) -> (b = one)\n"
                             "    for l = 0 .. 4 {\n"
                             "      call copy(a = one) -> (b = out)\n"
                             "      call copy(a = in) -> (b = one)\n" USE_TWO "    }\n",
                             "one", "two"));
    assert_false(share_bytes("    for l = 0 .. 4 {\n" USE_ONE USE_TWO "    }\n"
                             "      call copy(a = one) -> (b = out)\n",
                             "one", "two"));
    // What was there before a loop that may write it too late.
    assert_false(share_bytes("      call copy(a = in) -> (b = one)\n"
                             "    for l = 0 .. 4 {\n" USE_TWO "    }\n"
                             "      call copy(a = one) -> (b = out)\n",
                             "one", "two"));
}

// An item that is alive during one statement only was made for nothing, and dies in some iterations
// of a loop perhaps, behind which no free can stand.
static void what_is_made_is_used(void **state) {
    for (int i = 0; i < 2 * N_TINY_STRATEGIES; i++) {
        struct arena arena = {0};
        const char *name = tiny_strategy_names[i / 2];
        struct config config = tiny_strategy_config(&arena, i % 2 ? FAMILY_GPT2 : FAMILY_LLAMA,
                                                    (enum tiny_strategy)(i / 2), 1 + i % 2);
        const struct program *program = derive_program(&arena, &config, PASS_MEMORY, NULL);
        assert_non_null(program);
        struct uses uses = uses_of(program, STEP_TRAIN, &arena);
        for (uint32_t k = 0; k < uses.n_lives; k++) {
            const struct life *life = &uses.lives[k];
            if (life->first == life->last)
                fail_msg("%s: %s[%d] is made and not used", name,
                         program->buffers[life->buffer].name, (int)life->item);
        }
        arena_free(&arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_used_in_one_iteration_shares),
        cmocka_unit_test(what_crosses_iterations_does_not),
        cmocka_unit_test(nor_does_what_crosses_groups),
        cmocka_unit_test(what_takes_turns_shares),
        cmocka_unit_test(what_a_loop_leaves_lives_in_all_of_it),
        cmocka_unit_test(what_is_still_needed_does_not),
        cmocka_unit_test(what_is_made_is_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
