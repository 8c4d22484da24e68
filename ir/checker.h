// The check of structure, between its files. The check itself is declared in ir/ir.h (job_check).
//
//   check_program.c  a job as a whole: its tensors, and all that is below
//   check_parts.c    its parts
//   check_unit.c     units: values defined once and before use, ops with the types that follow
//   check_buffer.c   buffers: cuts, windows, stacks, and what the host knows
//   check_step.c     schedules: indices inside buffers, calls and transfers of what fits
//   check_owners.c   in these, what has owners
#ifndef PLACE_IR_CHECKER_H
#define PLACE_IR_CHECKER_H

#include "ir/ir.h"
#include "ir/limits.h"

struct checker {
    const struct job *job;
    const struct program *program; // that is looked at
    struct arena *arena;
    struct value *inferred; // of the unit that is looked at: values of the types that follow
    int64_t first[LIMIT_LOOP_DEPTH],
        last[LIMIT_LOOP_DEPTH]; // ranges of the enclosing loops' variables
    int depth;
    const struct step *step;
    uint8_t *carries; // of every handle of the step: a bit for each kind of transfer
    uint8_t *runs_on; // of every unit: where the calls so far run, bits 1 << tier
    struct span at;   // of what is looked at
};

// Each returns NULL, or what is wrong; then `at` says where.
const char *check_parts(struct checker *);
const char *check_unit(struct checker *, struct unit *);
const char *check_buffer(struct checker *, const struct buffer *);
const char *check_steps(struct checker *); // of the program that is looked at
// What a statement names of owners, whose references are inside their buffers.
const char *check_ownership(struct checker *, const struct statement *);

// The first dimension that two types call otherwise which are equal but for that; -1: none.
int other_label(const struct tensor_type *, const struct tensor_type *);

#endif
