// See alike.h.
#include "passes/placement/alike.h"

#include <string.h>

bool stored_alike(const struct storage *a, unsigned axis, const struct storage *b, unsigned other,
                  enum state state) {
    return stored_extent(a, state, axis) == stored_extent(b, state, other) &&
           (state != STATE_GRADIENTS ||
            axis_list_has(&a->reduced_each, axis) == axis_list_has(&b->reduced_each, other));
}

bool live_alike(const struct mode_statement *a, const struct mode_statement *b) {
    return a->residency == b->residency && a->unit == b->unit && a->unit_layers == b->unit_layers &&
           a->to == b->to && a->update_on == b->update_on && a->prefetch == b->prefetch;
}

static bool states_live_alike(const struct storage *a, const struct storage *b, enum state state) {
    return stored_residency(a, state) == stored_residency(b, state) &&
           (stored_residency(a, state) == RESIDENCY_STORED ||
            live_alike(a->lives[state], b->lives[state]));
}

bool storage_equal(const struct storage *a, const struct storage *b) {
    for (enum state state = 0; state < STATE_ACTIVATIONS; state++)
        for (unsigned axis = 0; axis < MAX_AXES; axis++)
            if (stored_extent(a, state, axis) != stored_extent(b, state, axis))
                return false;
    for (enum state state = 0; state < STATE_ACTIVATIONS; state++)
        if (!states_live_alike(a, b, state))
            return false;
    return a->along == b->along && a->of_both_ends == b->of_both_ends &&
           a->taken_later == b->taken_later && a->by_tensor == b->by_tensor &&
           a->gather_unit == b->gather_unit && a->gather_layers == b->gather_layers &&
           a->prefetch == b->prefetch && a->kept_after_forward == b->kept_after_forward &&
           a->kept_after_backward == b->kept_after_backward &&
           axis_list_equal(&a->kept_shards, &b->kept_shards) &&
           axis_list_equal(&a->wire, &b->wire) && a->bucket_bytes == b->bucket_bytes &&
           axis_list_equal(&a->reduced_each, &b->reduced_each) &&
           memcmp(&a->types, &b->types, sizeof a->types) == 0;
}
