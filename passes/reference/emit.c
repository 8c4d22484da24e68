// Appending typed ops to a unit; see emit.h.
#include "passes/reference/emit.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ir/check.h"

// Roles hold until they are set again, so a function that writes a part of the model says them
// once.
void emit_roles(struct emitter *emitter, enum role a, enum role b, enum role c, enum role d) {
    const enum role roles[MAX_ROLES] = {a, b, c, d};
    emitter->n_roles = 0;
    while (emitter->n_roles < MAX_ROLES && roles[emitter->n_roles] != ROLE_NONE) {
        emitter->roles[emitter->n_roles] = (uint8_t)roles[emitter->n_roles];
        emitter->n_roles++;
    }
}

// The op inherits roles and span; types follow from its signature, or it was our mistake.
struct op *emit_typed(struct emitter *emitter, enum op_kind kind, const char *name,
                      const value_id *operands, unsigned n_operands,
                      const struct attribute *attributes, unsigned n_attributes,
                      const enum dtype *types) {
    struct op *op =
        unit_add_op(emitter->arena, emitter->unit, kind, name, operands, n_operands, emitter->span);
    for (unsigned i = 0; i < n_attributes; i++)
        op_set(emitter->arena, op, attributes[i]);
    op->n_roles = emitter->n_roles;
    memcpy(op->roles, emitter->roles, sizeof op->roles);
    for (unsigned i = 0; i < op->n_results && types; i++)
        emitter->unit->values[op->results[i]].type.dtype = types[i];
    const char *why;
    bool fits = op_infer_types(emitter->arena, emitter->unit, op, &why);
    if (!fits)
        fprintf(stderr, "%s: %s: %s\n", emitter->unit->name, name, why);
    CHECK(fits);
    return op;
}

struct op *emit_with(struct emitter *emitter, enum op_kind kind, const char *name,
                     const value_id *operands, unsigned n_operands,
                     const struct attribute *attributes, unsigned n_attributes) {
    return emit_typed(emitter, kind, name, operands, n_operands, attributes, n_attributes, NULL);
}

const struct op *emit_copy(struct emitter *emitter, const struct unit *from, const struct op *op,
                           const value_id *operands) {
    emitter->n_roles = op->n_roles;
    memcpy(emitter->roles, op->roles, sizeof emitter->roles);
    emitter->span = op->span;
    struct op *copy = unit_add_op(emitter->arena, emitter->unit, op->kind, "copy", operands,
                                  op->n_operands, op->span);
    for (unsigned i = 0; i < op->n_attributes; i++)
        op_set(emitter->arena, copy, op->attributes[i]);
    copy->n_roles = op->n_roles;
    memcpy(copy->roles, op->roles, sizeof copy->roles);
    for (unsigned i = 0; i < op->n_results; i++) {
        const struct value *value = &from->values[op->results[i]];
        struct value *made = &emitter->unit->values[copy->results[i]];
        made->type = value->type;
        made->name = unit_fresh_name(emitter->arena, emitter->unit, value->name);
    }
    return copy;
}

value_id emit(struct emitter *emitter, enum op_kind kind, const char *name,
              const value_id *operands, unsigned n_operands) {
    return emit_with(emitter, kind, name, operands, n_operands, NULL, 0)->results[0];
}

value_id emit_as(struct emitter *emitter, enum dtype type, enum op_kind kind, const char *name,
                 const value_id *operands, unsigned n_operands) {
    return emit_typed(emitter, kind, name, operands, n_operands, NULL, 0, &type)->results[0];
}

// The cast of a value to a type, where the unit has one already; NO_ID: it has not.
static value_id find_cast(const struct unit *unit, value_id x, enum dtype type) {
    for (uint32_t i = 0; i < unit->n_ops; i++)
        if (unit->ops[i].kind == OP_CAST && unit->ops[i].operands[0] == x &&
            unit->values[unit->ops[i].results[0]].type.dtype == type)
            return unit->ops[i].results[0];
    return NO_ID;
}

value_id emit_to(struct emitter *emitter, value_id x, enum dtype type) {
    const struct value *value = &emitter->unit->values[x];
    if (value->type.dtype == type)
        return x;
    value_id made = find_cast(emitter->unit, x, type);
    const char *name = arena_format(emitter->arena, "%s.%s", value->name, dtype_names[type]);
    return made != NO_ID ? made : emit_as(emitter, type, OP_CAST, name, OPERANDS(x));
}

value_id emit_einsum(struct emitter *emitter, const char *name, const char *labels, value_id a,
                     value_id b, enum dtype type) {
    struct attribute attribute = {.name = ATTRIBUTE_LABELS, .word = labels};
    return emit_typed(emitter, OP_EINSUM, name, OPERANDS(a, b), &attribute, 1, &type)->results[0];
}

value_id emit_sum_rows(struct emitter *emitter, const char *name, value_id x, int keep,
                       enum dtype type) {
    struct attribute attribute = {.name = ATTRIBUTE_KEEP, .integer = keep};
    return emit_typed(emitter, OP_SUM_ROWS, name, OPERANDS(x), &attribute, 1, &type)->results[0];
}

// The one op whose shape is no matter of operands.
value_id emit_iota(struct emitter *emitter, const char *name, enum dimension dimension,
                   int64_t size) {
    struct attribute attribute = {.name = ATTRIBUTE_DIMENSION, .integer = dimension};
    struct op *op = emit_with(emitter, OP_IOTA, name, NULL, 0, &attribute, 1);
    emitter->unit->values[op->results[0]].type =
        (struct tensor_type){.dtype = DTYPE_I32, .rank = 1, .dims = {{dimension, size}}};
    return op->results[0];
}

value_id emit_exact_square_sum(struct emitter *e, const char *name, value_id x) {
    value_id bins = emit_iota(e, name_with(e->arena, name, ".bins"), DIM_FLAT, LIMIT_SQUARE_BINS);
    value_id squares =
        emit(e, OP_SQUARE_BINS, name_with(e->arena, name, ".square"), OPERANDS(x, bins));
    return emit(e, OP_BIN_SUM, name_with(e->arena, name, ".sum"), OPERANDS(squares));
}

const char *range_name(struct arena *arena, const char *name, const struct layer_range *range) {
    if (range->step <= 1)
        return arena_format(arena, "%s.%" PRId64 "_%" PRId64, name, range->begin, range->end);
    return arena_format(arena, "%s.%" PRId64 "_%" PRId64 "_%" PRId64, name, range->begin,
                        range->end, range->step);
}

const char *name_of_unit(struct arena *arena, const char *verb, const char *buffer) {
    char *name = arena_format(arena, "%s_%s", verb, buffer);
    for (char *dot = name; (dot = strchr(dot, '.')); dot++)
        *dot = '_';
    return name;
}

uint32_t add_copying_unit(struct program *program, const char *verb, const struct buffer *of,
                          const struct op *like, enum phase phase) {
    const char *name = name_of_unit(program->arena, verb, of->name);
    uint32_t made = job_add_unit(program->job, name, like->span);
    struct unit *unit = &program->job->units[made];
    struct tensor_type type = buffer_type(program, of);
    value_id x = unit_add_parameter(program->arena, unit, "x", type, false);
    struct op *op = unit_add_op(program->arena, unit, OP_CAST, "y", &x, 1, like->span);
    op->n_roles = like->n_roles;
    memcpy(op->roles, like->roles, sizeof op->roles);
    unit->values[op->results[0]].type = type;
    unit_add_result(program->arena, unit, op->results[0], NO_ID);
    unit->phase = phase;
    return made;
}
