// See mutate.h: choosing where, and making sure that what comes out is a program.
#include "tests/oracle/mutate.h"

#include <string.h>

#include "passes/passes.h"
#include "tests/oracle/mutate_parts.h"
#include "tests/random.h"

enum { MAX_ATTEMPTS = 40 };

const char *const mutation_names[N_ALL_MUTATIONS] = {
#define MUTATION(NAME, text, function) [MUTATION_##NAME] = text,
#define ROUNDING                       MUTATION
#define PIPELINE                       MUTATION
#include "tests/oracle/mutations.def"
#undef MUTATION
#undef ROUNDING
#undef PIPELINE
};

uint32_t choose(struct mutant *m, uint32_t n) {
    return (uint32_t)(random_bits(&m->random) % n);
}

bool coin(struct mutant *m) {
    return choose(m, 2);
}

bool touched(struct mutant *m, struct span span, const char *what) {
    if (m->n_touched < MAX_TOUCHED)
        m->touched[m->n_touched++] = span;
    m->what = what;
    return true;
}

// ---- statements -------------------------------------------------------------------------------

static void collect(struct mutant *m, struct sites *sites, struct block *block, int depth,
                    enum step_kind step, unsigned kinds) {
    for (uint32_t i = 0; i < block->n; i++) {
        struct statement *statement = &block->statements[i];
        struct site site = {block, i, depth, step};
        if (kinds >> statement->kind & 1 && is_among(m, statement, step))
            ARENA_PUSH(m->program->arena, sites->items, sites->n, sites->capacity, site);
        if (statement->kind == STATEMENT_LOOP)
            collect(m, sites, &statement->loop.body, depth + 1, step, kinds);
    }
}

struct sites find_sites(struct mutant *m, unsigned kinds) {
    struct sites sites = {0};
    collect(m, &sites, &m->program->steps[STEP_TRAIN].body, 0, STEP_TRAIN, kinds);
    if (choose(m, 6) == 0)
        collect(m, &sites, &m->program->steps[STEP_EVALUATE].body, 0, STEP_EVALUATE, kinds);
    return sites;
}

bool choose_site(struct mutant *m, unsigned kinds, struct site *site) {
    struct sites sites = find_sites(m, kinds);
    if (sites.n == 0)
        return false;
    *site = sites.items[choose(m, sites.n)];
    return true;
}

void remove_statement(struct block *block, uint32_t at) {
    memmove(block->statements + at, block->statements + at + 1,
            (--block->n - at) * sizeof *block->statements);
}

// Another name for the same bytes is no mistake.
static bool same_bytes(const struct program *program, const struct buffer *a,
                       const struct buffer *b) {
    return a->window_of == b->window_of && a->offset_bytes == b->offset_bytes &&
           buffer_item_bytes(program, a) == buffer_item_bytes(program, b);
}

buffer_id other_buffer(struct mutant *m, buffer_id id, bool same_tensor) {
    const struct program *program = m->program;
    const struct buffer *buffer = &program->buffers[id];
    struct tensor_type type = buffer_type(program, buffer);
    buffer_id found = NO_ID;
    uint32_t n = 0;
    for (buffer_id i = 0; i < program->n_buffers; i++) {
        const struct buffer *other = &program->buffers[i];
        struct tensor_type other_type = buffer_type(program, other);
        bool fits =
            i != id && type_equal(&type, &other_type) && !same_bytes(program, buffer, other);
        if (same_tensor)
            fits = fits && buffer->tensor != NO_ID && other->tensor == buffer->tensor;
        if (fits && choose(m, ++n) == 0)
            found = i;
    }
    return found;
}

// ---- ops --------------------------------------------------------------------------------------

bool choose_op(struct mutant *m, bool (*fits)(const struct unit *, const struct op *),
               struct op_site *site) {
    uint32_t n = 0;
    for (uint32_t u = 0; u < m->program->job->n_units; u++)
        for (uint32_t i = 0; i < m->program->job->units[u].n_ops; i++) {
            struct unit *unit = &m->program->job->units[u];
            if (fits(unit, &unit->ops[i]) && choose(m, ++n) == 0)
                *site = (struct op_site){unit, i};
        }
    return n > 0;
}

void insert_op(struct mutant *m, struct unit *unit, uint32_t at, struct op op) {
    ARENA_PUSH(m->program->arena, unit->ops, unit->n_ops, unit->cap_ops, op);
    memmove(unit->ops + at + 1, unit->ops + at, (unit->n_ops - 1 - at) * sizeof *unit->ops);
    unit->ops[at] = op;
}

void remove_op(struct unit *unit, uint32_t at) {
    memmove(unit->ops + at, unit->ops + at + 1, (--unit->n_ops - at) * sizeof *unit->ops);
}

void replace_value(struct unit *unit, uint32_t from, value_id old, value_id new) {
    for (uint32_t i = from; i < unit->n_ops; i++)
        for (unsigned k = 0; k < unit->ops[i].n_operands; k++)
            if (unit->ops[i].operands[k] == old)
                unit->ops[i].operands[k] = new;
    for (uint32_t i = 0; i < unit->n_results; i++)
        if (unit->results[i].value == old)
            unit->results[i].value = new;
    for (uint32_t i = 0; i < unit->n_values; i++)
        if (i != new && unit->values[i].storage == STORAGE_IN_PLACE && unit->values[i].base == old)
            unit->values[i].base = new;
}

bool is_collective(const struct unit *unit, const struct op *op) {
    return op_rows[op->kind].kernel == KERNEL_COLLECTIVE && op->kind != OP_WAIT;
}

// A call does not say where results go that take an operand's place: they follow it. Nor does a
// message say what it names twice.
static void follow_operands(struct program *program, struct step *step) {
    struct statement_walk walk = walk_statements(&step->body);
    while (walk_next(&walk)) {
        message_join_ends(walk.statement);
        if (walk.statement->kind != STATEMENT_CALL)
            continue;
        struct call *call = &walk.statement->call;
        const struct unit *unit = &program->job->units[call->unit];
        for (uint32_t i = 0; i < unit->n_results; i++)
            if (unit->results[i].in_parameter != NO_ID)
                call->results[i] = call->operands[unit->results[i].in_parameter];
    }
}

// Code is made only of programs whose values are inline where the pass `fuse` makes them so.
static bool is_fused(struct arena *arena, const struct job *job) {
    struct job *fused = job_clone(arena, job);
    job_drop_plan(fused);
    fuse(fused, NULL);
    for (uint32_t u = 0; u < job->n_units; u++)
        for (uint32_t i = 0; i < job->units[u].n_ops; i++)
            for (unsigned k = 0; k < job->units[u].ops[i].n_results; k++) {
                value_id value = job->units[u].ops[i].results[k];
                if ((job->units[u].values[value].storage == STORAGE_INLINE) !=
                    (fused->units[u].values[value].storage == STORAGE_INLINE))
                    return false;
            }
    return true;
}

// ---- the mutation -----------------------------------------------------------------------------

// A mistake is in one part, mostly, which is another one each time.
void clone_job(struct mutant *m, struct arena *arena, const struct job *job) {
    m->job = job_clone(arena, job);
    m->program = m->job->programs[job->n_programs > 1 ? choose(m, job->n_programs) : 0];
}

bool mutate(struct arena *arena, const struct job *job, enum mutation mutation, uint64_t seed,
            struct mutant *m) {
    static bool (*const functions[N_ALL_MUTATIONS])(struct mutant *) = {
#define MUTATION(NAME, text, function) [MUTATION_##NAME] = function,
#define ROUNDING                       MUTATION
#define PIPELINE                       MUTATION
#include "tests/oracle/mutations.def"
#undef MUTATION
#undef ROUNDING
#undef PIPELINE
    };
    uint64_t random = seed;
    for (int i = 0; i < MAX_ATTEMPTS; i++) {
        *m = (struct mutant){.random = random};
        clone_job(m, arena, job);
        bool planted = functions[mutation](m);
        random = m->random;
        for (uint32_t part = 0; part < m->job->n_programs; part++)
            for (int step = 0; step < N_STEPS; step++)
                follow_operands(m->job->programs[part], &m->job->programs[part]->steps[step]);
        if (!planted || job_check(m->job, arena, NULL) || job_check_plan(m->job, arena, NULL) ||
            !is_fused(arena, m->job))
            continue;
        job_number(m->job);
        return true;
    }
    return false;
}
