// Collectives as moves of digits: what a value is behind one, axis by axis. A summand becomes a
// copy or a part; a part becomes a copy again, or a part along another dimension, or that of
// another device; anything else adds or joins what does not belong together.
#include "verify/rules/rule.h"

static bool is_partial(const struct judgement *value, unsigned axis) {
    return value->partial >> axis & 1;
}

static uint32_t large_axes(const struct program *program, const struct axis_list *axes) {
    uint32_t mask = 0;
    for (unsigned i = 0; i < axes->n; i++)
        if (program->job->mesh.axes[axes->axes[i]].size > 1)
            mask |= 1u << axes->axes[i];
    return mask;
}

static bool is_maximum(const struct judgement *value, unsigned axis) {
    return value->partial_max >> axis & 1;
}

static bool is_cut(const struct world *w, const struct judgement *value, unsigned axis) {
    return value->form != FORM_ANY && form_get(&w->digits, value->form)->owners >> axis & 1;
}

static bool is_zero_value(const struct world *w, const struct judgement *value) {
    return term_kind(w->terms, value->value.of) == NODE_ZERO;
}

// What is summed at a place may differ from one execution to the next.
static void note_sum(struct proof *p, struct span span, unsigned axis, bool summands) {
    for (uint32_t i = 0; i < p->n_sums; i++) {
        struct copies_summed *known = &p->sums[i];
        if (known->axis != axis || known->span.source != span.source ||
            known->span.begin != span.begin || known->span.end != span.end)
            continue;
        known->summands |= summands;
        return;
    }
    struct copies_summed made = {span, axis, summands};
    ARENA_PUSH(p->world->arena, p->sums, p->n_sums, p->cap_sums, made);
}

// `does`: "add up".
static const struct fault *different_parts_fault(struct proof *p, const char *what,
                                                 const char *does, unsigned axis,
                                                 const struct judgement *value, struct span span) {
    const char *name = p->program->job->mesh.axes[axis].name;
    return fault_make(p, E411, span, NULL,
                      "%s over `%s` would %s different parts: what it reads is cut over `%s` "
                      "already (%s)",
                      what, name, does, name,
                      form_text(&p->world->digits, p->world->arena, value->form));
}

// The sum of the devices' own maxima is no maximum, but it is one value on all: as the shift of a
// sum of exponentials it serves (laws.c), as long as nothing overflows.
static const struct fault *add_maxima(struct proof *p, struct builder *builder,
                                      enum collective_kind kind, unsigned axis,
                                      struct judgement *value, struct span span) {
    const char *name = p->program->job->mesh.axes[axis].name;
    if (kind != COLLECTIVE_ALL_REDUCE)
        return fault_make(p, E411, span, NULL,
                          "%s over `%s` would add what is the greatest of one device's own part",
                          collective_names[kind], name);
    report(p->diagnostics, W820, span,
           "all_reduce over `%s` adds maxima: as the shift of a sum of exponentials any value is "
           "right, but one that is not the greatest may overflow",
           name);
    value->partial_max &= ~(1u << axis);
    value->bits |= 1u << axis;
    value->value = (struct scaled){term_fresh(builder, NODE_MAXIMA), SCALE_ONE};
    return NULL;
}

// Chunks of a flat tensor so large that the first device of the axis has all: the others have
// zeros, so each has a summand.
static bool parts_are_summands(struct proof *p, struct judgement *value, unsigned axis) {
    form_id form = value->form;
    if (!form_leave_idle(&p->world->digits, &form, axis) ||
        !padding_is_zeros(p->paddings, value->padding))
        return false;
    value->form = form;
    value->partial |= 1u << axis;
    return true;
}

// The adding half of all_reduce and reduce_scatter.
static const struct fault *add_over(struct proof *p, struct builder *builder,
                                    enum collective_kind kind, unsigned axis,
                                    struct judgement *value, struct span span) {
    if (is_cut(p->world, value, axis) && !parts_are_summands(p, value, axis))
        return different_parts_fault(p, collective_names[kind], "add up", axis, value, span);
    if (is_maximum(value, axis))
        return add_maxima(p, builder, kind, axis, value, span);
    bool copies = !is_partial(value, axis) && !is_zero_value(p->world, value);
    note_sum(p, span, axis, !copies);
    value->partial &= ~(1u << axis);
    if (copies) {
        // N equal copies are added: harmless only if something divides by N.
        scale_id n = scale_rational(p->world->terms, p->program->job->mesh.axes[axis].size, 1);
        value->value.scale = scale_multiply(p->world->terms, value->value.scale, n);
    }
    value->bits |= 1u << axis;
    return NULL;
}

static const struct fault *cut_partial_fault(struct proof *p, const char *what, unsigned axis,
                                             struct span span) {
    const char *name = p->program->job->mesh.axes[axis].name;
    return fault_make(
        p, E410, span, NULL,
        "%s over `%s` is given what is still a summand there: every device of `%s` has "
        "its own, and nothing adds them up before",
        what, name, name);
}

static const struct fault *shape_fault(struct proof *p, const char *what, unsigned axis,
                                       const struct judgement *value, const char *why,
                                       struct span span) {
    return fault_make(p, E510, span, NULL, "%s over `%s` of what is %s: %s", what,
                      p->program->job->mesh.axes[axis].name,
                      form_text(&p->world->digits, p->world->arena, value->form), why);
}

// Parts of a contraction may only be passed on: they are put together in units.
static const struct fault *parts_fault(struct proof *p, const char *what,
                                       const struct axis_list *axes, const struct judgement *value,
                                       struct span span) {
    if (!(coverage_axes(p->world, value->coverage) & large_axes(p->program, axes)))
        return NULL;
    return fault_make(p, E412, span, NULL, "%s is given what lacks %s", what,
                      coverage_missing_text(p->world, value->coverage));
}

static bool form_is_padded(const struct world *w, form_id form) {
    return form != FORM_ANY && form_get(&w->digits, form)->padded;
}

static const struct fault *cut_over(struct proof *p, const char *what, const struct axis_list *axes,
                                    int dim, int64_t chunk, struct judgement *value,
                                    struct span span) {
    const char *why = NULL;
    struct judgement before = *value;
    if (value->form == FORM_ANY)
        return NULL;
    if (dim < 0) {
        why = form_cut_flat(&p->world->digits, &value->form, axes, chunk);
        if (!why && !form_is_padded(p->world, value->form))
            value->padding = PADDING_ZEROS;
        return why ? shape_fault(p, what, axes->axes[0], &before, why, span) : NULL;
    }
    for (unsigned i = 0; i < axes->n && !why; i++)
        if (p->program->job->mesh.axes[axes->axes[i]].size > 1)
            why = form_cut(&p->world->digits, &value->form, dim, axes->axes[i]);
    value->padding = PADDING_ANY;
    return why ? shape_fault(p, what, axes->axes[0], &before, why, span) : NULL;
}

static const struct fault *join_over(struct proof *p, const char *what,
                                     const struct axis_list *axes, int dim, int64_t chunk,
                                     struct judgement *value, struct span span) {
    const char *why = NULL;
    struct judgement before = *value;
    value->padding = PADDING_ANY;
    for (unsigned i = 0; i < axes->n; i++) {
        if (is_partial(value, axes->axes[i]) || is_maximum(value, axes->axes[i]))
            return cut_partial_fault(p, what, axes->axes[i], span);
        value->bits |= 1u << axes->axes[i];
    }
    if (value->form == FORM_ANY)
        return NULL;
    if (dim < 0)
        why = form_join_flat(&p->world->digits, &value->form, axes, chunk);
    if (dim < 0 && !why && form_is_flat(&p->world->digits, value->form))
        value->padding = before.padding; // of the outer parts those of the inner ones make
    for (unsigned i = axes->n; dim >= 0 && i-- > 0 && !why;)
        if (p->program->job->mesh.axes[axes->axes[i]].size > 1)
            why = form_join(&p->world->digits, &value->form, dim, axes->axes[i]);
    return why ? shape_fault(p, what, axes->axes[0], &before, why, span) : NULL;
}

// The part that an axis owns of one dimension becomes its part of another.
static const struct fault *swap_over(struct proof *p, const struct exchange *exchange,
                                     struct judgement *value, struct span span) {
    const struct fault *fault =
        join_over(p, "all_to_all", &exchange->axes, exchange->concat_dim, 0, value, span);
    return fault ? fault
                 : cut_over(p, "all_to_all", &exchange->axes, exchange->dim, 0, value, span);
}

// Copies on these axes, seen as what combines over `axis`: together, summands are as many times the
// value; the greatest of them is it.
static void copies_combine(struct proof *p, struct judgement *value, uint32_t axes, unsigned axis) {
    for (unsigned i = 0; is_partial(value, axis) && i < p->program->job->mesh.n_axes; i++) {
        if (!(axes >> i & 1))
            continue;
        scale_id copies = scale_rational(p->world->terms, p->program->job->mesh.axes[i].size, 1);
        value->value.scale = scale_multiply(p->world->terms, value->value.scale, copies);
    }
    *(is_partial(value, axis) ? &value->partial : &value->partial_max) |= axes;
    value->bits |= axes;
}

// Member i gives to member i + shift: of the axes, innermost first, each moves by a digit of the
// shift. Once one has moved, the next one moves by one more where that one comes round, so how far
// depends on the place. That harms no copies. Parts it mixes. Of summands (and maxima) it leaves
// the sum over all that have moved, which the copies inside then are a part of.
static const struct fault *shift_over(struct proof *p, const struct exchange *exchange,
                                      struct judgement *value, struct span span) {
    const struct mesh *mesh = &p->program->job->mesh;
    int64_t members = mesh_group_size(mesh, &exchange->axes);
    int64_t left = (exchange->shift % members + members) % members;
    uint32_t moved = 0, copied = 0; // axes so far that move, and those of them that hold copies
    for (unsigned i = exchange->axes.n; i-- > 0;) {
        unsigned axis = exchange->axes.axes[i];
        int64_t size = mesh->axes[axis].size, digit = left % size;
        bool cut = is_cut(p->world, value, axis);
        bool combines = is_partial(value, axis) || is_maximum(value, axis);
        left /= size;
        if (size == 1)
            continue;
        if (moved && cut)
            return shape_fault(
                p, "a permute", axis, value,
                "how far parts move along this axis depends on the place along those "
                "inside it",
                span);
        if (moved && coverage_axes(p->world, value->coverage) >> axis & 1)
            return parts_fault(p, "a permute over several axes", &exchange->axes, value, span);
        if (moved && combines) {
            copies_combine(p, value, copied, axis);
            copied = 0;
        }
        if (moved && !(value->bits >> axis & 1))
            value->bits &= ~copied;
        if (!moved && digit && value->form != FORM_ANY)
            form_shift(&p->world->digits, &value->form, axis, digit);
        if (!moved && digit)
            value->coverage = coverage_shift(p->world, value->coverage, axis, digit);
        if (moved || digit) {
            moved |= 1u << axis;
            copied |= cut || combines ? 0 : 1u << axis;
        }
    }
    return NULL;
}

// An all_reduce of maxima. Copies stay what they are: the greatest of equal numbers is the number.
static const struct fault *maximum_over(struct proof *p, unsigned axis, struct judgement *value,
                                        struct span span) {
    if (is_cut(p->world, value, axis))
        return different_parts_fault(p, "all_reduce of maxima", "compare", axis, value, span);
    if (is_partial(value, axis))
        return cut_partial_fault(p, "all_reduce of maxima", axis, span);
    value->partial_max &= ~(1u << axis);
    value->bits |= 1u << axis;
    return NULL;
}

static const struct fault *reduce_over(struct proof *p, struct builder *builder,
                                       const struct exchange *exchange, struct judgement *value,
                                       struct span span) {
    const struct fault *fault = ordered_sum_over(p, exchange, value, span);
    for (unsigned i = 0; i < exchange->axes.n && !fault; i++) {
        unsigned axis = exchange->axes.axes[i];
        if (p->program->job->mesh.axes[axis].size > 1)
            fault = exchange->operation == OPERATION_MAX
                        ? maximum_over(p, axis, value, span)
                        : add_over(p, builder, exchange->kind, axis, value, span);
    }
    return fault;
}

// Only elements travel: what stands behind them in another place is unknown. Padding of a flat
// shard stands among them.
static void forget_padding(const struct world *w, struct judgement *value) {
    if (value->form != FORM_ANY && !form_is_flat(&w->digits, value->form))
        value->padding = PADDING_ANY;
}

// What one has becomes what all have.
static const struct fault *copy_over(struct proof *p, const struct axis_list *axes,
                                     struct judgement *value, struct span span) {
    forget_padding(p->world, value);
    for (unsigned i = 0; i < axes->n; i++) {
        unsigned axis = axes->axes[i];
        if (p->program->job->mesh.axes[axis].size == 1)
            continue;
        if (is_partial(value, axis) || is_maximum(value, axis))
            return cut_partial_fault(p, "a broadcast", axis, span);
        if (is_cut(p->world, value, axis))
            return shape_fault(p, "a broadcast", axis, value,
                               "others have other parts, which it would write over", span);
    }
    for (unsigned i = 0; i < axes->n; i++)
        value->bits |= 1u << axes->axes[i];
    return NULL;
}

static const struct fault *apply(struct proof *p, struct builder *builder,
                                 const struct exchange *exchange, int64_t chunk,
                                 struct judgement *value, struct span span) {
    const struct axis_list *axes = &exchange->axes;
    const struct fault *fault = ordered_check_collective(p, exchange, span);
    if (fault)
        return fault;
    switch (exchange->kind) {
    case COLLECTIVE_ALL_GATHER:
        return join_over(p, "all_gather", axes, exchange->dim, chunk, value, span);
    case COLLECTIVE_ALL_TO_ALL:
        return swap_over(p, exchange, value, span);
    case COLLECTIVE_PERMUTE:
        forget_padding(p->world, value);
        return shift_over(p, exchange, value, span);
    case COLLECTIVE_BROADCAST:
        return copy_over(p, axes, value, span);
    case COLLECTIVE_REDUCE_SCATTER:
        // What stands behind the source's elements is never read: zeros arrive in its place.
        if (!form_is_padded(p->world, value->form))
            value->padding = PADDING_ZEROS;
        fault = reduce_over(p, builder, exchange, value, span);
        return fault ? fault
                     : cut_over(p, "reduce_scatter", axes, exchange->dim, chunk, value, span);
    default:
        forget_padding(p->world, value);
        return reduce_over(p, builder, exchange, value, span);
    }
}

struct judgement collective_apply(struct proof *p, struct builder *builder,
                                  const struct exchange *exchange, int64_t chunk,
                                  const struct judgement *from, struct span span) {
    struct judgement value = *from;
    if (value.fault)
        return value;
    value.own = 0; // a copy at best
    precision_sent(p, exchange, &value, span);
    const struct fault *fault = NULL;
    if (form_is_code(&p->world->digits, from->form)) {
        fault = codes_gather(p, exchange, &value, span);
        return fault ? judgement_fault(fault) : value;
    }
    if (exchange->kind != COLLECTIVE_PERMUTE)
        fault = parts_fault(p, collective_names[exchange->kind], &exchange->axes, from, span);
    if (!fault)
        fault = apply(p, builder, exchange, chunk, &value, span);
    return fault ? judgement_fault(fault) : value;
}

struct judgement message_apply(struct proof *p, const struct exchange *exchange,
                               const struct judgement *from, struct span span) {
    struct judgement value = *from;
    if (value.fault)
        return value;
    if (form_is_code(&p->world->digits, value.form))
        return judgement_fault(fault_make(p, E516, span, NULL,
                                          "a code of a gradient goes to devices that add it up, "
                                          "and to no other part"));
    value.own = 0; // a copy at best
    precision_sent(p, exchange, &value, span);
    forget_padding(p->world, &value);
    return value;
}

struct judgement copy_apply(const struct world *w, const struct judgement *from) {
    struct judgement value = *from; // a fault stays one
    value.own = 0;                  // there may be several
    forget_padding(w, &value);
    return value;
}

struct judgement slice_apply(struct proof *p, const struct axis_list *axes, int dim, int64_t chunk,
                             const struct judgement *from, struct span span) {
    struct judgement value = *from;
    if (value.fault)
        return value;
    const struct fault *fault = parts_fault(p, "a slice", axes, from, span);
    if (form_is_code(&p->world->digits, from->form))
        fault = codes_cut(p, span);
    for (unsigned i = 0; i < axes->n && !fault; i++) {
        unsigned axis = axes->axes[i];
        if (p->program->job->mesh.axes[axis].size == 1)
            continue;
        if (is_partial(&value, axis) || is_maximum(&value, axis))
            fault = cut_partial_fault(p, "a slice", axis, span);
        else if (is_cut(p->world, &value, axis))
            fault =
                shape_fault(p, "a slice", axis, &value, "it is cut over this axis already", span);
    }
    if (!fault)
        fault = cut_over(p, "a slice", axes, dim, chunk, &value, span);
    return fault ? judgement_fault(fault) : value;
}
