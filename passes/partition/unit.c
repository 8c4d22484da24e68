// Partition, inside units: from the types of a unit's parameters to a local unit.
//
// Every op carries the part of the model that it belongs to, and work.h says which axes cut which
// of its labels there. That fixes the types in which it wants its operands, and bring() makes them,
// with the collectives that takes. A label that is cut and contracted leaves summands. They stay
// summands as long as the op is linear and the column `partition` of ops.def says that it is no
// dearer to sum later: the three products that make up one input gradient are added before their
// sum crosses the wire once. Sums over the batch (gradients, losses, counts) are never finished
// here but by the step, where storage says how; a result that is a summand over microbatches is
// accumulated in place instead.
#include <string.h>

#include "ir/check.h"
#include "ir/diagnostic.h"
#include "passes/partition/unit.h"
#include "passes/placement/work.h"

// ---- emitting ---------------------------------------------------------------------------------

// A parameter added now: later values move up by one.
static value_id add_parameter(struct maker *m, const char *name, struct tensor_type type) {
    value_id added = unit_add_parameter(m->draft->program->arena, m->to, name, type, false);
    for (uint32_t v = 0; v < m->from->n_values; v++)
        for (uint32_t i = 0; i < m->forms[v].n; i++)
            m->forms[v].items[i].value += m->forms[v].items[i].value >= added;
    for (uint32_t i = 0; i < m->n_heads; i++)
        m->heads[i] += m->heads[i] >= added;
    return added;
}

// The form in which the value's own op, or its caller, made it.
static struct form made_form(const struct maker *m, value_id v) {
    CHECK(m->forms[v].n > 0);
    return m->forms[v].items[0];
}

// ---- the work of an op ------------------------------------------------------------------------

// What an op does on this device: which axes cut its labels, and in which types it takes its
// operands for that.
struct work {
    const struct op *op;
    struct op_labels labels;
    char names[MAX_LABELS + 1]; // the labels of operands
    struct axis_list cuts[MAX_LABELS];
    uint64_t cut;      // all axes of `cuts`
    uint64_t paired;   // those that cut two labels
    uint64_t summands; // the axes on which operands stay summands, which cut nothing here
    struct sharding wants[MAX_OPERANDS];
};

static const struct axis_list *cuts_of(const struct work *w, char label) {
    const char *at = strchr(w->names, label);
    CHECK(label && at);
    return &w->cuts[at - w->names];
}

static void divide_work(struct maker *m, struct work *w) {
    struct work_label labels[MAX_LABELS];
    const struct work_rule *by[MAX_AXES];
    const struct op *op = w->op;
    CHECK(op_labels_of(m->from, op, &w->labels));
    unsigned n = work_labels(m->from, op, w->names, labels);
    struct part part = {op->roles, op->n_roles, m->use->layer};
    work_cuts(&m->plan->placement, part, labels, n, w->cuts, by);
    for (unsigned i = 0; i < n; i++)
        w->cut |= axis_list_mask(&w->cuts[i]);
    w->paired = paired_axes(w->cuts, n);
}

// ---- what an op does with summands ------------------------------------------------------------

static bool is_linear_in(enum op_kind kind, unsigned operand) {
    return strchr(op_rows[kind].linear, '0' + (int)operand) != NULL;
}

static bool is_additive(enum op_kind kind) {
    return strcmp(op_rows[kind].linear, "0+1") == 0;
}

static uint64_t summands_of(const struct maker *m, value_id v) {
    return m->forms[v].n ? made_form(m, v).type.partial : 0; // a count is a copy
}

// An op that is linear in one operand, and has copies otherwise, makes a summand of a summand.
// Where the op's own work is cut among the devices, they take parts of the sum instead.
static uint64_t summands_of_operand(const struct maker *m, const struct work *w, unsigned i) {
    const struct op *op = w->op;
    if (!is_linear_in(op->kind, i))
        return 0;
    uint64_t mask = summands_of(m, op->operands[i]);
    for (unsigned k = 0; k < op->n_operands; k++) {
        if (k == i)
            continue;
        mask &= ~summands_of(m, op->operands[k]);
        if (m->from->values[op->operands[k]].type.rank > 0)
            mask &= ~w->cut;
    }
    return mask;
}

// Operand `i` stays a summand on these axes. On axes of the model the table says whether that is
// cheaper; sums over all tokens always wait for the step.
static uint64_t staying_summands(const struct maker *m, const struct work *w, unsigned i) {
    const value_id *operands = w->op->operands;
    if (w->op->kind ==
        OP_BIN_SUM) // bins are sums that need no order, what is read of them is rounded
        return 0;
    uint64_t mask = is_additive(w->op->kind) // a summand and a copy are not added
                        ? summands_of(m, operands[0]) & summands_of(m, operands[1])
                        : summands_of_operand(m, w, i);
    // What another unit has left as a sum is finished once, behind all that add to it.
    if (w->op->kind == OP_ACCUMULATE && operands[0] < m->from->n_parameters)
        mask |= summands_of(m, operands[0]);
    // In what order devices' summands are added is said of one sum, not of a sum of several.
    bool follows = op_rows[w->op->kind].partition == PARTITION_FOLLOW &&
                   !m->draft->program->job->policy.reproducible;
    return follows ? mask : mask & m->plan->token_axes;
}

static struct axis_list without_axes(const struct axis_list *axes, uint64_t mask) {
    struct axis_list rest = {0};
    for (unsigned i = 0; i < axes->n; i++)
        if (!(mask >> axes->axes[i] & 1))
            axis_list_add(&rest, axes->axes[i]);
    return rest;
}

static void choose_operands(struct maker *m, struct work *w) {
    for (unsigned i = 0; i < w->op->n_operands; i++)
        w->summands |= w->wants[i].partial = staying_summands(m, w, i);
    for (unsigned i = 0; w->names[i]; i++)
        w->cuts[i] = without_axes(&w->cuts[i], w->summands);
    for (unsigned i = 0; i < w->op->n_operands; i++)
        for (unsigned d = 0; w->labels.operands[i][d]; d++)
            w->wants[i].cuts[d] = *cuts_of(w, w->labels.operands[i][d]);
}

// A label that is cut and contracted leaves summands, or numbers of which the greatest is meant;
// one that stays is cut in the result. Where an axis cuts two labels, what is made is over the keys
// that the device has just then: the step joins it to what it makes of others.
static struct sharding result_type(const struct work *w, unsigned result) {
    struct sharding type = {.partial = w->summands};
    const char *labels = w->labels.results[result];
    bool max = op_rows[w->op->kind].combine == MONOID_MAX;
    uint64_t *contracted = max ? &type.maxima : &type.partial;
    for (unsigned d = 0; labels[d]; d++)
        type.cuts[d] = *cuts_of(w, labels[d]);
    for (unsigned i = 0; w->names[i]; i++)
        if (!strchr(labels, w->names[i]))
            *contracted |= axis_list_mask(&w->cuts[i]) & ~w->paired;
    return type;
}

// ---- ops --------------------------------------------------------------------------------------

// Where sums have an order, summands over axes of the model are in what the op computes in until they
// are whole, as on one device.
static void widen_summands(const struct maker *m, const struct op *op, unsigned result,
                           struct sharding *type) {
    enum dtype computed = op_computes_in(m->from, op);
    if (m->plan->placement.ordered && type->partial & ~m->plan->token_axes &&
        op_frees_result(op->kind, result) &&
        m->from->values[op->results[result]].type.dtype != computed)
        type->dtype = computed;
}

// Appends the op on local operands; its results' names and element types are the reference's.
static void emit_local(struct maker *m, const struct op *op, const value_id *operands,
                       const struct sharding *types) {
    unit_add_op(m->draft->program->arena, m->to, op->kind, "result", operands, op->n_operands,
                op->span);
    struct op *made = last_op(m);
    made->attributes =
        arena_copy(m->draft->arena, op->attributes, op->n_attributes * sizeof *op->attributes);
    made->n_attributes = op->n_attributes;
    made->n_roles = op->n_roles;
    memcpy(made->roles, op->roles, sizeof made->roles);
    for (unsigned i = 0; i < op->n_results; i++) {
        const struct value *reference = &m->from->values[op->results[i]];
        struct value *value = &m->to->values[made->results[i]];
        struct sharding type = types[i];
        widen_summands(m, op, i, &type);
        value->name = reference->name;
        CHECK(sharding_local(m->plan, &reference->type, &type, &value->type));
        add_form(m, op->results[i], (struct form){type, made->results[i]});
    }
}

// Ops on flat shards, as in updates and norms: every tensor is cut alike, and so is what is made
// element by element. Anything else is made of this device's own elements.
static void make_flat(struct maker *m, const struct op *op, unsigned flat_operand) {
    struct sharding flat = m->forms[op->operands[flat_operand]].items[0].type;
    const struct sharding whole = {0};
    struct op_labels labels;
    struct sharding types[MAX_RESULTS] = {0};
    value_id operands[MAX_OPERANDS];
    CHECK(op_labels_of(m->from, op, &labels));
    flat.dtype = DTYPE_NONE; // how operands are cut alike; their types are their own
    for (unsigned i = 0; i < op->n_operands; i++) {
        bool alike = strcmp(labels.operands[i], labels.operands[flat_operand]) == 0;
        operands[i] = bring(m, op->operands[i], alike ? &flat : &whole, op);
    }
    const unsigned n_results = op->n_results;
    CHECK(n_results <= MAX_RESULTS);
    for (unsigned i = 0; i < n_results; i++) {
        if (strcmp(labels.results[i], labels.operands[flat_operand]) == 0)
            types[i] = flat;
        else
            types[i].partial = cut_mask(&flat);
    }
    emit_local(m, op, operands, types);
}

// The copy of the accumulator that takes summands of this type, as it is so far.
static uint32_t head_for(struct maker *m, uint64_t partial) {
    uint32_t h = 0;
    while (h < m->n_heads && m->head_partial[h] != partial)
        h++;
    if (h < m->n_heads)
        return h;
    CHECK(m->n_heads < MAX_VARIANTS);
    const struct value *first = &m->from->values[m->zero_parameter];
    value_id head = m->zero_parameter;
    if (h > 0)
        head = add_parameter(m, arena_format(m->draft->arena, "%s.%u", first->name, h + 1),
                             first->type);
    m->head_partial[h] = partial;
    m->heads[m->n_heads++] = head;
    return h;
}

// `accumulate` onto the accumulator that started as zero: summands of another type go to a copy of
// it, so that each is summed over its own axes at the end (a gradient that all devices hold whole
// counts once in the norm, one that is cut counts in parts).
static void make_chained(struct maker *m, const struct op *op) {
    // What its owner alone adds is a summand.
    struct sharding type = {.partial = summands_of(m, op->operands[1]) | m->use->owners};
    uint32_t h = head_for(m, type.partial);
    value_id operands[2] = {m->heads[h], made_form(m, op->operands[1]).value};
    emit_local(m, op, operands, &type);
    m->heads[h] = made_form(m, op->results[0]).value;
    m->chained[op->results[0]] = true;
}

static bool is_flat_alone(const struct forms *forms) {
    uint32_t flat = 0;
    while (flat < forms->n && forms->items[flat].type.flat.n)
        flat++;
    return forms->n && flat == forms->n;
}

// The type in which a sum is made that the op adds to a result, if its own is to be wider.
static enum dtype summed_in(const struct maker *m, const struct op *op) {
    for (uint32_t i = 0; op->kind == OP_ACCUMULATE && i < m->from->n_results; i++)
        if (m->from->results[i].value == op->results[0])
            return m->use->wanted[i].summed_in;
    return DTYPE_NONE;
}

// The first operand of which there are only flat shards, for an op that can do with these; MAX_OPERANDS:
// none is. What an op before needed whole is there, and goes on whole.
static unsigned find_flat(const struct maker *m, const struct op *op) {
    for (unsigned i = 0; i < op->n_operands && op_works_on_shards(op); i++)
        if (is_flat_alone(&m->forms[op->operands[i]]))
            return i;
    return MAX_OPERANDS;
}

static void make_divided(struct maker *m, const struct op *op) {
    struct work w = {.op = op};
    struct sharding types[MAX_RESULTS];
    value_id operands[MAX_OPERANDS];
    divide_work(m, &w);
    choose_operands(m, &w);
    for (unsigned i = 0; i < op->n_operands; i++)
        operands[i] = bring_summed_in(m, op->operands[i], &w.wants[i], summed_in(m, op), op);
    for (unsigned i = 0; i < op->n_results; i++)
        types[i] = result_type(&w, i);
    emit_local(m, op, operands, types);
}

// What arrives as the elements that a cast makes, as gathered parameters do, is not cast. Summands
// that are wider than their sum are: they are rounded in between.
static bool is_cast_already(struct maker *m, const struct op *op) {
    if (op->kind != OP_CAST)
        return false;
    enum dtype wanted = m->from->values[op->results[0]].type.dtype;
    enum dtype given = m->from->values[op->operands[0]].type.dtype;
    const struct forms *forms = &m->forms[op->operands[0]];
    bool any = false;
    for (uint32_t i = 0; i < forms->n; i++) {
        struct form form = forms->items[i];
        if (form.type.dtype != wanted || dtype_holds(wanted, given))
            continue;
        form.type.dtype = DTYPE_NONE;
        add_form(m, op->results[0], form);
        any = true;
    }
    return any;
}

// Does the op make nothing but what nobody keeps?
static bool is_dropped(const struct maker *m, const struct op *op) {
    for (uint32_t i = 0; i < m->from->n_results; i++)
        if (m->use->wanted[i].dropped && m->from->results[i].value == op->results[0])
            return op->n_results == 1;
    return false;
}

static void make_op(struct maker *m, const struct op *op) {
    if (is_dropped(m, op))
        return;
    unsigned flat = find_flat(m, op);
    if (is_cast_already(m, op))
        return;
    if (op->kind == OP_IOTA)
        m->forms[op->results[0]].counts = op; // made where it is wanted
    else if (op->kind == OP_ACCUMULATE && m->chained[op->operands[0]])
        make_chained(m, op);
    else if (flat < MAX_OPERANDS)
        make_flat(m, op, flat);
    else
        make_divided(m, op);
}

// ---- parameters and results -------------------------------------------------------------------

// Parameters keep their order, so that a call's operands stay where they are.
static void make_parameters(struct maker *m) {
    for (uint32_t i = 0; i < m->from->n_parameters; i++) {
        const struct value *reference = &m->from->values[i];
        struct form form = {.type = m->use->operands[i]};
        struct tensor_type local;
        CHECK(sharding_local(m->plan, &reference->type, &form.type, &local));
        form.value = unit_add_parameter(m->draft->program->arena, m->to, reference->name, local,
                                        m->from->consumed[i]);
        add_form(m, i, form);
        if (form.type.zero) {
            CHECK(m->zero_parameter == NO_ID);
            m->zero_parameter = i;
            m->chained[i] = true;
        }
    }
}

static void add_extra(struct maker *m, struct unit_extra extra) {
    struct unit_use *use = m->use;
    use->extras = arena_grow(m->draft->arena, use->extras, use->n_extras * sizeof extra,
                             (use->n_extras + 1) * sizeof extra);
    use->extras[use->n_extras++] = extra;
}

// The number of the microbatch, a parameter.
static value_id microbatch_of(struct maker *m) {
    for (uint32_t i = 0; i < m->use->n_extras; i++)
        if (m->use->extras[i].kind == EXTRA_MICROBATCH)
            return m->from->n_parameters + i;
    add_extra(m, (struct unit_extra){.kind = EXTRA_MICROBATCH});
    return add_parameter(m, "microbatch", (struct tensor_type){.dtype = DTYPE_F64});
}

// A result that is a summand over microbatches is added to what earlier ones, or the one before,
// left in its place.
static uint32_t accumulate(struct maker *m, uint32_t result, bool paired, value_id *value) {
    const char *name = m->from->values[m->from->results[result].value].name;
    struct tensor_type local = m->to->values[*value].type;
    CHECK(m->n_heads <= 1); // the parameters of variants stand in front of these
    value_id sum = add_parameter(m, arena_format(m->draft->arena, "%s.sum", name), local);
    *value += *value >= sum;
    add_extra(m, (struct unit_extra){.kind = paired ? EXTRA_FIRST : EXTRA_SUM, .of = result});
    value_id operands[3] = {sum};
    if (paired) {
        uint32_t n_parameters = m->to->n_parameters;
        operands[2] = microbatch_of(m);
        *value += m->to->n_parameters - n_parameters;
    }
    operands[1] = *value;
    *value = add_op(m, paired ? OP_ACCUMULATE_PAIR : OP_ACCUMULATE,
                    arena_format(m->draft->arena, "%s.total", name), operands, paired ? 3 : 2,
                    m->from->span);
    m->to->values[*value].type = local;
    return sum;
}

// The sum of all that went to the accumulator itself.
static void make_chained_result(struct maker *m, uint32_t i) {
    bool any = m->n_heads > 0;
    m->use->results[i] = (struct sharding){.partial = any ? m->head_partial[0] : 0};
    unit_add_result(m->draft->program->arena, m->to, any ? m->heads[0] : m->zero_parameter,
                    m->from->results[i].in_parameter);
}

// What is wanted of other elements than it is made of, and read by nobody else, is made so.
static void make_of(struct maker *m, value_id v, enum dtype dtype) {
    const struct form form = made_form(m, v);
    const struct op *op = unit_producer(m->to, form.value);
    if (!op || m->forms[v].n > 1)
        return;
    for (uint32_t i = 0; i < m->to->n_ops; i++)
        for (unsigned k = 0; k < m->to->ops[i].n_operands; k++)
            if (m->to->ops[i].operands[k] == form.value)
                return;
    for (unsigned k = 0; k < op->n_results; k++)
        if (op->results[k] == form.value && !op_frees_result(op->kind, k))
            return;
    m->to->values[form.value].type.dtype = dtype;
    m->forms[v].items[0].type.dtype = dtype;
}

// What the next unit reads is whole or cut; what storage or the step finishes leaves as a summand.
static void make_result(struct maker *m, uint32_t i) {
    const struct unit_result *reference = &m->from->results[i];
    const struct wanted_result *wanted = &m->use->wanted[i];
    uint32_t in_parameter = reference->in_parameter;
    struct sharding type = wanted->type;
    if (wanted->as_made)
        type = made_form(m, reference->value).type;
    else
        type.partial = ((type.partial & summands_of(m, reference->value)) | wanted->summand) &
                       ~cut_mask(&wanted->type);
    if (in_parameter != NO_ID)
        type.dtype = m->use->operands[in_parameter].dtype;
    if (type.dtype != DTYPE_NONE)
        make_of(m, reference->value, type.dtype);
    value_id value = bring_summed_in(m, reference->value, &type, wanted->summed_in, NULL);
    bool is_summand = type.partial >> m->plan->time & 1 && in_parameter == NO_ID;
    bool paired = wanted->over_time == OVER_TIME_PAIRED && !(type.partial & ~m->plan->token_axes);
    if (is_summand && (paired || wanted->over_time == OVER_TIME_ADDED))
        in_parameter = accumulate(m, i, paired, &value);
    m->use->results[i] = type;
    unit_add_result(m->draft->program->arena, m->to, value, in_parameter);
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
        add_extra(m, (struct unit_extra){EXTRA_VARIANT, .of = m->zero_parameter, .type = type});
        unit_add_result(m->draft->program->arena, m->to, m->heads[h], parameter);
    }
}

// ---- uses -------------------------------------------------------------------------------------

static bool same_wanted(const struct wanted_result *a, const struct wanted_result *b) {
    return a->dropped == b->dropped && a->as_made == b->as_made && a->over_time == b->over_time &&
           a->summand == b->summand && a->summed_in == b->summed_in &&
           sharding_equal(&a->type, &b->type, MAX_RANK);
}

// Layers share a unit: a use with equal types is the same one.
static bool same_use(const struct plan *plan, const struct unit_use *a, const struct unit_use *b) {
    if (a->tier != b->tier || a->owners != b->owners ||
        !work_is_alike(&plan->placement, a->layer, b->layer))
        return false;
    const struct unit *unit = &plan->reference->job->units[a->reference];
    for (uint32_t i = 0; i < unit->n_parameters; i++)
        if (!sharding_equal(&a->requested[i], &b->operands[i], unit->values[i].type.rank))
            return false;
    for (uint32_t i = 0; i < unit->n_results; i++)
        if (!same_wanted(&a->wanted[i], &b->wanted[i]))
            return false;
    return true;
}

static void make_unit(struct draft *draft, struct arena *scratch, struct unit_use *use) {
    const struct unit *from =
        unit_by_parts(draft, &draft->plan->reference->job->units[use->reference], use->layer);
    use->unit = add_local_unit(draft, from->name, from->span);
    draft->program->job->units[use->unit].phase = from->phase;
    use->results = ARENA_ARRAY(draft->arena, struct sharding, from->n_results + 1);
    struct maker m = {.plan = draft->plan,
                      .draft = draft,
                      .scratch = scratch,
                      .from = from,
                      .to = &draft->program->job->units[use->unit],
                      .use = use,
                      .forms = ARENA_ARRAY(scratch, struct forms, from->n_values + 1),
                      .chained = ARENA_ARRAY(scratch, bool, from->n_values + 1),
                      .zero_parameter = NO_ID};
    make_parameters(&m);
    for (uint32_t i = 0; i < from->n_ops; i++)
        make_op(&m, &from->ops[i]);
    for (uint32_t i = 0; i < from->n_results; i++) {
        if (m.chained[from->results[i].value])
            make_chained_result(&m, i);
        else if (!use->wanted[i].dropped)
            make_result(&m, i);
    }
    make_variants(&m);
}

const struct unit_use *partition_unit(struct draft *draft, struct arena *scratch,
                                      const struct unit_use *request) {
    for (const struct unit_use *use = draft->units.uses[request->reference]; use; use = use->before)
        if (same_use(draft->plan, use, request))
            return use;
    const struct unit *from = &draft->plan->reference->job->units[request->reference];
    struct unit_use *use = ARENA_NEW(draft->arena, struct unit_use);
    *use = *request;
    use->requested =
        arena_copy(draft->arena, request->operands, from->n_parameters * sizeof *use->operands);
    use->operands =
        arena_copy(draft->arena, request->operands, from->n_parameters * sizeof *use->operands);
    use->wanted = arena_copy(draft->arena, request->wanted, from->n_results * sizeof *use->wanted);
    make_unit(draft, scratch, use);
    use->before = draft->units.uses[request->reference];
    return draft->units.uses[request->reference] = use;
}
