// place, sums: whether all gradients are summed in one order, where training is `reproducible`.
// Over which axes of the batch, and when, follows from how a tensor's gradient and its optimizer's
// states are kept; so of two orders the help proposes to keep the one tensor's as the other's.
#include "ir/diagnostic.h"
#include "passes/placement/alike.h"
#include "passes/placement/place.h"
#include "passes/placement/remedies.h"
#include "passes/placement/reports.h"

// How a tensor's gradient is summed over the batch.
struct sum_order {
    struct axis_list inner;  // axes of each of several microbatches
    struct axis_list digits; // all axes, what is summed over last first
};

// Hops stand in the order in which they are made.
static struct sum_order order_of(const struct placing *p, const struct placed_tensor *placed) {
    const struct route route = gradient_route(p, placed, 0);
    struct sum_order order = {0};
    for (unsigned i = route.n_hops; i-- > 0;) {
        const struct hop *hop = &route.hops[i];
        if (!hop_sums(hop))
            continue;
        axis_list_add_all(&order.digits, &hop->axes);
        if (hop->event == EVENT_BEHIND_WRITE && p->placement->microbatches > 1)
            axis_list_add_all(&order.inner, &hop->axes);
    }
    return order;
}

static bool order_equal(const struct sum_order *a, const struct sum_order *b) {
    return axis_list_equal(&a->inner, &b->inner) && axis_list_equal(&a->digits, &b->digits);
}

// ---- E313: two orders ---------------------------------------------------------------------------

// Two tensors, of which the one's state is kept otherwise than the other's: over these axes of the
// batch, or, where there are none, only cut in another order.
struct difference {
    uint32_t odd, like; // in placement->tensors
    enum state state;
    struct axis_list axes;
};

static struct difference difference_between(const struct placing *p, uint32_t odd, uint32_t like) {
    const struct placed_tensor *a = &p->placement->tensors[odd], *b = &p->placement->tensors[like];
    const struct axis_list *batch = &p->placement->batch;
    static const enum state states[] = {STATE_GRADIENTS, STATE_OPTIMIZER};
    struct difference difference = {odd, like, STATE_OPTIMIZER, {0}};
    for (unsigned s = 0; s < sizeof states / sizeof *states && !difference.axes.n; s++)
        for (unsigned i = 0; i < batch->n; i++)
            if (!stored_alike(a, batch->axes[i], b, batch->axes[i], states[s])) {
                difference.state = states[s];
                axis_list_add(&difference.axes, batch->axes[i]);
            }
    return difference;
}

// The first statement about the axes that may say so; NULL: nothing is said.
static const struct mode_statement *said_of(const struct placing *p,
                                            const struct difference *difference, uint32_t tensor) {
    const struct placed_tensor *placed = &p->placement->tensors[tensor];
    const struct axis_list *axes =
        difference->axes.n ? &difference->axes : &placed->shards[difference->state];
    for (unsigned i = 0; i < axes->n; i++)
        if (placed->extents[difference->state][axes->axes[i]].mode)
            return placed->extents[difference->state][axes->axes[i]].mode;
    return NULL;
}

static const char *tensor_name(const struct placing *p, uint32_t i) {
    return p->program->job->tensors[i % p->placement->n_tensors].name;
}

// The shards of the tensor if its products named the axes as the split of the batch does.
static struct placed_tensor in_batch_order(const struct placing *p, uint32_t tensor) {
    struct placed_tensor placed = p->placement->tensors[tensor];
    const struct axis_list *batch = &p->placement->batch;
    struct axis_list *lists[] = {&placed.shards[STATE_GRADIENTS], &placed.shards[STATE_OPTIMIZER],
                                 &placed.scattered_each};
    for (unsigned i = 0; i < sizeof lists / sizeof *lists; i++)
        if (axis_list_without(lists[i], batch).n == 0)
            *lists[i] = axis_list_within(batch, lists[i]);
    return placed;
}

// The least that helps: another order of the same axes, where parts then lie in each other, else
// another mode.
static void propose_one_order(struct placing *p, struct diagnostic *d,
                              const struct difference *difference,
                              const struct mode_statement *mode) {
    const struct placed_tensor *tensors = p->placement->tensors;
    struct placed_tensor turned = in_batch_order(p, difference->odd);
    struct sum_order order = order_of(p, &turned), wanted = order_of(p, &tensors[difference->like]);
    struct axis_list axes = axis_list_within(&p->placement->batch, &mode->axes);
    bool nests = axis_list_begins(&turned.shards[STATE_OPTIMIZER], &turned.scattered_each);
    if (order_equal(&order, &wanted) && nests && axes.n == mode->axes.n)
        propose_axes(p, d, mode, &axes);
    else if (difference->axes.n)
        propose_alike(p, d, &tensors[difference->odd], &tensors[difference->like],
                      difference->state, &difference->axes);
}

// One at least of two tensors has a statement that sets it apart, and is the odd one.
static void report_two_orders(struct placing *p, uint32_t odd, uint32_t like) {
    struct difference difference = difference_between(p, odd, like);
    if (!said_of(p, &difference, odd)) {
        difference.odd = like;
        difference.like = odd;
    }
    const struct mode_statement *mode = said_of(p, &difference, difference.odd);
    const struct mode_statement *other = said_of(p, &difference, difference.like);
    struct diagnostic *d = report_no_order(
        p, mode ? &mode->origin : &p->config->train.reproducible_origin,
        arena_format(p->arena, "gradients of %s are summed in another order than those of %s",
                     tensor_name(p, difference.odd), tensor_name(p, difference.like)));
    diagnostic_say(d, "no one order of microbatches fits both");
    if (other)
        diagnostic_label(d, origin_span(&other->origin), "those of %s",
                         tensor_name(p, difference.like));
    diagnostic_help(d, "shard and reduce all gradients alike, where training is `reproducible`");
    if (mode)
        propose_one_order(p, d, &difference, mode);
}

// ---- E313: another order than the batch's -------------------------------------------------------

static void report_other_order(struct placing *p, const struct axis_list *digits) {
    const struct axis_list *batch = &p->placement->batch;
    const struct split_statement *split = p->placement->split_by[batch->axes[0]];
    struct diagnostic *d = report_no_order(
        p, &split->origin,
        arena_format(p->arena,
                     "the batch is split over `%s`, but gradients are summed over it in "
                     "the order of `%s`",
                     axes_text(p, batch), axes_text(p, digits)));
    diagnostic_say(d, "neighbours are added first, and what is summed over first comes last");
    diagnostic_help(d, "split the batch over the axes in that order");
    propose_split(p, d, split, digits);
}

// The tensor whose order all others are to have: the first that is trained and has the batch's, or
// the first. UINT32_MAX: none is trained.
static uint32_t find_model(const struct placing *p, uint32_t n) {
    uint32_t first = UINT32_MAX;
    for (uint32_t i = 0; i < n; i++) {
        if (!p->program->job->tensors[i % p->placement->n_tensors].trainable)
            continue;
        struct sum_order order = order_of(p, &p->placement->tensors[i]);
        if (axis_list_equal(&order.digits, &p->placement->batch))
            return i;
        if (first == UINT32_MAX)
            first = i;
    }
    return first;
}

void check_sums(struct placing *p) {
    struct placement *placement = p->placement;
    uint32_t n = placement->n_ranges * placement->n_tensors, model = find_model(p, n);
    if (model == UINT32_MAX)
        return;
    struct sum_order wanted = order_of(p, &placement->tensors[model]);
    placement->inner = wanted.inner;
    for (uint32_t i = 0; i < n; i++) {
        struct sum_order order = order_of(p, &placement->tensors[i]);
        if (!p->program->job->tensors[i % placement->n_tensors].trainable ||
            order_equal(&order, &wanted))
            continue;
        report_two_orders(p, i, model);
        return;
    }
    if (!axis_list_equal(&wanted.digits, &placement->batch))
        report_other_order(p, &wanted.digits);
}
