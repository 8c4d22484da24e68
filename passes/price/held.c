// Price, memory: what the stations of routes hold.
#include <string.h>

#include "passes/price/price.h"

// A tensor's states have as many elements as each other before they are cut flat.
static int64_t whole_elements(const struct stationed *of) {
    struct buffer buffer = *of->reference;
    memcpy(buffer.layout.cuts, of->tensor->cuts, sizeof buffer.layout.cuts);
    buffer.layout.flat.n = 0;
    struct tensor_type type = buffer_type_on(of->mesh, &buffer);
    return type_elements(&type);
}

const struct station_size *size_at(const struct pricing_one *one, struct priced_way *way,
                                   int station) {
    if (!(way->known >> station & 1)) {
        if (!way->whole)
            way->whole = whole_elements(&way->of);
        way->sizes[station] = station_size(&way->of, station, way->whole);
        way->known |= UINT32_C(1) << station;
    }
    return &way->sizes[station];
}

static int64_t item_bytes(const struct pricing_one *one, struct priced_way *way, int station) {
    return size_at(one, way, station)->bytes;
}

// How many items there are of a station, in all its buffers.
static int64_t items_of(const struct pricing_one *one, const struct priced_way *way,
                        uint32_t number, int station) {
    const struct station *of = &way->of.route->stations[station];
    if (of->stacked)
        return way->of.reference->count;
    if (!of->of_each_unit)
        return of->slots;
    const struct readers *readers = &one->outline->readers[number];
    return readers->layers + size_times(readers->groups, of->slots);
}

// A sum that is carried over microbatches has a counter: an item beside each of its own for every
// level, the first of which is left out where the unit itself adds two.
static int64_t counter_bytes(const struct pricing_one *one, struct priced_way *way,
                             uint32_t number) {
    if (!route_hop(way->of.route, HOP_CARRY))
        return 0;
    int levels = levels_of_microbatches(one->placement.ordered, one->placement.microbatches);
    int64_t items = (levels - one->outline->notes.ways[number].paired) *
                    items_of(one, way, number, way->of.route->sum);
    return size_times(items, item_bytes(one, way, way->of.route->sum));
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
            size_times(items_of(one, way, number, (int)i), item_bytes(one, way, (int)i));
        enum state state = class_states[station->class];
        int64_t *to = state == N_STATES ? transient : &price->held[state];
        *to = size_plus(*to, bytes);
        price->is_ahead |= station->of_each_unit && way->of.tensor->prefetch > 0;
    }
    *transient = size_plus(*transient, counter_bytes(one, way, number));
}

// All that the optimizer has of a tensor lies alike, in elements of its own.
static void add_optimizer(struct pricing_one *one, const struct buffer *reference,
                          struct price *price) {
    struct priced_way *way = &one->ways[2 * placement_index(&one->placement, reference)];
    struct stationed of = way->of;
    of.reference = reference;
    of.route = way->optimizer;
    size_at(one, way, way->of.route->owned); // finds the whole
    struct station_size size = station_size(&of, of.route->owned, way->whole);
    price->held[STATE_OPTIMIZER] =
        size_plus(price->held[STATE_OPTIMIZER], size_times(reference->count, size.bytes));
}

void price_held(struct pricing_one *one, struct price *price) {
    price->held[STATE_ACTIVATIONS] = one->outline->activations;
    for (uint32_t i = 0; i < one->n_ways; i++)
        if (one->ways[i].of.reference)
            add_way(one, i, price);
    for (uint32_t i = 0; i < one->outline->n_optimizer; i++)
        add_optimizer(one, &one->outline->optimizer[i], price);
}
