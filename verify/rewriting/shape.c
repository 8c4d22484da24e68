// What is known of a term before it is expanded: how many dimensions it has, which of them the
// operands and results of its op share, and which leaves stand in it. All of it follows from the
// signatures in ops.def and from the ranks of tensors; a program's own types are not asked, since a
// term is of no place in it.
#include <string.h>

#include "ir/check.h"
#include "verify/rewriting/expansion.h"

// ---- labels -----------------------------------------------------------------------------------

struct capitals { // how many dimensions X, Y, Z stand for; -1: not known
    int length[3];
};

// Labels are small letters; X, Y and Z stand for several.
static bool is_capital(char letter) {
    return letter <= 'Z';
}

// What an item of a signature says of capitals, given the rank; `keep`: of the second of two.
static void learn(const char *item, size_t length, int rank, int keep, struct capitals *capitals) {
    int rest = rank, unknown = -1;
    for (size_t i = 0; i < length; i++) {
        int *known = is_capital(item[i]) ? &capitals->length[item[i] - 'X'] : NULL;
        if (known && *known < 0 && unknown < 0) {
            unknown = item[i] - 'X';
            continue;
        }
        if (known && *known < 0)
            *known = keep;
        rest -= known ? *known : 1;
    }
    if (unknown >= 0)
        capitals->length[unknown] = rest;
}

// False: they are not known, and none are written.
static bool write_labels(const char *item, size_t length, const struct capitals *capitals,
                         char *to) {
    unsigned n = 0;
    to[0] = 0;
    for (size_t i = 0; i < length; i++)
        if (is_capital(item[i]) && capitals->length[item[i] - 'X'] < 0)
            return false;
    for (size_t i = 0; i < length; i++) {
        int repeat = is_capital(item[i]) ? capitals->length[item[i] - 'X'] : 1;
        CHECK(n + (unsigned)repeat <= MAX_RANK);
        for (int k = 0; k < repeat; k++)
            to[n++] = (char)(is_capital(item[i]) ? 27 + (item[i] - 'X') * MAX_RANK + k
                                                 : 1 + item[i] - 'a');
    }
    to[n] = 0;
    return true;
}

bool shape_read(const struct expansion *x, struct term term, const int *ranks, unsigned n,
                struct shape *shape) {
    const struct node_key *key = term_node(x->builder.terms, term)->key;
    const char *signature = op_rows[key->kind].signature, *list = signature;
    struct capitals capitals = {{-1, -1, -1}};
    struct attribute keep;
    bool keeps = false;
    if (key->kind == OP_EINSUM) // "ab,bc,ac", the result's last
        list = interned(&x->builder.terms->attributes, key->attributes - 1);
    else
        keeps = term_attribute(x->builder.terms, term, ATTRIBUTE_KEEP, &keep);
    memset(shape, 0, sizeof *shape);
    const char *item = list;
    for (unsigned i = 0; i < n; i++, item += strcspn(item, ",-") + 1)
        if (ranks[i] >= 0)
            learn(item, strcspn(item, ",-"), ranks[i], keeps ? (int)keep.integer : -1, &capitals);
    for (unsigned i = 0; i < n; i++, list += strcspn(list, ",-") + 1)
        write_labels(list, strcspn(list, ",-"), &capitals, shape->operands[i]);
    list += *list == '>';
    bool known = true;
    for (unsigned i = 0; i < op_result_count(key->kind); i++, list += strcspn(list, ",") + 1) {
        bool found = write_labels(list, strcspn(list, ","), &capitals, shape->results[i]);
        known = known && (found || i != key->result);
    }
    for (unsigned i = 0; i < n; i++)
        known = known && (ranks[i] < 0 || ranks[i] == (int)strlen(shape->operands[i]));
    return known;
}

// ---- ranks ------------------------------------------------------------------------------------

static int rank_of_leaf(const struct expansion *x, int kind, const char *name) {
    const struct program *program = x->program;
    if (kind == NODE_STATE) {
        uint32_t id = job_find_tensor(program->job, name + 1);
        return id == NO_ID ? -1 : program->job->tensors[id].rank;
    }
    int role = table_find(host_role_names, N_HOST_ROLES, name + 1);
    buffer_id id = role < 0 ? NO_ID : program_host_buffer(program, (enum host_role)role);
    return id == NO_ID ? -1 : (int)program->buffers[id].rank;
}

// What has the shape of another operand has none of its own: the 1 in f(x, 1).
int operand_rank(struct expansion *x, struct term term) {
    return term_kind(x->builder.terms, term) == NODE_ONE ? -1 : expansion_known(x, term).rank;
}

static int rank_of_op(struct expansion *x, struct term term) {
    const struct node_key *key = term_node(x->builder.terms, term)->key;
    unsigned n = op_operand_count(key->kind), next = 0;
    int ranks[MAX_OPERANDS];
    struct shape shape;
    for (unsigned i = 0; i < n; i++) {
        bool read = op_reads(key->kind, key->result, i);
        ranks[i] = read ? operand_rank(x, term_part(x->builder.terms, term, next++).of) : -1;
    }
    return shape_read(x, term, ranks, n, &shape) ? (int)strlen(shape.results[key->result]) : -1;
}

struct term expansion_opened(struct expansion *x, struct term name) {
    struct terms *terms = x->builder.terms;
    bool here = x->named && number_equal(&terms->symbols, name.at, x->layer);
    return here ? term_unnamed(&x->builder, name) : name;
}

static int find_rank(struct expansion *x, struct term term) {
    struct terms *terms = x->builder.terms;
    int kind = term_kind(terms, term);
    switch (kind) {
    case NODE_STATE:
    case NODE_INPUT:
        return rank_of_leaf(x, kind,
                            interned(&terms->attributes, term_node(terms, term)->key->attributes));
    case NODE_RESULT: {
        struct term named = term_unnamed(&x->builder, term);
        return term_equal(named, term) ? -1 : find_rank(x, named);
    }
    case NODE_SUM:
    case NODE_SCALED:
    case NODE_ARRIVED:
        return expansion_known(x, term_part(terms, term, 0).of).rank;
    case NODE_BROADCAST: {
        int rank = expansion_known(x, term_part(terms, term, 0).of).rank;
        return rank < 0 ? -1 : rank + (int)term_leading(terms, term);
    }
    case NODE_PRODUCT:
        return (int)flat_rank(terms, term);
    case NODE_ONE:
        return 0;
    case OP_IOTA:
        return 1;
    default:
        return kind < N_OPS ? rank_of_op(x, term) : -1;
    }
}

// ---- leaves -----------------------------------------------------------------------------------

static uint64_t leaves_of_scale(struct expansion *x, scale_id id) {
    const struct scale *scale = scale_get(x->builder.terms, id);
    uint64_t leaves = 0;
    for (uint32_t i = 0; i < scale->n_factors; i++)
        leaves |= expansion_known(x, scale->factors[i].of).leaves;
    return leaves;
}

static uint64_t find_leaves(struct expansion *x, struct term term) {
    struct terms *terms = x->builder.terms;
    int kind = term_kind(terms, term);
    uint64_t leaves = 0;
    if (kind == NODE_RESULT && !term_equal(expansion_opened(x, term), term))
        return expansion_known(x, expansion_opened(x, term)).leaves;
    uint32_t n = term_node(x->builder.terms, term)->n_parts;
    if (n == 0 && kind != NODE_ONE && kind != NODE_ZERO) {
        uint64_t at = (uint64_t)number_first(&terms->symbols, term.at);
        return UINT64_C(1) << ((term.node * UINT64_C(0x9e3779b97f4a7c15) + at * 0x9e37) >> 58);
    }
    for (uint32_t i = 0; i < n; i++) {
        struct scaled part = term_part(x->builder.terms, term, i);
        leaves |= expansion_known(x, part.of).leaves | leaves_of_scale(x, part.scale);
    }
    return leaves;
}

struct known expansion_known(struct expansion *x, struct term term) {
    struct known known = {.rank = -1};
    bool added;
    uint32_t id = intern(&x->known_keys, &term, sizeof term, &added);
    if (!added)
        return x->known[id];
    ARENA_PUSH(x->arena, x->known, x->n_known, x->cap_known, known);
    if (x->depth < MAX_DEPTH) {
        x->depth++;
        known.rank = find_rank(x, term);
        known.leaves = find_leaves(x, term);
        x->depth--;
    }
    return x->known[id] = known;
}
