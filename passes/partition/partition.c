// Partition: from the reference program and a placement to the program of one device of the mesh.
//
// Input: what one device would do with the whole batch, and where every tensor's work and storage
// lie. Output: the same units on local tensors with the collectives that their types ask for; a
// loop over microbatches where there is more than one; around the calls the conversions between
// work and storage: gathers before use, reductions of gradients, gathers of what was updated. Every
// start is followed by its wait, which `overlap` moves apart, but for what travels round a ring:
// there every round computes while the next one's keys are on their way.
//
// Nothing is decided by a unit's or a buffer's name, but by class, tensor and type: a result that
// is a summand over microbatches is accumulated, whatever it is.
//
// Invariant: the new program is made beside the reference, which is not changed; a buffer of the
// reference has its state in partitioner.states or, if it holds a tensor's parameters or
// gradients, its way in partitioner.ways.
#include "passes/partition/partition.h"

#include "ir/check.h"
#include "ir/diagnostic.h"

static struct program *new_program(const struct partitioner *p, const struct program *reference) {
    struct program *program = program_new(p->arena, reference->job->name);
    program->job->mesh = p->config->mesh;
    program->job->policy = reference->job->policy;
    program->job->sizes = reference->job->sizes;
    program->job->sizes.microbatches = p->placement.microbatches;
    for (uint32_t i = 0; i < reference->job->n_tensors; i++)
        job_add_tensor(program->job, reference->job->tensors[i]);
    program_reserve_buffers(program, 2 * reference->n_buffers); // with transients
    return program;
}

static void leave_routes(const struct partitioner *p, struct routes *routes) {
    routes->n = 0;
    routes->items = ARENA_ARRAY(p->arena, struct routed, p->reference->n_buffers + 1);
    for (uint32_t b = 0; b < p->reference->n_buffers; b++)
        if (is_tensor_state(&p->reference->buffers[b]))
            routes->items[routes->n++] = routed_way(p, &p->reference->buffers[b]);
}

bool partition_noted(struct program *program, const struct pass_context *context,
                     struct notes *notes) {
    struct program reference = *program;
    uint32_t errors = context->diagnostics->n_errors;
    struct partitioner p = {.arena = program->arena,
                            .unit_names.arena = program->arena,
                            .config = context->config,
                            .diagnostics = context->diagnostics,
                            .reference = &reference,
                            .notes = notes};
    if (!placement_for(&reference, context, &p.placement))
        return false;
    p.program = new_program(&p, &reference);
    // The axis in time exists only where there is more than one microbatch.
    p.time = p.program->job->mesh.n_axes;
    CHECK(p.time < MAX_AXES);
    p.token_axes = axis_list_mask(&p.placement.tokens) | UINT64_C(1) << p.time;
    cut_at_rings(&p, &reference);
    p.uses = ARENA_ARRAY(p.arena, struct unit_use *, reference.job->n_units + 1);
    p.moving_units = ARENA_ARRAY(p.arena, struct moving_unit *, reference.job->n_units + 1);
    p.divisions = ARENA_ARRAY(p.arena, struct division, reference.n_buffers + 1);
    p.states = ARENA_ARRAY(p.arena, struct buffer_state, reference.n_buffers + 1);
    for (uint32_t i = 0; i < reference.n_buffers; i++)
        p.states[i].buffer = NO_ID;
    p.program->job->policy.wire_axes = p.placement.wire_axes;
    p.program->job->policy.wire = p.placement.wire;
    divide_values(&p);
    make_stations(&p);
    begin_notes(&p);
    for (int kind = 0; kind < N_STEPS; kind++) {
        if (reference.steps[kind].present)
            partition_step(&p, (enum step_kind)kind);
        if (kind == STEP_TRAIN && context->routes)
            leave_routes(&p, context->routes);
    }
    if (p.diagnostics->n_errors > errors)
        return false;
    if (p.placement.islands.n)
        deal_out(&p);
    job_number(p.program->job);
    end_notes(&p);
    program_become(program, p.program);
    return true;
}

bool partition(struct job *job, const struct pass_context *context) {
    return partition_noted(job_only(job), context, NULL);
}
