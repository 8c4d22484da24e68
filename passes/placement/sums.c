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
static struct sum_order order_of(const struct placing *p, const struct storage *storage) {
    const struct route route = gradient_route(p, storage, 0);
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

// Tensors of two storages, of which the one's state is kept otherwise than the other's: over these axes of the
// batch, or, where there are none, only cut in another order.
struct difference {
    const struct storage *odd, *like;
    enum state state;
    struct axis_list axes;
};

static struct difference difference_between(const struct placing *p, const struct storage *odd,
                                            const struct storage *like) {
    const struct axis_list *batch = &p->placement->batch;
    static const enum state states[] = {STATE_GRADIENTS, STATE_OPTIMIZER};
    struct difference difference = {odd, like, STATE_OPTIMIZER, {0}};
    for (unsigned s = 0; s < sizeof states / sizeof *states && !difference.axes.n; s++)
        for (unsigned i = 0; i < batch->n; i++)
            if (!stored_alike(odd, batch->axes[i], like, batch->axes[i], states[s])) {
                difference.state = states[s];
                axis_list_add(&difference.axes, batch->axes[i]);
            }
    return difference;
}

// The first statement about the axes that may say so; NULL: nothing is said.
static const struct mode_statement *said_of(const struct difference *difference,
                                            const struct storage *storage) {
    const struct axis_list *axes =
        difference->axes.n ? &difference->axes : &storage->shards[difference->state];
    for (unsigned i = 0; i < axes->n; i++)
        if (storage->modes[difference->state][axes->axes[i]])
            return storage->modes[difference->state][axes->axes[i]];
    return NULL;
}

static const char *tensor_name(const struct placing *p, const struct storage *storage) {
    return tensor_model_name(&p->program->job->tensors[storage->first % p->placement->n_tensors]);
}

// The same if products named the axes as the split of the batch does.
static struct storage in_batch_order(const struct placing *p, const struct storage *said) {
    struct storage storage = *said;
    const struct axis_list *batch = &p->placement->batch;
    struct axis_list *lists[] = {&storage.shards[STATE_GRADIENTS], &storage.shards[STATE_OPTIMIZER],
                                 &storage.scattered_each};
    for (unsigned i = 0; i < sizeof lists / sizeof *lists; i++)
        if (axis_list_without(lists[i], batch).n == 0)
            *lists[i] = axis_list_within(batch, lists[i]);
    return storage;
}

// The least that helps: another order of the same axes, where parts then lie in each other, else
// another mode.
static void propose_one_order(struct placing *p, struct diagnostic *d,
                              const struct difference *difference,
                              const struct mode_statement *mode) {
    struct storage turned = in_batch_order(p, difference->odd);
    struct sum_order order = order_of(p, &turned), wanted = order_of(p, difference->like);
    struct axis_list axes = axis_list_within(&p->placement->batch, &mode->axes);
    bool nests = axis_list_begins(&turned.shards[STATE_OPTIMIZER], &turned.scattered_each);
    if (order_equal(&order, &wanted) && nests && axes.n == mode->axes.n)
        propose_axes(p, d, mode, &axes);
    else if (difference->axes.n)
        propose_alike(p, d, difference->odd, difference->like, difference->state,
                      &difference->axes);
}

// One at least of two tensors has a statement that sets it apart, and is the odd one.
static void report_two_orders(struct placing *p, const struct storage *odd,
                              const struct storage *like) {
    struct difference difference = difference_between(p, odd, like);
    if (!said_of(&difference, odd)) {
        difference.odd = like;
        difference.like = odd;
    }
    const struct mode_statement *mode = said_of(&difference, difference.odd);
    const struct mode_statement *other = said_of(&difference, difference.like);
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

// The tensors whose order all others are to have: the first that are trained and have the batch's, or
// the first. NULL: none is trained.
static const struct storage *find_model(const struct placing *p) {
    const struct storage *first = NULL;
    for (uint32_t i = 0; i < p->placement->n_storages; i++) {
        const struct storage *storage = p->placement->storages[i];
        if (!storage->trained)
            continue;
        struct sum_order order = order_of(p, storage);
        if (axis_list_equal(&order.digits, &p->placement->batch))
            return storage;
        first = first ? first : storage;
    }
    return first;
}

void check_sums(struct placing *p) {
    struct placement *placement = p->placement;
    const struct storage *model = find_model(p);
    if (!model)
        return;
    struct sum_order wanted = order_of(p, model);
    placement->inner = wanted.inner;
    for (uint32_t i = 0; i < placement->n_storages; i++) {
        const struct storage *storage = placement->storages[i];
        struct sum_order order = order_of(p, storage);
        if (!storage->trained || order_equal(&order, &wanted))
            continue;
        report_two_orders(p, storage, model);
        return;
    }
    if (!axis_list_equal(&wanted.digits, &placement->batch))
        report_other_order(p, &wanted.digits);
}
