// Names of steps' functions. Part of both libraries of the backend, since the code defines them and
// the descriptor's text refers to them.
#include "backend/symbols.h"

const char *step_symbol(struct arena *arena, const struct job *job, uint32_t program,
                        enum step_kind kind) {
    if (job->n_programs == 1)
        return arena_format(arena, "place_%s", step_names[kind]);
    return arena_format(arena, "place_part_%u_%s", program, step_names[kind]);
}
