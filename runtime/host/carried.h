/* What a step whose loss is scaled leaves for the next, beside states: numbers that all ranks of
 * an island have alike, since they come of the norm of all its gradients. */
#pragma once
#include <stdbool.h>
#include "runtime/context.h"

struct carried {
    double values[PLACE_N_CARRIED];
};

/* Whether the program's loss is scaled. */
bool carries(const struct place_program *program);
/* What the first step finds behind `step` steps of a run whose loss was not scaled. */
struct carried carried_anew(int64_t step);
/* Where a step finds them, before it; and what it left, behind it. */
void carried_write(struct place_context *context, const struct carried *carried);
void carried_read(struct place_context *context, struct carried *carried);
