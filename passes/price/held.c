// Price, memory: what the stations of routes hold.
#include "ir/check.h"
#include "passes/price/price.h"

const struct tensor_type *station_type(const struct pricing_one *one, struct priced_way *way,
                                       int station) {
    if (!(way->known >> station & 1)) {
        struct buffer buffer = route_buffer(&way->of, station, 1);
        way->types[station] = buffer_type_on(&one->config->mesh, &buffer);
        way->item_bytes[station] = buffer_item_bytes_on(&one->config->mesh, &buffer);
        way->known |= UINT32_C(1) << station;
    }
    return &way->types[station];
}

static int64_t item_bytes(const struct pricing_one *one, struct priced_way *way, int station) {
    station_type(one, way, station);
    return way->item_bytes[station];
}

// How many items there are of a station, in all its buffers.
static int64_t items_of(const struct pricing_one *one, const struct priced_way *way,
                        uint32_t number, int station) {
    const struct station *of = &way->route.stations[station];
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
    if (!route_hop(&way->route, HOP_CARRY))
        return 0;
    int levels = levels_of_microbatches(one->placement.ordered, one->placement.microbatches);
    int64_t items = (levels - one->outline->notes.ways[number].paired) *
                    items_of(one, way, number, way->route.sum);
    return size_times(items, item_bytes(one, way, way->route.sum));
}

static void add_way(struct pricing_one *one, uint32_t number, struct price *price) {
    struct priced_way *way = &one->ways[number];
    const struct route *route = &way->route;
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
    const struct placed_tensor *tensor = placement_of(&one->placement, reference);
    const struct route_facts facts = {.step = STEP_TRAIN};
    struct route route =
        route_of(&one->placement, &one->config->mesh, tensor, STATE_OPTIMIZER, true, &facts);
    const struct stationed stationed = {.placement = &one->placement,
                                        .mesh = &one->config->mesh,
                                        .tensor = tensor,
                                        .reference = reference,
                                        .route = &route,
                                        .trained = true};
    struct buffer buffer = route_buffer(&stationed, route.owned, 1);
    int64_t bytes = buffer_item_bytes_on(&one->config->mesh, &buffer);
    price->held[STATE_OPTIMIZER] =
        size_plus(price->held[STATE_OPTIMIZER], size_times(buffer.count, bytes));
}

void price_held(struct pricing_one *one, struct price *price) {
    price->held[STATE_ACTIVATIONS] = one->outline->activations;
    for (uint32_t i = 0; i < one->n_ways; i++)
        if (one->ways[i].of.reference)
            add_way(one, i, price);
    for (uint32_t i = 0; i < one->outline->n_optimizer; i++)
        add_optimizer(one, &one->outline->optimizer[i], price);
}
