// The abstract store: what every item of every buffer holds while a step is executed.
//
// Buffers have addresses once memory is planned, and buffers that share bytes poison one another
// when written: so the plan is proved with the rest. A transfer keeps its sources busy and its
// targets undefined until it is waited for. A window is the device's own shard of a buffer: after
// writing it the whole is neither old nor new until it has been gathered.
#include "verify/engine.h"

#include <inttypes.h>
#include <string.h>

static const struct buffer *buffer_of(const struct engine *e, buffer_id id) {
    return &e->program->buffers[id];
}

// The buffer that has the bytes: a window's whole.
static buffer_id owner_of(const struct engine *e, buffer_id id) {
    const struct buffer *buffer = buffer_of(e, id);
    return buffer->window_of == NO_ID ? id : buffer->window_of;
}

static int64_t index_of(const struct engine *e, struct reference reference) {
    return index_at(reference.index, e->variables);
}

// The item, or NO_ID where the index has no fixed value or is outside.
static uint32_t item_of(const struct engine *e, struct reference reference) {
    int64_t index = index_of(e, reference);
    buffer_id owner = owner_of(e, reference.buffer);
    if (index < 0 || index >= buffer_of(e, owner)->count)
        return NO_ID;
    return e->store.first[owner] + (uint32_t)index;
}

static buffer_id buffer_of_item(const struct engine *e, uint32_t item) {
    uint32_t low = 0, high = e->program->n_buffers;
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        if (e->store.first[middle] <= item)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static const char *item_name(const struct engine *e, uint32_t item) {
    const struct buffer *buffer = buffer_of(e, buffer_of_item(e, item));
    if (buffer->stack == STACK_NONE)
        return buffer->name;
    return arena_format(e->arena, "%s[%" PRIu32 "]", buffer->name,
                        item - e->store.first[buffer - e->program->buffers]);
}

// ---- the state at the beginning ---------------------------------------------------------------

// A byte for what kind of state it is, then the name: equal for the reference and the final
// program.
static uint32_t leaf_name(struct engine *e, char kind, const char *name) {
    const char *key = arena_format(e->arena, "%c%s", kind, name);
    uint32_t size = 1;
    while (key[size])
        size++;
    return intern(&e->terms->attributes, key, size + 1, NULL);
}

// The judgement of item 0; the others differ in the layer only.
static struct judgement first_judgement(struct engine *e, buffer_id id) {
    const struct buffer *buffer = buffer_of(e, id);
    struct scaled value = {{0, 0}, SCALE_ONE};
    if (buffer->class == CLASS_INPUT && buffer->host == HOST_NONE)
        return judgement_fault(fault_make(e, E514, buffer->span, "the host does not know it",
                                          "nobody writes the input `%s`: it lacks its host role, "
                                          "as in `host tokens`",
                                          buffer->name));
    if (buffer->class == CLASS_INPUT) {
        // What the host does not know is nobody's, of whatever name.
        const char *name = buffer->host == HOST_NONE ? buffer->name : host_role_names[buffer->host];
        char kind = buffer->host == HOST_NONE ? '?' : 'i';
        value.of = term_leaf(e->terms, NODE_INPUT, leaf_name(e, kind, name), false, 0);
    } else {
        const struct tensor *tensor = &e->program->tensors[buffer->tensor];
        enum buffer_class class = buffer->class;
        if (class == CLASS_MASTER)
            class = CLASS_PARAMETERS; // one value, kept in two types
        value.of = term_leaf(e->terms, NODE_STATE, leaf_name(e, (char)('A' + class), tensor->name),
                             tensor->layers > 0, 0);
    }
    return judgement_of(e, value, form_declared(&e->digits, e->program, buffer), buffer->dtype);
}

static void find_overlaps(struct engine *e);

void initials_init(struct engine *e) {
    uint32_t n = e->program->n_buffers;
    e->initials = ARENA_ARRAY(e->arena, struct judgement, n + 1);
    e->item_bytes = ARENA_ARRAY(e->arena, int64_t, n + 1);
    e->types = ARENA_ARRAY(e->arena, struct tensor_type, n + 1);
    for (buffer_id id = 0; id < n; id++) {
        const struct buffer *buffer = buffer_of(e, id);
        e->item_bytes[id] = buffer_item_bytes(e->program, buffer);
        e->types[id] = buffer_type(e->program, buffer);
        if (buffer->window_of == NO_ID &&
            (class_persistent[buffer->class] || buffer->class == CLASS_INPUT))
            e->initials[id] = first_judgement(e, id);
    }
    find_overlaps(e);
}

struct judgement initial_judgement(const struct engine *e, buffer_id id, int64_t index) {
    struct judgement initial = e->initials[id];
    if (initial.fault)
        return initial;
    if (term_indexed(e->terms, initial.value.of))
        initial.value.of.at = (int32_t)(buffer_of(e, id)->first_layer + index);
    if (form_get(&e->digits, initial.form)->time)
        initial.microbatch = (int32_t)index;
    return initial;
}

static int64_t end_of(const struct engine *e, buffer_id id) {
    return buffer_of(e, id)->offset_bytes + buffer_of(e, id)->count * e->item_bytes[id];
}

// Buffers without an offset, windows among them, are not planned: they overlap nothing.
static bool bytes_intersect(const struct engine *e, buffer_id a, buffer_id b) {
    int64_t begin_a = buffer_of(e, a)->offset_bytes, begin_b = buffer_of(e, b)->offset_bytes;
    return begin_a >= 0 && begin_b >= 0 && begin_a < end_of(e, b) && begin_b < end_of(e, a) &&
           buffer_of(e, a)->window_of == NO_ID && buffer_of(e, b)->window_of == NO_ID;
}

static void find_overlaps(struct engine *e) {
    uint32_t n = e->program->n_buffers;
    e->overlaps = ARENA_ARRAY(e->arena, struct overlap_list, n);
    buffer_id *found = ARENA_ARRAY(e->arena, buffer_id, n);
    for (buffer_id a = 0; a < n; a++) {
        uint32_t count = 0;
        for (buffer_id b = 0; b < n; b++)
            if (a != b && bytes_intersect(e, a, b))
                found[count++] = b;
        e->overlaps[a] =
            (struct overlap_list){arena_copy(e->arena, found, count * sizeof *found), count};
    }
}

// What the host writes before the step, or the step before left.
static bool is_filled(const struct buffer *buffer) {
    return buffer->window_of == NO_ID &&
           (class_persistent[buffer->class] || buffer->class == CLASS_INPUT);
}

// Of two such buffers in the same bytes nothing says which was written last.
static void fill(struct engine *e, buffer_id id) {
    const struct overlap_list *overlaps = &e->overlaps[id];
    const struct buffer *shares = NULL;
    for (uint32_t i = 0; i < overlaps->n && !shares; i++)
        if (is_filled(buffer_of(e, overlaps->buffers[i])))
            shares = buffer_of(e, overlaps->buffers[i]);
    for (int64_t i = 0; i < buffer_of(e, id)->count; i++) {
        struct item *item = &e->store.items[e->store.first[id] + (uint32_t)i];
        item->state = shares ? ITEM_OVERWRITTEN : ITEM_READY;
        item->by = shares ? &shares->span : NULL;
        item->value = initial_judgement(e, id, i);
    }
}

void store_init(struct engine *e, const struct step *step) {
    uint32_t n = e->program->n_buffers;
    struct store *store = &e->store;
    *store = (struct store){.first = ARENA_ARRAY(e->arena, uint32_t, n + 1)};
    for (buffer_id id = 0; id < n; id++) {
        store->first[id] = store->n_items;
        if (buffer_of(e, id)->window_of == NO_ID)
            store->n_items += (uint32_t)buffer_of(e, id)->count;
    }
    store->first[n] = store->n_items;
    store->items = ARENA_ARRAY(e->arena, struct item, store->n_items + 1);
    for (buffer_id id = 0; id < n; id++)
        if (is_filled(buffer_of(e, id)))
            fill(e, id);
}

// ---- reading ----------------------------------------------------------------------------------

static const struct fault *state_fault(struct engine *e, uint32_t at, struct span span) {
    const struct item *item = &e->store.items[at];
    const char *name = item_name(e, at);
    const struct buffer *buffer = buffer_of(e, buffer_of_item(e, at));
    const struct fault *fault;
    const char *said = "here";
    switch (item->state) {
    case ITEM_IN_FLIGHT:
        fault = fault_make(e, E610, span, "nothing waits for it before this",
                           "`%s` is read while it is still on its way", name);
        fault_unawaited(fault, item->by);
        said = "the transfer starts here";
        break;
    case ITEM_WINDOW:
        fault = fault_make(e, E511, span, NULL,
                           "`%s` is read when only this device's shard of it is new", name);
        said = "the shard was written here";
        break;
    case ITEM_FREED:
        fault = fault_make(e, E611, span, NULL, "`%s` is read after it was freed", name);
        said = "freed here";
        break;
    case ITEM_OVERWRITTEN:
        fault =
            fault_make(e, E611, span, NULL, "`%s` is read after its bytes were overwritten", name);
        said = "overwritten here";
        break;
    case ITEM_CONSUMED:
        fault = fault_make(e, E611, span, NULL, "`%s` is read after a call consumed it", name);
        said = "consumed here";
        break;
    default:
        return fault_make(e, buffer->tensor == NO_ID ? E611 : E412, span, NULL,
                          "`%s` is read, but nothing was written there in this step: no call and "
                          "no collective before this has it as its target",
                          name);
    }
    if (item->by)
        fault_also(fault, *item->by, said);
    return fault;
}

// Whether `inner` is where the axes, inside `outer`, find each device's shard: outer's cut is
// inner's but for the axes, which are the last. Both lie in one buffer.
static bool windows_nest(const struct engine *e, buffer_id outer, const struct axis_list *axes,
                         buffer_id inner) {
    struct axis_list a = buffer_window_axes(e->program, buffer_of(e, outer));
    struct axis_list b = buffer_window_axes(e->program, buffer_of(e, inner));
    if (a.n + axes->n != b.n)
        return false;
    return memcmp(a.axes, b.axes, a.n) == 0 && memcmp(axes->axes, b.axes + a.n, axes->n) == 0;
}

static bool same_window(const struct engine *e, buffer_id a, buffer_id b) {
    return windows_nest(e, a, &(struct axis_list){.n = 0}, b);
}

static struct judgement read_window(struct engine *e, buffer_id window, uint32_t at,
                                    struct span span) {
    const struct item *item = &e->store.items[at];
    const struct buffer *buffer = buffer_of(e, window);
    struct axis_list axes = buffer_window_axes(e->program, buffer);
    uint32_t flat_mask = (uint32_t)axis_list_mask(&axes);
    if (item->state == ITEM_WINDOW && same_window(e, window, item->window))
        return item->value;
    if (item->state != ITEM_READY)
        return judgement_fault(state_fault(e, at, span));
    uint32_t summed = item->value.fault ? 0 : item->value.partial & flat_mask;
    if (summed)
        return judgement_fault(fault_make(
            e, E410, span, NULL,
            "`%s` is read as a part of `%s`, of which every device of %s still has its own "
            "summand: no reduction over %s comes before",
            buffer->name, buffer_of(e, buffer->window_of)->name, mask_text(e, summed),
            mask_text(e, summed)));
    int64_t chunk = e->types[window].dims[0].size;
    return slice_apply(e, &axes, -1, chunk, &item->value, span);
}

struct judgement store_read(struct engine *e, struct reference reference, struct span span) {
    const struct buffer *buffer = buffer_of(e, reference.buffer);
    if (buffer->class == CLASS_INPUT) {
        const struct item *item = &e->store.items[e->store.first[reference.buffer]];
        if (item->state != ITEM_READY)
            return judgement_fault(state_fault(e, e->store.first[reference.buffer], span));
        struct judgement value = item->value;
        if (!value.fault && form_get(&e->digits, value.form)->time)
            value.microbatch = (int32_t)index_of(e, reference);
        return value;
    }
    uint32_t at = item_of(e, reference);
    if (at == NO_ID)
        return judgement_fault(
            fault_make(e, E611, span, NULL, "`%s` has no such item", buffer->name));
    if (buffer->window_of != NO_ID)
        return read_window(e, reference.buffer, at, span);
    const struct item *item = &e->store.items[at];
    return item->state == ITEM_READY ? item->value : judgement_fault(state_fault(e, at, span));
}

struct judgement store_at_end(struct engine *e, buffer_id id, int64_t index, const char *what) {
    uint32_t at = e->store.first[id] + (uint32_t)index;
    const struct item *item = &e->store.items[at];
    if (item->state == ITEM_READY)
        return item->value;
    struct span span = item->by ? *item->by : buffer_of(e, id)->span;
    const char *why = "is lost: its bytes are used for something else";
    enum diagnostic_code code = E611;
    if (item->state == ITEM_WINDOW) {
        why = "is new in this device's shard only, and nothing gathers the others";
        code = E511;
    } else if (item->state == ITEM_IN_FLIGHT) {
        why = "is still on its way";
        code = E610;
    } else if (item->state == ITEM_EMPTY) {
        why = "was never written";
        code = E514;
    }
    const struct fault *fault =
        fault_make(e, code, span, NULL, "%s %s when the step ends", what, why);
    return judgement_fault(code == E610 ? fault_unawaited(fault, item->by) : fault);
}

// ---- writing ----------------------------------------------------------------------------------

struct bytes {
    int64_t begin, end;
};

static struct bytes bytes_of(const struct engine *e, uint32_t item) {
    buffer_id id = buffer_of_item(e, item);
    const struct buffer *buffer = buffer_of(e, id);
    int64_t stride = e->item_bytes[id];
    int64_t begin = buffer->offset_bytes + (item - e->store.first[id]) * stride;
    return (struct bytes){begin, begin + stride};
}

static bool items_overlap(const struct engine *e, uint32_t a, uint32_t b) {
    if (a == b)
        return true;
    const struct buffer *left = buffer_of(e, buffer_of_item(e, a));
    const struct buffer *right = buffer_of(e, buffer_of_item(e, b));
    if (left == right || left->offset_bytes < 0 || right->offset_bytes < 0)
        return false;
    struct bytes x = bytes_of(e, a), y = bytes_of(e, b);
    return x.begin < y.end && y.begin < x.end;
}

// The items of another buffer that share bytes with these: from `begin` to before `end`.
struct item_range {
    uint32_t begin, end;
};
static struct item_range items_in(const struct engine *e, buffer_id id, struct bytes bytes) {
    const struct buffer *buffer = buffer_of(e, id);
    int64_t stride = e->item_bytes[id];
    int64_t low = bytes.begin - buffer->offset_bytes, high = bytes.end - buffer->offset_bytes;
    if (stride == 0 || high <= 0 || low >= stride * buffer->count)
        return (struct item_range){0, 0};
    int64_t begin = low <= 0 ? 0 : low / stride, end = (high - 1) / stride + 1;
    uint32_t first = e->store.first[id];
    return (struct item_range){first + (uint32_t)begin,
                               first + (uint32_t)(end < buffer->count ? end : buffer->count)};
}

// ---- claims -----------------------------------------------------------------------------------

static bool has_claim(const struct engine *e, uint32_t item) {
    return e->store.items[item].claim == e->store.claims;
}

static bool shares_claimed_bytes(const struct engine *e, uint32_t at) {
    const struct overlap_list *overlaps = &e->overlaps[buffer_of_item(e, at)];
    if (has_claim(e, at))
        return true;
    for (uint32_t i = 0; i < overlaps->n; i++) {
        struct item_range range = items_in(e, overlaps->buffers[i], bytes_of(e, at));
        for (uint32_t item = range.begin; item < range.end; item++)
            if (has_claim(e, item))
                return true;
    }
    return false;
}

void store_begin_claims(struct engine *e) {
    e->store.claims++;
}

bool store_is_claimed(const struct engine *e, struct reference reference) {
    uint32_t at = item_of(e, reference);
    return at != NO_ID && shares_claimed_bytes(e, at);
}

bool store_claim(struct engine *e, struct reference reference) {
    uint32_t at = item_of(e, reference);
    if (at == NO_ID)
        return true; // told where it is read or written
    bool taken = shares_claimed_bytes(e, at);
    e->store.items[at].claim = e->store.claims;
    return !taken;
}

static void overwrite_item(struct engine *e, uint32_t at, const struct span *by) {
    struct item *item = &e->store.items[at];
    if (item->state == ITEM_EMPTY)
        return;
    if (item->state != ITEM_FREED && item->state != ITEM_CONSUMED) {
        item->state = ITEM_OVERWRITTEN;
        item->by = by;
    }
}

// What shares bytes with the item loses its value. Says whether a transfer needs any of it.
static bool poison_overlaps(struct engine *e, uint32_t at, const struct span *by) {
    buffer_id id = buffer_of_item(e, at);
    const struct overlap_list *overlaps = &e->overlaps[id];
    bool busy = e->store.items[at].busy > 0;
    if (overlaps->n == 0)
        return busy;
    struct bytes bytes = bytes_of(e, at);
    for (uint32_t i = 0; i < overlaps->n; i++) {
        buffer_id other = overlaps->buffers[i];
        struct item_range range = items_in(e, other, bytes);
        if (buffer_of(e, other)->class == CLASS_INPUT && range.begin < range.end)
            range.begin = e->store.first[other]; // its microbatches are read as one
        for (uint32_t item = range.begin; item < range.end; item++) {
            busy = busy || e->store.items[item].busy > 0;
            overwrite_item(e, item, by);
        }
    }
    return busy;
}

// A write to what a transfer reads or delivers spoils what it delivers.
static void disturb_flights(struct engine *e, uint32_t at, struct span span) {
    for (uint32_t f = 0; f < e->store.n_flights; f++) {
        struct flight *flight = &e->store.flights[f];
        for (uint32_t i = 0; i < flight->n_pieces; i++) {
            struct flight_piece *piece = &flight->pieces[i];
            bool source = items_overlap(e, at, piece->from);
            if (piece->value.fault || (!source && !items_overlap(e, at, piece->to)))
                continue;
            const struct fault *fault = fault_make(
                e, E610, span, NULL, "`%s` is written while a transfer still %s it",
                item_name(e, source ? piece->from : piece->to), source ? "reads" : "fills");
            fault_also(fault, flight->start->span, "the transfer starts here");
            fault_unawaited(fault, &flight->start->span);
            piece->value = judgement_fault(fault);
        }
    }
}

static void touch(struct engine *e, uint32_t at, struct span span) {
    if (poison_overlaps(e, at, &e->statement->span))
        disturb_flights(e, at, span);
}

static void note_found(struct engine *e, buffer_id id, const struct judgement *value) {
    if (!e->recording || value->fault || value->form == FORM_ANY)
        return;
    // What is written to a window lies in its whole, which is cut by fewer axes.
    struct axis_list inner = buffer_window_axes(e->program, buffer_of(e, id));
    const struct buffer *buffer = buffer_of(e, owner_of(e, id));
    struct found *found = &e->found[owner_of(e, id)];
    const struct form_info *form = form_get(&e->digits, value->form);
    found->seen = true;
    found->sharded |= form->owners & ~(uint32_t)axis_list_mask(&inner);
    for (unsigned i = 0; i < form->key->rank && i < buffer->rank; i++)
        if (buffer->dims[i].dimension == DIM_BATCH)
            found->data |= dim_get(&e->digits, form->key->dims[i])->owners;
}

void store_write(struct engine *e, struct reference reference, struct judgement value,
                 struct span span) {
    const struct buffer *buffer = buffer_of(e, reference.buffer);
    uint32_t at = item_of(e, reference);
    if (at == NO_ID) {
        fault_insist(e, fault_make(e, E611, span, NULL, "`%s` has no such item", buffer->name));
        return;
    }
    touch(e, at, span);
    struct item *item = &e->store.items[at];
    item->value = value;
    item->by = &e->statement->span;
    item->state = buffer->window_of == NO_ID ? ITEM_READY : ITEM_WINDOW;
    item->window = reference.buffer;
    if (buffer->class == CLASS_INPUT)
        e->store.items[e->store.first[reference.buffer]].state = ITEM_OVERWRITTEN;
    note_found(e, reference.buffer, &value);
}

void store_clobber(struct engine *e, struct reference reference, enum item_state state,
                   struct span span) {
    uint32_t at = item_of(e, reference);
    if (at == NO_ID)
        return;
    touch(e, at, span);
    e->store.items[at].state = state;
    e->store.items[at].by = &e->statement->span;
}

// ---- transfers --------------------------------------------------------------------------------

static struct flight *find_flight(struct engine *e, uint32_t handle, int64_t slot) {
    for (uint32_t i = 0; i < e->store.n_flights; i++)
        if (e->store.flights[i].handle == handle && e->store.flights[i].slot == slot)
            return &e->store.flights[i];
    return NULL;
}

// Items that a transfer reads or fills are busy: a write to anything else disturbs none.
static void count_busy(struct engine *e, const struct flight *flight, int by) {
    for (uint32_t i = 0; i < flight->n_pieces; i++) {
        if (flight->pieces[i].to == NO_ID)
            continue;
        e->store.items[flight->pieces[i].from].busy += by;
        e->store.items[flight->pieces[i].to].busy += by;
    }
}

// The others keep their order, which states are compared in (loop.c).
static void drop_flight(struct engine *e, struct flight *flight) {
    count_busy(e, flight, -1);
    struct flight *end = e->store.flights + --e->store.n_flights;
    memmove(flight, flight + 1, (size_t)(end - flight) * sizeof *flight);
}

// Parameters that were gathered, perhaps in strides: what the letter S* means.
static void note_gather(struct engine *e, const struct transfer *start, uint32_t from,
                        const struct judgement *value) {
    const struct buffer *source = buffer_of(e, buffer_of_item(e, from));
    if (!e->recording || value->fault || start->exchange.kind != COLLECTIVE_ALL_GATHER ||
        source->tensor == NO_ID)
        return;
    uint32_t axes = (uint32_t)axis_list_mask(&start->exchange.axes);
    if (source->class == CLASS_PARAMETERS)
        e->found[source - e->program->buffers].gathered |= axes;
    for (buffer_id id = 0; source->class == CLASS_TRANSIENT && id < e->program->n_buffers; id++) {
        const struct buffer *buffer = buffer_of(e, id);
        if (buffer->class == CLASS_PARAMETERS && buffer->tensor == source->tensor &&
            buffer->first_layer == source->first_layer)
            e->found[id].gathered |= axes;
    }
}

static struct judgement piece_value(struct engine *e, const struct statement *statement,
                                    const struct transfer_piece *piece) {
    const struct transfer *start = &statement->start;
    struct judgement from = store_read(e, piece->from, statement->span);
    const struct buffer *target = buffer_of(e, piece->to.buffer);
    bool gather = start->exchange.kind == COLLECTIVE_ALL_GATHER;
    const struct tensor_type *part = &e->types[gather ? piece->from.buffer : piece->to.buffer];
    struct judgement value =
        collective_apply(e, &start->exchange, type_elements(part), &from, statement->span);
    if (start->exchange.kind == COLLECTIVE_ALL_REDUCE &&
        item_of(e, piece->from) == item_of(e, piece->to))
        value.clean = from.clean; // in place nothing touches the padding
    if (value.fault || form_fits(&e->digits, value.form, &e->types[piece->to.buffer]))
        return value;
    return judgement_fault(fault_make(e, E510, statement->span, NULL,
                                      "what arrives in `%s` is %s, for which it has "
                                      "no room or too much",
                                      target->name, form_text(&e->digits, e->arena, value.form)));
}

// In place every device's part must be where the collective looks for it, or puts it.
static bool in_place_fits(const struct engine *e, const struct transfer *start,
                          const struct transfer_piece *piece) {
    switch (start->exchange.kind) {
    case COLLECTIVE_ALL_GATHER:
        return windows_nest(e, piece->to.buffer, &start->exchange.axes, piece->from.buffer);
    case COLLECTIVE_REDUCE_SCATTER:
        return windows_nest(e, piece->from.buffer, &start->exchange.axes, piece->to.buffer);
    case COLLECTIVE_ALL_TO_ALL:
    case COLLECTIVE_PERMUTE:
        return false; // others still read what arrives would be written over
    default:
        return same_window(e, piece->from.buffer, piece->to.buffer);
    }
}

static struct flight_piece start_piece(struct engine *e, const struct statement *statement,
                                       const struct transfer_piece *piece) {
    struct flight_piece made = {.from = item_of(e, piece->from),
                                .to = item_of(e, piece->to),
                                .from_window = buffer_of(e, piece->from.buffer)->window_of != NO_ID,
                                .to_window = buffer_of(e, piece->to.buffer)->window_of != NO_ID,
                                .value = piece_value(e, statement, piece)};
    if (made.from == NO_ID || made.to == NO_ID) {
        made.from = made.to = NO_ID;
        return made;
    }
    note_gather(e, &statement->start, made.from, &made.value);
    if (made.from == made.to ? !in_place_fits(e, &statement->start, piece)
                             : items_overlap(e, made.from, made.to))
        made.value =
            judgement_fault(fault_make(e, E610, statement->span, NULL, "`%s` and `%s` share bytes",
                                       item_name(e, made.from), item_name(e, made.to)));
    return made;
}

// The pieces travel in no order: what one fills, no other may read or fill.
static bool pieces_are_apart(struct engine *e, const struct transfer *start) {
    bool apart = true;
    store_begin_claims(e);
    for (uint32_t i = 0; i < start->n_pieces; i++)
        apart = store_claim(e, start->pieces[i].to) && apart;
    for (uint32_t i = 0; i < start->n_pieces; i++) {
        const struct transfer_piece *piece = &start->pieces[i];
        if (item_of(e, piece->from) != item_of(e, piece->to))
            apart = apart && !store_is_claimed(e, piece->from);
    }
    return apart;
}

void store_start(struct engine *e, const struct statement *statement) {
    const struct transfer *start = &statement->start;
    struct flight flight = {.handle = start->handle,
                            .slot = index_at(start->handle_index, e->variables),
                            .start = statement,
                            .n_pieces = start->n_pieces};
    struct flight *before = find_flight(e, flight.handle, flight.slot);
    if (before) {
        const struct fault *fault = fault_make(
            e, E612, statement->span, NULL, "`%s` is started again before anything waited for it",
            e->step->handles[start->handle].name);
        fault_also(fault, before->start->span, "started here");
        fault_insist(e, fault_unawaited(fault, &before->start->span));
        drop_flight(e, before);
    }
    flight.pieces = ARENA_ARRAY(e->arena, struct flight_piece, start->n_pieces);
    const struct fault *mixed =
        pieces_are_apart(e, start)
            ? NULL
            : fault_make(e, E610, statement->span, NULL,
                         "two pieces of this collective share bytes, of which one is filled");
    for (uint32_t i = 0; i < start->n_pieces; i++) {
        flight.pieces[i] = start_piece(e, statement, &start->pieces[i]);
        if (mixed)
            flight.pieces[i].value = judgement_fault(mixed);
    }
    for (uint32_t i = 0; i < start->n_pieces; i++) {
        uint32_t to = flight.pieces[i].to;
        if (to == NO_ID)
            continue;
        touch(e, to, statement->span);
        e->store.items[to].state = ITEM_IN_FLIGHT;
        e->store.items[to].by = &statement->span;
    }
    count_busy(e, &flight, 1);
    ARENA_PUSH(e->arena, e->store.flights, e->store.n_flights, e->store.cap_flights, flight);
}

void store_wait(struct engine *e, const struct statement *statement) {
    int64_t slot = index_at(statement->wait.index, e->variables);
    struct flight *flight = find_flight(e, statement->wait.handle, slot);
    if (!flight) {
        fault_insist(e, fault_make(e, E612, statement->span, NULL,
                                   "this waits for `%s`, of which nothing is on its way",
                                   e->step->handles[statement->wait.handle].name));
        return;
    }
    for (uint32_t i = 0; i < flight->n_pieces; i++) {
        const struct flight_piece *piece = &flight->pieces[i];
        const struct transfer_piece *names = &flight->start->start.pieces[i];
        if (piece->to == NO_ID)
            continue;
        struct item *item = &e->store.items[piece->to];
        item->value = piece->value;
        item->state = piece->to_window ? ITEM_WINDOW : ITEM_READY;
        item->window = names->to.buffer;
        item->by = &flight->start->span;
        note_found(e, names->to.buffer, &piece->value);
    }
    drop_flight(e, flight);
}
