// What statements read from the abstract store and write to it; see store.h. The state of an item
// is what was last done to it, unless somebody else has taken its bytes since (bytes.c).
//
// A window is the device's own shard of a buffer: after writing it the whole is neither old nor new
// until it has been gathered.
#include "verify/algebra/attributes.h"
#include "verify/algebra/facts.h"
#include "verify/algebra/given.h"
#include "verify/machine/engine.h"

#include <inttypes.h>
#include <string.h>

static const struct buffer *buffer_of(const struct engine *e, buffer_id id) {
    return &e->program->buffers[id];
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

// ---- history ----------------------------------------------------------------------------------

void store_note_place(struct engine *e, struct reference to, const struct judgement *made) {
    struct place place = place_of(e, to);
    struct judgement old;
    struct placed as = {.kept = buffer_of(e, place.buffer)->stack == STACK_LAYERS};
    as.misfit = made->form != FORM_ANY &&
                form_at_a_time(&e->digits, made->form) != form_declared(e, buffer_of(e, to.buffer));
    history_place(e, made, as, store_holds(e, place.buffer, place.item, &old) ? &old : NULL);
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
