// Which state a piece of a transfer carries, from the buffers at its ends and, of transients, from what
// makes them.
#include "passes/account/account.h"

enum state state_of_piece(const struct exchange *exchange, const struct buffer *from,
                          const struct buffer *to) {
    bool reduces = collective_sums(exchange->kind);
    if (from->tensor == NO_ID || to->tensor == NO_ID) // squares that an owner makes are of a tensor
        return from->rank ? STATE_ACTIVATIONS : N_STATES;
    if (class_states[from->class] != N_STATES)
        return class_states[from->class];
    if (class_states[to->class] != N_STATES)
        return class_states[to->class];
    bool codes = from->dtype == DTYPE_I32; // of gradients: no parameter is an integer
    return reduces || codes ? STATE_GRADIENTS : STATE_PARAMETERS;
}

// The state that a transient is a part or a whole of: that of the collective, or of the call, which
// makes it.
static enum state state_of_transient(const struct program *program, buffer_id id) {
    struct statement_walk walk = walk_statements(&program->steps[STEP_TRAIN].body);
    while (walk_next(&walk)) {
        const struct statement *s = walk.statement;
        const struct transfer *start = &s->start;
        for (uint32_t i = 0; s->kind == STATEMENT_START && i < start->n_pieces; i++)
            if (buffer_whole(program, start->pieces[i].to.buffer) == id)
                return state_of_piece(&start->exchange,
                                      &program->buffers[start->pieces[i].from.buffer],
                                      &program->buffers[id]);
        const struct unit *unit =
            s->kind == STATEMENT_CALL ? &program->job->units[s->call.unit] : NULL;
        for (uint32_t i = 0; unit && i < unit->n_results; i++)
            if (buffer_whole(program, s->call.results[i].buffer) == id)
                return unit->phase == PHASE_BACKWARD ? STATE_GRADIENTS : STATE_PARAMETERS;
    }
    return N_STATES;
}

enum state state_of_copy(const struct program *program, const struct transfer_piece *piece) {
    const struct buffer *from = &program->buffers[piece->from.buffer];
    const struct buffer *to = &program->buffers[piece->to.buffer];
    if (from->tensor == NO_ID)
        return from->rank ? STATE_ACTIVATIONS : N_STATES;
    enum state state = class_states[from->class];
    if (state == N_STATES)
        state = class_states[to->class];
    return state != N_STATES
               ? state
               : state_of_transient(program, buffer_whole(program, piece->from.buffer));
}
