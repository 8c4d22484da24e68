// Who was the last to write each byte of the arena, where buffers share bytes; see store.h.
//
// A buffer's item is intact as long as all of its bytes are the buffer's own: any write to another
// one that reaches into them takes them away. Items may be of different sizes and a loop may walk
// over them, so that the borders of what was written move with the loop at the pace of the items
// that it writes: a border is an item's beginning, and two are compared by their addresses.
//
// Buffers without an offset are not planned, and windows have no bytes of their own: both share
// none.
#include "verify/algebra/attributes.h"
#include "verify/algebra/facts.h"
#include "verify/algebra/given.h"
#include "verify/machine/engine.h"

#include <stdlib.h>
#include <string.h>

static int64_t offset_of(const struct engine *e, buffer_id id) {
    return e->program->buffers[id].offset_bytes;
}

static struct byte_range bytes_of(const struct engine *e, buffer_id id) {
    int64_t offset = offset_of(e, id);
    return (struct byte_range){offset, offset + e->program->buffers[id].count * e->item_bytes[id]};
}

struct address bytes_begin(const struct engine *e, buffer_id id, int32_t item) {
    return (struct address){offset_of(e, id), e->item_bytes[id], item};
}

bool buffers_meet(const struct engine *e, buffer_id a, buffer_id b) {
    if (a == b)
        return true;
    return e->region_of[a] != NO_ID && e->region_of[a] == e->region_of[b] &&
           byte_ranges_meet(bytes_of(e, a), bytes_of(e, b));
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

static uint32_t find_planned(struct engine *e, struct planned *all) {
    uint32_t n = 0;
    for (buffer_id id = 0; id < e->program->n_buffers; id++) {
        struct byte_range bytes = bytes_of(e, id);
        if (e->program->buffers[id].window_of == NO_ID && bytes.begin >= 0 &&
            bytes.end > bytes.begin)
            all[n++] = (struct planned){bytes, id};
    }
    if (n)
        qsort(all, n, sizeof *all, by_begin);
    return n;
}

void regions_init(struct engine *e) {
    uint32_t n_buffers = e->program->n_buffers;
    struct planned *all = ARENA_ARRAY(e->arena, struct planned, n_buffers + 1);
    uint32_t n = find_planned(e, all);
    e->region_of = ARENA_ARRAY(e->arena, uint32_t, n_buffers + 1);
    memset(e->region_of, 0xff, n_buffers * sizeof *e->region_of);
    e->region_first = ARENA_ARRAY(e->arena, buffer_id, n_buffers + 1);
    for (uint32_t i = 0, next; i < n; i = next) {
        struct byte_range region = all[i].bytes;
        for (next = i + 1; next < n && byte_ranges_meet(region, all[next].bytes); next++)
            if (all[next].bytes.end > region.end)
                region.end = all[next].bytes.end;
        if (next == i + 1)
            continue;
        for (uint32_t k = i; k < next; k++)
            e->region_of[all[k].buffer] = e->n_regions;
        e->region_first[e->n_regions++] = all[i].buffer;
    }
}

void regions_clear(struct engine *e) {
    e->store.regions = ARENA_ARRAY(e->arena, struct region, e->n_regions + 1);
    for (uint32_t i = 0; i < e->n_regions; i++) {
        struct region *region = &e->store.regions[i];
        struct stretch all = {.buffer = e->region_first[i], .owner = NO_ID};
        ARENA_PUSH(e->arena, region->stretches, region->n, region->cap, all);
    }
}

// ---- stretches --------------------------------------------------------------------------------

static struct address beginning(const struct engine *e, const struct stretch *stretch) {
    return bytes_begin(e, stretch->buffer, stretch->item);
}

// The stretch that has the byte at the address.
static uint32_t find(struct engine *e, const struct region *region, struct address address) {
    uint32_t low = 0, high = region->n;
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        if (address_before(&e->terms->symbols, address, beginning(e, &region->stretches[middle])))
            high = middle;
        else
            low = middle;
    }
    return low;
}

static bool one_stretch(const struct stretch *a, const struct stretch *b) {
    return a->owner == b->owner && a->by == b->by;
}

void bytes_take(struct engine *e, buffer_id id, int32_t first, int32_t end, const struct span *by) {
    if (e->region_of[id] == NO_ID)
        return;
    struct symbols *symbols = &e->terms->symbols;
    struct region *region = &e->store.regions[e->region_of[id]];
    struct address from = bytes_begin(e, id, first), to = bytes_begin(e, id, end);
    struct stretch taken = {id, first, id, by};
    uint32_t low = find(e, region, from), high = low + 1, n = 0;
    while (high < region->n && address_before(symbols, beginning(e, &region->stretches[high]), to))
        high++;
    struct stretch list[3], last = region->stretches[high - 1];
    if (address_before(symbols, beginning(e, &region->stretches[low]), from))
        list[n++] = region->stretches[low];
    else if (low > 0)
        list[n++] = region->stretches[--low];
    if (n == 0 || !one_stretch(&list[n - 1], &taken))
        list[n++] = taken;
    bool rest =
        high == region->n || address_before(symbols, to, beginning(e, &region->stretches[high]));
    if (rest)
        last = (struct stretch){id, end, last.owner, last.by};
    else
        last = region->stretches[high++];
    if (!one_stretch(&last, &taken))
        list[n++] = last;
    region->stretches = list_splice(e, region->stretches, &region->n, &region->cap, sizeof *list,
                                    (struct cut){low, high}, list, n);
}

const struct stretch *bytes_lost(struct engine *e, buffer_id id, int32_t first, int32_t end) {
    if (e->region_of[id] == NO_ID)
        return NULL;
    struct symbols *symbols = &e->terms->symbols;
    const struct region *region = &e->store.regions[e->region_of[id]];
    struct address to = bytes_begin(e, id, end);
    uint32_t i = find(e, region, bytes_begin(e, id, first));
    for (; i < region->n; i++) {
        const struct stretch *stretch = &region->stretches[i];
        if (!address_before(symbols, beginning(e, stretch), to))
            return NULL;
        if (stretch->owner != id)
            return stretch;
    }
    return NULL;
}

// The item of the buffer that has the byte at a stretch's beginning.
static int64_t item_at(const struct engine *e, buffer_id id, const struct stretch *stretch,
                       int64_t byte) {
    struct address from = beginning(e, stretch);
    return (from.base + from.stride * from.number + byte - offset_of(e, id)) / e->item_bytes[id];
}

int32_t bytes_alike(struct engine *e, buffer_id id, int32_t item, int32_t end) {
    int64_t next = end;
    const struct stretch *lost = bytes_lost(e, id, item, end);
    if (!lost)
        return end;
    const struct region *region = &e->store.regions[e->region_of[id]];
    if (!bytes_lost(e, id, item, item + 1))
        next = item_at(e, id, lost, 0);
    else if (lost + 1 < region->stretches + region->n)
        next = item_at(e, id, lost + 1, -1) + 1;
    return next > item ? (next < end ? (int32_t)next : end) : item + 1;
}

bool bytes_intersect(struct engine *e, struct place a, struct place b) {
    struct symbols *symbols = &e->terms->symbols;
    if (a.buffer == b.buffer)
        return number_equal(symbols, a.item, b.item);
    return buffers_meet(e, a.buffer, b.buffer) &&
           address_before(symbols, bytes_begin(e, a.buffer, a.item),
                          bytes_begin(e, b.buffer, b.item + 1)) &&
           address_before(symbols, bytes_begin(e, b.buffer, b.item),
                          bytes_begin(e, a.buffer, a.item + 1));
}

void bytes_items(struct engine *e, struct place at, buffer_id id, int32_t *first, int32_t *end) {
    if (number_is_symbolic(at.item))
        symbols_only_first(&e->terms->symbols);
    int64_t stride = e->item_bytes[id], count = e->program->buffers[id].count;
    int64_t from = offset_of(e, at.buffer) - offset_of(e, id) +
                   number_first(&e->terms->symbols, at.item) * e->item_bytes[at.buffer];
    int64_t to = from + e->item_bytes[at.buffer];
    *first = (int32_t)(from < 0 ? 0 : from / stride);
    *end = (int32_t)(to < 0 ? 0 : to > count * stride ? count : (to + stride - 1) / stride);
}
