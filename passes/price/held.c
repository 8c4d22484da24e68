// Price, memory: what the stations of routes hold.
#include "ir/limits.h"
#include "passes/price/price.h"

// How many items a device has room for of so many, of which each of the members owns some.
static int64_t share_of(int64_t items, int64_t members) {
    return (items + members - 1) / members;
}

// How many items there are of a station, in all its buffers.
static int64_t items_of(const struct pricing_one *one, const struct group *group, unsigned i) {
    const struct station *station = &group->routes->stations[i];
    const struct kind *kind = group->kind;
    struct axis_list owners = owner_axes(group->storage, &station->flat);
    int64_t members = mesh_group_size(&one->config->mesh, &owners);
    if (station->stacked)
        return share_of(kind->items, members);
    if (!station->of_each_unit)
        return share_of(station->slots, members);
    const struct taken *taken = group->routes->is_of_first[i] ? &kind->first : &kind->gathered;
    int64_t items = 0;
    for (uint32_t unit = 0; unit < taken->n; unit++)
        items += share_of(taken->items[unit], members);
    return items;
}

// A sum that is carried over microbatches has a counter: an item beside each of its own for every
// level, the first of which is left out where the unit itself adds two.
static int64_t counter_bytes(const struct pricing_one *one, const struct group *group) {
    const struct priced_routes *routes = group->routes;
    if (!routes->carries)
        return 0;
    int levels = levels_of_microbatches(one->placement.ordered, one->placement.microbatches);
    int64_t items = (levels - group->kind->paired) * items_of(one, group, (unsigned)routes->sum);
    return size_times(items, group->sizes[routes->sum].bytes);
}

// Where sums have an order, the squares that a layer's owner makes of its gradient, for all.
static int64_t squares_bytes(const struct pricing_one *one, const struct group *group) {
    unsigned owned = (unsigned)group->routes->owned;
    bool made = one->placement.ordered && group->kind->state == STATE_GRADIENTS &&
                owner_axes(group->storage, &group->routes->stations[owned].flat).n;
    return made ? items_of(one, group, owned) * LIMIT_SQUARE_BINS * dtype_bytes[DTYPE_F64] : 0;
}

// Whether it is brought ahead of its use: gathered, or copied from another tier.
static bool is_ahead(const struct group *group, const struct station *station) {
    const struct mode_statement *copied = copied_for(group->storage, group->kind->state);
    bool ahead = copied && copied->residency == RESIDENCY_OFFLOADED && copied->prefetch > 0;
    return (station->of_each_unit && group->storage->prefetch > 0) ||
           (station->class == CLASS_TRANSIENT && ahead);
}

static void add_bytes(int64_t *sum, const struct group *group, int64_t bytes) {
    *sum = size_plus(*sum, size_times(group->n, bytes));
}

static void add_group(const struct pricing_one *one, const struct group *group,
                      struct price *price) {
    const struct priced_routes *routes = group->routes;
    int64_t *transient =
        group->kind->state == STATE_GRADIENTS ? &price->unreduced_bytes : &price->gathered_bytes;
    for (unsigned i = 0; i < routes->n_stations; i++) {
        const struct station *station = &routes->stations[i];
        if (station->window_of >= 0 || station->is_master || !routes->is_made[i])
            continue;
        enum state state = class_states[station->class];
        add_bytes(state == N_STATES ? transient : &price->held[state], group,
                  size_times(items_of(one, group, i), group->sizes[i].bytes));
        price->is_ahead |= is_ahead(group, station);
    }
    add_bytes(transient, group, counter_bytes(one, group));
    add_bytes(transient, group, squares_bytes(one, group));
}

void price_held(const struct pricing_one *one, struct price *price) {
    price->held[STATE_ACTIVATIONS] = one->outline->activations;
    for (uint32_t i = 0; i < one->n_groups; i++)
        add_group(one, one->groups[i], price);
}
