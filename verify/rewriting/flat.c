// Products flattened: (a b) c and a (b c) are one product of three factors, and a factor that does
// not have a label over which is summed is outside of that sum whatever the brackets say. So the
// laws of association, commutation and "what is independent leaves the sum" need no rules: there is
// one node for all of these.
//
// Its normal form has the factors in the order of their terms and labels in the order of first use,
// the result's first. Factors that are the same term are tried in every order, as far as that is
// affordable; beyond that two orders of one product may get two nodes, and at worst nothing is
// proved.
#include <string.h>

#include "ir/check.h"
#include "verify/rewriting/expansion.h"

enum { MAX_ORDERS = 5040, MAX_CODE = (MAX_FLAT + 1) * (MAX_RANK + 1), MAX_LABEL = 120 };

static const char *labels_of(const struct terms *terms, struct term product) {
    return interned(&terms->attributes, terms->nodes[product.node].key->attributes - 1);
}

unsigned flat_rank(const struct terms *terms, struct term product) {
    return (unsigned)strlen(labels_of(terms, product));
}

static void note_labels(struct flat *flat, const char *list) {
    for (; *list; list++)
        if (*list > flat->last)
            flat->last = *list;
}

void flat_open(const struct terms *terms, struct term term, unsigned rank, struct flat *flat) {
    const struct node *node = &terms->nodes[term.node];
    *flat = (struct flat){.n = 0};
    if (node->key->kind != NODE_PRODUCT) {
        for (unsigned i = 0; i < rank; i++)
            flat->result[i] = flat->labels[0][i] = (char)(i + 1);
        flat->factors[flat->n++] = term;
        flat->last = (char)rank;
        return;
    }
    const char *list = labels_of(terms, term);
    strcpy(flat->result, list);
    note_labels(flat, list);
    for (uint32_t i = 0; i < node->n_parts; i++) {
        list += strlen(list) + 1;
        strcpy(flat->labels[i], list);
        note_labels(flat, list);
        flat->factors[flat->n++] = term_part(terms, term, i).of;
    }
}

bool flat_append(struct flat *flat, const struct flat *from, const char *names) {
    char renamed[MAX_LABEL + 1] = {0};
    CHECK(strlen(names) == strlen(from->result));
    note_labels(flat, names);
    for (unsigned i = 0; names[i]; i++)
        renamed[(int)from->result[i]] = names[i];
    if (flat->n + from->n > MAX_FLAT)
        return false;
    for (unsigned i = 0; i < from->n; i++, flat->n++) {
        char *to = flat->labels[flat->n];
        flat->factors[flat->n] = from->factors[i];
        for (const char *label = from->labels[i]; *label; label++) {
            char *name = &renamed[(int)*label];
            if (!*name && flat->last == MAX_LABEL)
                return false;
            if (!*name)
                *name = ++flat->last;
            *to++ = *name;
        }
        *to = 0;
    }
    return true;
}

bool flat_has(const struct flat *flat, const char *labels) {
    for (; *labels; labels++) {
        bool has = strchr(flat->result, *labels) != NULL;
        for (unsigned i = 0; i < flat->n && !has; i++)
            has = strchr(flat->labels[i], *labels) != NULL;
        if (!has)
            return false;
    }
    return true;
}

bool flat_is_sized(const struct terms *terms, struct term product) {
    struct flat flat;
    char result[MAX_RANK + 1];
    flat_open(terms, product, 0, &flat);
    strcpy(result, flat.result);
    flat.result[0] = 0;
    return flat_has(&flat, result);
}

// ---- normal form ------------------------------------------------------------------------------

struct code { // the lists of labels one behind the other, the result's first
    char bytes[MAX_CODE];
    unsigned size;
};

static void encode(const struct flat *flat, const unsigned *order, struct code *code) {
    char names[MAX_LABEL + 1] = {0}, next = 0;
    code->size = 0;
    for (unsigned i = 0; i <= flat->n; i++) {
        const char *list = i == 0 ? flat->result : flat->labels[order[i - 1]];
        for (; *list; list++) {
            if (!names[(int)*list])
                names[(int)*list] = ++next;
            code->bytes[code->size++] = names[(int)*list];
        }
        code->bytes[code->size++] = 0;
    }
}

static bool term_before(struct terms *terms, struct term a, struct term b) {
    return a.node != b.node ? a.node < b.node : number_before(&terms->symbols, a.at, b.at);
}

static void exchange(unsigned *a, unsigned *b) {
    unsigned kept = *a;
    *a = *b;
    *b = kept;
}

// The least code of all orders that exchange equal factors at `from` and behind.
static void try_orders(struct terms *terms, const struct flat *flat, unsigned *order, unsigned from,
                       struct code *best) {
    if (from == flat->n) {
        struct code code;
        encode(flat, order, &code);
        if (best->size == 0 || memcmp(code.bytes, best->bytes, code.size) < 0)
            *best = code;
        return;
    }
    struct term first = flat->factors[order[from]];
    for (unsigned i = from; i < flat->n; i++) {
        struct term other = flat->factors[order[i]];
        if (term_before(terms, first, other))
            break;
        exchange(&order[from], &order[i]);
        try_orders(terms, flat, order, from + 1, best);
        exchange(&order[from], &order[i]);
    }
}

static int64_t count_orders(struct terms *terms, const struct flat *flat, const unsigned *order) {
    int64_t orders = 1, alike = 1;
    for (unsigned i = 1; i < flat->n && orders <= MAX_ORDERS; i++) {
        bool same = !term_before(terms, flat->factors[order[i - 1]], flat->factors[order[i]]);
        alike = same ? alike + 1 : 1;
        orders *= alike;
    }
    return orders;
}

static struct term make_product(struct builder *builder, const struct flat *flat) {
    struct terms *terms = builder->terms;
    unsigned order[MAX_FLAT];
    for (unsigned i = 0; i < flat->n; i++) {
        unsigned at = i;
        for (; at > 0 && term_before(terms, flat->factors[i], flat->factors[order[at - 1]]); at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    struct code code = {.size = 0};
    if (count_orders(terms, flat, order) <= MAX_ORDERS)
        try_orders(terms, flat, order, 0, &code);
    else
        encode(flat, order, &code);
    struct part parts[MAX_FLAT];
    for (unsigned i = 0; i < flat->n; i++)
        parts[i] = part_of(flat->factors[order[i]]);
    uint32_t attributes = intern(&terms->attributes, code.bytes, code.size, NULL) + 1;
    return term_make(builder, NODE_PRODUCT, 0, attributes, parts, flat->n);
}

struct scaled flat_finish(struct builder *builder, struct flat *flat) {
    struct terms *terms = builder->terms;
    scale_id scale = SCALE_ONE;
    unsigned n = 0;
    for (unsigned i = 0; i < flat->n; i++) {
        if (!flat->labels[i][0]) {
            scale = scale_product(terms, scale, scale_of_term(terms, flat->factors[i]));
            continue;
        }
        flat->factors[n] = flat->factors[i];
        memmove(flat->labels[n++], flat->labels[i], sizeof flat->labels[i]);
    }
    flat->n = n;
    if (n == 0 && !flat->result[0])
        return (struct scaled){term_constant(builder, NODE_ONE), scale};
    bool alone = n == 1 && strcmp(flat->labels[0], flat->result) == 0;
    return (struct scaled){alone ? flat->factors[0] : make_product(builder, flat), scale};
}
