// What is known of a value, and why nothing is.
#ifndef PLACE_VERIFY_PROOF_JUDGEMENT_H
#define PLACE_VERIFY_PROOF_JUDGEMENT_H

#include "ir/diagnostic.h"
#include "ir/ir.h"
#include "ir/limits.h"
#include "verify/algebra/digits.h"
#include "verify/algebra/term.h"

// Why a value has no meaning. It is not reported where it arises but when the value matters: dead
// wrong code is no error, and of all that is wrong the first cause is told.
struct fault {
    enum diagnostic_code code;
    struct span span;
    const char *message;
    const char *said;  // beside the carets; NULL: nothing
    struct span other; // a second place, where `other_said` is not NULL
    const char *other_said;
    const char *effect; // what it spoils, where the message does not say
    const char *help;   // what to do about it; NULL: what the message says is wrong
    const char *when;   // the loops' variables; NULL: they are the first, or there are none
    const struct span
        *by;        // the statement that is the cause: it is told once, where it first does harm
    bool has_terms; // the two that differ, and of what:
    const char *what;
    struct scaled found, expected;
    bool has_given; // of what an op reads: what it is given, and what it should be
    struct scaled given, wanted;
    const struct op
        *reader; // an op that reads a part of a sum: its operands, of which `share` is it
    const struct scaled *operands;
    unsigned share;
    uint32_t order; // of creation: the smallest is the first cause; next_order
    uint32_t made;  // what was being made, where that is kept (history.h); else 0
    bool has_odd;   // operand `odd` lies in another way than all others do
    unsigned odd;
    bool is_never; // nobody has written the buffer `never`
    buffer_id never;
    bool told; // where its cause is, if that is known
};

// Which parts of a contracted label a value combines on a device (coverage.c).
typedef uint32_t coverage_id;
enum { COVERAGE_COMPLETE = 0 };
#define COVERAGE_UNKNOWN UINT32_MAX // of a ring that is too long to follow
struct coverage {                   // no padding
    uint32_t axis;
    dim_id dim; // of the contracted label, not shifted
    uint32_t label, n_parts;
    uint32_t monoid, none;          // by which parts are put together
    uint64_t seen[LIMIT_RING / 64]; // bit k: on the device at i, part i + k
};

// Of a program that is reproducible, which sum a value is a part of. What each microbatch gives is
// a leaf, numbered by the digits of the batch; what each block of a contracted dimension gives is
// one inside it, numbered by that dimension's. They are joined as a binary tree, so digits are
// summed one after the other, the least significant first (ordered.c). A sum that is exact has no
// order.
typedef uint32_t leaves_id;
enum { LEAVES_NONE = 0 };
struct leaves {           // no padding
    int64_t summed;       // microbatches that are in it
    int64_t microbatches; // of the device that they are of, from judgement.microbatch on
    uint32_t exact;       // axes over which parts are still to be summed, in whatever order
    uint32_t n;
    struct digit left[MAX_DIGITS]; // that are still to be summed, the least significant last: those
                                   // of blocks behind those of microbatches
};

// What a device-local value is. With the coordinates on the axes that own digits fixed, the sum
// over the axes of `partial` is scale * the slice of the term that the form says; along all other
// axes devices have the same.
struct judgement {
    const struct fault *fault; // NULL, or nothing else has a meaning
    struct scaled value;
    form_id form;
    int32_t microbatch; // coordinate of the digit that time owns; 0 without one. Of leaves, of the
                        // first one
    uint32_t partial;   // axes on which it is a summand
    uint32_t own;       // of these, on which it is what this device began with, and no copy of
                        // it, or what its own code lacks
    uint32_t partial_max; // axes on which the greatest of the devices' numbers is meant
    uint32_t bits; // axes on which copies are equal to the bit; set where there are no copies
    coverage_id coverage; // over which parts of a contraction it is
    leaves_id leaves;     // in terms that are ordered: which digits are still to be summed
    uint32_t made;        // how, where that is kept (history.h); else 0
    uint8_t dtype;
    bool clean; // bytes behind or between its elements that are padding are zeros
};

#endif
