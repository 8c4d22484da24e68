// Executes the statements of a step on the abstract store, one at a time: where it stands is in a
// stack of blocks, each with the statement that comes next, so that it may stop behind any
// statement and go on later. How often a loop's body is executed, and for which iterations, is
// induction.c's matter.
#include "verify/machine/induction.h"

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
    struct judgement value = zeros(e, buffer);
    if (e->history) {
        history_begin(e, NULL, NULL, statement->span, NULL, 0);
        history_made(e, &value, buffer->name);
        store_note_place(e, statement->zero, &value);
        history_end(e);
    }
    store_write(e, statement->zero, value, statement->span);
}

static void enter_block(struct engine *e, const struct block *block, struct course *course) {
    e->frames[e->n_frames++] = (struct frame){.block = block, .course = course};
}

static void enter_loop(struct engine *e, const struct statement *statement) {
    struct course *course = course_begin(e, statement);
    if (course_next(course))
        enter_block(e, &statement->loop.body, course);
}

static void execute(struct engine *e, const struct statement *statement) {
    e->statement = statement;
    e->terms->site = &statement->span;
    switch (statement->kind) {
    case STATEMENT_LOOP:
        enter_loop(e, statement);
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

// ---- the step ---------------------------------------------------------------------------------

// What is kept of each iteration may be much, whatever the budget of statements.
static bool is_affordable(struct engine *e, const struct statement *statement) {
    if (!has_memory(e->arena))
        step_overrun(
            e, statement,
            arena_format(e->arena,
                         "to follow this step takes more than %d GiB of memory: too many of "
                         "its iterations differ from one another",
                         (int)(LIMIT_CHECK_BYTES >> 30)));
    else if (e->budget-- <= 0)
        step_overrun(e, statement,
                     arena_format(e->arena,
                                  "this step has more than %d statements and ops to follow one "
                                  "by one: not all of its loops have an invariant that was found",
                                  MAX_STATEMENTS));
    return !e->overrun;
}

// The frame of the block that goes on, if need be with another iteration of its loop; NULL: the
// step has ended.
static struct frame *present_frame(struct engine *e) {
    while (e->n_frames > 0) {
        struct frame *frame = &e->frames[e->n_frames - 1];
        if (frame->next < frame->block->n && !e->overrun)
            return frame;
        frame->next = 0;
        if (!frame->course || !course_next(frame->course))
            e->n_frames--;
    }
    return NULL;
}

bool step_advance(struct engine *e) {
    struct frame *frame = present_frame(e);
    if (!frame)
        return false;
    const struct statement *statement = &frame->block->statements[frame->next++];
    e->n_statements++;
    if (is_affordable(e, statement))
        execute(e, statement);
    return true;
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

void step_enter(struct engine *e, const struct block *block) {
    e->depth = 0;
    e->n_frames = 0;
    enter_block(e, block, NULL);
}

void step_begin(struct engine *e, enum step_kind kind) {
    e->step = &e->program->steps[kind];
    e->recording = kind != STEP_EVALUATE;
    e->budget = MAX_STATEMENTS;
    e->overrun = false;
    store_init(e, e->step);
    step_enter(e, &e->step->body);
}

bool step_execute(struct engine *e, enum step_kind kind) {
    step_begin(e, kind);
    while (step_advance(e))
        continue;
    if (!e->overrun)
        check_all_waited(e);
    return !e->overrun;
}
