// What digits the reference's values have: of every term how wide the reference makes it, and how
// wide each of its ops reads it. Terms do not tell a value from the same one rounded: a parameter in
// bf16 and its master copy in f32 are one term, and so are the stream between layers and what of it
// a product is given. So what a value must have is asked of its reader: by the term that this one
// makes and the term that it reads; where the reference has no such pair, as of sums that are taken
// in another order, by the kind of op and the term; where no such op of the reference reads it, of
// the term alone. Of several of the reference's that are one the widest counts.
//
// Layers may compute in other types than their neighbours, and values of both may be of one node: of
// what the last layer of a range hands on, the first of the next makes what all others of the range
// make of theirs. So what is entered holds for the layers of the loop in which it was found, of which
// one iteration may have stood for many.
//
// Terms of the final program that the reference has not are entered where they are made.
#ifndef PLACE_VERIFY_PROOF_READINGS_H
#define PLACE_VERIFY_PROOF_READINGS_H

#include "verify/algebra/term.h"
#include "verify/algebra/width.h"
#include "verify/proof/cursor.h"

struct in_layers { // indices of a term
    int32_t begin, end;
};
#define ALL_LAYERS ((struct in_layers){-LOWEST_SYMBOL / 2, LOWEST_SYMBOL / 2 - 1})

struct reading {
    uint32_t by;   // the node that is read, or the kind of op that reads, or nothing
    uint32_t next; // of the same list, + 1; 0: none
    struct in_layers layers;
    struct width width;
};
struct noted {            // of a node
    uint32_t made;        // lists of readings, + 1: how wide the reference makes it,
    uint32_t of_operands; // what ops that make it read,
    uint32_t by_kinds;    // and which kinds of ops read it
    struct width own;     // how wide the final program makes it, where the reference does not
    const struct tensor *gradient_of; // or a summand of its gradient; NULL: of none
    struct width scaled;  // what is left in all types in which it is scaled; NONE: it is not
    struct width rounded; // the same, where it was scaled in a wider type before
    bool of_update;       // an op of an update makes it
};
struct readings {
    struct arena *arena;
    struct noted *noted; // of every node
    uint32_t n_noted, cap_noted;
    struct reading *all;
    uint32_t n, cap;
};

// The indices that the term has in the iterations of the loop around, of which this is one.
struct in_layers in_layers_around(const struct cursor *, struct term);

void readings_init(struct readings *, struct arena *);
// The node is made so wide, in these layers.
void readings_made(struct readings *, uint32_t node, struct in_layers, struct width);
void readings_own(struct readings *, uint32_t node, struct width); // what the reference has not
// An op of this kind, which makes `maker`, reads the node so.
void readings_read(struct readings *, uint32_t maker, struct in_layers made, unsigned kind,
                   uint32_t node, struct in_layers read, struct width);
// By which the node is called now in these layers.
void readings_named(struct readings *, uint32_t node, struct in_layers, uint32_t leaf,
                    struct in_layers named);
void readings_gradient(struct readings *, uint32_t node, const struct tensor *of);
void readings_of_update(struct readings *, uint32_t node);            // an op of an update makes it
void readings_scaled(struct readings *, uint32_t node, struct width); // by an op that rounds it so
void readings_rounded(struct readings *, uint32_t node,
                      struct width); // behind an op that scaled it

// How wide the value must be for such a reader; WIDTH_NONE: nothing is known of it. Where the answer
// depends on the layer, what the builder makes is said to.
struct width readings_least(const struct readings *, struct builder *, struct term maker,
                            unsigned kind, struct term);
struct width readings_widest(const struct readings *, struct builder *, struct term); // for any
struct width readings_own_width(const struct readings *, uint32_t node); // ALL: it was not entered
const struct tensor *readings_gradient_of(const struct readings *, uint32_t node);
bool readings_is_scaled(const struct readings *, uint32_t node, struct width);  // so narrow
bool readings_is_rounded(const struct readings *, uint32_t node, struct width); // the same
bool readings_is_own(const struct readings *,
                     uint32_t node); // the reference neither makes nor reads it
bool readings_is_of_update(const struct readings *, uint32_t node);

#endif
