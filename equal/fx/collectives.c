// Collectives. Which devices meet is found at the end of the text, so they are kept open until then.
#include "equal/fx/collectives.h"

#include "equal/fx/groups.h"
#include "equal/fx/moves.h"

struct collecting {
    uint32_t array;
    struct instruction_attributes *with;
    uint32_t group;
};

// The array, and the group that operand `i` names. A group of `size` devices; 0: the text does not say.
static bool collecting_given(struct call *c, uint32_t i, int64_t size, struct collecting *x) {
    const struct argument *name = c->of[i];
    x->array = fx_array(c, 0);
    x->with = fx_attributes(c);
    if (x->array == NOT_BUILT)
        return false;
    if (!name || name->kind != ARGUMENT_STRING) {
        fx_fail(c, "a group's name is expected");
        return false;
    }
    return fx_group_named(c->r, name->at, size, &x->group);
}

static void keep_open(struct call *c, const struct collecting *x, double *divisor) {
    struct open_collective open = {x->with, divisor, x->group};
    ARENA_PUSH(c->r->s.scratch, c->r->open, c->r->n_open, c->r->open_cap, open);
}

static bool size_given(struct call *c, uint32_t i, int64_t *size) {
    if (!fx_integer(c, i, 0, size))
        return false;
    if (*size < 1 || *size > MAX_GRAPH_DEVICES)
        fx_fail(c, "a group of %lld devices", (long long)*size);
    return *size >= 1 && *size <= MAX_GRAPH_DEVICES;
}

// ---- reductions -------------------------------------------------------------------------------

struct reduction {
    const char *word;
    enum primitive primitive;
    bool is_mean;
};

static const struct reduction *find_reduction(const struct argument *a) {
    static const struct reduction rows[] = {
        {"sum", PRIM_ADD, false},
        {"avg", PRIM_ADD, true},
        {"max", PRIM_MAXIMUM, false},
        {"min", PRIM_MINIMUM, false},
    };
    for (size_t i = 0; a && i < sizeof rows / sizeof *rows; i++)
        if (word_is(a->at, rows[i].word))
            return &rows[i];
    return NULL;
}

// Reduces with a computation of the elements' type; a mean divides by a number that is known later.
static uint32_t reduced(struct call *c, struct collecting *x, const struct reduction *by,
                        enum primitive primitive, const struct sizes *sizes) {
    enum element element = fx_element(c, x->array);
    uint32_t region = fx_region(c, by->primitive, element);
    x->with->called = arena_copy(c->r->s.arena, &region, sizeof region);
    x->with->n_called = 1;
    uint32_t made = fx_emit(c, primitive, fx_shape_of(c, element, sizes), &x->array, 1, x->with);
    if (!by->is_mean || made == NOT_BUILT) {
        keep_open(c, x, NULL);
        return made;
    }
    if (fx_kind(element) != NUMBER_REAL)
        return NOT_BUILT;
    double *divisor = ARENA_NEW(c->r->s.arena, double);
    struct literal *literal = ARENA_NEW(c->r->s.arena, struct literal);
    struct instruction_attributes *with = fx_attributes(c);
    const struct sizes none = {.rank = 0};
    *literal = (struct literal){.reals = divisor, .n = 1};
    with->literal = literal;
    keep_open(c, x, divisor);
    uint32_t n = fx_emit(c, PRIM_CONSTANT, fx_shape_of(c, ELEMENT_TYPE_F64, &none), NULL, 0, with);
    return fx_binary(c, PRIM_DIVIDE, made, fx_expand(c, fx_convert(c, n, element), sizes));
}

uint32_t fx_build_all_reduce(struct call *c) {
    struct collecting x;
    const struct reduction *by = find_reduction(c->of[1]);
    if (!by || !collecting_given(c, 2, 0, &x))
        return NOT_BUILT;
    struct sizes sizes = fx_sizes(c, x.array);
    return reduced(c, &x, by, PRIM_ALL_REDUCE, &sizes);
}

static bool along_first(struct call *c, struct collecting *x, struct sizes *sizes) {
    int64_t first = 0;
    *sizes = fx_sizes(c, x->array);
    x->with->dimensions = fx_numbers(c, &first, 1);
    if (sizes->rank == 0)
        fx_fail(c, "an array of no dimensions has no parts");
    return sizes->rank > 0;
}

uint32_t fx_build_reduce_scatter(struct call *c) {
    struct collecting x;
    struct sizes sizes;
    int64_t n;
    const struct reduction *by = find_reduction(c->of[1]);
    if (!by || !size_given(c, 2, &n) || !collecting_given(c, 3, n, &x) ||
        !along_first(c, &x, &sizes))
        return NOT_BUILT;
    if (sizes.of[0] % n)
        return fx_fail(c, "%lld rows for %lld devices", (long long)sizes.of[0], (long long)n);
    sizes.of[0] /= n;
    return reduced(c, &x, by, PRIM_REDUCE_SCATTER, &sizes);
}

// ---- moves ------------------------------------------------------------------------------------

uint32_t fx_build_all_gather(struct call *c) {
    struct collecting x;
    struct sizes sizes;
    int64_t n;
    if (!size_given(c, 1, &n) || !collecting_given(c, 2, n, &x) || !along_first(c, &x, &sizes))
        return NOT_BUILT;
    if (__builtin_mul_overflow(sizes.of[0], n, &sizes.of[0]))
        return fx_fail(c, "more rows than can be counted");
    keep_open(c, &x, NULL);
    return fx_emit(c, PRIM_ALL_GATHER, fx_shape_of(c, fx_element(c, x.array), &sizes), &x.array, 1,
                   x.with);
}

// Each device's part of a dimension for each device, one behind the other.
static uint32_t exchanged(struct call *c, const struct collecting *x, uint32_t dimension) {
    int64_t along = dimension;
    x->with->dimensions = fx_numbers(c, &along, 1);
    keep_open(c, x, NULL);
    return fx_emit(c, PRIM_ALL_TO_ALL, fx_shape(c, x->array), &x->array, 1, x->with);
}

// How many devices parts of equal size are for; 0: they are not equal.
static int64_t n_equal(const struct argument *list) {
    if (!list || list->kind != ARGUMENT_LIST)
        return 0;
    for (uint32_t i = 0; i < list->list.n; i++)
        if (list->list.of[i].kind != ARGUMENT_INTEGER ||
            list->list.of[i].integer != list->list.of[0].integer)
            return 0;
    return list->list.n;
}

uint32_t fx_build_all_to_all(struct call *c) {
    struct collecting x;
    struct sizes sizes;
    int64_t n = n_equal(c->of[1]);
    if (n == 0 || n != n_equal(c->of[2]) || !collecting_given(c, 3, n, &x) ||
        !along_first(c, &x, &sizes))
        return NOT_BUILT;
    int64_t received = c->of[1]->list.of[0].integer, sent = c->of[2]->list.of[0].integer;
    if (received != sent || sizes.of[0] % n || sizes.of[0] / n != sent)
        return NOT_BUILT;
    return exchanged(c, &x, 0);
}

// What is cut along one dimension comes together along another. How many devices meet is in the shape that the text says.
uint32_t fx_build_exchange(struct call *c) {
    struct collecting x;
    int64_t gather, cut;
    uint32_t to, from;
    if (!collecting_given(c, 3, 0, &x) || !c->said || !fx_integer(c, 1, 0, &gather) ||
        !fx_integer(c, 2, 0, &cut))
        return NOT_BUILT;
    struct sizes sizes = fx_sizes(c, x.array);
    if (!fx_dimension(c, gather, sizes.rank, &to) || !fx_dimension(c, cut, sizes.rank, &from))
        return NOT_BUILT;
    int64_t n = to < c->said->rank && sizes.of[to] ? c->said->sizes[to] / sizes.of[to] : 0;
    if (n < 1 || sizes.of[from] % n || to == from ||
        !fx_group_named(c->r, c->of[3]->at, n, &x.group))
        return NOT_BUILT;
    return fx_regroup(c, exchanged(c, &x, from), from, n, to);
}
