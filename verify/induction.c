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
// A body may use x + d and constants; indices have no other form (struct index). All kinds of loops
// are one here: over layers or microbatches, ascending or descending, in one another: a loop inside
// an iteration that stands for many has a symbol of its own. The step is a loop too, over training
// steps, with an invariant that is given: persistent buffers hold the reference's state in the form
// they are declared in. verify.c checks base and step of that one.
#include "verify/engine.h"

#include <inttypes.h>

enum {
    MAX_PERIOD = 64, // iterations for all slots to come round
    MAX_PEELED = 4,  // beside two such rounds; then no invariant is expected any more
};

// ---- what stands in a loop's body -------------------------------------------------------------

// Asks about every index, of an item of `buffer` or of a slot (NO_ID). True: some answer was.
typedef bool (*index_test)(void *data, struct index index, buffer_id buffer);

static bool any_index(const struct program *program, const struct block *block, index_test test,
                      void *data);

static bool any_in_call(const struct program *program, const struct call *call, index_test test,
                        void *data) {
    const struct unit *unit = &program->units[call->unit];
    bool any = false;
    for (uint32_t i = 0; i < unit->n_parameters; i++)
        any |= test(data, call->operands[i].index, call->operands[i].buffer);
    for (uint32_t i = 0; i < unit->n_results; i++)
        any |= test(data, call->results[i].index, call->results[i].buffer);
    return any;
}

static bool any_in_start(const struct transfer *start, index_test test, void *data) {
    bool any = test(data, start->handle_index, NO_ID);
    for (uint32_t i = 0; i < start->n_pieces; i++) {
        any |= test(data, start->pieces[i].from.index, start->pieces[i].from.buffer);
        any |= test(data, start->pieces[i].to.index, start->pieces[i].to.buffer);
    }
    return any;
}

static bool any_in_statement(const struct program *program, const struct statement *statement,
                             index_test test, void *data) {
    switch (statement->kind) {
    case STATEMENT_LOOP:
        return any_index(program, &statement->loop.body, test, data);
    case STATEMENT_CALL:
        return any_in_call(program, &statement->call, test, data);
    case STATEMENT_START:
        return any_in_start(&statement->start, test, data);
    case STATEMENT_WAIT:
        return test(data, statement->wait.index, NO_ID);
    case STATEMENT_ZERO:
        return test(data, statement->zero.index, statement->zero.buffer);
    case STATEMENT_FREE:
        return test(data, statement->free.index, statement->free.buffer);
    }
    return false;
}

static bool any_index(const struct program *program, const struct block *block, index_test test,
                      void *data) {
    bool any = false;
    for (uint32_t i = 0; i < block->n; i++)
        any |= any_in_statement(program, &block->statements[i], test, data);
    return any;
}

struct course { // of one execution of a loop
    struct engine *engine;
    const struct statement *statement;
    const struct loop *loop;
    int64_t trips, period;
    struct snapshot *past; // before each of the last `period` iterations
    int64_t n_alone;       // iterations one by one since the beginning, or since the last leap
    int64_t cost;          // of the last of them, in statements and ops
};

// Whether the loop's variable is the microbatch: it indexes what is stacked so.
static bool indexes_microbatches(void *data, struct index index, buffer_id buffer) {
    const struct course *c = data;
    return index.variable == c->engine->depth && buffer != NO_ID &&
           c->engine->program->buffers[buffer].stack == STACK_MICROBATCHES;
}

// Slots that come round while the loop lasts; others are as good as items of their own.
static bool add_to_period(void *data, struct index index, buffer_id buffer) {
    struct course *c = data;
    (void)buffer;
    if (index.variable != c->engine->depth || index.modulus <= 1 || c->trips <= 2 * index.modulus)
        return false;
    int64_t a = c->period, b = index.modulus;
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    c->period = c->period / a * index.modulus;
    c->period = c->period > MAX_PERIOD ? MAX_PERIOD + 1 : c->period;
    return true;
}

// ---- iterations -------------------------------------------------------------------------------

static int64_t direction(const struct loop *loop) {
    return loop->descending ? -1 : 1;
}

static int64_t variable_in(const struct course *c, int64_t iteration) {
    return c->loop->descending ? c->loop->end - 1 - iteration : c->loop->begin + iteration;
}

static void iterate(struct course *c, int32_t variable) {
    struct engine *e = c->engine;
    e->loops[e->depth] = c->loop;
    e->variables[e->depth++] = variable;
    block_execute(e, &c->loop->body);
    e->depth--;
}

static void iterate_alone(struct course *c, int64_t iteration) {
    int64_t before = c->engine->budget;
    if (c->past)
        c->past[iteration % c->period] = snapshot_take(c->engine);
    iterate(c, (int32_t)variable_in(c, iteration));
    c->cost = before - c->engine->budget;
    c->n_alone++;
}

// ---- induction --------------------------------------------------------------------------------

// The invariant is in the store, and x is the symbol that was begun last. Whether the body leads
// from it to itself, and for how many rounds.
static int64_t prove(struct course *c, int32_t x, int32_t round) {
    struct engine *e = c->engine;
    struct snapshot invariant = snapshot_take(e);
    for (int32_t i = 0; i < c->period && !e->overrun; i++)
        iterate(c, x + i * (int32_t)direction(c->loop));
    struct snapshot after = snapshot_take(e);
    snapshot_put(e, &invariant);
    store_replace(e, x + round);
    bool proved = !e->overrun && store_equal(e, &after);
    snapshot_put(e, &invariant);
    const struct symbol *symbol = &e->terms->symbols.list[e->terms->symbols.n - 1];
    return proved && aliases_fit(e->terms, symbol) ? symbol->iterations : 0;
}

// From before this iteration over as many as can be proved alike; how many. None: nothing changed.
static int64_t leap(struct course *c, int64_t iteration) {
    struct engine *e = c->engine;
    struct symbols *symbols = &e->terms->symbols;
    struct snapshot now = snapshot_take(e);
    int64_t first = variable_in(c, iteration), rounds = (c->trips - iteration) / c->period;
    int32_t round = (int32_t)(c->period * direction(c->loop));
    int32_t x = symbol_begin(symbols, first, round, rounds);
    uint32_t aliases = aliases_begin(e->terms);
    uint32_t outer_attempt = e->attempt;
    e->attempt = ++e->n_attempts;
    rounds = 0;
    if (store_generalise(e, &c->past[iteration % c->period], (int32_t)first, round, x))
        rounds = prove(c, x, round);
    rounds = rounds < 2 ? 0 : rounds; // else nothing is gained
    if (rounds)
        store_replace(e, (int32_t)first + (int32_t)rounds * round);
    else
        snapshot_put(e, &now);
    aliases_end(e->terms, aliases, &symbols->list[symbols->n - 1], rounds);
    symbol_end(symbols);
    e->attempt = outer_attempt;
    return rounds * c->period;
}

// Whether enough iterations went before to compare, and enough are left to gain from it.
static bool may_leap(const struct course *c, int64_t iteration) {
    return c->past && c->n_alone >= c->period && c->n_alone <= 2 * c->period + MAX_PEELED &&
           c->trips - iteration >= 2 * c->period;
}

// Where no invariant is expected any more, all that is left must be affordable.
static bool can_go_on(struct course *c, int64_t iteration) {
    struct engine *e = c->engine;
    bool hopeless = !c->past || c->n_alone > 2 * c->period + MAX_PEELED;
    if (!hopeless || c->n_alone == 0 || c->trips - iteration <= e->budget / (c->cost + 1))
        return true;
    step_overrun(e, c->statement->span,
                 arena_format(e->arena,
                              "the iterations of this loop have no invariant that was found, and "
                              "they are too many to follow one by one: %" PRId64
                              ", each of %" PRId64 " statements and ops",
                              c->trips - iteration, c->cost));
    return false;
}

void loop_execute(struct engine *e, const struct statement *statement) {
    const struct loop *loop = &statement->loop;
    struct course c = {.engine = e,
                       .statement = statement,
                       .loop = loop,
                       .trips = loop->end - loop->begin,
                       .period = 1};
    CHECK(e->depth < MAX_DEPTH);
    any_index(e->program, &loop->body, add_to_period, &c);
    if (!e->one_by_one && c.period <= MAX_PERIOD && c.trips > 2 * c.period &&
        e->terms->symbols.n < MAX_SYMBOLS)
        c.past = ARENA_ARRAY(e->arena, struct snapshot, c.period);
    e->time_loop[e->depth] = any_index(e->program, &loop->body, indexes_microbatches, &c);
    for (int64_t i = 0; i < c.trips && !e->overrun;) {
        int64_t leapt = may_leap(&c, i) ? leap(&c, i) : 0;
        if (leapt) {
            i += leapt;
            c.n_alone = 0;
        } else if (can_go_on(&c, i)) {
            iterate_alone(&c, i++);
        }
    }
    e->time_loop[e->depth] = false;
}
