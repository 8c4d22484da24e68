/* Logical tensors in safetensors files. All ranks make the same list of entries from the
 * descriptor, in the same order; then tensor by tensor the holders send their parts to rank 0,
 * which puts them where the layout says and writes. At no time is more than one entry in memory,
 * nor does a file with the final name exist before it is whole. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/host/file.h"
#include "runtime/host/layout.h"
#include "runtime/host/log.h"
#include "runtime/host/tensors.h"
#include "runtime/transport/transport.h"

/* ---- gathering ------------------------------------------------------------------------------ */

static void place_part(const struct place_context *context, const struct place_buffer *buffer,
                       int32_t rank, const char *part, char *whole) {
    int64_t element = dtype_size(buffer->dtype);
    struct layout_walk walk = layout_walk_begin(context->program, buffer, rank);
    struct layout_run run;
    while (layout_walk_next(&walk, &run))
        memcpy(whole + run.global * element, part + run.local * element,
               (size_t)(run.length * element));
}

/* Puts one item together from the ranks that hold its parts. Called by all ranks; `whole` is the
 * row-major tensor, on rank 0 only. `scratch` on rank 0 holds one rank's item. */
static int32_t tensor_gather(struct place_context *context, const struct place_buffer *buffer,
                             int64_t item, void *whole, void *scratch) {
    const struct place_program *program = context->program;
    size_t bytes = (size_t)(layout_item_elements(program, buffer) * dtype_size(buffer->dtype));
    void *own = layout_item(context, buffer, item);
    if (context->rank != 0) {
        bool holder = layout_is_first_copy(program, buffer, context->rank);
        return holder ? host_send(context, 0, own, bytes) : PLACE_OK;
    }
    place_part(context, buffer, 0, own, whole);
    for (int32_t rank = 1; rank < program->devices; rank++) {
        if (!layout_is_first_copy(program, buffer, rank))
            continue;
        int32_t status = host_receive(context, rank, scratch, bytes);
        if (status)
            return status;
        place_part(context, buffer, rank, scratch, whole);
    }
    return PLACE_OK;
}

/* ---- the list of entries -------------------------------------------------------------------- */

/* A tensor of the file. As a matrix it has `rows` rows of `columns`; what several logical tensors
 * fill side by side has one component for each. Of a fused tensor the parts lie side by side. */
struct component {
    const struct place_buffer *buffer;
    int64_t item;
    int64_t begin, columns;
    const struct place_tensor *tensor; /* null: as it lies in the whole tensor */
    struct component *next;
};
struct entry {
    char name[256];
    enum place_dtype dtype;
    int n_shape;
    int64_t shape[PLACE_RANK_LIMIT];
    int64_t rows, columns;
    bool transposed;
    struct component *components;
};
struct entries {
    struct entry *items;
    int32_t n, capacity;
};

static void entries_free(struct entries *entries) {
    for (int32_t i = 0; i < entries->n; i++)
        for (struct component *c = entries->items[i].components, *next; c; c = next) {
            next = c->next;
            free(c);
        }
    free(entries->items);
}

/* The entry of that name; a new one if there is none. Null: no memory. */
static struct entry *entry_named(struct entries *entries, const char *name) {
    for (int32_t i = entries->n; i-- > 0;)
        if (strcmp(entries->items[i].name, name) == 0)
            return &entries->items[i];
    if (entries->n == entries->capacity) {
        int32_t capacity = entries->capacity ? entries->capacity * 2 : 64;
        struct entry *grown = realloc(entries->items, (size_t)capacity * sizeof *entries->items);
        if (!grown)
            return NULL;
        entries->items = grown;
        entries->capacity = capacity;
    }
    struct entry *entry = &entries->items[entries->n++];
    memset(entry, 0, sizeof *entry);
    snprintf(entry->name, sizeof entry->name, "%s", name);
    return entry;
}

/* -1: it has no item of this layer. */
static int64_t item_of_layer(const struct place_buffer *buffer, int64_t layer) {
    int64_t distance = layer - buffer->first_item;
    if (distance < 0 || distance % buffer->item_step ||
        distance / buffer->item_step >= buffer->count)
        return -1;
    return distance / buffer->item_step;
}

static bool covers(const struct place_buffer *buffer, int32_t tensor, int64_t layer) {
    return buffer->tensor == tensor && buffer->stack <= PLACE_STACK_LAYERS &&
           item_of_layer(buffer, layer) >= 0;
}

/* The buffer of a class that holds a layer of a tensor: of a whole buffer and a window into it, the
 * whole; of gradients the window, since the whole may still hold summands. */
static const struct place_buffer *find_buffer(const struct place_program *program,
                                              enum place_class class, int32_t tensor,
                                              int64_t layer) {
    const struct place_buffer *found = NULL;
    for (int32_t i = 0; i < program->n_buffers; i++) {
        const struct place_buffer *buffer = &program->buffers[i];
        if (buffer->class != class || !covers(buffer, tensor, layer))
            continue;
        bool window = buffer->window_of >= 0;
        if (!found || window == (class == PLACE_GRADIENTS))
            found = buffer;
    }
    return found;
}

/* Whether the memory plan gave these bytes to nothing else, so that they outlive the step. */
static bool has_own_bytes(const struct place_program *program, const struct place_buffer *buffer) {
    if (buffer->window_of >= 0)
        buffer = &program->buffers[buffer->window_of];
    int64_t begin = buffer->offset_bytes, end = begin + layout_held_bytes(buffer);
    for (int32_t i = 0; i < program->n_buffers; i++) {
        const struct place_buffer *other = &program->buffers[i];
        if (other != buffer && other->window_of < 0 && other->offset_bytes < end &&
            other->offset_bytes + layout_held_bytes(other) > begin)
            return false;
    }
    return true;
}

static bool add_component(struct entry *entry, const struct place_buffer *buffer, int64_t item,
                          int64_t begin, int64_t columns, const struct place_tensor *tensor) {
    struct component *component = malloc(sizeof *component);
    if (!component)
        return false;
    *component = (struct component){buffer, item, begin, columns, tensor, entry->components};
    entry->components = component;
    entry->dtype = buffer->dtype;
    if (begin + columns > entry->columns)
        entry->columns = begin + columns;
    return true;
}

/* Logical shape, as one matrix of one row. */
static bool add_logical(struct entries *entries, const char *name,
                        const struct place_buffer *buffer, int64_t item) {
    struct entry *entry = entry_named(entries, name);
    if (!entry)
        return false;
    entry->rows = 1;
    entry->n_shape = buffer->rank;
    for (int i = 0; i < buffer->rank; i++)
        entry->shape[i] = buffer->dims[i].size;
    return add_component(entry, buffer, item, 0, layout_whole_elements(buffer), NULL);
}

/* `%d` of a saved name, by hand: the name is data, not a format. */
static void format_name(char *to, size_t bytes, const char *name, int64_t layer) {
    const char *mark = strstr(name, "%d");
    if (mark)
        snprintf(to, bytes, "%.*s%lld%s", (int)(mark - name), name, (long long)layer, mark + 2);
    else
        snprintf(to, bytes, "%s", name);
}

static bool add_saved(struct entries *entries, const struct place_tensor *tensor, int64_t layer,
                      const struct place_buffer *buffer) {
    char name[256];
    int64_t item = item_of_layer(buffer, layer);
    if (!tensor->saved_name) {
        snprintf(name, sizeof name, tensor->layers ? "%s.%lld" : "%s", tensor->name,
                 (long long)layer);
        return add_logical(entries, name, buffer, item);
    }
    format_name(name, sizeof name, tensor->saved_name, layer);
    struct entry *entry = entry_named(entries, name);
    if (!entry)
        return false;
    entry->rows = tensor->saved_rows ? tensor->saved_rows : 1;
    entry->transposed = tensor->saved_transposed;
    int64_t columns = layout_whole_elements(buffer) / entry->rows;
    if (!add_component(entry, buffer, item, tensor->saved_columns_begin, columns, tensor))
        return false;
    entry->n_shape = tensor->saved_rows ? 2 : 1;
    entry->shape[0] = tensor->saved_rows && !entry->transposed ? entry->rows : entry->columns;
    entry->shape[1] = entry->transposed ? entry->rows : entry->columns;
    return true;
}

static bool list_parameters(const struct place_program *program, struct entries *entries) {
    for (int32_t t = 0; t < program->n_tensors; t++) {
        const struct place_tensor *tensor = &program->tensors[t];
        for (int64_t layer = 0; layer < (tensor->layers ? tensor->layers : 1); layer++) {
            const struct place_buffer *buffer = find_buffer(program, PLACE_PARAMETERS, t, layer);
            if (!buffer)
                buffer = find_buffer(program, PLACE_MASTER, t, layer);
            if (buffer && !add_saved(entries, tensor, layer, buffer))
                return false;
        }
    }
    return true;
}

static bool list_states(const struct place_program *program, struct entries *entries) {
    static const char *const names[] = {"parameters",     "master",   "moment1",
                                        "moment2",        "momentum", "anchor",
                                        "outer_momentum", "residual", "gradients"};
    for (int32_t class = PLACE_PARAMETERS; class <= PLACE_GRADIENTS; class ++)
        for (int32_t t = 0; t < program->n_tensors; t++) {
            const struct place_tensor *tensor = &program->tensors[t];
            for (int64_t layer = 0; layer < (tensor->layers ? tensor->layers : 1); layer++) {
                const struct place_buffer *buffer =
                    find_buffer(program, (enum place_class) class, t, layer);
                if (!buffer || (class == PLACE_GRADIENTS && !has_own_bytes(program, buffer)))
                    continue;
                char name[256];
                snprintf(name, sizeof name, tensor->layers ? "%s/%s/%lld" : "%s/%s", names[class],
                         tensor->name, (long long)layer);
                if (!add_logical(entries, name, buffer, item_of_layer(buffer, layer)))
                    return false;
            }
        }
    return true;
}

/* ---- the file ------------------------------------------------------------------------------- */

static int64_t entry_bytes(const struct entry *entry) {
    return entry->rows * entry->columns * dtype_size(entry->dtype);
}

/* The header with its length in front, padded to 8 bytes. Null: no memory. */
static char *make_header(const struct entries *entries, size_t *bytes) {
    size_t capacity = 128 + (size_t)entries->n * 640, used = 8;
    char *text = malloc(capacity);
    if (!text)
        return NULL;
    used += (size_t)sprintf(text + used, "{\"__metadata__\": {\"format\": \"pt\"}");
    int64_t offset = 0;
    for (int32_t i = 0; i < entries->n; i++) {
        const struct entry *entry = &entries->items[i];
        used += (size_t)sprintf(text + used, ", ");
        used += quote_json(text + used, 300, entry->name);
        used += (size_t)sprintf(text + used, ": {\"dtype\": \"%s\", \"shape\": [",
                                entry->dtype == PLACE_F64    ? "F64"
                                : entry->dtype == PLACE_BF16 ? "BF16"
                                                             : "F32");
        for (int d = 0; d < entry->n_shape; d++)
            used +=
                (size_t)sprintf(text + used, "%s%lld", d ? ", " : "", (long long)entry->shape[d]);
        int64_t end = offset + entry_bytes(entry);
        used += (size_t)sprintf(text + used, "], \"data_offsets\": [%lld, %lld]}",
                                (long long)offset, (long long)end);
        offset = end;
    }
    text[used++] = '}';
    while (used % 8)
        text[used++] = ' ';
    for (int i = 0; i < 8; i++)
        text[i] = (char)((used - 8) >> 8 * i & 255);
    *bytes = used;
    return text;
}

/* `n` elements of one row, from a column on. */
static void place_row(const struct entry *entry, int64_t row, int64_t column, int64_t n,
                      const char *from, char *to) {
    int64_t element = dtype_size(entry->dtype);
    if (!entry->transposed) {
        memcpy(to + (row * entry->columns + column) * element, from, (size_t)(n * element));
        return;
    }
    for (int64_t c = 0; c < n; c++)
        memcpy(to + ((column + c) * entry->rows + row) * element, from + c * element,
               (size_t)element);
}

/* Puts a component's matrix into its columns of the entry's, or into its rows of the transpose; of
 * each part all columns together. */
static void place_component(const struct entry *entry, const struct component *component,
                            const char *from, char *to) {
    int64_t element = dtype_size(entry->dtype), columns = component->columns;
    int64_t n = entry->rows * columns;
    const struct place_tensor *tensor = component->tensor;
    for (int64_t at = 0, length; at < n; at += length) {
        int64_t row = at / columns, column = at % columns;
        length = columns - column;
        if (tensor && tensor->n_parts) {
            struct layout_in_part in = layout_in_part(tensor, at);
            const struct place_part *part = &tensor->parts[in.part];
            int64_t own = columns / tensor->plane * part->elements; /* of a row */
            int64_t before = columns / tensor->plane * part->begin;
            length = length < in.length ? length : in.length;
            column = before + in.index % own;
        }
        place_row(entry, row, component->begin + column, length, from + at * element, to);
    }
}

/* Room on rank 0 for the largest entry, the largest component, and one rank's part of that. */
struct rooms {
    char *entry, *whole, *part;
};

static void rooms_free(struct rooms *rooms) {
    free(rooms->entry);
    free(rooms->whole);
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
            int64_t bytes = layout_item_elements(program, c->buffer) * dtype_size(entry->dtype);
            if (bytes > part)
                part = bytes;
        }
    }
    *rooms =
        (struct rooms){calloc(1, (size_t)largest), malloc((size_t)largest), malloc((size_t)part)};
    return rooms->entry && rooms->whole && rooms->part;
}

static int32_t fail_write(struct place_context *context, struct new_file *file, const char *path) {
    int reason = errno;
    new_file_discard(file);
    return context_fail(context, -1, PLACE_ERROR_HOST,
                        "%s: cannot be written: %s; nothing is left of it, and what was there "
                        "before is whole",
                        path, strerror(reason));
}

static int32_t write_entries(struct place_context *context, const struct entries *entries,
                             struct rooms *rooms, struct new_file *file, const char *path) {
    for (int32_t i = 0; i < entries->n; i++) {
        const struct entry *entry = &entries->items[i];
        for (const struct component *c = entry->components; c; c = c->next) {
            int32_t status = tensor_gather(context, c->buffer, c->item, rooms->whole, rooms->part);
            if (status)
                return status;
            if (context->rank == 0)
                place_component(entry, c, rooms->whole, rooms->entry);
        }
        if (context->rank == 0 &&
            new_file_write(file, rooms->entry, (size_t)entry_bytes(entry)) != 0)
            return fail_write(context, file, path);
    }
    return PLACE_OK;
}

static int32_t write_file(struct place_context *context, const struct entries *entries,
                          const char *path) {
    struct rooms rooms = {NULL, NULL, NULL};
    struct new_file file = {.descriptor = -1};
    if (context->rank != 0)
        return write_entries(context, entries, &rooms, &file, path);
    size_t header_bytes = 0;
    char *header = make_header(entries, &header_bytes);
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

static bool list_tensors(const struct place_program *program, enum tensor_selection selection,
                         struct entries *entries) {
    return selection == TENSORS_PARAMETERS ? list_parameters(program, entries)
                                           : list_states(program, entries);
}

int64_t tensors_file_bytes(const struct place_program *program, enum tensor_selection selection) {
    struct entries entries = {NULL, 0, 0};
    int64_t bytes = 0;
    list_tensors(program, selection, &entries); /* without memory for all of them: at least this */
    for (int32_t i = 0; i < entries.n; i++)
        bytes += entry_bytes(&entries.items[i]);
    entries_free(&entries);
    return bytes;
}

int32_t tensors_write(struct place_context *context, const char *path,
                      enum tensor_selection selection) {
    struct entries entries = {NULL, 0, 0};
    bool enough = list_tensors(context->program, selection, &entries);
    int32_t status = enough ? write_file(context, &entries, path)
                            : context_fail(context, -1, PLACE_ERROR_HOST,
                                           "%s: no memory to list its tensors", path);
    entries_free(&entries);
    return status;
}
