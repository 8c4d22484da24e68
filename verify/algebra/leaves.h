// What the files share that hold a program to one order of sums (ordered.c): which digits of a sum
// are still to be summed (judgement.h), and who asks.
#ifndef PLACE_VERIFY_ALGEBRA_LEAVES_H
#define PLACE_VERIFY_ALGEBRA_LEAVES_H

#include "verify/algebra/attributes.h"
#include "verify/algebra/facts.h"
#include "verify/algebra/given.h"
#include "verify/machine/engine.h"

const struct leaves *leaves_get(const struct engine *, leaves_id); // not of LEAVES_NONE
leaves_id leaves_intern(struct engine *, const struct leaves *);
struct leaves leaves_none(void);                        // of a value like any other
const struct digit *leaves_next(const struct leaves *); // the least significant; NULL: none is left
// Half of what is left of the next digit, or all of it, has been summed.
void leaves_sum(const struct engine *, struct leaves *, int64_t by);
// It is not yet what one microbatch gives.
bool leaves_lack_parts(const struct engine *, const struct leaves *);

bool is_part(const struct engine *, const struct judgement *); // of what one microbatch gives
bool is_leaf(const struct engine *, const struct judgement *); // what one gives, if it is no part
bool is_incomplete(const struct engine *, const struct judgement *);

// "the microbatches of a device", "the devices of `dp`", which are to be summed next
const char *leaves_next_text(const struct engine *, const struct leaves *);
// "the sum of 2 of 8 microbatches"
const char *leaves_text(const struct engine *, const struct judgement *);

#endif
