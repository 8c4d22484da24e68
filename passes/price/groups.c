// Price, groups: tensors that are stored alike have the same routes if the same is known of them, and if
// as much of them is on a device, the same bytes at every station. So routes and sizes are found once
// for all of a group, and its bytes are multiplied.
#include "passes/price/price.h"

#include <string.h>

#include "ir/check.h"

// ---- routes -----------------------------------------------------------------------------------

// The collective that a hop is; N_COLLECTIVES: none.
static enum collective_kind collective_of(enum hop_kind kind) {
    switch (hop_rows[kind].action) {
    case ACTION_GATHER:
        return COLLECTIVE_ALL_GATHER;
    case ACTION_SCATTER:
        return COLLECTIVE_REDUCE_SCATTER;
    case ACTION_REDUCE:
        return COLLECTIVE_ALL_REDUCE;
    default:
        return N_COLLECTIVES;
    }
}

static struct sent_hops sent_of(struct arena *arena, const struct route *route) {
    struct sent_hops sent = {.items = ARENA_ARRAY(arena, struct sent_hop, route->n_hops)};
    for (unsigned i = 0; i < route->n_hops; i++) {
        const struct hop *hop = &route->hops[i];
        enum collective_kind collective = collective_of(hop->kind);
        if (collective == N_COLLECTIVES)
            continue;
        sent.items[sent.n++] = (struct sent_hop){*hop, collective};
        sent.events |= UINT32_C(1) << hop->event;
    }
    return sent;
}

// Parameters have all of them: those that a step reads once, too, have the buffers of others.
static const bool *made_stations(struct arena *arena, const struct route *route) {
    bool *made = ARENA_ARRAY(arena, bool, route->n_stations);
    for (unsigned i = 0; i < route->n_stations; i++)
        made[i] = route->state != STATE_GRADIENTS || route->stations[i].of_each_unit ||
                  route_stops_at(route, (int)i);
    return made;
}

static const bool *stations_of_first(struct arena *arena, const struct route *route) {
    bool *first = ARENA_ARRAY(arena, bool, route->n_stations);
    // Before the microbatches the buffers are those of the first use, too.
    for (unsigned i = 0; i < route->n_hops; i++)
        first[route->hops[i].to] |= route->hops[i].event == EVENT_BEFORE_FIRST_USE ||
                                    route->hops[i].event == EVENT_BEFORE_MICROBATCHES;
    for (unsigned i = 0; i < route->n_hops; i++)
        first[route->hops[i].to] &= route->hops[i].event != EVENT_BEFORE_USE &&
                                    route->hops[i].event != EVENT_BEFORE_LATER_USE;
    return first;
}

static struct priced_routes *price_route(struct arena *arena, const struct route *route) {
    const struct priced_routes routes = {
        .stations = arena_copy(arena, route->stations, route->n_stations * sizeof *route->stations),
        .is_made = made_stations(arena, route),
        .is_of_first = stations_of_first(arena, route),
        .n_stations = route->n_stations,
        .sum = route->sum,
        .owned = route->owned,
        .residual = route->residual,
        .carries = route_hop(route, HOP_CARRY),
        .sent[STEP_TRAIN] = sent_of(arena, route)};
    return arena_copy(arena, &routes, sizeof routes);
}

static struct route route_by(const struct pricing_one *one, const struct storage *storage,
                             enum state state, const struct route_facts *facts) {
    return route_of(&one->placement, &one->config->mesh, storage, state, facts);
}

static struct priced_routes *train_routes(const struct pricing_one *one,
                                          const struct storage *storage, const struct kind *kind) {
    const struct way_facts *known = &one->outline->facts[kind->facts];
    const struct route_facts facts = {
        .step = STEP_TRAIN, .read_once = known->read_once[STEP_TRAIN], .left = known->left};
    if (kind->state == STATE_GRADIENTS && !facts.left)
        return one->unknown[storage->number];
    const struct route route = route_by(one, storage, kind->state, &facts);
    return price_route(one->arena, &route);
}

static struct priced_routes *new_routes(const struct pricing_one *one,
                                        const struct storage *storage, const struct kind *kind) {
    const struct way_facts *known = &one->outline->facts[kind->facts];
    const struct route_facts facts = {.step = STEP_AVERAGE,
                                      .read_once = known->read_once[STEP_AVERAGE]};
    struct priced_routes *routes = train_routes(one, storage, kind);
    if (one->outline->averages) {
        const struct route route = route_by(one, storage, kind->state, &facts);
        routes->sent[STEP_AVERAGE] = sent_of(one->arena, &route);
    }
    return routes;
}

static const struct axis_list *owned_flat(const struct priced_routes *routes) {
    return &routes->stations[routes->owned].flat;
}

// Parts of a gradient's squares are summed over the axes that cut it where it is updated.
static uint64_t axes_of_squares(const struct storage *storage, const struct priced_routes *routes) {
    return axis_list_mask(owned_flat(routes)) | storage->cut;
}

// ---- groups -----------------------------------------------------------------------------------

static void find_sizes(const struct pricing_one *one, struct group *group) {
    const struct priced_routes *routes = group->routes;
    const struct stationed of = {.placement = &one->placement,
                                 .mesh = &one->config->mesh,
                                 .storage = group->storage,
                                 .stations = routes->stations,
                                 .residual = routes->residual};
    group->sizes = ARENA_ARRAY(one->arena, struct station_size, routes->n_stations);
    for (unsigned i = 0; i < routes->n_stations; i++)
        group->sizes[i] = station_size(&of, (int)i, group->kind->whole, group->kind->dtype);
}

// What has been found so far, by the numbers of storages, of kinds, and of facts.
struct found {
    struct group **groups;
    const struct priced_routes **routes;
};

static const struct priced_routes *routes_at(const struct pricing_one *one, struct found *found,
                                             const struct storage *storage,
                                             const struct kind *kind) {
    size_t at =
        (storage->number * (size_t)STATE_ACTIVATIONS + kind->state) * one->outline->n_facts +
        kind->facts;
    if (!found->routes[at])
        found->routes[at] = new_routes(one, storage, kind);
    return found->routes[at];
}

static struct group *new_group(const struct pricing_one *one, struct found *found,
                               const struct storage *storage, const struct kind *kind) {
    struct group *group = ARENA_NEW(one->arena, struct group);
    group->storage = storage;
    group->kind = kind;
    group->routes = routes_at(one, found, storage, kind);
    if (kind->state == STATE_GRADIENTS)
        group->squares = axes_of_squares(storage, group->routes);
    find_sizes(one, group);
    return group;
}

static struct group *group_at(struct pricing_one *one, struct found *found,
                              const struct outlined *of) {
    const struct storage *storage = one->placement.tensors[of->tensor].storage;
    struct group **group = &found->groups[storage->number * one->outline->n_kinds + of->kind];
    if (!*group) {
        *group = new_group(one, found, storage, &one->outline->kinds[of->kind]);
        one->groups[one->n_groups++] = *group;
        for (int step = 0; step < N_STEPS; step++)
            one->events[step] |= (*group)->routes->sent[step].events;
    }
    return *group;
}

void group_states(struct pricing_one *one) {
    const struct outline *o = one->outline;
    const size_t n = one->placement.n_storages;
    struct found found = {.groups = ARENA_ARRAY(one->arena, struct group *, n * o->n_kinds + 1),
                          .routes = ARENA_ARRAY(one->arena, const struct priced_routes *,
                                                n *STATE_ACTIVATIONS * o->n_facts + 1)};
    one->groups = ARENA_ARRAY(one->arena, struct group *, o->n_states + 1);
    one->of_way = ARENA_ARRAY(one->arena, const struct group *, o->n_ways + 1);
    for (uint32_t i = 0; i < o->n_states; i++) {
        struct group *group = group_at(one, &found, &o->states[i]);
        group->n++;
        if (o->states[i].way != NO_ID)
            one->of_way[o->states[i].way] = group;
    }
}

// ---- what storage asks of units ---------------------------------------------------------------

// What the storage of tensors asks of the units that read them, of those that write their gradients,
// and of those that sum the squares of these.
struct asked {
    int64_t gather_layers, copied_layers[STATE_ACTIVATIONS];
    bool ahead, alone;                  // how they are gathered
    enum dtype read;                    // the type in which units read them
    uint8_t along;                      // the dimension that parts are copied out along
    enum tier updated;                  // where the update runs
    const struct priced_routes *summed; // gradients; NULL: there are none
    uint64_t summand;                   // axes on which units leave one
    bool apart;                         // what units write is no sum of microbatches yet
    bool each;                          // each microbatch has a sum of its own
    uint64_t squares;                   // axes over which parts of squares are summed
};

// Units cast what is not gathered in the type in which they compute.
static enum dtype read_type(const struct storage *storage) {
    return storage->shards[STATE_PARAMETERS].n ? storage->types.gathered
                                               : storage->types.parameters;
}

static struct asked asked_by(struct pricing_one *one, const struct storage *storage) {
    struct asked asked = {.gather_layers = storage->gather_layers,
                          .ahead = storage->prefetch > 0,
                          .alone = is_gathered_alone(storage),
                          .read = read_type(storage),
                          .along = storage->along,
                          .updated = update_tier(storage)};
    memcpy(asked.copied_layers, storage->copied_layers, sizeof asked.copied_layers);
    if (!storage->trained)
        return asked;
    const struct route_facts nothing = {.step = STEP_TRAIN};
    const struct route route = route_by(one, storage, STATE_GRADIENTS, &nothing);
    one->unknown[storage->number] = price_route(one->arena, &route);
    asked.summed = one->unknown[storage->number];
    asked.summand = route.summand;
    asked.apart = route.stations[route.used].class == CLASS_TRANSIENT;
    asked.each = route_hop(&route, HOP_SUM_EACH) || route.used != route.sum;
    asked.squares = axes_of_squares(storage, asked.summed);
    return asked;
}

static bool same_order(const struct asked *a, const struct asked *b) {
    return axis_list_equal(owned_flat(a->summed), owned_flat(b->summed));
}

static bool same_asked(const struct asked *a, const struct asked *b) {
    if (a->gather_layers != b->gather_layers ||
        memcmp(a->copied_layers, b->copied_layers, sizeof a->copied_layers) != 0 ||
        a->ahead != b->ahead || a->alone != b->alone || a->along != b->along ||
        a->read != b->read || a->updated != b->updated || !a->summed != !b->summed)
        return false;
    return !a->summed || (a->summand == b->summand && a->apart == b->apart && a->each == b->each &&
                          a->squares == b->squares && same_order(a, b));
}

static uint32_t add_asked(struct asked *all, uint32_t *n, const struct asked *asked) {
    uint32_t i = 0;
    while (i < *n && !same_asked(&all[i], asked))
        i++;
    if (i == *n)
        all[(*n)++] = *asked;
    return i;
}

// One scalar sums the squares of gradients that are cut over the same axes, where sums have an order of
// those that are cut in the same one: so it is said which are the first that are cut so.
static void key_add_asked(struct pricing_one *one, struct key *key, const struct asked *all,
                          uint32_t number) {
    const struct asked *asked = &all[number];
    uint32_t squares = 0, order = 0;
    key_add_number(one->arena, key, (uint64_t)asked->gather_layers);
    for (enum state state = 0; state < STATE_ACTIVATIONS; state++)
        key_add_number(one->arena, key, (uint64_t)asked->copied_layers[state]);
    key_add_number(one->arena, key,
                   (unsigned)asked->ahead | (unsigned)asked->alone << 1 |
                       (unsigned)asked->apart << 2 | (unsigned)asked->each << 3 |
                       (unsigned)asked->updated << 4);
    key_add_number(one->arena, key, asked->along);
    key_add_number(one->arena, key, (uint64_t)asked->read);
    if (!asked->summed)
        return;
    while (!all[squares].summed || all[squares].squares != asked->squares)
        squares++;
    while (!all[order].summed || !same_order(&all[order], asked))
        order++;
    key_add_number(one->arena, key, asked->summand);
    key_add_number(one->arena, key, squares);
    key_add_number(one->arena, key, order);
}

// Adds what each tensor asks, by number, then what that is.
void key_of_storage(struct pricing_one *one, struct key *key) {
    const struct placement *placement = &one->placement;
    struct asked *all = ARENA_ARRAY(one->arena, struct asked, placement->n_storages + 1);
    uint32_t *by = ARENA_ARRAY(one->arena, uint32_t, placement->n_storages + 1), n = 0;
    one->unknown = ARENA_ARRAY(one->arena, struct priced_routes *, placement->n_storages + 1);
    for (uint32_t i = 0; i < placement->n_storages; i++) {
        struct asked asked = asked_by(one, placement->storages[i]);
        by[i] = add_asked(all, &n, &asked);
    }
    for (uint32_t i = 0; i < placement->n_ranges * placement->n_tensors; i++)
        key_add_number(one->arena, key, by[placement->tensors[i].storage->number]);
    for (uint32_t i = 0; i < n; i++)
        key_add_asked(one, key, all, i);
}
