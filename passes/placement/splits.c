// place, splits: which divisions of work have a meaning together. What two splits say is compared
// op by op: they conflict where an op of the model would have to obey both.
#include "ir/diagnostic.h"
#include "passes/placement/place.h"
#include "passes/placement/reports.h"
#include "passes/placement/work.h"
#include "passes/reference/select.h"

// ---- each by itself ---------------------------------------------------------------------------

// The dimensions along which the ops know how to work on a part.
static bool is_compiled(enum dimension dimension) {
    return dimension == DIM_BATCH || dimension == DIM_SEQUENCE || dimension == DIM_HEADS ||
           dimension == DIM_KV_HEADS || dimension == DIM_GROUP || dimension == DIM_FFN ||
           dimension == DIM_VOCAB;
}

static void check_split(struct placing *p, const struct split_statement *split) {
    bool scoped = split->scope.n_roles > 0;
    if (split->scope.has_slice && split->scope.slice_step != 1)
        not_yet(p, &split->origin, "a split for every n-th layer",
                "split it for a range of layers, as in `in layers[0:4] { ... }`");
    for (uint32_t i = 0; i < split->n_dimensions; i++) {
        enum dimension dimension = split->dimensions[i];
        const char *name = dimension_names[dimension];
        if (!is_compiled(dimension))
            not_yet(p, &split->origin, arena_format(p->arena, "splitting `%s`", name),
                    "split heads, kv_heads, ffn, vocab, the sequence or the batch");
        else if (dimension == DIM_BATCH && scoped)
            not_yet(p, &split->origin, "splitting the batch in a part of the model",
                    "split it outside of `in`");
    }
}

// ---- two that meet ----------------------------------------------------------------------------

// Does a selector only select what another one selects too, by saying more?
static bool is_inside(const struct selector *inner, const struct selector *outer) {
    return inner->n_roles > outer->n_roles && selector_matches(outer, inner->roles, inner->n_roles);
}

static bool could_be_cut(const struct work_label *label, enum dimension dimension) {
    return label->dimensions >> dimension & 1 && !label->whole;
}

// Has the op one label that is twice cut, or two labels that are cut alike?
static bool meet_in_labels(const struct work_label *labels, unsigned n, enum dimension a,
                           enum dimension b) {
    for (unsigned i = 0; i < n; i++)
        for (unsigned k = 0; k < n; k++)
            if ((i == k) == (a == b) && could_be_cut(&labels[i], a) && could_be_cut(&labels[k], b))
                return true;
    return false;
}

// Does the op read both dimensions, of whatever operands?
static bool reads_both(const struct unit *unit, const struct op *op, enum dimension a,
                       enum dimension b) {
    bool reads[N_DIMENSIONS] = {0};
    for (unsigned i = 0; i < op->n_operands; i++) {
        const struct tensor_type *type = &unit->values[op->operands[i]].type;
        for (unsigned d = 0; d < type->rank; d++)
            reads[type->dims[d].dimension] = true;
    }
    return reads[a] && reads[b];
}

// Is there an op in both scopes that has both dimensions, and could be cut along each?
static bool meet_in_an_op(const struct placing *p, const struct selector *first, enum dimension a,
                          const struct selector *second, enum dimension b) {
    for (uint32_t u = 0; u < p->program->job->n_units && selectors_overlap(first, second); u++)
        for (uint32_t i = 0; i < p->program->job->units[u].n_ops; i++) {
            const struct op *op = &p->program->job->units[u].ops[i];
            struct work_label labels[MAX_LABELS];
            char letters[MAX_LABELS + 1];
            if (!selector_matches(first, op->roles, op->n_roles) ||
                !selector_matches(second, op->roles, op->n_roles) ||
                !reads_both(&p->program->job->units[u], op, a, b))
                continue;
            unsigned n = work_labels(&p->program->job->units[u], op, letters, labels);
            if (meet_in_labels(labels, n, a, b))
                return true;
        }
    return false;
}

// Does the statement's text say nothing else?
static bool is_all_of(const struct split_statement *split) {
    return split->n_dimensions == 1 && split->said.n == 0 && split->origin.kind == ORIGIN_STATEMENT;
}

// The axes as a user can write them: factors have no names in the language.
static const struct axis_list *said_axes(const struct split_statement *split) {
    return split->said.n ? &split->said : &split->axes;
}

// The inner one of two splits over the same axes, one inside the other's scope, adds nothing.
static void propose_outer(struct diagnostic *d, const struct split_statement *first,
                          const struct split_statement *second) {
    bool inside = is_inside(&second->scope, &first->scope);
    const struct split_statement *inner = inside ? second : first, *outer = inside ? first : second;
    if (is_all_of(inner) && axis_list_without(&inner->axes, &outer->axes).n == 0)
        diagnostic_edit(d, inner->origin.span, "%s", "");
}

// E302. One product has an order, and so have a scope and what is inside; two statements of one
// scope have none.
static void report_twice(struct placing *p, const struct split_statement *first,
                         const struct split_statement *second, enum dimension dimension,
                         bool nested) {
    const char *name = dimension_names[dimension];
    struct diagnostic *d = report(p->diagnostics, E302, origin_span(&second->origin),
                                  "`%s` is split by two statements", name);
    diagnostic_say(d, nested ? "over an axis that cuts it already"
                             : "which cut is the outer one is not said");
    diagnostic_label(d, origin_span(&first->origin), "the other statement");
    diagnostic_origin(d, &second->origin);
    if (nested) {
        diagnostic_help(d, "leave out one of them, or split over another axis");
        propose_outer(d, first, second);
        return;
    }
    struct axis_list both = *said_axes(first);
    axis_list_add_all(&both, said_axes(second));
    diagnostic_help(d, "name all axes in one statement, outermost first: `split %s over %s`", name,
                    axes_text(p, &both));
    if (is_all_of(first) && is_all_of(second)) {
        diagnostic_edit(d, first->origin.span, "split %s over %s", name, axes_text(p, &both));
        diagnostic_edit(d, second->origin.span, "%s", "");
    }
}

// What a device has a part of, in words.
static const char *parts_text(enum dimension dimension) {
    return dimension == DIM_BATCH      ? "sequences"
           : dimension == DIM_SEQUENCE ? "positions"
                                       : dimension_names[dimension];
}

static bool splits_heads_everywhere(const struct split_statement *split) {
    for (uint32_t i = 0; i < split->n_dimensions; i++)
        if (split->dimensions[i] != DIM_HEADS && split->dimensions[i] != DIM_KV_HEADS)
            return false;
    return split->scope_depth == 0 && split->said.n == 0 && split->origin.kind == ORIGIN_STATEMENT;
}

// E303. A device of the axis would have to be in two places.
static void report_shared_axis(struct placing *p, const struct split_statement *first,
                               enum dimension a, const struct split_statement *second,
                               enum dimension b, unsigned axis) {
    struct diagnostic *d =
        report(p->diagnostics, E303, origin_span(&second->origin), "`%s` splits both `%s` and `%s`",
               axis_name(p, axis), dimension_names[a], dimension_names[b]);
    diagnostic_say(d, "a device would hold some %s of some %s only", parts_text(b), parts_text(a));
    diagnostic_label(d, origin_span(&first->origin), "here it splits `%s`", dimension_names[a]);
    diagnostic_origin(d, &second->origin);
    bool sequence = a == DIM_SEQUENCE || b == DIM_SEQUENCE;
    bool heads = a == DIM_HEADS || a == DIM_KV_HEADS || b == DIM_HEADS || b == DIM_KV_HEADS;
    if (!sequence || !heads) {
        diagnostic_help(d, "give each its own axis of the mesh");
        return;
    }
    const struct split_statement *of_heads = a == DIM_SEQUENCE ? second : first;
    const char *exchange =
        arena_format(p->arena, "in attention.core { split heads, kv_heads over %s }",
                     axes_text(p, said_axes(of_heads)));
    diagnostic_help(d,
                    "give each its own axis of the mesh, or split heads where sequences are "
                    "brought together: `%s`",
                    exchange);
    if (splits_heads_everywhere(of_heads))
        diagnostic_edit(d, of_heads->origin.span, "%s", exchange);
}

// The first axis that two lists share and that has more than one device; -1: none.
static int shared_axis(const struct placing *p, const struct axis_list *a,
                       const struct axis_list *b) {
    for (unsigned i = 0; i < a->n; i++)
        if (axis_size(p, a->axes[i]) > 1 && axis_list_has(b, a->axes[i]))
            return a->axes[i];
    return -1;
}

// False, once reported. Of two scopes, one inside the other, the inner one decides about an axis,
// and its cuts of a dimension are inside the outer one's.
static bool check_pair(struct placing *p, const struct split_statement *first, enum dimension a,
                       const struct split_statement *second, enum dimension b) {
    int axis = shared_axis(p, &first->axes, &second->axes);
    bool nested =
        is_inside(&first->scope, &second->scope) || is_inside(&second->scope, &first->scope);
    bool conflict = a == b ? !nested || axis >= 0 : !nested && axis >= 0;
    if (!conflict || !meet_in_an_op(p, &first->scope, a, &second->scope, b))
        return true;
    if (a == b)
        report_twice(p, first, second, a, nested);
    else
        report_shared_axis(p, first, a, second, b, (unsigned)axis);
    return false;
}

// Two statements, or one with itself, dimension by dimension: the first trouble is enough.
static void check_statements(struct placing *p, const struct split_statement *first,
                             const struct split_statement *second) {
    for (uint32_t i = 0; i < first->n_dimensions; i++)
        for (uint32_t k = first == second ? i + 1 : 0; k < second->n_dimensions; k++)
            if (!check_pair(p, first, first->dimensions[i], second, second->dimensions[k]))
                return;
}

// ---- heads ------------------------------------------------------------------------------------

static const struct split_statement *split_of(const struct placing *p, enum dimension dimension,
                                              const struct selector *scope) {
    const struct strategy_config *strategy = &p->config->strategy;
    for (uint32_t s = 0; s < strategy->n_splits; s++)
        for (uint32_t i = 0; i < strategy->splits[s].n_dimensions; i++)
            if (strategy->splits[s].dimensions[i] == dimension &&
                selector_matches(&strategy->splits[s].scope, scope->roles, scope->n_roles))
                return &strategy->splits[s];
    return NULL;
}

static bool has_tensor(const struct placing *p, const struct selector *scope,
                       enum dimension dimension) {
    for (uint32_t t = 0; t < p->program->job->n_tensors; t++) {
        const struct tensor *tensor = &p->program->job->tensors[t];
        for (unsigned d = 0; d < tensor->rank; d++)
            if (tensor->dims[d].dimension == dimension &&
                selector_matches(scope, tensor->roles, tensor->n_roles))
                return true;
    }
    return false;
}

// The statement's dimensions, and beside the one kind of heads the other.
static const char *with_both_heads(struct placing *p, const struct split_statement *split) {
    const char *text = "";
    for (uint32_t i = 0; i < split->n_dimensions; i++) {
        enum dimension dimension = split->dimensions[i];
        bool heads = dimension == DIM_HEADS || dimension == DIM_KV_HEADS;
        text = arena_format(p->arena, "%s%s%s", text, i ? ", " : "",
                            heads ? "heads, kv_heads" : dimension_names[dimension]);
    }
    return text;
}

static bool report_heads(struct placing *p, const struct split_statement *said) {
    const struct split_statement *heads = split_of(p, DIM_HEADS, &said->scope);
    const struct split_statement *kv = split_of(p, DIM_KV_HEADS, &said->scope);
    const char *missing = heads ? "kv_heads" : "heads";
    struct diagnostic *d =
        report(p->diagnostics, E308, origin_span(&said->origin),
               "`%s` is split, but `%s` is not split alike", heads ? "heads" : "kv_heads", missing);
    diagnostic_say(d, "a query head needs its key and value head on the same device");
    if (heads && kv)
        diagnostic_label(d, origin_span(&kv->origin), "key and value heads are split here");
    diagnostic_origin(d, &said->origin);
    const struct model_config *model = &p->config->model;
    if (model->kv_heads == model->heads)
        diagnostic_note(d, "heads are not grouped in this model: its kv_heads are as many, %d",
                        (int)model->kv_heads);
    diagnostic_help(d, "split both in one statement: `split heads, kv_heads over %s`",
                    axes_text(p, said_axes(said)));
    if (!(heads && kv) && said->said.n == 0 && said->origin.kind == ORIGIN_STATEMENT)
        diagnostic_edit(d, said->origin.span, "split %s over %s", with_both_heads(p, said),
                        axes_text(p, &said->axes));
    return true;
}

// Attention pairs every query head with its key and value head: where both have weights they are
// split alike. Inside attention's core queries, keys and values are brought to the one split.
static bool check_heads(struct placing *p, const struct split_statement *split) {
    for (uint32_t i = 0; i < split->n_dimensions; i++) {
        enum dimension dimension = split->dimensions[i];
        if (dimension != DIM_HEADS && dimension != DIM_KV_HEADS)
            continue;
        struct axis_list heads = work_cuts_in_scope(p->placement, &split->scope, DIM_HEADS);
        struct axis_list kv = work_cuts_in_scope(p->placement, &split->scope, DIM_KV_HEADS);
        if (!axis_list_equal(&heads, &kv) && has_tensor(p, &split->scope, dimension))
            return !report_heads(p, split);
    }
    return true;
}

// ---- all --------------------------------------------------------------------------------------

void check_splits(struct placing *p) {
    const struct strategy_config *strategy = &p->config->strategy;
    bool paired = true;
    for (uint32_t s = 0; s < strategy->n_splits; s++) {
        const struct split_statement *second = &strategy->splits[s];
        check_split(p, second);
        for (uint32_t f = 0; f <= s; f++)
            check_statements(p, &strategy->splits[f], second);
        paired = paired && check_heads(p, second); // once
    }
}

// A device has microbatches of its own of the batch. To bring sequences together they would have to
// be cut first, and among devices then.
void check_microbatch_splits(struct placing *p) {
    const struct strategy_config *strategy = &p->config->strategy;
    if (p->placement->microbatches == 1)
        return;
    for (uint32_t s = 0; s < strategy->n_splits; s++) {
        const struct split_statement *split = &strategy->splits[s];
        struct axis_list axes = effective_axes(p, &split->axes);
        int axis = shared_axis(p, &axes, &p->placement->batch);
        if (axis >= 0 && split->dimensions[0] != DIM_BATCH) {
            not_yet(p, &split->origin,
                    arena_format(p->arena,
                                 "splitting `%s` in a part of the model over `%s`, which splits "
                                 "the batch, with several microbatches,",
                                 dimension_names[split->dimensions[0]],
                                 axis_name(p, (unsigned)axis)),
                    "take one microbatch, by leaving `microbatch` out, or another axis");
            return;
        }
    }
}
