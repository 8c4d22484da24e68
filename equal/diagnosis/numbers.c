// Numbers are looked up by their first nine digits: how sums are ordered changes the last ones, and what is drawn at
// random agrees in nine by a rare chance.
#include "equal/diagnosis/numbers.h"

#include <math.h>
#include <stdlib.h>

#include "verify/algebra/intern.h"

struct number_slot {
    double number; // zero: free
    uint32_t array;
    uint32_t element; // of an array of so few
};

enum {
    DIGITS = 30,            // binary ones that are compared
    MOST_NUMBERS = 1 << 23, // of the one device that are kept
    MOST_FACTORS = 64,      // that are tried
    MOST_FEW = 8,           // different numbers of a mask
    DYADIC = 1024,          // what times this is whole has been made of small numbers
};
static const double LARGEST_TELLING = 1e7, SMALL = 1e-6, EDGE = 0x1p-6;

// ---- numbers that tell ------------------------------------------------------------------------

int compare_numbers(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

bool numbers_tell(const struct numbers *s, double number) {
    double size = fabs(number);
    if (!(size < LARGEST_TELLING) || size * DYADIC == floor(size * DYADIC))
        return false;
    return s->n_common == 0 ||
           !bsearch(&size, s->common, s->n_common, sizeof size, compare_numbers);
}

static void add_constants(struct numbers *s, const struct graph *graph, uint32_t *cap) {
    for (uint32_t c = 0; c < graph->n_computations; c++)
        for (uint32_t i = 0; i < graph->computations[c].n; i++) {
            const struct literal *literal =
                graph->computations[c].instructions[i].attributes->literal;
            if (literal && literal->reals && literal->n == 1)
                ARENA_PUSH(s->arena, s->common, s->n_common, *cap, fabs(literal->reals[0]));
        }
}

static double least_of(const struct numbers *s, const struct traced *traced) {
    double largest = 0;
    for (uint32_t d = 0; traced->values && d < s->mesh->n_devices; d++) {
        const struct array *array = traced->values[d];
        for (int64_t i = 0; array && array->reals && i < array->shape->n_elements; i++) {
            double size = fabs(array->reals[i]);
            if (size < LARGEST_TELLING && size > largest)
                largest = size;
        }
    }
    return SMALL * largest;
}

// ---- the index --------------------------------------------------------------------------------

struct digits {
    int64_t of;
    int exponent;
};

static struct digits digits_of(double number, double shift) {
    struct digits digits;
    double fraction = frexp(number, &digits.exponent);
    digits.of = llround(ldexp(fraction, DIGITS) + shift);
    if (llabs(digits.of) == INT64_C(1) << DIGITS) {
        digits.of /= 2;
        digits.exponent++;
    }
    return digits;
}

static bool digits_equal(struct digits a, struct digits b) {
    return a.of == b.of && a.exponent == b.exponent;
}

static struct number_slot *slot_of(const struct numbers *s, struct digits digits) {
    uint64_t hash = ((uint64_t)digits.of << 12) ^ (uint64_t)(digits.exponent + 2048);
    hash *= UINT64_C(0x9e3779b97f4a7c15);
    for (uint64_t at = hash >> 20;; at++) {
        struct number_slot *slot = &s->slots[at & (s->n_slots - 1)];
        if (slot->number == 0 || digits_equal(digits_of(slot->number, 0), digits))
            return slot;
    }
}

static void add_array(struct numbers *s, uint32_t number) {
    const struct traced *traced = &s->one->arrays[number];
    const struct array *array = traced->values[0];
    for (int64_t i = 0; array->reals && i < array->shape->n_elements; i++) {
        s->has_none |= isnan(array->reals[i]);
        if (!numbers_tell(s, array->reals[i]))
            continue;
        struct number_slot *slot = slot_of(s, digits_of(array->reals[i], 0));
        if (slot->number == 0)
            *slot = (struct number_slot){array->reals[i], number, (uint32_t)i};
    }
}

static int64_t count_elements(const struct trace *trace) {
    int64_t n = 0;
    for (uint32_t i = 0; i < trace->n; i++) {
        const struct traced *traced = &trace->arrays[i];
        if (!traced->values)
            return MOST_NUMBERS + 1;
        n += traced->by->shape->is_tuple ? 0 : traced->by->shape->n_elements;
    }
    return n;
}

uint32_t *turns_of(const struct trace *trace, struct arena *arena) {
    uint32_t *next = ARENA_ARRAY(arena, uint32_t, trace->n + 1);
    uint32_t *last = ARENA_ARRAY(arena, uint32_t, trace->n + 1);
    struct intern makers = {.arena = arena};
    for (uint32_t i = 0; i < trace->n; i++) {
        bool added;
        uint32_t maker = intern(&makers, &trace->arrays[i].by, sizeof trace->arrays[i].by, &added);
        next[i] = added ? i : next[last[maker]];
        next[added ? i : last[maker]] = i;
        last[maker] = i;
    }
    return next;
}

bool numbers_init(struct numbers *s, const struct trace *one, const struct trace *many,
                  const struct device_mesh *mesh, struct arena *arena) {
    *s = (struct numbers){.one = one, .many = many, .mesh = mesh, .arena = arena};
    s->devices = ARENA_ARRAY(arena, uint32_t, mesh->n_devices);
    s->turns = turns_of(many, arena);
    int64_t n = count_elements(one);
    uint32_t cap = 0;
    if (n > MOST_NUMBERS)
        return false;
    add_constants(s, one->graph, &cap);
    add_constants(s, many->graph, &cap);
    if (s->n_common)
        qsort(s->common, s->n_common, sizeof *s->common, compare_numbers);
    for (s->n_slots = 64; s->n_slots < 2 * (uint64_t)n;)
        s->n_slots *= 2;
    s->slots = ARENA_ARRAY(arena, struct number_slot, s->n_slots);
    for (uint32_t i = 0; i < one->n; i++)
        add_array(s, i);
    return true;
}

// Near the edge between two the digits may be either's.
struct origin numbers_origin(const struct numbers *s, double number) {
    for (int side = -1; side <= 1; side += 2) {
        const struct number_slot *slot = slot_of(s, digits_of(number, side * EDGE));
        if (slot->number != 0)
            return (struct origin){slot->array, slot->element};
    }
    return (struct origin){NOWHERE, 0};
}

// ---- arrays of the many -----------------------------------------------------------------------

// The devices that lie along axes of the mesh from one on, at most all.
struct group {
    uint32_t *of;
    uint32_t n;
};

// False: the device is not the first along the axes.
static bool group_of(const struct numbers *s, uint32_t device, uint64_t axes, struct group *group) {
    group->n = 0;
    group->of[group->n++] = device;
    for (uint32_t a = 0; a < s->mesh->n_axes; a++) {
        uint32_t stride = (uint32_t)mesh_stride(s->mesh, a), size = (uint32_t)s->mesh->axes[a].size;
        if (!(axes >> a & 1))
            continue;
        if (device / stride % size)
            return false;
        for (uint32_t i = 0, n = group->n; i < n; i++)
            for (uint32_t k = 1; k < size; k++)
                group->of[group->n++] = group->of[i] + k * stride;
    }
    return true;
}

static double sum_at(const struct traced *traced, const struct group *group, int64_t at) {
    double sum = 0;
    for (uint32_t i = 0; i < group->n; i++)
        sum += traced->values[group->of[i]]->reals[at];
    return sum;
}

// Whether all turns of the loop that makes the array have made it, on devices where one has.
static bool has_turns(const struct numbers *s, const struct traced *traced) {
    uint32_t at = (uint32_t)(traced - s->many->arrays);
    for (uint32_t turn = s->turns[at]; turn != at; turn = s->turns[turn]) {
        const struct traced *other = &s->many->arrays[turn];
        for (uint32_t d = 0; d < s->mesh->n_devices; d++)
            if (!other->values || !traced->values || !other->values[d] != !traced->values[d])
                return false;
    }
    return s->turns[at] != at;
}

// What a device has made at all turns of a loop is their sum: as an array like that of one turn.
static struct traced summed_over_turns(const struct numbers *s, const struct traced *traced,
                                       struct arena *arena) {
    uint32_t at = (uint32_t)(traced - s->many->arrays);
    struct traced sum = *traced;
    const struct array **values = ARENA_ARRAY(arena, const struct array *, s->mesh->n_devices);
    for (uint32_t d = 0; d < s->mesh->n_devices; d++) {
        const struct array *own = traced->values[d];
        if (!own || !own->reals)
            continue;
        struct array *made = arena_copy(arena, own, sizeof *own);
        made->reals =
            arena_copy(arena, own->reals, (size_t)own->shape->n_elements * sizeof(double));
        for (uint32_t turn = s->turns[at]; turn != at; turn = s->turns[turn])
            for (int64_t i = 0; i < own->shape->n_elements; i++)
                made->reals[i] += s->many->arrays[turn].values[d]->reals[i];
        values[d] = made;
    }
    sum.values = values;
    return sum;
}

enum soundness numbers_ask(const struct numbers *s, const struct traced *traced, uint64_t axes,
                           number_asked *asked, void *with) {
    struct group group = {s->devices, 0};
    enum soundness state = STATE_OPEN;
    double least = least_of(s, traced);
    for (uint32_t d = 0; traced->values && d < s->mesh->n_devices; d++) {
        const struct array *array = traced->values[d];
        if (!array || !array->reals || !group_of(s, d, axes, &group))
            continue;
        for (uint32_t i = 0; i < group.n; i++)
            if (!traced->values[group.of[i]])
                return STATE_OPEN;
        for (int64_t i = 0; i < array->shape->n_elements; i++) {
            double number = sum_at(traced, &group, i);
            if (isnan(number) && !s->has_none)
                return STATE_WRONG;
            if (fabs(number) < least || !numbers_tell(s, number))
                continue;
            if (!asked(with, number))
                return STATE_WRONG;
            state = STATE_KNOWN;
        }
    }
    return state;
}

// Whether one device has a number, times a factor.
struct scaled_number {
    const struct numbers *of;
    double factor;
};

static bool is_known(void *with, double number) {
    const struct scaled_number *scaled = with;
    return numbers_origin(scaled->of, number * scaled->factor).array != NOWHERE;
}

static enum soundness say_scaled(const struct numbers *s, const struct traced *traced,
                                 uint64_t axes, double factor) {
    struct scaled_number scaled = {s, factor};
    return numbers_ask(s, traced, axes, is_known, &scaled);
}

// Whether devices along the axis have the same.
static bool is_uniform(const struct numbers *s, const struct traced *traced, uint32_t axis) {
    struct group group = {s->devices, 0};
    for (uint32_t d = 0; d < s->mesh->n_devices; d++) {
        const struct array *array = traced->values[d];
        if (!array || !group_of(s, d, UINT64_C(1) << axis, &group))
            continue;
        for (int64_t i = 0; i < array->shape->n_elements; i++)
            for (uint32_t k = 1; k < group.n; k++)
                if (!traced->values[group.of[k]] ||
                    !numbers_alike(traced->values[group.of[k]]->reals[i], array->reals[i]))
                    return false;
    }
    return true;
}

static bool is_share(const struct numbers *s, const struct traced *traced, uint64_t axes) {
    for (uint32_t a = 0; a < s->mesh->n_axes; a++)
        if (axes >> a & 1 && s->mesh->axes[a].size > 1 && is_uniform(s, traced, a))
            return true;
    return false;
}

// Whether the sum over the turns of its loop, and over axes, is one of the one device's, or, as of means, so many times one.
static bool is_turn(const struct numbers *s, const struct traced *traced) {
    struct arena arena = {0};
    bool is = false;
    if (!traced->values || traced->by->shape->is_tuple || !has_turns(s, traced))
        return false;
    struct traced sum = summed_over_turns(s, traced, &arena);
    double n_turns = 1;
    uint32_t at = (uint32_t)(traced - s->many->arrays);
    for (uint32_t turn = s->turns[at]; turn != at; turn = s->turns[turn])
        n_turns++;
    for (uint64_t axes = 0; axes < UINT64_C(1) << s->mesh->n_axes && !is; axes++) {
        double size = 1;
        for (uint32_t a = 0; a < s->mesh->n_axes; a++)
            size *= axes >> a & 1 ? (double)s->mesh->axes[a].size : 1;
        is = say_scaled(s, &sum, axes, 1) == STATE_KNOWN ||
             say_scaled(s, &sum, axes, 1 / n_turns) == STATE_KNOWN ||
             say_scaled(s, &sum, axes, 1 / size) == STATE_KNOWN ||
             say_scaled(s, &sum, axes, 1 / (size * n_turns)) == STATE_KNOWN;
    }
    arena_free(&arena);
    return is;
}

struct seen numbers_say(const struct numbers *s, const struct traced *traced) {
    enum soundness own = say_scaled(s, traced, 0, 1);
    if (own != STATE_WRONG)
        return (struct seen){own, 0};
    for (uint64_t axes = 1; axes < UINT64_C(1) << s->mesh->n_axes; axes++)
        if (say_scaled(s, traced, axes, 1) == STATE_KNOWN)
            return (struct seen){is_share(s, traced, axes) ? STATE_SHARE : STATE_SUMMAND, axes};
    return (struct seen){is_turn(s, traced) ? STATE_TURN : STATE_WRONG, 0};
}

// ---- factors ----------------------------------------------------------------------------------

struct quotient {
    int64_t numerator, denominator;
};

// Those that come of collectives: numbers of devices along axes, and signs.
static uint32_t list_factors(const struct numbers *s, struct quotient *factors) {
    uint32_t n = 0;
    factors[n++] = (struct quotient){-1, 1};
    factors[n++] = (struct quotient){2, 1};
    factors[n++] = (struct quotient){1, 2};
    for (uint64_t axes = 1; axes < UINT64_C(1) << s->mesh->n_axes && n + 4 <= MOST_FACTORS;
         axes++) {
        int64_t size = 1;
        for (uint32_t a = 0; a < s->mesh->n_axes; a++)
            size *= axes >> a & 1 ? s->mesh->axes[a].size : 1;
        factors[n++] = (struct quotient){size, 1};
        factors[n++] = (struct quotient){1, size};
        factors[n++] = (struct quotient){size * size, 1};
        factors[n++] = (struct quotient){1, size * size};
    }
    return n;
}

bool numbers_factor(const struct numbers *s, const struct traced *traced, int64_t *numerator,
                    int64_t *denominator) {
    struct quotient factors[MOST_FACTORS];
    uint32_t n = list_factors(s, factors);
    for (uint32_t i = 0; i < n; i++) {
        double inverse = (double)factors[i].denominator / (double)factors[i].numerator;
        if (say_scaled(s, traced, 0, inverse) != STATE_KNOWN)
            continue;
        *numerator = factors[i].numerator;
        *denominator = factors[i].denominator;
        return true;
    }
    return false;
}

// The different numbers of an array that has few of them, zero aside.
struct few_numbers {
    double of[MOST_FEW];
    uint32_t n;
};

static bool has_few(const struct few_numbers *few, double number, double factor) {
    for (uint32_t i = 0; i < few->n; i++)
        if (numbers_alike(few->of[i] * factor, number))
            return true;
    return false;
}

// False: it has more, or some that are infinite or none.
static bool list_few(const struct array *array, struct few_numbers *few) {
    for (int64_t i = 0; i < array->shape->n_elements; i++) {
        double number = array->reals[i];
        if (number == 0 || has_few(few, number, 1))
            continue;
        if (!isfinite(number) || few->n == MOST_FEW)
            return false;
        few->of[few->n++] = number;
    }
    return true;
}

static bool list_few_of_all(const struct traced *traced, uint32_t n_devices,
                            struct few_numbers *few) {
    for (uint32_t d = 0; traced->values && d < n_devices; d++)
        if (traced->values[d] && (!traced->values[d]->reals || !list_few(traced->values[d], few)))
            return false;
    return few->n > 0;
}

static bool is_multiple(const struct few_numbers *found, const struct few_numbers *expected,
                        double factor) {
    if (found->n != expected->n)
        return false;
    for (uint32_t i = 0; i < found->n; i++)
        if (!has_few(expected, found->of[i], factor))
            return false;
    return true;
}

bool numbers_factor_of(const struct numbers *s, const struct traced *many, const struct traced *one,
                       int64_t *numerator, int64_t *denominator) {
    struct quotient factors[MOST_FACTORS];
    struct few_numbers found = {.n = 0}, expected = {.n = 0};
    if (!list_few_of_all(many, s->mesh->n_devices, &found) || !list_few_of_all(one, 1, &expected) ||
        is_multiple(&found, &expected, 1))
        return false;
    uint32_t n = list_factors(s, factors);
    for (uint32_t i = 0; i < n; i++) {
        if (!is_multiple(&found, &expected,
                         (double)factors[i].numerator / (double)factors[i].denominator))
            continue;
        *numerator = factors[i].numerator;
        *denominator = factors[i].denominator;
        return true;
    }
    return false;
}
