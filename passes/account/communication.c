// account, communication: what the collectives of a program send, those of its schedule and those
// inside the units that it calls.
#include "passes/account/account.h"

static void count_carriage(struct counting *c, const struct carriage *carriage,
                           const struct occurrence *occurrence) {
    int64_t bytes = rows_add_carriage(&c->rows, carriage, occurrence);
    if (!c->sent)
        return;
    int64_t *sent = &c->sent[occurrence->statement];
    *sent = size_plus(*sent, bytes);
}

// ---- what a collective carries ----------------------------------------------------------------

static enum role outermost_role(const uint8_t *roles, unsigned n) {
    return n ? roles[0] : ROLE_NONE;
}

static bool names_value(const struct unit *unit, const struct call *call, const struct op *op,
                        buffer_id id) {
    for (unsigned i = 0; i < op->n_operands; i++)
        if (op->operands[i] < unit->n_parameters && call->operands[op->operands[i]].buffer == id)
            return true;
    for (uint32_t i = 0; i < unit->n_results; i++)
        if (call->results[i].buffer == id && unit_producer(unit, unit->results[i].value) == op)
            return true;
    return false;
}

static enum role role_of_tensor(const struct program *program, uint32_t tensor) {
    return outermost_role(program->job->tensors[tensor].roles,
                          program->job->tensors[tensor].n_roles);
}

// What an owner gives to all is of a tensor of the owner's.
static enum role role_of_given(const struct program *program, const struct transfer *start,
                               buffer_id id) {
    for (uint32_t i = 0; i < start->n_pieces; i++) {
        const struct buffer *from = &program->buffers[start->pieces[i].from.buffer];
        if (start->pieces[i].to.buffer == id && from->tensor != NO_ID)
            return role_of_tensor(program, from->tensor);
    }
    return ROLE_NONE;
}

static const struct op *op_naming(const struct program *program, const struct call *call,
                                  buffer_id id) {
    const struct unit *unit = &program->job->units[call->unit];
    for (uint32_t i = 0; i < unit->n_ops; i++)
        if (names_value(unit, call, &unit->ops[i], id))
            return &unit->ops[i];
    return NULL;
}

// The role of a value that calls hand on: that of the first op which makes or reads it.
static enum role role_of_value(const struct program *program, buffer_id id) {
    struct statement_walk walk = walk_statements(&program->steps[STEP_TRAIN].body);
    while (walk_next(&walk)) {
        const struct statement *s = walk.statement;
        const struct op *op = s->kind == STATEMENT_CALL ? op_naming(program, &s->call, id) : NULL;
        enum role given =
            s->kind == STATEMENT_START ? role_of_given(program, &s->start, id) : ROLE_NONE;
        if (op || given != ROLE_NONE)
            return op ? outermost_role(op->roles, op->n_roles) : given;
    }
    return ROLE_NONE;
}

// Scalars belong to nothing.
static enum role role_of_piece(const struct program *program, const struct transfer_piece *piece) {
    const struct buffer *from = &program->buffers[piece->from.buffer];
    if (from->tensor == NO_ID)
        return from->rank ? role_of_value(program, piece->from.buffer) : ROLE_NONE;
    return role_of_tensor(program, from->tensor);
}

// ---- statements -------------------------------------------------------------------------------

static struct carriage carriage_of(const struct program *program, const struct transfer *start) {
    return carriage_new(&program->job->mesh, &start->exchange,
                        program->buffers[start->pieces[0].from.buffer].dtype);
}

static void carry_piece(struct carriage *carriage, const struct program *program,
                        const struct transfer *start, uint32_t piece) {
    const struct transfer_piece *p = &start->pieces[piece];
    const struct buffer *from = &program->buffers[p->from.buffer];
    const struct buffer *to = &program->buffers[p->to.buffer];
    struct tensor_type given = buffer_type(program, from), made = buffer_type(program, to);
    carriage_add(carriage, role_of_piece(program, p), state_of_piece(&start->exchange, from, to),
                 given.dtype, type_elements(&given), type_elements(&made));
}

// The pieces beside it decide with it how all of them travel.
int64_t account_piece(const struct program *program, const struct transfer *start, uint32_t piece) {
    if (is_copy(start))
        return account_copied(program, start, piece);
    struct carriage all = carriage_of(program, start), one = all;
    for (uint32_t i = 0; i < start->n_pieces; i++)
        carry_piece(&all, program, start, i);
    carry_piece(&one, program, start, piece);
    return carriage_sent(&one, carriage_algorithm(&all), &one.of[0]);
}

// A row for each role that the collective carries.
static void count_start(struct counting *c, const struct statement_walk *walk, enum phase phase) {
    const struct statement *statement = walk->statement;
    const struct transfer *start = &statement->start;
    struct carriage carriage = carriage_of(c->program, start);
    for (uint32_t i = 0; i < start->n_pieces; i++)
        carry_piece(&carriage, c->program, start, i);
    count_carriage(c, &carriage,
                   &(struct occurrence){.step = c->step,
                                        .phase = phase,
                                        .times = walk_trips(walk),
                                        .sending = account_trips(c->program, walk),
                                        .statement = statement->id,
                                        .span = statement->span});
}

// What travels inside a unit is what it computes; in an update, what becomes of the optimizer's states.
static enum state state_inside(const struct counting *c, const struct tensor_type *type) {
    if (type->rank == 0)
        return N_STATES;
    return c->phase == PHASE_UPDATE ? STATE_OPTIMIZER : STATE_ACTIVATIONS;
}

// Collectives inside the unit, so many times as it is called.
static void count_unit(struct counting *c, const struct unit *unit, int64_t trips) {
    for (uint32_t i = 0; i < unit->n_ops; i++) {
        const struct op *op = &unit->ops[i];
        struct exchange exchange;
        if (!op_exchange(op, &exchange))
            continue;
        bool gather = exchange.kind == COLLECTIVE_ALL_GATHER;
        const struct tensor_type *whole =
            &unit->values[gather ? op->results[0] : op->operands[0]].type;
        struct carriage carriage = carriage_new(&c->program->job->mesh, &exchange, whole->dtype);
        carriage_add_whole(&carriage, outermost_role(op->roles, op->n_roles),
                           state_inside(c, whole), whole->dtype, type_elements(whole));
        count_carriage(c, &carriage,
                       &(struct occurrence){.step = c->step,
                                            .phase = c->phase,
                                            .times = trips,
                                            .sending = trips,
                                            .statement = op->id,
                                            .span = op->span});
    }
}

// A gather of gradients is the second half of a sum that is written out in two.
static bool brings_what_is_read_next(const struct program *program, const struct transfer *start) {
    return collective_gathers(start->exchange.kind) &&
           program->buffers[start->pieces[0].to.buffer].class != CLASS_GRADIENTS;
}

// The phase of the next call in the text is what a gather is for; behind the last call, that of it.
static enum phase phase_of_gather(const struct counting *c, struct statement_walk walk) {
    while (walk_next(&walk))
        if (walk.statement->kind == STATEMENT_CALL)
            return c->program->job->units[walk.statement->call.unit].phase;
    return c->phase;
}

void count_statement(struct counting *c, const struct statement_walk *walk) {
    const struct statement *statement = walk->statement;
    bool receives = statement->start.exchange.kind == COLLECTIVE_RECEIVE;
    if (statement->kind == STATEMENT_START && !is_copy(&statement->start) && !receives) {
        bool ahead = brings_what_is_read_next(c->program, &statement->start);
        count_start(c, walk, ahead ? phase_of_gather(c, *walk) : c->phase);
    } else if (statement->kind == STATEMENT_CALL) {
        const struct unit *unit = &c->program->job->units[statement->call.unit];
        c->phase = unit->phase;
        count_unit(c, unit, account_trips(c->program, walk));
    }
}

void account_communication(struct counting *c, enum step_kind step) {
    struct statement_walk walk = walk_statements(&c->program->steps[step].body);
    c->step = step;
    while (walk_next(&walk))
        count_statement(c, &walk);
}
