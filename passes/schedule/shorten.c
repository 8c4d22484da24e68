// Shortens a step (see shorten.h).
//
// Loops, the stacks of buffers, and handles lie on *lines* of whole numbers. An index ties two:
// `x[l+1]` the line of the loop and that of x, and a loop over 2*g .. 2*g+2 those of two loops, one
// of which counts in larger units. Lines that are tied are laid beside one *ruler*, so that what is
// named together lies together, but for a small *slack*. The ends of loops and buffers, and single
// items that are named, are *marks* on the ruler. Between two marks that are far apart nothing
// distinguishes one place from another but the remainders by which slots are used in turn, whose
// common multiple is the ruler's *period*. So periods can be taken out there, with all that lies
// beside them on all lines: before and behind what is taken out everything is as it was.
//
// What is kept between two marks may differ from the rest as far as the slack goes from each, and so
// do the first period, where slots still hold what was there before, and the last, which leaves
// nothing to a next one. Between them are a period in which all is steady; the middle: the
// items, a period of them, that stand for those that are left out, with the slack on both sides
// where their lives begin and end; and a steady period again. Where no items are named nothing has
// to stand for others: three periods do.
#include "passes/schedule/shorten.h"

#include <stdlib.h>

#include "ir/check.h"

enum { FEW = 8 }; // iterations that are sooner followed than thought about
// Nothing is taken out of what is beyond these; sums and products of both fit 63 bits.
static const int64_t max_unit = INT64_C(1) << 10, max_place = INT64_C(1) << 40;

struct cut {
    int64_t at, taken; // these are the first that are left out, and so many
};

struct ruler {
    int64_t period, slack;
    bool has_items, carries;
    bool is_rigid;    // its ties contradict each other
    struct cut *cuts; // in order
    uint32_t n_cuts, cap_cuts;
};

// x lies at origin + unit * x of the ruler; in the short step at short_origin + unit * x, since
// items are counted from 0 again, but variables go on from where they are.
struct line {
    struct ruler *ruler; // NULL: it has none, nothing is taken out
    int64_t unit, origin, short_origin;
    int64_t begin, end;     // of a loop that goes with another not its values: see struct loop
    struct tie *from, *to;  // of which it is that end
    bool used_in_turn;      // items that are named by a remainder
    bool is_loop, stays;    // stays: none of its iterations can be taken out
    bool names, carries;    // carries: what is named in one of them is in use until another
    int64_t stride;         // of a loop, as the following
    uint32_t top;           // of loops that go with each other the outermost, a line
    int64_t first, last;    // values of the variable
    int64_t period, spread; // of indices by it; how far it may be from `top`
};

// Beside x of line `from` lies ratio * x + first, or what follows to ratio * x + last, of `to`.
struct tie {
    uint32_t from, to;
    int64_t ratio, first, last;
    struct tie *next_from, *next_to;
};

struct mark {
    const struct ruler *ruler;
    int64_t at;
};

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
    struct line *lines; // of stacks, handles, places
    uint32_t n_lines, n_stacks, n_handles;
    uint32_t *around;
    struct flight *flights; // by handle
    struct named *named;
    uint32_t n_named, cap_named;
    struct tie *ties;
    uint32_t n_ties, cap_ties;
    struct mark *marks;
    uint32_t n_marks, cap_marks;
    uint32_t *queue; // of lines
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
    s->lines[line].used_in_turn |= loop != NO_ID && is_remainder(&s->lines[loop], index);
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
    struct line *made = &s->lines[line];
    *made = (struct line){.is_loop = true,
                          .stride = loop->stride,
                          .begin = loop->begin,
                          .end = loop->end,
                          .top = line,
                          .first = loop->begin,
                          .last = loop->end - 1,
                          .period = 1};
    if (!loop->stride)
        return;
    made->top = s->lines[outer].top;
    made->first += loop->stride * s->lines[outer].first;
    made->last += loop->stride * s->lines[outer].last;
    ARENA_PUSH(s->arena, s->ties, s->n_ties, s->cap_ties,
               (struct tie){.from = outer,
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

// ---- ties -------------------------------------------------------------------------------------

// The least common one. 0: it is beyond counting, as what it is of may be already.
static int64_t multiple(int64_t a, int64_t b) {
    if (a == 0 || b == 0 || a / greatest_common_divisor(a, b) > max_place / b)
        return 0;
    return least_common_multiple(a, b);
}

// Slots that are used in turn stay where they are, so their loops may lose whole rounds only; and
// none where an index says which slot without a remainder.
static void tie_named(struct shortener *s, const struct named *named) {
    struct line *line = &s->lines[named->line], *loop = &s->lines[named->loop];
    const struct flight *flight = named->handle == NO_ID ? NULL : &s->flights[named->handle];
    loop->names = true;
    loop->carries |= flight && (flight->carries || flight->start);
    if (!line->used_in_turn) {
        int64_t offset = named->index->offset;
        ARENA_PUSH(s->arena, s->ties, s->n_ties, s->cap_ties,
                   (struct tie){.from = named->loop,
                                .to = named->line,
                                .ratio = 1,
                                .first = offset,
                                .last = offset});
    } else if (named->index->modulus) {
        loop->period = multiple(loop->period, named->index->modulus);
        if (named->line < s->n_stacks && stack_of_line(s, named->line)->kind == STACK_SLOTS)
            loop->period = multiple(loop->period, line->end); // release names slots by it
    } else {
        s->lines[loop->top].stays = true;
    }
}

// Backwards, so that each line's list is in the order of the text; and that it is known of a loop
// that goes with another whether it names anything. If not it is tied to nothing.
static void list_ties(struct shortener *s) {
    uint32_t first = s->n_ties;
    for (uint32_t i = s->n_ties; i-- > 0;) {
        struct tie *tie = &s->ties[i];
        if (s->lines[tie->to].is_loop && !s->lines[tie->to].names) {
            s->lines[tie->to].stride = 0;
            continue;
        }
        s->lines[tie->from].names = true;
        s->ties[--first] = *tie;
    }
    s->ties += first;
    s->n_ties -= first;
    for (uint32_t i = s->n_ties; i-- > 0;) {
        struct tie *tie = &s->ties[i];
        tie->next_from = s->lines[tie->from].from;
        tie->next_to = s->lines[tie->to].to;
        s->lines[tie->from].from = s->lines[tie->to].to = tie;
    }
}

// ---- rulers -----------------------------------------------------------------------------------

static bool is_countable(const struct line *line, const struct tie *tie) {
    return line->unit <= max_unit && tie->ratio <= max_unit && -max_place <= line->origin &&
           line->origin <= max_place && -max_place <= tie->first && tie->last <= max_place;
}

static void use_smaller_units(struct shortener *s, uint32_t first, uint32_t end, int64_t ratio) {
    for (uint32_t i = first; i < end; i++) {
        s->lines[s->queue[i]].unit *= ratio;
        s->lines[s->queue[i]].origin *= ratio;
    }
}

// Lays the other line of a tie beside the same ruler. `n`: lines in the queue.
static void lay_line(struct shortener *s, const struct tie *tie, bool forward, uint32_t *n) {
    uint32_t id = forward ? tie->to : tie->from;
    const struct line *known = &s->lines[forward ? tie->from : tie->to];
    struct line *line = &s->lines[id];
    if (line->ruler)
        return;
    line->ruler = known->ruler;
    line->unit = forward ? known->unit / tie->ratio : known->unit * tie->ratio;
    line->origin = forward ? known->origin - line->unit * tie->first
                           : known->origin + known->unit * tie->first;
    s->queue[(*n)++] = id;
}

// Everything that is tied to a line, directly or not. Returns how many lines the queue then has.
static uint32_t lay_lines(struct shortener *s, uint32_t first) {
    uint32_t n = first + 1;
    for (uint32_t i = first; i < n; i++) {
        const struct line *line = &s->lines[s->queue[i]];
        for (const struct tie *tie = line->from; tie && is_countable(line, tie);
             tie = tie->next_from) {
            if (line->unit % tie->ratio)
                use_smaller_units(s, first, n, tie->ratio);
            lay_line(s, tie, true, &n);
        }
        for (const struct tie *tie = line->to; tie && is_countable(line, tie); tie = tie->next_to)
            lay_line(s, tie, false, &n);
    }
    return n;
}

static void lay_rulers(struct shortener *s) {
    uint32_t n = 0;
    for (uint32_t i = line_of_place(s, 0); i < s->n_lines; i++) {
        struct line *line = &s->lines[i];
        if (!line->is_loop || line->ruler)
            continue;
        line->ruler = ARENA_NEW(s->arena, struct ruler);
        line->ruler->period = 1;
        line->unit = 1;
        s->queue[n] = i;
        n = lay_lines(s, n);
    }
}

static int64_t distance(const struct line *from, const struct line *to, int64_t offset) {
    int64_t d = to->origin + to->unit * offset - from->origin;
    return d < 0 ? -d : d;
}

// How far apart is what lies beside each other? Loops that go with another come before what they
// name, so their distance from it is known then.
static void measure_ties(struct shortener *s) {
    for (uint32_t i = 0; i < s->n_ties; i++) {
        const struct tie *tie = &s->ties[i];
        struct line *from = &s->lines[tie->from], *to = &s->lines[tie->to];
        struct ruler *ruler = from->ruler;
        if (!is_countable(from, tie) || to->ruler != ruler || to->unit * tie->ratio != from->unit) {
            ruler->is_rigid = true;
            if (to->ruler)
                to->ruler->is_rigid = true;
            continue;
        }
        int64_t first = distance(from, to, tie->first), last = distance(from, to, tie->last);
        int64_t spread = from->spread + (first > last ? first : last);
        if (to->is_loop)
            to->spread = spread;
        if (ruler->slack < spread)
            ruler->slack = spread;
        ruler->has_items |= tie->to < s->n_stacks;
    }
}

static void measure_periods(struct shortener *s) {
    for (uint32_t i = 0; i < s->n_lines; i++) {
        const struct line *line = &s->lines[i];
        struct ruler *ruler = line->ruler;
        if (!ruler || ruler->is_rigid)
            continue;
        int64_t rounds = line->is_loop ? line->period : 1; // up to max_place
        ruler->period = multiple(ruler->period, line->unit * rounds);
        ruler->is_rigid = ruler->period == 0;
        ruler->carries |= line->carries;
    }
}

// Are loops in one another beside one ruler, that do not go with each other? What the inner one
// makes in an iteration of the outer one may be used in the next.
static bool is_crossed(const struct shortener *s, uint32_t place) {
    const struct line *loops = &s->lines[line_of_place(s, 0)], *line = &loops[place];
    if (!line->is_loop || line->stride)
        return false;
    for (uint32_t outer = s->around[place]; outer != NO_ID; outer = s->around[outer])
        if (loops[outer].ruler == line->ruler)
            return true;
    return false;
}

// What is carried is in use until a wait that may stand in the next iteration, or the next that has
// the same slot, or as far from the slot's place as its start is from it.
static void widen_slack(struct shortener *s) {
    for (uint32_t i = line_of_place(s, 0); i < s->n_lines; i++)
        if (is_crossed(s, i - line_of_place(s, 0)))
            s->lines[i].ruler->carries = true;
    for (uint32_t i = line_of_place(s, 0); i < s->n_lines; i++) {
        struct ruler *ruler = s->lines[i].ruler;
        if (ruler && ruler->carries)
            ruler->slack = 3 * ruler->slack + ruler->period;
        if (ruler)
            ruler->carries = false;
    }
}

// Takes nothing out beside a ruler by which both stacks of a buffer count: there an item may stand
// for as many others as either number says, or as both do.
static void keep_diagonals(struct shortener *s) {
    for (uint32_t i = 0; i < s->n_stacks; i += MAX_STACKS)
        if (s->lines[i].ruler && s->lines[i].ruler == s->lines[i + 1].ruler)
            s->lines[i].ruler->is_rigid = true;
}

// ---- marks, and what is taken out between them ------------------------------------------------

static void mark(struct shortener *s, const struct line *line, int64_t x) {
    ARENA_PUSH(s->arena, s->marks, s->n_marks, s->cap_marks,
               (struct mark){line->ruler, line->origin + line->unit * x});
}

static void mark_lines(struct shortener *s) {
    for (uint32_t i = 0; i < s->n_lines; i++) {
        const struct line *line = &s->lines[i];
        if (!line->ruler || line->ruler->is_rigid || line->stride)
            continue;
        mark(s, line, line->begin);
        mark(s, line, line->end);
    }
    for (uint32_t i = 0; i < s->n_named; i++) {
        const struct named *named = &s->named[i];
        const struct line *line = &s->lines[named->line];
        if (named->loop != NO_ID || !line->ruler || line->ruler->is_rigid)
            continue;
        mark(s, line, index_at(*named->index, NULL));
        mark(s, line, index_at(*named->index, NULL) + 1);
    }
}

static int by_ruler_and_place(const void *a, const void *b) {
    const struct mark *x = a, *y = b;
    if (x->ruler != y->ruler)
        return x->ruler < y->ruler ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

static bool stays(const struct shortener *s, const struct ruler *ruler, int64_t at) {
    for (uint32_t i = line_of_place(s, 0); i < s->n_lines; i++) {
        const struct line *line = &s->lines[i];
        if (line->ruler == ruler && line->stays && line->origin + line->unit * line->begin <= at &&
            at < line->origin + line->unit * line->end)
            return true;
    }
    return false;
}

// How much is kept on both sides: see above.
static int64_t kept_before(const struct ruler *ruler) {
    int64_t start = ruler->slack + 2 * ruler->period;
    return ruler->has_items ? start + ruler->period + ruler->slack : start;
}

static int64_t kept_behind(const struct ruler *ruler) {
    int64_t end = ruler->slack + ruler->period;
    return ruler->has_items ? end + ruler->period + ruler->slack : end;
}

static bool cut_between_marks(struct shortener *s) {
    bool any = false;
    if (s->n_marks)
        qsort(s->marks, s->n_marks, sizeof *s->marks, by_ruler_and_place);
    for (uint32_t i = 1; i < s->n_marks; i++) {
        const struct mark *from = &s->marks[i - 1], *to = &s->marks[i];
        struct ruler *ruler = (struct ruler *)from->ruler;
        if (ruler != to->ruler)
            continue;
        int64_t left_out = to->at - from->at - kept_before(ruler) - kept_behind(ruler);
        if (left_out < ruler->period || stays(s, ruler, from->at))
            continue;
        struct cut cut = {from->at + kept_before(ruler), left_out / ruler->period * ruler->period};
        ARENA_PUSH(s->arena, ruler->cuts, ruler->n_cuts, ruler->cap_cuts, cut);
        any = true;
    }
    return any;
}

static int64_t taken_before(const struct ruler *ruler, int64_t at) {
    int64_t taken = 0;
    for (uint32_t i = 0; i < ruler->n_cuts && ruler->cuts[i].at < at; i++)
        taken += ruler->cuts[i].taken;
    return taken;
}

// ---- the short step ---------------------------------------------------------------------------

// How much less x of the line is in the short step, before items are counted from 0 again.
static int64_t lost_before(const struct line *line, int64_t x) {
    return line->ruler ? taken_before(line->ruler, line->origin + line->unit * x) / line->unit : 0;
}

// No slot that is used in turn is taken out; a loop that says without a remainder which it
// means has all its iterations, and its variable may have others before them to go on from.
static void shorten_index(const struct shortener *s, const struct named *named) {
    const struct line *line = &s->lines[named->line];
    struct index *index = named->index;
    if (named->loop == NO_ID) {
        int64_t item = index_at(*index, NULL);
        *index = index_constant(item - lost_before(line, item) + lost_before(line, 0));
    } else if (!line->used_in_turn) {
        *index = index_variable(index->variable, index->offset + lost_before(line, 0), 0);
    } else if (!index->modulus) {
        const struct line *loop = &s->lines[named->loop], *top = &s->lines[loop->top];
        *index = index_moved(*index, lost_before(top, top->begin) * top->unit / loop->unit);
    }
}

static void shorten_loops(const struct shortener *s) {
    uint32_t place = 0;
    struct statement_walk walk = walk_statements(&s->step->body);
    while (walk_next(&walk)) {
        const struct line *line = &s->lines[line_of_place(s, place++)];
        if (walk.statement->kind != STATEMENT_LOOP || line->stride)
            continue;
        walk.statement->loop.begin -= lost_before(line, line->begin);
        walk.statement->loop.end -= lost_before(line, line->end);
    }
}

static void shorten_counts(const struct shortener *s) {
    for (uint32_t i = 0; i < line_of_place(s, 0); i++) {
        struct line *line = &s->lines[i];
        struct stack *stack = i < s->n_stacks ? stack_of_line(s, i) : NULL;
        int64_t lost = lost_before(line, line->end) - lost_before(line, 0);
        if (stack)
            stack->count -= lost;
        else if (i >= s->n_stacks)
            s->step->handles[i - s->n_stacks].slots -= lost;
        line->short_origin = line->origin - lost_before(line, 0) * line->unit;
    }
    for (uint32_t i = line_of_place(s, 0); i < s->n_lines; i++)
        s->lines[i].short_origin = s->lines[i].origin;
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
    s->n_lines = line_of_place(s, n_places);
    s->lines = ARENA_ARRAY(s->arena, struct line, s->n_lines);
    s->queue = ARENA_ARRAY(s->arena, uint32_t, s->n_lines);
    s->around = ARENA_ARRAY(s->arena, uint32_t, n_places);
    s->flights = ARENA_ARRAY(s->arena, struct flight, s->n_handles + 1);
    for (uint32_t i = 0; i < s->n_stacks; i++) {
        const struct stack *stack = stack_of_line(s, i);
        s->lines[i].end = stack ? stack->count : 1;
    }
    for (uint32_t i = 0; i < s->n_handles; i++)
        s->lines[line_of_handle(s, i)].end = s->step->handles[i].slots;
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
    struct shortener s = {.arena = arena};
    copy_step(&s, program, kind);
    make_lines(&s);
    read_step(&s, &s.step->body);
    for (uint32_t i = 0; i < s.n_named; i++)
        if (s.named[i].loop != NO_ID)
            tie_named(&s, &s.named[i]);
    list_ties(&s);
    lay_rulers(&s);
    measure_ties(&s);
    keep_diagonals(&s);
    measure_periods(&s);
    widen_slack(&s);
    mark_lines(&s);
    if (!cut_between_marks(&s))
        return not_shortened(program);
    for (uint32_t i = 0; i < s.n_named; i++)
        shorten_index(&s, &s.named[i]);
    shorten_loops(&s);
    shorten_counts(&s);
    return (struct shortened){s.program, s.lines, &s.lines[line_of_place(&s, 0)], s.around};
}

// ---- and back ---------------------------------------------------------------------------------

static int64_t whole_of(const struct line *line, int64_t x) {
    if (!line->ruler)
        return x;
    int64_t at = line->short_origin + line->unit * x;
    for (uint32_t i = 0; i < line->ruler->n_cuts && line->ruler->cuts[i].at <= at; i++)
        at += line->ruler->cuts[i].taken;
    return (at - line->origin) / line->unit;
}

int64_t whole_place(const struct shortened *s, buffer_id buffer, unsigned stack, int64_t place) {
    return s->stacks ? whole_of(&s->stacks[line_of_stack(buffer, stack)], place) : place;
}

int64_t whole_variable(const struct shortened *s, uint32_t loop, int64_t value) {
    return s->loops ? whole_of(&s->loops[loop], value) : value;
}

// The cut beside whose middle, or less than `slack` from it, x of the line lies. NULL: none.
static const struct cut *cut_at(const struct line *line, int64_t x, int64_t slack) {
    const struct ruler *ruler = line->ruler;
    int64_t at = line->short_origin + line->unit * x;
    for (uint32_t i = 0; ruler && i < ruler->n_cuts; i++) {
        const struct cut *cut = &ruler->cuts[i];
        if (at < cut->at + slack)
            return cut->at - ruler->period - slack <= at ? cut : NULL;
        at += cut->taken;
    }
    return NULL;
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
