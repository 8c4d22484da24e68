// Who was the last to write each byte of the arenas, where buffers share bytes; see store.h. A byte has
// one number in all of them.
//
// A buffer's item is intact as long as all of its bytes are the buffer's own: any write to another
// one that reaches into them takes them away. Items may be of different sizes and a loop may walk
// over them, so that the borders of what was written move with the loop at the pace of the items
// that it writes: a border is an item's beginning, and two are compared by their addresses.
//
// Buffers without an offset are not planned, and windows have no bytes of their own: both share
// none. What has owners shares none either (ir/check_plan.c): which bytes an item has depends on its
// number in another way.
#include "verify/machine/machine.h"

#include <stdlib.h>
#include <string.h>

static int64_t offset_of(const struct abstract_machine *m, buffer_id id) {
    const struct buffer *buffer = &m->program->buffers[id];
    return buffer->offset_bytes < 0 ? -1 : m->arena_begins[buffer->tier] + buffer->offset_bytes;
}

static struct byte_range bytes_of(const struct abstract_machine *m, buffer_id id) {
    int64_t offset = offset_of(m, id);
    int64_t slots = buffer_slots(&m->program->job->mesh, &m->program->buffers[id]);
    return (struct byte_range){offset, offset + slots * m->item_bytes[id]};
}

struct address bytes_begin(const struct abstract_machine *m, buffer_id id, int32_t item) {
    return (struct address){offset_of(m, id), m->item_bytes[id], item};
}

bool buffers_meet(const struct abstract_machine *m, buffer_id a, buffer_id b) {
    if (a == b)
        return true;
    return share_region(m, a, b) && byte_ranges_meet(bytes_of(m, a), bytes_of(m, b));
}

// ---- regions ----------------------------------------------------------------------------------

struct planned { // a buffer that has bytes
    struct byte_range bytes;
    buffer_id buffer;
};

static int by_begin(const void *left, const void *right) {
    const struct planned *a = left, *b = right;
    if (a->bytes.begin != b->bytes.begin)
        return a->bytes.begin < b->bytes.begin ? -1 : 1;
    return a->buffer < b->buffer ? -1 : 1;
}

static uint32_t find_planned(struct abstract_machine *m, struct planned *all) {
    uint32_t n = 0;
    for (buffer_id id = 0; id < m->program->n_buffers; id++) {
        struct byte_range bytes = bytes_of(m, id);
        if (m->program->buffers[id].window_of == NO_ID && bytes.begin >= 0 &&
            bytes.end > bytes.begin)
            all[n++] = (struct planned){bytes, id};
    }
    if (n)
        qsort(all, n, sizeof *all, by_begin);
    return n;
}

// Each arena begins where the last buffer of the one before ends.
static void put_arenas(struct abstract_machine *m) {
    for (int r = 1; r < N_TIERS; r++) {
        int64_t end = m->arena_begins[r] = m->arena_begins[r - 1];
        for (buffer_id id = 0; id < m->program->n_buffers; id++)
            if (m->program->buffers[id].tier == (enum tier)(r - 1) &&
                m->program->buffers[id].window_of == NO_ID && bytes_of(m, id).end > end)
                end = bytes_of(m, id).end;
        m->arena_begins[r] = end;
    }
}

void regions_init(struct abstract_machine *m) {
    put_arenas(m);
    uint32_t n_buffers = m->program->n_buffers;
    struct planned *all = ARENA_ARRAY(m->world->arena, struct planned, n_buffers + 1);
    uint32_t n = find_planned(m, all);
    m->region_of = ARENA_ARRAY(m->world->arena, uint32_t, n_buffers + 1);
    memset(m->region_of, 0xff, n_buffers * sizeof *m->region_of);
    m->region_first = ARENA_ARRAY(m->world->arena, buffer_id, n_buffers + 1);
    for (uint32_t i = 0, next; i < n; i = next) {
        struct byte_range region = all[i].bytes;
        for (next = i + 1; next < n && byte_ranges_meet(region, all[next].bytes); next++)
            if (all[next].bytes.end > region.end)
                region.end = all[next].bytes.end;
        if (next == i + 1)
            continue;
        for (uint32_t k = i; k < next; k++)
            m->region_of[all[k].buffer] = m->n_regions;
        m->region_first[m->n_regions++] = all[i].buffer;
    }
}

void regions_clear(struct abstract_machine *m) {
    m->store.regions = ARENA_ARRAY(m->world->states, struct region, m->n_regions + 1);
    for (uint32_t i = 0; i < m->n_regions; i++) {
        struct region *region = &m->store.regions[i];
        struct stretch all = {.buffer = m->region_first[i], .owner = NO_ID};
        ARENA_PUSH(m->world->states, region->stretches, region->n, region->cap, all);
    }
}

// ---- stretches --------------------------------------------------------------------------------

static struct address beginning(const struct abstract_machine *m, const struct stretch *stretch) {
    return bytes_begin(m, stretch->buffer, stretch->item);
}

// The stretch that has the byte at the address.
static uint32_t find(struct abstract_machine *m, const struct region *region,
                     struct address address) {
    uint32_t low = 0, high = region->n;
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        if (address_before(&m->world->terms->symbols, address,
                           beginning(m, &region->stretches[middle])))
            high = middle;
        else
            low = middle;
    }
    return low;
}

static bool one_stretch(const struct stretch *a, const struct stretch *b) {
    return a->owner == b->owner && a->by == b->by;
}

// Puts the stretches, of which the first begins at `from`, in the place of what is there up to `to`.
static void put_stretches(struct abstract_machine *m, struct region *region,
                          const struct stretch *put, uint32_t n_put, struct place to) {
    struct symbols *symbols = &m->world->terms->symbols;
    struct address from = beginning(m, put), end = bytes_begin(m, to.buffer, to.item);
    uint32_t low = find(m, region, from), high = low + 1, n = 0;
    while (high < region->n && address_before(symbols, beginning(m, &region->stretches[high]), end))
        high++;
    struct stretch few[8], last = region->stretches[high - 1];
    struct stretch *list =
        n_put + 2 <= 8 ? few : ARENA_ARRAY(m->world->states, struct stretch, n_put + 2);
    if (address_before(symbols, beginning(m, &region->stretches[low]), from))
        list[n++] = region->stretches[low];
    else if (low > 0)
        list[n++] = region->stretches[--low];
    for (uint32_t i = 0; i < n_put; i++)
        if (n == 0 || !one_stretch(&list[n - 1], &put[i]))
            list[n++] = put[i];
    if (high == region->n || address_before(symbols, end, beginning(m, &region->stretches[high])))
        last = (struct stretch){to.buffer, to.item, last.owner, last.by};
    else
        last = region->stretches[high++];
    if (!one_stretch(&list[n - 1], &last))
        list[n++] = last;
    region->stretches = list_splice(m->world->states, region->stretches, &region->n, &region->cap,
                                    sizeof *list, (struct cut){low, high}, list, n);
}

void bytes_take(struct abstract_machine *m, buffer_id id, int32_t first, int32_t end,
                const struct span *by) {
    struct stretch taken = {id, first, id, by};
    if (m->region_of[id] != NO_ID)
        put_stretches(m, &m->store.regions[m->region_of[id]], &taken, 1, (struct place){id, end});
}

uint32_t bytes_stretches(struct abstract_machine *m, struct place from, struct place to,
                         const struct stretch **list) {
    if (m->region_of[from.buffer] == NO_ID)
        return 0;
    const struct region *region = &m->store.regions[m->region_of[from.buffer]];
    struct address end = bytes_begin(m, to.buffer, to.item);
    uint32_t first = find(m, region, bytes_begin(m, from.buffer, from.item)), n = 1;
    while (
        first + n < region->n &&
        address_before(&m->world->terms->symbols, beginning(m, &region->stretches[first + n]), end))
        n++;
    *list = &region->stretches[first];
    return n;
}

void bytes_put(struct abstract_machine *m, const struct stretch *list, uint32_t n,
               struct place to) {
    put_stretches(m, &m->store.regions[m->region_of[to.buffer]], list, n, to);
}

const struct stretch *bytes_lost(struct abstract_machine *m, buffer_id id, int32_t first,
                                 int32_t end) {
    if (m->region_of[id] == NO_ID)
        return NULL;
    struct symbols *symbols = &m->world->terms->symbols;
    const struct region *region = &m->store.regions[m->region_of[id]];
    struct address to = bytes_begin(m, id, end);
    uint32_t i = find(m, region, bytes_begin(m, id, first));
    for (; i < region->n; i++) {
        const struct stretch *stretch = &region->stretches[i];
        if (!address_before(symbols, beginning(m, stretch), to))
            return NULL;
        if (stretch->owner != id)
            return stretch;
    }
    return NULL;
}

// The item of the buffer that has the byte at a stretch's beginning.
static int64_t item_at(const struct abstract_machine *m, buffer_id id,
                       const struct stretch *stretch, int64_t byte) {
    struct address from = beginning(m, stretch);
    return (from.base + from.stride * from.number + byte - offset_of(m, id)) / m->item_bytes[id];
}

int32_t bytes_alike(struct abstract_machine *m, buffer_id id, int32_t item, int32_t end) {
    int64_t next = end;
    const struct stretch *lost = bytes_lost(m, id, item, end);
    if (!lost)
        return end;
    const struct region *region = &m->store.regions[m->region_of[id]];
    if (!bytes_lost(m, id, item, item + 1))
        next = item_at(m, id, lost, 0);
    else if (lost + 1 < region->stretches + region->n)
        next = item_at(m, id, lost + 1, -1) + 1;
    return next > item ? (next < end ? (int32_t)next : end) : item + 1;
}

bool bytes_intersect(struct abstract_machine *m, struct place a, struct place b) {
    struct symbols *symbols = &m->world->terms->symbols;
    if (a.buffer == b.buffer)
        return number_equal(symbols, a.item, b.item);
    return buffers_meet(m, a.buffer, b.buffer) &&
           address_before(symbols, bytes_begin(m, a.buffer, a.item),
                          bytes_begin(m, b.buffer, b.item + 1)) &&
           address_before(symbols, bytes_begin(m, b.buffer, b.item),
                          bytes_begin(m, a.buffer, a.item + 1));
}

void bytes_items(struct abstract_machine *m, struct place at, buffer_id id, int32_t *first,
                 int32_t *end) {
    if (number_is_symbolic(at.item))
        symbols_only_first(&m->world->terms->symbols);
    int64_t stride = m->item_bytes[id], count = buffer_items(&m->program->buffers[id]);
    int64_t from = offset_of(m, at.buffer) - offset_of(m, id) +
                   number_first(&m->world->terms->symbols, at.item) * m->item_bytes[at.buffer];
    int64_t to = from + m->item_bytes[at.buffer];
    *first = (int32_t)(from < 0 ? 0 : from / stride);
    *end = (int32_t)(to < 0 ? 0 : to > count * stride ? count : (to + stride - 1) / stride);
}
