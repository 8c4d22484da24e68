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

static bool are_nested(const struct selector *a, const struct selector *b) {
    return is_inside(a, b) || is_inside(b, a);
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
        diagnostic_delete(d, inner->origin.span);
}

static bool splits_dimension(const struct split_statement *split, enum dimension dimension) {
    for (uint32_t i = 0; i < split->n_dimensions; i++)
        if (split->dimensions[i] == dimension)
            return true;
    return false;
}

// The dimensions of one statement that another splits as well, or those that it does not.
static const char *names_of_split(const struct placing *p, const struct split_statement *split,
                                  const struct split_statement *other, bool shared) {
    const char *text = "";
    for (uint32_t i = 0; i < split->n_dimensions; i++)
        if (splits_dimension(other, split->dimensions[i]) == shared)
            text = arena_format(p->arena, "%s%s%s", text, *text ? ", " : "",
                                dimension_names[split->dimensions[i]]);
    return text;
}

// Does some statement split another dimension over the axis, that meets this one?
static bool splits_what_meets(const struct placing *p, const struct selector *scope,
                              enum dimension dimension, unsigned axis) {
    const struct strategy_config *strategy = &p->config->strategy;
    for (uint32_t s = 0; s < strategy->n_splits && axis_size(p, axis) > 1; s++) {
        const struct split_statement *split = &strategy->splits[s];
        for (uint32_t i = 0; i < split->n_dimensions && axis_list_has(said_axes(split), axis); i++)
            if (split->dimensions[i] != dimension && !are_nested(scope, &split->scope) &&
                meet_in_an_op(p, scope, dimension, &split->scope, split->dimensions[i]))
                return true;
    }
    return false;
}

// Those of the axes over which E303 lets the dimension be split.
static struct axis_list free_axes(const struct placing *p, const struct axis_list *axes,
                                  const struct selector *scope, enum dimension dimension) {
    struct axis_list free = {0};
    for (unsigned i = 0; i < axes->n; i++)
        if (!splits_what_meets(p, scope, dimension, axes->axes[i]))
            axis_list_add(&free, axes->axes[i]);
    return free;
}

static bool can_be_rewritten(const struct split_statement *split) {
    return split->said.n == 0 && split->origin.kind == ORIGIN_STATEMENT;
}

// One statement names the axes, if it does not yet and splits nothing else; the other splits what only
// it does.
static void propose_one(struct placing *p, struct diagnostic *d,
                        const struct split_statement *naming, const struct split_statement *other,
                        const struct axis_list *axes) {
    const char *left = names_of_split(p, other, naming, false);
    if (!axis_list_equal(said_axes(naming), axes)) {
        if (*names_of_split(p, naming, other, false))
            return;
        diagnostic_edit(d, naming->origin.span, "split %s over %s",
                        names_of_split(p, naming, other, true), axes_text(p, axes));
    }
    if (*left)
        diagnostic_edit(d, other->origin.span, "split %s over %s", left,
                        axes_text(p, &other->axes));
    else
        diagnostic_delete(d, other->origin.span);
}

static void propose_both(struct placing *p, struct diagnostic *d,
                         const struct split_statement *first, const struct split_statement *second,
                         const struct axis_list *axes) {
    bool first_says = axis_list_equal(said_axes(first), axes);
    bool second_says = axis_list_equal(said_axes(second), axes);
    bool only_shared = !*names_of_split(p, first, second, false);
    if (first_says || (!second_says && only_shared))
        propose_one(p, d, first, second, axes);
    else
        propose_one(p, d, second, first, axes);
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
    struct axis_list both = *said_axes(first);
    axis_list_add_all(&both, said_axes(second));
    struct axis_list axes = free_axes(p, &both, &first->scope, dimension);
    if (nested) {
        diagnostic_help(d, "leave out one of them, or split over another axis");
        propose_outer(d, first, second);
        return;
    }
    if (axes.n == 0) {
        diagnostic_help(d, "leave out both, or split `%s` over an axis that splits nothing else",
                        name);
        return;
    }
    diagnostic_help(d, "name %s in one statement, outermost first: `split %s over %s`",
                    axes.n == both.n ? "all axes" : "the axes that split nothing else",
                    names_of_split(p, first, second, true), axes_text(p, &axes));
    if (can_be_rewritten(first) && can_be_rewritten(second))
        propose_both(p, d, first, second, &axes);
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
    bool nested = are_nested(&first->scope, &second->scope);
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
