// What the files of the verdict share: the two programs that are compared (verify.c), and what
// their steps must leave behind (obligations.c).
#ifndef PLACE_VERIFY_OBLIGATIONS_OBLIGATIONS_H
#define PLACE_VERIFY_OBLIGATIONS_OBLIGATIONS_H

#include "verify/machine/sides.h"

struct check {
    struct abstract_machine reference;
    struct sides *sides;            // the final job's parts, each of them one machine,
    struct abstract_machine *final; // and the one that is looked at
    struct store train, evaluate;   // of the reference, after its steps
    const struct fault **faults;    // what keeps the program from being accepted
    uint32_t n_faults, cap_faults;
    bool refuted;            // a difference was computed
    struct witness *witness; // what was computed to find one
    const struct job *job;   // the final one; each machine's program is what one island does of it
};

// The parts of the final job, one after the other: i = 0, 1, ... until there are no more. What is
// told then is of this part.
bool check_look_at(struct check *, uint32_t i);
// One that has spoilt several values is added once; NULL adds nothing.
void check_add_fault(struct check *, const struct fault *);
// All that follows is asked of every part.
void units_check(struct check *); // parts.c: that no unit goes over the axes of parts
void types_check(struct check *); // O6, of what is stored
void host_check(struct check *);  // that the host is told what it is by the reference, and gives it
// O1, O2 and O7, when a step of the final program has ended; `reference`: what that of the
// reference left behind, NULL where states must be what they began as.
void states_check(struct check *, const struct store *reference);
// Behind all steps: what a sum took for zeros in the padding of states every one of them leaves zeros.
void padding_check(struct check *);
void outputs_check(struct check *, const struct store *reference, enum step_kind); // O4

// residuals.c: what a residual must be when the step has ended, if `gradient` is what it is of;
// NULL: it is.
const struct fault *codes_check_residual(struct abstract_machine *, buffer_id residual,
                                         int64_t item, struct scaled gradient, const char *what);
// The same of a step that sends no gradients.
const struct fault *codes_check_kept(struct abstract_machine *, buffer_id residual, int64_t item,
                                     const char *what);

#endif
