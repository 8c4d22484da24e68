/* Programs whose devices take steps of their own between averages (`relax` in the language): ranks
 * that differ along none of the program's `islands` axes train as one, apart from the others. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include "runtime/context.h"

/* A rank's loss, the mean over its island's targets, and its share of these. */
struct rank_loss {
    double loss;
    int64_t targets;
};
/* The loss over the targets of all islands. `records`: of all ranks in order, `bytes` each, begin
 * with the rank's. With one island the loss has equal bits on all ranks, and keeps them. */
struct rank_loss loss_of_all(const struct place_program *program, const void *records,
                             size_t bytes);

/* Whether parameters are averaged behind this step; behind the last one they always are, so that
 * what is saved, evaluated and sampled is one model. */
bool averages_after(const struct place_program *program, int64_t step, bool last);
