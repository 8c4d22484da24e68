// Instructions of primitives. Shapes follow from operands here, and are held against what must be so of a graph by
// equal/graph/check.h in the end.
#include "equal/fx/build.h"

#include <math.h>
#include <string.h>

const struct array_shape *fx_shape_of(struct call *c, enum element element,
                                      const struct sizes *sizes) {
    const struct array_shape *shape =
        c->r->s.failed ? NULL : known_array(&c->r->shapes, element, sizes->of, sizes->rank);
    if (!shape)
        scan_fail(&c->r->s, E907, c->name, "a shape of more bytes than can be counted");
    return shape;
}

struct instruction_attributes *fx_attributes(struct call *c) {
    return ARENA_NEW(c->r->s.arena, struct instruction_attributes);
}

struct number_list fx_numbers(struct call *c, const int64_t *of, uint32_t n) {
    return (struct number_list){arena_copy(c->r->s.arena, of, n * sizeof *of), n};
}

static const char *name_of(struct reader *r, struct word name) {
    return words_string(&r->strings, words_number(&r->strings, name), r->s.arena);
}

uint32_t fx_emit(struct call *c, enum primitive primitive, const struct array_shape *shape,
                 const uint32_t *operands, uint32_t n, const struct instruction_attributes *with) {
    struct reader *r = c->r;
    if (!shape || !with || r->s.failed)
        return NOT_BUILT;
    for (uint32_t i = 0; i < n; i++)
        if (operands[i] == NOT_BUILT)
            return NOT_BUILT;
    struct instruction instruction = {
        .primitive = primitive,
        .shape = shape,
        .operands = arena_copy(r->s.arena, operands, n * sizeof *operands),
        .n_operands = n,
        .attributes = with,
        .name = name_of(r, c->name),
        .frame = r->frame,
        .span = scan_span(&r->s, c->name),
    };
    ARENA_PUSH(r->s.scratch, r->instructions, r->n, r->cap, instruction);
    return r->n - 1;
}

// ---- regions ----------------------------------------------------------------------------------

static struct instruction region_part(struct call *c, enum primitive primitive,
                                      const struct array_shape *shape, const char *name) {
    return (struct instruction){.primitive = primitive,
                                .shape = shape,
                                .attributes = c->r->no_attributes,
                                .name = name,
                                .span = scan_span(&c->r->s, c->name)};
}

static void add_region(struct call *c, enum primitive primitive, const struct array_shape *number) {
    struct reader *r = c->r;
    struct instruction *of = ARENA_ARRAY(r->s.arena, struct instruction, 3);
    uint32_t *parameters = ARENA_ARRAY(r->s.arena, uint32_t, 2);
    of[0] = region_part(c, PRIM_PARAMETER, number, "a");
    of[1] = region_part(c, PRIM_PARAMETER, number, "b");
    of[2] = region_part(c, primitive, number, "both");
    struct instruction_attributes *second = fx_attributes(c);
    second->index = parameters[1] = 1;
    of[1].attributes = second;
    of[2].operands = parameters;
    of[2].n_operands = 2;
    struct computation computation = {primitive_rows[primitive].word, of, 3, 2, parameters, 2};
    ARENA_PUSH(r->s.scratch, r->computations, r->n_computations, r->computations_cap, computation);
}

uint32_t fx_region(struct call *c, enum primitive primitive, enum element element) {
    struct reader *r = c->r;
    struct region_key key = {primitive, element};
    for (uint32_t i = 0; i < r->n_regions; i++)
        if (r->regions[i].primitive == primitive && r->regions[i].element == element)
            return i;
    add_region(c, primitive, fx_shape_of(c, element, &(struct sizes){.rank = 0}));
    ARENA_PUSH(r->s.scratch, r->regions, r->n_regions, r->regions_cap, key);
    return r->n_regions - 1;
}

// ---- numbers ----------------------------------------------------------------------------------

// Numbers beside arrays are computed with in single precision, unless the array has more.
static enum element number_type(enum element element) {
    return fx_kind(element) == NUMBER_REAL && element != ELEMENT_TYPE_F64 ? ELEMENT_TYPE_F32
                                                                          : element;
}

// The integer of a type that a number is. Where the type has no sign PyTorch takes a negative one for the type's as
// often as there are; any other number that the type does not have it refuses. From 2^53 on a double stands for several.
static bool as_integer(enum element element, double number, int64_t *integer) {
    int bits = element_rows[element].bits;
    bool is_unsigned = fx_kind(element) == NUMBER_UNSIGNED;
    double most = ldexp(1, is_unsigned ? bits : bits - 1) - 1;
    double least = !is_unsigned ? -most - 1 : bits < 64 ? -most : 0;
    if (!(fabs(number) < 0x1p53 && number >= least && number <= most) || trunc(number) != number)
        return false;
    *integer = (int64_t)number;
    if (is_unsigned && number < 0)
        *integer += INT64_C(1) << bits;
    return true;
}

uint32_t fx_number(struct call *c, enum element element, double number) {
    struct instruction_attributes *with = fx_attributes(c);
    struct literal *literal = ARENA_NEW(c->r->s.arena, struct literal);
    element = number_type(element);
    if (fx_kind(element) == NUMBER_OTHER)
        return NOT_BUILT;
    if (fx_kind(element) == NUMBER_REAL) {
        double kept = element == ELEMENT_TYPE_F32 ? (double)(float)number : number;
        literal->reals = arena_copy(c->r->s.arena, &kept, sizeof kept);
    } else {
        int64_t kept = number != 0;
        if (fx_kind(element) != NUMBER_TRUTH && !as_integer(element, number, &kept))
            return NOT_BUILT;
        literal->integers = arena_copy(c->r->s.arena, &kept, sizeof kept);
    }
    literal->n = 1;
    with->literal = literal;
    const struct sizes none = {.rank = 0};
    return fx_emit(c, PRIM_CONSTANT, fx_shape_of(c, element, &none), NULL, 0, with);
}

static uint32_t everywhere(struct call *c, enum element element, uint32_t scalar,
                           const struct sizes *sizes) {
    return sizes->rank == 0 && scalar != NOT_BUILT && fx_element(c, scalar) == element
               ? scalar
               : fx_emit(c, PRIM_BROADCAST, fx_shape_of(c, element, sizes), &scalar, 1,
                         c->r->no_attributes);
}

uint32_t fx_full(struct call *c, enum element element, double number, const struct sizes *sizes) {
    return everywhere(c, element, fx_number(c, element, number), sizes);
}

uint32_t fx_like(struct call *c, uint32_t array, double number) {
    if (array == NOT_BUILT)
        return NOT_BUILT;
    struct sizes sizes = fx_sizes(c, array);
    return fx_full(c, fx_element(c, array), number, &sizes);
}

// Written in double precision where single would round it.
uint32_t fx_count(struct call *c, uint32_t array, double count) {
    if (array == NOT_BUILT || !(fabs(count) < 0x1p53))
        return NOT_BUILT;
    struct sizes sizes = fx_sizes(c, array);
    enum element element = fx_element(c, array);
    if (fx_kind(element) != NUMBER_REAL || (double)(float)count == count)
        return fx_full(c, element, count, &sizes);
    uint32_t exact = fx_number(c, ELEMENT_TYPE_F64, count);
    return everywhere(c, element, fx_convert(c, exact, number_type(element)), &sizes);
}

// One digit of the device's number, of which numbers by device may be a multiple.
struct rank_digit {
    int64_t stride, extent, step;
};

static bool is_digit(const int64_t *numbers, int64_t n, const struct rank_digit *digit) {
    for (int64_t d = 0; d < n; d++)
        if (numbers[d] - numbers[0] != digit->step * (d / digit->stride % digit->extent))
            return false;
    return true;
}

static bool find_digit(const int64_t *numbers, int64_t n, struct rank_digit *digit) {
    for (digit->stride = 1; digit->stride < n; digit->stride++)
        for (digit->extent = 2; n % digit->stride == 0 && digit->extent <= n / digit->stride;
             digit->extent++) {
            digit->step = numbers[digit->stride] - numbers[0];
            if (n / digit->stride % digit->extent == 0 && is_digit(numbers, n, digit))
                return true;
        }
    return false;
}

uint32_t fx_by_rank(struct call *c, const int64_t *numbers) {
    const struct sizes none = {.rank = 0}, all = {.of = {c->r->n_devices}, .rank = 1},
                       one = {.of = {1}, .rank = 1};
    int64_t n = c->r->n_devices;
    struct rank_digit digit;
    uint32_t id = fx_emit(c, PRIM_PARTITION_ID, fx_shape_of(c, ELEMENT_TYPE_S64, &none), NULL, 0,
                          c->r->no_attributes);
    if (!find_digit(numbers, n, &digit)) {
        struct instruction_attributes *with = fx_attributes(c);
        struct literal *literal = ARENA_NEW(c->r->s.arena, struct literal);
        literal->integers = arena_copy(c->r->s.arena, numbers, (size_t)n * sizeof *numbers);
        literal->n = n;
        with->literal = literal;
        uint32_t table =
            fx_emit(c, PRIM_CONSTANT, fx_shape_of(c, ELEMENT_TYPE_S64, &all), NULL, 0, with);
        return fx_reshape(c, fx_slice_from(c, table, 0, id, one.of[0]), &none);
    }
    if (digit.stride > 1)
        id = fx_binary_number(c, PRIM_DIVIDE, id, (double)digit.stride);
    if (digit.stride * digit.extent < n)
        id = fx_binary_number(c, PRIM_REMAINDER, id, (double)digit.extent);
    if (digit.step != 1)
        id = fx_binary_number(c, PRIM_MULTIPLY, id, (double)digit.step);
    return numbers[0] ? fx_binary_number(c, PRIM_ADD, id, (double)numbers[0]) : id;
}

uint32_t fx_iota(struct call *c, enum element element, const struct sizes *sizes,
                 uint32_t dimension) {
    struct instruction_attributes *with = fx_attributes(c);
    int64_t along = dimension;
    with->dimensions = fx_numbers(c, &along, 1);
    return fx_emit(c, PRIM_IOTA, fx_shape_of(c, element, sizes), NULL, 0, with);
}

// ---- elements at their own places -------------------------------------------------------------

uint32_t fx_convert(struct call *c, uint32_t array, enum element element) {
    if (array == NOT_BUILT || fx_element(c, array) == element)
        return array;
    struct sizes sizes = fx_sizes(c, array);
    return fx_emit(c, PRIM_CONVERT, fx_shape_of(c, element, &sizes), &array, 1,
                   c->r->no_attributes);
}

uint32_t fx_unary(struct call *c, enum primitive primitive, uint32_t array) {
    return array == NOT_BUILT
               ? NOT_BUILT
               : fx_emit(c, primitive, fx_shape(c, array), &array, 1, c->r->no_attributes);
}

uint32_t fx_binary(struct call *c, enum primitive primitive, uint32_t a, uint32_t b) {
    uint32_t both[] = {a, b};
    return a == NOT_BUILT ? NOT_BUILT
                          : fx_emit(c, primitive, fx_shape(c, a), both, 2, c->r->no_attributes);
}

uint32_t fx_binary_number(struct call *c, enum primitive primitive, uint32_t array, double number) {
    return fx_binary(c, primitive, array, fx_like(c, array, number));
}

uint32_t fx_compare(struct call *c, enum direction direction, uint32_t a, uint32_t b) {
    uint32_t both[] = {a, b};
    struct instruction_attributes *with = fx_attributes(c);
    struct sizes sizes = fx_sizes(c, a);
    with->direction = direction;
    return fx_emit(c, PRIM_COMPARE, fx_shape_of(c, ELEMENT_TYPE_PRED, &sizes), both, 2, with);
}

uint32_t fx_select(struct call *c, uint32_t truth, uint32_t a, uint32_t b) {
    uint32_t all[] = {truth, a, b};
    return a == NOT_BUILT ? NOT_BUILT
                          : fx_emit(c, PRIM_SELECT, fx_shape(c, a), all, 3, c->r->no_attributes);
}

// ---- elements at other places -----------------------------------------------------------------

static bool have_same_sizes(const struct sizes *a, const struct sizes *b) {
    return a->rank == b->rank && memcmp(a->of, b->of, a->rank * sizeof *a->of) == 0;
}

uint32_t fx_reshape(struct call *c, uint32_t array, const struct sizes *sizes) {
    struct sizes before = fx_sizes(c, array);
    if (array == NOT_BUILT || have_same_sizes(&before, sizes))
        return array;
    return fx_emit(c, PRIM_RESHAPE, fx_shape_of(c, fx_element(c, array), sizes), &array, 1,
                   c->r->no_attributes);
}

uint32_t fx_transpose(struct call *c, uint32_t array, const uint32_t *order) {
    struct sizes before = fx_sizes(c, array), after = before;
    int64_t from[MAX_GRAPH_RANK];
    bool is_moved = false;
    for (uint32_t k = 0; k < before.rank; k++) {
        from[k] = order[k];
        after.of[k] = before.of[order[k]];
        is_moved |= order[k] != k;
    }
    if (array == NOT_BUILT || !is_moved)
        return array;
    struct instruction_attributes *with = fx_attributes(c);
    with->dimensions = fx_numbers(c, from, before.rank);
    return fx_emit(c, PRIM_TRANSPOSE, fx_shape_of(c, fx_element(c, array), &after), &array, 1,
                   with);
}

uint32_t fx_broadcast(struct call *c, uint32_t array, const struct sizes *sizes,
                      const int64_t *dimensions) {
    if (array == NOT_BUILT)
        return NOT_BUILT;
    struct instruction_attributes *with = fx_attributes(c);
    with->dimensions = fx_numbers(c, dimensions, fx_shape(c, array)->rank);
    return fx_emit(c, PRIM_BROADCAST, fx_shape_of(c, fx_element(c, array), sizes), &array, 1, with);
}

uint32_t fx_expand(struct call *c, uint32_t array, const struct sizes *sizes) {
    struct sizes before = fx_sizes(c, array), kept = {.rank = 0};
    int64_t dimensions[MAX_GRAPH_RANK];
    if (array == NOT_BUILT || have_same_sizes(&before, sizes))
        return array;
    if (before.rank > sizes->rank)
        return fx_fail(c, "%u dimensions do not become %u", before.rank, sizes->rank);
    for (uint32_t k = 0; k < before.rank; k++) {
        uint32_t to = k + sizes->rank - before.rank;
        if (before.of[k] != 1 && before.of[k] != sizes->of[to])
            return fx_fail(c, "%lld elements do not become %lld", (long long)before.of[k],
                           (long long)sizes->of[to]);
        if (before.of[k] != sizes->of[to])
            continue;
        dimensions[kept.rank] = to;
        kept.of[kept.rank++] = before.of[k];
    }
    return fx_broadcast(c, fx_reshape(c, array, &kept), sizes, dimensions);
}

uint32_t fx_slice(struct call *c, uint32_t array, uint32_t dimension, struct slice_range range) {
    struct sizes sizes = fx_sizes(c, array);
    if (array == NOT_BUILT ||
        (range.start == 0 && range.limit == sizes.of[dimension] && range.stride == 1))
        return array;
    struct instruction_attributes *with = fx_attributes(c);
    struct slice_range *ranges = ARENA_ARRAY(c->r->s.arena, struct slice_range, sizes.rank);
    for (uint32_t k = 0; k < sizes.rank; k++)
        ranges[k] = (struct slice_range){0, sizes.of[k], 1};
    ranges[dimension] = range;
    with->slices = ranges;
    int64_t length = range.limit - range.start;
    sizes.of[dimension] = length / range.stride + (length % range.stride != 0);
    return fx_emit(c, PRIM_SLICE, fx_shape_of(c, fx_element(c, array), &sizes), &array, 1, with);
}

uint32_t fx_slice_from(struct call *c, uint32_t array, uint32_t dimension, uint32_t start,
                       int64_t length) {
    struct sizes sizes = fx_sizes(c, array);
    uint32_t operands[MAX_GRAPH_RANK + 1] = {array};
    for (uint32_t k = 0; k < sizes.rank; k++)
        operands[k + 1] = k == dimension ? start : fx_number(c, ELEMENT_TYPE_S64, 0);
    if (array == NOT_BUILT)
        return NOT_BUILT;
    sizes.of[dimension] = length;
    struct instruction_attributes *with = fx_attributes(c);
    with->slice_sizes = fx_numbers(c, sizes.of, sizes.rank);
    return fx_emit(c, PRIM_DYNAMIC_SLICE, fx_shape_of(c, fx_element(c, array), &sizes), operands,
                   sizes.rank + 1, with);
}

uint32_t fx_pad(struct call *c, uint32_t array, uint32_t dimension, struct padding_range by,
                double number) {
    struct sizes sizes = fx_sizes(c, array);
    if (array == NOT_BUILT)
        return NOT_BUILT;
    int64_t size = sizes.of[dimension], between = size > 1 ? size - 1 : 0, after;
    if (__builtin_mul_overflow(between, by.interior, &between) ||
        __builtin_add_overflow(size, between, &after) ||
        __builtin_add_overflow(after, by.low, &after) ||
        __builtin_add_overflow(after, by.high, &after) || after < 0)
        return fx_fail(c, "dimension %u cannot be padded so", dimension);
    struct instruction_attributes *with = fx_attributes(c);
    struct padding_range *padding = ARENA_ARRAY(c->r->s.arena, struct padding_range, sizes.rank);
    padding[dimension] = by;
    with->padding = padding;
    sizes.of[dimension] = after;
    uint32_t both[] = {array, fx_number(c, fx_element(c, array), number)};
    return fx_emit(c, PRIM_PAD, fx_shape_of(c, fx_element(c, array), &sizes), both, 2, with);
}

uint32_t fx_concatenate(struct call *c, const uint32_t *arrays, uint32_t n, uint32_t dimension) {
    struct sizes sizes = fx_sizes(c, arrays[0]);
    int64_t along = dimension;
    for (uint32_t i = 1; i < n; i++) {
        if (arrays[i] == NOT_BUILT || arrays[0] == NOT_BUILT)
            return NOT_BUILT;
        struct sizes other = fx_sizes(c, arrays[i]);
        int64_t size = other.rank == sizes.rank ? other.of[dimension] : 0;
        if (other.rank == sizes.rank)
            other.of[dimension] = sizes.of[dimension];
        if (!have_same_sizes(&other, &sizes) ||
            __builtin_add_overflow(sizes.of[dimension], size, &sizes.of[dimension]))
            return fx_fail(c, "array %u does not fit beside the first", i);
    }
    if (n == 1)
        return arrays[0];
    struct instruction_attributes *with = fx_attributes(c);
    with->dimensions = fx_numbers(c, &along, 1);
    return fx_emit(c, PRIM_CONCATENATE, fx_shape_of(c, fx_element(c, arrays[0]), &sizes), arrays, n,
                   with);
}

// ---- folds ------------------------------------------------------------------------------------

// What changes nothing where it is the first that a primitive folds.
static double begin_of(enum primitive primitive) {
    switch (primitive) {
    case PRIM_MAXIMUM:
        return -INFINITY;
    case PRIM_MINIMUM:
        return INFINITY;
    case PRIM_MULTIPLY:
    case PRIM_AND:
        return 1;
    default:
        return 0;
    }
}

uint32_t fx_reduce(struct call *c, enum primitive primitive, uint32_t array, uint32_t dimensions,
                   bool keeps) {
    struct sizes sizes = fx_sizes(c, array), rest = {.rank = 0}, kept = sizes;
    int64_t over[MAX_GRAPH_RANK];
    uint32_t n = 0;
    if (array == NOT_BUILT)
        return NOT_BUILT;
    for (uint32_t k = 0; k < sizes.rank; k++)
        if (dimensions >> k & 1) {
            over[n++] = k;
            kept.of[k] = 1;
        } else {
            rest.of[rest.rank++] = sizes.of[k];
        }
    enum element element = fx_element(c, array);
    struct instruction_attributes *with = fx_attributes(c);
    with->dimensions = fx_numbers(c, over, n);
    uint32_t region = fx_region(c, primitive, element);
    with->called = arena_copy(c->r->s.arena, &region, sizeof region);
    with->n_called = 1;
    uint32_t both[] = {array, fx_number(c, element, begin_of(primitive))};
    uint32_t made =
        n ? fx_emit(c, PRIM_REDUCE, fx_shape_of(c, element, &rest), both, 2, with) : array;
    return keeps ? fx_reshape(c, made, &kept) : made;
}

uint32_t fx_spread(struct call *c, enum primitive primitive, uint32_t array, uint32_t dimensions) {
    struct sizes sizes = fx_sizes(c, array);
    return fx_expand(c, fx_reduce(c, primitive, array, dimensions, true), &sizes);
}

uint32_t fx_mean(struct call *c, uint32_t array, uint32_t dimensions, bool keeps) {
    double n = 1;
    struct sizes sizes = fx_sizes(c, array);
    for (uint32_t k = 0; k < sizes.rank; k++)
        n *= dimensions >> k & 1 ? (double)sizes.of[k] : 1;
    uint32_t sum = fx_reduce(c, PRIM_ADD, array, dimensions, keeps);
    return fx_binary(c, PRIM_DIVIDE, sum, fx_count(c, sum, n));
}

// Appends the dimensions of a factor that neither list names.
static void add_rest(const struct sizes *of, const int64_t *batch, uint32_t n_batch,
                     const int64_t *summed, uint32_t n, struct sizes *to) {
    for (uint32_t k = 0; k < of->rank; k++) {
        bool is_named = false;
        for (uint32_t i = 0; i < n_batch; i++)
            is_named |= batch[i] == k;
        for (uint32_t i = 0; i < n; i++)
            is_named |= summed[i] == k;
        if (!is_named && to->rank < MAX_GRAPH_RANK)
            to->of[to->rank++] = of->of[k];
    }
}

uint32_t fx_dot(struct call *c, uint32_t a, uint32_t b, const struct contraction *d) {
    if (a == NOT_BUILT || b == NOT_BUILT)
        return NOT_BUILT;
    struct sizes left = fx_sizes(c, a), right = fx_sizes(c, b), sizes = {.rank = d->n_batch};
    if (left.rank + right.rank > MAX_GRAPH_RANK + d->n_batch + 2 * d->n)
        return fx_fail(c, "the result has more than %d dimensions", MAX_GRAPH_RANK);
    for (uint32_t i = 0; i < d->n; i++)
        if (left.of[d->left[i]] != right.of[d->right[i]])
            return fx_fail(c, "%lld elements are summed with %lld", (long long)left.of[d->left[i]],
                           (long long)right.of[d->right[i]]);
    for (uint32_t i = 0; i < d->n_batch; i++) {
        sizes.of[i] = left.of[d->left_batch[i]];
        if (sizes.of[i] != right.of[d->right_batch[i]])
            return fx_fail(c, "batches of %lld and of %lld", (long long)sizes.of[i],
                           (long long)right.of[d->right_batch[i]]);
    }
    add_rest(&left, d->left_batch, d->n_batch, d->left, d->n, &sizes);
    add_rest(&right, d->right_batch, d->n_batch, d->right, d->n, &sizes);
    struct instruction_attributes *with = fx_attributes(c);
    with->left_batch = fx_numbers(c, d->left_batch, d->n_batch);
    with->right_batch = fx_numbers(c, d->right_batch, d->n_batch);
    with->left_contracting = fx_numbers(c, d->left, d->n);
    with->right_contracting = fx_numbers(c, d->right, d->n);
    uint32_t both[] = {a, b};
    enum element element = fx_promoted(fx_element(c, a), fx_element(c, b));
    return fx_emit(c, PRIM_DOT, fx_shape_of(c, element, &sizes), both, 2, with);
}

uint32_t fx_tuple(struct call *c, const uint32_t *arrays, uint32_t n) {
    const struct array_shape **members =
        ARENA_ARRAY(c->r->s.scratch, const struct array_shape *, n);
    for (uint32_t i = 0; i < n; i++) {
        if (arrays[i] == NOT_BUILT)
            return NOT_BUILT;
        members[i] = fx_shape(c, arrays[i]);
    }
    return fx_emit(c, PRIM_TUPLE, known_tuple(&c->r->shapes, members, n), arrays, n,
                   c->r->no_attributes);
}
