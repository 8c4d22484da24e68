// Partition, islands (islands.h): what a device of a mesh with several islands does beside what one
// of a single island does. Sequences are dealt out to all of them; in the step that averages,
// parameters are summands over the axes between them, which their routes finish where each device
// updates: of shards and windows its own.
#include "passes/partition/partition.h"
#include "passes/reference/islands.h"

// ---- the step that averages -------------------------------------------------------------------

static bool is_trained(const struct partitioner *p, const struct buffer *buffer) {
    return buffer->class == CLASS_PARAMETERS &&
           p->reference->job->tensors[buffer->tensor].trainable;
}

void begin_average(struct partitioner *p) {
    for (buffer_id b = 0; b < p->reference->n_buffers; b++)
        if (is_trained(p, &p->reference->buffers[b]))
            p->states[b].type.partial = axis_list_mask(&p->placement.islands);
}

// ---- the batch --------------------------------------------------------------------------------

// The axes that cut the batch, in the order of its split, those between islands among them.
static struct axis_list batch_axes(const struct partitioner *p, const struct axis_list *cuts) {
    struct axis_list axes = {0};
    for (unsigned i = 0; i < p->placement.batch.n; i++) {
        unsigned axis = p->placement.batch.axes[i];
        if (axis_list_has(&p->placement.islands, axis) || axis_list_has(cuts, axis))
            axis_list_add(&axes, axis);
    }
    for (unsigned i = 0; i < cuts->n; i++)
        axis_list_add(&axes, cuts->axes[i]);
    return axes;
}

// So far the program is that of one island. What is by sequences is dealt out to all of them; a
// device keeps what it has.
void deal_out(struct partitioner *p) {
    int64_t islands = mesh_group_size(&p->program->job->mesh, &p->placement.islands);
    p->program->job->policy.islands = p->placement.islands;
    p->program->job->policy.average_every = steps_between_averages(p->config);
    p->program->job->sizes.batch *= islands;
    for (uint32_t b = 0; b < p->program->n_buffers; b++) {
        struct buffer *buffer = &p->program->buffers[b];
        for (unsigned d = 0; d < buffer->rank; d++)
            if (buffer->dims[d].dimension == DIM_BATCH) {
                buffer->dims[d].size *= islands;
                buffer->layout.cuts[d] = batch_axes(p, &buffer->layout.cuts[d]);
            }
    }
}
