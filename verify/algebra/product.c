// Products in normal form, and the laws of one-hot products: of `take`, `put` and `move`, which are
// products with ones and zeros and so may change places with others.
//
//   take(a b) = take(a) b           where a has the dimension; of sums and sum_rows likewise
//   put(a) b  = a take(b)           where it is contracted; a move to more places than it has: a
//   move(b) take(put(x)) = x, or zero       what moves after what moves is one of them
//
// Taking goes inwards and what is put goes to the other side, so that each law makes an operand
// smaller. Products are distributed over sums of what is put, and over no others: two projections
// by one product, whose weights somebody has put side by side, are the two products.
#include "verify/algebra/laws.h"

#include <string.h>

#include "ir/check.h"
#include "verify/algebra/attributes.h"

struct labels { // of the operands and the result of a product
    char lists[3][MAX_RANK + 1];
};

struct move {
    enum op_kind kind;
    int64_t number;       // the index, or the shift
    unsigned keep;        // dimensions behind
    struct term from, to; // iotas: of `take` from, of `put` to, of `move` both
};

static struct scaled zero_term(struct builder *builder) {
    return (struct scaled){term_constant(builder, NODE_ZERO), SCALE_ONE};
}

// ---- moves ------------------------------------------------------------------------------------

static int64_t read_attribute(const struct terms *terms, struct term term,
                              enum attribute_name name) {
    struct attribute attribute;
    CHECK(term_attribute(terms, term, name, &attribute));
    return attribute.integer;
}

_Static_assert(ATTRIBUTE_SHIFT < ATTRIBUTE_KEEP && ATTRIBUTE_KEEP < ATTRIBUTE_INDEX,
               "attributes are packed in the order of the table");

static struct term make_move(struct builder *builder, const struct move *m, struct term x) {
    bool range = m->kind == OP_MOVE;
    struct attribute keep = {.name = ATTRIBUTE_KEEP, .integer = m->keep};
    struct attribute shift[] = {{.name = ATTRIBUTE_SHIFT, .integer = m->number}, keep};
    struct attribute index[] = {keep, {.name = ATTRIBUTE_INDEX, .integer = m->number}};
    uint32_t attributes = attributes_pack(builder->terms, range ? shift : index, 2);
    struct part parts[3] = {part_of(x), part_of(m->kind == OP_PUT ? m->to : m->from),
                            part_of(m->to)};
    return term_make(builder, m->kind, 0, attributes, parts, range ? 3 : 2);
}

// What a term is that a move made.
static bool read_move(const struct terms *terms, struct term term, struct move *m) {
    *m = (struct move){.kind = (enum op_kind)term_kind(terms, term)};
    if (m->kind != OP_TAKE && m->kind != OP_PUT && m->kind != OP_MOVE)
        return false;
    m->number = read_attribute(terms, term, m->kind == OP_MOVE ? ATTRIBUTE_SHIFT : ATTRIBUTE_INDEX);
    m->keep = (unsigned)read_attribute(terms, term, ATTRIBUTE_KEEP);
    m->from = m->to = term_part(terms, term, 1).of;
    if (m->kind == OP_MOVE)
        m->to = term_part(terms, term, 2).of;
    return true;
}

static bool is_among(int64_t place, int64_t count) {
    return place >= 0 && place < count;
}

// ---- sums -------------------------------------------------------------------------------------

static struct scaled summand(const struct sum *sum, uint32_t i) {
    return (struct scaled){{sum->items[i].node, sum->items[i].at}, sum->items[i].scale};
}

// ---- what is moved ----------------------------------------------------------------------------

static struct scaled multiply(struct builder *, const struct labels *, struct scaled,
                              struct scaled);
static struct scaled moved(struct builder *, struct move, struct scaled x, int rank);

static void read_labels(const struct terms *terms, struct term product, struct labels *labels) {
    const char *at = interned(&terms->attributes, terms->nodes[product.node].key->attributes - 1);
    for (int i = 0; i < 3; i++) {
        size_t length = strcspn(at, ",");
        memcpy(labels->lists[i], at, length);
        labels->lists[i][length] = 0;
        at += length + 1;
    }
}

static void drop_label(char *list, char label) {
    char *at = strchr(list, label);
    if (at)
        memmove(at, at + 1, strlen(at));
}

// Into the operands that have the dimension.
static struct scaled move_product(struct builder *builder, struct move m, struct term product) {
    struct terms *terms = builder->terms;
    struct labels labels = {0};
    read_labels(terms, product, &labels);
    size_t rank = strlen(labels.lists[2]);
    char label = labels.lists[2][rank - 1 - m.keep];
    struct scaled operands[2];
    for (unsigned i = 0; i < 2; i++) {
        const char *at = strchr(labels.lists[i], label);
        operands[i] = term_part(terms, product, i);
        if (!at)
            continue;
        struct move inner = m;
        inner.keep = (unsigned)strlen(at + 1);
        operands[i] = moved(builder, inner, operands[i], (int)strlen(labels.lists[i]));
    }
    for (int i = 0; m.kind == OP_TAKE && i < 3; i++)
        drop_label(labels.lists[i], label);
    return multiply(builder, &labels, operands[0], operands[1]);
}

// A shift after a shift is one where the places in between are enough.
static struct scaled move_again(struct builder *builder, struct move m, const struct move *inner,
                                struct term x, struct term moved_once) {
    struct terms *terms = builder->terms;
    int64_t shift = m.number + inner->number, low = shift < 0 ? -shift : 0;
    int64_t high = iota_count(terms, inner->from) - shift;
    if (high > iota_count(terms, m.to))
        high = iota_count(terms, m.to);
    if (low >= high)
        return zero_term(builder);
    if (low + m.number < 0 || high + m.number > iota_count(terms, m.from))
        return (struct scaled){make_move(builder, &m, moved_once), SCALE_ONE};
    m.number = shift;
    m.from = inner->from;
    return moved(builder, m, (struct scaled){x, SCALE_ONE}, -1);
}

// A move of what was moved along the same dimension.
static struct scaled move_moved(struct builder *builder, struct move m, const struct move *inner,
                                struct term once) {
    struct terms *terms = builder->terms;
    struct scaled x = term_part(terms, once, 0);
    if (m.kind == OP_MOVE && inner->kind == OP_MOVE)
        return move_again(builder, m, inner, x.of, once);
    if (inner->kind == OP_MOVE) { // taken out of it
        m.number += inner->number;
        m.from = inner->from;
        return moved(builder, m, x, -1);
    }
    int64_t place = inner->number - (m.kind == OP_MOVE ? m.number : 0);
    if (m.kind == OP_TAKE)
        return place == m.number ? x : zero_term(builder);
    m.kind = OP_PUT;
    m.number = place;
    return is_among(place, iota_count(terms, m.to)) ? moved(builder, m, x, -1) : zero_term(builder);
}

// sum_rows contracts dimensions in front of those that it keeps, so it does not see the move.
static struct scaled move_rows(struct builder *builder, struct move m, struct term rows) {
    struct terms *terms = builder->terms;
    struct scaled x = moved(builder, m, term_part(terms, rows, 0), -1);
    int64_t kept = read_attribute(terms, rows, ATTRIBUTE_KEEP) - (m.kind == OP_TAKE);
    struct sum parts = {0}, made = {0};
    if (!sum_plain(builder, &parts, x))
        return (struct scaled){make_move(builder, &m, rows), SCALE_ONE};
    struct attribute keep = {.name = ATTRIBUTE_KEEP, .integer = kept};
    uint32_t attributes = attributes_pack(terms, &keep, 1);
    for (uint32_t i = 0; i < parts.n; i++) {
        struct part part = part_of(summand(&parts, i).of);
        struct term sum = term_make(builder, OP_SUM_ROWS, 0, attributes, &part, 1);
        sum_add(builder, &made, (struct scaled){sum, parts.items[i].scale}, SCALE_ONE);
    }
    return sum_finish(builder, &made);
}

// A bias is repeated along leading dimensions, of which the moved one may be.
static struct scaled move_broadcast(struct builder *builder, struct move m, struct term repeated,
                                    int rank) {
    struct terms *terms = builder->terms;
    uint32_t leading = term_leading(terms, repeated);
    uint32_t sizes = terms->nodes[repeated.node].key->attributes;
    bool behind = rank >= 0 && (uint32_t)rank - 1 - m.keep >= leading;
    if (!behind)
        return (struct scaled){make_move(builder, &m, repeated), SCALE_ONE};
    struct scaled x = moved(builder, m, term_part(terms, repeated, 0), rank - (int)leading);
    if (term_kind(terms, x.of) == NODE_ZERO)
        return x;
    struct part part = part_of(x.of);
    return (struct scaled){term_make(builder, NODE_BROADCAST, 0, sizes, &part, 1), x.scale};
}

static struct scaled move_term(struct builder *builder, struct move m, struct term x, int rank) {
    struct terms *terms = builder->terms;
    struct term of = term_kind(terms, x) == NODE_RESULT ? term_unnamed(builder, x) : x;
    struct move inner;
    int kind = term_kind(terms, of);
    if (m.kind != OP_PUT && kind == OP_EINSUM)
        return move_product(builder, m, of);
    if (m.kind != OP_PUT && kind == OP_SUM_ROWS)
        return move_rows(builder, m, of);
    if (m.kind != OP_PUT && kind == NODE_BROADCAST)
        return move_broadcast(builder, m, of, rank);
    if (m.kind != OP_PUT && read_move(terms, of, &inner) && inner.kind != OP_TAKE &&
        inner.keep == m.keep)
        return move_moved(builder, m, &inner, of);
    return (struct scaled){make_move(builder, &m, x), SCALE_ONE};
}

// The move of a value of so many dimensions; -1: not known.
static struct scaled moved(struct builder *builder, struct move m, struct scaled x, int rank) {
    struct terms *terms = builder->terms;
    bool nowhere = (m.kind == OP_TAKE && !is_among(m.number, iota_count(terms, m.from))) ||
                   (m.kind == OP_PUT && !is_among(m.number, iota_count(terms, m.to)));
    if (nowhere)
        return zero_term(builder);
    if (m.kind == OP_MOVE && m.number == 0 && iota_count(terms, m.from) == iota_count(terms, m.to))
        return x;
    struct sum parts = {0}, made = {0};
    if (!sum_plain(builder, &parts, x))
        return (struct scaled){make_move(builder, &m, x.of), x.scale};
    for (uint32_t i = 0; i < parts.n; i++)
        sum_add(builder, &made, move_term(builder, m, summand(&parts, i).of, rank),
                parts.items[i].scale);
    return sum_finish(builder, &made);
}

struct scaled law_moved(struct builder *builder, const struct op *op, int rank, struct scaled x,
                        struct term from, struct term to) {
    bool range = op->kind == OP_MOVE;
    struct move m = {.kind = op->kind,
                     .number = op_integer(op, range ? ATTRIBUTE_SHIFT : ATTRIBUTE_INDEX, 0),
                     .keep = (unsigned)op_integer(op, ATTRIBUTE_KEEP, 0),
                     .from = from,
                     .to = to};
    return moved(builder, m, x, rank);
}

// ---- products ---------------------------------------------------------------------------------

// Label lists with letters in the order of first use, so that equal products have equal labels.
static void renumber_labels(const struct labels *labels, const unsigned order[2], char out[64]) {
    char names[256] = {0};
    char next = 'a';
    unsigned n = 0;
    const unsigned lists[3] = {order[0], order[1], 2};
    for (int i = 0; i < 3; i++) {
        for (const char *label = labels->lists[lists[i]]; *label; label++) {
            char *name = &names[(unsigned char)*label];
            if (!*name)
                *name = next++;
            out[n++] = *name;
        }
        out[n++] = i < 2 ? ',' : 0;
    }
}

static bool part_before(struct terms *terms, const struct part *a, const struct part *b) {
    return a->node != b->node ? a->node < b->node : number_before(&terms->symbols, a->at, b->at);
}

// Products are commutative: operands in the order of their terms.
static struct term make_product(struct builder *builder, const struct labels *labels, struct term a,
                                struct term b) {
    struct terms *terms = builder->terms;
    struct part left = part_of(a), right = part_of(b);
    unsigned straight[2] = {0, 1}, crossed[2] = {1, 0};
    char own[64], other[64];
    renumber_labels(labels, straight, own);
    renumber_labels(labels, crossed, other);
    bool cross = part_before(terms, &right, &left) ||
                 (!part_before(terms, &left, &right) && strcmp(other, own) < 0);
    struct part parts[2] = {cross ? right : left, cross ? left : right};
    const char *chosen = cross ? other : own;
    uint32_t attributes =
        intern(&terms->attributes, chosen, (uint32_t)strlen(chosen) + 1, NULL) + 1;
    return term_make(builder, OP_EINSUM, 0, attributes, parts, 2);
}

// The contracted label of operand `i` along which the term was put to more places than it has; 0:
// none.
static char put_label(const struct terms *terms, const struct labels *labels, unsigned i,
                      struct term term, struct move *m) {
    if (!read_move(terms, term, m) || m->kind == OP_TAKE)
        return 0;
    if (m->kind == OP_MOVE && iota_count(terms, m->to) <= iota_count(terms, m->from))
        return 0;
    const char *list = labels->lists[i];
    char label = list[strlen(list) - 1 - m->keep];
    bool other_has = strchr(labels->lists[1 - i], label) != NULL;
    bool goes = !strchr(labels->lists[2], label) && (other_has || m->kind == OP_PUT);
    return goes ? label : 0;
}

// The product without the move: the other operand takes what it was put to.
static struct scaled multiply_put(struct builder *builder, struct labels labels, unsigned i,
                                  const struct move *m, char label, struct scaled put,
                                  struct scaled other) {
    const char *at = strchr(labels.lists[1 - i], label);
    struct move back = {.kind = m->kind == OP_PUT ? OP_TAKE : OP_MOVE,
                        .number = m->kind == OP_PUT ? m->number : -m->number,
                        .keep = at ? (unsigned)strlen(at + 1) : 0,
                        .from = m->to,
                        .to = m->from};
    if (at)
        other = moved(builder, back, other, (int)strlen(labels.lists[1 - i]));
    for (int k = 0; m->kind == OP_PUT && k < 2; k++)
        drop_label(labels.lists[k], label);
    struct scaled x = {term_part(builder->terms, put.of, 0).of, put.scale};
    return i == 0 ? multiply(builder, &labels, x, other) : multiply(builder, &labels, other, x);
}

// Operand `i` summand by summand, if one of them was put. False: none was.
static bool distribute(struct builder *builder, const struct labels *labels, unsigned i,
                       const struct scaled operands[2], struct scaled *product) {
    struct terms *terms = builder->terms;
    struct sum parts = {0}, made = {0};
    struct move m;
    bool any = false;
    if (!sum_plain(builder, &parts, operands[i]))
        return false;
    for (uint32_t k = 0; k < parts.n && !any; k++)
        any = put_label(terms, labels, i, summand(&parts, k).of, &m) != 0;
    for (uint32_t k = 0; any && k < parts.n; k++) {
        struct scaled part = summand(&parts, k), other = operands[1 - i];
        char label = put_label(terms, labels, i, part.of, &m);
        struct scaled term = label    ? multiply_put(builder, *labels, i, &m, label, part, other)
                             : i == 0 ? multiply(builder, labels, part, other)
                                      : multiply(builder, labels, other, part);
        sum_add(builder, &made, term, SCALE_ONE);
    }
    if (any)
        *product = sum_finish(builder, &made);
    return any;
}

static struct scaled multiply(struct builder *builder, const struct labels *labels, struct scaled a,
                              struct scaled b) {
    struct terms *terms = builder->terms;
    const struct scaled operands[2] = {a, b};
    struct scaled product;
    if (term_kind(terms, a.of) == NODE_ZERO || term_kind(terms, b.of) == NODE_ZERO)
        return zero_term(builder);
    if (distribute(builder, labels, 0, operands, &product) ||
        distribute(builder, labels, 1, operands, &product))
        return product;
    return (struct scaled){make_product(builder, labels, a.of, b.of),
                           scale_product(terms, a.scale, b.scale)};
}

struct scaled law_product(struct builder *builder, const struct op_labels *labels, struct scaled a,
                          struct scaled b) {
    struct labels own = {0};
    memcpy(own.lists[0], labels->operands[0], sizeof own.lists[0]);
    memcpy(own.lists[1], labels->operands[1], sizeof own.lists[1]);
    memcpy(own.lists[2], labels->results[0], sizeof own.lists[2]);
    return multiply(builder, &own, a, b);
}
