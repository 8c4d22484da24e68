// Tensor types: those of an op's results follow from those of its operands label by label
// (labels.c), and so does what it costs.
#include "ir/ir.h"

#include <inttypes.h>
#include <string.h>

int64_t type_elements(const struct tensor_type *type) {
    int64_t elements = 1;
    for (unsigned i = 0; i < type->rank; i++)
        elements = size_times(elements, type->dims[i].size);
    return elements;
}

int64_t type_bytes(const struct tensor_type *type) {
    return size_times(type_elements(type), dtype_bytes[type->dtype]);
}

const char *tensor_type_text(struct arena *arena, const struct tensor_type *type) {
    const char *text = arena_format(arena, "%s[", dtype_names[type->dtype]);
    for (unsigned i = 0; i < type->rank; i++)
        text = arena_format(arena, "%s%s%s=%" PRId64, text, i ? ", " : "",
                            dimension_names[type->dims[i].dimension], type->dims[i].size);
    return arena_format(arena, "%s]", text);
}

// Whether element type and sizes are equal; what the dimensions are called does not count.
bool type_equal(const struct tensor_type *a, const struct tensor_type *b) {
    if (a->dtype != b->dtype || a->rank != b->rank)
        return false;
    for (unsigned i = 0; i < a->rank; i++)
        if (a->dims[i].size != b->dims[i].size)
            return false;
    return true;
}

// ---- inference --------------------------------------------------------------------------------

struct label_sizes {
    struct dim dims[N_LABELS];
    bool known[N_LABELS];
};

static bool collect_sizes(const struct unit *unit, const struct op *op,
                          const struct op_labels *labels, struct label_sizes *sizes) {
    memset(sizes->known, 0, sizeof sizes->known);
    for (unsigned i = 0; i < op->n_operands; i++) {
        const struct tensor_type *type = &unit->values[op->operands[i]].type;
        for (unsigned k = 0; k < type->rank; k++) {
            unsigned char label = (unsigned char)labels->operands[i][k];
            if (sizes->known[label] && sizes->dims[label].size != type->dims[k].size)
                return false;
            if (!sizes->known[label])
                sizes->dims[label] = type->dims[k];
            sizes->known[label] = true;
        }
    }
    return true;
}

// What an operand with the letter has; NONE: no operand has that letter.
static enum dtype dtype_of_letter(const struct unit *unit, const struct op *op, char letter) {
    for (unsigned i = 0; i < op->n_operands; i++)
        if (op_element(op->kind, i) == letter)
            return unit->values[op->operands[i]].type.dtype;
    return DTYPE_NONE;
}

// Where the op's row leaves the type free, it is the one that the result has been given, else that of
// the op's first floating tensor operand.
static enum dtype free_dtype(const struct unit *unit, const struct op *op, unsigned result) {
    const struct tensor_type *old = &unit->values[op->results[result]].type;
    if (old->dtype != DTYPE_NONE)
        return old->dtype;
    for (unsigned i = 0; i < op->n_operands; i++) {
        const struct tensor_type *type = &unit->values[op->operands[i]].type;
        if (type->rank > 0 && dtype_is_floating(type->dtype))
            return type->dtype;
    }
    return DTYPE_F64;
}

// Scalars are f64.
static enum dtype result_dtype(const struct unit *unit, const struct op *op, unsigned result,
                               unsigned rank) {
    char letter = op_element(op->kind, op->n_operands + result);
    enum dtype same = dtype_of_letter(unit, op, letter);
    switch (letter) {
    case ELEMENT_INTEGER:
        return DTYPE_I32;
    case ELEMENT_COMPUTED:
        return op_computes_in(unit, op);
    case ELEMENT_SCALAR:
    case ELEMENT_DOUBLE:
        return DTYPE_F64;
    case ELEMENT_ANY_RESULT:
        return free_dtype(unit, op, result);
    default:
        return rank == 0 ? DTYPE_F64 : same != DTYPE_NONE ? same : free_dtype(unit, op, result);
    }
}

// A result with all the labels of an operand has its dimensions: a gradient those of what it is of,
// where operands call one label by different names (query heads and key heads).
static void name_like_operand(const struct unit *unit, const struct op *op,
                              const struct op_labels *labels, const char *result,
                              struct tensor_type *type) {
    for (unsigned i = 0; i < op->n_operands; i++) {
        if (strcmp(labels->operands[i], result) != 0)
            continue;
        for (unsigned k = 0; k < type->rank; k++)
            type->dims[k].dimension = unit->values[op->operands[i]].type.dims[k].dimension;
        return;
    }
}

// How long a code is follows from what is in it, and of how many it is from how long they are.
// NULL, or what is wrong.
static const char *size_codes(const struct unit *unit, const struct op *op,
                              struct label_sizes *sizes) {
    bool compresses = op->kind == OP_COMPRESS;
    const struct tensor_type *g = &unit->values[op->operands[compresses ? 0 : 1]].type;
    const struct tensor_type *other = &unit->values[op->operands[compresses ? 1 : 0]].type;
    struct wire wire = op_wire(op);
    if (wire.way == WIRE_NONE)
        return "says no way to compress";
    if (g->dtype == DTYPE_I32 || other->dtype != (compresses ? g->dtype : DTYPE_I32))
        return "is given numbers where it wants codes, or the other way round";
    int64_t words = wire_words(wire, type_elements(g));
    if (compresses)
        sizes->dims['w'] = (struct dim){DIM_FLAT, words};
    sizes->known['w'] = true;
    return compresses || sizes->dims['w'].size % words == 0 ? NULL : "is given no whole codes";
}

bool op_infer_types(struct arena *arena, struct unit *unit, struct op *op, const char **why) {
    struct op_labels labels;
    struct label_sizes sizes;
    const char *text = op_rows[op->kind].text;
    *why = NULL;
    // Collectives and iota: their result is not a matter of their operands' sizes alone.
    if (op->n_operands == 0 || op_rows[op->kind].kernel == KERNEL_COLLECTIVE ||
        op->kind == OP_SLICE)
        return true;
    if (!op_labels_of(unit, op, &labels)) {
        *why = arena_format(arena, "ranks of the operands do not fit `%s`", text);
        return false;
    }
    if (!collect_sizes(unit, op, &labels, &sizes)) {
        *why = arena_format(arena, "operands of `%s` differ in a size that must be equal", text);
        return false;
    }
    bool codes = op->kind == OP_COMPRESS || op->kind == OP_DECOMPRESS;
    const char *wrong = codes ? size_codes(unit, op, &sizes) : NULL;
    if (op->kind == OP_LEARNING_RATE && op_rate(op) == N_RATES)
        wrong = "says no curve of a rate";
    if (wrong) {
        *why = arena_format(arena, "`%s` %s", text, wrong);
        return false;
    }
    for (unsigned i = 0; i < op->n_results; i++) {
        struct tensor_type type = {.rank = (uint8_t)strlen(labels.results[i])};
        for (unsigned k = 0; k < type.rank; k++) {
            unsigned char label = (unsigned char)labels.results[i][k];
            if (!sizes.known[label]) {
                *why = arena_format(arena, "a size of the result of `%s` is not known", text);
                return false;
            }
            type.dims[k] = sizes.dims[label];
        }
        name_like_operand(unit, op, &labels, labels.results[i], &type);
        type.dtype = result_dtype(unit, op, i, type.rank);
        unit->values[op->results[i]].type = type;
    }
    return true;
}

// ---- cost -------------------------------------------------------------------------------------

double op_flops(const struct unit *unit, const struct op *op) {
    int cost = op_rows[op->kind].cost;
    if (op->n_operands == 0)
        return 0;
    const struct tensor_type *first = &unit->values[op->operands[0]].type;
    if (cost >= 0)
        return (double)cost * (double)type_elements(first);
    struct op_labels labels;
    struct label_sizes sizes;
    if (!op_labels_of(unit, op, &labels) || !collect_sizes(unit, op, &labels, &sizes))
        return 0;
    double product = 1;
    for (int i = 0; i < N_LABELS; i++)
        if (sizes.known[i])
            product *= (double)sizes.dims[i].size;
    if (cost == COST_EINSUM)
        return 2 * product;
    // A causal mask leaves half of the scores: two products forward, five backward, 2 FLOP each.
    return product * (cost == COST_ATTENTION ? 2 : 5);
}
