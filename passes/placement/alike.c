// See alike.h.
#include "passes/placement/alike.h"

bool stored_alike(const struct placed_tensor *a, unsigned axis, const struct placed_tensor *b,
                  unsigned other, enum state state) {
    return a->extents[state][axis].extent == b->extents[state][other].extent &&
           (state != STATE_GRADIENTS ||
            axis_list_has(&a->reduced_each, axis) == axis_list_has(&b->reduced_each, other));
}

bool placed_alike(const struct placed_tensor *a, const struct placed_tensor *b) {
    for (int state = 0; state < STATE_ACTIVATIONS; state++)
        for (unsigned axis = 0; axis < MAX_AXES; axis++)
            if (a->extents[state][axis].extent != b->extents[state][axis].extent)
                return false;
    return a->gather_unit == b->gather_unit && a->gather_layers == b->gather_layers &&
           a->prefetch == b->prefetch && a->kept_after_forward == b->kept_after_forward &&
           a->kept_after_backward == b->kept_after_backward &&
           axis_list_equal(&a->kept_shards, &b->kept_shards) &&
           axis_list_equal(&a->wire, &b->wire) && a->bucket_bytes == b->bucket_bytes &&
           axis_list_equal(&a->reduced_each, &b->reduced_each);
}
