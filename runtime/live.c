/* Counting what is alive (see live.h). A statement costs some ten nanoseconds for every item that
 * it makes alive or frees, and nothing is allocated in a step: everything is as large as the
 * program says from the start. */
#include <stdlib.h>
#include <string.h>
#include "runtime/live.h"
#include "runtime/mesh.h"

const char *const live_state_names[LIVE_STATES] = {
    [LIVE_PARAMETERS] = "parameters", [LIVE_OPTIMIZER] = "optimizer",
    [LIVE_GRADIENTS] = "gradients",   [LIVE_ACTIVATIONS] = "activations",
    [LIVE_TRANSIENT] = "transient",
};

enum live_state live_state_of(enum place_class class) {
    switch (class) {
    case PLACE_PARAMETERS:
        return LIVE_PARAMETERS;
    case PLACE_MASTER:
    case PLACE_MOMENT1:
    case PLACE_MOMENT2:
    case PLACE_MOMENT2_ROWS:
    case PLACE_MOMENT2_COLUMNS:
    case PLACE_MOMENTUM:
    case PLACE_ANCHOR:
    case PLACE_OUTER_MOMENTUM:
        return LIVE_OPTIMIZER;
    case PLACE_RESIDUAL:
    case PLACE_GRADIENTS:
        return LIVE_GRADIENTS;
    case PLACE_ACTIVATIONS:
        return LIVE_ACTIVATIONS;
    default:
        return LIVE_TRANSIENT;
    }
}

/* What can be alive in a buffer's bytes besides its own items. */
struct neighbours {
    const int32_t *buffers;
    int32_t n;
};

/* Items that have owners: this rank's are those of number `place` modulo so many. */
struct share {
    int64_t owners, place;
};

struct live {
    const struct place_part *part;
    struct share *shares;  /* of every buffer */
    int32_t *first_effect; /* of every statement, and one behind */
    int64_t *first_item;   /* of every buffer in the two arrays below, and one behind */
    bool *alive, *ever;    /* ever: in some step so far */
    int32_t *n_alive;      /* items of every buffer */
    struct neighbours *neighbours;
    int32_t *neighbour_ids;
    struct range *ranges; /* scratch of `unused` */
    int32_t borrowed;     /* buffer that dies with the statement that works; -1: none */
    bool ever_changed;
    struct live_bytes always[PLACE_N_TIERS], now[PLACE_N_TIERS];
    struct live_report report;
    live_observer *observer;
    void *observer_data;
};

/* ---- buffers -------------------------------------------------------------------------------- */

/* Whether it holds something all the time: from step to step, or for the host around one. */
static bool is_always_alive(const struct place_buffer *buffer) {
    return buffer->class <= PLACE_RESIDUAL || buffer->class == PLACE_INPUT ||
           buffer->class == PLACE_OUTPUT;
}

struct range {
    int64_t begin, end;
};

static struct range range_of_items(const struct place_buffer *buffer, int64_t first, int64_t n) {
    int64_t begin = buffer->offset_bytes + first * buffer->stride_bytes;
    return (struct range){begin, begin + n * buffer->stride_bytes};
}

static int64_t common_bytes(struct range a, struct range b) {
    int64_t begin = a.begin > b.begin ? a.begin : b.begin;
    int64_t end = a.end < b.end ? a.end : b.end;
    return end > begin ? end - begin : 0;
}

static bool share_bytes(const struct place_buffer *a, const struct place_buffer *b) {
    return a->window_of < 0 && b->window_of < 0 && a->tier == b->tier &&
           common_bytes(range_of_items(a, 0, a->slots), range_of_items(b, 0, b->slots)) > 0;
}

/* ---- what is alive -------------------------------------------------------------------------- */

static void count(struct live *live, const struct place_buffer *buffer, int64_t bytes) {
    struct live_bytes *now = &live->now[buffer->tier];
    now->states[live_state_of(buffer->class)] += bytes;
    now->sum += bytes;
}

/* Bytes of the range that belong to items of the buffer that are alive. */
static int64_t alive_in(const struct live *live, int32_t buffer, struct range range) {
    const struct place_buffer *b = &live->part->buffers[buffer];
    int64_t bytes = 0, before = range.begin - b->offset_bytes;
    for (int64_t item = before > 0 ? before / b->stride_bytes : 0; item < b->slots; item++) {
        struct range other = range_of_items(b, item, 1);
        if (other.begin >= range.end)
            break;
        if (live->alive[live->first_item[buffer] + item])
            bytes += common_bytes(range, other);
    }
    return bytes;
}

static void note_overlap(struct live *live, int32_t buffer, struct range range) {
    const struct neighbours *neighbours = &live->neighbours[buffer];
    int64_t bytes = 0;
    for (int32_t i = 0; i < neighbours->n; i++)
        if (live->n_alive[neighbours->buffers[i]] > 0)
            bytes += alive_in(live, neighbours->buffers[i], range);
    if (bytes > live->report.overlapping)
        live->report.overlapping = bytes;
}

static void make_alive(struct live *live, int32_t buffer, int64_t item) {
    const struct place_buffer *b = &live->part->buffers[buffer];
    int64_t at = live->first_item[buffer] + item;
    if (live->alive[at])
        return;
    struct range range = range_of_items(b, item, 1);
    note_overlap(live, buffer, range);
    live->alive[at] = true;
    live->ever_changed |= !live->ever[at];
    live->ever[at] = true;
    live->n_alive[buffer]++;
    count(live, b, b->stride_bytes);
    if (range.end > live->report.end[b->tier])
        live->report.end[b->tier] = range.end;
}

static void make_free(struct live *live, int32_t buffer, int64_t item) {
    const struct place_buffer *b = &live->part->buffers[buffer];
    int64_t at = live->first_item[buffer] + item;
    if (!live->alive[at])
        return;
    live->alive[at] = false;
    live->n_alive[buffer]--;
    count(live, b, -b->stride_bytes);
}

static int64_t value_of(const struct place_index *index, const int64_t *variables) {
    int64_t value = index->offset;
    if (index->variable >= 0)
        value += variables[index->variable];
    if (index->modulus)
        value = (value % index->modulus + index->modulus) % index->modulus;
    return value;
}

static int64_t item_of(const struct live *live, const struct place_effect *effect,
                       const int64_t *variables) {
    const struct place_stack *stacks = live->part->buffers[effect->buffer].stacks;
    int64_t item = 0;
    for (int i = 0; i < PLACE_STACKS_LIMIT && stacks[i].kind != PLACE_STACK_NONE; i++)
        item = item * stacks[i].count + value_of(&effect->indices[i], variables);
    return item;
}

static void apply(struct live *live, const struct place_effect *effect, const int64_t *variables) {
    const struct share *share = &live->shares[effect->buffer];
    int64_t item = item_of(live, effect, variables);
    if (item % share->owners != share->place)
        return;
    item /= share->owners;
    if (effect->kind == PLACE_FREED) {
        make_free(live, effect->buffer, item);
        return;
    }
    make_alive(live, effect->buffer, item);
    if (effect->kind == PLACE_BORROWED)
        live->borrowed = effect->buffer;
}

static void return_borrowed(struct live *live) {
    if (live->borrowed >= 0)
        make_free(live, live->borrowed, 0);
    live->borrowed = -1;
}

void live_begin_statement(struct live *live, int32_t statement, const int64_t *variables) {
    return_borrowed(live);
    for (int32_t i = live->first_effect[statement]; i < live->first_effect[statement + 1]; i++)
        apply(live, &live->part->effects[i], variables);
    for (int tier = 0; tier < PLACE_N_TIERS; tier++) {
        if (live->now[tier].sum <= live->report.peak[tier].sum)
            continue;
        live->report.peak[tier] = live->now[tier];
        if (tier == PLACE_DEVICE)
            live->report.peak_statement = statement;
    }
    if (live->observer)
        live->observer(live->observer_data, statement, variables, &live->now[PLACE_DEVICE]);
}

/* ---- steps ---------------------------------------------------------------------------------- */

void live_begin_step(struct live *live) {
    memcpy(live->report.peak, live->always, sizeof live->always);
    live->report.peak_statement = -1;
}

static int by_begin(const void *a, const void *b) {
    const struct range *x = a, *y = b;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

enum { ALIGNMENT = 64 }; /* of buffers: what lies between two of them is nobody's */

/* What lies in no item that was ever alive, up to alignment. */
static int64_t unused_of(struct live *live, enum place_tier tier) {
    const struct place_part *part = live->part;
    int64_t n = 0, used = 0, covered = 0, end = part->arena_bytes[tier];
    for (int32_t i = 0; i < part->n_buffers; i++)
        for (int64_t item = 0;
             part->buffers[i].tier == tier && item < live->first_item[i + 1] - live->first_item[i];
             item++)
            if (live->ever[live->first_item[i] + item])
                live->ranges[n++] = range_of_items(&part->buffers[i], item, 1);
    qsort(live->ranges, (size_t)n, sizeof *live->ranges, by_begin);
    for (int64_t i = 0; i < n; i++) {
        struct range range = live->ranges[i];
        range.end = (range.end + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        range.end = range.end < end ? range.end : end;
        range.begin = range.begin > covered ? range.begin : covered;
        used += range.end > range.begin ? range.end - range.begin : 0;
        covered = range.end > covered ? range.end : covered;
    }
    return end - used;
}

static int64_t find_unused(struct live *live) {
    int64_t unused = 0;
    for (int tier = 0; tier < PLACE_N_TIERS; tier++)
        unused += unused_of(live, (enum place_tier)tier);
    return unused;
}

struct live_report live_end_step(struct live *live) {
    return_borrowed(live);
    live->report.unfreed = 0;
    for (int tier = 0; tier < PLACE_N_TIERS; tier++)
        live->report.unfreed += live->now[tier].sum - live->always[tier].sum;
    for (int32_t i = 0; live->report.unfreed && i < live->part->n_buffers; i++)
        for (int64_t item = 0; live->n_alive[i] && item < live->part->buffers[i].slots; item++)
            if (!is_always_alive(&live->part->buffers[i]))
                make_free(live, i, item);
    if (live->ever_changed)
        live->report.unused = find_unused(live);
    live->ever_changed = false;
    return live->report;
}

void live_observe(struct live *live, live_observer *observer, void *data) {
    live->observer = observer;
    live->observer_data = data;
}

/* ---- the whole ------------------------------------------------------------------------------ */

/* Effects are in the order of statements; those without have none. */
static void index_effects(struct live *live, int32_t n_statements) {
    const struct place_part *part = live->part;
    int32_t next = 0;
    for (int32_t i = 0; i <= n_statements; i++) {
        while (next < part->n_effects && part->effects[next].statement < i)
            next++;
        live->first_effect[i] = next;
    }
}

static bool find_neighbours(struct live *live) {
    const struct place_part *part = live->part;
    int32_t n = 0;
    for (int pass = 0; pass < 2; pass++) {
        n = 0;
        for (int32_t i = 0; i < part->n_buffers; i++) {
            int32_t first = n;
            for (int32_t j = 0; j < part->n_buffers; j++) {
                if (i == j || !share_bytes(&part->buffers[i], &part->buffers[j]))
                    continue;
                if (pass == 1)
                    live->neighbour_ids[n] = j;
                n++;
            }
            if (pass == 1)
                live->neighbours[i] = (struct neighbours){live->neighbour_ids + first, n - first};
        }
        if (pass == 0 && !(live->neighbour_ids = calloc((size_t)n + 1, sizeof(int32_t))))
            return false;
    }
    return true;
}

static bool allocate(struct live *live, int32_t n_statements) {
    const struct place_part *part = live->part;
    size_t buffers = (size_t)part->n_buffers + 1;
    live->first_item = calloc(buffers, sizeof *live->first_item);
    live->first_effect = calloc((size_t)n_statements + 1, sizeof *live->first_effect);
    live->n_alive = calloc(buffers, sizeof *live->n_alive);
    live->shares = calloc(buffers, sizeof *live->shares);
    live->neighbours = calloc(buffers, sizeof *live->neighbours);
    if (!live->first_item || !live->first_effect || !live->n_alive || !live->shares ||
        !live->neighbours)
        return false;
    for (int32_t i = 0; i < part->n_buffers; i++) {
        const struct place_buffer *buffer = &part->buffers[i];
        live->first_item[i + 1] = live->first_item[i] + (buffer->window_of < 0 ? buffer->slots : 0);
    }
    size_t items = (size_t)live->first_item[part->n_buffers] + 1;
    live->alive = calloc(items, sizeof *live->alive);
    live->ever = calloc(items, sizeof *live->ever);
    live->ranges = calloc(items, sizeof *live->ranges);
    return live->alive && live->ever && live->ranges && find_neighbours(live);
}

/* A rank may own one item less than there is room for: that room counts as used. */
static void deal_out(struct live *live, const struct place_program *program, int32_t rank) {
    for (int32_t i = 0; i < live->part->n_buffers; i++) {
        const struct place_buffer *buffer = &live->part->buffers[i];
        struct share *share = &live->shares[i];
        *share = (struct share){axes_parts(program, &buffer->owners),
                                axes_place(program, &buffer->owners, rank)};
        for (int64_t slot = 0; slot < live->first_item[i + 1] - live->first_item[i]; slot++)
            live->ever[live->first_item[i] + slot] =
                slot * share->owners + share->place >= buffer->count;
    }
}

struct live *live_new(const struct place_program *program, int32_t rank) {
    struct live *live = calloc(1, sizeof *live);
    const struct place_part *part = part_of_rank(program, rank);
    if (!live)
        return NULL;
    live->part = part;
    live->borrowed = -1;
    if (!allocate(live, program->n_statements)) {
        live_free(live);
        return NULL;
    }
    index_effects(live, program->n_statements);
    deal_out(live, program, rank);
    for (int32_t i = 0; i < part->n_buffers; i++)
        for (int64_t item = 0; item < live->first_item[i + 1] - live->first_item[i]; item++)
            if (is_always_alive(&part->buffers[i]))
                make_alive(live, i, item);
    memcpy(live->always, live->now, sizeof live->now);
    return live;
}

void live_free(struct live *live) {
    if (!live)
        return;
    free(live->first_item);
    free(live->first_effect);
    free(live->n_alive);
    free(live->shares);
    free(live->neighbours);
    free(live->neighbour_ids);
    free(live->alive);
    free(live->ever);
    free(live->ranges);
    free(live);
}
