// Between step.c, which executes the statements of a loop's body, and induction.c, which says with
// which number for the loop's variable, and how often.
#ifndef PLACE_VERIFY_MACHINE_INDUCTION_H
#define PLACE_VERIFY_MACHINE_INDUCTION_H

#include "verify/machine/machine.h"

enum course_stage {
    COURSE_BETWEEN, // iterations: none is under way
    COURSE_ALONE,   // an iteration that stands for itself
    COURSE_PROVING, // one that stands for many
};

struct attempt { // to prove what iterations do that are alike
    struct snapshot now, invariant;
    int32_t x;            // the symbol
    int32_t first, round; // its value now, and by how much it grows
    int32_t n_done;       // of the iterations that lead once round
    uint32_t aliases, outer;
};

struct course { // of one execution of a loop
    struct abstract_machine *machine;
    const struct statement *statement;
    const struct loop *loop;
    enum course_stage stage;
    int64_t iteration, trips, period;
    int32_t factor;        // of the multiples at which loops inside begin; 1: at none
    struct arena states;   // of the store: they are of no use behind the loop
    struct snapshot *past; // before each of the last `period` iterations
    int64_t n_alone;       // iterations one by one since the beginning, or since the last leap
    int64_t before, cost;  // budget before the last of them; what it took, in statements and ops
    struct attempt attempt;
};

// The loop is entered; it has an own place for each depth, so no two of one depth are under way.
struct course *course_begin(struct abstract_machine *, const struct statement *loop);
// Whether the body is to be executed, for the first time or once more, with the variable that is
// set then. Else the loop has ended.
bool course_next(struct course *);
void courses_free(struct abstract_machine *); // what is kept of loops between parts

#endif
