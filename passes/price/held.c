// Price, memory: what the stations of routes hold.
#include "passes/price/price.h"

const struct station_size *size_at(const struct pricing_one *one, uint32_t number, int station) {
    struct priced_way *way = &one->ways[number];
    if (!(way->known >> station & 1)) {
        way->sizes[station] = station_size(&way->of, station, one->outline->whole[number]);
        way->known |= UINT32_C(1) << station;
    }
    return &way->sizes[station];
}

// How many items there are of a station, in all its buffers.
static int64_t items_of(const struct pricing_one *one, const struct priced_way *way,
                        uint32_t number, int station) {
    const struct station *of = &way->of.route->stations[station];
    if (of->stacked)
        return buffer_items(way->of.reference);
    if (!of->of_each_unit)
        return of->slots;
    return one->outline->gathered[number];
}

// A sum that is carried over microbatches has a counter: an item beside each of its own for every
// level, the first of which is left out where the unit itself adds two.
static int64_t counter_bytes(const struct pricing_one *one, uint32_t number) {
    const struct priced_way *way = &one->ways[number];
    if (!route_hop(way->of.route, HOP_CARRY))
        return 0;
    int levels = levels_of_microbatches(one->placement.ordered, one->placement.microbatches);
    int64_t items = (levels - one->outline->notes.ways[number].paired) *
                    items_of(one, way, number, way->of.route->sum);
    return size_times(items, size_at(one, number, way->of.route->sum)->bytes);
}

static void add_way(struct pricing_one *one, uint32_t number, struct price *price) {
    struct priced_way *way = &one->ways[number];
    const struct route *route = way->of.route;
    int64_t *transient =
        route->state == STATE_GRADIENTS ? &price->unreduced_bytes : &price->gathered_bytes;
    for (unsigned i = 0; i < route->n_stations; i++) {
        const struct station *station = &route->stations[i];
        if (station->window_of >= 0)
            continue;
        int64_t bytes =
            size_times(items_of(one, way, number, (int)i), size_at(one, number, (int)i)->bytes);
        enum state state = class_states[station->class];
        int64_t *to = state == N_STATES ? transient : &price->held[state];
        *to = size_plus(*to, bytes);
        price->is_ahead |= station->of_each_unit && way->of.tensor->storage->prefetch > 0;
    }
    *transient = size_plus(*transient, counter_bytes(one, number));
}

// All that the optimizer has of a tensor lies alike, in elements of its own.
static void add_optimizer(struct pricing_one *one, const struct buffer *reference,
                          struct price *price) {
    uint32_t number = 2 * placement_index(&one->placement, reference);
    struct stationed of = one->ways[number].of;
    of.reference = reference;
    of.route = one->ways[number].optimizer;
    struct station_size size = station_size(&of, of.route->owned, one->outline->whole[number]);
    price->held[STATE_OPTIMIZER] =
        size_plus(price->held[STATE_OPTIMIZER], size_times(buffer_items(reference), size.bytes));
}

void price_held(struct pricing_one *one, struct price *price) {
    price->held[STATE_ACTIVATIONS] = one->outline->activations;
    for (uint32_t i = 0; i < one->n_ways; i++)
        if (one->ways[i].of.reference)
            add_way(one, i, price);
    for (uint32_t i = 0; i < one->outline->n_optimizer; i++)
        add_optimizer(one, &one->outline->optimizer[i], price);
}
