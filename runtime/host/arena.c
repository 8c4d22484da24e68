/* A rank's memory (see arena.h). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "runtime/disk.h"
#include "runtime/host/arena.h"
#include "runtime/host/items.h"
#include "runtime/host/layout.h"
#include "runtime/host/random.h"
#include "runtime/kernels/rows.h"
#include "runtime/team.h"
#include "runtime/transport/collective.h"

/* A NaN as two f32, as an f64, and as four bf16 or f16; negative as i32. */
static const uint64_t canary = UINT64_C(0xfff5fff5fff5fff5);
enum {
    FILL_GRAIN = 1 << 16, /* words of a tile */
    HUGE_PAGE_BYTES = 2 << 20,
};

static size_t mapped_bytes(const struct place_context *context, enum place_tier tier) {
    int64_t bytes = context->part->arena_bytes[tier];
    return (size_t)((bytes + 4095) / 4096 * 4096 + (bytes == 0) * 4096);
}

static void fill_tile(void *arguments, int64_t begin, int64_t end, void *workspace) {
    uint64_t *words = arguments;
    for (int64_t i = begin; i < end; i++)
        words[i] = canary;
}

/* Kernels go over megabytes, in rows that are kilobytes apart, and looking up an address of a small
 * page takes as long as what is then done there. So where there are huge pages, they are used: from
 * a multiple of their size on, as far as they are full; the rest has small ones, so that no byte is
 * held that was not planned. Null: no memory. */
static void *map_pages(size_t bytes) {
    char *at = mmap(NULL, bytes + HUGE_PAGE_BYTES, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return NULL;
    size_t before = -(uintptr_t)at % HUGE_PAGE_BYTES;
    if (before > 0)
        munmap(at, before);
    munmap(at + before + bytes, HUGE_PAGE_BYTES - before);
    madvise(at + before, bytes, MADV_HUGEPAGE);
    return at + before;
}

static int32_t map_tier(struct place_context *context, enum place_tier tier) {
    size_t bytes = mapped_bytes(context, tier);
    void *map = map_pages(bytes);
    if (map == NULL)
        return context_fail(
            context, -1, PLACE_ERROR_HOST,
            "cannot have %zu bytes of memory: %s; use fewer ranks or a smaller model", bytes,
            strerror(errno));
    context->head.arenas[tier] = map;
    team_run(context->team, (int64_t)(bytes / 8), FILL_GRAIN, fill_tile, map);
    return PLACE_OK;
}

int32_t arena_map(struct place_context *context) {
    int32_t status = map_tier(context, PLACE_DEVICE);
    if (!status && context->part->arena_bytes[PLACE_HOST] > 0)
        status = map_tier(context, PLACE_HOST);
    return status;
}

void arena_unmap(struct place_context *context) {
    for (int tier = 0; tier < PLACE_DISK; tier++) {
        if (context->head.arenas[tier])
            munmap(context->head.arenas[tier], mapped_bytes(context, (enum place_tier)tier));
        context->head.arenas[tier] = NULL;
    }
}

int64_t arena_touched_bytes(const struct place_context *context, enum place_tier tier) {
    const char *base = context->head.arenas[tier];
    int64_t end = base ? context->part->arena_bytes[tier] : 0;
    if (tier == PLACE_DISK)
        return disk_written_bytes(context->disk);
    const char *pattern = (const char *)&canary;
    while (end > 0 && end % 8 && base[end - 1] == pattern[(end - 1) % 8])
        end--;
    if (end % 8)
        return end;
    while (end > 0 && memcmp(base + end - 8, &canary, 8) == 0)
        end -= 8;
    while (end > 0 && base[end - 1] == pattern[(end - 1) % 8])
        end--;
    return end;
}

/* ---- initial values ------------------------------------------------------------------------- */

enum { INIT_GRAIN = 4096, INIT_BLOCK = 256 };

struct initialization {
    const struct place_tensor *tensor;
    enum place_dtype dtype;
    enum place_dtype first; /* what values are rounded to before: the type of the copy that is
                             * updated, of which parameters are made */
    uint64_t keys[PLACE_FUSED_LIMIT]; /* of the tensor's parts */
    uint32_t layer;
    void *item;
    struct layout_run run;
};

/* Rounds once, or to the copy's type first. */
static void store(const struct initialization *init, int64_t index, double *values, int64_t count) {
    double first[INIT_BLOCK];
    round_row_f64(init->first, first, values, count);
    widen_row_f64(init->first, values, first, count);
    round_row_f64(init->dtype, (char *)init->item + index * width_of(init->dtype), values, count);
}

static void initialize_tile(void *arguments, int64_t begin, int64_t end, void *workspace) {
    const struct initialization *init = arguments;
    double values[INIT_BLOCK];
    int64_t count;
    for (int64_t at = begin; at < end; at += count) {
        struct layout_in_fused in = layout_in_fused(init->tensor, init->run.global + at);
        count = end - at < INIT_BLOCK ? end - at : INIT_BLOCK;
        count = count < in.length ? count : in.length;
        if (init->tensor->init == PLACE_INIT_NORMAL)
            random_normal(init->keys[in.fused], init->layer, in.index, init->tensor->init_std,
                          values, count);
        else
            for (int64_t i = 0; i < count; i++)
                values[i] = init->tensor->init == PLACE_INIT_ONES;
        store(init, init->run.local + at, values, count);
    }
}

/* The type of the copy that is updated of a tensor's parameters, whoever has one; else their own. */
static enum place_dtype updated_dtype(const struct place_program *program,
                                      const struct place_buffer *buffer) {
    for (int32_t p = 0; p < program->n_parts; p++)
        for (int32_t i = 0; i < program->parts[p].n_buffers; i++) {
            const struct place_buffer *other = &program->parts[p].buffers[i];
            if (other->class == PLACE_MASTER && other->tensor == buffer->tensor)
                return other->dtype;
        }
    return buffer->dtype;
}

/* A value is a function of (seed, tensor's name, layer, index in the whole tensor): every layout of
 * every mesh begins with the same bits, and so do tensors that are fused and that stand apart. */
static int32_t initialize_item(struct place_context *context, const struct place_buffer *buffer,
                               int64_t item, uint64_t seed) {
    struct held_item held;
    if (item_open(context, buffer, item, &held) != 0)
        return fail_item(context, buffer);
    const struct place_tensor *tensor = &context->program->tensors[buffer->tensor];
    struct initialization init = {
        .tensor = tensor,
        .dtype = buffer->dtype,
        .first = updated_dtype(context->program, buffer),
        .layer = (uint32_t)(tensor->layers ? buffer->first_item + item * buffer->item_step : 0),
        .item = held.bytes,
    };
    init.keys[0] = random_key(seed, tensor->name);
    for (int i = 0; i < tensor->n_fused; i++)
        init.keys[i] = random_key(seed, tensor->fused[i].name);
    struct layout_walk walk = layout_walk_begin(context->program, buffer, context->rank);
    while (layout_walk_next(&walk, &init.run))
        team_run(context->team, init.run.length, INIT_GRAIN, initialize_tile, &init);
    return item_keep(&held) == 0 ? PLACE_OK : fail_item(context, buffer);
}

void arena_clear(struct place_context *context) {
    const struct place_part *part = context->part;
    for (int32_t i = 0; i < part->n_buffers; i++) {
        const struct place_buffer *buffer = &part->buffers[i];
        if (buffer->class <= PLACE_RESIDUAL && buffer->window_of < 0 && buffer->tier != PLACE_DISK)
            memset(layout_item(context, buffer, 0), 0, (size_t)layout_held_bytes(buffer));
    }
}

int32_t arena_initialize(struct place_context *context, uint64_t seed) {
    const struct place_part *part = context->part;
    int32_t status = PLACE_OK;
    arena_clear(context);
    for (int32_t i = 0; i < part->n_buffers && !status; i++) {
        const struct place_buffer *buffer = &part->buffers[i];
        if (buffer->class > PLACE_MASTER && buffer->class != PLACE_ANCHOR)
            continue;
        if (buffer->dtype == PLACE_I32)
            return context_fail(context, -1, PLACE_ERROR_HOST,
                                "parameters of buffer %s have a type that cannot be initialized",
                                buffer->name);
        for (int64_t item = 0; item < buffer->count && !status; item++)
            if (layout_has_item(context->program, buffer, item, context->rank))
                status = initialize_item(context, buffer, item, seed);
    }
    return status;
}

/* ---- how much ------------------------------------------------------------------------------- */

static int64_t held_bytes(const struct place_part *part, enum live_state state) {
    int64_t bytes = 0;
    for (int32_t i = 0; i < part->n_buffers; i++)
        if (live_state_of(part->buffers[i].class) == state)
            bytes += layout_held_bytes(&part->buffers[i]);
    return bytes;
}

int64_t arena_held_bytes(const struct place_program *program, enum live_state state) {
    int64_t most = 0;
    for (int32_t i = 0; i < program->n_parts; i++) {
        int64_t bytes = held_bytes(&program->parts[i], state);
        most = bytes > most ? bytes : most;
    }
    return most;
}
