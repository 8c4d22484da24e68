/* Logical tensors in one safetensors file. Tensor by tensor the holders send their parts to rank 0,
 * which puts them where the layout says and writes: so ranks on hosts that share no file system
 * make one file. At no time is more than one entry in memory, nor does a file with the final name
 * exist before it is whole. (A checkpoint, which all ranks write, is checkpoint.c's.) */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/host/file.h"
#include "runtime/host/items.h"
#include "runtime/host/layout.h"
#include "runtime/host/safetensors.h"
#include "runtime/host/parts.h"
#include "runtime/host/segments.h"
#include "runtime/host/tensors.h"
#include "runtime/transport/collective.h"
#include "runtime/transport/transport.h"

/* Whether the rank is the one that gives its piece of the component. */
static bool holds_first(const struct place_program *program, const struct component *component,
                        int32_t rank) {
    return !component->again && part_of_rank(program, rank) == component->part &&
           layout_has_item(program, component->buffer, component->item, rank) &&
           layout_is_first_copy(program, component->buffer, rank);
}

/* Puts a component together from the ranks that hold its parts, in the entry that has it. Called by
 * all ranks; `whole` is the entry as the file has it, on rank 0 only. `scratch` on rank 0 holds one
 * rank's item. */
static int32_t gather_component(struct place_context *context, const struct entry *entry,
                                const struct component *component, char *whole, char *scratch) {
    const struct place_program *program = context->program;
    const struct place_buffer *buffer = component->buffer;
    size_t bytes = (size_t)(layout_item_elements(program, buffer) * dtype_size(buffer->dtype));
    struct held_item held = {0};
    bool holds = holds_first(program, component, context->rank);
    if (holds && item_open(context, buffer, component->item, &held) != 0)
        return fail_item(context, buffer);
    if (context->rank != 0) {
        int32_t status = holds ? host_send(context, 0, held.bytes, bytes) : PLACE_OK;
        item_release(&held);
        return status;
    }
    if (holds)
        segments_place(program, entry, component, 0, held.bytes, whole);
    item_release(&held);
    for (int32_t rank = 1; rank < program->devices; rank++) {
        if (!holds_first(program, component, rank))
            continue;
        int32_t status = host_receive(context, rank, scratch, bytes);
        if (status)
            return status;
        segments_place(program, entry, component, rank, scratch, whole);
    }
    return PLACE_OK;
}

/* Room on rank 0 for the largest entry, and one rank's part of a component. */
struct rooms {
    char *entry, *part;
};

static void rooms_free(struct rooms *rooms) {
    free(rooms->entry);
    free(rooms->part);
}

static bool rooms_allocate(const struct place_program *program, const struct entries *entries,
                           struct rooms *rooms) {
    int64_t largest = 8, part = 8;
    for (int32_t i = 0; i < entries->n; i++) {
        const struct entry *entry = &entries->items[i];
        if (entry_bytes(entry) > largest)
            largest = entry_bytes(entry);
        for (const struct component *c = entry->components; c; c = c->next) {
            int64_t bytes = layout_item_elements(program, c->buffer) * dtype_size(c->buffer->dtype);
            if (bytes > part)
                part = bytes;
        }
    }
    *rooms = (struct rooms){calloc(1, (size_t)largest), malloc((size_t)part)};
    return rooms->entry && rooms->part;
}

static int32_t fail_write(struct place_context *context, struct new_file *file, const char *path) {
    int reason = errno;
    new_file_discard(file);
    return context_fail(context, -1, PLACE_ERROR_HOST,
                        "%s: cannot be written: %s; nothing is left of it, and what was there "
                        "before is whole",
                        path, strerror(reason));
}

/* A model that nothing can be made of takes the place of none. */
static int32_t fail_not_finite(struct place_context *context, const struct entry *entry,
                               struct new_file *file, const char *path) {
    new_file_discard(file);
    return context_fail(context, -1, PLACE_ERROR_HOST,
                        "%s: it is not written, for %s has become what is not a finite number; "
                        "what was there before is whole",
                        path, entry->name);
}

static int32_t write_entries(struct place_context *context, const struct entries *entries,
                             struct rooms *rooms, struct new_file *file, const char *path) {
    for (int32_t i = 0; i < entries->n; i++) {
        const struct entry *entry = &entries->items[i];
        for (const struct component *c = entry->components; c; c = c->next) {
            int32_t status = gather_component(context, entry, c, rooms->entry, rooms->part);
            if (status)
                return status;
        }
        if (context->rank == 0 && i < entries->parameters &&
            !elements_are_finite(entry->dtype, rooms->entry, entry_elements(entry)))
            return fail_not_finite(context, entry, file, path);
        if (context->rank == 0 &&
            new_file_write(file, rooms->entry, (size_t)entry_bytes(entry)) != 0)
            return fail_write(context, file, path);
    }
    return PLACE_OK;
}

static int32_t write_file(struct place_context *context, const struct entries *entries,
                          const char *path) {
    struct rooms rooms = {NULL, NULL};
    struct new_file file = {.descriptor = -1};
    if (context->rank != 0)
        return write_entries(context, entries, &rooms, &file, path);
    size_t header_bytes = 0;
    char *header = safetensors_header(entries->items, entries->n, &header_bytes);
    int32_t status = PLACE_OK;
    if (!header || !rooms_allocate(context->program, entries, &rooms))
        status = context_fail(context, -1, PLACE_ERROR_HOST, "%s: no memory to write it", path);
    else if (new_file_open(&file, path) != 0 || new_file_write(&file, header, header_bytes) != 0)
        status = fail_write(context, &file, path);
    else
        status = write_entries(context, entries, &rooms, &file, path);
    if (!status && new_file_commit(&file) != 0)
        status = fail_write(context, &file, path);
    new_file_discard(&file);
    free(header);
    rooms_free(&rooms);
    return status;
}

int64_t tensors_file_bytes(const struct place_program *program, enum entries_selection selection) {
    struct entries entries;
    int64_t bytes = 0;
    entries_list(program, selection, &entries); /* without memory for all of them: at least this */
    for (int32_t i = 0; i < entries.n; i++)
        bytes += entry_bytes(&entries.items[i]);
    entries_free(&entries);
    return bytes;
}

int32_t tensors_write(struct place_context *context, const char *path,
                      enum entries_selection selection) {
    struct entries entries;
    bool enough = entries_list(context->program, selection, &entries);
    int32_t status = enough ? write_file(context, &entries, path)
                            : context_fail(context, -1, PLACE_ERROR_HOST,
                                           "%s: no memory to list its tensors", path);
    entries_free(&entries);
    return status;
}
