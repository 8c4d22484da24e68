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
// The same, and the engine that judges the step, before its first statement.
struct engine;
void small_step_begin_engine(struct trial *, struct engine *, const char *statements);

// An edit of a step that is accepted, and what is told of it.
struct mistake {
    const char *name, *statements;
    struct edit edits[7];
    const char *code;      // NULL: it is none
    const char *at, *says; // NULL: anything
};
// Whether it is: the step itself is accepted, and the edited one judged as said.
bool small_step_is_found(const struct mistake *);

#endif
