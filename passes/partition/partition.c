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
// Invariant: what the plan says follows from the reference program, which no statement changes, and
// is there before the first one is made. A buffer of the reference has its state in draft.states or,
// if it holds a tensor's parameters or gradients, its way in draft.ways.
#include "passes/partition/partition.h"
#include "passes/pipeline/order.h"

#include "ir/check.h"
#include "ir/diagnostic.h"

// The program as it is, in a job of its own: pieces of units are added to it, and the program's job
// becomes that of the new one.
static struct program *set_aside(const struct program *program) {
    struct program *reference = arena_copy(program->arena, program, sizeof *program);
    struct job *job = arena_copy(program->arena, program->job, sizeof *program->job);
    job->programs = arena_copy(program->arena, &reference, sizeof reference);
    job->cap_programs = 1;
    reference->job = job;
    return reference;
}

static bool make_plan(struct program *reference, const struct pass_context *context,
                      struct plan *plan) {
    *plan =
        (struct plan){.arena = reference->arena, .config = context->config, .reference = reference};
    if (!placement_for(reference, context, &plan->placement))
        return false;
    // The axis in time exists only where there is more than one microbatch.
    plan->time = plan->config->mesh.n_axes;
    CHECK(plan->time < MAX_AXES);
    plan->token_axes = axis_list_mask(&plan->placement.tokens) | UINT64_C(1) << plan->time;
    plan->pipeline_axes = axis_list_mask(&plan->placement.pipeline.axes);
    const struct schedule *schedule = plan->placement.pipeline.schedule;
    plan->pairs = !schedule || schedule_pairs(plan->arena, schedule);
    plan->cut_calls = cut_at_rings(plan, reference);
    plan->divisions = divide_values(plan);
    return true;
}

static struct program *new_program(const struct plan *plan) {
    const struct program *reference = plan->reference;
    struct program *program = program_new(plan->arena, reference->job->name);
    program->job->mesh = plan->config->mesh;
    program->job->policy = reference->job->policy;
    program->job->policy.wire_axes = plan->placement.wire_axes;
    program->job->policy.wire = plan->placement.wire;
    program->job->sizes = reference->job->sizes;
    program->job->sizes.microbatches = plan->placement.microbatches;
    for (uint32_t i = 0; i < reference->job->n_tensors; i++)
        job_add_tensor(program->job, reference->job->tensors[i]);
    program_reserve_buffers(program, 2 * reference->n_buffers); // with transients
    return program;
}

static struct draft begin_draft(const struct plan *plan, struct notes *notes) {
    const struct program *reference = plan->reference;
    uint32_t n_units = reference->job->n_units + 1, n_buffers = reference->n_buffers + 1;
    struct draft draft = {
        .plan = plan,
        .arena = plan->arena,
        .program = new_program(plan),
        .units = {.names.arena = plan->arena,
                  .uses = ARENA_ARRAY(plan->arena, struct unit_use *, n_units),
                  .moving = ARENA_ARRAY(plan->arena, struct moving_unit *, n_units)},
        .states = ARENA_ARRAY(plan->arena, struct buffer_state, n_buffers),
        .notes = notes};
    for (uint32_t i = 0; i < reference->n_buffers; i++)
        draft.states[i].buffer = NO_ID;
    make_stations(&draft);
    begin_notes(&draft);
    return draft;
}

static void leave_routes(const struct draft *draft, struct routes *routes) {
    const struct program *reference = draft->plan->reference;
    routes->n = 0;
    routes->items = ARENA_ARRAY(draft->arena, struct routed, reference->n_buffers + 1);
    for (uint32_t b = 0; b < reference->n_buffers; b++)
        if (has_way(&reference->buffers[b]) && way_of(draft, &reference->buffers[b])->reference)
            routes->items[routes->n++] = routed_way(draft, &reference->buffers[b]);
}

bool partition_noted(struct program *program, const struct pass_context *context,
                     struct notes *notes) {
    struct program *reference = set_aside(program);
    uint32_t errors = context->diagnostics->n_errors;
    struct plan plan;
    if (!make_plan(reference, context, &plan))
        return false;
    struct draft draft = begin_draft(&plan, notes);
    for (int kind = 0; kind < N_STEPS; kind++) {
        if (reference->steps[kind].present)
            partition_step(&draft, (enum step_kind)kind);
        if (kind == STEP_TRAIN && context->routes)
            leave_routes(&draft, context->routes);
    }
    if (context->diagnostics->n_errors > errors)
        return false;
    if (plan.placement.islands.n)
        deal_out(&draft);
    job_number(draft.program->job);
    end_notes(&draft);
    program_become(program, draft.program);
    return true;
}

bool partition(struct job *job, const struct pass_context *context) {
    return partition_noted(job_only(job), context, NULL);
}
