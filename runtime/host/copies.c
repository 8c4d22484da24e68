/* Copies, compared (see copies.h). */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/host/copies.h"
#include "runtime/host/items.h"
#include "runtime/host/layout.h"
#include "runtime/transport/transport.h"

static bool is_compared(const struct place_buffer *buffer) {
    return buffer->tensor >= 0 && buffer->class < PLACE_RESIDUAL &&
           layout_has_layers_only(buffer) && buffer->window_of < 0;
}

/* What an average makes one again, or an outer optimizer keeps, is equal on all islands. */
static bool differs_by_island(const struct place_buffer *buffer) {
    return buffer->class >= PLACE_MOMENT1 && buffer->class <= PLACE_MOMENTUM;
}

/* The rank with which a rank is compared. */
static int32_t first_holder(const struct place_program *program, const struct place_buffer *buffer,
                            int32_t rank) {
    static const struct place_axes none;
    return layout_first_copy(program, buffer, differs_by_island(buffer) ? &program->islands : &none,
                             rank);
}

/* Two runs of words that differ in one of them never come to the same. */
static uint64_t hash_bytes(uint64_t hash, const char *bytes, int64_t n) {
    for (int64_t i = 0; i < n; i += 8) {
        uint64_t word = 0;
        memcpy(&word, bytes + i, (size_t)(n - i < 8 ? n - i : 8));
        hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
        hash ^= hash >> 32;
    }
    return hash;
}

/* The hash of an item's elements alone: nobody reads what padding holds. */
static int32_t hash_item(struct place_context *context, const struct place_buffer *buffer,
                         int64_t item, uint64_t *result) {
    int64_t element = dtype_size(buffer->dtype);
    struct held_item held;
    if (item_open(context, buffer, item, &held) != 0)
        return fail_item(context, buffer);
    struct layout_walk walk = layout_walk_begin(context->program, buffer, context->rank);
    struct layout_run run;
    uint64_t hash = 0;
    while (layout_walk_next(&walk, &run))
        hash = hash_bytes(hash, held.bytes + run.local * element, run.length * element);
    item_release(&held);
    *result = hash;
    return PLACE_OK;
}

/* The most items that a part compares. */
static int64_t count_items(const struct place_program *program) {
    int64_t most = 0;
    for (int32_t p = 0; p < program->n_parts; p++) {
        const struct place_part *part = &program->parts[p];
        int64_t n = 0;
        for (int32_t i = 0; i < part->n_buffers; i++)
            n += is_compared(&part->buffers[i]) ? part->buffers[i].count : 0;
        most = n > most ? n : most;
    }
    return most;
}

static int32_t hash_items(struct place_context *context, uint64_t *hashes) {
    const struct place_part *part = context->part;
    int32_t status = PLACE_OK;
    for (int32_t i = 0; i < part->n_buffers; i++)
        for (int64_t item = 0;
             !status && is_compared(&part->buffers[i]) && item < part->buffers[i].count; item++)
            status = hash_item(context, &part->buffers[i], item, hashes++);
    return status;
}

struct difference {
    const struct place_buffer *buffer; /* null: all copies agree */
    int64_t item;
    int32_t rank, first;
};

/* The first among the ranks of a part. */
static struct difference find_difference(const struct place_program *program,
                                         const struct place_part *part, const uint64_t *hashes,
                                         int64_t n) {
    int64_t number = 0;
    for (int32_t i = 0; i < part->n_buffers; i++) {
        const struct place_buffer *buffer = &part->buffers[i];
        for (int64_t item = 0; is_compared(buffer) && item < buffer->count; item++, number++)
            for (int32_t rank = 0; rank < program->devices; rank++) {
                if (part_of_rank(program, rank) != part)
                    continue;
                int32_t first = first_holder(program, buffer, rank);
                if (hashes[rank * n + number] != hashes[first * n + number])
                    return (struct difference){buffer, item, rank, first};
            }
    }
    return (struct difference){0};
}

/* The first that any rank has, so all ranks find the same. `hashes` are of all ranks in order, `n`
 * of each. */
static struct difference first_difference(const struct place_program *program,
                                          const uint64_t *hashes, int64_t n) {
    struct difference found = {0};
    for (int32_t i = 0; i < program->n_parts && !found.buffer; i++)
        found = find_difference(program, &program->parts[i], hashes, n);
    return found;
}

static int32_t compare(struct place_context *context, const uint64_t *hashes, int64_t n) {
    struct difference found = first_difference(context->program, hashes, n);
    const struct place_buffer *buffer = found.buffer;
    char layer[32] = "";
    if (!buffer)
        return PLACE_OK;
    if (found.rank != context->rank)
        return PLACE_ERROR_ABORTED; /* that one says it */
    if (buffer->stacks[0].kind == PLACE_STACK_LAYERS)
        snprintf(layer, sizeof layer, ", layer %lld",
                 (long long)(buffer->first_item + found.item * buffer->item_step));
    return context_fail(context, -1, PLACE_ERROR_HOST,
                        "its copy of %s%s is not that of rank %d: they should be equal to the last "
                        "bit; nothing was dumped",
                        buffer->name, layer, found.first);
}

int32_t copies_compare(struct place_context *context) {
    int64_t n = count_items(context->program);
    size_t bytes = (size_t)n * sizeof(uint64_t);
    uint64_t *mine = calloc(1, bytes + 1); /* a part may have fewer */
    uint64_t *all = malloc(bytes * (size_t)context->program->devices + 1);
    int32_t status = PLACE_OK;
    if (!mine || !all) {
        status = context_fail(context, -1, PLACE_ERROR_HOST, "no memory to compare copies");
    } else {
        status = hash_items(context, mine);
        if (!status)
            status = host_share(context, mine, all, bytes);
        if (!status)
            status = compare(context, all, n);
    }
    free(mine);
    free(all);
    return status;
}
