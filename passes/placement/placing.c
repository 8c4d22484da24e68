// See placing.h.
#include "passes/placement/placing.h"

int64_t axis_size(const struct placing *p, unsigned axis) {
    return p->config->mesh.axes[axis].size;
}

const char *axes_text(struct placing *p, const struct axis_list *list) {
    return mesh_axes_text(&p->config->mesh, list, p->arena);
}

struct axis_list effective_axes(const struct placing *p, const struct axis_list *axes) {
    struct axis_list list = {0};
    for (unsigned i = 0; i < axes->n; i++)
        if (axis_size(p, axes->axes[i]) > 1)
            axis_list_add(&list, axes->axes[i]);
    return list;
}

const char *axis_name(const struct placing *p, unsigned axis) {
    return p->config->mesh.axes[axis].name;
}

int64_t divided_elements(const struct placing *p, const struct tensor *tensor,
                         const struct placed_tensor *placed) {
    int64_t elements = 1;
    for (unsigned d = 0; d < tensor->rank; d++)
        elements *= tensor->dims[d].size / mesh_group_size(&p->config->mesh, &placed->cuts[d]);
    return elements;
}

bool cuts_activations(const struct placing *p, const struct mode_statement *mode) {
    return mode->state == STATE_ACTIVATIONS && mode->extent != EXTENT_REPLICATED &&
           mode->sets_extent && effective_axes(p, &mode->axes).n;
}

struct route gradient_route(const struct placing *p, const struct storage *storage, uint64_t left) {
    const struct route_facts facts = {.step = STEP_TRAIN, .left = left};
    return route_of(p->placement, &p->config->mesh, storage, STATE_GRADIENTS, &facts);
}
