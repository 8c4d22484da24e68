// Gather and scatter: windows of an array at indices that another array has. XLA moves a gathered window into the
// array, and drops a scattered one that is not wholly in it.
#include "equal/interpreter/operations.h"
#include "equal/interpreter/region.h"
#include "equal/interpreter/walk.h"

// Gather and scatter alike: the array with windows, the indices, and the array that has the windows side by side
// (gather's result, scatter's updates).
struct indexing {
    const struct index_numbers *numbers;
    const struct array_shape *windowed, *beside;
    const struct array *indices;
    int64_t window[MAX_GRAPH_RANK]; // sizes, by dimension of the array with windows
    struct walk over_indices;       // sides: in the indices, in the windows beside each other
    struct walk over_window;        // sides: in the array, in one of these
    int64_t index_stride;           // of an index's components
};

static bool is_within_window(const struct index_numbers *numbers, int64_t d) {
    return !list_has(&numbers->collapsed, d) && !list_has(&numbers->operand_batching, d);
}

// The windows' dimensions go one by one with those that `offset` names.
static void walk_windows(struct indexing *by) {
    int64_t strides[MAX_GRAPH_RANK], beside[MAX_GRAPH_RANK];
    shape_strides(by->windowed, strides);
    shape_strides(by->beside, beside);
    uint32_t next = 0;
    for (uint32_t d = 0; d < by->windowed->rank; d++) {
        by->window[d] = 1;
        if (!is_within_window(by->numbers, d))
            continue;
        int64_t other = by->numbers->offset.of[next++];
        by->window[d] = by->beside->sizes[other];
        walk_add(&by->over_window, by->window[d], strides[d], beside[other]);
    }
}

// The indices' dimensions but that of an index's components go one by one with those that `offset` does not name.
static void walk_indices(struct indexing *by) {
    const struct array_shape *shape = by->indices->shape;
    int64_t strides[MAX_GRAPH_RANK], beside[MAX_GRAPH_RANK];
    shape_strides(shape, strides);
    shape_strides(by->beside, beside);
    int64_t components = by->numbers->index_vector;
    by->index_stride = components < shape->rank ? strides[components] : 0;
    uint32_t other = 0;
    for (uint32_t d = 0; d < shape->rank; d++) {
        if (d == components)
            continue;
        while (list_has(&by->numbers->offset, other))
            other++;
        walk_add(&by->over_indices, shape->sizes[d], strides[d], beside[other++]);
    }
}

static struct indexing indexing_of(const struct instruction *instruction,
                                   const struct array_shape *windowed, const struct array *indices,
                                   const struct array_shape *beside) {
    struct indexing by = {.numbers = instruction->attributes->indices,
                          .windowed = windowed,
                          .indices = indices,
                          .beside = beside};
    walk_windows(&by);
    walk_indices(&by);
    return by;
}

// Where the window begins to which the walk over indices has come.
static void window_begin(const struct indexing *by, int64_t *begin) {
    const struct index_numbers *numbers = by->numbers;
    for (uint32_t d = 0; d < by->windowed->rank; d++)
        begin[d] = 0;
    for (uint32_t i = 0; i < numbers->map.n; i++)
        begin[numbers->map.of[i]] =
            array_index(by->indices, by->over_indices.at[0] + (int64_t)i * by->index_stride);
    for (uint32_t i = 0; i < numbers->operand_batching.n; i++) {
        int64_t d = numbers->indices_batching.of[i];
        begin[numbers->operand_batching.of[i]] =
            by->over_indices.index[d - (d > numbers->index_vector)];
    }
}

static int64_t last_begin(const struct indexing *by, uint32_t d) {
    return by->windowed->sizes[d] - by->window[d];
}

static void move_within(const struct indexing *by, int64_t *begin) {
    for (uint32_t d = 0; d < by->windowed->rank; d++)
        begin[d] = begin[d] < 0 ? 0 : begin[d] > last_begin(by, d) ? last_begin(by, d) : begin[d];
}

static bool is_inside(const struct indexing *by, const int64_t *begin) {
    for (uint32_t d = 0; d < by->windowed->rank; d++)
        if (begin[d] < 0 || begin[d] > last_begin(by, d))
            return false;
    return true;
}

// The walk over the window that begins there and goes with where the walk over indices has come.
static struct walk window_at(const struct indexing *by, const int64_t *begin) {
    int64_t strides[MAX_GRAPH_RANK];
    shape_strides(by->windowed, strides);
    struct walk window = by->over_window;
    window.at[1] = by->over_indices.at[1];
    for (uint32_t d = 0; d < by->windowed->rank; d++)
        window.at[0] += begin[d] * strides[d];
    return window;
}

void execute_gather(struct machine *machine, const struct instruction *instruction,
                    const struct array *const *in, struct array *out) {
    (void)machine;
    struct indexing by = indexing_of(instruction, in[0]->shape, in[1], out->shape);
    int64_t begin[MAX_GRAPH_RANK];
    for (bool on = walk_begin(&by.over_indices); on; on = walk_step(&by.over_indices)) {
        window_begin(&by, begin);
        move_within(&by, begin);
        struct walk window = window_at(&by, begin);
        for (bool more = walk_begin(&window); more; more = walk_step(&window))
            array_set(out, window.at[1], in[0], window.at[0]);
    }
}

// Operands, indices, and updates for each operand.
struct scattering {
    const struct region *region;
    uint32_t n; // of operands
    const struct array *const *updates;
    struct array *const *results;
};

static void scatter_element(struct machine *machine, const struct scattering *by, int64_t at,
                            int64_t from) {
    for (uint32_t i = 0; i < by->n; i++) {
        array_set(by->region->parameters[i], 0, by->results[i], at);
        array_set(by->region->parameters[by->n + i], 0, by->updates[i], from);
    }
    region_execute(machine, by->region, 1);
    for (uint32_t i = 0; i < by->n; i++)
        array_set(by->results[i], at, by->region->results[i], 0);
}

void execute_scatter(struct machine *machine, const struct instruction *instruction,
                     const struct array *const *in, struct array *out) {
    uint32_t n = instruction->n_operands / 2;
    struct array *const *results = out->shape->is_tuple ? out->members : &out;
    for (uint32_t i = 0; i < n; i++)
        copy_box(in[i], results[i], (struct box){.sizes = in[i]->shape->sizes});
    const struct region *region = region_of(machine, instruction->attributes->called[0]);
    if (!region)
        return;
    struct scattering scattering = {region, n, in + n + 1, results};
    struct indexing by = indexing_of(instruction, in[0]->shape, in[n], in[n + 1]->shape);
    int64_t begin[MAX_GRAPH_RANK];
    for (bool on = walk_begin(&by.over_indices); on; on = walk_step(&by.over_indices)) {
        window_begin(&by, begin);
        if (!is_inside(&by, begin))
            continue;
        struct walk window = window_at(&by, begin);
        for (bool more = walk_begin(&window); more; more = walk_step(&window))
            scatter_element(machine, &scattering, window.at[0], window.at[1]);
    }
}
