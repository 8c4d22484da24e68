// Partition, shardings: what a device holds of a value, and its local tensor.
#include "ir/check.h"
#include "ir/diagnostic.h"
#include "passes/partition/plan.h"
#include "passes/routes/routes.h"

static int64_t partition_axis_size(const struct plan *plan, unsigned axis) {
    return axis == plan->time ? plan->placement.microbatches : plan->config->mesh.axes[axis].size;
}

bool sharding_equal(const struct sharding *a, const struct sharding *b, unsigned rank) {
    if (!axis_list_equal(&a->flat, &b->flat) || (a->flat.n && a->along != b->along) ||
        a->partial != b->partial || a->maxima != b->maxima || a->zero != b->zero ||
        a->dtype != b->dtype)
        return false;
    for (unsigned d = 0; d < rank; d++)
        if (!axis_list_equal(&a->cuts[d], &b->cuts[d]))
            return false;
    return true;
}

static int64_t parts_of(const struct plan *plan, const struct axis_list *axes) {
    int64_t parts = 1;
    for (unsigned i = 0; i < axes->n; i++)
        parts *= partition_axis_size(plan, axes->axes[i]);
    return parts;
}

bool sharding_local(const struct plan *plan, const struct tensor_type *logical,
                    const struct sharding *sharding, struct tensor_type *local) {
    *local = *logical;
    if (sharding->dtype != DTYPE_NONE)
        local->dtype = sharding->dtype;
    for (unsigned d = 0; d < logical->rank; d++) {
        int64_t parts = parts_of(plan, &sharding->cuts[d]);
        if (logical->dims[d].size % parts)
            return false;
        local->dims[d].size /= parts;
    }
    if (sharding->flat.n && sharding->along) {
        struct dim *dim = &local->dims[sharding->along - 1];
        int64_t parts = parts_of(plan, &sharding->flat);
        if (dim->size % parts)
            return false;
        dim->size /= parts;
    } else if (sharding->flat.n) {
        int64_t parts = parts_of(plan, &sharding->flat);
        int64_t chunk = (type_elements(local) + parts - 1) / parts;
        *local =
            (struct tensor_type){.dtype = local->dtype, .rank = 1, .dims = {{DIM_FLAT, chunk}}};
    }
    return true;
}

struct axis_list axes_of_sum(const struct plan *plan, uint64_t mask) {
    CHECK(mask >> plan->config->mesh.n_axes == 0); // microbatches are summed by accumulating
    return placement_sum(&plan->placement, &plan->config->mesh, mask);
}

struct span split_span(const struct plan *plan, unsigned axis) {
    const struct split_statement *split = axis < MAX_AXES ? plan->placement.split_by[axis] : NULL;
    if (axis < MAX_AXES && plan->pipeline_axes >> axis & 1)
        return origin_span(&plan->config->strategy.pipeline.origin);
    return split ? origin_span(&split->origin) : plan->config->strategy.name_span;
}

void lay_out(const struct plan *plan, struct buffer *buffer,
             const struct axis_list cuts[MAX_RANK]) {
    const struct axis_list *ring = &plan->placement.ring;
    for (unsigned d = 0; d < buffer->rank; d++) {
        buffer->layout.cuts[d] = cuts[d];
        bool zigzag = ring->n && buffer->dims[d].dimension == DIM_SEQUENCE &&
                      axis_list_has(&cuts[d], ring->axes[0]);
        buffer->layout.zigzag[d] = zigzag ? ring->axes[0] + 1 : 0;
    }
}
