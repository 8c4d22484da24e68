// Terms: what a value is about. Two values with the same term, scale included, are the same logical
// tensor; the reference program's values are put in first, so that a value of the final program
// which means the same finds the number that is there already.
//
// Layers. A term is a node and an index (`at`), and operands inside a node carry their index
// relative to the node's own: f(h[3], w[4]) and f(h[7], w[8]) are one node at 3 and at 7. So a
// block is one set of nodes, however many layers there are. Where the reference computes a value in
// a loop over layers the node is given an *alias*, the leaf "result of that call at l", valid for
// exactly the indices at which the reference computed it. That is how h[l+1] = block(h[l], w[l]) is
// said without nesting.
//
// Sums are linear combinations in normal form: of a node at layers [at, end) from microbatches
// [m_begin, m_end), each with a scale. A sum over all microbatches says so by ALL; anything less is
// a gradient that is still being collected.
//
// A scale is a rational number, not zero, times powers of scalar terms (the token count, to the
// power -1).
#ifndef PLACE_VERIFY_ALGEBRA_TERM_H
#define PLACE_VERIFY_ALGEBRA_TERM_H

#include "ir/ir.h"
#include "verify/algebra/intern.h"
#include "verify/algebra/number.h"

struct term {
    uint32_t node;
    int32_t at; // layer, as number.h says; 0 if the node has no index
};

typedef uint32_t scale_id;
enum { SCALE_ONE = 0 };
struct scaled {
    struct term of;
    scale_id scale;
};

enum node_kind {        // beside enum op_kind
    NODE_STATE = N_OPS, // a parameter or moment at the start of the step; attributes: kind, tensor
    NODE_INPUT,         // what the host wrote; attributes: name
    NODE_RESULT,        // what a call of the reference made; attributes: its number
    NODE_SUM,
    NODE_SCALED,    // a scale where it cannot be pulled out: the operand of a nonlinear op
    NODE_BROADCAST, // repeated along new leading dimensions; attributes: their sizes
    NODE_PRODUCT,   // of any number of factors (flat.c); attributes: the labels
    NODE_ARRIVED,   // a gradient as codes bring it (codes.c): of it, and of the residual
    NODE_ONE,
    NODE_ZERO,
    NODE_MAXIMA,  // what devices' own maxima add up to (collective.c); equal to nothing but itself
    NODE_UNKNOWN, // equal to nothing but itself
};

enum { ALL_MICROBATCHES = -1 };

// An operand of a node, or a summand.
struct part {
    uint32_t node;
    int32_t at;  // relative to the node's index
    int32_t end; // of sums: layers at .. end-1 are summed
    scale_id scale;
    int32_t m_begin, m_end;
};
struct node_key {
    uint16_t kind;
    uint8_t result; // of an op with several
    uint8_t indexed;
    uint32_t attributes;
    struct part parts[];
};
struct node {
    const struct node_key *key;
    uint32_t n_parts;
    uint32_t alias;            // first of a list in terms.aliases; 0: none
    bool symbolic;             // a symbol stands inside, not only in the index of who uses it
    const struct span *origin; // what made it first
};
struct alias {
    uint32_t of;        // the node
    int32_t begin, end; // indices of the node for which it holds
    uint32_t node;      // the leaf
    int32_t offset;     // the leaf's index less the node's
    uint32_t next;
};
// One question that an evaluation put to the aliases: the answer depends on the absolute index, so
// a memo that is used at another index must put it again (memo.c).
struct alias_use {
    struct term of, as; // as: what it stands for, `of` itself if no alias fitted
};

enum { MAX_FACTORS = 6, MAX_POWER = 64 }; // beyond them nothing is proved
struct factor {
    struct term of;
    int32_t power;
};
struct scale {
    int64_t numerator, denominator; // of a number with primes its sign, and one
    uint32_t n_factors, serial;     // serial: not 0 for a scale equal to nothing but itself
    uint32_t primes;                // 0, or the powers of primes that are the number (scale.c)
    struct factor factors[MAX_FACTORS];
};

// Two scales and their product, of those that were multiplied last: the same few meet again and again.
struct multiplied {
    scale_id a, b, product; // a is SCALE_ONE: nothing yet
};
enum { N_MULTIPLIED = 256 };

struct terms {
    struct arena *arena;
    struct intern keys, attributes, scales;
    struct multiplied multiplied[N_MULTIPLIED]; // each where its hash says (scale.c)
    struct node_key *room;                      // for a key with many parts
    uint32_t cap_room;
    struct node *nodes;
    uint32_t n_nodes, cap_nodes;
    struct symbols symbols; // of the iterations that stand for many
    struct alias *aliases;
    uint32_t n_aliases, cap_aliases;
    uint32_t first_alias; // that may still grow: the others are of before this iteration
    int32_t microbatches;
    uint32_t serial;
    int64_t n_compared; // summands, with others of their sums: what sums cost
};

// Whoever makes terms: how, and what is to be known of it afterwards.
enum naming {
    NAMES_FOLLOWED, // a term that has an alias is called by it
    NAMES_GIVEN,    // the same, and what has none yet may get one: that is noted, too
    NAMES_LEFT,     // normal forms of rewriting have no names
};
struct alias_log {
    struct alias_use *uses;
    uint32_t n, cap;
};
struct builder {
    struct terms *terms;
    const struct span *site; // what is evaluated: the origin of new nodes
    enum naming names;
    struct alias_log *log; // of answers that aliases gave; NULL: they are not noted
    bool fixed;            // a term was made that holds absolute indices, or such a one was opened
};

void terms_init(struct terms *terms, struct arena *arena, int32_t microbatches);

// A node of `kind`; parts have absolute indices. The result is canonical: aliases are followed.
// A sum over several layers keeps them absolute and has no index itself: the gradient's norm is one
// value for all layers.
struct term term_make(struct builder *, int kind, unsigned result, uint32_t attributes,
                      struct part *parts, uint32_t n_parts);
struct term term_leaf(struct builder *, int kind, uint32_t attributes, bool indexed, int32_t at);
// What a step is given (given.h): it has no origin.
struct term term_given(struct terms *, int kind, uint32_t attributes, bool indexed, int32_t at);
struct term term_fresh(struct builder *, int kind);    // NODE_MAXIMA, NODE_UNKNOWN
struct term term_constant(struct builder *, int kind); // NODE_ONE, NODE_ZERO
struct part part_of(struct term term);
// How many dimensions a NODE_BROADCAST adds.
unsigned term_leading(const struct terms *terms, struct term repeated);
// The term as the operand of a nonlinear op.
struct term term_with_scale(struct builder *, struct scaled value);

// It may move when a node is added.
static inline const struct node *term_node(const struct terms *terms, struct term term) {
    return &terms->nodes[term.node];
}
static inline int term_kind(const struct terms *terms, struct term term) {
    return term_node(terms, term)->key->kind;
}
// Zeros and ones, which every type has.
static inline bool term_is_constant(const struct terms *terms, struct term term) {
    return term_kind(terms, term) == NODE_ZERO || term_kind(terms, term) == NODE_ONE;
}
static inline bool term_indexed(const struct terms *terms, struct term term) {
    return term_node(terms, term)->key->indexed;
}
// Part `i` of the term's node, with its scale there; of a sum over layers the first layer's
// (sum_part says all of it).
static inline struct scaled term_part(const struct terms *terms, struct term term, uint32_t i) {
    const struct part *part = &terms->nodes[term.node].key->parts[i];
    bool indexed = terms->nodes[part->node].key->indexed;
    return (struct scaled){{part->node, part->at + (indexed ? term.at : 0)}, part->scale};
}
static inline bool term_equal(struct term a, struct term b) {
    return a.node == b.node && a.at == b.at;
}
static inline bool scaled_equal(struct scaled a, struct scaled b) {
    return term_equal(a.of, b.of) && a.scale == b.scale;
}
// The same where numbers may hold symbols: how many iterations have this answer is noted with them.
static inline bool scaled_same(struct terms *terms, struct scaled a, struct scaled b) {
    return a.of.node == b.of.node && a.scale == b.scale &&
           number_equal(&terms->symbols, a.of.at, b.of.at);
}
// Says that at its index `of` is the leaf `as`; extends an alias that says so for its neighbour.
void term_alias(struct terms *terms, struct term of, struct term as);
// What a leaf that an alias made stands for; another term: itself. Logged like an answer of the
// aliases.
struct term term_unnamed(struct builder *, struct term leaf);
// What a logged use would be answered at another index.
struct term term_follow(struct terms *terms, struct term of);
// Aliases that are made in an iteration that stands for many: from aliases_begin on they are kept
// apart, and aliases_end says that they hold for as many iterations, or drops them (none). They
// fit if each is of layers that follow one another.
uint32_t aliases_begin(struct terms *terms);
bool aliases_fit(struct terms *terms, const struct symbol *symbol);
void aliases_end(struct terms *terms, uint32_t begun, const struct symbol *symbol,
                 int64_t iterations);

// ---- scales (scale.c) -------------------------------------------------------------------------
int64_t greatest_divisor(int64_t a, int64_t b); // of both, not negative; of zeros zero
scale_id scale_rational(struct terms *terms, int64_t numerator, int64_t denominator);
scale_id scale_of_term(struct terms *terms, struct term scalar);
scale_id scale_multiply(struct terms *terms, scale_id a, scale_id b);
// The scale of what an op multiplies. The reciprocal of zero is zero, and of no scalar it is known
// that it is another: x and 1/x make no one.
scale_id scale_product(struct terms *terms, scale_id a, scale_id b);
scale_id scale_invert(struct terms *terms, scale_id a);
// The number of a, and the scalars that both have: a over it, and b, have none of them inverted.
scale_id scale_common(struct terms *terms, scale_id a, scale_id b);
// a + b where their scalar factors and their signs are equal. What is left of numbers that cancel
// has lost its digits: (x + y) - y is no x.
bool scale_add(struct terms *terms, scale_id a, scale_id b, scale_id *sum);
// The same of any signs, of numbers of which no digits are asked. `*cancels`: the sum is zero, which is no scale.
bool scale_total(struct terms *terms, scale_id a, scale_id b, scale_id *sum, bool *cancels);
const struct scale *scale_get(const struct terms *terms, scale_id scale);
// Whether it is the fraction that it holds, and nothing else.
static inline bool scale_is_fraction(const struct scale *scale) {
    return scale->n_factors == 0 && scale->serial == 0 && scale->primes == 0;
}
// The number of the scale, without its scalars.
scale_id scale_number(struct terms *terms, scale_id scale);
double scale_number_value(const struct terms *terms, const struct scale *scale);
struct prime_power {
    int64_t prime, power;
};
// The powers of primes with which its fraction is multiplied; `*n` is zero where that is the number.
const struct prime_power *scale_primes(const struct terms *terms, const struct scale *scale,
                                       uint32_t *n);

// ---- sums (sum.c) -----------------------------------------------------------------------------
struct summand { // with absolute indices
    uint32_t node;
    int32_t at, end;
    scale_id scale;
    int32_t m_begin, m_end;
};
struct sum {
    struct summand *items;
    uint32_t n, cap;
};
// Appends value * factor to the sum.
void sum_add(struct builder *, struct sum *sum, struct scaled value, scale_id factor);
// Adds the value's summands. False: not each of them is of one layer and of all microbatches.
bool sum_plain(struct builder *, struct sum *sum, struct scaled value);
// The same of what was collected from microbatches [m_begin, m_end), or ALL_MICROBATCHES twice.
void sum_add_collected(struct builder *, struct sum *sum, struct scaled value, int32_t m_begin,
                       int32_t m_end);
// The normal form; what all scales have in common is pulled out of the whole, and the first one's
// number. Nothing else, so that no scalar stands outside whose reciprocal is inside.
struct scaled sum_finish(struct builder *, struct sum *sum);
// The value as it is collected from microbatch m only.
struct scaled sum_microbatch(struct builder *, struct scaled value, int32_t m);
// A sum over some of the microbatches, or from some of them more than once.
bool term_is_collected(const struct terms *terms, struct term term);
// From which microbatches, if each of its summands was collected from the same, in order: so many
// ranges. 0: it is no such sum, or they are more.
struct microbatches {
    int32_t begin, end;
};
enum { MAX_MICROBATCH_RANGES = 64 };
uint32_t sum_collected_from(const struct terms *terms, struct term term,
                            struct microbatches from[MAX_MICROBATCH_RANGES]);
// Whether summand i is the first of those that differ only in their microbatches.
bool sum_part_is_first(const struct terms *terms, struct term term, uint32_t i);
// A sum of the same summands as such a one has, collected from others.
struct scaled sum_collect(struct builder *, struct term term, const struct microbatches *from,
                          uint32_t n);
// What it is `by` microbatches later, if it was collected from some of them.
struct term sum_move_microbatches(struct builder *, struct term term, int32_t by);
// The value with the symbol that was begun last replaced by another number.
struct scaled sum_replace(struct builder *, struct scaled value, int32_t by);
// The value with every symbol replaced by what it is in the first iteration.
struct scaled sum_first(struct builder *, struct scaled value);
// The summands of a term, with absolute indices.
struct summand sum_part(const struct terms *terms, struct scaled value, uint32_t i);

#endif
