// Inputs drawn at random: reals of either sign, and where they make no number, positive ones; integers among those that
// are assumed, or small ones.
#include "equal/diagnosis/witness.h"

#include <math.h>

enum { MANNERS = 2, LARGEST_INTEGER = 4 };

static uint64_t draw(uint64_t *state) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    uint64_t mixed = (*state ^ *state >> 31) * UINT64_C(0x9e3779b97f4a7c15);
    return mixed ^ mixed >> 29;
}

static double draw_real(uint64_t *state, bool positive) {
    double unit = (double)(draw(state) >> 11) * 0x1p-53;
    return positive ? 0.05 + 0.95 * unit : 2 * unit - 1;
}

static struct assumption range_of(const struct assumptions *assumptions, uint32_t parameter) {
    struct assumption range = {.least = INT64_MIN, .most = INT64_MAX};
    for (uint32_t i = 0; i < assumptions->n; i++)
        if (assumptions->of[i].parameter == parameter)
            range = assumptions->of[i];
    if (range.least == INT64_MIN)
        range.least = range.most < 0 ? range.most - LARGEST_INTEGER : 0;
    if (range.most == INT64_MAX)
        range.most = range.least + LARGEST_INTEGER;
    return range;
}

static const struct array *draw_array(const struct array_shape *shape, struct assumption range,
                                      bool positive, uint64_t *state, struct arena *arena) {
    struct array *array = ARENA_NEW(arena, struct array);
    int64_t n = shape->n_elements;
    array->shape = shape;
    if (element_rows[shape->element].kind == NUMBER_REAL) {
        array->reals = ARENA_ARRAY(arena, double, n + 1);
        for (int64_t i = 0; i < n; i++)
            array->reals[i] = draw_real(state, positive);
        return array;
    }
    bool truths = element_rows[shape->element].kind == NUMBER_TRUTH;
    uint64_t count = truths ? 2 : (uint64_t)(range.most - range.least) + 1;
    array->integers = ARENA_ARRAY(arena, int64_t, n + 1);
    for (int64_t i = 0; i < n; i++)
        array->integers[i] = (truths ? 0 : range.least) + (int64_t)(draw(state) % count);
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
    for (int manner = 0; manner < MANNERS && !is_too_large(pairing); manner++) {
        const struct array **wholes =
            ARENA_ARRAY(arena, const struct array *, pairing->n_parameters + 1);
        for (uint32_t i = 0; i < pairing->n_parameters; i++)
            wholes[i] = draw_array(pairing->parameters[i].shape, range_of(assumptions, i), manner,
                                   &state, arena);
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
