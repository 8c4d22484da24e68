// What was alive while a program was executed, held against its account and its plan.
#ifndef PLACE_TESTS_BACKEND_LIVE_H
#define PLACE_TESTS_BACKEND_LIVE_H

#include "passes/passes.h"
#include "runtime/live.h"

// NULL, or the first thing that does not fit: `measured` is of a training step, the last of a run
// in which every step of the program has been executed. A rank that owns less than the first, which is
// accounted, has no more alive.
const char *live_flaw(struct arena *arena, const struct program *program, int32_t rank,
                      const struct account *account, const struct live_report *measured);

#endif
