// What digits the reference's values have: of every term how wide the reference makes it, and how
// wide each of its ops reads it. Terms do not tell a value from the same one rounded: a parameter in
// bf16 and its master copy in f32 are one term, and so are the stream between layers and what of it
// a product is given. So what a value must have is asked of its reader: by the term that this one
// makes and the term that it reads; where the reference has no such pair, as of sums that are taken
// in another order, by the kind of op and the term; where no such op of the reference reads it, of
// the term alone. Of several of the reference's that are one the narrowest counts.
//
// Terms of the final program that the reference has not are entered where they are made first.
#ifndef PLACE_VERIFY_PROOF_READINGS_H
#define PLACE_VERIFY_PROOF_READINGS_H

#include "verify/algebra/term.h"
#include "verify/algebra/width.h"

struct reading {
    uint32_t by;   // the node that is read, or the kind of op that reads
    uint32_t next; // of the same list, + 1; 0: none
    struct width width;
};
struct noted { // of a node
    struct width made;
    uint32_t of_operands;             // lists of readings, + 1: what ops that make the node read
    uint32_t by_kinds;                // and which kinds of ops read it
    const struct tensor *gradient_of; // or a summand of its gradient; NULL: of none
    struct width scaled; // what is left in all types in which it is scaled; NONE: it is not
    bool of_update;      // an op of an update makes it
};
struct readings {
    struct arena *arena;
    struct noted *noted; // of every node
    uint32_t n_noted, cap_noted;
    struct reading *all;
    uint32_t n, cap;
};

void readings_init(struct readings *, struct arena *);
// The node is made so wide.
void readings_made(struct readings *, uint32_t node, struct width);
// An op of this kind, which makes `maker`, reads the node so.
void readings_read(struct readings *, uint32_t maker, unsigned kind, uint32_t node, struct width);
void readings_named(struct readings *, uint32_t node, uint32_t leaf); // by which it is called now
void readings_gradient(struct readings *, uint32_t node, const struct tensor *of);
void readings_of_update(struct readings *, uint32_t node);            // an op of an update makes it
void readings_scaled(struct readings *, uint32_t node, struct width); // by an op that rounds it so

// How wide the node must be for such a reader; WIDTH_NONE: nothing is known of it.
struct width readings_least(const struct readings *, uint32_t maker, unsigned kind, uint32_t node);
struct width readings_width(const struct readings *, uint32_t node); // as it is made
const struct tensor *readings_gradient_of(const struct readings *, uint32_t node);
bool readings_is_scaled(const struct readings *, uint32_t node, struct width); // so narrow
bool readings_is_of_update(const struct readings *, uint32_t node);

#endif
