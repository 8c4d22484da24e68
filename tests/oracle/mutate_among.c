// The statements that a mistake is planted in, where not all are: copies between tiers, what makes and takes states
// that are materialized, what owners do.
#include "tests/oracle/mutate_parts.h"

static bool is_of_class(const struct program *program, buffer_id id, enum buffer_class class) {
    return program->buffers[buffer_whole(program, id)].class == class;
}

static bool brings_computed(const struct program *program, const struct transfer *start) {
    for (uint32_t i = 0; i < start->n_pieces; i++)
        for (int side = 0; side < 2; side++) {
            buffer_id id = side ? start->pieces[i].to.buffer : start->pieces[i].from.buffer;
            if (is_of_class(program, id, CLASS_ACTIVATIONS) ||
                is_of_class(program, id, CLASS_GRADIENTS))
                return true;
        }
    return false;
}

// ---- what is made when it is needed -----------------------------------------------------------

static bool names(const struct program *program, const struct statement *statement,
                  enum buffer_class class, bool written) {
    struct access access;
    for (uint32_t i = 0; (access = statement_access(program, statement, i)).at; i++)
        if (is_of_class(program, access.at->buffer, class) && (!written || access.written))
            return true;
    return false;
}

// Makes parameters from the master copy.
static bool is_cast(const struct program *program, const struct statement *statement) {
    return statement->kind == STATEMENT_CALL && names(program, statement, CLASS_MASTER, false) &&
           !names(program, statement, CLASS_MASTER, true);
}

static bool is_update(const struct program *program, const struct statement *statement) {
    return statement->kind == STATEMENT_CALL && names(program, statement, CLASS_GRADIENTS, false) &&
           (names(program, statement, CLASS_MASTER, true) ||
            names(program, statement, CLASS_PARAMETERS, true));
}

static void mark(bool *marked, const struct program *program, const struct statement *statement,
                 enum buffer_class class) {
    struct access access;
    for (uint32_t i = 0; (access = statement_access(program, statement, i)).at; i++)
        if (is_of_class(program, access.at->buffer, class))
            marked[buffer_whole(program, access.at->buffer)] = true;
}

// Gradients are taken at once by an update before the end of the backward pass.
bool find_made(struct mutant *m) {
    const struct program *program = m->program;
    bool *taken = ARENA_ARRAY(program->arena, bool, program->n_buffers), found = false;
    m->made = ARENA_ARRAY(program->arena, bool, program->n_buffers);
    struct statement_walk walk = walk_statements(&program->steps[STEP_TRAIN].body);
    while (walk_next(&walk)) {
        const struct statement *statement = walk.statement;
        if (statement->kind != STATEMENT_CALL)
            continue;
        if (is_cast(program, statement))
            mark(m->made, program, statement, CLASS_TRANSIENT);
        else if (is_update(program, statement))
            mark(taken, program, statement, CLASS_GRADIENTS);
        else if (program->job->units[statement->call.unit].phase == PHASE_BACKWARD)
            for (buffer_id i = 0; i < program->n_buffers; i++)
                m->made[i] |= taken[i];
    }
    for (buffer_id i = 0; i < program->n_buffers; i++)
        found |= m->made[i];
    return found;
}

static bool names_made(const struct mutant *m, const struct statement *statement) {
    struct access access;
    for (uint32_t i = 0; (access = statement_access(m->program, statement, i)).at; i++)
        if (m->made[buffer_whole(m->program, access.at->buffer)])
            return true;
    return false;
}

// ---- among --------------------------------------------------------------------------------------

static bool is_among_starts(const struct mutant *m, const struct statement *s) {
    switch (m->among) {
    case ALL_STATEMENTS:
        return true;
    case COPIES:
        return is_copy(&s->start);
    case COPIES_OF_COMPUTED:
        return is_copy(&s->start) && brings_computed(m->program, &s->start);
    case MADE:
        return names_made(m, s);
    case OWNED:
        return statement_ownership(m->program, s).axes.n > 0;
    }
    return false;
}

// A wait is among those that its starts are.
static bool is_among_waits(const struct mutant *m, const struct statement *s, enum step_kind step) {
    struct statement_walk walk = walk_statements(&m->program->steps[step].body);
    while (walk_next(&walk))
        if (walk.statement->kind == STATEMENT_START &&
            walk.statement->start.handle == s->wait.handle && is_among_starts(m, walk.statement))
            return true;
    return false;
}

bool is_among(const struct mutant *m, const struct statement *s, enum step_kind step) {
    if (m->among == ALL_STATEMENTS)
        return true;
    switch (s->kind) {
    case STATEMENT_START:
        return is_among_starts(m, s);
    case STATEMENT_WAIT:
        return is_among_waits(m, s, step);
    default:
        if (m->among == MADE)
            return names_made(m, s) && (s->kind != STATEMENT_CALL || is_cast(m->program, s) ||
                                        is_update(m->program, s));
        return m->among != OWNED || statement_ownership(m->program, s).axes.n > 0;
    }
}
