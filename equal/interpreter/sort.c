// Sort: of each line of the operands along a dimension, by a comparator that sees an element of each operand; and the
// first of what is sorted by value. Merging keeps what is equal in order.
#include <math.h>
#include <string.h>

#include "equal/interpreter/operations.h"
#include "equal/interpreter/region.h"
#include "equal/interpreter/walk.h"

struct line;
// Whether one element of a line comes before another.
typedef bool line_order(const struct line *, int64_t, int64_t);

struct line {
    struct machine *machine;
    line_order *is_before;
    const struct region *comparator; // NULL: the order needs none
    const struct array *const *in;
    uint32_t n_operands;
    int64_t begin, stride, n;
};

static bool is_before_as_compared(const struct line *line, int64_t a, int64_t b) {
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
            left == middle || (right < end && line->is_before(line, from[right], from[left]));
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

// Where the lines along a dimension begin.
static struct offsets lines_along(const struct array_shape *shape, int64_t dimension,
                                  struct arena *arena) {
    struct number_list along = {&dimension, 1}, none = {0};
    return offsets_over(shape, dimensions_beside(shape->rank, along, none, arena), arena);
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
    struct arena *arena = &machine->scratch;
    int64_t strides[MAX_GRAPH_RANK], along = instruction->attributes->dimensions.of[0];
    int64_t n = shape->sizes[along];
    shape_strides(shape, strides);
    struct line line = {.machine = machine,
                        .is_before = is_before_as_compared,
                        .comparator = region_of(machine, instruction->attributes->called[0]),
                        .in = in,
                        .n_operands = instruction->n_operands,
                        .stride = strides[along],
                        .n = n};
    if (!line.comparator)
        return;
    struct offsets lines = lines_along(shape, along, arena);
    int64_t *order = ARENA_ARRAY(arena, int64_t, n), *other = ARENA_ARRAY(arena, int64_t, n);
    for (int64_t i = 0; i < lines.n && !machine->why; i++) {
        line.begin = lines.of[i];
        write_line(&line, order_of(&line, order, other), out);
    }
}

// ---- top-k ----

// What is no number is larger than all that are.
static bool is_larger(const struct line *line, int64_t a, int64_t b) {
    const struct array *in = line->in[0];
    int64_t at = line->begin + a, other = line->begin + b;
    if (in->reals)
        return isnan(in->reals[at]) ? !isnan(in->reals[other]) : in->reals[at] > in->reals[other];
    return shape_is_unsigned(in->shape) ? (uint64_t)in->integers[at] > (uint64_t)in->integers[other]
                                        : in->integers[at] > in->integers[other];
}

static bool is_smaller(const struct line *line, int64_t a, int64_t b) {
    return is_larger(line, b, a);
}

// No reader has checked it: the results are k values and their indices for each line along the last dimension.
static bool is_top_k(const struct array *in, const struct array *out) {
    if (in->shape->is_tuple || in->shape->rank == 0 || out->shape->n_members != 2)
        return false;
    uint32_t last = in->shape->rank - 1;
    for (int i = 0; i < 2; i++) {
        const struct array_shape *shape = out->members[i]->shape;
        if (shape->is_tuple || shape->rank != in->shape->rank ||
            shape->sizes[last] > in->shape->sizes[last])
            return false;
        for (uint32_t d = 0; d < shape->rank; d++)
            if (d == last ? shape->sizes[d] != out->members[0]->shape->sizes[d]
                          : shape->sizes[d] != in->shape->sizes[d])
                return false;
    }
    return !out->members[0]->reals == !in->reals && out->members[1]->integers;
}

void execute_top_k(struct machine *machine, const struct instruction *instruction,
                   const struct array *const *in, struct array *out) {
    if (!is_top_k(in[0], out)) {
        machine_refuse(machine, "the shape of topk");
        return;
    }
    const struct array_shape *shape = in[0]->shape;
    const char *others = instruction->attributes->others;
    bool smallest = others && strstr(others, "largest=false");
    struct arena *arena = &machine->scratch;
    uint32_t last = shape->rank - 1;
    int64_t n = shape->sizes[last], k = out->members[0]->shape->sizes[last];
    struct line line = {.machine = machine,
                        .is_before = smallest ? is_smaller : is_larger,
                        .in = in,
                        .stride = 1,
                        .n = n};
    struct offsets lines = lines_along(shape, last, arena);
    int64_t *first = ARENA_ARRAY(arena, int64_t, n), *other = ARENA_ARRAY(arena, int64_t, n);
    for (int64_t i = 0; i < lines.n; i++) {
        line.begin = lines.of[i];
        const int64_t *order = order_of(&line, first, other);
        for (int64_t j = 0; j < k; j++) {
            array_set(out->members[0], i * k + j, in[0], line.begin + order[j]);
            out->members[1]->integers[i * k + j] = order[j];
        }
    }
}
