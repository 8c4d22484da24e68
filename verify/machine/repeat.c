// Repeats what tasks did; see repeat.h.
#include "verify/machine/repeat.h"

#include <string.h>

#include "verify/machine/sides.h"

enum { MOST_OF_A_FORM = 16 }; // lemmas; what finds always something else is executed

struct known { // of a cell
    struct token token;
    uint32_t version; // of all: else it has to be looked at
    bool changed;     // the store does not say so yet
    uint32_t n_read;  // by messages under way
};

struct outgoing { // message, between two tasks
    uint32_t handle;
    int32_t slot;
    const struct statement *start;
    struct place from[MAX_PIECES];
    uint32_t cells[MAX_PIECES];
    struct token values;
    bool in_store;
};

struct sent { // of what a task waits for: which of its rows it is read from, and where in them
    const struct statement *start;
    uint32_t rows[MAX_PIECES]; // NO_ID: none of them
    int32_t items[MAX_PIECES];
};

enum { MAX_READERS = 4 };
struct reader { // of a row, under way: a message that the task does not wait for
    uint32_t row;
    buffer_id buffer;
    int32_t item;
};
struct readers {
    struct reader list[MAX_READERS];
    uint32_t n;
};

// What a task does, with everything of its microbatch counted from there.
struct lemma {
    const int32_t *numbers;
    struct readers readers;
    const struct token *before, *after; // of each row
    const bool *collects;               // its microbatch, beside what was collected
    const struct token *values;         // of each end that sends or receives
    const struct sent *sent;            // of each end of that kind
    struct lemma *next;
};

struct watched {                  // a task while it is executed
    const struct task_text *text; // NULL: none
    bool learns;                  // what it does; else only its cells are looked at again behind it
    int32_t microbatch;
    uint32_t *cells;
    int32_t *numbers;
    struct token *before;
    struct sent *sent;
    struct readers readers;
    uint32_t serial; // of terms: of those that are equal to nothing but themselves
};

struct repetition {
    struct task_texts *texts;
    struct contents *contents;
    struct known *cells;
    uint32_t version;
    uint32_t *changed; // cells
    uint32_t n_changed, cap_changed;
    struct outgoing *flying;
    uint32_t n_flying, cap_flying;
    struct outgoing *gone; // the store has them still
    uint32_t n_gone, cap_gone;
    bool flights_known, others_fly; // which are followed nowhere here
    struct lemma **lemmas;          // of each form
    uint32_t *n_watched;            // tasks of each form
    struct watched watched;
    uint32_t *at; // of the task that is come by: its cells
    int32_t *numbers;
    struct readers readers;
    const struct task_end *awaits; // in front of a task: the end that is not there yet
    bool urged;
};

static int32_t from_base(const struct repetition *r, struct token token, int32_t microbatch) {
    return contents_of_time(r->contents, token.content) ? token.base - microbatch : 0;
}

// ---- what is known ----------------------------------------------------------------------------

struct repetition *repetition_new(struct abstract_machine *m) {
    const struct mesh_part *part = &m->program->part;
    if (!m->between || m->without_memo || m->proof->history || m->proof->ordered ||
        part->end - part->begin != 1)
        return NULL;
    struct arena *arena = m->world->arena;
    struct repetition *r = ARENA_NEW(arena, struct repetition);
    r->texts = task_texts_of(m);
    r->contents = m->sides->contents;
    r->cells = ARENA_ARRAY(arena, struct known, r->texts->n_cells + 1);
    r->version = 1;
    r->lemmas = ARENA_ARRAY(arena, struct lemma *, r->texts->n_forms + 1);
    r->n_watched = ARENA_ARRAY(arena, uint32_t, r->texts->n_forms + 1);
    uint32_t n_rows = 0, n_numbers = 0;
    for (uint32_t i = 0; i < r->texts->n; i++) {
        const struct task_text *text = &r->texts->list[i];
        n_rows = text->n_rows > n_rows ? text->n_rows : n_rows;
        n_numbers = text->n_numbers > n_numbers ? text->n_numbers : n_numbers;
    }
    r->at = ARENA_ARRAY(arena, uint32_t, n_rows + 1);
    r->numbers = ARENA_ARRAY(arena, int32_t, n_numbers + 1);
    return r;
}

static struct token token_of(struct abstract_machine *m, uint32_t cell) {
    struct repetition *r = m->repetition;
    struct known *known = &r->cells[cell];
    if (known->version != r->version) {
        known->token = contents_of_cell(r->contents, m, &r->texts->cells[cell]);
        known->version = r->version;
    }
    return known->token;
}

static bool is_named(const struct repetition *r, buffer_id id) {
    return r->texts->first_cell[id] != NO_ID;
}

static void add_flying(struct abstract_machine *m, struct outgoing message) {
    struct repetition *r = m->repetition;
    for (uint32_t i = 0; i < message.start->start.n_pieces; i++) {
        message.cells[i] = task_cell_of(m, r->texts, message.from[i]);
        r->cells[message.cells[i]].n_read++;
    }
    ARENA_PUSH(m->world->arena, r->flying, r->n_flying, r->cap_flying, message);
}

static void note_flight(struct abstract_machine *m, uint32_t handle, const struct run *run,
                        int32_t slot) {
    struct repetition *r = m->repetition;
    const struct transfer *start = &run->start->start;
    struct outgoing message = {
        .handle = handle, .slot = slot, .start = run->start, .in_store = true};
    bool follows = m->between[handle] && start->exchange.kind == COLLECTIVE_SEND &&
                   start->n_pieces <= MAX_PIECES;
    for (uint32_t i = 0; i < start->n_pieces && follows; i++) {
        buffer_id owner = owner_of(m->program, start->pieces[i].from.buffer);
        struct held held = run_held(m->world, run, i, slot);
        message.from[i] = (struct place){owner, held.from};
        follows = is_named(r, owner) && !held.value.fault;
    }
    if (follows)
        add_flying(m, message);
    else
        r->others_fly = true;
}

static void find_flights(struct abstract_machine *m) {
    struct repetition *r = m->repetition;
    if (r->flights_known)
        return;
    for (uint32_t i = 0; i < r->n_flying; i++)
        for (uint32_t k = 0; k < r->flying[i].start->start.n_pieces; k++)
            r->cells[r->flying[i].cells[k]].n_read--;
    r->n_flying = 0;
    r->others_fly = false;
    for (uint32_t h = 0; h < m->store.n_handles; h++) {
        const struct series *flights = flights_of(&m->store, h);
        for (uint32_t i = 0; i < flights->n; i++)
            for (int32_t slot = flights->runs[i].begin;
                 flights->runs[i].n_held && slot < flights->runs[i].end; slot++)
                note_flight(m, h, &flights->runs[i], slot);
    }
    r->flights_known = true;
}

static struct outgoing *find_flying(struct repetition *r, uint32_t handle, int32_t slot) {
    for (uint32_t i = 0; i < r->n_flying; i++)
        if (r->flying[i].handle == handle && r->flying[i].slot == slot)
            return &r->flying[i];
    return NULL;
}

// ---- the store says all again -----------------------------------------------------------------

static void put_cell(struct abstract_machine *m, uint32_t cell) {
    struct repetition *r = m->repetition;
    struct known *known = &r->cells[cell];
    if (known->changed)
        contents_put(r->contents, m, &r->texts->cells[cell], known->token);
    known->changed = false;
}

static void put_outgoing(struct abstract_machine *m, struct outgoing *message) {
    uint32_t n = message->start->start.n_pieces;
    struct held held[MAX_PIECES] = {0};
    for (uint32_t i = 0; i < n; i++)
        held[i] = (struct held){
            .value = contents_value(m->repetition->contents, m->world, message->values, i),
            .from = message->from[i].item,
            .to = message->from[i].item};
    message->in_store = true;
    put_flights(m, message->handle,
                (struct run){.begin = message->slot,
                             .end = message->slot + 1,
                             .state = ITEM_IN_FLIGHT,
                             .by = &message->start->span,
                             .start = message->start,
                             .held = held,
                             .n_held = n});
}

static void put_messages(struct abstract_machine *m) {
    struct repetition *r = m->repetition;
    for (uint32_t i = 0; i < r->n_gone; i++)
        put_flights(m, r->gone[i].handle,
                    (struct run){.begin = r->gone[i].slot, .end = r->gone[i].slot + 1});
    r->n_gone = 0;
    for (uint32_t i = 0; i < r->n_flying; i++)
        if (!r->flying[i].in_store)
            put_outgoing(m, &r->flying[i]);
}

void repetition_leave(struct abstract_machine *m) {
    struct repetition *r = m->repetition;
    if (r->watched.text)
        return;
    for (uint32_t i = 0; i < r->n_changed; i++)
        put_cell(m, r->changed[i]);
    r->n_changed = 0;
    put_messages(m);
    r->version++;
    r->flights_known = false;
}

// ---- the task that is come by -----------------------------------------------------------------

// Slots of one handle that are not the same in the text are different ones.
static bool slots_differ(struct abstract_machine *m, const struct task_text *text) {
    bool differ = true;
    for (uint32_t i = 0; i < text->n_slots; i++)
        for (uint32_t k = 0; k < i; k++)
            differ = differ &&
                     (text->slots[k].handle != text->slots[i].handle ||
                      number_of(m, text->slots[k].index) != number_of(m, text->slots[i].index));
    return differ;
}

// Which cells its rows are. False: two are one, or there is no such row.
static bool locate(struct abstract_machine *m, const struct task_text *text) {
    struct repetition *r = m->repetition;
    for (uint32_t i = 0; i < text->n_numbers; i++)
        r->numbers[i] = number_of(m, text->numbers[i]);
    for (uint32_t i = 0; i < text->n_rows; i++) {
        const struct task_row *row = &text->rows[i];
        int32_t number = row->whole ? 0 : number_of(m, row->row);
        if (number < 0 || number >= row->count)
            return false;
        r->at[i] = row->first_cell + (uint32_t)number;
        for (uint32_t k = row->before; k != NO_ID; k = text->rows[k].before)
            if (r->at[k] == r->at[i])
                return false;
    }
    return slots_differ(m, text);
}

static uint32_t row_at(const struct task_text *text, const uint32_t *at, uint32_t cell) {
    for (uint32_t i = 0; i < text->n_rows; i++)
        if (at[i] == cell)
            return i;
    return NO_ID;
}

static struct outgoing *waited_for(struct abstract_machine *m, const struct task_end *end) {
    return find_flying(m->repetition, end->statement->wait.handle,
                       number_of(m, end->statement->wait.index));
}

static bool is_awaited(struct abstract_machine *m, const struct task_text *text,
                       const struct outgoing *message) {
    for (uint32_t i = 0; i < text->n_ends; i++)
        if (text->ends[i].kind == END_SENT && waited_for(m, &text->ends[i]) == message)
            return true;
    return false;
}

static int32_t in_cell(const struct abstract_machine *m, uint32_t cell, struct place place) {
    return place.item - cell_begin(m, &m->repetition->texts->cells[cell], place.buffer);
}

// What is under way and reads from its cells, but for what it waits for. False: more than is followed.
static bool find_readers(struct abstract_machine *m, const struct task_text *text) {
    struct repetition *r = m->repetition;
    struct readers *readers = &r->readers;
    readers->n = 0;
    for (uint32_t i = 0; i < text->n_rows; i++) {
        if (r->cells[r->at[i]].n_read == 0) // this saves time: most have none
            continue;
        for (uint32_t k = 0; k < r->n_flying; k++)
            for (uint32_t p = 0; p < r->flying[k].start->start.n_pieces; p++) {
                const struct outgoing *message = &r->flying[k];
                if (message->cells[p] != r->at[i] || is_awaited(m, text, message))
                    continue;
                if (readers->n == MAX_READERS)
                    return false;
                readers->list[readers->n++] = (struct reader){
                    i, message->from[p].buffer, in_cell(m, message->cells[p], message->from[p])};
            }
    }
    return true;
}

// Nothing else is under way that it could disturb.
static bool is_undisturbed(const struct abstract_machine *m, const struct task_text *text) {
    bool fits = !m->repetition->others_fly;
    for (uint32_t i = 0; i < text->n_handles; i++) {
        const struct series *flights = flights_of(&m->store, text->handles[i]);
        fits = fits && flights->n == 1 && flights->runs[0].n_held == 0;
    }
    return fits;
}

static struct sent describe_sent(struct abstract_machine *m, const struct task_text *text,
                                 const struct task_end *end) {
    struct repetition *r = m->repetition;
    const struct outgoing *message = waited_for(m, end);
    struct sent sent = {.start = message ? message->start : NULL};
    for (uint32_t i = 0; message && i < message->start->start.n_pieces; i++) {
        sent.rows[i] = row_at(text, r->at, message->cells[i]);
        sent.items[i] = in_cell(m, message->cells[i], message->from[i]);
    }
    return sent;
}

static bool same_sent(const struct sent *a, const struct sent *b) {
    if (!a->start || !b->start)
        return false;
    const struct transfer *x = &a->start->start, *y = &b->start->start;
    bool same = x->n_pieces == y->n_pieces && x->exchange.peer == y->exchange.peer;
    for (uint32_t i = 0; same && i < x->n_pieces; i++)
        same = x->pieces[i].from.buffer == y->pieces[i].from.buffer && a->rows[i] == b->rows[i] &&
               (a->rows[i] == NO_ID || a->items[i] == b->items[i]);
    return same;
}

// ---- what is repeated -------------------------------------------------------------------------

// Whether the set is that of all cells before it that have one, which is *common. Sums of different
// microbatches could be added to one another, and what comes of that depends on which they are.
static bool is_common(uint32_t set, uint32_t *common) {
    if (*common == NO_MICROBATCHES)
        *common = set;
    return set == NO_MICROBATCHES || set == *common;
}

// Whether a message may be started in its slot: nothing else of it is under way then.
static bool slot_is_free(struct abstract_machine *m, const struct task_text *text, uint32_t i) {
    const struct transfer *start = &text->ends[i].statement->start;
    const struct outgoing *message =
        find_flying(m->repetition, start->handle, number_of(m, start->handle_index));
    for (uint32_t k = 0; k < i && message; k++)
        if (text->ends[k].kind == END_SENT && waited_for(m, &text->ends[k]) == message)
            message = NULL;
    return !message;
}

// The set with the task's microbatch. NO_MICROBATCHES: it has it, or lacks it alone.
static uint32_t with_own(struct abstract_machine *m, uint32_t set, int32_t microbatch) {
    return contents_collect(m->repetition->contents, set, microbatch,
                            m->world->terms->microbatches);
}

static bool cell_fits(struct abstract_machine *m, const struct lemma *lemma, uint32_t i,
                      int32_t microbatch) {
    struct repetition *r = m->repetition;
    struct token found = token_of(m, r->at[i]);
    return found.content == lemma->before[i].content &&
           from_base(r, found, microbatch) == lemma->before[i].base &&
           (found.collected != NO_MICROBATCHES) == (lemma->before[i].collected != NO_MICROBATCHES);
}

static bool cells_fit(struct abstract_machine *m, const struct task_text *text,
                      const struct lemma *lemma, int32_t microbatch) {
    const struct repetition *r = m->repetition;
    if (memcmp(lemma->numbers, r->numbers, text->n_numbers * sizeof *lemma->numbers) != 0 ||
        lemma->readers.n != r->readers.n ||
        memcmp(lemma->readers.list, r->readers.list, r->readers.n * sizeof *r->readers.list) != 0)
        return false;
    uint32_t common = NO_MICROBATCHES;
    for (uint32_t i = 0; i < text->n_rows; i++)
        if (!cell_fits(m, lemma, i, microbatch) ||
            !is_common(token_of(m, r->at[i]).collected, &common))
            return false;
    if (common != NO_MICROBATCHES && with_own(m, common, microbatch) == NO_MICROBATCHES)
        return false;
    for (uint32_t i = 0; i < text->n_ends; i++) {
        enum task_end_kind kind = text->ends[i].kind;
        if ((kind == END_SENDS || kind == END_RECEIVES) && !slot_is_free(m, text, i))
            return false;
        if (kind != END_SENT)
            continue;
        struct sent found = describe_sent(m, text, &text->ends[i]);
        if (!same_sent(&found, &lemma->sent[i]))
            return false;
    }
    return true;
}

static const struct lemma *find_lemma(struct abstract_machine *m, const struct task_text *text,
                                      int32_t microbatch) {
    const struct lemma *lemma = m->repetition->lemmas[text->form];
    while (lemma && !cells_fit(m, text, lemma, microbatch))
        lemma = lemma->next;
    return lemma;
}

// How many of the ends from `first` on, before `behind`, receive from the same part as this end.
static int32_t n_received(const struct task_text *text, uint32_t end, uint32_t first,
                          uint32_t behind) {
    int64_t peer = text->ends[end].statement->start.exchange.peer;
    int32_t n = 0;
    for (uint32_t i = first; i < behind; i++)
        n += text->ends[i].kind == END_RECEIVES &&
             text->ends[i].statement->start.exchange.peer == peer;
    return n;
}

// Whether others have done what an end of the task waits for.
static bool is_there(struct abstract_machine *m, const struct task_text *text, uint32_t i) {
    const struct statement *statement = text->ends[i].statement;
    if (text->ends[i].kind == END_RECEIVES) {
        const struct message *message = sides_message(m, statement, n_received(text, i, 0, i));
        return message && message->send;
    }
    if (text->ends[i].kind != END_SENT)
        return true;
    const struct end *end =
        sides_end(m, statement->wait.handle, number_of(m, statement->wait.index));
    return end && sides_are_there(m, end);
}

// The first end that is not there; NULL: all are.
static const struct task_end *awaited(struct abstract_machine *m, const struct task_text *text) {
    for (uint32_t i = 0; i < text->n_ends; i++)
        if (!is_there(m, text, i))
            return &text->ends[i];
    return NULL;
}

// Whether what others sent is what it once was.
static bool messages_fit(struct abstract_machine *m, const struct task_text *text,
                         const struct lemma *lemma, int32_t microbatch) {
    for (uint32_t i = 0; i < text->n_ends; i++) {
        const struct statement *start = text->ends[i].statement;
        if (text->ends[i].kind != END_RECEIVES)
            continue;
        struct message *message = sides_message(m, start, n_received(text, i, 0, i));
        struct token sent = sides_token(m, message);
        if (sent.content != lemma->values[i].content ||
            from_base(m->repetition, sent, microbatch) != lemma->values[i].base ||
            sent.collected != NO_MICROBATCHES || !sides_can_receive(m, message, start))
            return false;
    }
    return true;
}

static void set_cell(struct abstract_machine *m, uint32_t cell, struct token token) {
    struct repetition *r = m->repetition;
    struct known *known = &r->cells[cell];
    if (!known->changed)
        ARENA_PUSH(m->world->arena, r->changed, r->n_changed, r->cap_changed, cell);
    *known = (struct known){token, r->version, true, known->n_read};
}

static void repeat_cell(struct abstract_machine *m, const struct lemma *lemma, uint32_t i,
                        int32_t microbatch) {
    struct repetition *r = m->repetition;
    struct token found = token_of(m, r->at[i]), token = lemma->after[i];
    if (contents_of_time(r->contents, token.content))
        token.base += microbatch;
    token.collected = found.collected;
    if (lemma->collects[i])
        token.collected = with_own(m, found.collected, microbatch);
    if (token.content != found.content || token.base != found.base ||
        token.collected != found.collected)
        set_cell(m, r->at[i], token);
}

static void repeat_sent(struct abstract_machine *m, const struct task_end *end) {
    struct repetition *r = m->repetition;
    struct outgoing *message = waited_for(m, end);
    sides_close(m, sides_end(m, message->handle, message->slot));
    for (uint32_t i = 0; i < message->start->start.n_pieces; i++)
        r->cells[message->cells[i]].n_read--;
    if (message->in_store)
        ARENA_PUSH(m->world->arena, r->gone, r->n_gone, r->cap_gone, *message);
    *message = r->flying[--r->n_flying];
}

static void repeat_send(struct abstract_machine *m, const struct statement *start,
                        struct token values, int32_t microbatch) {
    struct outgoing message = {.handle = start->start.handle,
                               .slot = number_of(m, start->start.handle_index),
                               .start = start,
                               .values = values};
    if (contents_of_time(m->repetition->contents, values.content))
        message.values.base += microbatch;
    for (uint32_t i = 0; i < start->start.n_pieces; i++)
        message.from[i] = place_of(m, start->start.pieces[i].from);
    sides_start(m, start, message.slot, NULL, message.values);
    add_flying(m, message);
}

static void repeat_ends(struct abstract_machine *m, const struct task_text *text,
                        const struct lemma *lemma, int32_t microbatch) {
    const struct token nothing = {0};
    for (uint32_t i = 0; i < text->n_ends; i++) {
        const struct statement *at = text->ends[i].statement;
        switch (text->ends[i].kind) {
        case END_SENDS:
            repeat_send(m, at, lemma->values[i], microbatch);
            break;
        case END_SENT:
            repeat_sent(m, &text->ends[i]);
            break;
        case END_RECEIVES:
            sides_start(m, at, number_of(m, at->start.handle_index), NULL, nothing);
            break;
        case END_RECEIVED:
            sides_close(m, sides_end(m, at->wait.handle, number_of(m, at->wait.index)));
            break;
        }
    }
}

static void repeat(struct abstract_machine *m, const struct task_text *text,
                   const struct lemma *lemma, int32_t microbatch) {
    m->cursor->statement = text->label;
    come_to_label(m, text->label);
    repeat_ends(m, text, lemma, microbatch);
    for (uint32_t i = 0; i < text->n_rows; i++)
        repeat_cell(m, lemma, i, microbatch);
}

// ---- what is learned --------------------------------------------------------------------------

static void watch(struct abstract_machine *m, const struct task_text *text, int32_t microbatch,
                  bool learns) {
    struct repetition *r = m->repetition;
    struct arena *arena = m->world->arena;
    struct watched *w = &r->watched;
    for (uint32_t i = 0; i < text->n_rows; i++) // it comes by no other
        put_cell(m, r->at[i]);
    put_messages(m);
    *w = (struct watched){.text = text,
                          .learns = learns && r->n_watched[text->form]++ < MOST_OF_A_FORM,
                          .microbatch = microbatch,
                          .readers = r->readers,
                          .cells = arena_copy(arena, r->at, text->n_rows * sizeof *w->cells),
                          .numbers =
                              arena_copy(arena, r->numbers, text->n_numbers * sizeof *w->numbers),
                          .before = ARENA_ARRAY(arena, struct token, text->n_rows),
                          .sent = ARENA_ARRAY(arena, struct sent, text->n_ends),
                          .serial = m->world->terms->serial};
    for (uint32_t i = 0; i < text->n_rows && w->learns; i++)
        w->before[i] = token_of(m, w->cells[i]);
    for (uint32_t i = 0; i < text->n_ends; i++)
        if (text->ends[i].kind == END_SENT)
            w->sent[i] = describe_sent(m, text, &text->ends[i]);
}

// What a message of the task that has just ended carried.
static struct token carried(struct abstract_machine *m, const struct task_text *text, uint32_t i) {
    const struct statement *start = text->ends[i].statement;
    struct message *message = NULL;
    if (text->ends[i].kind == END_SENDS) {
        const struct end *end =
            sides_end(m, start->start.handle, number_of(m, start->start.handle_index));
        message = end ? sides_sent(m, end) : NULL;
    } else {
        message = sides_message(m, start, -n_received(text, i, i, text->n_ends));
    }
    return message ? sides_token(m, message) : (struct token){0};
}

static bool learn_values(struct abstract_machine *m, const struct watched *w,
                         struct token *values) {
    struct repetition *r = m->repetition;
    bool fits = true;
    for (uint32_t i = 0; i < w->text->n_ends && fits; i++) {
        if (w->text->ends[i].kind != END_SENDS && w->text->ends[i].kind != END_RECEIVES)
            continue;
        values[i] = carried(m, w->text, i);
        fits = values[i].content != NO_CONTENT && values[i].collected == NO_MICROBATCHES;
        if (fits)
            values[i].base = from_base(r, values[i], w->microbatch);
    }
    return fits;
}

static bool learn_cells(struct abstract_machine *m, const struct watched *w, struct token *after,
                        bool *collects, uint32_t *common) {
    struct repetition *r = m->repetition;
    bool fits = true;
    for (uint32_t i = 0; i < w->text->n_rows; i++) {
        struct token *before = &w->before[i];
        after[i] = token_of(m, w->cells[i]);
        fits = fits && before->content != NO_CONTENT && after[i].content != NO_CONTENT &&
               is_common(before->collected, common);
        collects[i] = after[i].collected != before->collected;
        fits = fits && (!collects[i] ||
                        (after[i].collected != NO_MICROBATCHES &&
                         after[i].collected == with_own(m, before->collected, w->microbatch)));
        if (!fits)
            continue;
        before->base = from_base(r, *before, w->microbatch);
        after[i].base = from_base(r, after[i], w->microbatch);
    }
    return fits;
}

// A sum that was found is known by a microbatch from which nothing else is: it is in what is left exactly if
// that is. Else a sum that is begun anew, with the only microbatch that it had, would seem to be left
// alone. And what is found is not yet all: what comes of a whole sum says nothing about others.
static bool tells_sums_apart(const struct abstract_machine *m, const struct lemma *lemma,
                             const struct task_text *text, uint32_t found, int32_t microbatch) {
    const struct contents *contents = m->repetition->contents;
    struct microbatches here = {0, 1};
    if (found == NO_MICROBATCHES)
        return true;
    for (uint32_t i = 0; i < text->n_rows; i++)
        contents_widen(contents, lemma->before[i], &here);
    for (uint32_t i = 0; i < text->n_ends; i++)
        contents_widen(contents, lemma->values[i], &here);
    here.begin += microbatch;
    here.end += microbatch;
    int32_t n_known = contents_beyond(contents, found, here);
    return n_known > 0 && n_known + here.end - here.begin < m->world->terms->microbatches;
}

static void learn(struct abstract_machine *m) {
    struct repetition *r = m->repetition;
    struct arena *arena = m->world->arena;
    struct watched w = r->watched;
    r->watched.text = NULL;
    r->flights_known = false;
    for (uint32_t i = 0; i < w.text->n_rows; i++)
        r->cells[w.cells[i]].version = r->version - 1;
    if (!w.learns)
        return;
    find_flights(m);
    struct token *after = ARENA_ARRAY(arena, struct token, w.text->n_rows);
    struct token *values = ARENA_ARRAY(arena, struct token, w.text->n_ends);
    bool *collects = ARENA_ARRAY(arena, bool, w.text->n_rows);
    uint32_t found = NO_MICROBATCHES;
    bool fits = learn_cells(m, &w, after, collects, &found) && !r->others_fly;
    for (uint32_t i = 0; i < w.text->n_ends; i++)
        fits = fits && (w.text->ends[i].kind != END_SENT || w.sent[i].start);
    // What is unknown here is another thing in the next task.
    if (!fits || m->world->terms->serial != w.serial || !learn_values(m, &w, values))
        return;
    struct lemma lemma = {.numbers = w.numbers,
                          .readers = w.readers,
                          .before = w.before,
                          .after = after,
                          .collects = collects,
                          .values = values,
                          .sent = w.sent,
                          .next = r->lemmas[w.text->form]};
    if (tells_sums_apart(m, &lemma, w.text, found, w.microbatch))
        r->lemmas[w.text->form] = arena_copy(arena, &lemma, sizeof lemma);
}

// ---- what is come by --------------------------------------------------------------------------

void repetition_look(struct abstract_machine *m, const struct frame *frame) {
    const struct task_text *text = m->repetition->watched.text;
    if (text && frame->block == text->block && frame->next == text->end)
        learn(m);
}

// Nothing that is learned in a program that is refused anyway need be right.
static bool is_refused(const struct abstract_machine *m) {
    return m->proof->insisted.n > 0 || m->sides->lenient;
}

enum repeated repetition_come_by(struct abstract_machine *m, struct frame *frame) {
    struct repetition *r = m->repetition;
    const struct statement *label = &frame->block->statements[frame->next];
    const struct task_text *text = task_text_find(r->texts, label);
    bool urged = r->urged;
    // This saves time: nothing has changed here since.
    if (r->awaits && !urged && !is_there(m, text, (uint32_t)(r->awaits - text->ends)))
        return TO_COME;
    r->awaits = NULL;
    r->urged = false;
    find_flights(m);
    if (!text || text->form == NO_ID || is_refused(m) || !locate(m, text)) {
        repetition_leave(m);
        return TO_EXECUTE;
    }
    int32_t microbatch = number_of(m, label->task.microbatch);
    if (!is_undisturbed(m, text) || !find_readers(m, text)) {
        watch(m, text, microbatch, false);
        return TO_EXECUTE;
    }
    const struct lemma *lemma = find_lemma(m, text, microbatch);
    r->awaits = lemma && !urged ? awaited(m, text) : NULL;
    if (r->awaits)
        return TO_COME;
    if (lemma && !awaited(m, text) && messages_fit(m, text, lemma, microbatch)) {
        repeat(m, text, lemma, microbatch);
        frame->next = text->end;
        return REPEATED;
    }
    watch(m, text, microbatch, true);
    return TO_EXECUTE;
}

bool repetition_urge(struct abstract_machine *m) {
    bool waits = m->repetition && m->repetition->awaits;
    if (waits)
        m->repetition->urged = true;
    return waits;
}
