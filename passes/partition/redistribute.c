// Partition, redistribution: the one routine that brings a value from the type it has to the type
// that somebody wants. Types differ axis by axis, and each difference is one move:
//
//   copy    -> part      slice            free
//   summand -> part      reduce_scatter
//   summand -> copy      all_reduce (so is one of several maxima)
//   part    -> copy      all_gather
//   part    -> part of another dimension   all_to_all
//   copy    -> summand   the first device keeps it, the others have zeros: free
//
// Cuts of storage, flat or along a dimension, which some updates compute on, come off and go on as a
// whole.
//
// What shrinks the value goes first and what makes it larger last. A dimension's cuts nest, so its
// innermost cut is taken off before the next and put on after it; so do the digits of a sum that
// has an order, of which the innermost are summed first. Of the forms that the unit has of a value
// already, the one is taken from which the fewest bytes travel.
#include <string.h>

#include "ir/check.h"
#include "passes/partition/unit.h"

// ---- one move ---------------------------------------------------------------------------------

struct move {
    enum op_kind kind; // N_OPS: none, the types are the same; PUT: the first device keeps it
    struct axis_list axes;
    unsigned dim;    // that is cut, or joined by an all_gather
    bool stored;     // the cut is storage's: flat, or of the dimension inside the others
    bool flat;       // in place of a dimension, all of the local tensor
    bool max;        // of an all_reduce
    unsigned joined; // by an all_to_all
};

static unsigned common_prefix(const struct axis_list *a, const struct axis_list *b) {
    unsigned n = 0;
    while (n < a->n && n < b->n && a->axes[n] == b->axes[n])
        n++;
    return n;
}

static bool is_partial(const struct sharding *type, unsigned axis) {
    return type->partial >> axis & 1;
}

static bool is_cut(const struct sharding *type, unsigned axis) {
    return cut_mask(type) >> axis & 1;
}

uint64_t cut_mask(const struct sharding *type) {
    uint64_t mask = axis_list_mask(&type->flat);
    for (unsigned d = 0; d < MAX_RANK; d++)
        mask |= axis_list_mask(&type->cuts[d]);
    return mask;
}

// The next cuts that dimension `d` wants, as long as they can be made of summands (or of copies).
static struct axis_list next_cuts(const struct sharding *have, const struct sharding *want,
                                  unsigned d, bool summands) {
    struct axis_list axes = {0};
    if (!axis_list_begins(&want->cuts[d], &have->cuts[d]))
        return axes;
    for (unsigned i = have->cuts[d].n; i < want->cuts[d].n; i++) {
        unsigned axis = want->cuts[d].axes[i];
        if (is_cut(have, axis) || is_partial(have, axis) != summands)
            break;
        axis_list_add(&axes, axis);
    }
    return axes;
}

// The storage's cut comes off or goes on.
static struct move stored_move(enum op_kind kind, const struct sharding *type) {
    return (struct move){.kind = kind,
                         .axes = type->flat,
                         .stored = true,
                         .flat = type->along == 0,
                         .dim = type->along ? type->along - 1u : 0};
}

static struct move find_slice(const struct sharding *have, const struct sharding *want) {
    for (unsigned d = 0; d < MAX_RANK; d++) {
        struct axis_list axes = next_cuts(have, want, d, false);
        if (axes.n)
            return (struct move){.kind = OP_SLICE, .axes = axes, .dim = d};
    }
    if (want->flat.n && !have->flat.n)
        return stored_move(OP_SLICE, want);
    return (struct move){.kind = N_OPS};
}

// What is still to be summed, outermost first.
static struct axis_list unsummed(const struct plan *plan, const struct sharding *have,
                                 const struct sharding *want) {
    return axes_of_sum(plan, have->partial & ~want->partial);
}

// The most of the first `axes`, in this order, that may be summed now. Where sums have an order, what
// is innermost in it comes first, so these are the last of what is still to be summed:
//
//   still to be summed   a, b, c   a, c, b   a, b, c
//   `axes`               b, c      b, c      b
//   now                  b, c      b         none: c comes before
static struct axis_list first_summed(const struct plan *plan, struct axis_list axes,
                                     const struct axis_list *sum) {
    while (plan->placement.ordered && axes.n &&
           (axes.n > sum->n || memcmp(axes.axes, sum->axes + sum->n - axes.n, axes.n) != 0))
        axes.n--;
    return axes;
}

static struct move find_scatter(const struct plan *plan, const struct sharding *have,
                                const struct sharding *want) {
    struct axis_list sum = unsummed(plan, have, want);
    for (unsigned d = 0; d < MAX_RANK; d++) {
        struct axis_list axes = first_summed(plan, next_cuts(have, want, d, true), &sum);
        if (axes.n)
            return (struct move){.kind = OP_REDUCE_SCATTER, .axes = axes, .dim = d};
    }
    return (struct move){.kind = N_OPS};
}

// What is to be whole. `innermost`: and the innermost axis, whose parts are taken of the sum, where
// what would be scattered over it cannot be yet.
static struct move find_sum(const struct plan *plan, const struct sharding *have,
                            const struct sharding *want, bool innermost) {
    struct axis_list sum = unsummed(plan, have, want);
    uint64_t scattered = cut_mask(want), mask = 0;
    for (unsigned i = sum.n; i-- > 0;) {
        bool whole = !(scattered >> sum.axes[i] & 1) || (innermost && i + 1 == sum.n);
        if (whole)
            mask |= UINT64_C(1) << sum.axes[i];
        else if (plan->placement.ordered)
            break;
    }
    return (struct move){.kind = mask ? OP_ALL_REDUCE : N_OPS, .axes = axes_of_sum(plan, mask)};
}

static struct move find_maximum(const struct plan *plan, const struct sharding *have) {
    return (struct move){.kind = have->maxima ? OP_ALL_REDUCE : N_OPS,
                         .axes = axes_of_sum(plan, have->maxima),
                         .max = true};
}

// The axes that are wanted next in dimension `to`, if they are the innermost of `from`, in one
// order. Of rows that are cut over a, b and c, and are wanted cut over a, with columns that are cut by
// nothing and are wanted cut over
//
//   b, c   b and c move, in one exchange
//   c, b   c moves; then b, now the innermost of the rows, is wanted next
//   b      none moves: c is inside b, and must be gathered first
static struct axis_list moving_cuts(const struct sharding *have, const struct sharding *want,
                                    unsigned from, unsigned to) {
    const struct axis_list *old = &have->cuts[from], *new = &want->cuts[to];
    struct axis_list axes = {0};
    unsigned keep = common_prefix(old, &want->cuts[from]), done = have->cuts[to].n;
    if (from == to || !axis_list_begins(new, &have->cuts[to]))
        return axes;
    for (unsigned begin = keep; begin < old->n; begin++) {
        unsigned n = old->n - begin;
        if (done + n > new->n || memcmp(old->axes + begin, new->axes + done, n) != 0)
            continue;
        for (unsigned i = begin; i < old->n; i++)
            axis_list_add(&axes, old->axes[i]);
        break;
    }
    return axes;
}

static struct move find_exchange(const struct sharding *have, const struct sharding *want) {
    for (unsigned from = 0; from < MAX_RANK; from++)
        for (unsigned to = 0; to < MAX_RANK; to++) {
            struct axis_list axes = moving_cuts(have, want, from, to);
            if (axes.n)
                return (struct move){
                    .kind = OP_ALL_TO_ALL, .axes = axes, .dim = to, .joined = from};
        }
    return (struct move){.kind = N_OPS};
}

// The innermost cuts of a dimension that stand where others are wanted.
static struct move find_gather(const struct sharding *have, const struct sharding *want) {
    if (have->flat.n && !want->flat.n)
        return stored_move(OP_ALL_GATHER, have);
    for (unsigned d = 0; d < MAX_RANK; d++) {
        unsigned keep = common_prefix(&have->cuts[d], &want->cuts[d]);
        struct move move = {.kind = OP_ALL_GATHER, .dim = d};
        for (unsigned i = keep; i < have->cuts[d].n; i++)
            axis_list_add(&move.axes, have->cuts[d].axes[i]);
        if (move.axes.n)
            return move;
    }
    return (struct move){.kind = N_OPS};
}

static struct move find_keep(const struct plan *plan, const struct sharding *have,
                             const struct sharding *want) {
    uint64_t mask = want->partial & ~have->partial;
    return (struct move){.kind = mask ? OP_PUT : N_OPS, .axes = axes_of_sum(plan, mask)};
}

static struct move next_move(const struct plan *plan, const struct sharding *have,
                             const struct sharding *want) {
    struct move move = find_maximum(plan, have);
    if (move.kind == N_OPS)
        move = find_slice(have, want);
    if (move.kind == N_OPS)
        move = find_scatter(plan, have, want);
    if (move.kind == N_OPS)
        move = find_exchange(have, want);
    if (move.kind == N_OPS)
        move = find_sum(plan, have, want, false);
    if (move.kind == N_OPS)
        move = find_gather(have, want);
    if (move.kind == N_OPS)
        move = find_sum(plan, have, want, true);
    if (move.kind == N_OPS)
        move = find_keep(plan, have, want);
    // Microbatches are summed by accumulating and never lie side by side.
    CHECK(!axis_list_has(&move.axes, plan->time));
    return move;
}

static void apply_move(struct sharding *type, const struct move *move) {
    struct axis_list *cuts = move->stored ? &type->flat : &type->cuts[move->dim];
    if (move->stored)
        type->along = move->flat ? 0 : (uint8_t)(move->dim + 1);
    if (move->kind == OP_PUT) {
        type->partial |= axis_list_mask(&move->axes);
        return;
    }
    if (move->kind == OP_ALL_TO_ALL)
        type->cuts[move->joined].n -= move->axes.n;
    if (move->max)
        type->maxima = 0;
    else if (move->kind != OP_ALL_GATHER)
        type->partial &= ~axis_list_mask(&move->axes);
    if (move->kind == OP_ALL_GATHER)
        cuts->n = (uint8_t)(cuts->n - move->axes.n);
    else if (move->kind != OP_ALL_REDUCE)
        for (unsigned i = 0; i < move->axes.n; i++)
            axis_list_add(cuts, move->axes.axes[i]);
}

// ---- where to begin ---------------------------------------------------------------------------

// Bytes that a device sends for the move. Parts of a value are equal, so none is padded.
static int64_t cost_of(const struct plan *plan, const struct tensor_type *logical,
                       const struct sharding *before, const struct move *move) {
    const struct exchange exchange = exchange_flat(op_collective(move->kind), &move->axes);
    struct sharding after = *before;
    struct tensor_type whole;
    apply_move(&after, move);
    if (exchange.kind == N_COLLECTIVES)
        return 0;
    CHECK(sharding_local(plan, logical, move->kind == OP_ALL_GATHER ? &after : before, &whole));
    int64_t bytes = type_bytes(&whole);
    int64_t members = mesh_group_size(&plan->config->mesh, &move->axes);
    return exchange_sent_bytes(&exchange, exchange_algorithm(&exchange, members, bytes),
                               whole.dtype, members, bytes, bytes);
}

int64_t redistribution_cost(const struct plan *plan, const struct tensor_type *logical,
                            struct sharding type, const struct sharding *want) {
    int64_t cost = 0;
    for (struct move move; (move = next_move(plan, &type, want)).kind != N_OPS;) {
        cost = size_plus(cost, cost_of(plan, logical, &type, &move));
        apply_move(&type, &move);
    }
    return cost;
}

static struct form cheapest_form(const struct maker *m, value_id v, const struct sharding *want) {
    const struct forms *forms = &m->forms[v];
    const struct tensor_type *logical = &m->from->values[v].type;
    const struct form *best = NULL;
    int64_t least = 0;
    for (uint32_t i = 0; i < forms->n; i++) {
        const struct form *form = &forms->items[i];
        int64_t cost = redistribution_cost(m->plan, logical, form->type, want);
        if (best && cost >= least)
            continue;
        best = form;
        least = cost;
    }
    CHECK(best);
    return *best;
}

// ---- emitting ---------------------------------------------------------------------------------

static void take_roles(struct maker *m, const struct op *from) {
    struct op *to = last_op(m);
    to->n_roles = from->n_roles;
    memcpy(to->roles, from->roles, sizeof to->roles);
}

// The op just added belongs to the part of the model that made the value that it moves.
static void inherit_roles(struct maker *m, value_id moved, const struct op *reader) {
    const struct op *from = unit_producer(m->to, moved);
    from = from ? from : reader;
    if (from)
        take_roles(m, from);
}

// What a moved value is called, behind the name of what it is.
static const char *suffix_of(const struct move *move) {
    switch (move->kind) {
    case OP_SLICE:
        return "part";
    case OP_REDUCE_SCATTER:
        return "scattered";
    case OP_ALL_GATHER:
        return "gathered";
    case OP_ALL_TO_ALL:
        return "exchanged";
    default:
        return move->max ? "greatest" : "summed";
    }
}

// Takes the first of elements of which each device has one: by a product with ones and zeros over a
// dimension that the axes cut, so that the result is a summand. Rows stay side by side.
static value_id emit_keep(struct maker *m, value_id v, value_id from, const struct axis_list *axes,
                          const struct op *reader) {
    struct program *program = m->draft->program;
    struct arena *arena = m->draft->arena;
    struct span span = split_span(m->plan, axes->axes[0]);
    struct tensor_type type = m->to->values[from].type, each = type;
    unsigned keep = type.rank > 1 ? type.rank - 1u : type.rank;
    memmove(&each.dims[type.rank - keep + 1], &each.dims[type.rank - keep],
            keep * sizeof *each.dims);
    each.dims[type.rank - keep] = (struct dim){DIM_PART, 1};
    each.rank++;
    const char *name = m->from->values[v].name;
    value_id devices = add_op(m, OP_IOTA, arena_format(arena, "%s.devices", name), NULL, 0, span);
    op_set_integer(program->arena, last_op(m), ATTRIBUTE_DIMENSION, DIM_PART);
    op_set_axes(program->arena, last_op(m), ATTRIBUTE_AXES, *axes);
    m->to->values[devices].type =
        (struct tensor_type){.dtype = DTYPE_I32, .rank = 1, .dims = {{DIM_PART, 1}}};
    inherit_roles(m, from, reader);
    value_id kept = from;
    for (int back = 0; back < 2; back++) {
        value_id operands[] = {kept, devices};
        kept = add_op(m, back ? OP_TAKE : OP_PUT,
                      arena_format(arena, "%s.%s", name, back ? "kept" : "of_first"), operands, 2,
                      span);
        op_set_integer(program->arena, last_op(m), ATTRIBUTE_INDEX, 0);
        op_set_integer(program->arena, last_op(m), ATTRIBUTE_KEEP, keep);
        inherit_roles(m, from, reader);
        m->to->values[kept].type = back ? type : each;
    }
    return kept;
}

static value_id emit_move(struct maker *m, value_id v, value_id from, const struct move *move,
                          const struct sharding *after, const struct op *reader) {
    struct arena *arena = m->draft->arena;
    struct span span = split_span(m->plan, move->axes.axes[0]);
    const char *name = m->from->values[v].name, *suffix = suffix_of(move);
    bool travels = move->kind != OP_SLICE;
    struct tensor_type type;
    CHECK(sharding_local(m->plan, &m->from->values[v].type, after, &type));
    value_id moved =
        add_op(m, move->kind, arena_format(arena, "%s.%s", name, travels ? "started" : suffix),
               &from, 1, span);
    op_set_axes(m->draft->program->arena, last_op(m), ATTRIBUTE_AXES, move->axes);
    if (move->kind == OP_ALL_TO_ALL)
        op_set_integer(m->draft->program->arena, last_op(m), ATTRIBUTE_CONCAT_DIM, move->joined);
    if (move->max)
        op_set_word(m->draft->program->arena, last_op(m), ATTRIBUTE_OPERATION,
                    operation_names[OPERATION_MAX]);
    if (move->kind != OP_ALL_REDUCE && !move->flat)
        op_set_integer(m->draft->program->arena, last_op(m), ATTRIBUTE_DIM, move->dim);
    inherit_roles(m, from, reader);
    m->to->values[moved].type = type;
    if (!travels)
        return moved;
    value_id done = add_op(m, OP_WAIT, arena_format(arena, "%s.%s", name, suffix), &moved, 1, span);
    inherit_roles(m, moved, reader);
    m->to->values[done].type = type;
    return done;
}

// Makes this device's part of a count, which is not sliced: kernels are told where it begins.
static value_id count_part(struct maker *m, value_id v, const struct sharding *want) {
    struct program *program = m->draft->program;
    const struct op *from = m->forms[v].counts;
    struct tensor_type type;
    CHECK(sharding_local(m->plan, &m->from->values[v].type, want, &type));
    value_id made = add_op(m, OP_IOTA, m->from->values[v].name, NULL, 0, from->span);
    struct op *op = last_op(m);
    for (unsigned i = 0; i < from->n_attributes; i++)
        op_set(program->arena, op, from->attributes[i]);
    if (want->cuts[0].n)
        op_set_axes(program->arena, op, ATTRIBUTE_AXES, want->cuts[0]);
    if (m->plan->placement.ring.n && axis_list_has(&want->cuts[0], m->plan->placement.ring.axes[0]))
        op_set_axes(program->arena, op, ATTRIBUTE_ZIGZAG, m->plan->placement.ring);
    take_roles(m, from);
    m->to->values[made].type = type;
    return made;
}

// ---- the routine ------------------------------------------------------------------------------

static bool is_as_wanted(const struct sharding *type, const struct sharding *want) {
    for (unsigned d = 0; d < MAX_RANK; d++)
        if (!axis_list_equal(&type->cuts[d], &want->cuts[d]))
            return false;
    return axis_list_equal(&type->flat, &want->flat) && type->partial == want->partial &&
           type->maxima == want->maxima && type->dtype == want->dtype;
}

static enum dtype dtype_of(const struct maker *m, value_id v, const struct sharding *type) {
    return type->dtype != DTYPE_NONE ? type->dtype : m->from->values[v].type.dtype;
}

// Elements become those that are wanted as soon as that makes them narrower: not summands of a sum that
// has an order, which is rounded once, when it is whole.
static bool is_to_be_cast(const struct maker *m, value_id v, const struct sharding *type,
                          const struct sharding *want, bool last) {
    return type->dtype != want->dtype &&
           (last || (dtype_holds(dtype_of(m, v, type), dtype_of(m, v, want)) &&
                     !(m->plan->placement.ordered && type->partial & ~m->plan->token_axes)));
}

// Whether summands are to be sent, and added up, in a type of more digits than they are made in.
static bool is_to_be_widened(const struct maker *m, value_id v, const struct sharding *type,
                             const struct sharding *want, enum dtype summed_in) {
    return summed_in != DTYPE_NONE && type->partial & ~want->partial &&
           !dtype_holds(dtype_of(m, v, type), summed_in);
}

static void emit_cast(struct maker *m, value_id v, struct form *form, const struct sharding *want,
                      const struct op *reader) {
    const struct value *reference = &m->from->values[v];
    struct tensor_type type = m->to->values[form->value].type;
    const struct op *made = unit_producer(m->from, v);
    value_id from = form->value;
    type.dtype = dtype_of(m, v, want);
    form->value = add_op(m, OP_CAST, arena_format(m->draft->arena, "%s.cast", reference->name),
                         &from, 1, made ? made->span : m->from->span);
    inherit_roles(m, from, reader);
    m->to->values[form->value].type = type;
    form->type.dtype = want->dtype;
    add_form(m, v, *form);
}

value_id bring(struct maker *m, value_id v, const struct sharding *want, const struct op *reader) {
    return bring_summed_in(m, v, want, DTYPE_NONE, reader);
}

value_id bring_summed_in(struct maker *m, value_id v, const struct sharding *want,
                         enum dtype summed_in, const struct op *reader) {
    const struct sharding wide = {.dtype = summed_in};
    const struct forms *forms = &m->forms[v];
    for (uint32_t i = 0; i < forms->n; i++)
        if (is_as_wanted(&forms->items[i].type, want))
            return forms->items[i].value;
    struct form form = {.type = *want};
    if (forms->counts) {
        form.value = count_part(m, v, want);
        add_form(m, v, form);
        return form.value;
    }
    form = cheapest_form(m, v, want);
    for (struct move move; (move = next_move(m->plan, &form.type, want)).kind != N_OPS;) {
        if (is_to_be_widened(m, v, &form.type, want, summed_in))
            emit_cast(m, v, &form, &wide, reader);
        else if (summed_in == DTYPE_NONE && is_to_be_cast(m, v, &form.type, want, false))
            emit_cast(m, v, &form, want, reader);
        apply_move(&form.type, &move);
        form.value = move.kind == OP_PUT ? emit_keep(m, v, form.value, &move.axes, reader)
                                         : emit_move(m, v, form.value, &move, &form.type, reader);
        add_form(m, v, form);
    }
    if (is_to_be_cast(m, v, &form.type, want, true))
        emit_cast(m, v, &form, want, reader);
    CHECK(is_as_wanted(&form.type, want));
    return form.value;
}
