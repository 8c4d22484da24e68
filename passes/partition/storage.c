// Partition, storage: what the placement says of the states of tensors.
#include <string.h>

#include "ir/diagnostic.h"
#include "passes/partition/plan.h"

bool is_trained(const struct plan *plan, const struct buffer *buffer) {
    return plan->reference->job->tensors[buffer->tensor].trainable;
}

struct route route_in(const struct plan *plan, const struct buffer *state,
                      const struct route_facts *facts) {
    return route_of(&plan->placement, &plan->config->mesh, placement_of(&plan->placement, state),
                    class_states[state->class], is_trained(plan, state), facts);
}

struct sharding stored_sharding(const struct plan *plan, const struct buffer *buffer) {
    struct sharding type = {0};
    memcpy(type.cuts, placement_of(&plan->placement, buffer)->cuts, sizeof type.cuts);
    type.flat = placement_of(&plan->placement, buffer)->shards[class_states[buffer->class]];
    return type;
}

struct span state_span(const struct plan *plan, const struct buffer *buffer, enum state state,
                       const struct axis_list *axes) {
    unsigned axis = axes->axes[0];
    const struct origin *origin =
        axes->n ? placed_origin(placement_of(&plan->placement, buffer), state, axis) : NULL;
    return origin ? origin_span(origin) : split_span(plan, axis);
}
