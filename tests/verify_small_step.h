// Programs of a few statements: a small step, written out, with buffers and units for all that such
// tests need.
#ifndef PLACE_TESTS_VERIFY_SMALL_STEP_H
#define PLACE_TESTS_VERIFY_SMALL_STEP_H

#include "tests/trial.h"

#define ROW  "f32[hidden=4]"
#define ROWS "f32[batch=1, sequence=2, hidden=4]"

// Statements that many such steps have, and edits of them.
#define GATHER_V                                                                                   \
    "start all_gather over b as gather[0] { v -> whole }\n"                                        \
    "wait gather[0]\ncall copy(x = whole) -> (y = w[0])\n"
#define COUNT                                                                                      \
    "zero token_count\n"                                                                           \
    "for m = 0 .. 8 { call count(x = targets[m], sum = token_count) }\n"                           \
    "start all_reduce over a as sum[0] { token_count -> token_count }\nwait sum[0]\n"
#define MOVE_SPARE "start permute over b shift 1 as away[0] { spare[0] -> other }\nwait away[0]\n"
#define RING       "call ring(q = q, k = k) -> (o = next)\ncall copy_q(x = next) -> (y = q)\n"
#define WHOLE_QUERIES                                                                              \
    REPLACE_ALL("sequence=4/a, heads", "sequence=4, heads"),                                       \
        REPLACE_ALL("sequence=2, heads", "sequence=4, heads"),                                     \
        REPLACE("%p = iota() {dimension=sequence, axes=a} : i32[sequence=2]",                      \
                "%p = iota() {dimension=sequence} : i32[sequence=4]")

// The trial of a step of these statements, which may begin with buffers of their own and are the
// reference, too.
void small_step_begin(struct trial *, const char *statements);
// The machine that judges the trial's step, before its first statement.
struct abstract_machine;
void small_step_machine(struct trial *, struct abstract_machine *);
void small_step_begin_machine(struct trial *, struct abstract_machine *, const char *statements);

// An edit of a step that is accepted, and what is told of it.
struct mistake {
    const char *name, *statements;
    struct edit edits[7];
    const char *code;      // NULL: it is none
    const char *at, *says; // NULL: anything
};
// Whether each is: the step itself is accepted, and the edited one judged as said.
bool small_steps_are_found(const struct mistake *, size_t n);

#endif
