// Numbers of handles: what a collective's start and its wait have in common. Part of both libraries
// of the backend, since the code uses the numbers and the descriptor says how many there are.
//
// The steps' come first, one for each slot of each handle. Parts of the mesh that meet in a
// collective have one handle for it, of one name, for ranks find each other by its number. A unit's
// collectives are over when it returns, so all units use the same numbers behind them, a unit's n-th
// start the n-th.
#include "backend/handles.h"

#include <string.h>

// Whether a part before this one has a handle of this name, which then has its numbers.
static bool is_numbered(const struct job *job, uint32_t program, enum step_kind kind,
                        const char *name) {
    for (uint32_t i = 0; i < program; i++)
        if (step_find_handle(&job->programs[i]->steps[kind], name) != NO_ID)
            return true;
    return false;
}

// The most that a part asks for.
static int64_t slots_of(const struct job *job, enum step_kind kind, const char *name) {
    int64_t most = 0;
    for (uint32_t i = 0; i < job->n_programs; i++) {
        const struct step *step = &job->programs[i]->steps[kind];
        uint32_t handle = step_find_handle(step, name);
        if (handle != NO_ID && step->handles[handle].slots > most)
            most = step->handles[handle].slots;
    }
    return most;
}

int64_t step_handle(const struct job *job, enum step_kind kind, const char *name) {
    int64_t number = 0;
    for (uint32_t k = 0; k < job->n_programs; k++) {
        const struct step *step = &job->programs[k]->steps[kind];
        for (uint32_t i = 0; i < step->n_handles; i++) {
            const char *here = step->handles[i].name;
            if (is_numbered(job, k, kind, here))
                continue;
            if (name && strcmp(here, name) == 0)
                return number;
            number += slots_of(job, kind, here);
        }
    }
    return number;
}

int64_t step_handle_count(const struct job *job) {
    int64_t most = 0;
    for (int s = 0; s < N_STEPS; s++) {
        int64_t slots = step_handle(job, s, NULL);
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
