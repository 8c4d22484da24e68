// Price, keys: what a reference program, and how work is divided, follow from, as bytes. Strategies
// with equal keys have the same.
#include <string.h>

#include "passes/price/price.h"
#include "passes/reference/islands.h"

// ---- bytes ------------------------------------------------------------------------------------

static void make_room(struct arena *arena, struct key *key, size_t bytes) {
    if (key->cap - key->n >= bytes)
        return;
    uint32_t cap = 2 * (key->cap + (uint32_t)bytes) + 512;
    key->bytes = arena_grow(arena, key->bytes, key->n, cap);
    key->cap = cap;
}

void key_add(struct arena *arena, struct key *key, const void *from, size_t bytes) {
    make_room(arena, key, bytes);
    memcpy(key->bytes + key->n, from, bytes);
    key->n += (uint32_t)bytes;
}

// Small numbers, which nearly all are, take a byte.
void key_add_number(struct arena *arena, struct key *key, uint64_t number) {
    make_room(arena, key, 10);
    for (; number >= 128; number >>= 7)
        key->bytes[key->n++] = (uint8_t)(number | 128);
    key->bytes[key->n++] = (uint8_t)number;
}

bool key_equal(const struct key *a, const struct key *b) {
    return a->n == b->n && memcmp(a->bytes, b->bytes, a->n) == 0;
}

// FNV-1a (Fowler, Noll, Vo), of eight bytes at once.
uint64_t key_hash(const struct key *key) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (uint32_t i = 0; i < key->n; i += 8) {
        uint64_t word = 0;
        memcpy(&word, key->bytes + i, key->n - i < 8 ? key->n - i : 8);
        hash = (hash ^ word) * UINT64_C(0x100000001b3);
        hash ^= hash >> 32; // high bytes of a word reach no low bits by themselves
    }
    return hash;
}

struct key key_copy(struct arena *arena, const struct key *key) {
    struct key copy = *key;
    copy.bytes = arena_copy(arena, key->bytes, key->n);
    copy.cap = key->n;
    return copy;
}

// ---- parts ------------------------------------------------------------------------------------

struct writer {
    struct arena *arena;
    struct key *key;
};

static void put(const struct writer *w, int64_t number) {
    key_add_number(w->arena, w->key, (uint64_t)number);
}

static void put_real(const struct writer *w, double number) {
    key_add(w->arena, w->key, &number, sizeof number);
}

static void put_axes(const struct writer *w, const struct axis_list *axes) {
    put(w, axes->n);
    key_add(w->arena, w->key, axes->axes, axes->n);
}

static void put_slice(const struct writer *w, const struct selector *selector) {
    put(w, selector->has_slice);
    if (!selector->has_slice)
        return;
    put(w, selector->slice_begin);
    put(w, selector->slice_end);
    put(w, selector->slice_step);
}

static void put_selector(const struct writer *w, const struct selector *selector) {
    put(w, selector->n_roles);
    key_add(w->arena, w->key, selector->roles, selector->n_roles);
    put_slice(w, selector);
}

static void put_split(const struct writer *w, const struct split_statement *split) {
    put(w, split->n_dimensions);
    for (uint32_t d = 0; d < split->n_dimensions; d++)
        put(w, split->dimensions[d]);
    put_axes(w, &split->axes);
    put_axes(w, &split->copies);
    put_selector(w, &split->scope);
    put(w, split->scope_depth);
}

// A statement about activations says how work is divided, what is recomputed and where the rest is.
static void put_activations(const struct writer *w, const struct mode_statement *mode) {
    put_selector(w, &mode->selector);
    put_axes(w, &mode->axes);
    put(w, mode->sets_extent);
    put(w, mode->sets_residency);
    put(w, mode->extent);
    put(w, mode->residency);
    put(w, mode->own_text);
    put(w, mode->said);
    put(w, mode->unit);
    put(w, mode->unit_layers);
    put(w, mode->by);
    put(w, mode->by_dimension);
    put(w, mode->to);
    put(w, mode->prefetch);
}

// What a mode says of work, behind what it speaks about. Nothing: of storage alone.
enum spoken { SPOKEN_END, SPOKEN_ACTIVATIONS, SPOKEN_LAYERS, SPOKEN_RELAXED };

static void put_mode(const struct writer *w, const struct mode_statement *mode) {
    if (mode->state == STATE_ACTIVATIONS) {
        put(w, SPOKEN_ACTIVATIONS);
        put_activations(w, mode);
        return;
    }
    if (mode->selector.has_slice) { // where layers may differ
        put(w, SPOKEN_LAYERS);
        put_slice(w, &mode->selector);
    }
    if (mode->reduce == REDUCE_NEVER || mode->wire.way != WIRE_NONE) {
        put(w, SPOKEN_RELAXED);
        put_axes(w, &mode->axes);
        put(w, mode->reduce == REDUCE_NEVER);
        put(w, mode->wire.way);
        put(w, mode->wire.kept);
    }
}

static void put_average(const struct writer *w, const struct mode_statement *mode) {
    const struct optimizer_config *outer = &mode->outer;
    put(w, mode->average_every);
    put(w, outer->kind);
    if (outer->kind == OPTIMIZER_NONE)
        return;
    put(w, outer->nesterov);
    put(w, outer->decays_all);
    put_real(w, outer->momentum);
    put_real(w, outer->weight_decay);
    put_real(w, outer->rate.base);
    put_real(w, outer->rate.minimum);
    put(w, outer->rate.curve);
    put(w, outer->rate.warmup_steps);
    put(w, outer->rate.steps);
    put(w, outer->rate.decay_steps);
}

// ---- keys -------------------------------------------------------------------------------------

void key_of_reference(struct arena *arena, const struct config *config, struct key *key) {
    const struct writer w = {arena, key};
    const struct strategy_config *strategy = &config->strategy;
    struct axis_list islands = islands_of(config);
    put(&w, config->mesh.n_axes);
    for (unsigned axis = 0; axis < config->mesh.n_axes; axis++)
        put(&w, config->mesh.axes[axis].size);
    put_axes(&w, &islands);
    for (uint32_t m = 0; m < strategy->n_modes; m++)
        if (strategy->modes[m].average_every || strategy->modes[m].outer.kind != OPTIMIZER_NONE)
            put_average(&w, &strategy->modes[m]);
}

void key_of_work(struct arena *arena, const struct config *config, struct key *key) {
    const struct writer w = {arena, key};
    const struct strategy_config *strategy = &config->strategy;
    put(&w, strategy->n_splits);
    for (uint32_t s = 0; s < strategy->n_splits; s++)
        put_split(&w, &strategy->splits[s]);
    for (uint32_t m = 0; m < strategy->n_modes; m++)
        put_mode(&w, &strategy->modes[m]);
    put(&w, SPOKEN_END);
    put(&w, strategy->n_relaxations);
    for (uint32_t i = 0; i < strategy->n_relaxations; i++) {
        const struct relax_statement *relax = &strategy->relaxations[i];
        for (int condition = 0; condition < N_CONDITIONS; condition++)
            put(&w, relax->conditions[condition]);
        put_axes(&w, &relax->axes);
    }
}
