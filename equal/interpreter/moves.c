// Moves: elements of the operands at other places. Each is a walk over a box with strides of its own on both sides.
#include <string.h>

#include "equal/interpreter/operations.h"
#include "equal/interpreter/walk.h"

enum { FROM, TO };

static void move(struct walk *walk, const struct array *from, struct array *to) {
    for (bool on = walk_begin(walk); on; on = walk_step(walk))
        array_set(to, walk->at[TO], from, walk->at[FROM]);
}

void copy_box(const struct array *from, struct array *to, struct box box) {
    int64_t strides[2][MAX_GRAPH_RANK];
    shape_strides(from->shape, strides[FROM]);
    shape_strides(to->shape, strides[TO]);
    struct walk walk = {0};
    for (uint32_t d = 0; d < from->shape->rank; d++) {
        walk_add(&walk, box.sizes[d], strides[FROM][d], strides[TO][d]);
        walk.at[FROM] += box.from ? box.from[d] * strides[FROM][d] : 0;
        walk.at[TO] += box.to ? box.to[d] * strides[TO][d] : 0;
    }
    move(&walk, from, to);
}

void execute_broadcast(struct machine *machine, const struct instruction *instruction,
                       const struct array *const *in, struct array *out) {
    (void)machine;
    struct number_list dimensions = instruction->attributes->dimensions;
    int64_t strides[2][MAX_GRAPH_RANK], from[MAX_GRAPH_RANK] = {0};
    shape_strides(in[0]->shape, strides[FROM]);
    shape_strides(out->shape, strides[TO]);
    for (uint32_t i = 0; i < dimensions.n; i++)
        from[dimensions.of[i]] = strides[FROM][i];
    struct walk walk = {0};
    for (uint32_t d = 0; d < out->shape->rank; d++)
        walk_add(&walk, out->shape->sizes[d], from[d], strides[TO][d]);
    move(&walk, in[0], out);
}

void execute_transpose(struct machine *machine, const struct instruction *instruction,
                       const struct array *const *in, struct array *out) {
    (void)machine;
    int64_t strides[2][MAX_GRAPH_RANK];
    shape_strides(in[0]->shape, strides[FROM]);
    shape_strides(out->shape, strides[TO]);
    struct walk walk = {0};
    for (uint32_t d = 0; d < out->shape->rank; d++)
        walk_add(&walk, out->shape->sizes[d],
                 strides[FROM][instruction->attributes->dimensions.of[d]], strides[TO][d]);
    move(&walk, in[0], out);
}

void execute_reverse(struct machine *machine, const struct instruction *instruction,
                     const struct array *const *in, struct array *out) {
    (void)machine;
    int64_t strides[MAX_GRAPH_RANK];
    shape_strides(out->shape, strides);
    struct walk walk = {0};
    for (uint32_t d = 0; d < out->shape->rank; d++) {
        int64_t size = out->shape->sizes[d];
        bool turns = list_has(&instruction->attributes->dimensions, d);
        walk_add(&walk, size, turns ? -strides[d] : strides[d], strides[d]);
        walk.at[FROM] += turns ? (size - 1) * strides[d] : 0;
    }
    move(&walk, in[0], out);
}

void execute_slice(struct machine *machine, const struct instruction *instruction,
                   const struct array *const *in, struct array *out) {
    (void)machine;
    const struct slice_range *ranges = instruction->attributes->slices;
    int64_t strides[2][MAX_GRAPH_RANK];
    shape_strides(in[0]->shape, strides[FROM]);
    shape_strides(out->shape, strides[TO]);
    struct walk walk = {0};
    for (uint32_t d = 0; d < out->shape->rank; d++) {
        walk_add(&walk, out->shape->sizes[d], ranges[d].stride * strides[FROM][d], strides[TO][d]);
        walk.at[FROM] += ranges[d].start * strides[FROM][d];
    }
    move(&walk, in[0], out);
}

// The elements of a dimension that are not cut off: from `first` on, each `step` behind the one before in the result.
struct kept {
    int64_t first, n, step;
};

static struct kept elements_kept(struct padding_range padding, int64_t size, int64_t padded) {
    int64_t step = padding.interior + 1;
    int64_t first = padding.low < 0 ? (-padding.low + step - 1) / step : 0;
    int64_t room = padded - padding.low; // from element zero to the end
    int64_t end = room <= 0 ? 0 : (room + step - 1) / step;
    end = end < size ? end : size;
    return (struct kept){first, end > first ? end - first : 0, step};
}

void execute_pad(struct machine *machine, const struct instruction *instruction,
                 const struct array *const *in, struct array *out) {
    (void)machine;
    for (int64_t i = 0; i < out->shape->n_elements; i++)
        array_set(out, i, in[1], 0);
    int64_t strides[2][MAX_GRAPH_RANK];
    shape_strides(in[0]->shape, strides[FROM]);
    shape_strides(out->shape, strides[TO]);
    struct walk walk = {0};
    for (uint32_t d = 0; d < out->shape->rank; d++) {
        struct padding_range padding = instruction->attributes->padding[d];
        struct kept kept = elements_kept(padding, in[0]->shape->sizes[d], out->shape->sizes[d]);
        walk_add(&walk, kept.n, strides[FROM][d], kept.step * strides[TO][d]);
        walk.at[FROM] += kept.first * strides[FROM][d];
        walk.at[TO] += (padding.low + kept.first * kept.step) * strides[TO][d];
    }
    move(&walk, in[0], out);
}

void execute_concatenate(struct machine *machine, const struct instruction *instruction,
                         const struct array *const *in, struct array *out) {
    (void)machine;
    int64_t dimension = instruction->attributes->dimensions.of[0], to[MAX_GRAPH_RANK] = {0};
    for (uint32_t i = 0; i < instruction->n_operands; i++) {
        copy_box(in[i], out, (struct box){.sizes = in[i]->shape->sizes, .to = to});
        to[dimension] += in[i]->shape->sizes[dimension];
    }
}

// Where a window of some sizes begins, at least so that it lies within the array. Indices are scalars, one for each
// dimension, or one vector.
static void window_start(const struct array *const *indices, uint32_t n_indices,
                         const struct array_shape *of, const int64_t *sizes, int64_t *start) {
    bool is_vector = n_indices == 1 && indices[0]->shape->rank == 1;
    for (uint32_t d = 0; d < of->rank; d++) {
        int64_t index = is_vector ? array_index(indices[0], d) : array_index(indices[d], 0);
        int64_t last = of->sizes[d] - sizes[d];
        start[d] = index < 0 ? 0 : index > last ? last : index;
    }
}

void execute_dynamic_slice(struct machine *machine, const struct instruction *instruction,
                           const struct array *const *in, struct array *out) {
    (void)machine;
    int64_t start[MAX_GRAPH_RANK];
    window_start(in + 1, instruction->n_operands - 1, in[0]->shape, out->shape->sizes, start);
    copy_box(in[0], out, (struct box){.sizes = out->shape->sizes, .from = start});
}

void execute_dynamic_update_slice(struct machine *machine, const struct instruction *instruction,
                                  const struct array *const *in, struct array *out) {
    (void)machine;
    int64_t start[MAX_GRAPH_RANK];
    window_start(in + 2, instruction->n_operands - 2, in[0]->shape, in[1]->shape->sizes, start);
    copy_box(in[0], out, (struct box){.sizes = in[0]->shape->sizes});
    copy_box(in[1], out, (struct box){.sizes = in[1]->shape->sizes, .to = start});
}
