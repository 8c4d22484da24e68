// place, ranges: which layers are placed alike, updated alike, and compute in the same element types.
//
// Ranges begin and end with the stages of a pipeline, and where the slice of some statement does, or where another optimizer or another type
// holds. Where a slice of a statement takes every n-th layer, layers take turns: n ranges, each of every
// n-th layer, that end together; those that have other optimizers or types stand one by one. What then
// turns out to be placed alike is one range again.
#include <string.h>

#include "ir/check.h"
#include "ir/limits.h"
#include "passes/placement/alike.h"
#include "passes/placement/place.h"
#include "passes/placement/reports.h"
#include "passes/placement/work.h"
#include "passes/reference/select.h"

// ---- layers that take turns -------------------------------------------------------------------

// After how many layers all slices with a step that take in this one select alike. The text has so
// many bodies of a loop.
static int64_t period_at(struct placing *p, int64_t layer) {
    const struct stretch *stretch = stretch_at(&p->modes.index, layer);
    int64_t period = 1;
    for (uint32_t i = 0; i < stretch->n; i++) {
        const struct mode_statement *mode = &p->config->strategy.modes[stretch->numbers[i]];
        int64_t step = reach_of(&mode->selector).step;
        if (least_common_multiple(period, step) <= LIMIT_TURN_LAYERS)
            period = least_common_multiple(period, step);
        else
            not_yet(
                p, &mode->origin,
                arena_format(p->arena, "taking turns by more than %d layers", LIMIT_TURN_LAYERS),
                "select ranges of layers, as in `layers[0:4]`");
    }
    return period;
}

static void add_ranges(struct placing *p, uint32_t *capacity, int64_t begin, int64_t end) {
    struct placement *placement = p->placement;
    int64_t period = period_at(p, begin), turns = (end - begin) / period;
    int64_t rest = period > 1 && turns > 1 ? begin + turns * period : begin;
    for (int64_t i = 0; rest > begin && i < period; i++)
        ARENA_PUSH(p->arena, placement->ranges, placement->n_ranges, *capacity,
                   (struct layer_range){begin + i, rest, period});
    for (int64_t next; rest < end; rest = next) {
        next = period > 1 ? rest + 1 : end;
        ARENA_PUSH(p->arena, placement->ranges, placement->n_ranges, *capacity,
                   (struct layer_range){rest, next, 1});
    }
}

// The stretches into which the slices of the strategy divide the layers.
static struct by_layer find_stretches(const struct placing *p) {
    const struct strategy_config *strategy = &p->config->strategy;
    size_t most = (size_t)strategy->n_modes + strategy->n_splits;
    const struct selector **selectors = ARENA_ARRAY(p->arena, const struct selector *, most + 1);
    uint32_t n = 0;
    for (uint32_t m = 0; m < strategy->n_modes; m++)
        selectors[n++] = &strategy->modes[m].selector;
    for (uint32_t s = 0; s < strategy->n_splits; s++)
        selectors[n++] = &strategy->splits[s].scope;
    return selectors_by_layer(p->arena, selectors, n);
}

// Where the range ends that begins with this layer: with the stretch, or in front of the first layer of
// which something else may be said in `train`.
static int64_t range_end(const struct placing *p, const struct by_layer *by_layer, int64_t begin) {
    const struct train_config *train = &p->config->train;
    const int64_t ends[] = {stretch_end(by_layer, stretch_at(by_layer, begin)),
                            optimizer_next(train, begin), precision_next(&train->precision, begin),
                            next_stage(p->placement, begin)};
    int64_t end = p->program->job->sizes.layers;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        end = ends[i] < end ? ends[i] : end;
    return end;
}

void find_ranges(struct placing *p) {
    struct placement *placement = p->placement;
    struct by_layer by_layer = find_stretches(p);
    uint32_t capacity = 0;
    for (int64_t begin = 0, end; begin < p->program->job->sizes.layers; begin = end) {
        end = range_end(p, &by_layer, begin);
        add_ranges(p, &capacity, begin, end);
    }
    placement->n_tensors = p->program->job->n_tensors;
    placement->tensors =
        ARENA_ARRAY(p->arena, struct placed_tensor, placement->n_ranges * placement->n_tensors + 1);
}

// ---- what is alike ----------------------------------------------------------------------------

static enum residency residency_at(const struct placing *p, const struct op *op, uint32_t range) {
    const struct mode_statement *mode = residency_of(
        &p->modes, STATE_ACTIVATIONS, op->roles, op->n_roles, p->placement->ranges[range].begin);
    return mode ? mode->residency : RESIDENCY_STORED;
}

static const struct mode_statement *offloads_at(const struct placing *p, const struct op *op,
                                                uint32_t range) {
    return offloads_activations(&p->modes, op->roles, op->n_roles,
                                p->placement->ranges[range].begin);
}

static bool inputs_alike(const struct placing *p, uint32_t a, uint32_t b) {
    return offload_alike(offloads_input(&p->modes, p->placement->ranges[a].begin),
                         offloads_input(&p->modes, p->placement->ranges[b].begin));
}

// Whether the same is recomputed in both ranges, and the rest kept in one place.
static bool kept_alike(const struct placing *p, uint32_t a, uint32_t b) {
    if (!inputs_alike(p, a, b))
        return false;
    for (uint32_t u = 0; u < p->program->job->n_units; u++) {
        const struct unit *unit = &p->program->job->units[u];
        for (uint32_t i = 0; unit->phase == PHASE_FORWARD && i < unit->n_ops; i++)
            if (residency_at(p, &unit->ops[i], a) != residency_at(p, &unit->ops[i], b) ||
                !offload_alike(offloads_at(p, &unit->ops[i], a), offloads_at(p, &unit->ops[i], b)))
                return false;
    }
    return true;
}

static int64_t recomputed_at_once(const struct placing *p, uint32_t range) {
    return layers_recomputed_at_once(&p->modes, p->placement->ranges[range].begin);
}

// NULL: the tensor has no layer of the range, until it is filled in (fill_in_others).
static const struct storage *storage_in(const struct placement *placement, uint32_t range,
                                        uint32_t tensor) {
    return placement->tensors[range * placement->n_tensors + tensor].storage;
}

// What is asked op by op comes last.
static bool ranges_alike(const struct placing *p, uint32_t a, uint32_t b) {
    const struct placement *placement = p->placement;
    int64_t first = placement->ranges[a].begin, second = placement->ranges[b].begin;
    if (recomputed_at_once(p, a) != recomputed_at_once(p, b) ||
        !precision_alike(&p->config->train.precision, first, second) ||
        !optimizers_alike(&p->config->train, p->program->job, first, second) ||
        !work_is_alike(placement, first, second))
        return false;
    for (uint32_t t = 0; t < placement->n_tensors; t++) // the same tensors, as precision is alike
        if (storage_in(placement, a, t) &&
            !storage_equal(storage_in(placement, a, t), storage_in(placement, b, t)))
            return false;
    return kept_alike(p, a, b);
}

static bool turns_alike(const struct placing *p, uint32_t first) {
    for (int64_t i = 1; i < p->placement->ranges[first].step; i++)
        if (!ranges_alike(p, first, first + (uint32_t)i))
            return false;
    return true;
}

static size_t bytes_of_tensors(const struct placement *placement, uint32_t n_ranges) {
    return (size_t)n_ranges * placement->n_tensors * sizeof *placement->tensors;
}

static void move_ranges(struct placement *placement, uint32_t to, uint32_t from, uint32_t n) {
    memmove(&placement->ranges[to], &placement->ranges[from], n * sizeof *placement->ranges);
    memmove(&placement->tensors[to * placement->n_tensors],
            &placement->tensors[from * placement->n_tensors], bytes_of_tensors(placement, n));
}

// A slice that says what holds for the layers beside it too makes no range.
static void join_ranges(const struct placing *p) {
    struct placement *placement = p->placement;
    uint32_t n = 0, turns;
    for (uint32_t r = 0; r < placement->n_ranges; r += turns) {
        turns = (uint32_t)placement->ranges[r].step;
        bool one = turns_alike(p, r);
        if (one)
            placement->ranges[r].step = 1;
        if (one && n > 0 && placement->ranges[n - 1].step == 1 &&
            !begins_stage(placement, placement->ranges[r].begin) && ranges_alike(p, n - 1, r)) {
            placement->ranges[n - 1].end = placement->ranges[r].end;
            continue;
        }
        move_ranges(placement, n, r, one ? 1 : turns);
        n += one ? 1 : turns;
    }
    placement->n_ranges = n;
}

// ---- how many turns ---------------------------------------------------------------------------

// The statement by which gradients of two ranges lie differently where the update reads them; NULL:
// they do not, and one sum goes over the squares of all.
static const struct origin *apart_by(const struct placing *p, uint32_t a, uint32_t b) {
    const struct placement *placement = p->placement;
    for (uint32_t t = 0; t < placement->n_tensors; t++) {
        const struct storage *first = storage_in(placement, a, t);
        const struct storage *second = storage_in(placement, b, t);
        if (!first || !first->trained) // nor has the other, or no gradient
            continue;
        const struct axis_list *shards = first->shards[STATE_OPTIMIZER].n
                                             ? &first->shards[STATE_OPTIMIZER]
                                             : &second->shards[STATE_OPTIMIZER];
        if (axis_list_equal(&first->shards[STATE_OPTIMIZER], &second->shards[STATE_OPTIMIZER]))
            continue;
        const struct origin *origin = stored_origin(first, STATE_OPTIMIZER, shards->axes[0]);
        return origin ? origin : stored_origin(second, STATE_OPTIMIZER, shards->axes[0]);
    }
    return NULL;
}

// The most turns in which there are no more summands than a proof may have.
static int64_t most_turns(const struct placing *p) {
    int64_t tensors = 0;
    for (uint32_t t = 0; t < p->program->job->n_tensors; t++)
        tensors += p->program->job->tensors[t].layers > 0;
    return LIMIT_TURN_SUMMANDS / (tensors ? tensors : 1);
}

// The last statement about activations that takes every n-th layer.
static const struct mode_statement *divides_in_turns(const struct placing *p) {
    const struct strategy_config *strategy = &p->config->strategy;
    const struct mode_statement *last = NULL;
    for (uint32_t m = 0; m < strategy->n_modes; m++)
        if (strategy->modes[m].state == STATE_ACTIVATIONS && strategy->modes[m].sets_extent &&
            strategy->modes[m].selector.slice_step > 1)
            last = &strategy->modes[m];
    CHECK(last);
    return last;
}

// Two ranges that take turns: is there something that is not built? False, once reported.
static bool check_turn(struct placing *p, uint32_t a, uint32_t b) {
    const struct layer_range *ranges = p->placement->ranges;
    if (!work_is_alike(p->placement, ranges[a].begin, ranges[b].begin)) {
        not_yet(p, &divides_in_turns(p)->origin, "dividing activations of every n-th layer",
                "divide those of a range of layers, as in `layers[0:4]`");
        return false;
    }
    const struct origin *apart =
        range_layers(&ranges[b]) > most_turns(p) ? apart_by(p, a, b) : NULL;
    if (apart)
        not_yet(p, apart,
                arena_format(p->arena,
                             "keeping the optimizer's states differently in more than %lld turns",
                             (long long)most_turns(p)),
                "keep those of ranges of layers differently, as in `layers[0:4]`");
    return !apart;
}

// Groups are of layers that follow one another.
static bool check_turns_groups(struct placing *p, uint32_t range) {
    const struct layer_range *of = &p->placement->ranges[range];
    bool apart = of->step > 1 && recomputed_at_once(p, range) > 1;
    if (apart)
        not_yet(p, &recomputes_layer(&p->modes, of->begin)->origin,
                "recomputing several layers at once where every n-th is placed differently",
                "recompute one layer at once, `recomputed(unit = layer)`");
    return !apart;
}

static void check_turns(struct placing *p) {
    const struct layer_range *ranges = p->placement->ranges;
    for (uint32_t r = 0; r < p->placement->n_ranges; r++)
        if (!check_turns_groups(p, r))
            return;
    for (uint32_t r = 1; r < p->placement->n_ranges; r++)
        if (ranges[r].step > 1 && ranges[r - 1].end == ranges[r].end && !check_turn(p, r - 1, r))
            return;
}

// ---- several layers at once -------------------------------------------------------------------

static bool copies_activations_of_several(const struct strategy_config *strategy) {
    for (uint32_t m = 0; m < strategy->n_modes; m++) {
        const struct mode_statement *mode = &strategy->modes[m];
        if (mode->state == STATE_ACTIVATIONS && mode->residency == RESIDENCY_OFFLOADED &&
            layers_of_unit(mode) > 1)
            return true;
    }
    return false;
}

bool next_kept(const struct placing *p, uint32_t range, struct kept_walk *walk,
               const struct mode_statement **mode) {
    const struct job *job = p->program->job;
    if (!walk->begun) {
        walk->begun = true;
        *mode = offloads_input(&p->modes, p->placement->ranges[range].begin);
        return true;
    }
    for (; walk->unit < job->n_units; walk->unit++, walk->op = 0) {
        const struct unit *unit = &job->units[walk->unit];
        if (unit->phase != PHASE_FORWARD || walk->op == unit->n_ops)
            continue;
        *mode = offloads_at(p, &unit->ops[walk->op++], range);
        return true;
    }
    return false;
}

// The most layers of a range of which what backward reads is copied at once: no more than are
// recomputed at once, since those after them are computed before the next come in.
static int64_t kept_at_once(const struct placing *p, uint32_t range) {
    int64_t again = recomputed_at_once(p, range), most = 1;
    const struct mode_statement *mode;
    struct kept_walk walk = {0};
    while (copies_activations_of_several(&p->config->strategy) &&
           next_kept(p, range, &walk, &mode)) {
        int64_t n = mode ? layers_of_unit(mode) : 1;
        most = n > most ? n : most;
    }
    return again > 1 && most > again ? again : most;
}

// The most layers of a range that some of its tensors are gathered or copied at once, each in its own
// place, in forward and backward, and in the update.
static int64_t worked_at_once(const struct placing *p, uint32_t range) {
    const struct placement *placement = p->placement;
    int64_t most = kept_at_once(p, range);
    for (uint32_t t = 0; t < placement->n_tensors; t++) {
        const struct storage *storage = storage_in(placement, range, t);
        if (!storage)
            continue;
        int64_t n = layers_summed_at_once(storage);
        if (consumes_gradients(storage) && storage->copied_layers[STATE_OPTIMIZER] > n)
            n = storage->copied_layers[STATE_OPTIMIZER];
        if (p->program->job->tensors[t].layers && n > most)
            most = n;
    }
    return most;
}

static int64_t updated_at_once(const struct placing *p, uint32_t range) {
    const struct placement *placement = p->placement;
    int64_t most = 1;
    for (uint32_t t = 0; t < placement->n_tensors; t++)
        for (enum state state = 0; state < STATE_ACTIVATIONS; state++) {
            const struct storage *storage = storage_in(placement, range, t);
            int64_t n = storage ? storage->copied_layers[state] : 1;
            if (p->program->job->tensors[t].layers && n > most)
                most = n;
        }
    return most;
}

static int64_t taken_at_once(const struct placing *p, uint32_t range) {
    int64_t worked = worked_at_once(p, range), updated = updated_at_once(p, range);
    return worked > updated ? worked : updated;
}

static int64_t most_at_once(const struct placing *p, uint32_t range) {
    int64_t taken = taken_at_once(p, range), again = recomputed_at_once(p, range);
    return taken > again ? taken : again;
}

// What is left over at the end of a range of layers that are taken n at once; 0: nothing, or all.
static int64_t rest_of_groups(int64_t layers, int64_t n) {
    return n < layers ? layers % n : 0;
}

// Each may have two shorter groups at its end.
static void make_room_for_groups(const struct placing *p) {
    struct placement *placement = p->placement;
    uint32_t n = placement->n_ranges;
    placement->ranges = arena_grow(p->arena, placement->ranges, n * sizeof *placement->ranges,
                                   (size_t)3 * n * sizeof *placement->ranges);
    placement->tensors = arena_grow(p->arena, placement->tensors, bytes_of_tensors(placement, n),
                                    bytes_of_tensors(placement, 3 * n));
}

// What is stored alike in a range that was cut off is so apart from the rest.
static void copy_storages(const struct placing *p, uint32_t range, uint32_t from) {
    const struct placement *placement = p->placement;
    struct placed_tensor *tensors = &placement->tensors[range * placement->n_tensors];
    for (uint32_t t = 0; t < placement->n_tensors; t++) {
        const struct storage *of = storage_in(placement, from, t);
        uint32_t k = 0;
        if (!of)
            continue;
        while (storage_in(placement, from, k) != of)
            k++;
        tensors[t].storage = k < t ? tensors[k].storage : arena_copy(p->arena, of, sizeof *of);
    }
}

static void cut_range(const struct placing *p, uint32_t r, int64_t rest) {
    struct placement *placement = p->placement;
    move_ranges(placement, r + 1, r, placement->n_ranges - r);
    placement->ranges[r].end -= rest;
    placement->ranges[r + 1].begin = placement->ranges[r].end;
    placement->n_ranges++;
    copy_storages(p, r + 1, r);
}

// Layers that are gathered, copied or recomputed n at once are whole groups, where they are both of the
// greater number; what is left over at the end of a range becomes a range that is one shorter group.
static void cut_last_groups(const struct placing *p) {
    bool has_room = false;
    for (uint32_t r = 0; r < p->placement->n_ranges; r++) {
        const struct layer_range *range = &p->placement->ranges[r];
        int64_t layers = range_layers(range);
        int64_t gathered = taken_at_once(p, r), again = recomputed_at_once(p, r);
        int64_t most = most_at_once(p, r);
        int64_t rest = rest_of_groups(layers, most);
        if (most >= layers)
            rest = rest_of_groups(layers, gathered < again ? gathered : again);
        if (rest == 0 || range->step > 1)
            continue;
        if (!has_room)
            make_room_for_groups(p);
        has_room = true;
        cut_range(p, r, rest);
    }
}

// ---- the whole --------------------------------------------------------------------------------

// Those of ranges that were joined with others are left out.
static void number_storages(const struct placing *p) {
    struct placement *placement = p->placement;
    uint32_t cap = 0;
    for (uint32_t i = 0; i < placement->n_ranges * placement->n_tensors; i++) {
        struct storage *storage = placement->tensors[i].storage;
        if (!storage || storage->number != NO_ID)
            continue;
        storage->number = placement->n_storages;
        storage->first = i;
        ARENA_PUSH(p->arena, placement->storages, placement->n_storages, cap, storage);
    }
}

static int64_t at_most(int64_t layers, int64_t most) {
    return layers < most ? layers : most;
}

// A unit is at most all layers of its range, and what is not repeated by layer is a unit by itself.
static void bound_layers(const struct placing *p) {
    const struct placement *placement = p->placement;
    for (uint32_t i = 0; i < placement->n_storages; i++) {
        struct storage *storage = placement->storages[i];
        uint32_t t = storage->first % placement->n_tensors,
                 r = storage->first / placement->n_tensors;
        int64_t layers =
            p->program->job->tensors[t].layers ? range_layers(&placement->ranges[r]) : 1;
        storage->gather_layers = at_most(storage->gather_layers, layers);
        for (enum state state = 0; state < STATE_ACTIVATIONS; state++)
            storage->copied_layers[state] = at_most(storage->copied_layers[state], layers);
    }
}

static void count_layers_at_once(const struct placing *p) {
    struct placement *placement = p->placement;
    uint32_t n = placement->n_ranges;
    placement->worked_at_once = ARENA_ARRAY(p->arena, int64_t, n);
    placement->updated_at_once = ARENA_ARRAY(p->arena, int64_t, n);
    placement->kept_at_once = ARENA_ARRAY(p->arena, int64_t, n);
    placement->most_at_once = ARENA_ARRAY(p->arena, int64_t, n);
    for (uint32_t r = 0; r < n; r++) {
        int64_t layers = range_layers(&placement->ranges[r]);
        placement->worked_at_once[r] = at_most(worked_at_once(p, r), layers);
        placement->updated_at_once[r] = at_most(updated_at_once(p, r), layers);
        placement->kept_at_once[r] = at_most(kept_at_once(p, r), layers);
        placement->most_at_once[r] = at_most(most_at_once(p, r), layers);
    }
}

// A tensor that lacks the layers of a range is placed there as in the first of which it has some, so that
// whoever asks without a layer finds it.
static void fill_in_others(const struct placing *p) {
    struct placement *placement = p->placement;
    for (uint32_t t = 0; t < placement->n_tensors; t++) {
        uint32_t own = t;
        while (!placement->tensors[own].storage)
            own += placement->n_tensors;
        for (uint32_t r = 0; r < placement->n_ranges; r++)
            if (!storage_in(placement, r, t))
                placement->tensors[r * placement->n_tensors + t] = placement->tensors[own];
    }
}

void settle_ranges(struct placing *p) {
    join_ranges(p);
    check_turns(p);
    cut_last_groups(p);
    number_storages(p);
    bound_layers(p);
    count_layers_at_once(p);
    fill_in_others(p);
}
