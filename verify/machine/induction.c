// Loops, by induction on their iterations.
//
// The invariant is a state of the store in which the loop's variable stands as a symbol x: items
// 1 .. x of a buffer hold what the calls for layers 0 .. x-1 made, slot 1 is in flight with what
// layer x+1 needs. It is found, not given: some iterations are executed one by one, and what
// changed between two states is said of x where it went along with the variable, and must be the
// same otherwise (store_generalise). It is then proved, which needs no trust in how it was found:
//
//   base     With x replaced by the variable's present value it is the present state.
//   step     The body, executed once from it, ends in the same state with x replaced by x + 1.
//   bound    Whatever the execution asked that depends on x, is x + 1 < 16, do these bytes meet,
//            has an answer that is the same for x's first n values; n is computed with the answers
//            (number.h).
//
// So after each of n iterations the state is the invariant with its x, and the loop goes on behind
// them from there: at its end, or where something becomes different, with iterations one by one
// until there is a new invariant. The last layers, the border of two slices and a fault in one
// layer only are met at their own places, and messages name the layers that iterations one by one
// would.
//
// Slots that go round (x mod 2) make two successive iterations differ: what is one iteration above
// is as many as all of them take to come round, and what stands in them is a constant.
//
// A body may use x + d and constants; indices have no other form (struct index). Loops inside that
// go with this one, as over the layers of a group, begin at a multiple of x, which has a symbol
// beside it (number.h): n x + d. So does row x of what is stacked twice, where rows have n items
// (places.c). What changed by n times as much as the variable is said of the multiple. One such
// loop with its iterations is executed one by one in each of x: it is short, as groups and turns
// are. Loops by several multiples, or by a multiple of one that is itself by a multiple, are
// followed one by one, since an attempt knows where they begin in its first iteration only
// (number_times): nothing derived has any. All kinds of loops are one here: over layers or
// microbatches, ascending or descending, in one another: a loop inside an iteration that stands for
// many has a symbol of its own. The step is a loop too, over training steps, with an invariant that
// is given: persistent buffers hold the reference's state in the form they are declared in.
// verify.c checks base and step of that one.
#include "verify/machine/induction.h"

#include <inttypes.h>

#include "ir/check.h"

enum {
    MAX_PERIOD = 64,    // iterations for all slots to come round
    ROUNDS_TO_GAIN = 4, // a proof costs about as much as following so many
    MANY_PEELED = 4,    // beside two such rounds; then an invariant is looked for more seldom,
    MAX_PEELED = 1024,  // and then none is expected any more
};

// ---- slots that come round --------------------------------------------------------------------

// The period is of slots that come round while the loop lasts; others are as good as items of their
// own. A loop inside that goes with this one passes over so many slots in an iteration as its
// stride says.
static void add_to_period(struct course *c, const struct statement_walk *walk, struct index index) {
    int own = c->machine->cursor->depth;
    const struct loop *inner = walk_loop(walk, 0);
    int64_t round = index.modulus;
    if (inner && inner->stride && index.variable == own + 1)
        round /= greatest_common_divisor(round, inner->stride);
    else if (index.variable != own)
        return;
    if (round <= 1 || c->trips <= 2 * round) // none, or they do not come round
        return;
    int64_t both = least_common_multiple(c->period, round);
    c->period = both > MAX_PERIOD ? MAX_PERIOD + 1 : both;
}

static void find_period(struct course *c) {
    struct statement_walk walk = walk_statements(&c->loop->body);
    while (walk_next(&walk)) {
        const struct statement *statement = walk.statement;
        struct access access;
        for (uint32_t i = 0; (access = statement_access(c->machine->program, statement, i)).at; i++)
            for (unsigned k = 0; k < MAX_STACKS; k++)
                add_to_period(c, &walk, access.at->indices[k]);
        if (statement->kind == STATEMENT_START)
            add_to_period(c, &walk, statement->start.handle_index);
        if (statement->kind == STATEMENT_WAIT)
            add_to_period(c, &walk, statement->wait.index);
    }
}

// ---- loops inside that go with this one -------------------------------------------------------

// The multiple of the variable at which they begin: the first one's, if that is not the variable
// itself (1). Where others begin at other multiples, no attempt gets beyond its first iteration.
static int32_t factor_of(const struct block *body) {
    for (uint32_t i = 0; i < body->n; i++)
        if (loop_has_stride(&body->statements[i]) && body->statements[i].loop.stride > 1)
            return (int32_t)body->statements[i].loop.stride;
    return 1;
}

// It begins at a number that stands for many, and none can be counted from there.
static bool begins_anywhere(const struct course *c) {
    const struct abstract_machine *m = c->machine;
    // Asking both saves time: with one alone, more loops would be followed one by one.
    return c->loop->stride && number_is_symbolic(m->cursor->variables[m->cursor->depth - 1]);
}

// What goes on there is of other parts, too, each of which is somewhere else in its own loops, or is
// repeated task by task.
static bool goes_between(const struct course *c) {
    const bool *between = c->machine->between;
    if (c->machine->repetition && loop_has_tasks(c->loop)) // of which not all is in the store
        return true;
    struct statement_walk walk = walk_statements(&c->loop->body);
    while (between && walk_next(&walk)) {
        const struct statement *statement = walk.statement;
        if ((statement->kind == STATEMENT_START && between[statement->start.handle]) ||
            (statement->kind == STATEMENT_WAIT && between[statement->wait.handle]))
            return true;
    }
    return false;
}

// ---- iterations -------------------------------------------------------------------------------

static int64_t direction(const struct loop *loop) {
    return loop->descending ? -1 : 1;
}

static int32_t variable_in(const struct course *c, int64_t iteration) {
    static const int64_t from_zero[LIMIT_LOOP_DEPTH];
    struct abstract_machine *m = c->machine;
    int32_t base = 0;
    if (c->loop->stride)
        base = number_times(&m->world->terms->symbols, m->cursor->variables[m->cursor->depth - 1],
                            (int32_t)c->loop->stride);
    return base + (int32_t)loop_variable(c->loop, m->cursor->depth, iteration, from_zero);
}

// The body is executed next, with this number for the variable.
static void begin_iteration(struct course *c, int32_t variable, enum course_stage stage) {
    struct abstract_machine *m = c->machine;
    m->cursor->loops[m->cursor->depth] = c->statement;
    m->cursor->variables[m->cursor->depth++] = variable;
    c->stage = stage;
}

static void end_iteration(struct course *c) {
    if (c->stage != COURSE_BETWEEN)
        c->machine->cursor->depth--;
    c->stage = COURSE_BETWEEN;
}

// Whether an invariant is looked for behind so many iterations one by one. What a loop writes over
// ends after some of them, each item in its own; meanwhile no state is like the one before. So it
// is tried again, at distances that grow with what was done for nothing.
static bool is_tried(const struct course *c, int64_t n_alone) {
    int64_t peeled = n_alone - 2 * c->period;
    return peeled <= MANY_PEELED || (peeled <= MAX_PEELED && is_power_of_two(peeled));
}

// Whether enough iterations are left to gain from an invariant before this one.
static bool is_gain(const struct course *c, int64_t iteration) {
    return c->past && c->trips - iteration >= ROUNDS_TO_GAIN * c->period;
}

static void begin_alone(struct course *c) {
    c->before = c->machine->budget;
    if (is_gain(c, c->iteration + c->period) && is_tried(c, c->n_alone + c->period))
        c->past[c->iteration % c->period] = snapshot_take(c->machine, &c->states);
    begin_iteration(c, variable_in(c, c->iteration), COURSE_ALONE);
}

static void end_alone(struct course *c) {
    c->cost = c->before - c->machine->budget;
    c->n_alone++;
    c->iteration++;
}

// ---- induction --------------------------------------------------------------------------------

// A leap goes from before this iteration over as many as can be proved alike.
static bool may_leap(const struct course *c) {
    return is_gain(c, c->iteration) && c->n_alone >= c->period && is_tried(c, c->n_alone);
}

static struct symbol *own_symbol(const struct course *c) {
    struct symbols *symbols = &c->machine->world->terms->symbols;
    return &symbols->list[symbols->n - 1];
}

// Goes on behind so many rounds, or where the attempt began; how many iterations that is.
static int64_t end_attempt(struct course *c, int64_t rounds) {
    struct abstract_machine *m = c->machine;
    const struct attempt *attempt = &c->attempt;
    rounds = rounds < 2 ? 0 : rounds; // else nothing is gained
    if (rounds)
        store_replace(m, attempt->first + (int32_t)rounds * attempt->round);
    else
        snapshot_put(m, &attempt->now);
    aliases_end(m->world->terms, attempt->aliases, own_symbol(c), rounds);
    symbol_end(&m->world->terms->symbols);
    m->attempt = attempt->outer;
    return rounds * c->period;
}

// Puts an invariant into the store, if one is found, whose x is the symbol that is begun here. The
// body is executed from it then.
static bool begin_attempt(struct course *c) {
    struct abstract_machine *m = c->machine;
    struct symbols *symbols = &m->world->terms->symbols;
    struct attempt *attempt = &c->attempt;
    int64_t rounds = (c->trips - c->iteration) / c->period;
    *attempt = (struct attempt){.now = snapshot_take(m, &c->states),
                                .first = variable_in(c, c->iteration),
                                .round = (int32_t)(c->period * direction(c->loop)),
                                .outer = m->attempt};
    attempt->x = symbol_begin(symbols, attempt->first, attempt->round, rounds);
    if (c->factor != 1)
        symbol_multiply(symbols, c->factor);
    attempt->aliases = aliases_begin(m->world->terms);
    m->attempt = ++m->world->n_attempts;
    if (!store_generalise(m, &c->past[c->iteration % c->period], attempt->first, attempt->round,
                          attempt->x)) {
        end_attempt(c, 0);
        return false;
    }
    attempt->invariant = snapshot_take(m, &c->states);
    begin_iteration(c, attempt->x, COURSE_PROVING);
    return true;
}

// The next of the iterations that lead once round from the invariant; false: they are done.
static bool continue_attempt(struct course *c) {
    struct attempt *attempt = &c->attempt;
    if (++attempt->n_done == c->period)
        return false;
    if (c->machine->overrun) // this saves time: no statement of them is executed any more
        return false;
    begin_iteration(c, attempt->x + attempt->n_done * (int32_t)direction(c->loop), COURSE_PROVING);
    return true;
}

// Whether the body has led from the invariant to itself, and for how many rounds.
static int64_t rounds_proved(struct course *c) {
    struct abstract_machine *m = c->machine;
    const struct attempt *attempt = &c->attempt;
    struct snapshot after = snapshot_take(m, &c->states);
    snapshot_put(m, &attempt->invariant);
    store_replace(m, attempt->x + attempt->round);
    bool proved = store_equal(m, &after);
    snapshot_put(m, &attempt->invariant);
    return proved && aliases_fit(m->world->terms, own_symbol(c)) ? own_symbol(c)->iterations : 0;
}

// All that is left must be affordable where no invariant is expected any more.
static bool can_go_on(struct course *c) {
    struct abstract_machine *m = c->machine;
    int64_t left = c->trips - c->iteration;
    bool hopeless = !c->past || c->n_alone > 2 * c->period + MAX_PEELED;
    if (!hopeless || c->n_alone == 0 || left <= m->budget / (c->cost + 1))
        return true;
    step_overrun(m, c->statement,
                 arena_format(m->world->arena,
                              "the iterations of this loop have no invariant that was found, and "
                              "they are too many to follow one by one: %" PRId64
                              ", each of %" PRId64 " statements and ops",
                              left, c->cost));
    return false;
}

// Stages in the middle of a pipeline name nothing that is stacked by microbatches; labels do.
static bool labels_microbatches(const struct loop *loop, int variable) {
    struct statement_walk walk = walk_statements(&loop->body);
    while (walk_next(&walk))
        if (walk.statement->kind == STATEMENT_TASK &&
            walk.statement->task.microbatch.variable == variable)
            return true;
    return false;
}

static bool is_of_time(const struct abstract_machine *m, const struct loop *loop, int variable) {
    return loop_counts_microbatches(m->program, loop, variable) ||
           labels_microbatches(loop, variable);
}

// The same for the loop that is entered. This saves time: tasks enter their loops again and again.
static bool is_known_of_time(struct abstract_machine *m, const struct statement *statement) {
    uint32_t at = statement->id - m->first_id;
    struct loop_known *known = at < m->n_ids ? &m->loops[at] : NULL;
    if (known && known->loop == statement)
        return known->is_of_time;
    bool of_time = is_of_time(m, &statement->loop, m->cursor->depth);
    if (known)
        *known = (struct loop_known){statement, of_time};
    return of_time;
}

// ---- the course of a loop -----------------------------------------------------------------------

struct course *course_begin(struct abstract_machine *m, const struct statement *statement) {
    const struct loop *loop = &statement->loop;
    CHECK(m->cursor->depth < LIMIT_LOOP_DEPTH);
    struct course *c = &m->cursor->courses[m->cursor->depth];
    *c = (struct course){.machine = m,
                         .states = c->states,
                         .statement = statement,
                         .loop = loop,
                         .trips = loop->end - loop->begin,
                         .period = 1,
                         .factor = factor_of(&loop->body)};
    bool followed = m->one_by_one || c->trips <= ROUNDS_TO_GAIN || goes_between(c);
    if (!followed) // this saves time: what follows asks it of all
        find_period(c);
    if (!followed && !begins_anywhere(c) && c->period <= MAX_PERIOD &&
        c->trips > ROUNDS_TO_GAIN * c->period &&
        symbols_have_room(&m->world->terms->symbols, c->factor != 1))
        c->past = ARENA_ARRAY(&c->states, struct snapshot, c->period);
    m->cursor->time_loop[m->cursor->depth] = is_known_of_time(m, statement);
    return c;
}

static void course_end(struct course *c) {
    c->machine->cursor->time_loop[c->machine->cursor->depth] = false;
    if (c->machine->between) // it will be entered once more for every task
        arena_reuse(&c->states);
    else
        arena_free(&c->states);
}

void courses_free(struct abstract_machine *m) {
    for (int depth = 0; depth < LIMIT_LOOP_DEPTH; depth++)
        arena_free(&m->cursor->courses[depth].states);
}

bool course_next(struct course *c) {
    enum course_stage stage = c->stage;
    bool in_vain = false; // what follows is executed alone
    end_iteration(c);
    if (stage == COURSE_ALONE)
        end_alone(c);
    if (stage == COURSE_PROVING) {
        if (continue_attempt(c))
            return true;
        int64_t leapt = end_attempt(c, rounds_proved(c));
        c->iteration += leapt;
        c->n_alone = leapt ? 0 : c->n_alone;
        in_vain = !leapt;
    }
    if (c->iteration < c->trips && !c->machine->overrun) {
        if (!in_vain && may_leap(c) && begin_attempt(c))
            return true;
        if (can_go_on(c)) {
            begin_alone(c);
            return true;
        }
    }
    course_end(c);
    return false;
}
