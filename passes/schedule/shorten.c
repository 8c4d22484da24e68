// Shortens a step (see shorten.h).
//
// Loops, the stacks of buffers, and handles lie on lines of whole numbers (rulers.h). An index ties
// two: `x[l+1]` the line of the loop and that of x, and a loop over 2*g .. 2*g+2 those of two loops,
// one of which counts in larger units. The ends of loops and buffers, and single items that are
// named, are marks.
#include "passes/schedule/shorten.h"

#include "passes/schedule/rulers.h"

enum { FEW = 8 }; // iterations that are sooner followed than thought about

// A place that a statement names: an item of a buffer or a slot of a handle.
struct named {
    uint32_t line, loop; // the loop's line; NO_ID: it is named by a number
    struct index *index;
    uint32_t handle; // of the start that names it; NO_ID: it is another statement
};

// The last start of a handle, in the order of the text.
struct flight {
    const struct transfer *start; // NULL: there was none, or it was waited for
    uint32_t around;
    bool carries; // some wait stands in another iteration than its start, perhaps
};

struct shortener {
    struct program *program; // a copy, whose step becomes the short one
    struct step *step;
    struct arena *arena;
    struct rulers rulers; // its lines are those of stacks, handles, places
    uint32_t n_stacks, n_handles;
    uint32_t *around;
    struct flight *flights; // by handle
    struct named *named;
    uint32_t n_named, cap_named;
};

// ---- what a step names ------------------------------------------------------------------------

// Every buffer has a line for each stack that it may have.
static uint32_t line_of_stack(buffer_id buffer, unsigned stack) {
    return buffer * MAX_STACKS + stack;
}

static uint32_t line_of_handle(const struct shortener *s, uint32_t handle) {
    return s->n_stacks + handle;
}

static uint32_t line_of_place(const struct shortener *s, uint32_t place) {
    return s->n_stacks + s->n_handles + place;
}

static struct stack *stack_of_line(const struct shortener *s, uint32_t line) {
    struct stacks *stacks = &s->program->buffers[line / MAX_STACKS].stacks;
    return line % MAX_STACKS < stacks->n ? &stacks->list[line % MAX_STACKS] : NULL;
}

static bool is_remainder(const struct line *loop, const struct index *index) {
    return index->modulus &&
           (loop->first + index->offset < 0 || loop->last + index->offset >= index->modulus);
}

// `open`: the lines of the loops around.
static void name_line(struct shortener *s, uint32_t line, struct index *index, uint32_t handle,
                      const uint32_t *open) {
    uint32_t loop = index->variable < 0 ? NO_ID : open[index->variable];
    ARENA_PUSH(s->arena, s->named, s->n_named, s->cap_named,
               (struct named){line, loop, index, handle});
    s->rulers.lines[line].used_in_turn |=
        loop != NO_ID && is_remainder(&s->rulers.lines[loop], index);
}

static void name_places(struct shortener *s, struct statement *statement, const uint32_t *open) {
    uint32_t handle = statement->kind == STATEMENT_START ? statement->start.handle : NO_ID;
    struct access access;
    for (uint32_t i = 0; (access = statement_access(s->program, statement, i)).at; i++) {
        buffer_id buffer = buffer_whole(s->program, access.at->buffer);
        const struct buffer *whole = &s->program->buffers[buffer];
        for (unsigned k = 0; k < whole->stacks.n && !buffer_outlives_step(whole); k++)
            name_line(s, line_of_stack(buffer, k), &access.at->indices[k], handle, open);
    }
    if (statement->kind == STATEMENT_START)
        name_line(s, line_of_handle(s, handle), &statement->start.handle_index, NO_ID, open);
    else if (statement->kind == STATEMENT_WAIT)
        name_line(s, line_of_handle(s, statement->wait.handle), &statement->wait.index, NO_ID,
                  open);
}

// A wait behind its start, in the same block, ends what was started in the same iteration.
static void follow_flight(struct shortener *s, const struct statement *statement, uint32_t around) {
    if (statement->kind == STATEMENT_START) {
        struct flight *flight = &s->flights[statement->start.handle];
        *flight = (struct flight){&statement->start, around, flight->carries || flight->start};
    } else if (statement->kind == STATEMENT_WAIT) {
        struct flight *flight = &s->flights[statement->wait.handle];
        flight->carries |= !flight->start || flight->around != around ||
                           !index_equal(flight->start->handle_index, statement->wait.index);
        flight->start = NULL;
    }
}

static void enter_loop(struct shortener *s, uint32_t line, const struct loop *loop,
                       uint32_t outer) {
    struct line *made = &s->rulers.lines[line];
    *made = (struct line){.is_loop = true,
                          .stride = loop->stride,
                          .begin = loop->begin,
                          .end = loop->end,
                          .top = line,
                          .outer = outer,
                          .first = loop->begin,
                          .last = loop->end - 1,
                          .period = 1};
    if (!loop->stride)
        return;
    made->top = s->rulers.lines[outer].top;
    made->first += loop->stride * s->rulers.lines[outer].first;
    made->last += loop->stride * s->rulers.lines[outer].last;
    tie_lines(&s->rulers, (struct tie){.from = outer,
                                       .to = line,
                                       .ratio = loop->stride,
                                       .first = loop->begin,
                                       .last = loop->end - 1});
}

static void read_step(struct shortener *s, const struct block *body) {
    uint32_t open[LIMIT_LOOP_DEPTH] = {0}, place = 0;
    struct statement_walk walk = walk_statements(body);
    while (walk_next(&walk)) {
        uint32_t line = line_of_place(s, place), outer = walk.depth ? open[walk.depth - 1] : NO_ID;
        s->around[place++] = outer == NO_ID ? NO_ID : outer - line_of_place(s, 0);
        if (walk.statement->kind == STATEMENT_LOOP) {
            enter_loop(s, line, &walk.statement->loop, outer);
            open[walk.depth] = line;
        } else if (walk.statement->kind != STATEMENT_FREE) {
            name_places(s, walk.statement, open);
            follow_flight(s, walk.statement, outer);
        }
    }
}

// ---- ties and marks ---------------------------------------------------------------------------

// How many devices own items of the stack in turn.
static int64_t owners_of_line(const struct shortener *s, uint32_t line) {
    const struct buffer *buffer = &s->program->buffers[line / MAX_STACKS];
    return mesh_group_size(&s->program->job->mesh, &buffer->layout.owners);
}

// Slots that are used in turn stay where they are, so their loops may lose whole rounds only; and
// none where an index says which slot without a remainder.
static void tie_named(struct shortener *s, const struct named *named) {
    struct line *line = &s->rulers.lines[named->line], *loop = &s->rulers.lines[named->loop];
    if (named->line < s->n_stacks)
        loop->period = common_multiple(loop->period, owners_of_line(s, named->line));
    const struct flight *flight = named->handle == NO_ID ? NULL : &s->flights[named->handle];
    loop->names = true;
    loop->carries |= flight && (flight->carries || flight->start);
    if (!line->used_in_turn) {
        int64_t offset = named->index->offset;
        tie_lines(&s->rulers, (struct tie){.from = named->loop,
                                           .to = named->line,
                                           .ratio = 1,
                                           .first = offset,
                                           .last = offset});
    } else if (named->index->modulus) {
        loop->period = common_multiple(loop->period, named->index->modulus);
        if (named->line < s->n_stacks && (stack_of_line(s, named->line)->kind == STACK_SLOTS ||
                                          stack_of_line(s, named->line)->kind == STACK_IN_FLIGHT))
            loop->period = common_multiple(loop->period, line->end); // release names slots by it
    } else {
        s->rulers.lines[loop->top].stays = true;
    }
}

// Takes nothing out beside a ruler by which both stacks of a buffer count: there an item may stand
// for as many others as either number says, or as both do.
static void keep_diagonals(struct shortener *s) {
    for (uint32_t i = 0; i < s->n_stacks; i += MAX_STACKS)
        if (s->rulers.lines[i].ruler && s->rulers.lines[i].ruler == s->rulers.lines[i + 1].ruler)
            s->rulers.lines[i].ruler->is_rigid = true;
}

// Single items that are named.
static void mark_named(struct shortener *s) {
    for (uint32_t i = 0; i < s->n_named; i++) {
        const struct named *named = &s->named[i];
        if (named->loop != NO_ID)
            continue;
        mark_place(&s->rulers, named->line, index_at(*named->index, NULL));
        mark_place(&s->rulers, named->line, index_at(*named->index, NULL) + 1);
    }
}

// ---- the short step ---------------------------------------------------------------------------

// No slot that is used in turn is taken out; a loop that says without a remainder which it
// means has all its iterations, and its variable may have others before them to go on from.
static void shorten_index(const struct shortener *s, const struct named *named) {
    const struct line *line = &s->rulers.lines[named->line];
    struct index *index = named->index;
    if (named->loop == NO_ID) {
        int64_t item = index_at(*index, NULL);
        *index = index_constant(item - lost_before(line, item) + lost_before(line, 0));
    } else if (!line->used_in_turn) {
        *index = index_variable(index->variable, index->offset + lost_before(line, 0), 0);
    } else if (!index->modulus) {
        const struct line *loop = &s->rulers.lines[named->loop], *top = &s->rulers.lines[loop->top];
        *index = index_moved(*index, lost_before(top, top->begin) * top->unit / loop->unit);
    }
}

// What messages name is one item at both ends, of which one has been shortened.
static void shorten_statements(const struct shortener *s) {
    uint32_t place = 0;
    struct statement_walk walk = walk_statements(&s->step->body);
    while (walk_next(&walk)) {
        const struct line *line = &s->rulers.lines[line_of_place(s, place++)];
        message_join_ends(walk.statement);
        if (walk.statement->kind != STATEMENT_LOOP || line->stride)
            continue;
        walk.statement->loop.begin -= lost_before(line, line->begin);
        walk.statement->loop.end -= lost_before(line, line->end);
    }
}

static void shorten_counts(const struct shortener *s) {
    for (uint32_t i = 0; i < line_of_place(s, 0); i++) {
        struct line *line = &s->rulers.lines[i];
        struct stack *stack = i < s->n_stacks ? stack_of_line(s, i) : NULL;
        int64_t lost = lost_before(line, line->end) - lost_before(line, 0);
        if (stack)
            stack->count -= lost;
        else if (i >= s->n_stacks)
            s->step->handles[i - s->n_stacks].slots -= lost;
        line->short_origin = line->origin - lost_before(line, 0) * line->unit;
    }
    for (uint32_t i = line_of_place(s, 0); i < s->rulers.n_lines; i++)
        s->rulers.lines[i].short_origin = s->rulers.lines[i].origin;
}

// A copy of what differs in the short step.
static void copy_step(struct shortener *s, const struct program *program, enum step_kind kind) {
    s->program = arena_copy(s->arena, program, sizeof *program);
    s->step = &s->program->steps[kind];
    s->n_stacks = line_of_stack(program->n_buffers, 0);
    s->n_handles = s->step->n_handles;
    s->program->buffers =
        arena_copy(s->arena, program->buffers, program->n_buffers * sizeof *program->buffers);
    s->step->handles =
        arena_copy(s->arena, s->step->handles, s->n_handles * sizeof *s->step->handles);
    struct block *body = &s->step->body;
    body->statements = arena_copy(s->arena, body->statements, body->n * sizeof *body->statements);
    for (uint32_t i = 0; i < body->n; i++)
        body->statements[i] = statement_clone(s->arena, program, &body->statements[i]);
}

static void make_lines(struct shortener *s) {
    uint32_t n_places = 0;
    struct statement_walk walk = walk_statements(&s->step->body);
    while (walk_next(&walk))
        n_places++;
    s->rulers.n_lines = line_of_place(s, n_places);
    s->rulers.lines = ARENA_ARRAY(s->arena, struct line, s->rulers.n_lines);
    s->around = ARENA_ARRAY(s->arena, uint32_t, n_places);
    s->flights = ARENA_ARRAY(s->arena, struct flight, s->n_handles + 1);
    for (uint32_t i = 0; i < s->n_stacks; i++) {
        const struct stack *stack = stack_of_line(s, i);
        s->rulers.lines[i].is_stack = true;
        s->rulers.lines[i].end = stack ? stack->count : 1;
    }
    for (uint32_t i = 0; i < s->n_handles; i++)
        s->rulers.lines[line_of_handle(s, i)].end = s->step->handles[i].slots;
}

static bool has_long_loop(const struct block *body) {
    struct statement_walk walk = walk_statements(body);
    while (walk_next(&walk)) {
        const struct loop *loop = &walk.statement->loop;
        if (walk.statement->kind == STATEMENT_LOOP && loop->end - loop->begin > FEW)
            return true;
    }
    return false;
}

struct shortened not_shortened(const struct program *program) {
    return (struct shortened){.program = program};
}

struct shortened shorten(const struct program *program, enum step_kind kind, struct arena *arena) {
    if (!has_long_loop(&program->steps[kind].body))
        return not_shortened(program);
    struct shortener s = {.arena = arena, .rulers = {.arena = arena}};
    copy_step(&s, program, kind);
    make_lines(&s);
    read_step(&s, &s.step->body);
    for (uint32_t i = 0; i < s.n_named; i++)
        if (s.named[i].loop != NO_ID)
            tie_named(&s, &s.named[i]);
    lay_rulers(&s.rulers);
    keep_diagonals(&s);
    measure_rulers(&s.rulers);
    mark_named(&s);
    if (!cut_rulers(&s.rulers))
        return not_shortened(program);
    for (uint32_t i = 0; i < s.n_named; i++)
        shorten_index(&s, &s.named[i]);
    shorten_statements(&s);
    shorten_counts(&s);
    return (struct shortened){s.program, s.rulers.lines, &s.rulers.lines[line_of_place(&s, 0)],
                              s.around};
}

// ---- and back ---------------------------------------------------------------------------------

int64_t whole_place(const struct shortened *s, buffer_id buffer, unsigned stack, int64_t place) {
    return s->stacks ? whole_of(&s->stacks[line_of_stack(buffer, stack)], place) : place;
}

int64_t whole_variable(const struct shortened *s, uint32_t loop, int64_t value) {
    return s->loops ? whole_of(&s->loops[loop], value) : value;
}

int64_t places_stood_for(const struct shortened *s, buffer_id buffer, unsigned stack,
                         int64_t place) {
    const struct line *line = s->stacks ? &s->stacks[line_of_stack(buffer, stack)] : NULL;
    const struct cut *cut = line ? cut_at(line, place, 0) : NULL;
    return cut ? 1 + cut->taken / line->ruler->period : 1;
}

int64_t items_stood_for(const struct shortened *s, buffer_id buffer, int64_t item) {
    int64_t places[MAX_STACKS], items = 1;
    buffer_places(&s->program->buffers[buffer], item, places);
    for (unsigned k = 0; k < MAX_STACKS; k++)
        items *= places_stood_for(s, buffer, k, places[k]);
    return items;
}

bool is_in_middle(const struct shortened *s, uint32_t loop, int64_t variable) {
    const struct line *line = s->loops ? &s->loops[loop] : NULL;
    return line && line->ruler->has_items && cut_at(line, variable, line->ruler->slack);
}
