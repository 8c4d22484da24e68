// Messages that were sent, as tasks find them; see sends.h.
#include "verify/machine/sends.h"

#include "verify/machine/sides.h"

void sends_init(struct sends *s, const struct task_texts *texts, struct arena *arena) {
    *s = (struct sends){.texts = texts, .n_read = ARENA_ARRAY(arena, uint32_t, texts->n_cells + 1)};
}

// ---- what is under way ------------------------------------------------------------------------

void sends_add(struct abstract_machine *m, struct sends *s, struct send send) {
    for (uint32_t i = 0; i < send.start->start.n_pieces; i++) {
        send.cells[i] = task_cell_of(m, s->texts, send.from[i]);
        s->n_read[send.cells[i]]++;
    }
    ARENA_PUSH(m->world->arena, s->list, s->n, s->cap, send);
}

static void release_cells(struct sends *s, const struct send *send) {
    for (uint32_t i = 0; i < send->start->start.n_pieces; i++)
        s->n_read[send->cells[i]]--;
}

void sends_remove(struct abstract_machine *m, struct sends *s, struct send *send) {
    release_cells(s, send);
    if (send->in_store)
        ARENA_PUSH(m->world->arena, s->gone, s->n_gone, s->cap_gone, *send);
    *send = s->list[--s->n];
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
    for (uint32_t i = 0; i < s->n; i++)
        release_cells(s, &s->list[i]);
    s->n = 0;
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
    for (uint32_t i = 0; i < s->n; i++)
        if (s->list[i].handle == handle && s->list[i].slot == slot)
            return &s->list[i];
    return NULL;
}

struct send *sends_awaited(struct abstract_machine *m, struct sends *s,
                           const struct task_end *end) {
    return find(s, end->statement->wait.handle, number_of(m, end->statement->wait.index));
}

bool sends_slot_is_free(struct abstract_machine *m, struct sends *s, const struct task_text *text,
                        uint32_t i) {
    const struct transfer *start = &text->ends[i].statement->start;
    const struct send *send = find(s, start->handle, number_of(m, start->handle_index));
    for (uint32_t k = 0; k < i && send; k++)
        if (text->ends[k].kind == END_SENT && sends_awaited(m, s, &text->ends[k]) == send)
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
    for (uint32_t i = 0; i < s->n; i++)
        if (!s->list[i].in_store)
            put(m, &s->list[i]);
}

// ---- what a task finds ------------------------------------------------------------------------

static int32_t in_cell(const struct abstract_machine *m, const struct sends *s, uint32_t cell,
                       struct place place) {
    return place.item - cell_begin(m, &s->texts->cells[cell], place.buffer);
}

static uint32_t row_at(const struct task_text *text, const uint32_t *at, uint32_t cell) {
    for (uint32_t i = 0; i < text->n_rows; i++)
        if (at[i] == cell)
            return i;
    return NO_ID;
}

struct sent sends_describe(struct abstract_machine *m, struct sends *s,
                           const struct task_text *text, const uint32_t *at,
                           const struct task_end *end) {
    const struct send *send = sends_awaited(m, s, end);
    struct sent sent = {.start = send ? send->start : NULL};
    for (uint32_t i = 0; send && i < send->start->start.n_pieces; i++) {
        sent.rows[i] = row_at(text, at, send->cells[i]);
        sent.items[i] = in_cell(m, s, send->cells[i], send->from[i]);
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

static bool is_awaited(struct abstract_machine *m, struct sends *s, const struct task_text *text,
                       const struct send *send) {
    for (uint32_t i = 0; i < text->n_ends; i++)
        if (text->ends[i].kind == END_SENT && sends_awaited(m, s, &text->ends[i]) == send)
            return true;
    return false;
}

bool sends_find_readers(struct abstract_machine *m, struct sends *s, const struct task_text *text,
                        const uint32_t *at, struct readers *readers) {
    readers->n = 0;
    for (uint32_t i = 0; i < text->n_rows; i++) {
        if (s->n_read[at[i]] == 0) // this saves time: most have none
            continue;
        for (uint32_t k = 0; k < s->n; k++)
            for (uint32_t p = 0; p < s->list[k].start->start.n_pieces; p++) {
                const struct send *send = &s->list[k];
                if (send->cells[p] != at[i] || is_awaited(m, s, text, send))
                    continue;
                if (readers->n == MAX_READERS)
                    return false;
                readers->list[readers->n++] = (struct reader){
                    i, send->from[p].buffer, in_cell(m, s, send->cells[p], send->from[p])};
            }
    }
    return true;
}
