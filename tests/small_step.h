// Programs of a few statements: a small step, written out, with buffers and units for all that such
// tests need.
#ifndef PLACE_TESTS_SMALL_STEP_H
#define PLACE_TESTS_SMALL_STEP_H

#include "tests/trial.h"

#define ROW  "f32[hidden=4]"
#define ROWS "f32[batch=1, sequence=2, hidden=4]"

// The trial of a step of these statements, which may begin with buffers of their own and are the
// reference, too.
void small_step_begin(struct trial *, const char *statements);

#endif
