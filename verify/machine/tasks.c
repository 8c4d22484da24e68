// Finds the tasks in a step's text; see tasks.h.
//
// A task is what stands behind its label, up to the next one, to a loop in which there are others, or to
// the end of the block. Its microbatch goes into the rows that it names and into nothing else. A row is
// given by the outer index of a buffer, where every task gives one that does not depend on loops inside
// it. All other buffers are named as a whole, those that share bytes together.
#include "verify/machine/tasks.h"

#include <stdlib.h>
#include <string.h>

#include "verify/machine/sides.h"

struct finder {
    struct abstract_machine *machine;
    struct arena *arena;
    struct task_texts *texts;
    struct intern forms;
    bool *named, *whole, *tangled; // of every buffer
    uint32_t *words;               // of a form
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

static void add_end(struct finder *f, struct task_text *text, enum task_end_kind kind,
                    const struct statement *statement) {
    struct task_end end = {kind, statement};
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

static int64_t items_of_row(const struct buffer *buffer) {
    return buffer->stacks.n < 2 ? 1 : buffer->stacks.list[1].count;
}

static void note_use(struct finder *f, const struct reference *at, int depth) {
    buffer_id owner = owner_of(f->machine->program, at->buffer);
    const struct buffer *buffer = &f->machine->program->buffers[owner];
    f->named[owner] = true;
    if (buffer_items(buffer) == items_of_row(buffer) || is_counted_inside(at->indices[0], depth))
        f->whole[owner] = true;
    if (buffer->layout.owners.n && !f->whole[owner])
        f->tangled[owner] = true; // which bytes an item has depends on its number in another way
}

static void note_uses(struct finder *f, const struct task_text *text) {
    const struct program *program = f->machine->program;
    struct block own = statements_of(text);
    struct statement_walk walk = walk_statements(&own);
    while (walk_next(&walk)) {
        const struct statement *statement = walk.statement;
        struct access access;
        for (uint32_t i = 0; (access = statement_access(program, statement, i)).at; i++)
            note_use(f, access.at, text->depth);
        if (statement->kind == STATEMENT_CALL &&
            program_frame(program, statement->call.unit) != NO_ID) {
            struct reference frame = reference_to(program_frame(program, statement->call.unit));
            note_use(f, &frame, text->depth);
        }
    }
}

static void add_cell(struct finder *f, struct cell cell) {
    ARENA_PUSH(f->arena, f->texts->cells, f->texts->n_cells, f->texts->cap_cells, cell);
}

static void add_rows(struct finder *f, buffer_id id) {
    const struct buffer *buffer = &f->machine->program->buffers[id];
    int32_t count = (int32_t)items_of_row(buffer), all = (int32_t)buffer_items(buffer);
    const buffer_id *own = arena_copy(f->arena, &id, sizeof id);
    f->texts->first_cell[id] = f->texts->n_cells;
    for (int32_t begin = 0; begin < all; begin += count)
        add_cell(f, (struct cell){own, 1, begin, begin + count, {id, begin}, {id, begin + count}});
}

// All that share bytes with the buffer, directly or by way of others.
static void add_whole(struct finder *f, buffer_id id) {
    const struct abstract_machine *m = f->machine;
    struct task_texts *texts = f->texts;
    uint32_t n = 1, n_buffers = m->program->n_buffers;
    buffer_id *list = ARENA_ARRAY(f->arena, buffer_id, n_buffers);
    list[0] = id;
    texts->first_cell[id] = texts->n_cells;
    for (uint32_t i = 0; i < n; i++)
        for (buffer_id other = 0; other < n_buffers; other++)
            if (f->named[other] && f->whole[other] && texts->first_cell[other] == NO_ID &&
                buffers_meet(m, list[i], other)) {
                texts->first_cell[other] = texts->n_cells;
                list[n++] = other;
            }
    struct cell cell = {.buffers = list, .n_buffers = n, .from = {id, 0}};
    int64_t end = 0;
    for (uint32_t i = 0; i < n; i++) {
        int64_t items = buffer_items(&m->program->buffers[list[i]]);
        struct address begin = bytes_begin(m, list[i], 0), first;
        first = bytes_begin(m, cell.from.buffer, 0);
        if (begin.base < first.base)
            cell.from.buffer = list[i];
        if (begin.base + items * begin.stride > end) {
            end = begin.base + items * begin.stride;
            cell.to = (struct place){list[i], (int32_t)items};
        }
        texts->only[list[i]] = true;
    }
    if (n == 1)
        cell.end = (int32_t)buffer_items(&m->program->buffers[id]);
    add_cell(f, cell);
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

static void find_cells(struct finder *f) {
    struct task_texts *texts = f->texts;
    uint32_t n = f->machine->program->n_buffers;
    texts->first_cell = ARENA_ARRAY(f->arena, uint32_t, n + 1);
    texts->only = ARENA_ARRAY(f->arena, bool, n + 1);
    memset(texts->first_cell, 0xff, n * sizeof *texts->first_cell);
    for (buffer_id id = 0; id < n; id++) {
        if (!f->named[id] || texts->first_cell[id] != NO_ID)
            continue;
        if (f->whole[id])
            add_whole(f, id);
        else
            add_rows(f, id);
    }
}

uint32_t task_cell_of(const struct abstract_machine *m, const struct task_texts *texts,
                      struct place place) {
    uint32_t first = texts->first_cell[place.buffer];
    if (texts->only[place.buffer])
        return first;
    return first + (uint32_t)(place.item / items_of_row(&m->program->buffers[place.buffer]));
}

// ---- forms ------------------------------------------------------------------------------------

static void push(struct finder *f, uint32_t word) {
    ARENA_PUSH(f->arena, f->words, f->n_words, f->cap_words, word);
}

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

static uint32_t row_of(struct finder *f, struct task_text *text, buffer_id owner,
                       struct index index) {
    struct task_row row = {.first_cell = f->texts->first_cell[owner],
                           .row = normal(index),
                           .only = f->texts->only[owner],
                           .before = NO_ID};
    const struct buffer *buffer = &f->machine->program->buffers[owner];
    row.count = (int32_t)(buffer_items(buffer) / items_of_row(buffer));
    for (uint32_t i = 0; i < text->n_rows; i++) {
        if (text->rows[i].first_cell != row.first_cell)
            continue;
        if (row.only || same_index(text->rows[i].row, row.row))
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
    for (unsigned i = f->texts->only[owner] ? 0 : 1; i < buffer->stacks.n; i++)
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
        push(f, statement->start.handle);
        push(f, statement->start.n_pieces);
        push_index(f, text, statement->start.handle_index, depth);
        break;
    case STATEMENT_WAIT:
        push(f, statement->wait.handle);
        push_index(f, text, statement->wait.index, depth);
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

static int by_label(const void *left, const void *right) {
    const struct task_text *a = left, *b = right;
    return a->label->id < b->label->id ? -1 : a->label->id > b->label->id;
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
                       .tangled = ARENA_ARRAY(arena, bool, n + 1)};
    struct task_texts *texts = f.texts;
    find_texts(&f);
    for (uint32_t i = 0; i < texts->n; i++)
        find_ends(&f, &texts->list[i]);
    for (uint32_t i = 0; i < texts->n; i++)
        if (texts->list[i].form != NO_ID)
            note_uses(&f, &texts->list[i]);
    find_tangled(&f);
    find_cells(&f);
    for (uint32_t i = 0; i < texts->n; i++)
        if (texts->list[i].form != NO_ID)
            find_form(&f, &texts->list[i], texts->list[i].depth);
    texts->n_forms = f.forms.n;
    if (texts->n)
        qsort(texts->list, texts->n, sizeof *texts->list, by_label);
    return texts;
}

const struct task_text *task_text_find(const struct task_texts *texts,
                                       const struct statement *label) {
    uint32_t low = 0, high = texts->n;
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        if (texts->list[middle].label->id <= label->id)
            low = middle;
        else
            high = middle;
    }
    return texts->n && texts->list[low].label == label ? &texts->list[low] : NULL;
}
