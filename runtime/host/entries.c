/* The tensors of files (see entries.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/host/entries.h"
#include "runtime/host/random.h"
#include "runtime/transport/collective.h"

/* ---- lists ---------------------------------------------------------------------------------- */

void entries_free(struct entries *entries) {
    for (int32_t i = 0; i < entries->n; i++)
        for (struct component *c = entries->items[i].components, *next; c; c = next) {
            next = c->next;
            free(c);
        }
    free(entries->items);
    free(entries->slots);
    *entries = (struct entries){0};
}

/* The slot where the name is, or the free one where it belongs. */
static int32_t *slot_of(const struct entries *entries, const char *name) {
    uint64_t hash = random_key(0, name);
    for (uint32_t at = (uint32_t)hash;; at++) {
        int32_t *slot = &entries->slots[at & (entries->n_slots - 1)];
        if (*slot < 0 || strcmp(entries->items[*slot].name, name) == 0)
            return slot;
    }
}

int32_t entries_find(const struct entries *entries, const char *name) {
    return entries->n_slots ? *slot_of(entries, name) : -1;
}

/* At most half of the slots are in use. */
bool entries_index(struct entries *entries) {
    uint32_t n = 64;
    while (n < 2 * (uint32_t)entries->capacity)
        n *= 2;
    int32_t *slots = realloc(entries->slots, n * sizeof *slots);
    if (!slots)
        return false;
    memset(slots, -1, n * sizeof *slots);
    entries->slots = slots;
    entries->n_slots = n;
    for (int32_t i = 0; i < entries->n; i++) {
        int32_t *slot = slot_of(entries, entries->items[i].name);
        *slot = *slot < 0 ? i : *slot;
    }
    return true;
}

static bool grow(struct entries *entries) {
    int32_t capacity = entries->capacity ? entries->capacity * 2 : 64;
    struct entry *grown = realloc(entries->items, (size_t)capacity * sizeof *entries->items);
    if (!grown)
        return false;
    entries->items = grown;
    entries->capacity = capacity;
    return entries_index(entries);
}

/* The entry of that name; a new one if there is none. Null: no memory. */
static struct entry *entry_named(struct entries *entries, const char *name) {
    int32_t found = entries_find(entries, name);
    if (found >= 0)
        return &entries->items[found];
    if (entries->n == entries->capacity && !grow(entries))
        return NULL;
    struct entry *entry = &entries->items[entries->n];
    memset(entry, 0, sizeof *entry);
    snprintf(entry->name, sizeof entry->name, "%s", name);
    *slot_of(entries, entry->name) = entries->n++;
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
    return buffer->tensor == tensor && layout_has_layers_only(buffer) &&
           item_of_layer(buffer, layer) >= 0;
}

static int32_t count_cuts(const struct place_buffer *buffer) {
    int32_t n = buffer->flat.n + buffer->owners.n;
    for (int32_t i = 0; i < buffer->rank; i++)
        n += buffer->dims[i].cut.n;
    return n;
}

/* The buffer of a class that holds a layer of a tensor: of a whole buffer and one of this device's part,
 * a window or not, the whole. */
static const struct place_buffer *find_buffer(const struct place_part *part, enum place_class class,
                                              int32_t tensor, int64_t layer) {
    const struct place_buffer *found = NULL;
    for (int32_t i = 0; i < part->n_buffers; i++) {
        const struct place_buffer *buffer = &part->buffers[i];
        if (buffer->class != class || !covers(buffer, tensor, layer))
            continue;
        if (!found || count_cuts(buffer) <= count_cuts(found))
            found = buffer;
    }
    return found;
}

/* What a file of parameters holds: they themselves, or where there are none the copy that is
 * updated. */
static const struct place_buffer *find_parameters(const struct place_part *part, int32_t tensor,
                                                  int64_t layer) {
    const struct place_buffer *found = find_buffer(part, PLACE_PARAMETERS, tensor, layer);
    return found ? found : find_buffer(part, PLACE_MASTER, tensor, layer);
}

/* The type that parameters have in a file which the buffer keeps, or which are made of what it keeps. */
static enum place_dtype saved_dtype(const struct place_tensor *tensor,
                                    const struct place_buffer *buffer) {
    bool rounds =
        buffer->class == PLACE_MASTER && dtype_size(tensor->dtype) < dtype_size(buffer->dtype);
    return rounds ? tensor->dtype : buffer->dtype;
}

/* A buffer of a part of the mesh, of which a part before may have had a copy. */
struct holder {
    const struct place_part *part;
    const struct place_buffer *buffer;
    bool again;
};

static bool add_component(struct entry *entry, const struct holder *holder, int64_t item,
                          int64_t begin, int64_t columns, const struct place_tensor *tensor) {
    struct component *component = malloc(sizeof *component);
    if (!component)
        return false;
    *component = (struct component){.part = holder->part,
                                    .again = holder->again,
                                    .buffer = holder->buffer,
                                    .item = item,
                                    .begin = begin,
                                    .columns = columns,
                                    .tensor = tensor,
                                    .next = entry->components};
    entry->components = component;
    if (begin + columns > entry->columns)
        entry->columns = begin + columns;
    return true;
}

/* Logical shape, as one matrix of one row. Null: no memory. */
static struct entry *add_logical(struct entries *entries, const char *name, enum place_dtype dtype,
                                 const struct holder *holder, int64_t item) {
    const struct place_buffer *buffer = holder->buffer;
    struct entry *entry = entry_named(entries, name);
    if (!entry)
        return NULL;
    entry->dtype = dtype;
    entry->rows = 1;
    entry->n_shape = buffer->rank;
    for (int i = 0; i < buffer->rank; i++)
        entry->shape[i] = buffer->dims[i].size;
    return add_component(entry, holder, item, 0, layout_whole_elements(buffer), NULL) ? entry
                                                                                      : NULL;
}

/* `%d` of a saved name, by hand: the name is data, not a format. */
static void format_name(char *to, size_t bytes, const char *prefix, const char *name,
                        int64_t layer) {
    const char *mark = strstr(name, "%d");
    if (mark)
        snprintf(to, bytes, "%s%.*s%lld%s", prefix, (int)(mark - name), name, (long long)layer,
                 mark + 2);
    else
        snprintf(to, bytes, "%s%s", prefix, name);
}

/* Adds an entry as a file of parameters has it, behind a prefix of its name. Null: no memory. */
static struct entry *add_saved(struct entries *entries, const char *prefix,
                               const struct place_tensor *tensor, int64_t layer,
                               enum place_dtype dtype, const struct holder *holder) {
    const struct place_buffer *buffer = holder->buffer;
    char name[ENTRY_NAME_BYTES];
    int64_t item = item_of_layer(buffer, layer);
    bool of_sides = buffer->class == PLACE_MOMENT2_ROWS || buffer->class == PLACE_MOMENT2_COLUMNS;
    if (!tensor->saved_name || of_sides) {
        snprintf(name, sizeof name, tensor->layers ? "%s%s.%lld" : "%s%s", prefix, tensor->name,
                 (long long)layer);
        return add_logical(entries, name, dtype, holder, item);
    }
    format_name(name, sizeof name, prefix, tensor->saved_name, layer);
    struct entry *entry = entry_named(entries, name);
    if (!entry)
        return NULL;
    entry->dtype = dtype;
    entry->rows = tensor->saved_rows ? tensor->saved_rows : 1;
    entry->transposed = tensor->saved_transposed;
    int64_t columns = layout_whole_elements(buffer) / entry->rows;
    if (!add_component(entry, holder, item, tensor->saved_columns_begin, columns, tensor))
        return NULL;
    entry->n_shape = tensor->saved_rows ? 2 : 1;
    entry->shape[0] = tensor->saved_rows && !entry->transposed ? entry->rows : entry->columns;
    entry->shape[1] = entry->transposed ? entry->rows : entry->columns;
    return entry;
}

/* Behind the last of its layers; what is not repeated by layer is that of one. */
static int64_t end_of_layers(const struct place_tensor *tensor) {
    return tensor->first_layer + (tensor->layers ? tensor->layers : 1);
}

static bool list_parameters(const struct place_program *program, struct entries *entries) {
    for (int32_t t = 0; t < program->n_tensors; t++)
        for (int64_t layer = program->tensors[t].first_layer;
             layer < end_of_layers(&program->tensors[t]); layer++) {
            bool again = false;
            for (int32_t p = 0; p < program->n_parts; p++) {
                const struct place_part *part = &program->parts[p];
                struct holder holder = {part, find_parameters(part, t, layer), again};
                if (!holder.buffer)
                    continue;
                const struct place_tensor *tensor = &program->tensors[t];
                enum place_dtype dtype = saved_dtype(tensor, holder.buffer);
                if (!add_saved(entries, "", tensor, layer, dtype, &holder))
                    return false;
                again = true;
            }
        }
    entries->parameters = entries->n;
    return true;
}

static const char *const class_names[] = {
    "parameters",      "master",   "moment1", "moment2",        "moment2_rows",
    "moment2_columns", "momentum", "anchor",  "outer_momentum", "residual"};

/* The holder of parameters that are not kept has the copy that they are rounded from. */
static struct entry *add_state(struct entries *entries, const char *prefix, enum place_class class,
                               const struct place_program *program, const struct holder *holder,
                               int64_t layer) {
    char name[ENTRY_NAME_BYTES];
    const struct place_buffer *buffer = holder->buffer;
    const struct place_tensor *tensor = &program->tensors[buffer->tensor];
    snprintf(name, sizeof name, tensor->layers ? "%s%s/%s/%lld" : "%s%s/%s", prefix,
             class_names[class], tensor->name, (long long)layer);
    enum place_dtype dtype =
        class == PLACE_PARAMETERS ? saved_dtype(tensor, buffer) : buffer->dtype;
    return add_logical(entries, name, dtype, holder, item_of_layer(buffer, layer));
}

/* A class of states of a layer of a tensor, in every part that has it. */
static bool list_state(const struct place_program *program, struct entries *entries,
                       enum place_class class, int32_t tensor, int64_t layer) {
    bool again = false;
    for (int32_t p = 0; p < program->n_parts; p++) {
        const struct place_part *part = &program->parts[p];
        struct holder holder = {part,
                                class == PLACE_PARAMETERS ? find_parameters(part, tensor, layer)
                                                          : find_buffer(part, class, tensor, layer),
                                again};
        if (!holder.buffer)
            continue;
        if (!add_state(entries, "", class, program, &holder, layer))
            return false;
        again = true;
    }
    return true;
}

static bool list_states(const struct place_program *program, struct entries *entries) {
    for (int class = PLACE_PARAMETERS; class <= PLACE_RESIDUAL; class ++)
        for (int32_t t = 0; t < program->n_tensors; t++)
            for (int64_t layer = program->tensors[t].first_layer;
                 layer < end_of_layers(&program->tensors[t]); layer++)
                if (!list_state(program, entries, (enum place_class) class, t, layer))
                    return false;
    return true;
}

/* ---- what is resumed ------------------------------------------------------------------------ */

/* "device/dp=1,tp=0/": whose it is. Where nobody else has one, nothing. */
static void format_device(char *to, size_t bytes, const struct place_program *program,
                          const struct place_axes *apart, int64_t place) {
    size_t used = (size_t)snprintf(to, bytes, "%s", apart->n ? "device/" : "");
    int64_t below = axes_parts(program, apart);
    for (int i = 0; i < apart->n && used < bytes; i++) {
        const struct place_axis *axis = &program->axes[apart->axes[i]];
        below /= axis->size;
        used +=
            (size_t)snprintf(to + used, bytes - used, "%s=%lld%s", axis->name,
                             (long long)(place / below % axis->size), i + 1 < apart->n ? "," : "/");
    }
}

/* Whether the part has a device at this place along the axes. */
static bool part_is_at(const struct place_program *program, const struct place_part *part,
                       const struct place_axes *axes, int64_t place) {
    int32_t rank = rank_at(program, axes, place, 0);
    for (int64_t i = part->begin; i < part->end; i++)
        if (axes_place(program, axes, rank_at(program, &part->axes, i, rank)) == place)
            return true;
    return false;
}

/* A residual is a device's own: what it has not sent yet of what it had to add. No part before has
 * it, for parts are along axes that cut nothing. */
static bool add_residuals(const struct place_program *program, struct entries *entries,
                          const struct holder *holder, int64_t layer) {
    struct place_axes all = axes_of_mesh(program), apart = axes_not_cut(holder->buffer, &all);
    for (int64_t place = 0; place < axes_parts(program, &apart); place++) {
        char prefix[256];
        if (!part_is_at(program, holder->part, &apart, place))
            continue;
        format_device(prefix, sizeof prefix, program, &apart, place);
        struct entry *entry = add_state(entries, prefix, PLACE_RESIDUAL, program, holder, layer);
        if (!entry)
            return false;
        entry->apart = apart;
        entry->place = place;
    }
    return true;
}

/* What the outer optimizer keeps is equal on all islands; all else is between two averages, or
 * always, each one's own. */
static bool differs_by_island(enum place_class class) {
    return class <= PLACE_MOMENTUM;
}

static struct place_axes apart_by_island(const struct place_program *program,
                                         const struct place_buffer *buffer) {
    static const struct place_axes none;
    return differs_by_island(buffer->class) ? axes_not_cut(buffer, &program->islands) : none;
}

static bool add_resumable(const struct place_program *program, struct entries *entries,
                          const struct holder *holder, int64_t layer, int64_t island) {
    const struct place_buffer *buffer = holder->buffer;
    char prefix[64], of_island[32] = "";
    if (island > 0)
        snprintf(of_island, sizeof of_island, "island/%lld/", (long long)island);
    snprintf(prefix, sizeof prefix, "%s%s/", of_island, class_names[buffer->class]);
    struct entry *entry =
        add_saved(entries, prefix, &program->tensors[buffer->tensor], layer, buffer->dtype, holder);
    if (!entry)
        return false;
    entry->apart = apart_by_island(program, buffer);
    entry->place = island;
    return true;
}

static bool list_residual(const struct place_program *program, struct entries *entries,
                          int32_t tensor, int64_t layer) {
    bool enough = true;
    for (int32_t p = 0; p < program->n_parts && enough; p++) {
        const struct place_part *part = &program->parts[p];
        struct holder holder = {part, find_buffer(part, PLACE_RESIDUAL, tensor, layer), false};
        enough = !holder.buffer || add_residuals(program, entries, &holder, layer);
    }
    return enough;
}

/* Whether the model's file has all that the buffer has, and not that rounded. */
static bool is_in_model(const struct place_program *program, const struct holder *holder,
                        int32_t tensor, int64_t layer) {
    return holder->buffer == find_parameters(holder->part, tensor, layer) &&
           saved_dtype(&program->tensors[tensor], holder->buffer) == holder->buffer->dtype;
}

/* Lists a layer in every part that has devices of the island. The first island's parameters are the
 * model's file's. */
static bool list_layer(const struct place_program *program, struct entries *entries,
                       enum place_class class, int32_t tensor, int64_t layer, int64_t island) {
    bool again = false, enough = true;
    for (int32_t p = 0; p < program->n_parts && enough; p++) {
        const struct place_part *part = &program->parts[p];
        struct holder holder = {part, find_buffer(part, class, tensor, layer), again};
        if (!holder.buffer || (island == 0 && is_in_model(program, &holder, tensor, layer)))
            continue;
        struct place_axes apart = apart_by_island(program, holder.buffer);
        if (!part_is_at(program, part, &apart, island))
            continue;
        enough = add_resumable(program, entries, &holder, layer, island);
        again = true;
    }
    return enough;
}

static bool list_class(const struct place_program *program, struct entries *entries,
                       enum place_class class, int64_t island) {
    bool enough = true;
    for (int32_t t = 0; t < program->n_tensors; t++)
        for (int64_t layer = program->tensors[t].first_layer;
             layer < end_of_layers(&program->tensors[t]) && enough; layer++)
            enough = class == PLACE_RESIDUAL
                         ? list_residual(program, entries, t, layer)
                         : list_layer(program, entries, class, t, layer, island);
    return enough;
}

static bool list_resumable(const struct place_program *program, struct entries *entries) {
    bool enough = list_parameters(program, entries);
    int64_t islands = axes_parts(program, &program->islands);
    for (int32_t i = 0; i < entries->n; i++) /* of which the model is the first's */
        entries->items[i].apart =
            axes_not_cut(entries->items[i].components->buffer, &program->islands);
    for (int64_t island = 0; island < islands; island++)
        for (int class = PLACE_PARAMETERS; class <= PLACE_RESIDUAL && enough; class ++)
            if (island == 0 || differs_by_island((enum place_class) class))
                enough = list_class(program, entries, (enum place_class) class, island);
    return enough;
}

static const struct place_buffer *forgotten_of(const struct place_part *part) {
    for (int32_t i = 0; i < part->n_buffers; i++) {
        const struct place_buffer *buffer = &part->buffers[i];
        if (buffer->class > PLACE_RESIDUAL || buffer->window_of >= 0)
            continue;
        if (buffer->tensor < 0 || !layout_has_layers_only(buffer))
            return buffer;
        for (int64_t item = 0; item < buffer->count; item++)
            if (find_buffer(part, buffer->class, buffer->tensor,
                            buffer->first_item + item * buffer->item_step) != buffer)
                return buffer;
    }
    return NULL;
}

const struct place_buffer *entries_forgotten(const struct place_program *program) {
    const struct place_buffer *forgotten = NULL;
    for (int32_t i = 0; i < program->n_parts && !forgotten; i++)
        forgotten = forgotten_of(&program->parts[i]);
    return forgotten;
}

bool entries_list(const struct place_program *program, enum entries_selection selection,
                  struct entries *entries) {
    *entries = (struct entries){0};
    switch (selection) {
    case ENTRIES_PARAMETERS:
        return list_parameters(program, entries);
    case ENTRIES_STATES:
        return list_states(program, entries);
    default:
        return list_resumable(program, entries);
    }
}

bool component_is_rounded(const struct entry *entry, const struct component *component) {
    return component->buffer->dtype != entry->dtype;
}

int64_t entry_elements(const struct entry *entry) {
    return entry->rows * entry->columns;
}

int64_t entry_bytes(const struct entry *entry) {
    return entry_elements(entry) * dtype_size(entry->dtype);
}
