// Price: what a strategy holds and sends, without its program.
//
// Two things decide about that. How work is divided says what units send and hold, at which calls of
// the step states are needed, and what units leave of gradients: this is found by partition, once
// for all strategies that divide work alike (outline.c), and looked up by what it follows from
// (key.c). How states are stored says which hops stand at those calls: that is what routes say of
// each strategy (sent.c, held.c). So a strategy is priced in the time that it takes to place it.
#include "passes/price/price.h"

#include <stdlib.h>
#include <string.h>

#include "ir/diagnostic.h"
#include "passes/reference/islands.h"

// ---- what is found once -----------------------------------------------------------------------

struct entry {
    struct key key;
    void *value;
    struct entry *next;
};
enum { N_BUCKETS = 1024 };
struct cache {
    struct entry *buckets[N_BUCKETS];
};

struct pricing {
    struct arena arena, scratch; // for all strategies; for one
    const struct config *config;
    struct cache references, works, outlines; // `works`: those that are right
    struct transfer_rows rows;                // of the last strategy
    struct filling *filling;
    struct pricing_counts counts;
};

static void *cache_find(const struct cache *cache, const struct key *key) {
    const struct entry *entry = cache->buckets[key->hash % N_BUCKETS];
    while (entry && !key_equal(&entry->key, key))
        entry = entry->next;
    return entry ? entry->value : NULL;
}

static void cache_add(struct cache *cache, struct arena *arena, const struct key *key,
                      void *value) {
    struct entry **bucket = &cache->buckets[key->hash % N_BUCKETS];
    const struct entry made = {key_copy(arena, key), value, *bucket};
    *bucket = arena_copy(arena, &made, sizeof made);
}

struct pricing *pricing_new(const struct config *config) {
    struct pricing *pricing = memory_given(calloc(1, sizeof *pricing));
    pricing->config = config;
    pricing->rows.arena = &pricing->arena;
    pricing->filling = filling_new(&pricing->arena);
    return pricing;
}

void pricing_free(struct pricing *pricing) {
    if (!pricing)
        return;
    arena_free(&pricing->arena);
    arena_free(&pricing->scratch);
    free(pricing);
}

struct pricing_counts pricing_counts(const struct pricing *pricing) {
    return pricing->counts;
}

// ---- reference programs -----------------------------------------------------------------------

static struct program *make_reference(struct pricing *pricing, const struct config *config,
                                      struct diagnostics *diagnostics) {
    struct config of = *pricing->config; // what programs keep of it outlives the strategy
    of.mesh = config->mesh;
    of.strategy = config->strategy;
    const struct pass_context context = {.config = &of, .diagnostics = diagnostics};
    struct job *job = program_new(&pricing->arena, "price")->job;
    bool made = build(job, &context) && differentiate(job, &context) &&
                mark_blocks(job, &context) && append_updates(job, &context) &&
                append_average(job, &context);
    return made ? job_only(job) : NULL;
}

static const struct program *find_reference(struct pricing *pricing, const struct config *config,
                                            struct diagnostics *diagnostics, struct key *key) {
    key_of_reference(&pricing->scratch, config, key);
    struct program *program = cache_find(&pricing->references, key);
    if (!program && (program = make_reference(pricing, config, diagnostics)))
        cache_add(&pricing->references, &pricing->arena, key, program);
    return program;
}

// ---- ways -------------------------------------------------------------------------------------

static const struct route *new_route(struct pricing_one *one, const struct priced_way *way,
                                     enum state state, const struct route_facts *facts) {
    struct route *route = ARENA_NEW(one->arena, struct route);
    *route = route_of(&one->placement, &one->config->mesh, way->of.tensor->storage, state, facts);
    return route;
}

static const struct axis_list *owned_flat(const struct priced_way *way) {
    return &way->of.route->stations[way->of.route->owned].flat;
}

static uint64_t owned_cuts(const struct priced_way *way) {
    return axis_list_mask(owned_flat(way)) | way->of.tensor->storage->cut;
}

// The first way of gradients that lies as this one where it is updated: `squares`, cut over the same
// axes, so that one scalar sums the squares of both; else as shards in the same order.
static uint32_t first_alike(const struct pricing_one *one, uint32_t number, bool squares) {
    const struct priced_way *way = &one->ways[number];
    for (uint32_t i = 1; i < number; i += 2) {
        const struct priced_way *other = &one->ways[i];
        if (other->of.tensor->storage->trained &&
            (squares ? other->cuts == way->cuts
                     : axis_list_equal(owned_flat(other), owned_flat(way))))
            return i;
    }
    return number;
}

static void key_add_flags(struct arena *arena, struct key *key, bool first, bool second) {
    key_add_number(arena, key, (uint64_t)first << 1 | (uint64_t)second);
}

// What the storage of a gradient asks of the units that write it, and of those that sum its squares.
static void key_add_way(struct pricing_one *one, struct key *key, uint32_t number) {
    const struct priced_way *way = &one->ways[number];
    const struct route *route = way->of.route;
    struct arena *arena = one->arena;
    const struct storage *storage = way->of.tensor->storage;
    if (route->state == STATE_PARAMETERS) {
        key_add_number(arena, key, (uint64_t)storage->gather_layers);
        key_add_flags(arena, key, storage->prefetch > 0, is_gathered_alone(storage));
        return;
    }
    key_add_number(arena, key, route->summand);
    key_add_flags(arena, key, route->stations[route->used].class == CLASS_TRANSIENT,
                  route_hop(route, HOP_SUM_EACH) || route->used != route->sum);
    if (!way->of.tensor->storage->trained)
        return;
    key_add_number(arena, key, first_alike(one, number, true));
    key_add_number(arena, key, first_alike(one, number, false));
}

// A way of the same state, before this one, that has the same routes; NULL: there is none.
static const struct priced_way *way_alike(const struct pricing_one *one, uint32_t number) {
    const struct priced_way *way = &one->ways[number];
    for (uint32_t i = number % 2; i < number; i += 2) {
        const struct priced_way *other = &one->ways[i];
        if (!other->is_copy && other->of.tensor->storage == way->of.tensor->storage)
            return other;
    }
    return NULL;
}

static void make_way(struct pricing_one *one, const struct tensor *tensor, uint32_t number) {
    const struct route_facts facts = {.step = STEP_TRAIN};
    enum state state = number % 2 ? STATE_GRADIENTS : STATE_PARAMETERS;
    struct priced_way *way = &one->ways[number];
    way->role = tensor->n_roles ? tensor->roles[0] : ROLE_NONE;
    way->of = (struct stationed){.placement = &one->placement,
                                 .mesh = &one->config->mesh,
                                 .tensor = &one->placement.tensors[number / 2]};
    const struct priced_way *alike = way_alike(one, number);
    way->is_copy = alike != NULL;
    way->unknown = alike ? alike->unknown : new_route(one, way, state, &facts);
    if (state == STATE_PARAMETERS)
        way->optimizer = alike ? alike->optimizer : new_route(one, way, STATE_OPTIMIZER, &facts);
    way->of.route = way->unknown;
    way->cuts = owned_cuts(way);
}

static void make_ways(struct pricing_one *one, const struct program *reference, struct key *key) {
    uint32_t n_tensors = one->placement.n_tensors;
    one->n_ways = 2 * one->placement.n_ranges * n_tensors;
    one->ways = ARENA_ARRAY(one->arena, struct priced_way, one->n_ways + 1);
    for (uint32_t i = 0; i < one->n_ways; i++) {
        make_way(one, &reference->job->tensors[i / 2 % n_tensors], i);
        key_add_way(one, key, i);
    }
}

static bool same_facts(const struct noted_way *a, const struct noted_way *b) {
    return a->left == b->left && a->read_once[STEP_TRAIN] == b->read_once[STEP_TRAIN] &&
           a->read_once[STEP_AVERAGE] == b->read_once[STEP_AVERAGE];
}

static void settle_routes(struct pricing_one *one, struct priced_way *way,
                          const struct noted_way *noted) {
    enum state state = way->unknown->state;
    struct route_facts facts = {
        .step = STEP_TRAIN, .read_once = noted->read_once[STEP_TRAIN], .left = noted->left};
    if (facts.read_once || facts.left)
        way->of.route = new_route(one, way, state, &facts);
    facts = (struct route_facts){.step = STEP_AVERAGE, .read_once = noted->read_once[STEP_AVERAGE]};
    if (one->outline->averages)
        way->average = new_route(one, way, state, &facts);
    way->sends[STEP_TRAIN] = sending_events(way->of.route);
    way->sends[STEP_AVERAGE] = way->average ? sending_events(way->average) : 0;
}

// What is known of ways by the outline. Those that are alike are so afterwards if it knows the same.
static void settle_ways(struct pricing_one *one) {
    const struct noted_way *noted = one->outline->notes.ways;
    for (uint32_t i = 0; i < one->n_ways; i++) {
        struct priced_way *way = &one->ways[i];
        const struct priced_way *alike = NULL;
        way->of.reference = noted[i].reference;
        if (!noted[i].reference)
            continue;
        for (uint32_t k = i % 2; k < i && !alike; k += 2)
            if (one->ways[k].unknown == way->unknown && one->ways[k].of.reference &&
                same_facts(&noted[k], &noted[i]))
                alike = &one->ways[k];
        if (!alike) {
            settle_routes(one, way, &noted[i]);
            continue;
        }
        way->of.route = alike->of.route;
        way->average = alike->average;
        memcpy(way->sends, alike->sends, sizeof way->sends);
    }
}

// ---- outlines ---------------------------------------------------------------------------------

// What storage decides about how work is done: which layers are apart, and, where sums have an order,
// what is summed in every microbatch.
static void key_add_placement(struct pricing_one *one, struct key *key) {
    key_add_number(one->arena, key, axis_list_mask(&one->placement.inner));
    for (uint32_t r = 0; r < one->placement.n_ranges; r++) {
        const struct layer_range *range = &one->placement.ranges[r];
        key_add_number(one->arena, key, (uint64_t)range->begin);
        key_add_number(one->arena, key, (uint64_t)range->end);
        key_add_number(one->arena, key, (uint64_t)range->step);
    }
}

static const struct outline *find_outline(struct pricing *pricing, struct pricing_one *one,
                                          const struct program *reference, struct key *key,
                                          struct diagnostics *diagnostics) {
    key_add_placement(one, key);
    make_ways(one, reference, key);
    struct outline *outline = cache_find(&pricing->outlines, key);
    if (outline)
        return outline;
    pricing->counts.outlined++;
    outline = outline_make(&pricing->arena, one->config, reference, &one->placement, diagnostics);
    if (outline)
        cache_add(&pricing->outlines, &pricing->arena, key, outline);
    return outline;
}

// ---- placements -------------------------------------------------------------------------------

// Whether work is divided in a way that has a meaning is asked once of what says the same of it.
static bool place_one(struct pricing *pricing, struct pricing_one *one,
                      const struct program *reference, struct key *key,
                      struct diagnostics *diagnostics) {
    key_of_work(one->arena, one->config, key);
    if (cache_find(&pricing->works, key))
        return placement_derive_storage(one->config, reference, one->arena, diagnostics,
                                        &one->placement);
    if (!placement_derive(one->config, reference, one->arena, diagnostics, &one->placement))
        return false;
    cache_add(&pricing->works, &pricing->arena, key, pricing);
    return true;
}

// ---- the whole --------------------------------------------------------------------------------

static void add_rows(struct pricing_one *one, const struct account_transfer *rows, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        rows_add(one->rows, &rows[i]);
}

static void fill_in(struct pricing_one *one, struct price *price) {
    *price = (struct price){.work = one->outline->work};
    add_rows(one, one->outline->transfers, one->outline->n_transfers);
    price_sent(one);
    price_held(one, price);
    price->transfers = one->rows->items;
    price->n_transfers = one->rows->n;
    for (uint32_t i = 0; i < price->n_transfers; i++)
        price->total_bytes = size_plus(price->total_bytes, price->transfers[i].bytes);
}

bool pricing_price(struct pricing *pricing, const struct config *config,
                   struct diagnostics *diagnostics, struct price *price) {
    arena_reuse(&pricing->scratch);
    pricing->rows.n = 0;
    struct pricing_one one = {.arena = &pricing->scratch,
                              .config = config,
                              .rows = &pricing->rows,
                              .filling = pricing->filling};
    struct key key = {0};
    const struct program *reference = find_reference(pricing, config, diagnostics, &key);
    pricing->counts.priced++;
    if (!reference || !place_one(pricing, &one, reference, &key, diagnostics))
        return false;
    one.outline = find_outline(pricing, &one, reference, &key, diagnostics);
    if (!one.outline)
        return false;
    settle_ways(&one);
    fill_in(&one, price);
    return true;
}

struct axis_time price_axis_time(const struct config *config, const struct price *price,
                                 unsigned axis) {
    return account_axis_time(&config->mesh, steps_between_averages(config), price->transfers,
                             price->n_transfers, axis);
}
