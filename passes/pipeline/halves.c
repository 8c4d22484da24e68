// Which ops of backward are of which part: one is of inputs if something is made of it that is no parameter's
// gradient. So a gain's gradient is of inputs, as one op makes it and its norm's.
#include "passes/pipeline/halves.h"

uint32_t *halves_of(struct arena *arena, const struct program *program, const struct call *call,
                    uint32_t *n_weights) {
    const struct unit *unit = &program->job->units[call->unit];
    uint32_t *halves = ARENA_ARRAY(arena, uint32_t, unit->n_ops + 1);
    bool *needed = ARENA_ARRAY(arena, bool, unit->n_values + 1);
    for (uint32_t i = 0; i < unit->n_results; i++)
        needed[unit->results[i].value] |=
            program->buffers[call->results[i].buffer].class != CLASS_GRADIENTS;
    unit_mark_needed(unit, needed);
    *n_weights = 0;
    for (uint32_t i = 0; i < unit->n_ops; i++) {
        bool inputs = false;
        for (unsigned k = 0; k < unit->ops[i].n_results; k++)
            inputs |= needed[unit->ops[i].results[k]];
        halves[i] = inputs ? OF_INPUTS : OF_WEIGHTS;
        *n_weights += !inputs;
    }
    return halves;
}
