// Executes a step on places alone (see uses.h): every iteration of every loop. So it knows nothing
// of indices, and long loops are better shortened before (shorten.h).
#include "passes/schedule/uses.h"

#include "passes/schedule/lifetimes.h"

#include <inttypes.h>

#include "ir/check.h"
#include "ir/diagnostic.h"

struct item_state {
    bool alive;
    uint32_t first, last;
    // The outermost loop in which the life began and that has not the item for one iteration: its
    // depth and first execution, which is 0 where there is none; and the iteration.
    int loop;
    uint32_t loop_begin, iteration;
    bool of_tasks;     // that loop is
    bool left_behind;  // by that loop: used when it is over
    uint32_t previous; // the life before this one, plus one; 0: none
    // The life that a window of the item begins, which was written while nothing else of it is used, if
    // the rest is written from the window, as by a gather of what was cast. NULL: none.
    struct item_state *begun;
};

// A run of a loop, and the items that it needs to its end.
struct needed {
    struct item_state *state;
    uint32_t first; // of the life that is meant
};
struct open_loop {
    const struct loop *loop;
    bool of_tasks;
    uint32_t begin; // execution
    struct needed *needed;
    uint32_t n, cap;
};

// What one slot of a handle carries, while it is in flight: items, and the variables by which the
// start named them, with those of the loops that these go with.
struct carried_item {
    buffer_id buffer; // which may be a window
    int64_t item;
    uint32_t variables;
};
struct carried {
    struct carried_item *items;
    uint32_t n;
    uint32_t iterations; // that had begun at the start
};

// What one execution of a statement is like another in: the items that it names of buffers which
// are followed, those that are read first.
struct named {
    struct reference at; // in the whole of a window
    buffer_id window;    // the buffer that is named: a window, or the whole itself
    uint32_t variables;  // by which it is named
    bool written;
    bool maybe_read; // another of the statement reads some item of the buffer
};
struct named_list {
    const struct named *items;
    int64_t *at; // of each, in this execution: which item of the buffer
    uint32_t n;
    bool known;
};

struct tracer {
    const struct program *program;
    const struct step *step;
    struct arena *arena;
    struct uses uses;
    bool *followed; // of every buffer: whether it is, and is named
    struct item_state *items;
    int64_t *first_item; // of every buffer, windows too, in `items`
    uint32_t *previous;  // of every life: the item's life before it, plus one
    uint32_t n_previous, cap_previous;
    struct carried *flights;
    int64_t *first_slot;      // of every handle, in `flights`
    struct named_list *named; // by place
    uint32_t place;
    int depth;
    int64_t variables[LIMIT_LOOP_DEPTH];
    uint32_t runs[LIMIT_LOOP_DEPTH];
    uint32_t iterations[LIMIT_LOOP_DEPTH], n_iterations; // of all loops, in the order of time
    // Copies, for what is executed until an iteration begins. NULL: one has begun.
    const int64_t *kept_variables;
    const uint32_t *kept_runs;
    struct open_loop loops[LIMIT_LOOP_DEPTH];
};

// ---- items ------------------------------------------------------------------------------------

static struct item_state *state_of(const struct tracer *t, buffer_id buffer, int64_t item) {
    return &t->items[t->first_item[buffer] + item];
}

static bool is_left(const struct tracer *t, buffer_id buffer) {
    return is_left_to_host(t->program, buffer, (enum step_kind)(t->step - t->program->steps));
}

// Whether each iteration of a loop of tasks ends what the one before it has begun by the statement that began this
// life, as what was sent is waited for by a later task. Then all but the last are freed in the loop. Of several
// lives that the statement begins in an iteration, as in a loop over layers, it is the last that is like this one.
static bool is_ended_by_next(const struct tracer *t, const struct item_state *state) {
    const struct execution *executions = t->uses.executions, *own = &executions[state->first];
    for (uint32_t i = state->previous; state->of_tasks && i > 0; i = t->previous[i - 1]) {
        const struct life *before = &t->uses.lives[i - 1];
        const struct execution *first = &executions[before->first];
        if (before->first < state->loop_begin)
            return false;
        if (first->place == own->place &&
            first->variables[state->loop] != own->variables[state->loop])
            return first->variables[state->loop] != executions[before->last].variables[state->loop];
    }
    return false;
}

// What a loop leaves behind is what its last iteration wrote, and no statement of the loop can free
// what those before it wrote: the item has one life from the first of them on.
static void join_lives(struct tracer *t, struct item_state *state) {
    if (is_ended_by_next(t, state))
        return;
    while (state->left_behind && state->previous) {
        struct life *before = &t->uses.lives[state->previous - 1];
        if (before->first < state->loop_begin)
            return;
        state->first = before->first;
        state->previous = t->previous[state->previous - 1];
        before->buffer = NO_ID;
    }
}

static void end_life(struct tracer *t, buffer_id buffer, int64_t item);

// What was written of a window begins the item's life; that of before is over.
static void take_over(struct tracer *t, buffer_id buffer, int64_t item) {
    struct item_state *state = state_of(t, buffer, item), begun = *state->begun;
    state->begun->alive = false;
    state->begun = NULL;
    end_life(t, buffer, item);
    begun.previous = state->previous;
    *state = begun;
}

// Something else of the item is used than what was written of a window: that went to the life that
// there was.
static void settle(struct tracer *t, buffer_id buffer, int64_t item) {
    struct item_state *state = state_of(t, buffer, item);
    if (!state->begun)
        return;
    if (!state->alive) {
        take_over(t, buffer, item);
        return;
    }
    state->last = state->begun->last;
    state->left_behind |= state->begun->left_behind;
    state->begun->alive = false;
    state->begun = NULL;
}

static void end_life(struct tracer *t, buffer_id buffer, int64_t item) {
    struct item_state *state = state_of(t, buffer, item);
    settle(t, buffer, item);
    if (!state->alive)
        return;
    bool left = is_left(t, buffer);
    uint32_t last = left ? t->uses.n - 1 : state->last;
    join_lives(t, state);
    ARENA_PUSH(t->arena, t->uses.lives, t->uses.n_lives, t->uses.cap_lives,
               (struct life){buffer, item, state->first, last, left});
    ARENA_PUSH(t->arena, t->previous, t->n_previous, t->cap_previous, state->previous);
    state->alive = false;
    state->previous = t->uses.n_lives;
}

// Is one of the variables that of loop `outer`, or of a loop inside that goes with it?
static bool go_with(const struct tracer *t, uint32_t variables, int outer) {
    bool goes = variables >> outer & 1;
    for (int k = outer + 1; k < t->depth && t->loops[k].loop->stride && !goes; k++)
        goes = variables >> k & 1;
    return goes;
}

// The variables, and those of the loops around that they go with.
static uint32_t with_outer(const struct tracer *t, uint32_t variables) {
    for (int k = t->depth - 1; k > 0; k--)
        if (variables >> k & 1 && t->loops[k].loop->stride)
            variables |= UINT32_C(1) << (k - 1);
    return variables;
}

// What was there before a loop, and is not one item for each of its iterations, is used by all.
static void need_to_loops_end(struct tracer *t, struct item_state *state, uint32_t variables) {
    for (int k = 0; k < t->depth; k++) {
        struct open_loop *loop = &t->loops[k];
        if (state->first < loop->begin && !go_with(t, variables, k)) {
            ARENA_PUSH(t->arena, loop->needed, loop->n, loop->cap,
                       (struct needed){state, state->first});
            return;
        }
    }
}

static void begin_life(struct tracer *t, struct item_state *state, uint32_t variables) {
    *state = (struct item_state){.alive = true, .first = t->uses.n, .previous = state->previous};
    for (int k = 0; k < t->depth && !state->loop_begin; k++)
        if (!go_with(t, variables, k)) {
            state->loop = k;
            state->loop_begin = t->loops[k].begin;
            state->iteration = t->iterations[k];
            state->of_tasks = t->loops[k].of_tasks;
        }
}

static bool is_over(const struct tracer *t, const struct item_state *state) {
    return t->depth <= state->loop || t->loops[state->loop].begin != state->loop_begin;
}

// What a statement updates from its first run on, as the places of a counter, dies behind none of
// its runs but the last.
static void need_to_last_run(struct tracer *t, struct item_state *state) {
    struct open_loop *loop = &t->loops[state->loop];
    bool again =
        state->loop_begin && !is_over(t, state) && state->iteration != t->iterations[state->loop];
    if (again && t->uses.executions[state->first].place == t->place)
        ARENA_PUSH(t->arena, loop->needed, loop->n, loop->cap,
                   (struct needed){state, state->first});
}

static void use_state(struct tracer *t, struct item_state *state, uint32_t variables) {
    if (!state->alive)
        begin_life(t, state, variables);
    state->last = t->uses.n;
    state->left_behind |= state->loop_begin && is_over(t, state);
    need_to_loops_end(t, state, variables);
    need_to_last_run(t, state);
}

// A use of a window at this execution, if it is all that is used since the window was written; else
// it is one of the whole.
static bool use_window(struct tracer *t, buffer_id window, int64_t item, uint32_t variables,
                       bool anew) {
    buffer_id whole = buffer_whole(t->program, window);
    struct item_state *state = state_of(t, whole, item), *own = state_of(t, window, item);
    if (window == whole || (!anew && state->begun != own))
        return false;
    if (state->begun != own)
        settle(t, whole, item);
    state->begun = own;
    use_state(t, own, variables);
    if (state->alive)
        need_to_loops_end(t, state, variables);
    return true;
}

// A use at this execution, by the variables of loops that name the item. `anew`: all of what is
// named is written, and nothing of before is read.
static void use(struct tracer *t, buffer_id buffer, int64_t item, uint32_t variables, bool anew) {
    buffer_id whole = buffer_whole(t->program, buffer);
    anew &= !is_left(t, whole);
    if (use_window(t, buffer, item, variables, anew))
        return;
    if (anew)
        end_life(t, whole, item);
    settle(t, whole, item);
    use_state(t, state_of(t, whole, item), variables);
}

// The whole of what is read is written: if that is the window that was written before, a life begins
// with it.
static void use_updated(struct tracer *t, buffer_id buffer, int64_t item, uint32_t variables) {
    struct item_state *state = state_of(t, buffer, item);
    if (!state->begun)
        return;
    take_over(t, buffer, item);
    use_state(t, state, variables);
}

// ---- statements -------------------------------------------------------------------------------

static bool names_buffer(const struct named *items, uint32_t n, buffer_id buffer) {
    for (uint32_t i = 0; i < n; i++)
        if (items[i].at.buffer == buffer)
            return true;
    return false;
}

static struct named_list list_named(const struct tracer *t, const struct statement *s) {
    struct named *items = NULL;
    uint32_t n = 0, cap = 0, n_read = 0;
    struct access access;
    for (int written = 0; written < 2; written++) {
        for (uint32_t i = 0; (access = statement_access(t->program, s, i)).at; i++) {
            struct named named = {
                .at = *access.at, .window = access.at->buffer, .written = written};
            named.at.buffer = buffer_whole(t->program, named.window);
            named.variables = reference_variables(&named.at);
            if (access.written != (bool)written || !t->followed[named.at.buffer])
                continue;
            named.maybe_read = written && names_buffer(items, n_read, named.at.buffer);
            ARENA_PUSH(t->arena, items, n, cap, named);
        }
        n_read = n;
    }
    return (struct named_list){items, ARENA_ARRAY(t->arena, int64_t, n), n, true};
}

static int64_t item_of(const struct tracer *t, const struct reference *at) {
    return reference_item(t->program, at, t->variables);
}

// Is the place also read by this statement, as one that is updated is? Then its life goes on.
static bool is_read_too(const struct named_list *all, uint32_t which) {
    const struct named *named = &all->items[which];
    for (uint32_t i = 0; named->maybe_read && i < all->n && !all->items[i].written; i++)
        if (all->items[i].at.buffer == named->at.buffer && all->at[i] == all->at[which])
            return true;
    return false;
}

static void use_places(struct tracer *t, const struct statement *s) {
    struct named_list *all = &t->named[t->place];
    if (!all->known)
        *all = list_named(t, s);
    for (uint32_t i = 0; i < all->n; i++)
        all->at[i] = item_of(t, &all->items[i].at);
    for (uint32_t i = 0; i < all->n; i++) {
        const struct named *named = &all->items[i];
        if (!named->written || !is_read_too(all, i))
            use(t, named->window, all->at[i], named->variables, named->written);
        else if (named->window == named->at.buffer)
            use_updated(t, named->window, all->at[i], named->variables);
    }
}

static struct carried *flight_of(const struct tracer *t, uint32_t handle, struct index index) {
    return &t->flights[t->first_slot[handle] + index_at(index, t->variables)];
}

static void begin_flight(struct tracer *t, const struct transfer *start) {
    struct carried *flight = flight_of(t, start->handle, start->handle_index);
    *flight = (struct carried){ARENA_ARRAY(t->arena, struct carried_item, 2 * start->n_pieces), 0,
                               t->n_iterations};
    for (uint32_t i = 0; i < 2 * start->n_pieces; i++) {
        const struct transfer_piece *piece = &start->pieces[i / 2];
        struct reference at = i % 2 ? piece->to : piece->from;
        buffer_id named = at.buffer;
        at.buffer = buffer_whole(t->program, named);
        if (t->followed[at.buffer])
            flight->items[flight->n++] = (struct carried_item){
                named, item_of(t, &at), with_outer(t, reference_variables(&at))};
    }
}

// What a wait names by a variable belongs to this iteration, as what it carries does; so does what
// was started in this iteration and named by its variable, or by one that goes with it.
static uint32_t variables_at_wait(const struct tracer *t, const struct statement *wait,
                                  const struct carried *flight, const struct carried_item *item) {
    uint32_t variables = 0;
    if (wait->wait.index.variable >= 0)
        variables |= UINT32_C(1) << wait->wait.index.variable;
    for (int k = 0; k < t->depth && t->iterations[k] < flight->iterations; k++)
        variables |= item->variables & UINT32_C(1) << k;
    return variables;
}

static void end_flight(struct tracer *t, const struct statement *s) {
    struct carried *flight = flight_of(t, s->wait.handle, s->wait.index);
    for (uint32_t i = 0; i < flight->n; i++) {
        const struct carried_item *item = &flight->items[i];
        use(t, item->buffer, item->item, variables_at_wait(t, s, flight, item), false);
    }
    flight->n = 0;
}

static void execute(struct tracer *t, const struct statement *s) {
    struct uses *uses = &t->uses;
    size_t depth = (size_t)t->depth;
    if (!t->kept_variables) {
        t->kept_variables = arena_copy(t->arena, t->variables, depth * sizeof(int64_t));
        t->kept_runs = arena_copy(t->arena, t->runs, depth * sizeof(uint32_t));
    }
    ARENA_PUSH(t->arena, uses->executions, uses->n, uses->cap,
               (struct execution){t->place, s, t->kept_variables, t->kept_runs});
    uses->n--; // its number, until it is over
    if (s->kind == STATEMENT_WAIT)
        end_flight(t, s);
    else
        use_places(t, s);
    if (s->kind == STATEMENT_START)
        begin_flight(t, &s->start);
    uses->n++;
}

// ---- loops ------------------------------------------------------------------------------------

static uint32_t count_places(const struct block *block) {
    uint32_t n = 0;
    struct statement_walk walk = walk_statements(block);
    while (walk_next(&walk))
        n++;
    return n;
}

static void execute_block(struct tracer *t, const struct block *block);

static void execute_loop(struct tracer *t, const struct loop *loop) {
    uint32_t first = t->place;
    int64_t trips = loop->end - loop->begin;
    CHECK(t->depth < LIMIT_LOOP_DEPTH);
    t->runs[t->depth] = t->uses.runs[first - 1];
    // The text can say where each use is the last in a single iteration.
    t->loops[t->depth] =
        (struct open_loop){loop, loop_has_tasks(loop), .begin = trips > 1 ? t->uses.n : 0};
    for (int64_t i = 0; i < trips; i++) {
        t->place = first;
        t->variables[t->depth] = loop_variable(loop, t->depth, i, t->variables);
        t->iterations[t->depth] = t->n_iterations++;
        t->kept_variables = NULL;
        t->depth++;
        execute_block(t, &loop->body);
        t->depth--;
    }
    t->place = first + count_places(&loop->body);
    const struct open_loop *run = &t->loops[t->depth];
    for (uint32_t i = 0; i < run->n; i++) {
        struct item_state *state = run->needed[i].state;
        if (state->alive && state->first == run->needed[i].first)
            state->last = t->uses.n - 1;
    }
}

static void execute_block(struct tracer *t, const struct block *block) {
    for (uint32_t i = 0; i < block->n; i++) {
        const struct statement *s = &block->statements[i];
        uint32_t place = t->place;
        if (s->kind != STATEMENT_LOOP && s->kind != STATEMENT_FREE)
            execute(t, s);
        t->uses.runs[place]++;
        t->place++;
        if (s->kind == STATEMENT_LOOP)
            execute_loop(t, &s->loop);
    }
}

// ---- the whole --------------------------------------------------------------------------------

// Nothing is to be said for each item of a stack that the step does not name.
static void find_followed(struct tracer *t) {
    t->followed = ARENA_ARRAY(t->arena, bool, t->program->n_buffers + 1);
    struct statement_walk walk = walk_statements(&t->step->body);
    while (walk_next(&walk)) {
        struct access access;
        for (uint32_t i = 0; (access = statement_access(t->program, walk.statement, i)).at; i++) {
            buffer_id id = buffer_whole(t->program, access.at->buffer);
            t->followed[id] = !buffer_outlives_step(&t->program->buffers[id]);
        }
    }
}

static void allocate(struct tracer *t) {
    const struct program *program = t->program;
    int64_t items = 0, slots = 0;
    find_followed(t);
    t->first_item = ARENA_ARRAY(t->arena, int64_t, program->n_buffers + 1);
    for (uint32_t i = 0; i < program->n_buffers; i++) {
        buffer_id whole = buffer_whole(program, i);
        t->first_item[i] = items;
        items += t->followed[whole] ? buffer_items(&program->buffers[whole]) : 0;
    }
    t->first_slot = ARENA_ARRAY(t->arena, int64_t, t->step->n_handles + 1);
    for (uint32_t i = 0; i < t->step->n_handles; i++) {
        t->first_slot[i] = slots;
        slots += t->step->handles[i].slots;
    }
    t->items = ARENA_ARRAY(t->arena, struct item_state, items + 1);
    t->flights = ARENA_ARRAY(t->arena, struct carried, slots + 1);
    uint32_t places = count_places(&t->step->body);
    t->uses.runs = ARENA_ARRAY(t->arena, uint32_t, places + 1);
    t->named = ARENA_ARRAY(t->arena, struct named_list, places + 1);
}

// Counts, then deals out: the order of time stays inside each buffer.
static void group_lives(struct tracer *t) {
    struct uses *uses = &t->uses;
    uint32_t n = t->program->n_buffers;
    uint32_t *first = ARENA_ARRAY(t->arena, uint32_t, n + 1);
    uint32_t *next = ARENA_ARRAY(t->arena, uint32_t, n + 1);
    struct life *grouped = ARENA_ARRAY(t->arena, struct life, uses->n_lives + 1);
    uint32_t n_lives = 0; // that were not joined to later ones
    for (uint32_t i = 0; i < uses->n_lives; i++)
        if (uses->lives[i].buffer != NO_ID)
            uses->lives[n_lives++] = uses->lives[i];
    uses->n_lives = n_lives;
    for (uint32_t i = 0; i < uses->n_lives; i++)
        first[uses->lives[i].buffer + 1]++;
    for (uint32_t i = 0; i < n; i++)
        next[i + 1] = first[i + 1] += first[i];
    for (uint32_t i = 0; i < uses->n_lives; i++)
        grouped[next[uses->lives[i].buffer]++] = uses->lives[i];
    uses->lives = grouped;
    uses->first_life = first;
}

// Nothing is executed of a step whose statements are too many. Of its loops the one that goes round
// most is to blame: whoever writes one by hand may have mistaken its bound.
static struct too_long find_too_long(const struct step *step) {
    struct too_long found = {0};
    int64_t most = 0;
    struct statement_walk walk = walk_statements(&step->body);
    while (walk_next(&walk)) {
        const struct statement *s = walk.statement;
        int64_t trips = s->kind == STATEMENT_LOOP ? s->loop.end - s->loop.begin : 0;
        if (s->kind != STATEMENT_LOOP && s->kind != STATEMENT_FREE)
            found.statements = size_plus(found.statements, walk_trips(&walk));
        if (trips > most)
            found.loop = s->span;
        most = trips > most ? trips : most;
    }
    return found.statements > LIMIT_FOLLOWED ? found : (struct too_long){0};
}

void report_too_long(struct diagnostics *diagnostics, const struct too_long *too_long) {
    struct diagnostic *d = report(diagnostics, E491, too_long->loop,
                                  "this step has %" PRId64 " statements to follow one by one, to "
                                  "know when each buffer holds something; at most %d are",
                                  too_long->statements, LIMIT_FOLLOWED);
    diagnostic_help(d, "let fewer iterations of this loop differ from one another, or lower its "
                       "bound");
}

struct uses uses_of(const struct program *program, enum step_kind step, struct arena *arena) {
    struct tracer t = {.program = program,
                       .step = &program->steps[step],
                       .arena = arena,
                       .uses = {.n_buffers = program->n_buffers}};
    t.uses.too_long = find_too_long(t.step);
    allocate(&t);
    if (t.uses.too_long.statements) {
        group_lives(&t);
        return t.uses;
    }
    execute_block(&t, &t.step->body);
    for (uint32_t i = 0; i < program->n_buffers; i++)
        for (int64_t item = 0; t.followed[i] && item < buffer_items(&program->buffers[i]); item++)
            end_life(&t, i, item);
    group_lives(&t);
    return t.uses;
}
