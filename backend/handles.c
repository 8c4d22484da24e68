// Numbers of handles: what a collective's start and its wait have in common. Part of both libraries
// of the backend, since the code uses the numbers and the descriptor says how many there are.
//
// The steps' come first, one for each slot of each handle. A unit's collectives are over when it
// returns, so all units use the same numbers behind them, a unit's n-th start the n-th.
#include "backend/handles.h"

int64_t step_handle_count(const struct job *job) {
    int64_t most = 0;
    for (uint32_t k = 0; k < job->n_programs; k++)
        for (int s = 0; s < N_STEPS; s++) {
            const struct step *step = &job->programs[k]->steps[s];
            int64_t slots = 0;
            for (uint32_t i = 0; i < step->n_handles; i++)
                slots += step->handles[i].slots;
            most = slots > most ? slots : most;
        }
    return most;
}

int64_t unit_handle_count(const struct unit *unit, uint32_t n_ops) {
    int64_t starts = 0;
    struct exchange exchange;
    for (uint32_t i = 0; i < n_ops; i++)
        starts += op_exchange(&unit->ops[i], &exchange);
    return starts;
}

int64_t handle_count(const struct job *job) {
    int64_t most = 0;
    for (uint32_t u = 0; u < job->n_units; u++) {
        int64_t starts = unit_handle_count(&job->units[u], job->units[u].n_ops);
        most = starts > most ? starts : most;
    }
    return step_handle_count(job) + most;
}
