// Executes the statements of a step on the abstract store. Loops are induction.c's matter.
#include "verify/machine/engine.h"

#include <string.h>

enum { MAX_STATEMENTS = 1000 * 1000 };

// ---- calls ------------------------------------------------------------------------------------

// Whatever had the bytes of the frame is gone.
static void take_frame(struct engine *e, const struct unit *unit, struct span span) {
    if (unit->frame != NO_ID && unit->frame_bytes > 0)
        store_clobber(e, (struct reference){unit->frame, index_constant(0)}, ITEM_OVERWRITTEN,
                      span);
}

static struct judgement read_operand(struct engine *e, const struct call *call,
                                     const struct unit *unit, uint32_t i, struct span span) {
    struct judgement value = store_read(e, call->operands[i], span);
    if (e->is_reference && unit->phase == PHASE_UPDATE)
        codes_arrive(e, call->operands[i], &value);
    if (value.fault || form_fits(&e->digits, value.form, &unit->values[i].type))
        return value;
    return judgement_fault(
        fault_make(e, E510, span, NULL, "`%s` holds %s, which is not what unit `%s` takes as `%s`",
                   e->program->buffers[call->operands[i].buffer].name,
                   form_text(&e->digits, e->arena, value.form), unit->name, unit->values[i].name));
}

static bool in_place(const struct unit *unit, uint32_t parameter) {
    for (uint32_t i = 0; i < unit->n_results; i++)
        if (unit->results[i].in_parameter == parameter)
            return true;
    return false;
}

// Code writes an in-place result where the operand is, whatever the text binds the result to.
static void check_places(struct engine *e, const struct call *call, const struct unit *unit,
                         struct span span) {
    for (uint32_t i = 0; i < unit->n_results; i++) {
        uint32_t parameter = unit->results[i].in_parameter;
        if (parameter == NO_ID)
            continue;
        struct reference from = call->operands[parameter], to = call->results[i];
        if (from.buffer == to.buffer &&
            number_equal(&e->terms->symbols, number_of(e, from.index), number_of(e, to.index)))
            continue;
        fault_insist(e, fault_make(e, E611, span, NULL,
                                   "unit `%s` makes `%s` in the place of `%s`, but the call binds "
                                   "them to different places",
                                   unit->name, unit->values[unit->results[i].value].name,
                                   unit->values[parameter].name));
    }
}

// Inside the unit nothing knows that two places are one, and it may write before it has read all:
// what it writes must be apart from the rest of what it is given, from its frame, and from what
// else it writes.
static bool places_are_apart(struct engine *e, const struct call *call, const struct unit *unit) {
    bool apart = true;
    store_begin_claims(e);
    if (unit->frame != NO_ID && unit->frame_bytes > 0)
        store_claim(e, (struct reference){unit->frame, index_constant(0)});
    for (uint32_t i = 0; i < unit->n_results; i++)
        if (unit->results[i].in_parameter == NO_ID)
            apart = store_claim(e, call->results[i]) && apart;
    for (uint32_t i = 0; i < unit->n_parameters; i++)
        if (unit->consumed[i] || in_place(unit, i))
            apart = store_claim(e, call->operands[i]) && apart;
    for (uint32_t i = 0; i < unit->n_parameters; i++)
        if (!unit->consumed[i] && !in_place(unit, i))
            apart = apart && !store_is_claimed(e, call->operands[i]);
    return apart;
}

static const struct fault *shared_fault(struct engine *e, const struct unit *unit,
                                        struct span span) {
    const char *user = arena_format(e->arena, "unit `%s`", unit->name);
    const struct fault *fault = store_plan_fault(e, E611, user, span);
    return fault ? fault
                 : fault_make(e, E611, span, NULL,
                              "%s is given the same bytes for two things, of which it writes one",
                              user);
}

static void execute_call(struct engine *e, const struct statement *statement) {
    const struct call *call = &statement->call;
    const struct unit *unit = &e->program->units[call->unit];
    struct judgement few[3][64];
    bool many = unit->n_parameters > 64 || unit->n_results > 64;
    uint32_t n = unit->n_parameters + unit->n_results + 1;
    struct judgement *operands = many ? ARENA_ARRAY(e->arena, struct judgement, n) : few[0];
    struct judgement *after = many ? ARENA_ARRAY(e->arena, struct judgement, n) : few[1];
    struct judgement *results = many ? ARENA_ARRAY(e->arena, struct judgement, n) : few[2];
    check_places(e, call, unit, statement->span);
    const struct fault *mixed =
        places_are_apart(e, call, unit) ? NULL : shared_fault(e, unit, statement->span);
    take_frame(e, unit, statement->span);
    for (uint32_t i = 0; i < unit->n_parameters; i++)
        operands[i] =
            mixed ? judgement_fault(mixed) : read_operand(e, call, unit, i, statement->span);
    unit_evaluate(e, unit, call->unit, operands, results, after);
    for (uint32_t i = 0; i < unit->n_parameters; i++) {
        if (after[i].fault && !operands[i].fault)
            store_write(e, call->operands[i], after[i], statement->span);
        else if (unit->consumed[i] && !in_place(unit, i))
            store_clobber(e, call->operands[i], ITEM_CONSUMED, statement->span);
    }
    for (uint32_t i = 0; i < unit->n_results; i++)
        store_write(e, call->results[i], mixed ? judgement_fault(mixed) : results[i],
                    statement->span);
}

// ---- statements -------------------------------------------------------------------------------

static struct judgement zeros(struct engine *e, const struct buffer *buffer) {
    struct scaled zero = {term_constant(e->terms, NODE_ZERO), SCALE_ONE};
    struct judgement value = judgement_of(e, zero, FORM_ANY, buffer->dtype);
    value.clean = true;
    return value;
}

static void execute_zero(struct engine *e, const struct statement *statement) {
    const struct buffer *buffer = &e->program->buffers[statement->zero.buffer];
    struct judgement value = zeros(e, buffer), old;
    if (e->history) {
        struct place at = place_of(e, statement->zero);
        history_begin(e, NULL, NULL, statement->span, NULL, 0);
        history_made(e, &value, buffer->name);
        history_place(e, &value, statement->zero.buffer,
                      store_holds(e, at.buffer, at.item, &old) ? &old : NULL);
        history_end(e);
    }
    store_write(e, statement->zero, value, statement->span);
}

static void execute(struct engine *e, const struct statement *statement) {
    e->statement = statement;
    e->terms->site = &statement->span;
    switch (statement->kind) {
    case STATEMENT_LOOP:
        loop_execute(e, statement);
        break;
    case STATEMENT_CALL:
        execute_call(e, statement);
        break;
    case STATEMENT_START:
        store_start(e, statement);
        break;
    case STATEMENT_WAIT:
        store_wait(e, statement);
        break;
    case STATEMENT_ZERO:
        execute_zero(e, statement);
        break;
    case STATEMENT_FREE:
        for (uint32_t i = 0; i < statement->free.n_items; i++)
            store_clobber(e, statement->free.items[i], ITEM_FREED, statement->span);
        break;
    }
}

// Whether it is, or is in, a loop over groups or turns, as the strategy asked for.
static bool is_of_groups(const struct engine *e, const struct statement *statement) {
    bool found = statement->kind == STATEMENT_LOOP && loop_is_gone_with(&statement->loop);
    for (int i = 0; i < e->depth; i++)
        found = found || loop_is_gone_with(&e->loops[i]->loop);
    return found;
}

void step_overrun(struct engine *e, const struct statement *statement, const char *why) {
    struct fault *fault = fault_make(e, E491, statement->span, NULL, "%s", why);
    fault->help = is_of_groups(e, statement)
                      ? "loops over groups and turns of layers may have to be followed one by one: "
                        "write `unit = layer` for `layers(2)`, and ranges as `layers[0:8]` for "
                        "`layers[::2]`, or make the model less deep"
                      : "let each iteration do with its layer or microbatch what the one before "
                        "did with its own, or lower the loop's bound";
    e->overrun = true;
    fault_insist(e, fault);
}

bool has_memory(const struct arena *arena) {
    return arena_used_bytes(arena) <= (size_t)LIMIT_CHECK_BYTES;
}

void block_execute(struct engine *e, const struct block *block) {
    for (uint32_t i = 0; i < block->n && !e->overrun; i++) {
        e->n_statements++;
        // What is kept of each iteration may be much, whatever the budget of statements.
        if (!has_memory(e->arena))
            step_overrun(
                e, &block->statements[i],
                arena_format(e->arena,
                             "to follow this step takes more than %d GiB of memory: too many of "
                             "its iterations differ from one another",
                             (int)(LIMIT_CHECK_BYTES >> 30)));
        else if (e->budget-- <= 0)
            step_overrun(
                e, &block->statements[i],
                arena_format(e->arena,
                             "this step has more than %d statements and ops to follow one "
                             "by one: not all of its loops have an invariant that was found",
                             MAX_STATEMENTS));
        else
            execute(e, &block->statements[i]);
    }
}

// Transfers that nobody has waited for.
static void check_all_waited(struct engine *e) {
    for (uint32_t h = 0; h < e->store.n_handles; h++)
        for (uint32_t i = 0; i < e->store.flights[h].n; i++) {
            const struct run *run = &e->store.flights[h].runs[i];
            if (run->state == ITEM_EMPTY)
                continue;
            const struct span *start = &run->start->span;
            struct fault *fault = fault_make(
                e, E612, *start, NULL, "nothing waits for this transfer before the step ends");
            fault_insist(e, fault_caused_by(fault, start));
        }
}

bool step_execute(struct engine *e, enum step_kind kind) {
    e->step = &e->program->steps[kind];
    e->recording = kind != STEP_EVALUATE;
    e->budget = MAX_STATEMENTS;
    e->overrun = false;
    e->depth = 0;
    store_init(e, e->step);
    block_execute(e, &e->step->body);
    if (!e->overrun)
        check_all_waited(e);
    return !e->overrun;
}
