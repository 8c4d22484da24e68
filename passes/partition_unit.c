// Partition, inside units: from the types of a unit's parameters to a local unit.
//
// Types go forward through the ops by their semantic signatures: a label that an operand has cut
// is cut in the result, a cut label that is contracted leaves summands, scalars and uncut labels
// stay copies. Where an op cannot take a summand, it is summed over the devices first (all_reduce,
// wait): right before the first op that needs it, once per value, as late as the column
// `partition` of ops.def allows, so that the three products that make up one input gradient are
// added before their sum crosses the wire once. Sums over the batch (gradients, losses, counts) are
// never finished here but by the step, where storage says how; a result that is a summand over
// microbatches is accumulated in place instead.
#include <string.h>

#include "ir/check.h"
#include "ir/diagnostic.h"
#include "passes/partition.h"

struct maker {
    struct partitioner *p;
    const struct unit *from;
    struct unit *to;
    struct unit_use *use;
    value_id *map;          // from reference values to local ones
    struct sharding *types; // of reference values
    // The accumulator that starts as zero: its copies by the type of their summands.
    bool *chained; // of reference values: a partial sum of it
    uint32_t n_heads;
    uint64_t head_partial[MAX_VARIANTS];
    value_id heads[MAX_VARIANTS];
    uint32_t zero_parameter; // NO_ID: none
};

// ---- emitting ---------------------------------------------------------------------------------

static value_id add_op(struct maker *m, enum op_kind kind, const char *name,
                       const value_id *operands, uint32_t n, struct span span) {
    struct op *op = unit_add_op(m->p->program, m->to, kind, name, operands, n, span);
    return op->results[0];
}

static struct op *last_op(struct maker *m) {
    return &m->to->ops[m->to->n_ops - 1];
}

// The op just added belongs to the part of the model that made the value that it moves.
static void inherit_roles(struct maker *m, value_id moved) {
    struct op *to = last_op(m);
    for (uint32_t i = 0; i < m->to->n_ops; i++)
        for (unsigned k = 0; k < m->to->ops[i].n_results; k++)
            if (m->to->ops[i].results[k] == moved) {
                to->n_roles = m->to->ops[i].n_roles;
                memcpy(to->roles, m->to->ops[i].roles, sizeof to->roles);
            }
}

// Sums reference value `v` over the axes of `mask` from here on.
static void reduce(struct maker *m, value_id v, uint64_t mask) {
    if (mask == 0)
        return;
    // Microbatches are summed by accumulating, which no op inside a unit can wait for.
    CHECK(!(mask >> m->p->time & 1));
    struct axis_list axes = axes_of_mask(mask);
    struct span span = split_span(m->p, axes.axes[0]);
    const char *name = m->from->values[v].name;
    struct tensor_type type = m->to->values[m->map[v]].type;
    value_id started = add_op(m, OP_ALL_REDUCE, arena_format(m->p->arena, "%s.started", name),
                              &m->map[v], 1, span);
    op_set_axes(m->p->program, last_op(m), ATTRIBUTE_AXES, axes);
    inherit_roles(m, m->map[v]);
    m->to->values[started].type = type;
    value_id summed =
        add_op(m, OP_WAIT, arena_format(m->p->arena, "%s.summed", name), &started, 1, span);
    inherit_roles(m, started);
    m->to->values[summed].type = type;
    m->map[v] = summed;
    m->types[v].partial &= ~mask;
}

// This device's part of a copy, along dimension `d`: free.
static value_id cut_copy(struct maker *m, value_id local, unsigned d, const struct axis_list *axes,
                         struct span span) {
    struct tensor_type type = m->to->values[local].type;
    for (unsigned i = 0; i < axes->n; i++)
        type.dims[d].size /= partition_axis_size(m->p, axes->axes[i]);
    const char *name = arena_format(m->p->arena, "%s.part", m->to->values[local].name);
    value_id part = add_op(m, OP_SLICE, name, &local, 1, span);
    op_set_axes(m->p->program, last_op(m), ATTRIBUTE_AXES, *axes);
    op_set_integer(m->p->program, last_op(m), ATTRIBUTE_DIM, d);
    m->to->values[part].type = type;
    return part;
}

// ---- what an op does with summands ------------------------------------------------------------

static bool is_linear_in(enum op_kind kind, unsigned operand) {
    return strchr(op_rows[kind].linear, '0' + (int)operand) != NULL;
}

static bool is_additive(enum op_kind kind) {
    return strcmp(op_rows[kind].linear, "0+1") == 0;
}

static uint64_t cut_mask(const struct sharding *type) {
    uint64_t mask = axis_list_mask(&type->flat);
    for (unsigned d = 0; d < MAX_RANK; d++)
        mask |= axis_list_mask(&type->cuts[d]);
    return mask;
}

// Two summands may be added before they are summed over the devices, a summand and a copy may not.
static void settle_sum(struct maker *m, const struct op *op) {
    struct sharding *a = &m->types[op->operands[0]], *b = &m->types[op->operands[1]];
    uint64_t common = a->partial & b->partial;
    if (op_rows[op->kind].partition == PARTITION_REDUCE)
        common &= m->p->batch_axes;
    reduce(m, op->operands[0], a->partial & ~common);
    reduce(m, op->operands[1], b->partial & ~common);
}

// An op that is linear in one summand, and has copies otherwise, gives a summand. On tensor axes
// the table says whether that is cheaper; sums over the batch always wait for the step.
static void settle_operand(struct maker *m, const struct op *op, unsigned i) {
    struct sharding *type = &m->types[op->operands[i]];
    uint64_t may_stay = 0;
    if (is_linear_in(op->kind, i))
        may_stay =
            op_rows[op->kind].partition == PARTITION_FOLLOW ? ~UINT64_C(0) : m->p->batch_axes;
    for (unsigned k = 0; k < op->n_operands; k++)
        if (k != i) {
            const struct sharding *other = &m->types[op->operands[k]];
            may_stay &= ~(other->partial | cut_mask(other));
        }
    reduce(m, op->operands[i], type->partial & ~may_stay);
}

static void settle_summands(struct maker *m, const struct op *op) {
    if (is_additive(op->kind)) {
        settle_sum(m, op);
        return;
    }
    for (unsigned i = 0; i < op->n_operands; i++)
        if (m->types[op->operands[i]].partial)
            settle_operand(m, op, i);
}

// ---- what an op does with cuts ----------------------------------------------------------------

struct label_cuts {
    struct axis_list axes[256]; // by label
};

static bool refuse(struct maker *m, const struct op *op, unsigned axis, const char *why) {
    struct span span = split_span(m->p, axis);
    struct diagnostic *d =
        report(m->p->diagnostics, E199, span,
               "splitting over `%s` here needs an exchange that is not compiled yet",
               m->p->program->mesh.axes[axis].name);
    diagnostic_note(d, "`%s` in unit `%s` %s", op_rows[op->kind].text, m->from->name, why);
    return false;
}

static bool is_prefix(const struct axis_list *a, const struct axis_list *b) {
    return a->n <= b->n && memcmp(a->axes, b->axes, a->n) == 0;
}

// The longest cut of every label among the operands; all others must be its beginning, which leaves
// a free slice to make them equal. Anything else would have to travel.
static bool collect_cuts(struct maker *m, const struct op *op, const struct op_labels *labels,
                         struct label_cuts *cuts) {
    memset(cuts, 0, sizeof *cuts);
    for (unsigned i = 0; i < op->n_operands; i++)
        for (unsigned d = 0; labels->operands[i][d]; d++) {
            const struct axis_list *axes = &m->types[op->operands[i]].cuts[d];
            struct axis_list *known = &cuts->axes[(unsigned char)labels->operands[i][d]];
            if (is_prefix(known, axes))
                *known = *axes;
            else if (!is_prefix(axes, known))
                return refuse(m, op, axes->axes[0], "has operands that are cut differently");
            if (axes->n && strchr(op_rows[op->kind].whole, labels->operands[i][d]))
                return refuse(m, op, axes->axes[0], "needs this dimension whole");
        }
    return true;
}

// Operands that hold more of a label than the others do are cut to it.
static void meet_cuts(struct maker *m, const struct op *op, const struct op_labels *labels,
                      const struct label_cuts *cuts, value_id operands[MAX_OPERANDS]) {
    for (unsigned i = 0; i < op->n_operands; i++) {
        operands[i] = m->map[op->operands[i]];
        for (unsigned d = 0; labels->operands[i][d]; d++) {
            const struct axis_list *want = &cuts->axes[(unsigned char)labels->operands[i][d]];
            const struct axis_list *have = &m->types[op->operands[i]].cuts[d];
            struct axis_list missing = {.n = (uint8_t)(want->n - have->n)};
            memcpy(missing.axes, want->axes + have->n, missing.n);
            if (missing.n)
                operands[i] = cut_copy(m, operands[i], d, &missing, op->span);
        }
    }
}

static bool has_label(const char *labels, unsigned char label) {
    return strchr(labels, (char)label) != NULL;
}

// A label that is cut and contracted leaves summands; one that stays is cut in the result.
static struct sharding result_type(const struct maker *m, const struct op *op,
                                   const struct op_labels *labels, const struct label_cuts *cuts,
                                   unsigned result) {
    struct sharding type = {0};
    for (unsigned d = 0; labels->results[result][d]; d++)
        type.cuts[d] = cuts->axes[(unsigned char)labels->results[result][d]];
    for (unsigned i = 0; i < op->n_operands; i++) {
        type.partial |= m->types[op->operands[i]].partial;
        for (unsigned d = 0; labels->operands[i][d]; d++) {
            unsigned char label = (unsigned char)labels->operands[i][d];
            if (!has_label(labels->results[result], label))
                type.partial |= axis_list_mask(&cuts->axes[label]);
        }
    }
    return type;
}

// ---- ops --------------------------------------------------------------------------------------

// Appends the op on local operands; its results' names and element types are the reference's.
static void emit_local(struct maker *m, const struct op *op, const value_id *operands,
                       const struct sharding *types) {
    struct partitioner *p = m->p;
    unit_add_op(p->program, m->to, op->kind, "result", operands, op->n_operands, op->span);
    struct op *made = last_op(m);
    made->attributes =
        arena_copy(p->arena, op->attributes, op->n_attributes * sizeof *op->attributes);
    made->n_attributes = op->n_attributes;
    made->n_roles = op->n_roles;
    memcpy(made->roles, op->roles, sizeof made->roles);
    for (unsigned i = 0; i < op->n_results; i++) {
        const struct value *reference = &m->from->values[op->results[i]];
        struct value *value = &m->to->values[made->results[i]];
        value->name = reference->name;
        CHECK(sharding_local(p, &reference->type, &types[i], &value->type));
        m->map[op->results[i]] = made->results[i];
        m->types[op->results[i]] = types[i];
    }
}

// Elementwise ops on flat shards, as in updates and norms: every tensor is cut alike.
static bool make_flat(struct maker *m, const struct op *op, const struct sharding *flat) {
    struct sharding types[MAX_RESULTS] = {0};
    value_id operands[MAX_OPERANDS];
    for (unsigned i = 0; i < op->n_operands; i++) {
        const struct sharding *type = &m->types[op->operands[i]];
        bool scalar = m->from->values[op->operands[i]].type.rank == 0;
        CHECK(scalar ? cut_mask(type) == 0 : sharding_equal(type, flat, MAX_RANK));
        operands[i] = m->map[op->operands[i]];
    }
    for (unsigned i = 0; i < op->n_results; i++) {
        if (m->from->values[op->results[i]].type.rank > 0)
            types[i] = *flat;
        else
            types[i].partial = cut_mask(flat); // every device has summed its own elements
    }
    emit_local(m, op, operands, types);
    return true;
}

// `accumulate` onto the accumulator that started as zero: summands of another type go to a copy of
// it, so that each is summed over its own axes at the end (a gradient that all devices hold whole
// counts once in the norm, one that is cut counts in parts).
static void make_chained(struct maker *m, const struct op *op) {
    struct partitioner *p = m->p;
    uint64_t partial = m->types[op->operands[1]].partial;
    uint32_t h = 0;
    while (h < m->n_heads && m->head_partial[h] != partial)
        h++;
    if (h == m->n_heads) {
        CHECK(m->n_heads < MAX_VARIANTS);
        m->head_partial[h] = partial;
        m->heads[h] = m->zero_parameter;
        if (h > 0) {
            const struct value *first = &m->from->values[m->zero_parameter];
            const char *name = arena_format(p->arena, "%s.%u", first->name, h + 1);
            value_id added = unit_add_parameter(p->program, m->to, name, first->type, false);
            for (uint32_t i = 0; i < m->from->n_values; i++)
                m->map[i] += m->map[i] >= added;
            for (uint32_t i = 0; i < h; i++)
                m->heads[i] += m->heads[i] >= added;
            m->heads[h] = added;
        }
        m->n_heads++;
    }
    value_id operands[2] = {m->heads[h], m->map[op->operands[1]]};
    struct sharding type = {.partial = partial};
    emit_local(m, op, operands, &type);
    m->heads[h] = m->map[op->results[0]];
    m->chained[op->results[0]] = true;
}

static bool make_op(struct maker *m, const struct op *op) {
    if (op->kind == OP_ACCUMULATE && m->chained[op->operands[0]]) {
        make_chained(m, op);
        return true;
    }
    for (unsigned i = 0; i < op->n_operands; i++)
        if (m->types[op->operands[i]].flat.n)
            return make_flat(m, op, &m->types[op->operands[i]]);
    struct op_labels labels = {0};
    struct label_cuts cuts;
    struct sharding types[MAX_RESULTS];
    value_id operands[MAX_OPERANDS];
    if (op->n_operands > 0)
        CHECK(op_labels_of(m->from, op, &labels));
    settle_summands(m, op);
    if (!collect_cuts(m, op, &labels, &cuts))
        return false;
    meet_cuts(m, op, &labels, &cuts, operands);
    for (unsigned i = 0; i < op->n_results; i++)
        types[i] = result_type(m, op, &labels, &cuts, i);
    emit_local(m, op, operands, types);
    return true;
}

// ---- parameters and results -------------------------------------------------------------------

// Parameters keep their order, so that a call's operands stay where they are.
static void make_parameters(struct maker *m) {
    for (uint32_t i = 0; i < m->from->n_parameters; i++) {
        const struct value *reference = &m->from->values[i];
        struct tensor_type local;
        CHECK(sharding_local(m->p, &reference->type, &m->use->operands[i], &local));
        m->map[i] =
            unit_add_parameter(m->p->program, m->to, reference->name, local, m->from->consumed[i]);
        m->types[i] = m->use->operands[i];
        if (m->types[i].zero) {
            CHECK(m->zero_parameter == NO_ID);
            m->zero_parameter = i;
            m->chained[i] = true;
        }
    }
}

static void add_extra(struct maker *m, struct unit_extra extra) {
    struct unit_use *use = m->use;
    use->extras = arena_grow(m->p->arena, use->extras, use->n_extras * sizeof extra,
                             (use->n_extras + 1) * sizeof extra);
    use->extras[use->n_extras++] = extra;
}

// A result that is a summand over microbatches is added to what earlier ones left in its place.
static uint32_t accumulate(struct maker *m, uint32_t result, value_id *value) {
    struct partitioner *p = m->p;
    value_id v = m->from->results[result].value;
    CHECK(m->n_heads <= 1); // the parameters of variants stand in front of these
    const char *name = arena_format(p->arena, "%s.sum", m->from->values[v].name);
    value_id sum = unit_add_parameter(p->program, m->to, name, m->to->values[*value].type, false);
    for (uint32_t i = 0; i < m->from->n_values; i++)
        m->map[i] += m->map[i] >= sum;
    struct tensor_type type = m->to->values[sum].type;
    value_id operands[2] = {sum, m->map[v]};
    *value = add_op(m, OP_ACCUMULATE, arena_format(p->arena, "%s.total", m->from->values[v].name),
                    operands, 2, m->from->span);
    m->to->values[*value].type = type;
    add_extra(m, (struct unit_extra){.of = result, .type = m->types[v]});
    return sum;
}

// On axes of the model a result is summed here: the next unit reads it. Sums over the batch leave
// the unit as summands.
static void make_result(struct maker *m, uint32_t i) {
    const struct unit_result *reference = &m->from->results[i];
    uint32_t in_parameter = reference->in_parameter;
    if (!m->chained[reference->value])
        reduce(m, reference->value, m->types[reference->value].partial & ~m->p->batch_axes);
    struct sharding type = m->types[reference->value];
    value_id value = m->map[reference->value];
    if (m->chained[reference->value]) {
        value = m->n_heads ? m->heads[0] : m->zero_parameter;
        type = (struct sharding){.partial = m->n_heads ? m->head_partial[0] : 0};
    } else if (type.partial >> m->p->time & 1 && in_parameter == NO_ID &&
               !m->use->keep_partial[i]) {
        in_parameter = accumulate(m, i, &value);
    }
    m->use->results[i] = type;
    unit_add_result(m->p->program, m->to, value, in_parameter);
}

// The further copies of the accumulator are parameters and results behind all others.
static void make_variants(struct maker *m) {
    if (m->zero_parameter == NO_ID)
        return;
    m->use->operands[m->zero_parameter] =
        (struct sharding){.partial = m->n_heads ? m->head_partial[0] : 0};
    for (uint32_t h = 1; h < m->n_heads; h++) {
        uint32_t parameter = m->from->n_parameters + h - 1;
        struct sharding type = {.partial = m->head_partial[h]};
        add_extra(m,
                  (struct unit_extra){.is_variant = true, .of = m->zero_parameter, .type = type});
        unit_add_result(m->p->program, m->to, m->heads[h], parameter);
    }
}

// ---- uses -------------------------------------------------------------------------------------

// Layers share a unit: a use with equal types is the same one.
static bool same_use(const struct partitioner *p, const struct unit_use *a,
                     const struct unit_use *b) {
    if (a->reference != b->reference)
        return false;
    const struct unit *unit = &p->reference->units[a->reference];
    for (uint32_t i = 0; i < unit->n_parameters; i++)
        if (!sharding_equal(&a->requested[i], &b->operands[i], unit->values[i].type.rank))
            return false;
    for (uint32_t i = 0; i < unit->n_results; i++)
        if (a->keep_partial[i] != b->keep_partial[i])
            return false;
    return true;
}

static const char *local_name(const struct partitioner *p, const char *name) {
    if (program_find_unit(p->program, name) == NO_ID)
        return name;
    for (int i = 2;; i++) {
        const char *candidate = arena_format(p->arena, "%s_%d", name, i);
        if (program_find_unit(p->program, candidate) == NO_ID)
            return candidate;
    }
}

static bool make_unit(struct partitioner *p, struct unit_use *use) {
    const struct unit *from = &p->reference->units[use->reference];
    use->unit = program_add_unit(p->program, local_name(p, from->name), from->span);
    p->program->units[use->unit].phase = from->phase;
    use->results = ARENA_ARRAY(p->arena, struct sharding, from->n_results + 1);
    struct maker m = {.p = p,
                      .from = from,
                      .to = &p->program->units[use->unit],
                      .use = use,
                      .map = ARENA_ARRAY(p->arena, value_id, from->n_values + 1),
                      .types = ARENA_ARRAY(p->arena, struct sharding, from->n_values + 1),
                      .chained = ARENA_ARRAY(p->arena, bool, from->n_values + 1),
                      .zero_parameter = NO_ID};
    make_parameters(&m);
    for (uint32_t i = 0; i < from->n_ops; i++)
        if (!make_op(&m, &from->ops[i]))
            return false;
    for (uint32_t i = 0; i < from->n_results; i++)
        make_result(&m, i);
    make_variants(&m);
    return true;
}

const struct unit_use *partition_unit(struct partitioner *p, const struct unit_use *request) {
    for (uint32_t i = 0; i < p->n_uses; i++)
        if (same_use(p, p->uses[i], request))
            return p->uses[i];
    const struct unit *from = &p->reference->units[request->reference];
    struct unit_use *use = ARENA_NEW(p->arena, struct unit_use);
    *use = *request;
    use->requested =
        arena_copy(p->arena, request->operands, from->n_parameters * sizeof *use->operands);
    use->operands =
        arena_copy(p->arena, request->operands, from->n_parameters * sizeof *use->operands);
    use->keep_partial = arena_copy(p->arena, request->keep_partial, from->n_results);
    if (!make_unit(p, use))
        return NULL;
    ARENA_PUSH(p->arena, p->uses, p->n_uses, p->cap_uses, use);
    return use;
}
