// What the files of bounded rewriting share: flattened products (flat.c), what is known of a term
// (shape.c), its expansion into a sum of such products (expand.c), and where that is asked for
// (rewrite.c).
#ifndef PLACE_VERIFY_REWRITING_EXPANSION_H
#define PLACE_VERIFY_REWRITING_EXPANSION_H

#include "verify/algebra/attributes.h"
#include "verify/algebra/facts.h"
#include "verify/algebra/given.h"
#include "verify/algebra/term.h"

// A product of any number of factors, summed over every label that the result has not: what a tree
// of products of two comes to, however it is put in brackets. Labels are characters from 1 on. A
// label of the result that no factor has repeats the product along it.
enum { MAX_FLAT = 24 };
struct flat {
    struct term factors[MAX_FLAT];
    char labels[MAX_FLAT][MAX_RANK + 1];
    char result[MAX_RANK + 1];
    unsigned n;
    char last; // the greatest label in use
};

// The product that a term is: a flattened one, or itself alone. It has `rank` dimensions.
void flat_open(const struct terms *, struct term, unsigned rank, struct flat *);
// Appends the factors of `from`, whose result is labelled `names` here; what it sums over gets
// labels that are new. False: too many factors or labels.
bool flat_append(struct flat *, const struct flat *from, const char *names);
// Whether some factor, or the result, has every one of the labels. A label that is summed over and
// that none has would count elements whose number no term says.
bool flat_has(const struct flat *, const char *labels);
// Whether each label of its result is a factor's.
bool flat_is_sized(const struct terms *, struct term product);
// One term for all orders of the factors and names of the labels; scalars go into the scale.
struct scaled flat_finish(struct builder *, struct flat *);
unsigned flat_rank(const struct terms *, struct term product);

// What is known of a term before it is expanded.
struct known {
    int rank;        // how many dimensions it has; -1: not known
    uint64_t leaves; // a bit for every leaf; the laws lose none, so equal values have equal ones
};

// Terms in the context of one layer: what the reference calls by name there is expanded, what it
// calls by name elsewhere is a leaf, so a layer is never expanded into those before it.
struct expansion {
    struct builder builder;
    const struct program *program; // the ranks of its tensors
    struct arena *arena;
    bool named;    // names are expanded at all
    int32_t layer; // that of names that are
    struct intern keys, known_keys;
    struct scaled *values; // of each key
    struct known *known;   // of each of the others
    uint32_t n_values, cap_values, n_known, cap_known;
    int64_t budget; // of terms that may still be made for this question
    int depth;
    bool spent;
};
enum { MAX_REWRITTEN = 10000 }; // terms made for one normal form
enum { MAX_DEPTH = 400 };       // of terms in one another that are followed

// shape.c
struct shape { // labels of what an op reads and makes, as flat.c has them
    char operands[MAX_OPERANDS][MAX_RANK + 1];
    char results[MAX_RESULTS][MAX_RANK + 1];
};
// The shape of the op that made the term, of `n` operands with such ranks, -1 for what is not
// known. Labels that are not known are empty. False: the result's are not known, or a rank is
// another, as of what is flat.
bool shape_read(const struct expansion *, struct term, const int *ranks, unsigned n,
                struct shape *);
int operand_rank(struct expansion *, struct term); // -1: not known
// What the reference calls by this name, where names are expanded; else the name itself.
struct term expansion_opened(struct expansion *, struct term name);
struct known expansion_known(struct expansion *, struct term);

// expand.c
// Terms are made as the builder does, but for names.
void expansion_init(struct expansion *, const struct builder *, const struct program *,
                    struct arena *);
// The normal form: values that have the same are equal. False: the budget was spent.
bool expand_value(struct expansion *, struct scaled, struct scaled *normal);

#endif
