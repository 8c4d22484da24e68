// Elements of other devices: sizes change by how many devices meet.
#include "equal/graph/checker.h"

// Each result is its operand, but for dimension `along`, where it has so many times its size: `times` / `parts`.
static bool check_scaled(const struct checked *c, int64_t along, int64_t times, int64_t parts) {
    uint32_t n = c->by->n_operands;
    if (!check_operands_are_arrays(c) || !check_results(c, n))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        const struct array_shape *of = shape_of(c, i), *to = result_of(c, i, n);
        if (of->rank != to->rank || !have_alike_elements(of, to))
            return check_failed_at(c, "result %u is of another kind than its operand", i);
        if (along >= of->rank)
            return check_failed_at(c, "operand %u has no dimension %lld", i, (long long)along);
        for (int64_t d = 0; d < of->rank; d++) {
            int64_t before = of->sizes[d], after = to->sizes[d];
            if (d == along
                    ? before % parts != 0 || after % times != 0 || before / parts != after / times
                    : before != after)
                return check_failed_at(c,
                                       "dimension %lld has %lld elements, and %lld in the result",
                                       (long long)d, (long long)before, (long long)after);
        }
    }
    return true;
}

static bool check_one_dimension(const struct checked *c) {
    const struct number_list *along = &attributes_of(c)->dimensions;
    return (along->n == 1 && along->of[0] >= 0 && along->of[0] < MAX_GRAPH_RANK) ||
           check_failed_at(c, "it is along one dimension");
}

bool check_all_gather(const struct checked *c) {
    return check_one_dimension(c) &&
           check_scaled(c, attributes_of(c)->dimensions.of[0], attributes_of(c)->groups->size, 1);
}

// The computation that is applied combines two numbers of each operand's type.
static bool check_combined(const struct checked *c) {
    const struct instruction_attributes *a = attributes_of(c);
    if (a->n_called != 1)
        return check_failed_at(c, "one computation is applied");
    const struct computation *region = called_by(c, 0);
    const struct array_shape *root = root_shape(region);
    if (region->n_parameters != 2 || !is_scalar(root) || !is_scalar(parameter_shape(region, 0)) ||
        !is_scalar(parameter_shape(region, 1)))
        return check_failed_at(c, "`%s` does not make one number of two", region->name);
    for (uint32_t i = 0; i < c->by->n_operands; i++)
        if (!have_alike_elements(root, shape_of(c, i)) ||
            !have_alike_elements(parameter_shape(region, 0), shape_of(c, i)) ||
            !have_alike_elements(parameter_shape(region, 1), shape_of(c, i)))
            return check_failed_at(c, "`%s` is not of numbers of operand %u's type", region->name,
                                   i);
    return true;
}

bool check_all_reduce(const struct checked *c) {
    return check_scaled(c, -1, 1, 1) && check_combined(c);
}

bool check_reduce_scatter(const struct checked *c) {
    return check_one_dimension(c) &&
           check_scaled(c, attributes_of(c)->dimensions.of[0], 1, attributes_of(c)->groups->size) &&
           check_combined(c);
}

// Along a dimension of one operand, which is cut into a part for each device; or an operand for each device.
bool check_all_to_all(const struct checked *c) {
    int64_t size = attributes_of(c)->groups->size;
    if (attributes_of(c)->dimensions.n == 0)
        return c->by->n_operands == size ? check_scaled(c, -1, 1, 1)
                                         : check_failed_at(c,
                                                           "an operand for each of %lld devices "
                                                           "that meet is expected",
                                                           (long long)size);
    return check_one_dimension(c) &&
           check_scaled(c, attributes_of(c)->dimensions.of[0], size, size);
}

bool check_collective_permute(const struct checked *c) {
    const struct instruction_attributes *a = attributes_of(c);
    struct device_marks *marks = c->marks;
    marks->n++;
    for (uint32_t i = 0; i < a->n_pairs; i++) {
        struct device_pair pair = a->pairs[i];
        if (pair.from >= c->graph->n_devices || pair.to >= c->graph->n_devices)
            return check_failed_at(c, "from %u to %u, of %u devices", pair.from, pair.to,
                                   c->graph->n_devices);
        if (marks->sent_in[pair.from] == marks->n || marks->received_in[pair.to] == marks->n)
            return check_failed_at(c, "from %u to %u: a device sends once and receives once",
                                   pair.from, pair.to);
        marks->sent_in[pair.from] = marks->received_in[pair.to] = marks->n;
    }
    return check_scaled(c, -1, 1, 1);
}
