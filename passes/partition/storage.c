// Partition, storage: what the placement says of the states of tensors.
#include <string.h>

#include "ir/diagnostic.h"
#include "passes/partition/plan.h"

bool is_trained(const struct plan *plan, const struct buffer *buffer) {
    return plan->reference->job->tensors[buffer->tensor].trainable;
}

struct route route_in(const struct plan *plan, const struct buffer *state,
                      const struct route_facts *facts) {
    return route_of(&plan->placement, &plan->config->mesh, storage_of(&plan->placement, state),
                    class_states[state->class], facts);
}

struct sharding stored_sharding(const struct plan *plan, const struct buffer *buffer) {
    const struct placed_tensor *placed = placement_of(&plan->placement, buffer);
    const struct axis_list *cut = &placed->storage->shards[class_states[buffer->class]];
    struct sharding type = {.flat = flat_axes(placed->storage, cut),
                            .along = placed->storage->along};
    placed_cuts(placed, &plan->reference->job->tensors[buffer->tensor], buffer->class, type.cuts);
    return type;
}

struct span offload_span(const struct plan *plan, const struct buffer *buffer) {
    const struct storage *storage = storage_of(&plan->placement, buffer);
    return origin_span(&copied_for(storage, class_states[buffer->class])->origin);
}

struct span state_span(const struct plan *plan, const struct buffer *buffer, enum state state,
                       const struct axis_list *axes) {
    unsigned axis = axes->axes[0];
    const struct origin *origin =
        axes->n ? moved_origin(storage_of(&plan->placement, buffer), state, axis) : NULL;
    return origin ? origin_span(origin) : split_span(plan, axis);
}
