// Messages that were sent, as tasks find them; see sends.h.
#include "verify/machine/sends.h"

#include "verify/machine/sides.h"

void sends_init(struct sends *s, const struct abstract_machine *m, const struct task_texts *texts) {
    struct arena *arena = m->world->arena;
    uint32_t n = m->store.n_handles;
    *s = (struct sends){.texts = texts,
                        .of_handle = ARENA_ARRAY(arena, struct handle_sends, n + 1),
                        .n_handles = n,
                        .pins = ARENA_ARRAY(arena, struct pins, texts->n_cells + 1)};
}

// ---- what is under way ------------------------------------------------------------------------

void sends_add(struct abstract_machine *m, struct sends *s, struct send send) {
    struct handle_sends *all = &s->of_handle[send.handle];
    for (uint32_t i = 0; i < send.start->start.n_pieces; i++) {
        send.cells[i] = task_cell_of(m, s->texts, send.from[i]);
        struct pins *pins = &s->pins[send.cells[i]];
        struct pin pin = {send.handle, send.slot, send.from[i]};
        ARENA_PUSH(m->world->arena, pins->list, pins->n, pins->cap, pin);
    }
    ARENA_PUSH(m->world->arena, all->list, all->n, all->cap, send);
}

static bool is_of(const struct pin *pin, uint32_t handle, int32_t slot) {
    return pin->handle == handle && pin->slot == slot;
}

static void release_cells(struct sends *s, const struct send *send) {
    for (uint32_t i = 0; i < send->start->start.n_pieces; i++) {
        struct pins *pins = &s->pins[send->cells[i]];
        uint32_t k = 0;
        while (!is_of(&pins->list[k], send->handle, send->slot))
            k++;
        pins->list[k] = pins->list[--pins->n];
    }
}

void sends_remove(struct abstract_machine *m, struct sends *s, struct send *send) {
    struct handle_sends *all = &s->of_handle[send->handle];
    release_cells(s, send);
    if (send->in_store)
        ARENA_PUSH(m->world->arena, s->gone, s->n_gone, s->cap_gone, *send);
    *send = all->list[--all->n];
}

static void forget_all(struct sends *s) {
    for (uint32_t h = 0; h < s->n_handles; h++) {
        struct handle_sends *all = &s->of_handle[h];
        for (uint32_t i = 0; i < all->n; i++)
            release_cells(s, &all->list[i]);
        all->n = 0;
    }
}

static void note_flight(struct abstract_machine *m, struct sends *s, uint32_t handle,
                        const struct run *run, int32_t slot) {
    const struct transfer *start = &run->start->start;
    struct send send = {.handle = handle, .slot = slot, .start = run->start, .in_store = true};
    bool follows = m->between[handle] && start->exchange.kind == COLLECTIVE_SEND &&
                   start->n_pieces <= MAX_PIECES;
    for (uint32_t i = 0; i < start->n_pieces && follows; i++) {
        buffer_id owner = owner_of(m->program, start->pieces[i].from.buffer);
        struct held held = run_held(m->world, run, i, slot);
        send.from[i] = (struct place){owner, held.from};
        follows = s->texts->first_cell[owner] != NO_ID && !held.value.fault;
    }
    if (follows)
        sends_add(m, s, send);
    else
        s->others_fly = true;
}

void sends_find(struct abstract_machine *m, struct sends *s) {
    if (s->known)
        return;
    forget_all(s);
    s->others_fly = false;
    for (uint32_t h = 0; h < m->store.n_handles; h++) {
        const struct series *flights = flights_of(&m->store, h);
        for (uint32_t i = 0; i < flights->n; i++)
            for (int32_t slot = flights->runs[i].begin;
                 flights->runs[i].n_held && slot < flights->runs[i].end; slot++)
                note_flight(m, s, h, &flights->runs[i], slot);
    }
    s->known = true;
}

static struct send *find(struct sends *s, uint32_t handle, int32_t slot) {
    struct handle_sends *all = &s->of_handle[handle];
    for (uint32_t i = 0; i < all->n; i++)
        if (all->list[i].slot == slot)
            return &all->list[i];
    return NULL;
}

struct send *sends_awaited(struct sends *s, const struct task_at *task, uint32_t i) {
    return find(s, task->text->ends[i].statement->wait.handle, task->slots[i]);
}

bool sends_slot_is_free(struct sends *s, const struct task_at *task, uint32_t i) {
    const struct task_end *ends = task->text->ends;
    const struct send *send = find(s, ends[i].statement->start.handle, task->slots[i]);
    for (uint32_t k = 0; k < i && send; k++)
        if (ends[k].kind == END_SENT && sends_awaited(s, task, k) == send)
            send = NULL;
    return !send;
}

// ---- the store --------------------------------------------------------------------------------

static void put(struct abstract_machine *m, struct send *send) {
    uint32_t n = send->start->start.n_pieces;
    struct held held[MAX_PIECES] = {0};
    for (uint32_t i = 0; i < n; i++)
        held[i] =
            (struct held){.value = contents_value(m->sides->contents, m->world, send->values, i),
                          .from = send->from[i].item,
                          .to = send->from[i].item};
    send->in_store = true;
    put_flights(m, send->handle,
                (struct run){.begin = send->slot,
                             .end = send->slot + 1,
                             .state = ITEM_IN_FLIGHT,
                             .by = &send->start->span,
                             .start = send->start,
                             .held = held,
                             .n_held = n});
}

void sends_put(struct abstract_machine *m, struct sends *s) {
    for (uint32_t i = 0; i < s->n_gone; i++)
        put_flights(m, s->gone[i].handle,
                    (struct run){.begin = s->gone[i].slot, .end = s->gone[i].slot + 1});
    s->n_gone = 0;
    for (uint32_t h = 0; h < s->n_handles; h++)
        for (uint32_t i = 0; i < s->of_handle[h].n; i++)
            if (!s->of_handle[h].list[i].in_store)
                put(m, &s->of_handle[h].list[i]);
}

// ---- what a task finds ------------------------------------------------------------------------

static int32_t in_cell(const struct abstract_machine *m, const struct sends *s, uint32_t cell,
                       struct place place) {
    return place.item - cell_begin(m, &s->texts->cells[cell], place.buffer);
}

static uint32_t row_at(const struct task_at *task, uint32_t cell) {
    for (uint32_t i = 0; i < task->text->n_rows; i++)
        if (task->cells[i] == cell)
            return i;
    return NO_ID;
}

struct sent sends_describe(const struct abstract_machine *m, struct sends *s,
                           const struct task_at *task, uint32_t i) {
    const struct send *send = sends_awaited(s, task, i);
    struct sent sent = {.start = send ? send->start : NULL};
    for (uint32_t k = 0; send && k < send->start->start.n_pieces; k++) {
        sent.rows[k] = row_at(task, send->cells[k]);
        sent.items[k] = in_cell(m, s, send->cells[k], send->from[k]);
    }
    return sent;
}

bool sent_equal(const struct sent *a, const struct sent *b) {
    if (!a->start || !b->start)
        return false;
    const struct transfer *x = &a->start->start, *y = &b->start->start;
    bool same = x->n_pieces == y->n_pieces && x->exchange.peer == y->exchange.peer;
    for (uint32_t i = 0; same && i < x->n_pieces; i++)
        same = x->pieces[i].from.buffer == y->pieces[i].from.buffer && a->rows[i] == b->rows[i] &&
               (a->rows[i] == NO_ID || a->items[i] == b->items[i]);
    return same;
}

static bool is_awaited(const struct task_at *task, const struct pin *pin) {
    for (uint32_t i = 0; i < task->text->n_ends; i++) {
        const struct task_end *end = &task->text->ends[i];
        if (end->kind == END_SENT && is_of(pin, end->statement->wait.handle, task->slots[i]))
            return true;
    }
    return false;
}

bool sends_find_readers(const struct abstract_machine *m, const struct sends *s,
                        const struct task_at *task, struct readers *readers) {
    readers->n = 0;
    for (uint32_t i = 0; i < task->text->n_rows; i++) {
        const struct pins *pins = &s->pins[task->cells[i]];
        for (uint32_t k = 0; k < pins->n; k++) {
            const struct pin *pin = &pins->list[k];
            if (is_awaited(task, pin))
                continue;
            if (readers->n == MAX_READERS)
                return false;
            readers->list[readers->n++] =
                (struct reader){i, pin->from.buffer, in_cell(m, s, task->cells[i], pin->from)};
        }
    }
    return true;
}
