// Inputs drawn at random in several manners, until one shows a difference: reals of either sign, positive ones, which make
// numbers where others make none, and larger ones; integers among those that are assumed, or small ones, evenly or at
// their bounds, where what is masked or clamped lies.
#include "equal/diagnosis/witness.h"

#include <math.h>

enum { LARGEST_INTEGER = 4 };

static const struct manner {
    bool positive, at_bounds;
    double size;
} manners[] = {
    {.size = 1},
    {.size = 1, .at_bounds = true},
    {.size = 1, .positive = true},
    {.size = 3, .at_bounds = true},
};

static uint64_t draw(uint64_t *state) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    uint64_t mixed = (*state ^ *state >> 31) * UINT64_C(0x9e3779b97f4a7c15);
    return mixed ^ mixed >> 29;
}

static double draw_real(uint64_t *state, const struct manner *manner) {
    double unit = (double)(draw(state) >> 11) * 0x1p-53;
    return manner->size * (manner->positive ? 0.05 + 0.95 * unit : 2 * unit - 1);
}

static int64_t draw_integer(uint64_t *state, int64_t least, uint64_t count, bool at_bounds) {
    uint64_t drawn = draw(state);
    if (at_bounds && (drawn >> 32) % 2)
        return least + (int64_t)(drawn >> 33 & 1 ? count - 1 : 0);
    return least + (int64_t)(drawn % count);
}

// Where the least is not said but the largest is, negative ones are drawn, too: they are masked.
static struct assumption range_of(const struct assumptions *assumptions, uint32_t parameter) {
    struct assumption range = {.least = INT64_MIN, .most = INT64_MAX};
    for (uint32_t i = 0; i < assumptions->n; i++)
        if (assumptions->of[i].parameter == parameter)
            range = assumptions->of[i];
    if (range.least == INT64_MIN)
        range.least = range.most < 0            ? range.most - LARGEST_INTEGER
                      : range.most == INT64_MAX ? 0
                                                : -1;
    if (range.most == INT64_MAX)
        range.most = range.least + LARGEST_INTEGER;
    return range;
}

static const struct array *draw_array(const struct array_shape *shape, struct assumption range,
                                      const struct manner *manner, uint64_t *state,
                                      struct arena *arena) {
    struct array *array = ARENA_NEW(arena, struct array);
    int64_t n = shape->n_elements;
    array->shape = shape;
    if (element_rows[shape->element].kind == NUMBER_REAL) {
        array->reals = ARENA_ARRAY(arena, double, n + 1);
        for (int64_t i = 0; i < n; i++)
            array->reals[i] = draw_real(state, manner);
        return array;
    }
    bool truths = element_rows[shape->element].kind == NUMBER_TRUTH;
    uint64_t count = truths ? 2 : (uint64_t)(range.most - range.least) + 1;
    array->integers = ARENA_ARRAY(arena, int64_t, n + 1);
    for (int64_t i = 0; i < n; i++)
        array->integers[i] =
            draw_integer(state, truths ? 0 : range.least, count, manner->at_bounds);
    return array;
}

static bool is_too_large(const struct pairing *pairing) {
    int64_t bytes = 0;
    for (uint32_t i = 0; i < pairing->n_parameters; i++) {
        if (pairing->parameters[i].shape->n_elements > MAX_INTERPRETED_BYTES / 8)
            return true;
        bytes += 8 * pairing->parameters[i].shape->n_elements;
    }
    return bytes > MAX_INTERPRETED_BYTES / 4;
}

struct witness find_witness(const struct pairing *pairing, const struct graph *one,
                            const struct graph *many, const struct assumptions *assumptions,
                            struct observer *const *observers, struct arena *arena) {
    struct witness witness = {.kind = WITNESS_NONE, .why = "the arrays are too large"};
    uint64_t state = 1;
    bool fits = !is_too_large(pairing);
    for (size_t manner = 0; manner < sizeof manners / sizeof *manners && fits; manner++) {
        const struct array **wholes =
            ARENA_ARRAY(arena, const struct array *, pairing->n_parameters + 1);
        for (uint32_t i = 0; i < pairing->n_parameters; i++)
            wholes[i] = draw_array(pairing->parameters[i].shape, range_of(assumptions, i),
                                   &manners[manner], &state, arena);
        struct comparison comparison = {0};
        if (!compare_programs(pairing, one, many, wholes, observers, arena, &comparison)) {
            witness.why = comparison.why;
            return witness;
        }
        witness.difference = comparison.greatest;
        witness.relative = comparison.relative;
        if (isinf(comparison.greatest.relative) || isnan(comparison.greatest.relative))
            continue; // what is no number shows nothing
        witness.kind =
            comparison.greatest.relative > LEAST_DIFFERENCE ? WITNESS_DIFFERENT : WITNESS_SAME;
        if (witness.kind == WITNESS_DIFFERENT)
            return witness;
    }
    if (witness.kind == WITNESS_NONE && witness.difference.index)
        witness.why = "they make numbers that are none";
    return witness;
}
