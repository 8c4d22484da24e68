// What is known of a value.
#ifndef PLACE_VERIFY_PROOF_JUDGEMENT_H
#define PLACE_VERIFY_PROOF_JUDGEMENT_H

#include "verify/algebra/width.h"
#include "verify/algebra/world.h"
#include "verify/proof/padding.h"

struct fault; // why nothing is (fault.h)

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
    padding_id padding;
    // What is left of its digits, which may be less than the type has room for (precision.c):
    bool sent;                   // in a type in which it may be sent
    struct width width;          // what all types that it has been in since it was made have
    struct width fills;          // the same and more, where it was scaled in a wider type since
    struct width before;         // `width` without what it was rounded to to be sent
    uint32_t rounded;            // axes over which it, or a summand of it, was rounded to be summed
    const struct span *narrowed; // the statement that rounded it last; NULL: it began so
};

struct judgement judgement_of(const struct world *, struct scaled value, form_id, enum dtype);
struct judgement judgement_fault(const struct fault *);
bool judgement_alike(const struct judgement *, const struct judgement *); // but for numbers, terms
// Whether it is of a microbatch, or of leaves of some: then that number has a meaning.
bool judgement_of_time(const struct world *, const struct judgement *);

// All that judgement_alike compares, and who rounded it, as bytes that may be interned: fields of one
// width, so there is no padding. Of what has a fault only that.
struct judgement_key {
    uint32_t scale, form, partial, own, partial_max, bits, coverage, leaves, fault, rest, padding,
        widths, narrowed, rounded;
};
struct judgement_key judgement_key(const struct judgement *);

#endif
