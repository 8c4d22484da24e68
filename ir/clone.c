// Copies of statements, units and whole jobs, deep but for names, which are never changed. Capacities
// are what is used: adding copies first.
#include "ir/ir.h"

#define COPY_ARRAY(arena, field, n) ((field) = arena_copy((arena), (field), (n) * sizeof *(field)))

static void clone_block(struct arena *arena, struct block *block, const struct program *program) {
    COPY_ARRAY(arena, block->statements, block->n);
    block->cap = block->n;
    for (uint32_t i = 0; i < block->n; i++)
        block->statements[i] = statement_clone(arena, program, &block->statements[i]);
}

struct statement statement_clone(struct arena *arena, const struct program *program,
                                 const struct statement *from) {
    struct statement made = *from;
    if (made.kind == STATEMENT_LOOP) {
        clone_block(arena, &made.loop.body, program);
    } else if (made.kind == STATEMENT_CALL) {
        const struct unit *unit = &program->job->units[made.call.unit];
        COPY_ARRAY(arena, made.call.operands, unit->n_parameters);
        COPY_ARRAY(arena, made.call.results, unit->n_results);
    } else if (made.kind == STATEMENT_START) {
        COPY_ARRAY(arena, made.start.pieces, made.start.n_pieces);
    } else if (made.kind == STATEMENT_FREE) {
        COPY_ARRAY(arena, made.free.items, made.free.n_items);
    }
    return made;
}

static void clone_unit(struct arena *arena, struct unit *unit) {
    COPY_ARRAY(arena, unit->values, unit->n_values);
    COPY_ARRAY(arena, unit->consumed, unit->n_parameters);
    COPY_ARRAY(arena, unit->results, unit->n_results);
    COPY_ARRAY(arena, unit->ops, unit->n_ops);
    unit->cap_values = unit->n_values;
    unit->cap_parameters = unit->n_parameters;
    unit->cap_results = unit->n_results;
    unit->cap_ops = unit->n_ops;
    for (uint32_t i = 0; i < unit->n_ops; i++)
        COPY_ARRAY(arena, unit->ops[i].attributes, unit->ops[i].n_attributes);
}

uint32_t job_clone_unit(struct job *job, uint32_t unit, const char *name) {
    struct unit made = job->units[unit];
    made.name = name;
    clone_unit(job->arena, &made);
    ARENA_PUSH(job->arena, job->units, job->n_units, job->cap_units, made);
    return job->n_units - 1;
}

static struct program *clone_program(struct job *job, const struct program *from) {
    struct program *program = arena_copy(job->arena, from, sizeof *from);
    program->arena = job->arena;
    program->job = job;
    COPY_ARRAY(job->arena, program->buffers, program->n_buffers);
    COPY_ARRAY(job->arena, program->frames, program->n_frames);
    program->cap_buffers = program->n_buffers;
    for (int s = 0; s < N_STEPS; s++) {
        struct step *step = &program->steps[s];
        COPY_ARRAY(job->arena, step->handles, step->n_handles);
        step->cap_handles = step->n_handles;
        step->handle_names = (struct names){.arena = job->arena};
        for (uint32_t h = 0; h < step->n_handles; h++)
            names_add(&step->handle_names, step->handles[h].name, h);
        clone_block(job->arena, &step->body, from);
    }
    return program;
}

struct job *job_clone(struct arena *arena, const struct job *from) {
    struct job *job = arena_copy(arena, from, sizeof *from);
    job->arena = arena;
    COPY_ARRAY(arena, job->tensors, job->n_tensors);
    COPY_ARRAY(arena, job->units, job->n_units);
    COPY_ARRAY(arena, job->programs, job->n_programs);
    job->cap_tensors = job->n_tensors;
    job->cap_units = job->n_units;
    job->cap_programs = job->n_programs;
    for (uint32_t i = 0; i < job->n_units; i++)
        clone_unit(arena, &job->units[i]);
    for (uint32_t i = 0; i < job->n_programs; i++)
        job->programs[i] = clone_program(job, from->programs[i]);
    return job;
}
