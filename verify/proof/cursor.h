// The cursor says where the execution of a step stands: at a statement, in loops of which each has
// a number for its variable, in blocks of which each has a statement that comes next. Nothing else
// holds that, so a step may stop behind any statement and go on later.
#ifndef PLACE_VERIFY_PROOF_CURSOR_H
#define PLACE_VERIFY_PROOF_CURSOR_H

#include "ir/ir.h"
#include "ir/limits.h"

struct course;

struct frame { // a block that is under way
    const struct block *block;
    uint32_t next;         // statement
    struct course *course; // of the loop whose body it is (induction.c); NULL: the step's own
};

struct cursor {
    const struct step *step;
    const struct statement *statement;
    int64_t n_statements;                            // that were executed, in all steps
    const struct statement *loops[LIMIT_LOOP_DEPTH]; // around it, the outermost first
    int32_t variables[LIMIT_LOOP_DEPTH];             // of each (number.h)
    bool time_loop[LIMIT_LOOP_DEPTH];                // the variable is the microbatch
    int depth;
    struct frame frames[LIMIT_LOOP_DEPTH + 1];
    int n_frames;
    struct course *courses;       // one for each depth
    const struct statement *task; // the last label that was come by; NULL: none was
    int32_t microbatch;           // that it says
};

#endif
