// place, gradient sums: over which axes a gradient is summed, when, and in which order, as storage
// and training want it (gradient_sums and placement_sum of passes/passes.h).
#include "passes/passes.h"

struct axis_list placement_sum(const struct placement *placement, const struct mesh *mesh,
                               uint64_t mask) {
    struct axis_list sum = {0};
    for (unsigned i = 0; i < placement->batch.n; i++)
        if (mask >> placement->batch.axes[i] & 1)
            axis_list_add(&sum, placement->batch.axes[i]);
    for (unsigned axis = 0; axis < mesh->n_axes; axis++) {
        const struct split_statement *split = placement->split_by[axis];
        if (!(mask >> axis & 1))
            continue;
        for (unsigned i = 0; split && i < split->axes.n; i++)
            if (mask >> split->axes.axes[i] & 1)
                axis_list_add(&sum, split->axes.axes[i]);
        axis_list_add(&sum, axis);
    }
    return sum;
}

struct gradient_sums gradient_sums(const struct placement *placement,
                                   const struct placed_tensor *tensor) {
    const struct axis_list *owners = &tensor->shards[STATE_OPTIMIZER];
    struct axis_list tokens = placement->tokens, each = {0};
    for (unsigned i = 0; i < MAX_RANK; i++)
        tokens = axis_list_without(&tokens, &tensor->cuts[i]);
    if (placement->microbatches > 1) // else each and last are the same
        each = tensor->reduced_each;
    struct axis_list rest = axis_list_without(&tokens, owners);
    struct gradient_sums sums = {.scatter_each = tensor->scattered_each,
                                 .scatter_last = axis_list_without(owners, &tensor->scattered_each),
                                 .reduce_last = axis_list_without(&rest, &each)};
    sums.reduce_each = axis_list_without(&rest, &sums.reduce_last);
    if (placement->ordered) {
        sums.scatter_each = axis_list_within(&sums.scatter_each, &placement->tokens);
        sums.scatter_last = axis_list_within(&sums.scatter_last, &placement->tokens);
        for (unsigned i = 0; i < owners->n && !axis_list_has(&placement->tokens, owners->axes[i]);
             i++)
            axis_list_add(&sums.keep_first, owners->axes[i]);
    }
    return sums;
}
