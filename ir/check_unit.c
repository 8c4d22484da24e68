// The structure of units; see checker.h. Types are inferred again, and compared with those that stand
// there.
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "ir/checker.h"

// Attributes are those that the row names, of which one with a `?` may be absent, and no other.
static const char *check_attributes(struct checker *c, const struct unit *unit,
                                    const struct op *op) {
    const char *words = op_rows[op->kind].attributes;
    unsigned n_known = 0;
    while (*words) {
        size_t length = strcspn(words, " ");
        bool optional = words[length - 1] == '?';
        const char *name = arena_string(c->arena, words, length - optional);
        bool present = op_attribute(op, table_find(attribute_names, N_ATTRIBUTES, name)) != NULL;
        if (!present && !optional)
            return arena_format(c->arena, "unit %s: `%s` lacks the attribute `%s`", unit->name,
                                op_rows[op->kind].text, name);
        n_known += present;
        words += length + (words[length] == ' ');
    }
    if (n_known != op->n_attributes)
        return arena_format(c->arena, "unit %s: `%s` has an attribute that it does not take",
                            unit->name, op_rows[op->kind].text);
    return NULL;
}

int other_label(const struct tensor_type *a, const struct tensor_type *b) {
    for (unsigned i = 0; i < a->rank; i++)
        if (a->dims[i].dimension != b->dims[i].dimension)
            return (int)i;
    return -1;
}

// NULL, or what is wrong.
static const char *check_labels(struct checker *c, const struct unit *unit, const char *name,
                                const struct tensor_type *said, const struct tensor_type *made) {
    int k = other_label(said, made);
    return k < 0 ? NULL
                 : arena_format(c->arena,
                                "unit %s: `%s` of `%%%s` should be `%s`, as follows from the "
                                "op's operands",
                                unit->name, dimension_names[said->dims[k].dimension], name,
                                dimension_names[made->dims[k].dimension]);
}

// Collectives, and the slice: sizes follow from the axes.
static const char *check_exchange_types(struct checker *c, const struct unit *unit,
                                        const struct op *op) {
    const struct tensor_type *from = &unit->values[op->operands[0]].type;
    const struct tensor_type *to = &unit->values[op->results[0]].type;
    struct exchange exchange;
    bool fits = type_equal(from, to);
    if (op->kind != OP_WAIT) {
        if (!op_exchange(op, &exchange)) // a slice cuts as a reduce_scatter does
            exchange.kind = COLLECTIVE_REDUCE_SCATTER;
        const char *wrong = exchange_check(&exchange, from->dtype);
        if (op->kind != OP_SLICE && wrong)
            return arena_format(c->arena, "unit %s: %s", unit->name, wrong);
        if (exchange.dim < 0 && op->kind == OP_REDUCE_SCATTER)
            return arena_format(c->arena,
                                "unit %s: `%s` lacks a `dim`: flat shards of sums are a step's",
                                unit->name, op_rows[op->kind].text);
        bool is_flat = exchange.dim < 0 && (op->kind == OP_ALL_GATHER || op->kind == OP_SLICE);
        fits = exchange_fits(&exchange, &c->job->mesh, from, to);
        if (is_flat && fits)
            return NULL; // parts have no labels
    }
    if (!fits)
        return arena_format(c->arena, "unit %s: the sizes of `%s` do not fit its axes", unit->name,
                            op_rows[op->kind].text);
    return check_labels(c, unit, unit->values[op->results[0]].name, to, from);
}

static const char *check_iota(struct checker *c, const struct unit *unit, const struct op *op) {
    const struct mesh *mesh = &c->job->mesh;
    struct axis_list axes = op_axes(op);
    const struct tensor_type *type = &unit->values[op->results[0]].type;
    int zigzag = op_zigzag(op);
    int64_t counted = size_times(type->dims[0].size, mesh_group_size(mesh, &axes));
    bool fits = type->rank == 1 && type->dtype == DTYPE_I32 &&
                (zigzag < 0 || axis_list_has(&axes, (unsigned)zigzag)) &&
                counted <= (int64_t)LIMIT_TEXT_NUMBER &&
                order_fits(order_of_cuts(mesh, &axes, zigzag), counted);
    return fits ? NULL
                : arena_format(c->arena, "unit %s: `iota` does not count what its axes cut",
                               unit->name);
}

static const char *check_op_types(struct checker *c, struct unit *unit, const struct op *op) {
    if (op_rows[op->kind].kernel == KERNEL_COLLECTIVE || op->kind == OP_SLICE)
        return check_exchange_types(c, unit, op);
    if (op->kind == OP_IOTA)
        return check_iota(c, unit, op);
    // Inference on a copy: what stands in the program must be what follows from its operands.
    struct unit copy = *unit;
    copy.values = c->inferred;
    struct op op_copy = *op;
    const char *why;
    if (!op_infer_types(c->arena, &copy, &op_copy, &why))
        return arena_format(c->arena, "unit %s: %s (`%%%s`)", unit->name, why,
                            unit->values[op->results[0]].name);
    for (unsigned i = 0; i < op->n_results; i++)
        if (!type_equal(&copy.values[op->results[i]].type, &unit->values[op->results[i]].type))
            return arena_format(c->arena,
                                "unit %s: `%%%s` has another type than follows from its operands",
                                unit->name, unit->values[op->results[i]].name);
    for (unsigned i = 0; i < op->n_results; i++) {
        const struct value *value = &unit->values[op->results[i]];
        const char *wrong =
            check_labels(c, unit, value->name, &value->type, &copy.values[op->results[i]].type);
        if (wrong)
            return wrong;
    }
    const char *mixed = op_wrong_elements(unit, op), *blocks = op_wrong_blocks(unit, op, c->arena);
    if (mixed)
        return arena_format(c->arena, "unit %s: `%s` %s (`%%%s`)", unit->name,
                            op_rows[op->kind].text, mixed, unit->values[op->results[0]].name);
    return blocks ? arena_format(c->arena, "unit %s: %s", unit->name, blocks) : NULL;
}

// What other files take for an int, or count to.
static const struct {
    enum attribute_name name;
    int64_t least, most;
} bounds[] = {
    {ATTRIBUTE_DIM, 0, MAX_RANK - 1}, {ATTRIBUTE_CONCAT_DIM, 0, MAX_RANK - 1},
    {ATTRIBUTE_KEEP, 0, MAX_RANK},    {ATTRIBUTE_SITE, 0, INT32_MAX},
    {ATTRIBUTE_LEVEL, 0, 62},
};

static const char *check_numbers(struct checker *c, const struct unit *unit, const struct op *op) {
    if (op->kind == OP_DIVIDE && op_integer(op, ATTRIBUTE_DIVISOR, 0) < 1)
        return arena_format(c->arena, "unit %s: `divide` by less than one", unit->name);
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        int64_t number = op_integer(op, bounds[i].name, bounds[i].least);
        if (number < bounds[i].least || number > bounds[i].most)
            return arena_format(c->arena, "unit %s: `%s` of `%s` is one of %" PRId64 " .. %" PRId64,
                                unit->name, attribute_names[bounds[i].name], op_rows[op->kind].text,
                                bounds[i].least, bounds[i].most);
    }
    return NULL;
}

// Ops stand in the order of computation: what one uses, another has made before it.
static const char *check_op(struct checker *c, struct unit *unit, const struct op *op,
                            bool *defined) {
    if (op->kind >= N_OPS || op->n_operands != op_operand_count(op->kind) ||
        op->n_results != op_result_count(op->kind))
        return arena_format(c->arena, "unit %s: an op has the wrong number of operands",
                            unit->name);
    for (unsigned i = 0; i < op->n_operands; i++)
        if (op->operands[i] >= unit->n_values || !defined[op->operands[i]])
            return arena_format(c->arena, "unit %s: `%s` uses a value before it is defined",
                                unit->name, op_rows[op->kind].text);
    for (unsigned i = 0; i < op->n_results; i++) {
        if (op->results[i] >= unit->n_values || defined[op->results[i]])
            return arena_format(c->arena, "unit %s: a result of `%s` is defined twice", unit->name,
                                op_rows[op->kind].text);
        const struct value *value = &unit->values[op->results[i]];
        if (value->storage == STORAGE_IN_PLACE &&
            (value->base >= unit->n_values || !defined[value->base]))
            return arena_format(c->arena, "unit %s: `%%%s` is in place of a later value",
                                unit->name, value->name);
    }
    for (unsigned i = 0; i < op->n_results; i++)
        defined[op->results[i]] = true;
    const char *wrong = check_attributes(c, unit, op);
    if (!wrong)
        wrong = check_numbers(c, unit, op);
    return wrong ? wrong : check_op_types(c, unit, op);
}

// Whether the name is a word that a file can hold, where it stands behind a strategy's name and a
// dot.
static bool is_word(const char *name) {
    for (const char *at = name; *at; at++)
        if (!isalpha((unsigned char)*at) && *at != '_' &&
            (at == name || !isdigit((unsigned char)*at)))
            return false;
    return *name;
}

// Flat and in SSA form: one walk over the ops sees every definition before its uses.
const char *check_unit(struct checker *c, struct unit *unit) {
    c->at = unit->span;
    if (!is_word(unit->name))
        return arena_format(c->arena, "unit %s: a name of letters, digits and `_` is wanted",
                            unit->name);
    bool *defined = ARENA_ARRAY(c->arena, bool, unit->n_values + 1);
    c->inferred = arena_copy(c->arena, unit->values, unit->n_values * sizeof *unit->values);
    for (uint32_t i = 0; i < unit->n_parameters; i++)
        defined[i] = true;
    for (uint32_t i = 0; i < unit->n_ops; i++) {
        c->at = unit->ops[i].span;
        const char *wrong = check_op(c, unit, &unit->ops[i], defined);
        if (wrong)
            return wrong;
    }
    c->at = unit->span;
    for (uint32_t i = 0; i < unit->n_results; i++) {
        const struct unit_result *result = &unit->results[i];
        if (result->value >= unit->n_values || !defined[result->value])
            return arena_format(c->arena, "unit %s: a result is never defined", unit->name);
        if (result->value < unit->n_parameters)
            return arena_format(c->arena, "unit %s: parameter `%%%s` is no result", unit->name,
                                unit->values[result->value].name);
        for (uint32_t k = 0; k < i; k++)
            if (unit->results[k].value == result->value)
                return arena_format(c->arena, "unit %s: result `%%%s` stands twice", unit->name,
                                    unit->values[result->value].name);
        if (result->in_parameter == NO_ID)
            continue;
        for (uint32_t k = 0; k < i; k++)
            if (unit->results[k].in_parameter == result->in_parameter)
                return arena_format(c->arena, "unit %s: two results take the place of `%%%s`",
                                    unit->name, unit->values[result->in_parameter].name);
        if (result->in_parameter >= unit->n_parameters ||
            !type_equal(&unit->values[result->value].type,
                        &unit->values[result->in_parameter].type))
            return arena_format(c->arena, "unit %s: `%%%s` does not fit the place of a parameter",
                                unit->name, unit->values[result->value].name);
    }
    return NULL;
}
