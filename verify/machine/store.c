// What statements read from the abstract store and write to it; see store.h. The state of an item
// is what was last done to it, unless somebody else has taken its bytes since (bytes.c).
//
// A window is the device's own shard of a buffer: after writing it the whole is neither old nor new
// until it has been gathered. What lies in it, cut by more axes, may be read as a part of it.
#include "verify/machine/machine.h"

#include <inttypes.h>
#include <string.h>

#include "verify/machine/repeat.h"
#include "verify/rules/rules.h"

static const struct buffer *buffer_of(const struct program *program, buffer_id id) {
    return &program->buffers[id];
}

// ---- reading ----------------------------------------------------------------------------------

// The buffer whose declaration that is; NO_ID: none.
static buffer_id buffer_at(const struct program *program, const struct span *span) {
    for (buffer_id i = 0; i < program->n_buffers; i++)
        if (span == &buffer_of(program, i)->span)
            return i;
    return NO_ID;
}

struct look { // at an item
    const struct run *run;
    enum item_state state;
    const struct span *by;
    buffer_id taker; // OVERWRITTEN: who has the bytes, if that is another one
};

static struct look look_at(struct abstract_machine *m, struct place place) {
    const struct run *run = series_find(m->world, &m->store.items[place.buffer], place.item);
    struct look look = {run, run->state, run->by, place.buffer};
    if (run->state != ITEM_READY && run->state != ITEM_WINDOW && run->state != ITEM_IN_FLIGHT)
        return look;
    const struct stretch *lost = bytes_lost(m, place.buffer, place.item, place.item + 1);
    if (lost) {
        look.state = ITEM_OVERWRITTEN;
        look.by = lost->by;
        look.taker = lost->owner;
    }
    return look;
}

static struct fault *never_fault(const struct abstract_machine *m, struct fault *fault,
                                 buffer_id buffer) {
    fault->is_never = true;
    fault->program = m->program;
    fault->never = buffer;
    return fault;
}

static const struct fault *filled_fault(struct abstract_machine *m, struct place place,
                                        buffer_id other) {
    bool theirs = plan_misplaced(m, place.buffer, other) == other;
    struct span both[] = {buffer_of(m->program, place.buffer)->span,
                          buffer_of(m->program, other)->span};
    struct fault *fault = fault_make(m->proof, E611, both[theirs], NULL,
                                     "`%s` shares bytes with another buffer that is filled before "
                                     "the step, and is read",
                                     place_name(m, place));
    fault_also(fault, both[!theirs], theirs ? "read" : "the other");
    return fault;
}

// Why what is there, or was, has no meaning; NULL: it has one.
static const struct fault *held_fault(const struct run *run) {
    return run->state == ITEM_READY ? run->held[0].value.fault : NULL;
}

// Why what took the bytes has no meaning.
static const struct fault *taker_fault(const struct abstract_machine *m, struct look look) {
    const struct fault *fault = NULL;
    const struct series *items = look.taker == NO_ID ? NULL : &m->store.items[look.taker];
    for (uint32_t i = 0; items && i < items->n; i++)
        if (items->runs[i].by == look.by)
            fault = fault_first(fault, held_fault(&items->runs[i]));
    return fault;
}

// A call that comes before what it reads is there writes where something else still is, and what it
// writes is lost: its own fault is the cause of both.
static const struct fault *overwritten_fault(struct abstract_machine *m, struct place place,
                                             struct look look, struct span span) {
    const struct fault *cause = fault_first(held_fault(look.run), taker_fault(m, look));
    if (cause)
        return cause;
    buffer_id misplaced = look.taker == NO_ID ? NO_ID : plan_misplaced(m, place.buffer, look.taker);
    struct span at = misplaced == NO_ID ? span : buffer_of(m->program, misplaced)->span;
    struct fault *fault =
        fault_make(m->proof, E611, at, NULL, "`%s` is read after its bytes were overwritten",
                   place_name(m, place));
    if (misplaced != NO_ID)
        fault_also(fault, span, "read here");
    else if (look.by)
        fault_also(fault, *look.by, "overwritten here");
    return fault;
}

static const struct fault *state_fault(struct abstract_machine *m, struct place place,
                                       struct look look, struct span span) {
    const char *name = place_name(m, place);
    const struct buffer *buffer = buffer_of(m->program, place.buffer);
    struct fault *fault;
    const char *said = "here";
    switch (look.state) {
    case ITEM_IN_FLIGHT:
        fault = fault_make(m->proof, E610, span, "nothing waits for it before this",
                           "`%s` is read while it is still on its way", name);
        fault_caused_by(fault, look.by);
        said = "the transfer starts here";
        break;
    case ITEM_WINDOW:
        fault = fault_make(m->proof, E511, span, NULL,
                           "`%s` is read when only this device's shard of it is new", name);
        said = "the shard was written here";
        break;
    case ITEM_FREED:
        fault = fault_make(m->proof, E611, span, NULL, "`%s` is read after it was freed", name);
        said = "freed here";
        break;
    case ITEM_OVERWRITTEN:
        if (look.run->state == ITEM_OVERWRITTEN && is_filled(buffer) &&
            buffer_at(m->program, look.by) != NO_ID)
            return filled_fault(m, place, buffer_at(m->program, look.by));
        return overwritten_fault(m, place, look, span);
    case ITEM_CONSUMED:
        fault =
            fault_make(m->proof, E611, span, NULL, "`%s` is read after a call consumed it", name);
        said = "consumed here";
        break;
    default:
        return never_fault(
            m,
            fault_make(m->proof, buffer->tensor == NO_ID ? E611 : E412, span, NULL,
                       "`%s` is read, but nothing was written there in this step: no call and "
                       "no collective before this has it as its target",
                       name),
            place.buffer);
    }
    if (look.by)
        fault_also(fault, *look.by, said);
    return fault;
}

// Windows of one whole and its owners are one.
static bool same_owners(const struct abstract_machine *m, buffer_id a, buffer_id b) {
    return axis_list_equal(&buffer_of(m->program, a)->layout.owners,
                           &buffer_of(m->program, b)->layout.owners);
}

// Outer's cut is inner's but for the axes, which are the last, and every part of inner lies where a
// collective over these has it in outer's part: with no padding between, unless outer is the whole.
// Both lie in one buffer.
bool windows_nest(const struct abstract_machine *m, buffer_id outer, const struct axis_list *axes,
                  buffer_id inner) {
    struct axis_list a = buffer_window_axes(m->program, buffer_of(m->program, outer));
    struct axis_list b = buffer_window_axes(m->program, buffer_of(m->program, inner));
    if (a.n + axes->n != b.n)
        return false;
    int64_t parts = mesh_group_size(&m->program->job->mesh, axes);
    bool fills = mesh_group_size(&m->program->job->mesh, &a) == 1 ||
                 m->types[outer].dims[0].size == parts * m->types[inner].dims[0].size;
    return fills && memcmp(a.axes, b.axes, a.n) == 0 &&
           memcmp(axes->axes, b.axes + a.n, axes->n) == 0;
}

// The axes by which the window is cut beyond what the item holds: the whole, or another window in which
// it lies. False: it holds neither.
static bool axes_beyond_held(const struct abstract_machine *m, buffer_id window, struct look look,
                             struct axis_list *axes) {
    *axes = buffer_window_axes(m->program, buffer_of(m->program, window));
    if (look.state != ITEM_WINDOW)
        return look.state == ITEM_READY;
    struct axis_list held = buffer_window_axes(m->program, buffer_of(m->program, look.run->window));
    *axes = axis_list_without(axes, &held);
    return same_owners(m, look.run->window, window) &&
           windows_nest(m, look.run->window, axes, window);
}

static struct judgement read_window(struct abstract_machine *m, buffer_id window,
                                    struct place place, struct look look, struct span span) {
    const struct buffer *buffer = buffer_of(m->program, window);
    struct axis_list axes;
    if (!axes_beyond_held(m, window, look, &axes))
        return judgement_fault(state_fault(m, place, look, span));
    struct judgement value = run_held(m->world, look.run, 0, place.item).value;
    if (look.state == ITEM_WINDOW && axes.n == 0) // the item holds just that window
        return value;
    uint32_t lost = (uint32_t)(axis_list_mask(&axes) | axis_list_mask(&buffer->layout.owners));
    uint32_t summed = value.fault ? 0 : value.partial & lost;
    if (summed)
        return judgement_fault(fault_make(
            m->proof, E410, span, NULL,
            "`%s` is read as a part of `%s`, of which every device of %s still has its own "
            "summand: no reduction over %s comes before",
            buffer->name, buffer_of(m->program, buffer->window_of)->name,
            mask_text(m->world, summed), mask_text(m->world, summed)));
    if (axes.n == 0) // the owner has all of it
        return value;
    int64_t chunk = m->types[window].dims[0].size;
    history_begin(m->proof, NULL, NULL, span, &value, 1);
    value = slice_apply(m->proof, &axes, -1, chunk, &value, span);
    history_made(m->proof, &value, buffer->name);
    history_end(m->proof);
    return value;
}

static struct judgement read_at(struct abstract_machine *m, struct reference reference,
                                struct span span) {
    struct place place = place_of(m, reference);
    struct look look = look_at(m, place);
    if (place.buffer != reference.buffer)
        return read_window(m, reference.buffer, place, look, span);
    if (look.state != ITEM_READY)
        return judgement_fault(state_fault(m, place, look, span));
    return run_held(m->world, look.run, 0, place.item).value;
}

struct judgement store_read(struct abstract_machine *m, struct reference reference,
                            struct span span) {
    struct judgement value = read_at(m, reference, span);
    if (m->repetition)
        repetition_note_read(m, &value);
    return value;
}

bool store_holds(struct abstract_machine *m, buffer_id id, int64_t item, struct judgement *value) {
    struct look look = look_at(m, (struct place){id, (int32_t)item});
    if (look.state == ITEM_READY)
        *value = run_held(m->world, look.run, 0, (int32_t)item).value;
    return look.state == ITEM_READY;
}

struct judgement store_at_end(struct abstract_machine *m, buffer_id id, int64_t item,
                              const char *what) {
    struct judgement value;
    if (store_holds(m, id, item, &value))
        return value;
    struct look look = look_at(m, (struct place){id, (int32_t)item});
    struct span whole = buffer_of(m->program, id)->span, span = look.by ? *look.by : whole;
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
    struct fault *fault =
        fault_make(m->proof, code, span, NULL, "%s %s when the step ends", what, why);
    if (look.state == ITEM_WINDOW)
        fault_also(fault, *look.by, "the shard was written here");
    bool once = look.state == ITEM_WINDOW || look.state == ITEM_IN_FLIGHT;
    return judgement_fault(once ? fault_caused_by(fault, look.by) : fault);
}

// ---- writing ----------------------------------------------------------------------------------

void store_set(struct abstract_machine *m, struct place place, struct run content) {
    content.begin = place.item;
    content.end = place.item + 1;
    series_put(m->world, &m->store.items[place.buffer], content);
}

const struct fault *store_touch(struct abstract_machine *m, struct place place, struct span span) {
    bytes_take(m, place.buffer, place.item, place.item + 1, &m->cursor->statement->span);
    return disturb_flights(m, place, span);
}

padding_id store_padding(struct abstract_machine *m, struct place place) {
    struct look look = look_at(m, place);
    if (look.state != ITEM_READY && look.state != ITEM_WINDOW)
        return PADDING_ANY;
    struct held held = run_held(m->world, look.run, 0, place.item);
    if (held.value.fault)
        return PADDING_ANY;
    return look.state == ITEM_READY ? held.value.padding
                                    : padding_both(held.behind, held.value.padding);
}

void store_write(struct abstract_machine *m, struct reference reference, struct judgement value,
                 struct span span) {
    struct place place = place_of(m, reference);
    padding_id behind = store_padding(m, place);
    const struct fault *spoilt = store_touch(m, place, span);
    bool window = place.buffer != reference.buffer;
    struct held held = {.value = spoilt ? judgement_fault(spoilt) : value,
                        .behind = window ? behind : PADDING_ANY};
    store_set(m, place,
              (struct run){.state = window ? ITEM_WINDOW : ITEM_READY,
                           .window = window ? reference.buffer : 0,
                           .by = &m->cursor->statement->span,
                           .held = &held,
                           .n_held = 1});
    note_found(m, reference.buffer, &held.value);
}

void store_clobber(struct abstract_machine *m, struct reference reference, enum item_state state,
                   struct span span) {
    struct place place = place_of(m, reference);
    store_touch(m, place, span);
    store_set(m, place, (struct run){.state = state, .by = &m->cursor->statement->span});
}

// ---- history ----------------------------------------------------------------------------------

void store_note_place(struct abstract_machine *m, buffer_id to, struct place place,
                      const struct judgement *made) {
    struct judgement old;
    struct placed as = {.kept = buffer_stack(buffer_of(m->program, place.buffer), STACK_LAYERS)};
    as.misfit = made->form != FORM_ANY && form_at_a_time(&m->world->digits, made->form) !=
                                              form_declared(m, buffer_of(m->program, to));
    history_place(m->proof, made, as, store_holds(m, place.buffer, place.item, &old) ? &old : NULL);
}

// ---- claims -----------------------------------------------------------------------------------

void store_begin_claims(struct abstract_machine *m) {
    m->store.n_claims = 0;
}

static bool is_claimed(struct abstract_machine *m, struct place place) {
    for (uint32_t i = 0; i < m->store.n_claims; i++) {
        struct place claimed = m->store.claims[i];
        // This saves time: most have no bytes in common with any other.
        if (place.buffer != claimed.buffer && !share_region(m, place.buffer, claimed.buffer))
            continue;
        if (bytes_intersect(m, place, claimed)) {
            m->store.met[0] = place;
            m->store.met[1] = claimed;
            return true;
        }
    }
    return false;
}

const struct fault *store_plan_fault(struct abstract_machine *m, enum diagnostic_code code,
                                     const char *user, struct span span) {
    struct place a = m->store.met[0], b = m->store.met[1];
    if (a.buffer == b.buffer)
        return NULL;
    if (plan_misplaced(m, a.buffer, b.buffer) == b.buffer) {
        a = m->store.met[1];
        b = m->store.met[0];
    }
    struct fault *fault =
        fault_make(m->proof, code, buffer_of(m->program, a.buffer)->span, NULL,
                   "`%s` and `%s` share bytes, and %s needs both at once, of which it writes one",
                   place_name(m, a), place_name(m, b), user);
    fault_also(fault, span, "here");
    return fault;
}

bool store_is_claimed(struct abstract_machine *m, struct reference reference) {
    return is_claimed(m, place_of(m, reference));
}

bool store_claim(struct abstract_machine *m, struct reference reference) {
    struct place place = place_of(m, reference);
    bool taken = is_claimed(m, place);
    ARENA_PUSH(m->world->arena, m->store.claims, m->store.n_claims, m->store.cap_claims, place);
    return !taken;
}
