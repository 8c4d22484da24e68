// What is proved of one program, or of all that a job has, while their steps are executed: what their
// values are in their world, and what was found against them.
#ifndef PLACE_VERIFY_PROOF_PROOF_H
#define PLACE_VERIFY_PROOF_PROOF_H

#include "verify/algebra/words.h"
#include "verify/proof/cursor.h"
#include "verify/proof/fault.h"
#include "verify/proof/history.h"
#include "verify/proof/judgement.h"
#include "verify/proof/readings.h"
#include "verify/verify.h"

struct outcomes { // terms of calls outside of loops, where results have no names
    struct term *list;
    uint32_t n, cap;
};

struct proof_kind {
    bool is_reference;
    bool ordered; // sums do not commute: equal terms are equal bits (ordered.c)
};

struct proof {
    struct world *world;
    const struct cursor *cursor;   // of the part that is executed, if there are several,
    const struct program *program; // and what it executes
    int64_t moment;                // statements that were executed, of all parts
    struct diagnostics *diagnostics;
    bool is_reference, ordered; // its kind
    uint32_t first_own_node;    // terms before it are the reference's
    struct readings *readings;  // of the reference
    struct paddings *paddings;
    uint32_t n_faults;
    struct fault_list insisted;   // faults of their own, that no value need carry
    struct fault_list unfinished; // sums that are read before they have every microbatch
    struct history *history;      // of a program that is refused; NULL while it is judged
    const struct fault *odd; // the first statement that is given another microbatch than its task's
                             // label says, or nothing, where a history is kept: where a mistake may
                             // be; or NULL
    struct copies_summed *sums; // every place and axis, whether of copies or of summands
    uint32_t n_sums, cap_sums;
    // bounded rewriting (rewrite.c)
    struct outcomes outcomes;      // of the reference
    const struct outcomes *sought; // those of the reference, by whose terms results are rewritten
    const char *given_up;          // the first value of which the budget was spent; NULL: none
};

#endif
