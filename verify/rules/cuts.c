// How devices may be given parts, where training is reproducible (ordered.c): of what the host or
// the initialisation filled, and of positions. Microbatches are whole; any other part is in the order
// of the whole. What is given and taken along a dimension is judged where it is read
// (contraction.c).
#include <inttypes.h>

#include "verify/rules/rule.h"

// ---- what is filled before the step, and positions --------------------------------------------

static const struct fault *check_batch(struct proof *p, const struct buffer *buffer,
                                       const struct dim_info *dim) {
    int64_t microbatch = p->program->job->policy.microbatch, parts = dim->total / dim->local;
    if (dim->key->order.chunks)
        return fault_make(p, E416, buffer->span, NULL,
                          "`%s` is cut in zigzag, and what a microbatch is depends on the mesh",
                          buffer->name);
    if (dim->local != microbatch)
        return fault_make(p, E416, buffer->span, NULL,
                          "of `%s` a device has %" PRId64 " of %" PRId64 " sequences at a time, "
                          "where a microbatch has %" PRId64 ": products of other shapes add in "
                          "another order",
                          buffer->name, dim->local, dim->total, microbatch);
    if (!is_power_of_two(parts))
        return fault_make(p, E416, buffer->span, NULL,
                          "`%s` is of %" PRId64 " microbatches, which are no power of two: their "
                          "sum is no complete binary tree",
                          buffer->name, parts);
    return NULL;
}

// A part that a device has, of what the host or the initialisation filled, or of positions: in the
// order of the whole.
static const struct fault *check_part(struct proof *p, const char *what, const struct dim_info *dim,
                                      struct span span) {
    if (!dim->key->order.chunks)
        return NULL;
    return fault_make(p, E416, span, NULL,
                      "%s is cut in zigzag: what is summed over it has the mesh's own order", what);
}

const struct fault *ordered_check_filled(struct proof *p, const struct buffer *buffer,
                                         form_id form) {
    if (!p->ordered || p->is_reference)
        return NULL;
    if (form_is_flat(&p->world->digits, form))
        form =
            dim_get(&p->world->digits, form_get(&p->world->digits, form)->key->dims[0])->key->whole;
    const struct form_key *key = form_get(&p->world->digits, form)->key;
    const struct fault *fault = NULL;
    for (unsigned i = 0; i < key->rank && !fault; i++) {
        const struct dim_info *dim = dim_get(&p->world->digits, key->dims[i]);
        const char *dimension = dimension_names[buffer->dims[i].dimension];
        if (buffer->dims[i].dimension == DIM_BATCH)
            fault = check_batch(p, buffer, dim);
        else
            fault = check_part(
                p, arena_format(p->world->arena, "`%s` of `%s`", dimension, buffer->name), dim,
                buffer->span);
    }
    return fault;
}

const struct fault *ordered_check_positions(struct proof *p, dim_id dim, struct span span) {
    return p->ordered ? check_part(p, "what `iota` counts", dim_get(&p->world->digits, dim), span)
                      : NULL;
}

// ---- collectives ------------------------------------------------------------------------------

const struct fault *ordered_check_collective(struct proof *p, const struct exchange *exchange,
                                             struct span span) {
    if (!p->ordered || exchange->kind != COLLECTIVE_PERMUTE)
        return NULL;
    return fault_make(p, E416, span, NULL,
                      "a permute makes the order of summands depend on the mesh");
}
