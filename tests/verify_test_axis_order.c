// The order of axes in a collective's group says where parts lie: with the axes of one collective
// swapped, programs of random compositions are refused, but for sums, which have no order.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "tests/derive.h"
#include "tests/tiny_strategies.h"
#include "verify/verify.h"

// The collectives of a step over two axes or more, in the order of the text.
static unsigned collect_products(const struct step *step, struct transfer *found[64]) {
    unsigned n = 0;
    struct statement_walk walk = walk_statements(&step->body);
    while (walk_next(&walk))
        if (walk.statement->kind == STATEMENT_START && walk.statement->start.exchange.axes.n > 1 &&
            n < 64)
            found[n++] = &walk.statement->start;
    return n;
}

static enum verdict_kind judge(struct arena *arena, const struct program *reference,
                               const struct program *program) {
    struct source_files sources = {0};
    return verify(reference, program->job, arena, diagnostics_new(arena, &sources)).kind;
}

static void swap_first_axes(struct transfer *transfer) {
    uint8_t *axes = transfer->exchange.axes.axes, first = axes[0];
    axes[0] = axes[1];
    axes[1] = first;
}

// A sum is the same in every order; parts would lie elsewhere.
static void refuses_another_order_of_axes(void **state) {
    unsigned n_sums = 0, n_parts = 0;
    for (uint64_t seed = 0; seed < 40; seed++) {
        struct arena arena = {0};
        struct config config = random_strategy_config(&arena, seed);
        struct program *final = derive_program(&arena, &config, N_PASSES - 1, NULL);
        struct program *reference = derive_program(&arena, &config, PASS_BLOCKS, NULL);
        struct transfer *found[64];
        unsigned n = final ? collect_products(&final->steps[STEP_TRAIN], found) : 0;
        for (unsigned i = 0; i < n; i++) {
            bool sum = found[i]->exchange.kind == COLLECTIVE_ALL_REDUCE;
            swap_first_axes(found[i]);
            enum verdict_kind kind = judge(&arena, reference, final);
            if ((kind == VERDICT_ACCEPTED) != sum)
                fail_msg("composition %d: %s of statement %u in another order is %s", (int)seed,
                         collective_names[found[i]->exchange.kind], i,
                         sum ? "refused" : "accepted");
            swap_first_axes(found[i]);
            *(sum ? &n_sums : &n_parts) += 1;
        }
        arena_free(&arena);
    }
    assert_true(n_sums > 10 && n_parts > 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(refuses_another_order_of_axes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
