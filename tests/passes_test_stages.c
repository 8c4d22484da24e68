// Stages that are chosen have all layers, and no other choice has a faster slowest stage.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "passes/pipeline/stages.h"

static double load_of(const struct parts_work *work, uint32_t stage, uint32_t n_stages,
                      uint32_t layers) {
    return layers * work->layer + (stage == 0 ? work->embedding : 0) +
           (stage + 1 == n_stages ? work->head : 0);
}

// The least load of the slowest stage, from this stage on, by trying everything.
static double least_slowest(const struct parts_work *work, uint32_t stage, uint32_t n_stages,
                            uint32_t n_layers) {
    if (stage + 1 == n_stages)
        return load_of(work, stage, n_stages, n_layers);
    double least = -1;
    for (uint32_t here = 0; here <= n_layers; here++) {
        double slowest = load_of(work, stage, n_stages, here);
        double others = least_slowest(work, stage + 1, n_stages, n_layers - here);
        slowest = others > slowest ? others : slowest;
        least = least < 0 || slowest < least ? slowest : least;
    }
    return least;
}

static void no_choice_is_faster(void **state) {
    (void)state;
    for (uint32_t n_stages = 1; n_stages <= 5; n_stages++)
        for (uint32_t n_layers = 0; n_layers <= 9; n_layers++)
            for (uint32_t embedding = 0; embedding <= 5; embedding++)
                for (uint32_t head = 0; head <= 9; head++) {
                    struct parts_work work = {embedding, 2, head};
                    uint32_t layers[5], sum = 0;
                    double slowest = 0;
                    stages_balance(&work, n_layers, n_stages, layers);
                    for (uint32_t i = 0; i < n_stages; i++) {
                        double load = load_of(&work, i, n_stages, layers[i]);
                        slowest = load > slowest ? load : slowest;
                        sum += layers[i];
                    }
                    assert_int_equal(sum, n_layers);
                    assert_true(slowest == least_slowest(&work, 0, n_stages, n_layers));
                }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_choice_is_faster)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
