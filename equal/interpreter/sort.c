// Sort: of each line of the operands along a dimension, by a comparator that sees an element of each operand. Merging
// keeps what is equal in order.
#include "equal/interpreter/operations.h"
#include "equal/interpreter/region.h"
#include "equal/interpreter/walk.h"

struct line {
    struct machine *machine;
    const struct region *comparator;
    const struct array *const *in;
    uint32_t n_operands;
    int64_t begin, stride, n;
};

static bool is_before(const struct line *line, int64_t a, int64_t b) {
    struct array *const *parameters = line->comparator->parameters;
    for (uint32_t i = 0; i < line->n_operands; i++) {
        array_set(parameters[2 * i], 0, line->in[i], line->begin + a * line->stride);
        array_set(parameters[2 * i + 1], 0, line->in[i], line->begin + b * line->stride);
    }
    region_execute(line->machine, line->comparator, 1);
    return line->comparator->results[0]->integers[0] != 0;
}

// Two runs of an order, one behind the other, become one.
static void merge(const struct line *line, const int64_t *from, int64_t middle, int64_t end,
                  int64_t *to) {
    for (int64_t left = 0, right = middle, at = 0; at < end; at++) {
        bool takes_right =
            left == middle || (right < end && is_before(line, from[right], from[left]));
        to[at] = takes_right ? from[right++] : from[left++];
    }
}

// The order of a line's elements, in one of two arrays of its length.
static const int64_t *order_of(const struct line *line, int64_t *order, int64_t *other) {
    for (int64_t i = 0; i < line->n; i++)
        order[i] = i;
    for (int64_t run = 1; run < line->n && !line->machine->why; run *= 2) {
        for (int64_t begin = 0; begin < line->n; begin += 2 * run) {
            int64_t left = line->n - begin, end = left < 2 * run ? left : 2 * run;
            merge(line, order + begin, run < end ? run : end, end, other + begin);
        }
        int64_t *merged = other;
        other = order;
        order = merged;
    }
    return order;
}

static void write_line(const struct line *line, const int64_t *order, struct array *out) {
    for (uint32_t i = 0; i < line->n_operands; i++) {
        struct array *to = out->shape->is_tuple ? out->members[i] : out;
        for (int64_t k = 0; k < line->n; k++)
            array_set(to, line->begin + k * line->stride, line->in[i],
                      line->begin + order[k] * line->stride);
    }
}

void execute_sort(struct machine *machine, const struct instruction *instruction,
                  const struct array *const *in, struct array *out) {
    const struct array_shape *shape = in[0]->shape;
    struct number_list along = instruction->attributes->dimensions, none = {0};
    struct arena *arena = &machine->scratch;
    int64_t strides[MAX_GRAPH_RANK], n = shape->sizes[along.of[0]];
    shape_strides(shape, strides);
    struct line line = {.machine = machine,
                        .comparator = region_of(machine, instruction->attributes->called[0]),
                        .in = in,
                        .n_operands = instruction->n_operands,
                        .stride = strides[along.of[0]],
                        .n = n};
    if (!line.comparator)
        return;
    struct offsets lines =
        offsets_over(shape, dimensions_beside(shape->rank, along, none, arena), arena);
    int64_t *order = ARENA_ARRAY(arena, int64_t, n), *other = ARENA_ARRAY(arena, int64_t, n);
    for (int64_t i = 0; i < lines.n && !machine->why; i++) {
        line.begin = lines.of[i];
        write_line(&line, order_of(&line, order, other), out);
    }
}
