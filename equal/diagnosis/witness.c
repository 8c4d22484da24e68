// Inputs drawn at random in several manners, until one shows a difference: reals of either sign, positive ones, which make
// numbers where others make none, and larger ones; integers among those that are assumed, or small ones, evenly or at
// their bounds, where what is masked or clamped lies, or among all that types of few bits have, where these wrap around.
#include "equal/diagnosis/witness.h"

#include <math.h>

enum { LARGEST_INTEGER = 4 };

static const struct manner {
    bool positive, at_bounds;
    bool wide; // all that types of few bits have; passed over where there are no such integers
    double size;
} manners[] = {
    {.size = 1},
    {.size = 1, .at_bounds = true},
    {.size = 1, .positive = true},
    {.size = 1, .at_bounds = true, .wide = true},
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

// Whether it has integers of so few bits that they wrap around. More bits hold whatever programs count with them: of these
// most are of no use as what they are meant for, as rows of a table.
static bool wraps(enum element element) {
    return element_is_integer(element) && element_rows[element].bits < COUNTING_BITS;
}

static int64_t draw_integer(uint64_t *state, int64_t least, uint64_t count, bool at_bounds) {
    uint64_t drawn = draw(state);
    if (at_bounds && (drawn >> 32) % 2)
        return least + (int64_t)(drawn >> 33 & 1 ? count - 1 : 0);
    return least + (int64_t)(drawn % count);
}

// Where the least is not said but the largest is, negative ones are drawn, too: they are masked.
static void close_range(struct assumption *range) {
    if (range->least == INT64_MIN)
        range->least = range->most < 0            ? range->most - LARGEST_INTEGER
                       : range->most == INT64_MAX ? 0
                                                  : -1;
    if (range->most == INT64_MAX)
        range->most = range->least + LARGEST_INTEGER;
}

// The numbers of the type that are within the range; where there are none it stays.
static void clip_to_type(struct assumption *range, enum element element) {
    int64_t least, most;
    element_range(element, &least, &most);
    if (range->most < least || range->least > most)
        return;
    if (range->least < least)
        range->least = least;
    if (range->most > most)
        range->most = most;
}

static struct assumption range_of(const struct assumptions *assumptions, uint32_t parameter,
                                  enum element element, bool wide) {
    struct assumption range = {.least = INT64_MIN, .most = INT64_MAX};
    for (uint32_t i = 0; i < assumptions->n; i++)
        if (assumptions->of[i].parameter == parameter)
            range = assumptions->of[i];
    if (wide && wraps(element))
        clip_to_type(&range, element);
    close_range(&range);
    if (wraps(element))
        clip_to_type(&range, element);
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

static bool any_wraps(const struct pairing *pairing) {
    for (uint32_t i = 0; i < pairing->n_parameters; i++)
        if (wraps(pairing->parameters[i].shape->element))
            return true;
    return false;
}

enum infinity { FINITE, MINUS_INFINITY, PLUS_INFINITY, NO_NUMBER };

static enum infinity infinity_of(const struct literal *literal) {
    enum infinity of = FINITE;
    for (int64_t n = 0; literal && literal->reals && n < literal->n; n++) {
        double number = literal->reals[n];
        enum infinity is = isfinite(number) ? FINITE
                           : isnan(number)  ? NO_NUMBER
                           : number < 0     ? MINUS_INFINITY
                                            : PLUS_INFINITY;
        if (is != FINITE)
            of = of == FINITE || of == is ? is : NO_NUMBER;
    }
    return of;
}

// Whether the operand changes nothing, as one does with which a fold begins, or from which the larger one is taken.
static bool is_neutral(const struct graph *graph, const struct instruction *by, uint32_t operand,
                       enum infinity is) {
    enum primitive primitive = by->primitive;
    if (primitive == PRIM_REDUCE || primitive == PRIM_REDUCE_WINDOW) {
        const struct computation *region = &graph->computations[by->attributes->called[0]];
        if (operand < by->n_operands / 2)
            return false;
        primitive = region->instructions[region->root].primitive;
    }
    return primitive == PRIM_MAXIMUM   ? is == MINUS_INFINITY
           : primitive == PRIM_MINIMUM ? is == PLUS_INFINITY
                                       : false;
}

static bool has_zero(const struct literal *literal) {
    bool has = false;
    for (int64_t n = 0; literal && n < literal->n; n++)
        has |= literal->reals ? literal->reals[n] == 0 : literal->integers[n] == 0;
    return has;
}

// Whether an operand is a number that the program writes, or the same as another type or in other places.
static bool repeats(const struct instruction *by) {
    return by->primitive == PRIM_BROADCAST || by->primitive == PRIM_RESHAPE ||
           by->primitive == PRIM_CONVERT;
}

// Whether something is divided by a zero that the program writes: of reals it is infinite, or no number.
static bool divides_by_zero(const struct computation *of, struct arena *arena) {
    bool *is_zero = ARENA_ARRAY(arena, bool, of->n + 1);
    for (uint32_t i = 0; i < of->n; i++) {
        const struct instruction *by = &of->instructions[i];
        bool is_real = !by->shape->is_tuple && element_rows[by->shape->element].kind == NUMBER_REAL;
        is_zero[i] = has_zero(by->attributes->literal) ||
                     (by->n_operands == 1 && repeats(by) && is_zero[by->operands[0]]);
        if ((by->primitive == PRIM_DIVIDE || by->primitive == PRIM_REMAINDER) && is_real &&
            is_zero[by->operands[1]])
            return true;
    }
    return false;
}

// Whether something is made of a number that is infinite, or none, as a mask is that is added or chosen.
static bool uses_infinities(const struct graph *graph, const struct computation *of,
                            struct arena *arena) {
    enum infinity *is = ARENA_ARRAY(arena, enum infinity, of->n + 1);
    if (divides_by_zero(of, arena))
        return true;
    for (uint32_t i = 0; i < of->n; i++) {
        const struct instruction *by = &of->instructions[i];
        is[i] = infinity_of(by->attributes->literal);
        for (uint32_t k = 0; k < by->n_operands; k++) {
            enum infinity operand = is[by->operands[k]];
            if (operand == FINITE || is_neutral(graph, by, k, operand))
                continue;
            if (by->primitive != PRIM_BROADCAST && by->primitive != PRIM_RESHAPE)
                return true;
            is[i] = operand;
        }
    }
    return is[of->root] != FINITE;
}

static bool writes_infinities(const struct graph *graph, struct arena *arena) {
    for (uint32_t i = 0; i < graph->n_computations; i++)
        if (uses_infinities(graph, &graph->computations[i], arena))
            return true;
    return false;
}

struct witness find_witness(const struct pairing *pairing, const struct graph *one,
                            const struct graph *many, const struct assumptions *assumptions,
                            struct observer *const *observers, struct arena *arena) {
    struct witness witness = {.kind = WITNESS_NONE, .why = "the arrays are too large"};
    uint64_t state = 1;
    bool fits = !is_too_large(pairing);
    witness.infinities = writes_infinities(one, arena) || writes_infinities(many, arena);
    for (size_t manner = 0; manner < sizeof manners / sizeof *manners && fits; manner++) {
        bool wide = manners[manner].wide;
        if (wide && !any_wraps(pairing))
            continue;
        const struct array **wholes =
            ARENA_ARRAY(arena, const struct array *, pairing->n_parameters + 1);
        for (uint32_t i = 0; i < pairing->n_parameters; i++) {
            const struct array_shape *shape = pairing->parameters[i].shape;
            struct assumption range = range_of(assumptions, i, shape->element, wide);
            wholes[i] = draw_array(shape, range, &manners[manner], &state, arena);
        }
        struct comparison comparison = {0};
        if (!compare_programs(pairing, one, many, wholes, observers, arena, &comparison)) {
            if (wide) // as where it says how many turns a loop has
                continue;
            witness.why = comparison.why;
            return witness;
        }
        // Two numbers show more than a number and none.
        witness.difference = comparison.greatest_finite.relative > LEAST_DIFFERENCE
                                 ? comparison.greatest_finite
                                 : comparison.greatest;
        witness.relative = comparison.relative;
        // What is no number because others became too large, or were negative, shows nothing.
        if (isinf(comparison.greatest.relative) && !manners[manner].positive &&
            (!witness.infinities || manners[manner].size > 1 || wide))
            continue;
        witness.kind =
            comparison.greatest.relative > LEAST_DIFFERENCE ? WITNESS_DIFFERENT : WITNESS_SAME;
        if (witness.kind == WITNESS_DIFFERENT)
            return witness;
    }
    if (witness.kind == WITNESS_NONE && witness.difference.index)
        witness.why = "they make numbers that are none";
    return witness;
}
