// Repeats what tasks did; see repeat.h.
#include "verify/machine/repeat.h"

#include <string.h>

#include "verify/machine/sends.h"
#include "verify/machine/sides.h"

enum { MOST_OF_A_FORM = 16 }; // lemmas; what finds always something else is executed

struct known { // of a cell
    struct token token;
    struct token in_store; // what the store says
    uint32_t version;      // of all: else it has to be looked at
    bool changed;          // it was listed, since the store may not say so yet
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
    struct microbatches read; // of these, counted from its own, is what it has read so far
    uint32_t serial;          // of terms: of those that are equal to nothing but themselves
};

struct repetition {
    struct task_texts *texts;
    struct contents *contents;
    struct known *cells;
    uint32_t version;
    uint32_t *changed; // cells
    uint32_t n_changed, cap_changed;
    struct sends sends;
    struct lemma **lemmas; // of each form
    uint32_t *n_watched;   // tasks of each form
    struct watched watched;
    struct task_at here; // the task that is come by
    struct readers readers;
    const struct lemma
        *waiting;     // in front of the task of which this is known; NULL: it does not wait
    uint32_t n_there; // of its ends, from the first on; what is there stays
    bool urged;
};

static int32_t from_base(const struct repetition *r, struct token token, int32_t microbatch) {
    return contents_of_time(r->contents, token.content) ? token.base - microbatch : 0;
}

// ---- what is known ----------------------------------------------------------------------------

struct repetition *repetition_new(struct abstract_machine *m) {
    const struct mesh_part *part = &m->program->part;
    if (!m->between || m->every_task || m->proof->history || m->proof->ordered ||
        part->end - part->begin != 1)
        return NULL;
    struct arena *arena = m->world->arena;
    struct repetition *r = ARENA_NEW(arena, struct repetition);
    r->texts = task_texts_of(m);
    sends_init(&r->sends, m, r->texts);
    r->contents = m->sides->contents;
    r->cells = ARENA_ARRAY(arena, struct known, r->texts->n_cells + 1);
    r->version = 1;
    r->lemmas = ARENA_ARRAY(arena, struct lemma *, r->texts->n_forms + 1);
    r->n_watched = ARENA_ARRAY(arena, uint32_t, r->texts->n_forms + 1);
    uint32_t n_rows = 0, n_numbers = 0, n_ends = 0;
    for (uint32_t i = 0; i < r->texts->n; i++) {
        const struct task_text *text = &r->texts->list[i];
        n_rows = text->n_rows > n_rows ? text->n_rows : n_rows;
        n_numbers = text->n_numbers > n_numbers ? text->n_numbers : n_numbers;
        n_ends = text->n_ends > n_ends ? text->n_ends : n_ends;
    }
    r->here.cells = ARENA_ARRAY(arena, uint32_t, n_rows + 1);
    r->here.numbers = ARENA_ARRAY(arena, int32_t, n_numbers + 1);
    r->here.slots = ARENA_ARRAY(arena, int32_t, n_ends + 1);
    return r;
}

static struct token token_of(struct abstract_machine *m, uint32_t cell) {
    struct repetition *r = m->repetition;
    struct known *known = &r->cells[cell];
    if (known->version != r->version) {
        known->token = known->in_store = contents_of_cell(r->contents, m, &r->texts->cells[cell]);
        known->version = r->version;
    }
    return known->token;
}

// ---- the store says all again -----------------------------------------------------------------

static bool same_token(struct token a, struct token b) {
    return a.content == b.content && a.base == b.base && a.collected == b.collected;
}

static void put_cell(struct abstract_machine *m, uint32_t cell) {
    struct repetition *r = m->repetition;
    struct known *known = &r->cells[cell];
    // Most cells are empty again behind the last task.
    if (known->changed && !same_token(known->token, known->in_store))
        contents_put(r->contents, m, &r->texts->cells[cell], known->token);
    known->in_store = known->token;
    known->changed = false;
}

void repetition_leave(struct abstract_machine *m) {
    struct repetition *r = m->repetition;
    if (r->watched.text)
        return;
    for (uint32_t i = 0; i < r->n_changed; i++)
        put_cell(m, r->changed[i]);
    r->n_changed = 0;
    sends_put(m, &r->sends);
    r->version++;
    r->sends.known = false;
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

static struct index slot_of(const struct statement *end) {
    return end->kind == STATEMENT_START ? end->start.handle_index : end->wait.index;
}

// Which cells its rows are. False: two are one, or there is no such row.
static bool locate(struct abstract_machine *m, const struct task_text *text) {
    struct repetition *r = m->repetition;
    r->here.text = text;
    for (uint32_t i = 0; i < text->n_ends; i++)
        r->here.slots[i] = number_of(m, slot_of(text->ends[i].statement));
    for (uint32_t i = 0; i < text->n_numbers; i++)
        r->here.numbers[i] = number_of(m, text->numbers[i]);
    for (uint32_t i = 0; i < text->n_rows; i++) {
        const struct task_row *row = &text->rows[i];
        int32_t number = row->whole ? 0 : number_of(m, row->row);
        if (number < 0 || number >= row->count)
            return false;
        r->here.cells[i] = row->first_cell + (uint32_t)number;
        for (uint32_t k = row->before; k != NO_ID; k = text->rows[k].before)
            if (r->here.cells[k] == r->here.cells[i])
                return false;
    }
    return slots_differ(m, text);
}

// Nothing else is under way that it could disturb.
static bool is_undisturbed(const struct abstract_machine *m, const struct task_text *text) {
    bool fits = !m->repetition->sends.others_fly;
    for (uint32_t i = 0; i < text->n_handles; i++) {
        const struct series *flights = flights_of(&m->store, text->handles[i]);
        fits = fits && flights->n == 1 && flights->runs[0].n_held == 0;
    }
    return fits;
}

// ---- what is repeated -------------------------------------------------------------------------

// Whether the set is that of all cells before it that have one, which is *common. Sums of different
// microbatches could be added to one another, and what comes of that depends on which they are.
static bool is_common(uint32_t set, uint32_t *common) {
    if (*common == NO_MICROBATCHES)
        *common = set;
    return set == NO_MICROBATCHES || set == *common;
}

// The set with the task's microbatch. NO_MICROBATCHES: it has it, or lacks it alone.
static uint32_t with_own(struct abstract_machine *m, uint32_t set, int32_t microbatch) {
    return contents_collect(m->repetition->contents, set, microbatch,
                            m->world->terms->microbatches);
}

static bool cell_fits(struct abstract_machine *m, const struct lemma *lemma, uint32_t i,
                      int32_t microbatch) {
    struct repetition *r = m->repetition;
    struct token found = token_of(m, r->here.cells[i]);
    return found.content == lemma->before[i].content &&
           from_base(r, found, microbatch) == lemma->before[i].base &&
           (found.collected != NO_MICROBATCHES) == (lemma->before[i].collected != NO_MICROBATCHES);
}

static bool cells_fit(struct abstract_machine *m, const struct task_text *text,
                      const struct lemma *lemma, int32_t microbatch) {
    struct repetition *r = m->repetition;
    if (memcmp(lemma->numbers, r->here.numbers, text->n_numbers * sizeof *lemma->numbers) != 0 ||
        lemma->readers.n != r->readers.n ||
        memcmp(lemma->readers.list, r->readers.list, r->readers.n * sizeof *r->readers.list) != 0)
        return false;
    uint32_t common = NO_MICROBATCHES;
    for (uint32_t i = 0; i < text->n_rows; i++)
        if (!cell_fits(m, lemma, i, microbatch) ||
            !is_common(token_of(m, r->here.cells[i]).collected, &common))
            return false;
    if (common != NO_MICROBATCHES && with_own(m, common, microbatch) == NO_MICROBATCHES)
        return false;
    for (uint32_t i = 0; i < text->n_ends; i++) {
        enum task_end_kind kind = text->ends[i].kind;
        if ((kind == END_SENDS || kind == END_RECEIVES) &&
            !sends_slot_is_free(&r->sends, &r->here, i))
            return false;
        if (kind != END_SENT)
            continue;
        struct sent found = sends_describe(m, &r->sends, &r->here, i);
        if (!sent_equal(&found, &lemma->sent[i]))
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

// Whether others have done what an end of the task waits for.
static bool is_there(struct abstract_machine *m, const struct task_text *text, uint32_t i) {
    const struct statement *statement = text->ends[i].statement;
    if (text->ends[i].kind == END_RECEIVES) {
        const struct message *message = sides_message(m, statement, text->ends[i].ahead);
        return message && message->send;
    }
    if (text->ends[i].kind != END_SENT)
        return true;
    const struct end *end = sides_end(m, statement->wait.handle, m->repetition->here.slots[i]);
    return end && sides_are_there(m, end);
}

// Whether all ends are there, of which the first n_there are.
static bool all_are_there(struct abstract_machine *m, const struct task_text *text) {
    struct repetition *r = m->repetition;
    while (r->n_there < text->n_ends && is_there(m, text, r->n_there))
        r->n_there++;
    return r->n_there == text->n_ends;
}

// Whether what others sent is what it once was.
static bool messages_fit(struct abstract_machine *m, const struct task_text *text,
                         const struct lemma *lemma, int32_t microbatch) {
    for (uint32_t i = 0; i < text->n_ends; i++) {
        const struct statement *start = text->ends[i].statement;
        if (text->ends[i].kind != END_RECEIVES)
            continue;
        struct message *message = sides_message(m, start, text->ends[i].ahead);
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
    known->token = token;
    known->changed = true;
}

static void repeat_cell(struct abstract_machine *m, const struct lemma *lemma, uint32_t i,
                        int32_t microbatch) {
    struct repetition *r = m->repetition;
    struct token found = token_of(m, r->here.cells[i]), token = lemma->after[i];
    if (contents_of_time(r->contents, token.content))
        token.base += microbatch;
    token.collected = found.collected;
    if (lemma->collects[i])
        token.collected = with_own(m, found.collected, microbatch);
    if (!same_token(token, found))
        set_cell(m, r->here.cells[i], token);
}

static void repeat_sent(struct abstract_machine *m, uint32_t i) {
    struct repetition *r = m->repetition;
    struct send *send = sends_awaited(&r->sends, &r->here, i);
    sides_close(m, sides_end(m, send->handle, send->slot));
    sends_remove(m, &r->sends, send);
}

static void repeat_send(struct abstract_machine *m, const struct statement *start, int32_t slot,
                        struct token values, int32_t microbatch) {
    struct send send = {
        .handle = start->start.handle, .slot = slot, .start = start, .values = values};
    if (contents_of_time(m->repetition->contents, values.content))
        send.values.base += microbatch;
    for (uint32_t i = 0; i < start->start.n_pieces; i++)
        send.from[i] = place_of(m, start->start.pieces[i].from);
    sides_start(m, start, slot, NULL, send.values);
    sends_add(m, &m->repetition->sends, send);
}

static void repeat_ends(struct abstract_machine *m, const struct task_text *text,
                        const struct lemma *lemma, int32_t microbatch) {
    for (uint32_t i = 0; i < text->n_ends; i++) {
        const struct statement *at = text->ends[i].statement;
        switch (text->ends[i].kind) {
        case END_SENDS:
            repeat_send(m, at, m->repetition->here.slots[i], lemma->values[i], microbatch);
            break;
        case END_SENT:
            repeat_sent(m, i);
            break;
        case END_RECEIVES:
            sides_take(m, at);
            break;
        case END_RECEIVED: // it was taken
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
        put_cell(m, r->here.cells[i]);
    sends_put(m, &r->sends);
    *w = (struct watched){
        .text = text,
        .learns = learns && r->n_watched[text->form]++ < MOST_OF_A_FORM,
        .microbatch = microbatch,
        .readers = r->readers,
        .read = {0, 1},
        .cells = arena_copy(arena, r->here.cells, text->n_rows * sizeof *w->cells),
        .numbers = arena_copy(arena, r->here.numbers, text->n_numbers * sizeof *w->numbers),
        .before = ARENA_ARRAY(arena, struct token, text->n_rows),
        .sent = ARENA_ARRAY(arena, struct sent, text->n_ends),
        .serial = m->world->terms->serial};
    for (uint32_t i = 0; i < text->n_rows && w->learns; i++)
        w->before[i] = token_of(m, w->cells[i]);
    for (uint32_t i = 0; i < text->n_ends; i++)
        if (text->ends[i].kind == END_SENT)
            w->sent[i] = sends_describe(m, &r->sends, &r->here, i);
}

void repetition_note_read(struct abstract_machine *m, const struct judgement *value) {
    struct watched *w = &m->repetition->watched;
    if (!w->text || !w->learns || value->fault || !judgement_of_time(m->world, value))
        return;
    if (number_is_symbolic(value->microbatch)) {
        w->learns = false;
        return;
    }
    int32_t from_own = value->microbatch - w->microbatch;
    w->read.begin = from_own < w->read.begin ? from_own : w->read.begin;
    w->read.end = from_own >= w->read.end ? from_own + 1 : w->read.end;
}

// How many of the task's receives from the same part come before its end, from this one on.
static int32_t n_received_since(const struct task_text *text, uint32_t end) {
    int64_t peer = text->ends[end].statement->start.exchange.peer;
    int32_t n = 0;
    for (uint32_t i = end; i < text->n_ends; i++)
        n += text->ends[i].kind == END_RECEIVES &&
             text->ends[i].statement->start.exchange.peer == peer;
    return n;
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
        message = sides_message(m, start, -n_received_since(text, i));
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

// A sum that was found is known by a microbatch from which nothing else is that was read or received: it is
// in what is left exactly if that is. Else a sum that is begun anew, with the only microbatch that it had,
// would seem to be left alone. And what is found is not yet all: what comes of a whole sum says nothing
// about others.
static bool tells_sums_apart(const struct abstract_machine *m, const struct watched *w,
                             const struct token *values, uint32_t found) {
    const struct contents *contents = m->repetition->contents;
    struct microbatches here = w->read;
    if (found == NO_MICROBATCHES)
        return true;
    for (uint32_t i = 0; i < w->text->n_ends; i++)
        contents_widen(contents, values[i], &here);
    here.begin += w->microbatch;
    here.end += w->microbatch;
    int32_t n_known = contents_beyond(contents, found, here);
    return n_known > 0 && n_known + here.end - here.begin < m->world->terms->microbatches;
}

static void learn(struct abstract_machine *m) {
    struct repetition *r = m->repetition;
    struct arena *arena = m->world->arena;
    struct watched w = r->watched;
    r->watched.text = NULL;
    r->sends.known = false;
    for (uint32_t i = 0; i < w.text->n_rows; i++)
        r->cells[w.cells[i]].version = r->version - 1;
    if (!w.learns)
        return;
    sends_find(m, &r->sends);
    struct token *after = ARENA_ARRAY(arena, struct token, w.text->n_rows);
    struct token *values = ARENA_ARRAY(arena, struct token, w.text->n_ends);
    bool *collects = ARENA_ARRAY(arena, bool, w.text->n_rows);
    uint32_t found = NO_MICROBATCHES;
    bool fits = learn_cells(m, &w, after, collects, &found) && !r->sends.others_fly;
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
    if (tells_sums_apart(m, &w, values, found))
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

// Which cells the task names. False: it is none that is followed.
static bool look_at_cells(struct abstract_machine *m, const struct task_text *text) {
    return text && text->form != NO_ID && !is_refused(m) && locate(m, text);
}

enum repeated repetition_come_by(struct abstract_machine *m, struct frame *frame) {
    struct repetition *r = m->repetition;
    const struct statement *label = &frame->block->statements[frame->next];
    const struct task_text *text = task_text_find(r->texts, label);
    // While the part waits nothing of its own changes, so it is asked for the rest alone.
    const struct lemma *lemma = is_refused(m) ? NULL : r->waiting;
    bool waited = lemma, urged = r->urged, learns = true;
    r->waiting = NULL;
    r->urged = false;
    if (!waited) {
        sends_find(m, &r->sends);
        if (!look_at_cells(m, text)) {
            repetition_leave(m);
            return TO_EXECUTE;
        }
    }
    int32_t microbatch = number_of(m, label->task.microbatch);
    if (!waited) {
        r->n_there = 0;
        learns = is_undisturbed(m, text) && sends_find_readers(m, &r->sends, &r->here, &r->readers);
        lemma = learns ? find_lemma(m, text, microbatch) : NULL;
    }
    bool there = lemma && all_are_there(m, text);
    if (lemma && !there && !urged) {
        r->waiting = lemma;
        return TO_COME;
    }
    if (there && messages_fit(m, text, lemma, microbatch)) {
        repeat(m, text, lemma, microbatch);
        frame->next = text->end;
        return REPEATED;
    }
    watch(m, text, microbatch, learns);
    return TO_EXECUTE;
}

bool repetition_urge(struct abstract_machine *m) {
    bool waits = m->repetition && m->repetition->waiting;
    if (waits)
        m->repetition->urged = true;
    return waits;
}
