// What statements read from the abstract store and write to it; see store.h. The state of an item
// is what was last done to it, unless somebody else has taken its bytes since (bytes.c).
//
// A window is the device's own shard of a buffer: after writing it the whole is neither old nor new
// until it has been gathered.
#include "verify/machine/engine.h"

#include <inttypes.h>
#include <string.h>

static const struct buffer *buffer_of(const struct engine *e, buffer_id id) {
    return &e->program->buffers[id];
}

// ---- places -----------------------------------------------------------------------------------

int32_t number_of(struct engine *e, struct index index) {
    int32_t variable = index.variable >= 0 ? e->variables[index.variable] : 0;
    if (!index.modulus)
        return variable + (int32_t)index.offset;
    return number_modulo(&e->terms->symbols, variable + (int32_t)(index.offset % index.modulus),
                         index.modulus);
}

buffer_id owner_of(const struct engine *e, buffer_id id) {
    buffer_id whole = buffer_of(e, id)->window_of;
    return whole == NO_ID ? id : whole;
}

struct place place_of(struct engine *e, struct reference reference) {
    return (struct place){owner_of(e, reference.buffer), number_of(e, reference.index)};
}

const char *place_name(const struct engine *e, struct place place) {
    const struct buffer *buffer = buffer_of(e, place.buffer);
    if (buffer->stack == STACK_NONE)
        return buffer->name;
    return arena_format(e->arena, "%s[%" PRId64 "]", buffer->name,
                        number_first(&e->terms->symbols, place.item));
}

// ---- the state at the beginning ---------------------------------------------------------------

// A byte for what kind of state it is, then the name: equal for the reference and the final
// program.
static uint32_t leaf_name(struct engine *e, char kind, const char *name) {
    const char *key = arena_format(e->arena, "%c%s", kind, name);
    return intern(&e->terms->attributes, key, (uint32_t)strlen(key) + 1, NULL);
}

static struct term state_leaf(struct engine *e, const struct buffer *of, enum buffer_class class,
                              int32_t layer) {
    const struct tensor *tensor = &e->program->tensors[of->tensor];
    uint32_t name = leaf_name(e, (char)('A' + class), tensor->name);
    return term_leaf(e->terms, NODE_STATE, name, tensor->layers > 0, layer);
}

static struct term host_leaf(struct engine *e, enum host_role role, int32_t item) {
    // Each item has its own layer's or microbatch's number.
    bool indexed = role == HOST_LAYER || role == HOST_MICROBATCH;
    return term_leaf(e->terms, NODE_INPUT, leaf_name(e, 'i', host_role_names[role]), indexed,
                     indexed ? item : 0);
}

bool store_is_host(struct engine *e, struct term term, enum host_role role) {
    return term_kind(e->terms, term) == NODE_INPUT && // this saves time: no other is equal
           term_equal(term, host_leaf(e, role, term.at));
}

// The judgement of item 0.
static struct judgement first_judgement(struct engine *e, buffer_id id) {
    const struct buffer *buffer = buffer_of(e, id);
    struct scaled value = {{0, 0}, SCALE_ONE};
    if (buffer->class == CLASS_INPUT && buffer->host == HOST_NONE)
        return judgement_fault(fault_make(e, E514, buffer->span, "the host does not know it",
                                          "nobody writes the input `%s`: it lacks its host role, "
                                          "as in `host tokens`",
                                          buffer->name));
    if (buffer->class == CLASS_INPUT) {
        value.of = host_leaf(e, buffer->host, (int32_t)buffer->first_layer);
    } else {
        enum buffer_class class = buffer->class;
        if (class == CLASS_MASTER)
            class = CLASS_PARAMETERS; // one value, kept in two types
        value.of = state_leaf(e, buffer, class, (int32_t)buffer->first_layer);
    }
    form_id form = form_declared(&e->digits, e->program, buffer);
    const struct fault *fault = ordered_check_filled(e, buffer, form);
    if (fault)
        return judgement_fault(fault);
    struct judgement made = judgement_of(e, value, form, buffer->dtype);
    if (buffer->class == CLASS_RESIDUAL)
        codes_begin(e, &made);
    return made;
}

// What the host writes before the step, or the step before left. Of a window nobody asks: it is
// read and written as a part of its whole.
static bool is_filled(const struct buffer *buffer) {
    return class_persistent[buffer->class] || buffer->class == CLASS_INPUT;
}

void initials_init(struct engine *e) {
    uint32_t n = e->program->n_buffers;
    e->initials = ARENA_ARRAY(e->arena, struct held, n + 1);
    e->item_bytes = ARENA_ARRAY(e->arena, int64_t, n + 1);
    e->types = ARENA_ARRAY(e->arena, struct tensor_type, n + 1);
    for (buffer_id id = 0; id < n; id++) {
        const struct buffer *buffer = buffer_of(e, id);
        e->item_bytes[id] = buffer_item_bytes(e->program, buffer);
        e->types[id] = buffer_type(e->program, buffer);
        if (!is_filled(buffer))
            continue;
        struct held *held = &e->initials[id];
        held->value = first_judgement(e, id);
        if (held->value.fault)
            continue;
        bool layers = term_indexed(e->terms, held->value.value.of);
        bool microbatches = form_get(&e->digits, held->value.form)->time;
        held->moves = (uint8_t)(layers << HELD_LAYER | microbatches << HELD_MICROBATCH);
    }
    regions_init(e);
}

// From one item to the next a layer's number may grow by more than the items' do.
static int32_t layers_skipped(const struct buffer *buffer) {
    return (int32_t)buffer_layer_step(buffer) - 1;
}

struct run initial_run(const struct engine *e, buffer_id id) {
    const struct buffer *buffer = buffer_of(e, id);
    return (struct run){.end = (int32_t)buffer->count,
                        .state = ITEM_READY,
                        .held = &e->initials[id],
                        .n_held = 1,
                        .skipped = layers_skipped(buffer)};
}

struct term store_leaf(struct engine *e, struct reference from, enum buffer_class class) {
    const struct buffer *buffer = buffer_of(e, from.buffer);
    int32_t distance = number_times(&e->terms->symbols, number_of(e, from.index),
                                    (int32_t)buffer_layer_step(buffer));
    return state_leaf(e, buffer, class, (int32_t)buffer->first_layer + distance);
}

struct judgement initial_judgement(struct engine *e, buffer_id id, int64_t item) {
    struct run run = initial_run(e, id);
    return run_held(e, &run, 0, (int32_t)item).value;
}

// Another one that is filled too and has some of the bytes. Nothing says which was last.
static const struct buffer *filled_with(const struct engine *e, buffer_id id) {
    if (e->region_of[id] == NO_ID) // it shares none
        return NULL;
    for (buffer_id i = 0; i < e->program->n_buffers; i++)
        if (i != id && is_filled(buffer_of(e, i)) && buffers_meet(e, i, id))
            return buffer_of(e, i);
    return NULL;
}

static void fill(struct engine *e, buffer_id id) {
    struct series *series = &e->store.items[id];
    int32_t count = (int32_t)buffer_of(e, id)->count;
    const struct buffer *other = filled_with(e, id);
    if (other) {
        series->runs[0] = (struct run){.end = count, .state = ITEM_OVERWRITTEN, .by = &other->span};
        return;
    }
    series->runs[0] = initial_run(e, id);
    bytes_take(e, id, 0, count, &buffer_of(e, id)->span);
    note_found(e, id, &e->initials[id].value); // what is frozen is never written
}

static struct series *series_new(struct engine *e, uint32_t n) {
    struct series *all = ARENA_ARRAY(e->arena, struct series, n + 1);
    struct run *runs = ARENA_ARRAY(e->arena, struct run, n + 1);
    for (uint32_t i = 0; i < n; i++)
        all[i] = (struct series){.runs = &runs[i], .n = 1, .cap = 1};
    return all;
}

void store_init(struct engine *e, const struct step *step) {
    uint32_t n = e->program->n_buffers;
    e->store = (struct store){.items = series_new(e, n),
                              .flights = series_new(e, step->n_handles),
                              .n_handles = step->n_handles};
    flights_init(e, step);
    regions_clear(e);
    for (buffer_id id = 0; id < n; id++) {
        e->store.items[id].runs[0] =
            (struct run){.end = (int32_t)buffer_of(e, id)->count, .state = ITEM_EMPTY};
    }
    for (buffer_id id = 0; id < n; id++)
        if (is_filled(buffer_of(e, id)))
            fill(e, id);
    for (uint32_t i = 0; i < step->n_handles; i++)
        e->store.flights[i].runs[0] =
            (struct run){.end = (int32_t)step->handles[i].slots, .state = ITEM_EMPTY};
}

// ---- reading ----------------------------------------------------------------------------------

// The buffer whose declaration that is; NO_ID: none.
static buffer_id buffer_at(const struct engine *e, const struct span *span) {
    for (buffer_id i = 0; i < e->program->n_buffers; i++)
        if (span == &buffer_of(e, i)->span)
            return i;
    return NO_ID;
}

struct look { // at an item
    const struct run *run;
    enum item_state state;
    const struct span *by;
    buffer_id taker; // OVERWRITTEN: who has the bytes, if that is another one
};

static struct look look_at(struct engine *e, struct place place) {
    const struct run *run = series_find(e, &e->store.items[place.buffer], place.item);
    struct look look = {run, run->state, run->by, place.buffer};
    if (run->state != ITEM_READY && run->state != ITEM_WINDOW && run->state != ITEM_IN_FLIGHT)
        return look;
    const struct stretch *lost = bytes_lost(e, place.buffer, place.item, place.item + 1);
    if (lost) {
        look.state = ITEM_OVERWRITTEN;
        look.by = lost->by;
        look.taker = lost->owner;
    }
    return look;
}

static struct fault *never_fault(struct fault *fault, buffer_id buffer) {
    fault->is_never = true;
    fault->never = buffer;
    return fault;
}

static const struct fault *filled_fault(struct engine *e, struct place place, buffer_id other) {
    bool theirs = plan_misplaced(e, place.buffer, other) == other;
    struct span both[] = {buffer_of(e, place.buffer)->span, buffer_of(e, other)->span};
    struct fault *fault = fault_make(e, E611, both[theirs], NULL,
                                     "`%s` shares bytes with another buffer that is filled before "
                                     "the step, and is read",
                                     place_name(e, place));
    fault_also(fault, both[!theirs], theirs ? "read" : "the other");
    return fault;
}

static const struct fault *overwritten_fault(struct engine *e, struct place place, struct look look,
                                             struct span span) {
    buffer_id misplaced = look.taker == NO_ID ? NO_ID : plan_misplaced(e, place.buffer, look.taker);
    struct span at = misplaced == NO_ID ? span : buffer_of(e, misplaced)->span;
    struct fault *fault = fault_make(
        e, E611, at, NULL, "`%s` is read after its bytes were overwritten", place_name(e, place));
    if (misplaced != NO_ID)
        fault_also(fault, span, "read here");
    else if (look.by)
        fault_also(fault, *look.by, "overwritten here");
    return fault;
}

static const struct fault *state_fault(struct engine *e, struct place place, struct look look,
                                       struct span span) {
    const char *name = place_name(e, place);
    const struct buffer *buffer = buffer_of(e, place.buffer);
    struct fault *fault;
    const char *said = "here";
    switch (look.state) {
    case ITEM_IN_FLIGHT:
        fault = fault_make(e, E610, span, "nothing waits for it before this",
                           "`%s` is read while it is still on its way", name);
        fault_caused_by(fault, look.by);
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
        if (look.run->state == ITEM_OVERWRITTEN && is_filled(buffer) &&
            buffer_at(e, look.by) != NO_ID)
            return filled_fault(e, place, buffer_at(e, look.by));
        return overwritten_fault(e, place, look, span);
    case ITEM_CONSUMED:
        fault = fault_make(e, E611, span, NULL, "`%s` is read after a call consumed it", name);
        said = "consumed here";
        break;
    default:
        return never_fault(
            fault_make(e, buffer->tensor == NO_ID ? E611 : E412, span, NULL,
                       "`%s` is read, but nothing was written there in this step: no call and "
                       "no collective before this has it as its target",
                       name),
            place.buffer);
    }
    if (look.by)
        fault_also(fault, *look.by, said);
    return fault;
}

// Outer's cut is inner's but for the axes, which are the last, and every part of inner lies where a
// collective over these has it in outer's part: with no padding between, unless outer is the whole.
// Both lie in one buffer.
bool windows_nest(const struct engine *e, buffer_id outer, const struct axis_list *axes,
                  buffer_id inner) {
    struct axis_list a = buffer_window_axes(e->program, buffer_of(e, outer));
    struct axis_list b = buffer_window_axes(e->program, buffer_of(e, inner));
    if (a.n + axes->n != b.n)
        return false;
    int64_t parts = mesh_group_size(&e->program->mesh, axes);
    bool fills = mesh_group_size(&e->program->mesh, &a) == 1 ||
                 e->types[outer].dims[0].size == parts * e->types[inner].dims[0].size;
    return fills && memcmp(a.axes, b.axes, a.n) == 0 &&
           memcmp(axes->axes, b.axes + a.n, axes->n) == 0;
}

static struct judgement read_window(struct engine *e, buffer_id window, struct place place,
                                    struct look look, struct span span) {
    static const struct axis_list none;
    const struct buffer *buffer = buffer_of(e, window);
    struct axis_list axes = buffer_window_axes(e->program, buffer);
    uint32_t flat_mask = (uint32_t)axis_list_mask(&axes);
    bool mine = look.state == ITEM_WINDOW && windows_nest(e, window, &none, look.run->window);
    if (!mine && look.state != ITEM_READY)
        return judgement_fault(state_fault(e, place, look, span));
    struct judgement value = run_held(e, look.run, 0, place.item).value;
    if (mine)
        return value;
    uint32_t summed = value.fault ? 0 : value.partial & flat_mask;
    if (summed)
        return judgement_fault(fault_make(
            e, E410, span, NULL,
            "`%s` is read as a part of `%s`, of which every device of %s still has its own "
            "summand: no reduction over %s comes before",
            buffer->name, buffer_of(e, buffer->window_of)->name, mask_text(e, summed),
            mask_text(e, summed)));
    int64_t chunk = e->types[window].dims[0].size;
    history_begin(e, NULL, NULL, span, &value, 1);
    value = slice_apply(e, &axes, -1, chunk, &value, span);
    history_made(e, &value, buffer->name);
    history_end(e);
    return value;
}

struct judgement store_read(struct engine *e, struct reference reference, struct span span) {
    struct place place = place_of(e, reference);
    struct look look = look_at(e, place);
    if (place.buffer != reference.buffer)
        return read_window(e, reference.buffer, place, look, span);
    if (look.state != ITEM_READY)
        return judgement_fault(state_fault(e, place, look, span));
    return run_held(e, look.run, 0, place.item).value;
}

bool store_holds(struct engine *e, buffer_id id, int64_t item, struct judgement *value) {
    struct look look = look_at(e, (struct place){id, (int32_t)item});
    if (look.state == ITEM_READY)
        *value = run_held(e, look.run, 0, (int32_t)item).value;
    return look.state == ITEM_READY;
}

struct judgement store_at_end(struct engine *e, buffer_id id, int64_t item, const char *what) {
    struct judgement value;
    if (store_holds(e, id, item, &value))
        return value;
    struct look look = look_at(e, (struct place){id, (int32_t)item});
    struct span whole = buffer_of(e, id)->span, span = look.by ? *look.by : whole;
    const char *why = "is lost: its bytes are used for something else";
    enum diagnostic_code code = E611;
    if (look.state == ITEM_WINDOW) {
        why = "is new in this device's shard only, and nothing gathers the others";
        code = E511;
        span = whole;
    } else if (look.state == ITEM_IN_FLIGHT) {
        why = "is still on its way";
        code = E610;
    } else if (look.state == ITEM_EMPTY) {
        why = "was never written";
        code = E514;
    }
    struct fault *fault = fault_make(e, code, span, NULL, "%s %s when the step ends", what, why);
    if (look.state == ITEM_WINDOW)
        fault_also(fault, *look.by, "the shard was written here");
    bool once = look.state == ITEM_WINDOW || look.state == ITEM_IN_FLIGHT;
    return judgement_fault(once ? fault_caused_by(fault, look.by) : fault);
}

// ---- writing ----------------------------------------------------------------------------------

void store_set(struct engine *e, struct place place, struct run content) {
    content.begin = place.item;
    content.end = place.item + 1;
    series_put(e, &e->store.items[place.buffer], content);
}

const struct fault *store_touch(struct engine *e, struct place place, struct span span) {
    bytes_take(e, place.buffer, place.item, place.item + 1, &e->statement->span);
    return disturb_flights(e, place, span);
}

void note_found(struct engine *e, buffer_id id, const struct judgement *value) {
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
    struct place place = place_of(e, reference);
    const struct fault *spoilt = store_touch(e, place, span);
    struct held held = {.value = spoilt ? judgement_fault(spoilt) : value};
    bool window = place.buffer != reference.buffer;
    store_set(e, place,
              (struct run){.state = window ? ITEM_WINDOW : ITEM_READY,
                           .window = window ? reference.buffer : 0,
                           .by = &e->statement->span,
                           .held = &held,
                           .n_held = 1});
    note_found(e, reference.buffer, &held.value);
}

void store_clobber(struct engine *e, struct reference reference, enum item_state state,
                   struct span span) {
    struct place place = place_of(e, reference);
    store_touch(e, place, span);
    store_set(e, place, (struct run){.state = state, .by = &e->statement->span});
}

// ---- claims -----------------------------------------------------------------------------------

void store_begin_claims(struct engine *e) {
    e->store.n_claims = 0;
}

static bool is_claimed(struct engine *e, struct place place) {
    for (uint32_t i = 0; i < e->store.n_claims; i++)
        if (bytes_intersect(e, place, e->store.claims[i])) {
            e->store.met[0] = place;
            e->store.met[1] = e->store.claims[i];
            return true;
        }
    return false;
}

const struct fault *store_plan_fault(struct engine *e, enum diagnostic_code code, const char *user,
                                     struct span span) {
    struct place a = e->store.met[0], b = e->store.met[1];
    if (a.buffer == b.buffer)
        return NULL;
    if (plan_misplaced(e, a.buffer, b.buffer) == b.buffer) {
        a = e->store.met[1];
        b = e->store.met[0];
    }
    struct fault *fault =
        fault_make(e, code, buffer_of(e, a.buffer)->span, NULL,
                   "`%s` and `%s` share bytes, and %s needs both at once, of which it writes one",
                   place_name(e, a), place_name(e, b), user);
    fault_also(fault, span, "here");
    return fault;
}

bool store_is_claimed(struct engine *e, struct reference reference) {
    return is_claimed(e, place_of(e, reference));
}

bool store_claim(struct engine *e, struct reference reference) {
    struct place place = place_of(e, reference);
    bool taken = is_claimed(e, place);
    ARENA_PUSH(e->arena, e->store.claims, e->store.n_claims, e->store.cap_claims, place);
    return !taken;
}
