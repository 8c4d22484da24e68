// Jobs: what their programs share, a program for each part of the mesh, statement ids, plans that are
// dropped.
#include "ir/ir.h"

#include <string.h>

#include "ir/check.h"

static void forget_arenas(struct program *program) {
    for (int i = 0; i < N_TIERS; i++)
        program->arena_bytes[i] = -1;
}

struct program *job_add_program(struct job *job, struct mesh_part part) {
    struct program *program = ARENA_NEW(job->arena, struct program);
    program->arena = job->arena;
    program->job = job;
    program->part = part;
    forget_arenas(program);
    ARENA_PUSH(job->arena, job->programs, job->n_programs, job->cap_programs, program);
    return program;
}

// Empty, on one device, nothing planned.
struct program *program_new(struct arena *arena, const char *name) {
    struct job *job = ARENA_NEW(arena, struct job);
    job->arena = arena;
    job->name = name;
    job->sizes_span = job->policy_span = span_nowhere();
    return job_add_program(job, mesh_whole());
}

struct program *job_only(const struct job *job) {
    CHECK(!job || job->n_programs == 1);
    return job ? job->programs[0] : NULL;
}

// Whoever holds the program or its job goes on holding it.
void program_become(struct program *program, struct program *made) {
    struct job *job = program->job;
    CHECK(job_only(job) == program && job_only(made->job) == made);
    *job = *made->job;
    *program = *made;
    program->job = job;
    job->programs[0] = program;
}

uint32_t job_add_tensor(struct job *job, struct tensor tensor) {
    ARENA_PUSH(job->arena, job->tensors, job->n_tensors, job->cap_tensors, tensor);
    return job->n_tensors - 1;
}

uint32_t job_add_unit(struct job *job, const char *name, struct span span) {
    struct unit unit = {.name = name, .frame_bytes = -1, .span = span};
    ARENA_PUSH(job->arena, job->units, job->n_units, job->cap_units, unit);
    return job->n_units - 1;
}

const char *tensor_model_name(const struct tensor *tensor) {
    return tensor->model_name ? tensor->model_name : tensor->name;
}

bool tensor_has_layer(const struct tensor *tensor, int64_t layer) {
    return tensor->layers == 0 ||
           (layer >= tensor->first_layer && layer - tensor->first_layer < tensor->layers);
}

enum dtype tensor_parameters(const struct job *job, const struct tensor *tensor) {
    return tensor->parameters ? tensor->parameters : job->policy.parameters;
}

enum dtype tensor_master(const struct job *job, const struct tensor *tensor) {
    return tensor->master ? tensor->master : job->policy.master;
}

enum dtype tensor_moments(const struct job *job, const struct tensor *tensor) {
    return tensor->moments ? tensor->moments : job->policy.moments;
}

enum dtype tensor_gradients(const struct job *job, const struct tensor *tensor) {
    return tensor->gradients ? tensor->gradients : job->policy.gradients;
}

enum dtype tensor_gather(const struct job *job, const struct tensor *tensor) {
    return tensor->gather ? tensor->gather : job->policy.gather;
}

enum dtype tensor_reduce(const struct job *job, const struct tensor *tensor) {
    return tensor->reduce ? tensor->reduce : job->policy.reduce;
}

uint32_t job_find_tensor(const struct job *job, const char *name) {
    for (uint32_t i = 0; i < job->n_tensors; i++)
        if (strcmp(job->tensors[i].name, name) == 0)
            return i;
    return NO_ID;
}

uint32_t job_find_unit(const struct job *job, const char *name) {
    for (uint32_t i = 0; i < job->n_units; i++)
        if (strcmp(job->units[i].name, name) == 0)
            return i;
    return NO_ID;
}

bool *job_called_units(const struct job *job, struct arena *arena) {
    bool *called = program_called_units(job->programs[0], arena);
    for (uint32_t i = 1; i < job->n_programs; i++) {
        const bool *more = program_called_units(job->programs[i], arena);
        for (uint32_t u = 0; u < job->n_units; u++)
            called[u] |= more[u];
    }
    return called;
}

// ---- statement ids ----------------------------------------------------------------------------

// An id is a position in the text, so equal jobs have equal ids, whatever made them.
void job_number(struct job *job) {
    uint32_t next = 0;
    for (uint32_t u = 0; u < job->n_units; u++)
        for (uint32_t i = 0; i < job->units[u].n_ops; i++)
            job->units[u].ops[i].id = next++;
    for (uint32_t i = 0; i < job->n_programs; i++)
        for (int s = 0; s < N_STEPS; s++) {
            struct statement_walk walk = walk_statements(&job->programs[i]->steps[s].body);
            while (walk_next(&walk))
                walk.statement->id = next++;
        }
    job->n_ids = next;
}

struct span *job_spans(const struct job *job, struct arena *arena) {
    struct span *spans = ARENA_ARRAY(arena, struct span, job->n_ids);
    for (uint32_t u = 0; u < job->n_units; u++)
        for (uint32_t i = 0; i < job->units[u].n_ops; i++)
            spans[job->units[u].ops[i].id] = job->units[u].ops[i].span;
    for (uint32_t i = 0; i < job->n_programs; i++)
        for (int s = 0; s < N_STEPS; s++) {
            struct statement_walk walk = walk_statements(&job->programs[i]->steps[s].body);
            while (walk_next(&walk))
                spans[walk.statement->id] = walk.statement->span;
        }
    return spans;
}

// ---- plans ------------------------------------------------------------------------------------

static bool unit_needs_plan(const struct unit *unit) {
    for (uint32_t i = unit->n_parameters; i < unit->n_values; i++)
        if (unit->values[i].storage == STORAGE_UNPLANNED)
            return true;
    return unit->frame_bytes < 0;
}

static bool program_needs_plan(const struct program *program) {
    for (uint32_t i = 0; i < program->n_buffers; i++)
        if (program->buffers[i].window_of == NO_ID && program->buffers[i].offset_bytes < 0)
            return true;
    return program->arena_bytes[TIER_DEVICE] < 0;
}

// One place without an offset is enough: what is left of a plan that a person edited fits nothing.
bool job_needs_plan(const struct job *job) {
    for (uint32_t i = 0; i < job->n_units; i++)
        if (unit_needs_plan(&job->units[i]))
            return true;
    for (uint32_t i = 0; i < job->n_programs; i++)
        if (program_needs_plan(job->programs[i]))
            return true;
    return false;
}

static void drop_places(struct job *job, bool inline_too) {
    for (uint32_t i = 0; i < job->n_units; i++) {
        struct unit *unit = &job->units[i];
        for (uint32_t k = unit->n_parameters; k < unit->n_values; k++) {
            if (unit->values[k].storage == STORAGE_INLINE && !inline_too)
                continue;
            unit->values[k].storage = STORAGE_UNPLANNED;
            unit->values[k].base = NO_ID;
        }
        unit->frame_bytes = -1;
    }
    for (uint32_t i = 0; i < job->n_programs; i++) {
        struct program *program = job->programs[i];
        program->n_frames = 0;
        for (uint32_t k = 0; k < program->n_buffers; k++)
            program->buffers[k].offset_bytes = -1;
        forget_arenas(program);
    }
}

void job_drop_plan(struct job *job) {
    drop_places(job, true);
}

void job_drop_places(struct job *job) {
    drop_places(job, false);
}
