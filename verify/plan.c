// Which of two buffers that share bytes is where it should not be. Both are needed at once, or one
// still is when the other is written; neither shows which is wrong, but a buffer that was put
// somewhere else is in the way of others there, and those only of it.
#include "verify/engine.h"

static bool needs(const struct engine *e, const struct statement *statement, buffer_id id) {
    struct access access;
    for (uint32_t i = 0; (access = statement_access(e->program, statement, i)).at; i++)
        if (owner_of(e, access.at->buffer) == id)
            return true;
    if (statement->kind != STATEMENT_CALL)
        return false;
    const struct unit *unit = &e->program->units[statement->call.unit];
    return unit->frame == id && unit->frame_bytes > 0;
}

// One statement needs both, or one is needed in every step.
static bool are_needed_at_once(const struct engine *e, buffer_id a, buffer_id b) {
    const struct program *program = e->program;
    if (class_persistent[program->buffers[a].class] || class_persistent[program->buffers[b].class])
        return true;
    for (int s = 0; s < N_STEPS; s++) {
        struct statement_walk walk = walk_statements(&program->steps[s].body);
        while (walk_next(&walk))
            if (walk.statement->kind != STATEMENT_FREE && needs(e, walk.statement, a) &&
                needs(e, walk.statement, b))
                return true;
    }
    return false;
}

// How many others are needed at once with the buffer and share bytes with it.
static uint32_t in_the_way(const struct engine *e, buffer_id id) {
    uint32_t n = 0;
    for (buffer_id i = 0; i < e->program->n_buffers; i++)
        n += i != id && buffers_meet(e, i, id) && are_needed_at_once(e, i, id);
    return n;
}

buffer_id plan_misplaced(const struct engine *e, buffer_id a, buffer_id b) {
    if (!e->history)
        return NO_ID;
    uint32_t ours = in_the_way(e, a), theirs = in_the_way(e, b);
    return ours == theirs ? NO_ID : ours > theirs ? a : b;
}
