// Between the files that evaluate: terms.c what each term is in a field, evaluate.c which are needed, and what is claimed of
// them.
#ifndef PLACE_EQUAL_RESIDUES_EVALUATION_H
#define PLACE_EQUAL_RESIDUES_EVALUATION_H

#include "equal/residues/contraction.h"
#include "equal/residues/reader.h"

struct evaluation {
    const struct calculus *c;
    const struct field *field;
    uint32_t n_nodes;
    bool *is_needed, *is_concrete; // by node; concrete is what no parameter decides
    uint8_t *levels;               // how many exponentials stand inside of each other
    uint64_t **values;             // in this field
    uint64_t **exponents;          // of an exponential, as they were made last
    uint64_t **decided;            // tests of what is concrete, the same in all fields
    uint64_t **squares;            // of a root
    struct arena lasting, passing; // of all fields; of one term
};

// The places of a space; INT64_MAX: more than can be counted.
int64_t space_places(const struct space *);
// What is walked through to make the term: its space, with dimensions that are folded.
void walked_of(const struct evaluation *, struct term, struct walked *);
// How its factors meet where it is a KIND_PRODUCT.
struct contraction contraction_of(const struct evaluation *, struct term, const struct walked *,
                                  struct arena *);
// A reader of a value whose term was made, all but its places.
struct reader reader_of(const struct evaluation *, struct scaled);
// Makes all elements of a term whose parts were made.
void make_term(struct evaluation *, struct term, uint64_t *made);

#endif
