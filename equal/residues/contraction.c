// The order in which dimensions are summed over, and the products; see contraction.h.
#include "equal/residues/contraction.h"

#include <string.h>

#include "equal/residues/elements.h"

// ---- the order --------------------------------------------------------------------------------

// A dimension that is summed over, all dimensions of the factors that have it, and these.
struct meeting {
    uint32_t dimension;
    uint64_t dimensions;
    uint32_t *factors, n;
};

static int64_t n_in(const struct walked *walked, uint64_t dimensions) {
    int64_t n = 1;
    for (uint32_t d = 0; d < walked->n; d++)
        if (dimensions >> d & 1 && __builtin_mul_overflow(n, walked->sizes[d], &n))
            return INT64_MAX;
    return n;
}

static uint64_t dimensions_met(const struct contraction *x, uint32_t dimension) {
    uint64_t met = UINT64_C(1) << dimension;
    for (uint32_t i = 0; i < x->n; i++)
        if (x->has[i] >> dimension & 1)
            met |= x->has[i];
    return met;
}

// That with the fewest places. False: nothing is left to be summed over.
static bool next_meeting(const struct contraction *x, struct meeting *meeting) {
    int64_t fewest = INT64_MAX;
    bool any = false;
    for (uint32_t d = 0; d < x->walked->n; d++) {
        if (!(x->folded >> d & 1))
            continue;
        uint64_t met = dimensions_met(x, d);
        int64_t n = n_in(x->walked, met);
        if (any && n >= fewest)
            continue;
        any = true;
        fewest = n;
        meeting->dimension = d;
        meeting->dimensions = met;
    }
    meeting->n = 0;
    for (uint32_t i = 0; any && i < x->n; i++)
        if (x->has[i] >> meeting->dimension & 1)
            meeting->factors[meeting->n++] = i;
    return any;
}

static bool is_met(const struct meeting *meeting, uint32_t factor) {
    for (uint32_t k = 0; k < meeting->n; k++)
        if (meeting->factors[k] == factor)
            return true;
    return false;
}

static uint64_t dimensions_left(const struct meeting *meeting) {
    return meeting->dimensions & ~(UINT64_C(1) << meeting->dimension);
}

// Puts the last of the factors, which those that met have become, in their place. `readers` may be NULL.
static void end_meeting(struct contraction *x, const struct meeting *meeting,
                        struct reader *readers, const struct reader *become) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < x->n; i++) {
        if (is_met(meeting, i))
            continue;
        if (readers)
            readers[n] = readers[i];
        x->has[n++] = x->has[i];
    }
    if (readers)
        readers[n] = *become;
    x->has[n++] = dimensions_left(meeting);
    x->n = n;
    x->folded &= ~(UINT64_C(1) << meeting->dimension);
}

static int64_t with_steps(int64_t steps, int64_t places, uint32_t n_read) {
    int64_t n;
    return __builtin_mul_overflow(places, (int64_t)n_read, &n) ||
                   __builtin_add_overflow(n, steps, &n)
               ? INT64_MAX
               : n;
}

static uint64_t all_dimensions(const struct walked *walked) {
    return (UINT64_C(1) << walked->n) - 1;
}

int64_t contraction_steps(struct contraction *x, struct arena *arena) {
    struct meeting meeting = {.factors = ARENA_ARRAY(arena, uint32_t, x->n + 1)};
    uint64_t made = all_dimensions(x->walked) & ~x->folded;
    int64_t steps = 0;
    while (next_meeting(x, &meeting)) {
        steps = with_steps(steps, n_in(x->walked, meeting.dimensions), meeting.n + 1);
        end_meeting(x, &meeting, NULL, NULL);
    }
    return with_steps(steps, n_in(x->walked, made), x->n + 1);
}

// ---- products ---------------------------------------------------------------------------------

// Some of the dimensions, as what is walked through. The first is walked through last.
struct part_walked {
    struct walked walked;
    uint32_t of[MAX_DIMENSIONS]; // the dimension of the whole
};

static void add_dimension(struct part_walked *part, const struct walked *whole, uint32_t d) {
    part->of[part->walked.n] = d;
    part->walked.sizes[part->walked.n++] = whole->sizes[d];
}

static struct reader reader_along(const struct reader *reader, const struct part_walked *part) {
    struct reader along = *reader;
    memset(along.added, 0, sizeof along.added);
    for (uint32_t d = 0; d < part->walked.n; d++)
        along.added[d] = reader->added[part->of[d]];
    return along;
}

// The products of the factors at all places of some dimensions, the last `n_summed` of which are summed over.
static void multiply_along(const struct part_walked *part, uint32_t n_summed,
                           const struct field *field, const struct reader *factors, uint32_t n,
                           uint64_t *made, struct arena *arena) {
    struct places_read at;
    int64_t n_each = 1, left = 0, place = -1;
    for (uint32_t d = part->walked.n - n_summed; d < part->walked.n; d++)
        n_each *= part->walked.sizes[d];
    places_begin(&at, &part->walked, factors, n, arena);
    do {
        uint64_t product = 1;
        for (uint32_t i = 0; i < n; i++)
            product = element_product(field, product, places_value(&at, field, i));
        if (left == 0) {
            left = n_each;
            made[++place] = 0;
        }
        left--;
        made[place] = element_sum(field, made[place], product);
    } while (places_next(&at));
}

// What those that meet become.
static struct reader meet(struct contraction *x, const struct meeting *meeting,
                          const struct field *field, const struct reader *readers,
                          struct arena *arena) {
    struct part_walked part = {.walked = {.n = 0}};
    struct reader *factors = ARENA_ARRAY(arena, struct reader, meeting->n + 1);
    struct reader become = {.scale = 1, .sign = 1};
    uint64_t left = dimensions_left(meeting);
    for (uint32_t d = 0; d < x->walked->n; d++)
        if (left >> d & 1)
            add_dimension(&part, x->walked, d);
    int64_t stride = become.n_values = n_in(x->walked, left);
    for (uint32_t k = 0; k < part.walked.n; k++) {
        int64_t size = part.walked.sizes[k];
        stride /= size;
        int64_t *added = become.added[part.of[k]] = ARENA_ARRAY(arena, int64_t, (size_t)size);
        for (int64_t i = 0; i < size; i++)
            added[i] = i * stride;
    }
    add_dimension(&part, x->walked, meeting->dimension);
    for (uint32_t k = 0; k < meeting->n; k++)
        factors[k] = reader_along(&readers[meeting->factors[k]], &part);
    uint64_t *made = ARENA_ARRAY(arena, uint64_t, (size_t)become.n_values);
    multiply_along(&part, 1, field, factors, meeting->n, made, arena);
    become.values = made;
    return become;
}

void contract_factors(struct contraction *x, const struct field *field, struct reader *readers,
                      uint64_t *made, struct arena *arena) {
    struct meeting meeting = {.factors = ARENA_ARRAY(arena, uint32_t, x->n + 1)};
    struct part_walked part = {.walked = {.n = 0}};
    uint64_t kept = all_dimensions(x->walked) & ~x->folded;
    while (next_meeting(x, &meeting)) {
        struct reader become = meet(x, &meeting, field, readers, arena);
        end_meeting(x, &meeting, readers, &become);
    }
    for (uint32_t d = 0; d < x->walked->n; d++)
        if (kept >> d & 1)
            add_dimension(&part, x->walked, d);
    for (uint32_t i = 0; i < x->n; i++)
        readers[i] = reader_along(&readers[i], &part);
    multiply_along(&part, 0, field, readers, x->n, made, arena);
}
