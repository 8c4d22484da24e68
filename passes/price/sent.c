// Price, communication: what the hops of routes send, moment by moment, and what it takes to sum the
// squares of gradients that devices have parts of.
#include "passes/price/price.h"

#include "ir/check.h"
#include "ir/limits.h"

// ---- side by side -----------------------------------------------------------------------------

// A collective that is filled, as partition fills one (transfers.c).
struct filled {
    struct carriage carriage;
    int64_t bytes;
    int64_t sending; // as of the moment
};
struct ready { // a hop that is made at a moment
    const struct group *group;
    struct owner_trips trips; // of what it moves, without members
    const struct sent_hop *sent;
};
struct filling {
    struct arena *arena; // of its lists
    struct pricing_one *one;
    struct occurrence when;
    struct ready *ready;
    uint32_t n_ready, cap_ready;
    uint64_t kinds;       // of these hops, by bits
    struct filled *items; // of one kind
    uint32_t n, cap;
    bool by_last; // of owners the last one is priced
};

struct filling *filling_new(struct arena *arena) {
    struct filling *f = ARENA_NEW(arena, struct filling);
    f->arena = arena;
    return f;
}

static struct carriage *with_room(struct filling *f, const struct exchange *exchange,
                                  enum dtype dtype, int64_t bytes, int64_t bucket_bytes,
                                  int64_t sending) {
    for (uint32_t i = f->n; i-- > 0;) {
        struct filled *filled = &f->items[i];
        if (filled->carriage.exchange.kind != exchange->kind ||
            !axis_list_equal(&filled->carriage.exchange.axes, &exchange->axes) ||
            filled->carriage.exchange.dim != exchange->dim || filled->carriage.dtype != dtype)
            continue;
        if (!bucket_has_room(bucket_bytes, filled->bytes, bytes))
            break;
        filled->bytes += bytes;
        return &filled->carriage;
    }
    struct filled made = {carriage_new(&f->one->config->mesh, exchange, dtype), bytes, sending};
    ARENA_PUSH(f->arena, f->items, f->n, f->cap, made);
    return &f->items[f->n - 1].carriage;
}

static void send_all(struct filling *f) {
    for (uint32_t i = 0; i < f->n; i++) {
        f->when.sending = f->items[i].sending;
        rows_add_carriage(f->one->rows, &f->items[i].carriage, &f->when);
    }
    f->n = 0;
}

// ---- hops -------------------------------------------------------------------------------------

// A master copy that is averaged, by the route of parameters, is the optimizer's.
static enum state state_sent(const struct group *group, const struct hop *hop) {
    return group->routes->stations[hop->from].is_master ? STATE_OPTIMIZER : group->kind->state;
}

// The executions in which the first owner sends, who owns as much as any, or the last, who owns as
// little: of a broadcast his own, of a reduce the others.
static int64_t sending_of(const struct filling *f, const struct owner_trips *items,
                          enum collective_kind kind, const struct axis_list *axes) {
    struct owner_trips trips = *items;
    if (kind != COLLECTIVE_BROADCAST && kind != COLLECTIVE_REDUCE)
        return f->when.times;
    trips.members = mesh_group_size(&f->one->config->mesh, axes);
    int64_t owned = owner_trips(&trips, f->by_last ? trips.members - 1 : 0);
    return kind == COLLECTIVE_BROADCAST ? owned : f->when.times - owned;
}

static void send_hop(struct filling *f, const struct ready *ready) {
    const struct group *group = ready->group;
    const struct hop *hop = &ready->sent->hop;
    const struct station_size *from = &group->sizes[hop->from], *to = &group->sizes[hop->to];
    enum collective_kind kind = owners_collective(group->storage, ready->sent->collective);
    int64_t whole_bytes = kind == COLLECTIVE_ALL_GATHER ? to->bytes : from->bytes;
    struct exchange exchange = exchange_flat(kind, &hop->axes);
    if (kind != COLLECTIVE_ALL_REDUCE)
        exchange.dim = group->storage->along - 1;
    struct carriage *carriage = with_room(f, &exchange, from->dtype, whole_bytes, hop->bucket_bytes,
                                          sending_of(f, &ready->trips, kind, &hop->axes));
    carriage_add(carriage, group->kind->role, state_sent(group, hop), from->dtype, from->elements,
                 to->elements);
}

static void find_hops_of(struct filling *f, const struct outlined_moment *moment,
                         const struct outlined_chance *chance) {
    const struct group *group = f->one->of_way[chance->way];
    const struct sent_hops *sent = &group->routes->sent[moment->step];
    if (!(chance->events & sent->events))
        return;
    for (unsigned k = 0; k < sent->n; k++) {
        const struct hop *hop = &sent->items[k].hop;
        if (!(chance->events >> hop->event & 1) || !(moment->kinds >> hop->kind & 1))
            continue;
        struct ready ready = {
            group, {moment->loops, moment->depth, chance->item, 1}, &sent->items[k]};
        ARENA_PUSH(f->arena, f->ready, f->n_ready, f->cap_ready, ready);
        f->kinds |= UINT64_C(1) << hop->kind;
    }
}

// Finds the hops that are made, in the order of the chances.
static void find_hops(struct filling *f, const struct outlined_moment *moment) {
    f->kinds = 0;
    f->n_ready = 0;
    for (uint32_t i = 0; i < moment->n_chances; i++)
        find_hops_of(f, moment, &moment->chances[i]);
}

// At most moments nothing is sent.
static void send_moment(struct filling *f, const struct outlined_moment *moment) {
    if (!(moment->events & f->one->events[moment->step]))
        return;
    find_hops(f, moment);
    for (int kind = 0; f->kinds >> kind; kind++) {
        if (!(f->kinds >> kind & 1))
            continue;
        for (uint32_t i = 0; i < f->n_ready; i++)
            if (f->ready[i].sent->hop.kind == (enum hop_kind)kind)
                send_hop(f, &f->ready[i]);
        send_all(f);
    }
}

// ---- squares ----------------------------------------------------------------------------------

static struct axis_list sum_over(const struct pricing_one *one, uint64_t mask) {
    return placement_sum(&one->placement, &one->config->mesh, mask);
}

// Over which axes a layer's owner makes them for all.
static struct axis_list owners_of_squares(const struct group *group) {
    const struct priced_routes *routes = group->routes;
    return owner_axes(group->storage, &routes->stations[routes->owned].flat);
}

static void send_bins_over(struct filling *f, const struct group *group, enum collective_kind kind,
                           const struct axis_list *axes, int64_t sending) {
    const int64_t bins = LIMIT_SQUARE_BINS;
    if (axes->n == 0)
        return;
    struct exchange exchange = exchange_flat(kind, axes);
    struct carriage *carriage =
        with_room(f, &exchange, DTYPE_F64, bins * dtype_bytes[DTYPE_F64], NO_BUCKET, sending);
    carriage_add_whole(carriage, group->kind->role, STATE_ACTIVATIONS, DTYPE_F64, bins);
}

// Where sums have an order, in bins: those that one call makes go side by side. Owners give theirs to
// all, before parts are summed.
static void send_bins(struct filling *f, const struct outlined_moment *moment) {
    for (uint32_t i = 0; i < moment->n_chances; i++) {
        const struct outlined_chance *chance = &moment->chances[i];
        const struct group *group = f->one->of_way[chance->way];
        struct axis_list owners = owners_of_squares(group);
        struct owner_trips trips = {moment->loops, moment->depth, chance->item, 1};
        send_bins_over(f, group, COLLECTIVE_BROADCAST, &owners,
                       sending_of(f, &trips, COLLECTIVE_BROADCAST, &owners));
    }
    send_all(f);
    for (uint32_t i = 0; i < moment->n_chances; i++) {
        const struct group *group = f->one->of_way[moment->chances[i].way];
        struct axis_list owners = owners_of_squares(group);
        struct axis_list axes = sum_over(f->one, group->squares & ~axis_list_mask(&owners));
        send_bins_over(f, group, COLLECTIVE_ALL_REDUCE, &axes, f->when.times);
    }
    send_all(f);
}

// Else the norm has a scalar for all gradients that lie alike, and each is summed by itself.
static void send_squares(struct filling *f) {
    uint64_t known[MAX_VARIANTS];
    uint32_t n = 0;
    for (uint32_t i = 0; i < f->one->n_groups; i++) {
        const struct group *group = f->one->groups[i];
        uint64_t mask = group->squares;
        uint32_t k = 0;
        while (k < n && known[k] != mask)
            k++;
        if (mask == 0 || k < n)
            continue;
        CHECK(n < MAX_VARIANTS);
        known[n++] = mask;
        struct axis_list axes = sum_over(f->one, mask);
        struct exchange exchange = exchange_flat(COLLECTIVE_ALL_REDUCE, &axes);
        struct carriage carriage = carriage_new(&f->one->config->mesh, &exchange, DTYPE_F64);
        carriage_add_whole(&carriage, ROLE_NONE, N_STATES, DTYPE_F64, 1);
        rows_add_carriage(f->one->rows, &carriage, &f->when);
    }
}

// ---- the whole --------------------------------------------------------------------------------

static void send_moments(struct filling *f) {
    const struct outline *outline = f->one->outline;
    for (uint32_t i = 0; i < outline->n_moments; i++) {
        const struct outlined_moment *moment = &outline->moments[i];
        f->when = (struct occurrence){.step = moment->step,
                                      .phase = moment->phase,
                                      .times = moment->times,
                                      .sending = moment->times};
        (moment->squares ? send_bins : send_moment)(f, moment);
    }
}

static bool any_owners(const struct pricing_one *one) {
    for (uint32_t i = 0; i < one->n_groups; i++)
        if (one->groups[i]->storage->by_tensor)
            return true;
    return false;
}

static int64_t sent_over(const struct transfer_rows *rows, const struct axis_list *axes) {
    int64_t sent = 0;
    for (uint32_t i = 0; i < rows->n; i++)
        if (axis_list_equal(&rows->items[i].axes, axes))
            sent = size_plus(sent, rows->items[i].bytes);
    return sent;
}

// Rows over the same axes are those of the first of the owners, or of the last, if he sends more.
static void send_by_owners(struct filling *f) {
    struct transfer_rows *all = f->one->rows;
    struct transfer_rows sent[2] = {{.arena = f->one->arena}, {.arena = f->one->arena}};
    for (int last = 0; last < 2; last++) {
        f->by_last = last;
        f->one->rows = &sent[last];
        send_moments(f);
    }
    f->by_last = false;
    f->one->rows = all;
    for (uint32_t i = 0; i < sent[0].n; i++) {
        const struct axis_list *axes = &sent[0].items[i].axes;
        bool last = sent_over(&sent[1], axes) > sent_over(&sent[0], axes);
        rows_add(all, &sent[last].items[i]);
    }
}

void price_sent(struct pricing_one *one) {
    struct filling *f = one->filling;
    f->one = one;
    (any_owners(one) ? send_by_owners : send_moments)(f);
    f->when =
        (struct occurrence){.step = STEP_TRAIN, .phase = PHASE_UPDATE, .times = 1, .sending = 1};
    if (!one->config->train.reproducible)
        send_squares(f);
}
