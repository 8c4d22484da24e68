// Executes the statements of a step on the abstract store, one at a time: where it stands is in a
// stack of blocks, each with the statement that comes next, so that it may stop behind any
// statement and go on later. How often a loop's body is executed, and for which iterations, is
// induction.c's matter.
#include "verify/machine/induction.h"
#include "verify/machine/owned.h"
#include "verify/machine/repeat.h"
#include "verify/machine/sides.h"

#include <string.h>

// What is between parts is followed message by message.
enum { MAX_STATEMENTS = 1000 * 1000, MAX_FOLLOWED = 20 * MAX_STATEMENTS };

static int64_t most_statements(const struct abstract_machine *m) {
    return m->between ? MAX_FOLLOWED : MAX_STATEMENTS;
}

// ---- calls ------------------------------------------------------------------------------------

// Whatever had the bytes of the frame is gone.
static void take_frame(struct abstract_machine *m, uint32_t unit, struct span span) {
    buffer_id frame = program_frame(m->program, unit);
    if (frame != NO_ID && m->program->job->units[unit].frame_bytes > 0)
        store_clobber(m, reference_to(frame), ITEM_OVERWRITTEN, span);
}

static struct judgement read_operand(struct abstract_machine *m, const struct call *call,
                                     const struct unit *unit, uint32_t i, struct span span) {
    struct judgement value = store_read(m, call->operands[i], span);
    struct builder builder = statement_builder(m);
    note_odd(m, m->program->buffers[call->operands[i].buffer].name, &value, span);
    if (m->proof->is_reference && unit->phase == PHASE_UPDATE)
        codes_arrive(m, &builder, call->operands[i], &value);
    if (value.fault || form_fits(&m->world->digits, value.form, &unit->values[i].type))
        return value;
    return judgement_fault(fault_make(m->proof, E510, span, NULL,
                                      "`%s` holds %s, which is not what unit `%s` takes as `%s`",
                                      m->program->buffers[call->operands[i].buffer].name,
                                      form_text(&m->world->digits, m->world->arena, value.form),
                                      unit->name, unit->values[i].name));
}

static bool in_place(const struct unit *unit, uint32_t parameter) {
    for (uint32_t i = 0; i < unit->n_results; i++)
        if (unit->results[i].in_parameter == parameter)
            return true;
    return false;
}

// Code writes an in-place result where the operand is, whatever the text binds the result to.
static void check_places(struct abstract_machine *m, const struct call *call,
                         const struct unit *unit, struct span span) {
    for (uint32_t i = 0; i < unit->n_results; i++) {
        uint32_t parameter = unit->results[i].in_parameter;
        if (parameter == NO_ID)
            continue;
        struct reference from = call->operands[parameter], to = call->results[i];
        if (from.buffer == to.buffer &&
            number_equal(&m->world->terms->symbols, item_of(m, &from), item_of(m, &to)))
            continue;
        fault_insist(m->proof,
                     fault_make(m->proof, E611, span, NULL,
                                "unit `%s` makes `%s` in the place of `%s`, but the call binds "
                                "them to different places",
                                unit->name, unit->values[unit->results[i].value].name,
                                unit->values[parameter].name));
    }
}

// Nothing inside the unit knows that two places are one, and it may write before it has read all:
// what it writes must be apart from the rest of what it is given, from its frame, and from what
// else it writes.
static bool places_are_apart(struct abstract_machine *m, const struct call *call,
                             const struct unit *unit) {
    bool apart = true;
    store_begin_claims(m);
    buffer_id frame = program_frame(m->program, call->unit);
    if (frame != NO_ID && unit->frame_bytes > 0)
        store_claim(m, reference_to(frame));
    for (uint32_t i = 0; i < unit->n_results; i++)
        if (unit->results[i].in_parameter == NO_ID)
            apart = store_claim(m, call->results[i]) && apart;
    for (uint32_t i = 0; i < unit->n_parameters; i++)
        if (unit->consumed[i] || in_place(unit, i))
            apart = store_claim(m, call->operands[i]) && apart;
    for (uint32_t i = 0; i < unit->n_parameters; i++)
        if (!unit->consumed[i] && !in_place(unit, i))
            apart = apart && !store_is_claimed(m, call->operands[i]);
    return apart;
}

static const struct fault *shared_fault(struct abstract_machine *m, const struct unit *unit,
                                        struct span span) {
    const char *user = arena_format(m->world->arena, "unit `%s`", unit->name);
    const struct fault *fault = store_plan_fault(m, E611, user, span);
    return fault ? fault
                 : fault_make(m->proof, E611, span, NULL,
                              "%s is given the same bytes for two things, of which it writes one",
                              user);
}

static void execute_call(struct abstract_machine *m, const struct statement *statement) {
    const struct call *call = &statement->call;
    const struct unit *unit = &m->program->job->units[call->unit];
    struct judgement few[3][64];
    bool many = unit->n_parameters > 64 || unit->n_results > 64;
    uint32_t n = unit->n_parameters + unit->n_results + 1;
    struct judgement *operands = many ? ARENA_ARRAY(m->world->arena, struct judgement, n) : few[0];
    struct judgement *after = many ? ARENA_ARRAY(m->world->arena, struct judgement, n) : few[1];
    struct judgement *results = many ? ARENA_ARRAY(m->world->arena, struct judgement, n) : few[2];
    struct ownership owner = statement_ownership(m->program, statement);
    uint32_t alone = (uint32_t)axis_list_mask(&owner.axes);
    check_places(m, call, unit, statement->span);
    const struct fault *mixed =
        places_are_apart(m, call, unit) ? NULL : shared_fault(m, unit, statement->span);
    take_frame(m, statement->call.unit, statement->span);
    for (uint32_t i = 0; i < unit->n_parameters; i++)
        operands[i] =
            mixed ? judgement_fault(mixed) : read_operand(m, call, unit, i, statement->span);
    for (uint32_t i = 0; alone && i < unit->n_parameters; i++)
        operands[i] = owned_operand(m, call, alone, i, operands[i], statement->span);
    call_evaluate(m, unit, call->unit, operands, results, after);
    for (uint32_t i = 0; alone && i < unit->n_results; i++)
        results[i] = owned_result(m, call, alone, i, operands, results[i], statement->span);
    for (uint32_t i = 0; i < unit->n_parameters; i++) {
        if (after[i].fault && !operands[i].fault)
            store_write(m, call->operands[i], after[i], statement->span);
        else if (unit->consumed[i] && !in_place(unit, i))
            store_clobber(m, call->operands[i], ITEM_CONSUMED, statement->span);
    }
    for (uint32_t i = 0; i < unit->n_results; i++)
        store_write(m, call->results[i], mixed ? judgement_fault(mixed) : results[i],
                    statement->span);
}

// ---- statements -------------------------------------------------------------------------------

static struct judgement zeros(struct abstract_machine *m, const struct buffer *buffer) {
    struct builder builder = statement_builder(m);
    struct scaled zero = {term_constant(&builder, NODE_ZERO), SCALE_ONE};
    struct judgement value = judgement_of(m->world, zero, FORM_ANY, buffer->dtype);
    value.padding = PADDING_ZEROS;
    return value;
}

static void execute_zero(struct abstract_machine *m, const struct statement *statement) {
    const struct buffer *buffer = &m->program->buffers[statement->zero.buffer];
    struct judgement value = zeros(m, buffer);
    if (m->proof->history) {
        history_begin(m->proof, NULL, NULL, statement->span, NULL, 0);
        history_made(m->proof, &value, buffer->name);
        store_note_place(m, statement->zero.buffer, place_of(m, statement->zero), &value);
        history_end(m->proof);
    }
    store_write(m, statement->zero, value, statement->span);
}

static void enter_block(struct abstract_machine *m, const struct block *block,
                        struct course *course) {
    m->cursor->frames[m->cursor->n_frames++] = (struct frame){.block = block, .course = course};
}

static void enter_loop(struct abstract_machine *m, const struct statement *statement) {
    struct course *course = course_begin(m, statement);
    if (course_next(course))
        enter_block(m, &statement->loop.body, course);
}

static void execute(struct abstract_machine *m, const struct statement *statement) {
    m->cursor->statement = statement;
    switch (statement->kind) {
    case STATEMENT_LOOP:
        enter_loop(m, statement);
        break;
    case STATEMENT_CALL:
        execute_call(m, statement);
        break;
    case STATEMENT_START:
        store_start(m, statement);
        break;
    case STATEMENT_WAIT:
        store_wait(m, statement);
        break;
    case STATEMENT_ZERO:
        execute_zero(m, statement);
        break;
    case STATEMENT_FREE:
        for (uint32_t i = 0; i < statement->free.n_items; i++)
            store_clobber(m, statement->free.items[i], ITEM_FREED, statement->span);
        break;
    case STATEMENT_TASK: // a label
        come_to_label(m, statement);
        break;
    }
}

// ---- the step ---------------------------------------------------------------------------------

// What is kept of each iteration may be much, whatever the budget of statements.
static bool is_affordable(struct abstract_machine *m, const struct statement *statement) {
    if (!has_memory(m->world->arena))
        step_overrun(
            m, statement,
            arena_format(m->world->arena,
                         "to follow this step takes more than %d GiB of memory: too many of "
                         "its iterations differ from one another",
                         (int)(LIMIT_CHECK_BYTES >> 30)));
    else if (m->budget-- <= 0)
        step_overrun(m, statement,
                     arena_format(m->world->arena,
                                  "this step has more than %d statements and ops to follow one "
                                  "by one: not all of its loops have an invariant that was found",
                                  (int)most_statements(m)));
    return !m->overrun;
}

// The frame of the block that goes on, if need be with another iteration of its loop; NULL: the
// step has ended.
static struct frame *present_frame(struct abstract_machine *m) {
    while (m->cursor->n_frames > 0) {
        struct frame *frame = &m->cursor->frames[m->cursor->n_frames - 1];
        if (m->repetition)
            repetition_look(m, frame);
        if (frame->next < frame->block->n && !m->overrun)
            return frame;
        frame->next = 0;
        if (!frame->course || !course_next(frame->course))
            m->cursor->n_frames--;
    }
    return NULL;
}

// A wait for others that have not come so far.
static bool has_to_wait(struct abstract_machine *m, const struct statement *statement) {
    if (!m->between || statement->kind != STATEMENT_WAIT || !m->between[statement->wait.handle])
        return false;
    const struct end *end =
        sides_end(m, statement->wait.handle, number_of(m, statement->wait.index));
    return end && !sides_come(m, end);
}

// A task that need not be executed is done when this comes by it.
static enum repeated come_by(struct abstract_machine *m, struct frame *frame) {
    const struct statement *statement = &frame->block->statements[frame->next];
    if (m->repetition && statement->kind == STATEMENT_TASK)
        return repetition_come_by(m, frame);
    // A loop over tasks does nothing itself; another one may be proved from what the store says.
    if (m->repetition && !(statement->kind == STATEMENT_LOOP && loop_has_tasks(&statement->loop)))
        repetition_leave(m);
    return TO_EXECUTE;
}

bool step_advance(struct abstract_machine *m) {
    struct frame *frame = present_frame(m);
    m->waits = frame && has_to_wait(m, &frame->block->statements[frame->next]);
    if (!frame && m->repetition)
        repetition_leave(m);
    if (!frame || m->waits)
        return false;
    const struct statement *statement = &frame->block->statements[frame->next];
    enum repeated repeated = come_by(m, frame);
    if (repeated == TO_COME)
        return false;
    m->cursor->n_statements++;
    m->proof->moment++;
    if (is_affordable(m, statement) && repeated == TO_EXECUTE) {
        frame->next++;
        execute(m, statement);
    }
    return true;
}

// Transfers that nobody has waited for.
void step_end(struct abstract_machine *m) {
    for (uint32_t h = 0; h < m->store.n_handles; h++)
        for (uint32_t i = 0; i < m->store.flights[h].n; i++) {
            const struct run *run = &m->store.flights[h].runs[i];
            if (run->state == ITEM_EMPTY)
                continue;
            const struct span *start = &run->start->span;
            struct fault *fault =
                fault_make(m->proof, E612, *start, NULL,
                           "nothing waits for this transfer before the step ends");
            fault_insist(m->proof, fault_caused_by(fault, start));
        }
}

void step_enter(struct abstract_machine *m, const struct block *block) {
    m->cursor->depth = 0;
    m->cursor->n_frames = 0;
    m->cursor->task = NULL;
    enter_block(m, block, NULL);
}

// Which handles are of transfers between parts.
static void find_between(struct abstract_machine *m, const struct step *step) {
    struct statement_walk walk = walk_statements(&step->body);
    m->between = NULL;
    while (walk_next(&walk)) {
        const struct statement *start = walk.statement;
        if (start->kind != STATEMENT_START || !sides_exchange(m, &start->start.exchange))
            continue;
        if (!m->between)
            m->between = ARENA_ARRAY(m->world->arena, bool, step->n_handles);
        m->between[start->start.handle] = true;
    }
}

// Nothing is known of the step's loops (induction.c).
static void forget_loops(struct abstract_machine *m, const struct step *step) {
    struct statement_walk walk = walk_statements(&step->body);
    m->n_ids = 0;
    while (walk_next(&walk))
        m->n_ids++;
    m->first_id = m->n_ids ? step->body.statements[0].id : 0;
    m->loops = ARENA_ARRAY(m->world->arena, struct loop_known, m->n_ids);
}

void step_begin(struct abstract_machine *m, enum step_kind kind) {
    m->cursor->step = &m->program->steps[kind];
    m->recording = kind != STEP_EVALUATE;
    find_between(m, m->cursor->step);
    forget_loops(m, m->cursor->step);
    m->budget = most_statements(m);
    m->overrun = false;
    store_init(m, m->cursor->step);
    step_enter(m, &m->cursor->step->body);
    m->repetition = repetition_new(m);
}

bool step_execute(struct abstract_machine *m, enum step_kind kind) {
    step_begin(m, kind);
    while (step_advance(m))
        continue;
    if (!m->overrun)
        step_end(m);
    return !m->overrun;
}
