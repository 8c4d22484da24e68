// Partition, islands (islands.h): what a device of a mesh with several islands does beside what one
// of a single island does. Sequences are dealt out to all of them; in the step that averages,
// parameters are summands over the axes between them, which their routes finish where each device
// updates: of shards and windows its own.
#include "passes/partition/partition.h"
#include "passes/reference/islands.h"

// ---- the step that averages -------------------------------------------------------------------

// Where a parameter has a master copy, that is what the route sums.
static bool is_averaged(const struct plan *plan, const struct buffer *buffer) {
    return buffer->class == CLASS_PARAMETERS && is_trained(plan, buffer) &&
           storage_of(&plan->placement, buffer)->types.master == DTYPE_NONE;
}

void begin_average(struct draft *draft) {
    const struct plan *plan = draft->plan;
    for (buffer_id b = 0; b < plan->reference->n_buffers; b++)
        if (is_averaged(plan, &plan->reference->buffers[b]))
            draft->states[b].type.partial = axis_list_mask(&plan->placement.islands);
}

// ---- the batch --------------------------------------------------------------------------------

// The axes that cut the batch, in the order of its split, those between islands among them.
static struct axis_list batch_axes(const struct plan *plan, const struct axis_list *cuts) {
    struct axis_list axes = {0};
    for (unsigned i = 0; i < plan->placement.batch.n; i++) {
        unsigned axis = plan->placement.batch.axes[i];
        if (axis_list_has(&plan->placement.islands, axis) || axis_list_has(cuts, axis))
            axis_list_add(&axes, axis);
    }
    for (unsigned i = 0; i < cuts->n; i++)
        axis_list_add(&axes, cuts->axes[i]);
    return axes;
}

// Deals out what is by sequences to all islands: so far the program is that of one. A device keeps
// what it has.
void deal_out(struct draft *draft) {
    const struct plan *plan = draft->plan;
    int64_t islands = mesh_group_size(&draft->program->job->mesh, &plan->placement.islands);
    draft->program->job->policy.islands = plan->placement.islands;
    draft->program->job->policy.average_every = steps_between_averages(plan->config);
    draft->program->job->sizes.batch *= islands;
    for (uint32_t b = 0; b < draft->program->n_buffers; b++) {
        struct buffer *buffer = &draft->program->buffers[b];
        for (unsigned d = 0; d < buffer->rank; d++)
            if (buffer->dims[d].dimension == DIM_BATCH) {
                buffer->dims[d].size *= islands;
                buffer->layout.cuts[d] = batch_axes(plan, &buffer->layout.cuts[d]);
            }
    }
}
