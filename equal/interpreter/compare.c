// Compares two programs on the same inputs. Whole arrays are cut as layouts say: a table for each dimension says which
// index of the whole each index of the part is.
#include "equal/interpreter/compare.h"

#include <math.h>
#include <string.h>

#include "equal/interpreter/machine.h"
#include "equal/interpreter/walk.h"
#include "ir/check.h"

// Which of the pieces that the axes of a cut make a device has, and of how many.
struct piece {
    int64_t number, of;
};

static struct piece piece_of(const struct device_mesh *mesh, const struct cut *cut,
                             uint32_t device) {
    int64_t coordinates[MAX_MESH_AXES], left = device;
    for (uint32_t i = mesh->n_axes; i-- > 0;) {
        coordinates[i] = left % mesh->axes[i].size;
        left /= mesh->axes[i].size;
    }
    struct piece piece = {0, 1};
    for (uint32_t i = 0; i < cut->n; i++) {
        int64_t size = mesh->axes[cut->axes[i]].size;
        piece.number = piece.number * size + coordinates[cut->axes[i]];
        piece.of *= size;
    }
    return piece;
}

// A device's part of an array: for each dimension the indices in the whole, in order.
struct part {
    int64_t *indices[MAX_GRAPH_RANK];
};

static struct part part_of(const struct array_layout *layout, const struct device_mesh *mesh,
                           uint32_t device, const struct array_shape *shape, struct arena *arena) {
    struct part part;
    for (uint32_t d = 0; d < shape->rank; d++) {
        const struct dimension_layout *dimension = &layout->dimensions[d];
        part.indices[d] = ARENA_ARRAY(arena, int64_t, shape->sizes[d]);
        int64_t begin = 0, n = 0;
        for (uint32_t s = 0; s < dimension->n_segments; s++) {
            const struct segment *segment = &dimension->segments[s];
            struct piece piece = piece_of(mesh, &segment->cut, device);
            int64_t size = segment->size / piece.of;
            CHECK(segment->size % piece.of == 0 && n + size <= shape->sizes[d]);
            for (int64_t i = 0; i < size; i++)
                part.indices[d][n++] = begin + piece.number * size + i;
            begin += segment->size;
        }
        CHECK(n == shape->sizes[d]);
    }
    return part;
}

// Where in the whole array a walk over a part has come to.
static int64_t place_in_whole(const struct walk *walk, const struct part *part,
                              const struct array_shape *whole) {
    int64_t at = 0;
    for (uint32_t d = 0; d < walk->rank; d++)
        at = at * whole->sizes[d] + part->indices[d][walk->index[d]];
    return at;
}

struct array *array_part(const struct array *whole, const struct array_layout *layout,
                         const struct device_mesh *mesh, uint32_t device,
                         const struct array_shape *shape, struct arena *arena) {
    struct array *array = ARENA_NEW(arena, struct array);
    array->shape = shape;
    if (shape_is_real(shape))
        array->reals = ARENA_ARRAY(arena, double, shape->n_elements);
    else
        array->integers = ARENA_ARRAY(arena, int64_t, shape->n_elements);
    struct part part = part_of(layout, mesh, device, shape, arena);
    struct walk walk = walk_over(shape);
    for (bool on = walk_begin(&walk); on; on = walk_step(&walk))
        array_set(array, walk.at[0], whole, place_in_whole(&walk, &part, whole->shape));
    return array;
}

// ---- inputs ----

static const struct array_shape *parameter_shape(const struct graph *graph, uint32_t parameter) {
    const struct computation *entry = &graph->computations[graph->entry];
    return entry->instructions[entry->parameters[parameter]].shape;
}

static const struct array *const **inputs_of_many(const struct pairing *pairing,
                                                  const struct graph *many,
                                                  const struct array *const *wholes,
                                                  struct arena *arena) {
    uint32_t n_devices = pairing->mesh.n_devices, n = pairing->n_parameters;
    const struct array *const **inputs = ARENA_ARRAY(arena, const struct array *const *, n_devices);
    for (uint32_t device = 0; device < n_devices; device++) {
        const struct array **parts = ARENA_ARRAY(arena, const struct array *, n);
        for (uint32_t i = 0; i < n; i++) {
            uint32_t parameter = pairing->many_parameters[i];
            parts[parameter] = array_part(wholes[i], &pairing->parameters[i], &pairing->mesh,
                                          device, parameter_shape(many, parameter), arena);
        }
        inputs[device] = parts;
    }
    return inputs;
}

// ---- results ----

static const struct array *result_of(const struct graph *graph, const struct execution *execution,
                                     uint32_t device, uint32_t result) {
    const struct computation *entry = &graph->computations[graph->entry];
    const struct array *root = execution->values[(size_t)device * entry->n + entry->root];
    return root->shape->is_tuple ? root->members[result] : root;
}

static double number_at(const struct array *array, int64_t at) {
    if (array->reals)
        return array->reals[at];
    return shape_is_unsigned(array->shape) ? (double)(uint64_t)array->integers[at]
                                           : (double)array->integers[at];
}

// The largest of the numbers that are finite.
static double magnitude(const struct array *array) {
    double largest = 0;
    for (int64_t i = 0; i < array->shape->n_elements; i++) {
        double number = fabs(number_at(array, i));
        if (isfinite(number) && number > largest)
            largest = number;
    }
    return largest;
}

// What a result's numbers have at least, of the largest of all results. Below it they are sums of larger ones that
// cancel, as the gradient of a bias of keys does, and what is left is rounding.
static const double LEAST_MAGNITUDE = 1e-6;

// What differs by less, of the largest number of all inputs, is rounding where numbers of their size cancel, so that a whole
// result should be zero.
static const double ROUNDING = 1e-14, LEAST_OF_INPUT = 1e-8;

// The largest number of a result, at least what it is compared with, and below what nothing counts.
struct result_scale {
    double largest, rounding;
};

static double relative_difference(double a, double b, struct result_scale scale) {
    if (a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= scale.rounding)
        return 0;
    double difference = fabs(a - b) / scale.largest;
    return isfinite(difference) ? difference : INFINITY;
}

static const int64_t *index_in_whole(const struct walk *walk, const struct part *part,
                                     struct arena *arena) {
    int64_t *index = ARENA_ARRAY(arena, int64_t, walk->rank);
    for (uint32_t d = 0; d < walk->rank; d++)
        index[d] = part->indices[d][walk->index[d]];
    return index;
}

static void compare_part(const struct array *whole, const struct array *of_device,
                         const struct part *part, struct difference at, struct result_scale scale,
                         struct arena *arena, struct comparison *comparison, double *relative) {
    scale.largest = fmax(magnitude(whole), scale.largest);
    struct walk walk = walk_over(of_device->shape);
    for (bool on = walk_begin(&walk); on; on = walk_step(&walk)) {
        at.one = number_at(whole, place_in_whole(&walk, part, whole->shape));
        at.many = number_at(of_device, walk.at[0]);
        at.relative = relative_difference(at.one, at.many, scale);
        if (at.relative > *relative)
            *relative = at.relative;
        bool is_greatest = at.relative > comparison->greatest.relative;
        bool is_finite =
            isfinite(at.relative) && at.relative > comparison->greatest_finite.relative;
        if (is_greatest || is_finite)
            at.index = index_in_whole(&walk, part, arena);
        if (is_greatest)
            comparison->greatest = at;
        if (is_finite)
            comparison->greatest_finite = at;
    }
}

static double largest_input(const struct pairing *pairing, const struct array *const *wholes) {
    double largest = 0;
    for (uint32_t i = 0; i < pairing->n_parameters; i++)
        if (wholes[i]->reals)
            largest = fmax(largest, magnitude(wholes[i]));
    return largest;
}

static void compare_results(const struct pairing *pairing, const struct graph *one,
                            const struct graph *many, const struct array *const *wholes,
                            struct arena *arena, struct comparison *comparison) {
    double *relative = ARENA_ARRAY(arena, double, pairing->n_results + 1);
    comparison->relative = relative;
    double input = largest_input(pairing, wholes);
    struct result_scale scale = {LEAST_OF_INPUT * input, ROUNDING * input};
    for (uint32_t i = 0; i < pairing->n_results; i++)
        scale.largest =
            fmax(scale.largest, LEAST_MAGNITUDE * magnitude(result_of(one, comparison->one, 0, i)));
    for (uint32_t i = 0; i < pairing->n_results; i++)
        for (uint32_t device = 0; device < pairing->mesh.n_devices; device++) {
            const struct array *whole = result_of(one, comparison->one, 0, i);
            const struct array *of_device = result_of(many, comparison->many, device, i);
            struct part part =
                part_of(&pairing->results[i], &pairing->mesh, device, of_device->shape, arena);
            struct difference at = {.result = i, .device = device};
            compare_part(whole, of_device, &part, at, scale, arena, comparison, &relative[i]);
        }
}

static const struct execution *execute_program(const struct graph *graph,
                                               const struct array *const *const *inputs,
                                               struct observer *observer, struct arena *arena,
                                               struct comparison *comparison) {
    const struct execution *execution =
        interpret(graph, inputs, observer, arena, &comparison->why, &comparison->at);
    if (!execution)
        comparison->refused = graph;
    return execution;
}

// Before whole arrays are cut, which may be many.
static bool can_execute(const struct graph *graph, uint32_t n_devices,
                        struct comparison *comparison) {
    bool is_of_these = interpreted_devices(graph) == n_devices;
    if (is_of_these && interpreter_has_room(graph, &comparison->why, &comparison->at))
        return true;
    if (!is_of_these)
        comparison->why = "other devices than its arrays are cut for";
    comparison->refused = graph;
    return false;
}

bool compare_programs(const struct pairing *pairing, const struct graph *one,
                      const struct graph *many, const struct array *const *wholes,
                      struct observer *const *observers, struct arena *arena,
                      struct comparison *comparison) {
    *comparison = (struct comparison){0};
    if (!can_execute(one, 1, comparison) || !can_execute(many, pairing->mesh.n_devices, comparison))
        return false;
    comparison->one =
        execute_program(one, &wholes, observers ? observers[0] : NULL, arena, comparison);
    if (!comparison->one)
        return false;
    const struct array *const *const *parts = inputs_of_many(pairing, many, wholes, arena);
    comparison->many =
        execute_program(many, parts, observers ? observers[1] : NULL, arena, comparison);
    if (!comparison->many)
        return false;
    compare_results(pairing, one, many, wholes, arena, comparison);
    return true;
}
