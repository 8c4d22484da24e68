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

bool decides_anything(const struct placing *p, const struct mode_statement *mode) {
    for (uint32_t i = 0; i < p->placement->n_storages; i++)
        for (unsigned axis = 0; axis < p->config->mesh.n_axes; axis++)
            if (p->placement->storages[i]->modes[mode->state][axis] == mode)
                return true;
    return false;
}

bool cuts_activations(const struct placing *p, const struct mode_statement *mode) {
    return mode->state == STATE_ACTIVATIONS && mode->extent != EXTENT_REPLICATED &&
           mode->sets_extent && effective_axes(p, &mode->axes).n;
}

struct route gradient_route(const struct placing *p, const struct storage *storage, uint64_t left) {
    const struct route_facts facts = {.step = STEP_TRAIN, .left = left};
    return route_of(p->placement, &p->config->mesh, storage, STATE_GRADIENTS, &facts);
}

bool has_several_terms(const struct placing *p, uint32_t tensor) {
    const struct program *program = p->program;
    struct statement_walk walk = walk_statements(&program->steps[STEP_TRAIN].body);
    const int64_t first = program->job->tensors[tensor].first_layer;
    unsigned terms = 0;
    for (const struct call *call; (call = walk_next_call(&walk));) {
        const struct unit *unit = &program->job->units[call->unit];
        const struct loop *layers = walk_loop(&walk, 0);
        if (unit->phase != PHASE_BACKWARD ||
            (layers && layers->begin > first)) // as many in all layers
            continue;
        for (uint32_t i = 0; i < unit->n_results; i++) {
            const struct buffer *buffer = &program->buffers[call->results[i].buffer];
            terms += buffer->class == CLASS_GRADIENTS && buffer->tensor == tensor;
        }
    }
    return terms > 1;
}

bool sums_ends(const struct placing *p, const struct schedule *schedule) {
    bool any = false, on_one = schedule->rank_of[0] == schedule->rank_of[schedule->n_stages - 1];
    for (uint32_t t = 0; t < p->program->job->n_tensors; t++)
        any |= has_several_terms(p, t);
    return any && (p->placement->ordered || (on_one && schedule->n_microbatches == 1));
}
