// Finds the tasks in a step's text; see tasks.h.
//
// A task is what stands behind its label, up to the next one, to a loop in which there are others, or to
// the end of the block. Its microbatch goes into the rows that it names and into nothing else. A row is
// given by the outer index of a buffer, where every task gives one that does not depend on loops inside
// it. All other buffers are named as a whole, those that share bytes together. Buffers of which all tasks
// name the same rows are rows of one table: a task finds some few cells then, however many buffers it has.
#include "verify/machine/tasks.h"

#include <string.h>

#include "verify/machine/sides.h"

struct row_use { // of a buffer: which of its rows a text names
    uint32_t text;
    struct index row;
};
struct row_uses {
    struct row_use *list;
    uint32_t n, cap;
};
struct table_made {
    buffer_id *buffers;
    uint32_t n, cap;
    struct bytes_shared *shared;
    uint32_t n_shared, cap_shared;
    bool whole;
    uint32_t n_rows;
};

struct finder {
    struct abstract_machine *machine;
    struct arena *arena;
    struct task_texts *texts;
    struct intern forms;
    bool *named, *whole, *tangled; // of every buffer
    struct row_uses *uses;         // of every buffer
    struct intern alike;           // buffers that are named alike
    struct table_made *tables;     // of each such
    uint32_t n_tables, cap_tables;
    uint32_t *in_table; // of every buffer; NO_ID: none yet
    uint32_t *words;    // of a form
    uint32_t n_words, cap_words;
};

// ---- the texts --------------------------------------------------------------------------------

static bool has_label(const struct statement *statement) {
    return statement->kind == STATEMENT_TASK ||
           (statement->kind == STATEMENT_LOOP && loop_has_tasks(&statement->loop));
}

static void find_texts(struct finder *f) {
    struct statement_walk walk = walk_statements(&f->machine->cursor->step->body);
    while (walk_next(&walk)) {
        const struct open_block *open = &walk.open[walk.depth];
        if (walk.statement->kind != STATEMENT_TASK)
            continue;
        struct task_text text = {.label = walk.statement,
                                 .block = open->block,
                                 .depth = walk.depth,
                                 .begin = open->next,
                                 .end = open->next};
        while (text.end < open->block->n && !has_label(&open->block->statements[text.end]))
            text.end++;
        ARENA_PUSH(f->arena, f->texts->list, f->texts->n, f->texts->cap, text);
    }
}

static struct block statements_of(const struct task_text *text) {
    return (struct block){.statements = text->block->statements + text->begin,
                          .n = text->end - text->begin};
}

static bool is_counted_inside(struct index index, int depth) {
    return index.modulus != 1 && index.variable >= depth;
}

// ---- ends ------------------------------------------------------------------------------------

static struct index normal(struct index index) {
    if (index.modulus == 1)
        return index_constant(0);
    if (index.modulus)
        index.offset = (index.offset % index.modulus + index.modulus) % index.modulus;
    if (index.variable < 0)
        index.modulus = 0;
    return index;
}

static bool same_index(struct index a, struct index b) {
    return a.offset == b.offset && a.modulus == b.modulus && a.variable == b.variable;
}

static bool is_between(const struct finder *f, uint32_t handle) {
    return f->machine->between[handle];
}

static int32_t count_receives(const struct task_text *text, int64_t peer) {
    int32_t n = 0;
    for (uint32_t i = 0; i < text->n_ends; i++)
        n += text->ends[i].kind == END_RECEIVES &&
             text->ends[i].statement->start.exchange.peer == peer;
    return n;
}

static void add_end(struct finder *f, struct task_text *text, enum task_end_kind kind,
                    const struct statement *statement) {
    struct task_end end = {kind, statement, 0};
    if (kind == END_RECEIVES)
        end.ahead = count_receives(text, statement->start.exchange.peer);
    ARENA_PUSH(f->arena, text->ends, text->n_ends, text->cap_ends, end);
}

static void add_handle(struct finder *f, struct task_text *text, uint32_t handle) {
    for (uint32_t i = 0; i < text->n_handles; i++)
        if (text->handles[i] == handle)
            return;
    ARENA_PUSH(f->arena, text->handles, text->n_handles, text->cap_handles, handle);
}

static bool same_slot(const struct statement *start, struct index slot) {
    return same_index(normal(start->start.handle_index), normal(slot));
}

// The start in this task of what is waited for; NULL: it is in another.
static const struct statement *started_here(const struct task_text *text,
                                            const struct statement *wait) {
    for (uint32_t i = 0; i < text->n_ends; i++) {
        const struct statement *start = text->ends[i].statement;
        if (start->kind == STATEMENT_START && start->start.handle == wait->wait.handle &&
            same_slot(start, wait->wait.index))
            return start;
    }
    return NULL;
}

// Messages are received within a task, and sent from one task to another. What is otherwise between parts
// is not followed here.
static void look_at_start(struct finder *f, struct task_text *text,
                          const struct statement *statement, bool inside_loop) {
    const struct transfer *start = &statement->start;
    if (!is_between(f, start->handle)) {
        add_handle(f, text, start->handle);
        return;
    }
    bool sends = start->exchange.kind == COLLECTIVE_SEND;
    if (inside_loop || !exchange_is_message(&start->exchange) || start->n_pieces > MAX_PIECES)
        text->form = NO_ID;
    add_end(f, text, sends ? END_SENDS : END_RECEIVES, statement);
}

static void look_at_wait(struct finder *f, struct task_text *text,
                         const struct statement *statement, bool inside_loop) {
    const struct statement *start = started_here(text, statement);
    if (!is_between(f, statement->wait.handle)) {
        add_handle(f, text, statement->wait.handle);
        return;
    }
    if (inside_loop || (start && start->start.exchange.kind == COLLECTIVE_SEND))
        text->form = NO_ID;
    add_end(f, text, start ? END_RECEIVED : END_SENT, statement);
}

// Every receive is waited for, and with a label that loops inside the task count nothing is repeated.
static bool is_closed(const struct task_text *text, int depth) {
    uint32_t n_open = 0;
    for (uint32_t i = 0; i < text->n_ends; i++)
        n_open += (text->ends[i].kind == END_RECEIVES) - (text->ends[i].kind == END_RECEIVED);
    return n_open == 0 && !is_counted_inside(text->label->task.microbatch, depth);
}

// What is between parts, and what begins and ends in it.
static void find_ends(struct finder *f, struct task_text *text) {
    struct block own = statements_of(text);
    struct statement_walk walk = walk_statements(&own);
    while (walk_next(&walk)) {
        if (walk.statement->kind == STATEMENT_START)
            look_at_start(f, text, walk.statement, walk.depth > 0);
        else if (walk.statement->kind == STATEMENT_WAIT)
            look_at_wait(f, text, walk.statement, walk.depth > 0);
    }
    if (!is_closed(text, text->depth))
        text->form = NO_ID;
}

// ---- cells ------------------------------------------------------------------------------------

static void note_use(struct finder *f, const struct reference *at, int depth) {
    buffer_id owner = owner_of(f->machine->program, at->buffer);
    const struct buffer *buffer = &f->machine->program->buffers[owner];
    f->named[owner] = true;
    if (buffer_items(buffer) == row_items(buffer) || is_counted_inside(at->indices[0], depth))
        f->whole[owner] = true;
    if (buffer->layout.owners.n && !f->whole[owner])
        f->tangled[owner] = true; // which bytes an item has depends on its number in another way
}

static void note_row(struct finder *f, uint32_t text, const struct reference *at) {
    buffer_id owner = owner_of(f->machine->program, at->buffer);
    struct row_uses *all = &f->uses[owner];
    struct row_use use = {text, f->whole[owner] ? index_constant(0) : normal(at->indices[0])};
    for (uint32_t i = all->n; i-- > 0 && all->list[i].text == text;)
        if (same_index(all->list[i].row, use.row))
            return;
    ARENA_PUSH(f->arena, all->list, all->n, all->cap, use);
}

// What the statements of a text name.
static void note_uses(struct finder *f, uint32_t i, bool rows) {
    const struct program *program = f->machine->program;
    const struct task_text *text = &f->texts->list[i];
    struct block own = statements_of(text);
    struct statement_walk walk = walk_statements(&own);
    while (walk_next(&walk)) {
        const struct statement *statement = walk.statement;
        bool calls = statement->kind == STATEMENT_CALL;
        uint32_t frame = calls ? program_frame(program, statement->call.unit) : NO_ID;
        struct reference in_frame = frame == NO_ID ? (struct reference){0} : reference_to(frame);
        struct access access = {&in_frame, true};
        for (uint32_t k = 0; access.at; access = statement_access(program, statement, k++)) {
            if (access.at == &in_frame && frame == NO_ID)
                continue;
            if (rows)
                note_row(f, i, access.at);
            else
                note_use(f, access.at, text->depth);
        }
    }
}

// Rows that share bytes with what other tasks name could not be told apart from it.
static void find_tangled(struct finder *f) {
    const struct abstract_machine *m = f->machine;
    for (buffer_id a = 0; a < m->program->n_buffers; a++) {
        if (!f->named[a] || f->whole[a] || m->region_of[a] == NO_ID)
            continue;
        for (buffer_id b = 0; b < m->program->n_buffers; b++)
            if (a != b && f->named[b] && buffers_meet(m, a, b))
                f->tangled[a] = f->tangled[b] = true;
    }
}

// ---- tables -----------------------------------------------------------------------------------

static void push(struct finder *f, uint32_t word) {
    ARENA_PUSH(f->arena, f->words, f->n_words, f->cap_words, word);
}

static void push_row(struct finder *f, struct index row) {
    push(f, (uint32_t)row.variable);
    push(f, (uint32_t)row.offset);
    push(f, (uint32_t)row.modulus);
}

// Which rows of it each text names, as words.
static void push_uses(struct finder *f, buffer_id id) {
    const struct buffer *buffer = &f->machine->program->buffers[id];
    f->n_words = 0;
    push(f, f->whole[id]);
    push(f, f->whole[id] ? 1 : (uint32_t)(buffer_items(buffer) / row_items(buffer)));
    push(f, f->tangled[id] ? id : NO_ID); // it would spoil others
    for (uint32_t i = 0; i < f->uses[id].n; i++) {
        push(f, f->uses[id].list[i].text);
        push_row(f, f->uses[id].list[i].row);
    }
}

// The table of what is named as these words say.
static struct table_made *table_of(struct finder *f, bool whole) {
    bool added = false;
    uint32_t at = intern(&f->alike, f->words, f->n_words * (uint32_t)sizeof *f->words, &added);
    if (added)
        ARENA_PUSH(f->arena, f->tables, f->n_tables, f->cap_tables,
                   (struct table_made){.whole = whole, .n_rows = f->words[1]});
    return &f->tables[at];
}

static void add_buffer(struct finder *f, struct table_made *table, buffer_id id) {
    ARENA_PUSH(f->arena, table->buffers, table->n, table->cap, id);
    f->in_table[id] = (uint32_t)(table - f->tables);
}

static void add_shared(struct finder *f, struct table_made *table, struct bytes_shared bytes) {
    ARENA_PUSH(f->arena, table->shared, table->n_shared, table->cap_shared, bytes);
}

static void add_rows(struct finder *f, buffer_id id) {
    int32_t items = row_items(&f->machine->program->buffers[id]);
    push_uses(f, id);
    struct table_made *table = table_of(f, false);
    add_buffer(f, table, id);
    if (f->machine->region_of[id] != NO_ID)
        add_shared(f, table, (struct bytes_shared){{id, 0}, {id, items}});
}

static bool is_before(const struct abstract_machine *m, struct place a, struct place b) {
    return address_before(&m->world->terms->symbols, bytes_begin(m, a.buffer, a.item),
                          bytes_begin(m, b.buffer, b.item));
}

static bool shares_bytes(const struct finder *f, buffer_id id) {
    const struct abstract_machine *m = f->machine;
    for (buffer_id other = 0; m->region_of[id] != NO_ID && other < m->program->n_buffers; other++)
        if (other != id && f->named[other] && f->whole[other] && buffers_meet(m, id, other))
            return true;
    return false;
}

// All that share bytes with the buffer, directly or by way of others: a table of its own, since other tasks than name
// the buffer may name those.
static void add_whole(struct finder *f, buffer_id id) {
    const struct abstract_machine *m = f->machine;
    push_uses(f, id);
    push(f, shares_bytes(f, id) ? id : NO_ID);
    struct table_made *table = table_of(f, true);
    struct bytes_shared bytes = {{id, 0}, {id, 0}};
    uint32_t first = table->n;
    add_buffer(f, table, id);
    for (uint32_t i = first; i < table->n; i++) {
        buffer_id one = table->buffers[i];
        struct place end = {one, (int32_t)buffer_items(&m->program->buffers[one])};
        if (is_before(m, (struct place){one, 0}, bytes.from))
            bytes.from = (struct place){one, 0};
        if (is_before(m, bytes.to, end))
            bytes.to = end;
        for (buffer_id other = 0; m->region_of[id] != NO_ID && other < m->program->n_buffers;
             other++)
            if (f->named[other] && f->whole[other] && f->in_table[other] == NO_ID &&
                buffers_meet(m, one, other))
                add_buffer(f, table, other);
    }
    if (m->region_of[id] != NO_ID)
        add_shared(f, table, bytes);
}

static void find_cells(struct finder *f) {
    struct task_texts *texts = f->texts;
    uint32_t n = f->machine->program->n_buffers;
    for (buffer_id id = 0; id < n; id++) {
        if (!f->named[id] || f->in_table[id] != NO_ID)
            continue;
        if (f->whole[id])
            add_whole(f, id);
        else
            add_rows(f, id);
    }
    for (uint32_t i = 0; i < f->n_tables; i++) {
        const struct table_made *made = &f->tables[i];
        struct table table = {made->buffers, made->n, made->whole, made->shared, made->n_shared};
        const struct table *kept = arena_copy(f->arena, &table, sizeof table);
        for (uint32_t k = 0; k < made->n; k++)
            texts->first_cell[made->buffers[k]] = texts->n_cells;
        for (uint32_t row = 0; row < made->n_rows; row++) {
            struct cell cell = {kept, (int32_t)row};
            ARENA_PUSH(f->arena, texts->cells, texts->n_cells, texts->cap_cells, cell);
        }
    }
}

uint32_t task_cell_of(const struct abstract_machine *m, const struct task_texts *texts,
                      struct place place) {
    uint32_t first = texts->first_cell[place.buffer];
    if (texts->whole[place.buffer])
        return first;
    return first + (uint32_t)(place.item / row_items(&m->program->buffers[place.buffer]));
}

// ---- forms ------------------------------------------------------------------------------------

// An index that depends on loops inside the task alone stands for itself; another is the n-th of the
// task's numbers.
static void push_index(struct finder *f, struct task_text *text, struct index index, int depth) {
    index = normal(index);
    if (index.variable >= 0 && index.variable < depth) {
        push(f, NO_ID);
        push(f, text->n_numbers);
        ARENA_PUSH(f->arena, text->numbers, text->n_numbers, text->cap_numbers, index);
        return;
    }
    push(f, (uint32_t)(index.variable < 0 ? -1 : index.variable - depth));
    push(f, (uint32_t)index.offset);
    push(f, (uint32_t)index.modulus);
}

// Slots of a handle are alike: what is done depends on which of them are one alone.
static void push_slot(struct finder *f, struct task_text *text, uint32_t handle, struct index index,
                      int depth) {
    struct task_slot slot = {handle, normal(index)};
    push(f, handle);
    if (!is_between(f, handle)) { // and loops inside may count them
        push_index(f, text, index, depth);
        return;
    }
    uint32_t i = 0;
    while (i < text->n_slots &&
           (text->slots[i].handle != handle || !same_index(text->slots[i].index, slot.index)))
        i++;
    if (i == text->n_slots)
        ARENA_PUSH(f->arena, text->slots, text->n_slots, text->cap_slots, slot);
    push(f, i);
}

static uint32_t row_of(struct finder *f, struct task_text *text, buffer_id owner,
                       struct index index) {
    struct task_row row = {.first_cell = f->texts->first_cell[owner],
                           .row = normal(index),
                           .whole = f->texts->whole[owner],
                           .before = NO_ID};
    const struct buffer *buffer = &f->machine->program->buffers[owner];
    row.count = (int32_t)(buffer_items(buffer) / row_items(buffer));
    for (uint32_t i = 0; i < text->n_rows; i++) {
        if (text->rows[i].first_cell != row.first_cell)
            continue;
        if (row.whole || same_index(text->rows[i].row, row.row))
            return i;
        row.before = i;
    }
    ARENA_PUSH(f->arena, text->rows, text->n_rows, text->cap_rows, row);
    return text->n_rows - 1;
}

static void push_reference(struct finder *f, struct task_text *text, const struct reference *at,
                           int depth) {
    buffer_id owner = owner_of(f->machine->program, at->buffer);
    const struct buffer *buffer = &f->machine->program->buffers[owner];
    push(f, at->buffer);
    push(f, row_of(f, text, owner, at->indices[0]));
    for (unsigned i = f->texts->whole[owner] ? 0 : 1; i < buffer->stacks.n; i++)
        push_index(f, text, at->indices[i], depth);
    if (f->tangled[owner])
        text->form = NO_ID;
}

static void push_exchange(struct finder *f, const struct exchange *exchange) {
    push(f, exchange->kind);
    push(f, exchange->axes.n);
    for (unsigned i = 0; i < exchange->axes.n; i++)
        push(f, (uint32_t)exchange->axes.axes[i]);
    push(f, (uint32_t)exchange->dim);
    push(f, (uint32_t)exchange->concat_dim);
    push(f, (uint32_t)exchange->shift);
    push(f, (uint32_t)exchange->peer);
    push(f, exchange->operation);
}

static void push_statement(struct finder *f, struct task_text *text,
                           const struct statement_walk *walk, int depth) {
    const struct statement *statement = walk->statement;
    const struct program *program = f->machine->program;
    push(f, statement->kind);
    push(f, (uint32_t)walk->depth);
    switch (statement->kind) {
    case STATEMENT_LOOP:
        push(f, (uint32_t)statement->loop.begin);
        push(f, (uint32_t)statement->loop.end);
        push(f, (uint32_t)statement->loop.stride);
        if (statement->loop.stride && walk->depth == 0) // it goes with a loop around the task
            push_index(f, text, index_variable(depth - 1, 0, 0), depth);
        push(f, statement->loop.descending);
        break;
    case STATEMENT_CALL:
        push(f, statement->call.unit);
        if (program_frame(program, statement->call.unit) != NO_ID) {
            struct reference frame = reference_to(program_frame(program, statement->call.unit));
            push_reference(f, text, &frame, depth);
        }
        break;
    case STATEMENT_START:
        push_exchange(f, &statement->start.exchange);
        push(f, statement->start.n_pieces);
        push_slot(f, text, statement->start.handle, statement->start.handle_index, depth);
        break;
    case STATEMENT_WAIT:
        push_slot(f, text, statement->wait.handle, statement->wait.index, depth);
        break;
    case STATEMENT_FREE:
        push(f, statement->free.n_items);
        break;
    default:
        break;
    }
    struct access access;
    for (uint32_t i = 0; (access = statement_access(program, statement, i)).at; i++)
        push_reference(f, text, access.at, depth);
}

static void find_form(struct finder *f, struct task_text *text, int depth) {
    struct block own = statements_of(text);
    struct statement_walk walk = walk_statements(&own);
    f->n_words = 0;
    push(f, text->label->task.kind);
    push(f, text->label->task.stage);
    while (walk_next(&walk))
        push_statement(f, text, &walk, depth);
    if (text->form != NO_ID)
        text->form = intern(&f->forms, f->words, f->n_words * (uint32_t)sizeof *f->words, NULL);
}

// ---- the step ---------------------------------------------------------------------------------

static void find_labels(struct task_texts *texts, struct arena *arena) {
    uint32_t first = NO_ID, last = 0;
    for (uint32_t i = 0; i < texts->n; i++) {
        uint32_t id = texts->list[i].label->id;
        first = id < first ? id : first;
        last = id > last ? id : last;
    }
    texts->first_id = first;
    texts->n_ids = texts->n ? last - first + 1 : 0;
    texts->behind = ARENA_ARRAY(arena, uint32_t, texts->n_ids);
    memset(texts->behind, 0xff, texts->n_ids * sizeof *texts->behind);
    for (uint32_t i = 0; i < texts->n; i++)
        texts->behind[texts->list[i].label->id - first] = i;
}

struct task_texts *task_texts_of(struct abstract_machine *m) {
    uint32_t n = m->program->n_buffers;
    struct arena *arena = m->world->arena;
    struct finder f = {.machine = m,
                       .arena = arena,
                       .texts = ARENA_NEW(arena, struct task_texts),
                       .forms.arena = arena,
                       .named = ARENA_ARRAY(arena, bool, n + 1),
                       .whole = ARENA_ARRAY(arena, bool, n + 1),
                       .tangled = ARENA_ARRAY(arena, bool, n + 1),
                       .uses = ARENA_ARRAY(arena, struct row_uses, n + 1),
                       .alike.arena = arena,
                       .in_table = ARENA_ARRAY(arena, uint32_t, n + 1)};
    struct task_texts *texts = f.texts;
    memset(f.in_table, 0xff, n * sizeof *f.in_table);
    texts->first_cell = arena_copy(arena, f.in_table, (n + 1) * sizeof *f.in_table);
    find_texts(&f);
    for (uint32_t i = 0; i < texts->n; i++)
        find_ends(&f, &texts->list[i]);
    for (uint32_t i = 0; i < texts->n; i++)
        if (texts->list[i].form != NO_ID)
            note_uses(&f, i, false);
    find_tangled(&f);
    for (uint32_t i = 0; i < texts->n; i++)
        if (texts->list[i].form != NO_ID)
            note_uses(&f, i, true);
    texts->whole = f.whole;
    find_cells(&f);
    for (uint32_t i = 0; i < texts->n; i++)
        if (texts->list[i].form != NO_ID)
            find_form(&f, &texts->list[i], texts->list[i].depth);
    texts->n_forms = f.forms.n;
    find_labels(texts, arena);
    return texts;
}

const struct task_text *task_text_find(const struct task_texts *texts,
                                       const struct statement *label) {
    uint32_t at = label->id - texts->first_id;
    const struct task_text *text =
        at < texts->n_ids && texts->behind[at] != NO_ID ? &texts->list[texts->behind[at]] : NULL;
    return text && text->label == label ? text : NULL;
}
