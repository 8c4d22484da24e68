// Partition, shardings: what a device holds of a value, and its local tensor.
#include "ir/check.h"
#include "ir/diagnostic.h"
#include "passes/partition/partition.h"
#include "passes/routes/routes.h"

static int64_t partition_axis_size(const struct partitioner *p, unsigned axis) {
    return axis == p->time ? p->placement.microbatches : p->program->job->mesh.axes[axis].size;
}

bool sharding_equal(const struct sharding *a, const struct sharding *b, unsigned rank) {
    if (!axis_list_equal(&a->flat, &b->flat) || a->partial != b->partial ||
        a->maxima != b->maxima || a->zero != b->zero)
        return false;
    for (unsigned d = 0; d < rank; d++)
        if (!axis_list_equal(&a->cuts[d], &b->cuts[d]))
            return false;
    return true;
}

static int64_t parts_of(const struct partitioner *p, const struct axis_list *axes) {
    int64_t parts = 1;
    for (unsigned i = 0; i < axes->n; i++)
        parts *= partition_axis_size(p, axes->axes[i]);
    return parts;
}

bool sharding_local(const struct partitioner *p, const struct tensor_type *logical,
                    const struct sharding *sharding, struct tensor_type *local) {
    *local = *logical;
    for (unsigned d = 0; d < logical->rank; d++) {
        int64_t parts = parts_of(p, &sharding->cuts[d]);
        if (logical->dims[d].size % parts)
            return false;
        local->dims[d].size /= parts;
    }
    if (sharding->flat.n) {
        int64_t parts = parts_of(p, &sharding->flat);
        int64_t chunk = (type_elements(local) + parts - 1) / parts;
        *local =
            (struct tensor_type){.dtype = logical->dtype, .rank = 1, .dims = {{DIM_FLAT, chunk}}};
    }
    return true;
}

struct axis_list axes_of_sum(const struct partitioner *p, uint64_t mask) {
    CHECK(mask >> p->program->job->mesh.n_axes == 0); // microbatches are summed by accumulating
    return placement_sum(&p->placement, &p->program->job->mesh, mask);
}

struct span split_span(const struct partitioner *p, unsigned axis) {
    const struct split_statement *split = axis < MAX_AXES ? p->placement.split_by[axis] : NULL;
    return split ? origin_span(&split->origin) : p->config->strategy.name_span;
}
