// Price: what a strategy holds and sends, without its program.
//
// Two things decide about that. How work is divided says what units send and hold, at which calls of
// the step states are needed, and what units leave of gradients: this is found by partition, once
// for all strategies that divide work alike (outline.c), and looked up by what it follows from
// (key.c). How states are stored says which hops stand at those calls: that is what routes say of
// each strategy (sent.c, held.c). So a strategy is priced in the time that it takes to place it.
#include "passes/price/price.h"

#include <stdlib.h>

#include "ir/diagnostic.h"
#include "passes/reference/islands.h"

// ---- what is found once -----------------------------------------------------------------------

struct entry {
    uint64_t hash;
    struct key key;
    void *value;
    struct entry *next;
};
enum { N_BUCKETS = 1024 };
struct cache {
    struct entry *buckets[N_BUCKETS];
};

struct pricing {
    struct arena arena;             // for all strategies
    struct arena scratch, programs; // for one; for one of which the program is made
    const struct config *config;
    struct cache references, works, outlines; // `works`: those that are right
    struct transfer_rows rows;                // of the last strategy
    struct filling *filling;
    struct pricing_counts counts;
};

static void *cache_find(const struct cache *cache, const struct key *key) {
    uint64_t hash = key_hash(key);
    const struct entry *entry = cache->buckets[hash % N_BUCKETS];
    while (entry && (entry->hash != hash || !key_equal(&entry->key, key)))
        entry = entry->next;
    return entry ? entry->value : NULL;
}

static void cache_add(struct cache *cache, struct arena *arena, const struct key *key,
                      void *value) {
    uint64_t hash = key_hash(key);
    struct entry **bucket = &cache->buckets[hash % N_BUCKETS];
    const struct entry made = {hash, key_copy(arena, key), value, *bucket};
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
    arena_free(&pricing->programs);
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
    key_of_storage(one, key);
    struct outline *outline = cache_find(&pricing->outlines, key);
    if (outline)
        return outline;
    pricing->counts.outlined++;
    arena_reuse(&pricing->programs);
    outline = outline_make(&pricing->arena, &pricing->programs, one->config, reference,
                           &one->placement, diagnostics);
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
    group_states(&one);
    fill_in(&one, price);
    return true;
}

struct axis_time price_axis_time(const struct config *config, const struct price *price,
                                 unsigned axis) {
    return account_axis_time(&config->mesh, steps_between_averages(config), price->transfers,
                             price->n_transfers, axis);
}
