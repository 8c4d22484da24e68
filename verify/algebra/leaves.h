// Leaves say of a value of a program that is reproducible which sum it is a part of. What each
// microbatch gives is a leaf, numbered by the digits of the batch; what each block of a contracted
// dimension gives is one inside it, numbered by that dimension's. They are joined as a binary tree,
// so digits are summed one after the other, the least significant first (ordered.c). A sum that is
// exact has no order.
#ifndef PLACE_VERIFY_ALGEBRA_LEAVES_H
#define PLACE_VERIFY_ALGEBRA_LEAVES_H

#include "verify/algebra/digits.h"

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

struct world;

const struct leaves *leaves_get(const struct world *, leaves_id); // not of LEAVES_NONE
leaves_id leaves_intern(struct world *, const struct leaves *);
struct leaves leaves_none(void);                        // of a value like any other
const struct digit *leaves_next(const struct leaves *); // the least significant; NULL: none is left
// Half of what is left of the next digit, or all of it, has been summed.
void leaves_sum(const struct world *, struct leaves *, int64_t by);
// It is not yet what one microbatch gives.
bool leaves_lack_parts(const struct world *, const struct leaves *);

bool leaves_is_part(const struct world *, leaves_id); // of what one microbatch gives
bool leaves_is_leaf(const struct world *, leaves_id); // what one gives, if it is no part
bool leaves_is_incomplete(const struct world *, leaves_id);
bool leaves_of_time(const struct world *, leaves_id); // microbatches are to be summed

// "the microbatches of a device", "the devices of `dp`", which are to be summed next
const char *leaves_next_text(const struct world *, const struct leaves *);
// "the sum of 2 of 8 microbatches"
const char *leaves_text(const struct world *, leaves_id);

#endif
