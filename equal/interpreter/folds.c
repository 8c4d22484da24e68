// Folds: elements combined over dimensions, by products and sums or by a region; and maps, which combine those at one
// place.
#include "equal/interpreter/operations.h"
#include "equal/interpreter/pointwise.h"
#include "equal/interpreter/region.h"
#include "equal/interpreter/walk.h"

// ---- dot ----

// Where the elements of one operand of a product lie: the sum of three parts.
struct factor {
    struct offsets batch, free, contracting;
};

static struct factor factor_of(const struct array_shape *shape, struct number_list batch,
                               struct number_list contracting, struct arena *arena) {
    struct number_list free = dimensions_beside(shape->rank, batch, contracting, arena);
    return (struct factor){offsets_over(shape, batch, arena), offsets_over(shape, free, arena),
                           offsets_over(shape, contracting, arena)};
}

// One row of the result: of one free index of the left operand, all of the right one.
struct product_row {
    const struct factor *left, *right;
    int64_t batch, row, to;
};

static void multiply_reals(struct product_row at, const struct array *const *in,
                           struct array *out) {
    const int64_t *free = at.right->free.of;
    int64_t n = at.right->free.n;
    double *to = out->reals + at.to;
    for (int64_t k = 0; k < at.left->contracting.n; k++) {
        double factor = in[0]->reals[at.left->batch.of[at.batch] + at.left->free.of[at.row] +
                                     at.left->contracting.of[k]];
        const double *from =
            in[1]->reals + at.right->batch.of[at.batch] + at.right->contracting.of[k];
        for (int64_t j = 0; j < n; j++)
            to[j] += factor * from[free[j]];
    }
}

static void multiply_integers(struct product_row at, const struct array *const *in,
                              struct array *out) {
    const int64_t *free = at.right->free.of;
    for (int64_t j = 0; j < at.right->free.n; j++) {
        uint64_t sum = 0;
        for (int64_t k = 0; k < at.left->contracting.n; k++) {
            int64_t left =
                at.left->batch.of[at.batch] + at.left->free.of[at.row] + at.left->contracting.of[k];
            int64_t right = at.right->batch.of[at.batch] + free[j] + at.right->contracting.of[k];
            sum += (uint64_t)in[0]->integers[left] * (uint64_t)in[1]->integers[right];
        }
        if (out->reals)
            out->reals[at.to + j] = (double)(int64_t)sum;
        else
            out->integers[at.to + j] = wrap_integer(out->shape->element, (int64_t)sum);
    }
}

int64_t dot_products(const struct instruction *instruction, const struct array_shape *left) {
    struct number_list contracting = instruction->attributes->left_contracting;
    int64_t n = instruction->shape->n_elements;
    for (uint32_t i = 0; i < contracting.n; i++)
        if (__builtin_mul_overflow(n, left->sizes[contracting.of[i]], &n))
            return INT64_MAX;
    return n;
}

void execute_dot(struct machine *machine, const struct instruction *instruction,
                 const struct array *const *in, struct array *out) {
    if (!machine_spend(machine, dot_products(instruction, in[0]->shape)))
        return;
    const struct instruction_attributes *attributes = instruction->attributes;
    struct arena *arena = &machine->scratch;
    struct factor left =
        factor_of(in[0]->shape, attributes->left_batch, attributes->left_contracting, arena);
    struct factor right =
        factor_of(in[1]->shape, attributes->right_batch, attributes->right_contracting, arena);
    struct product_row at = {&left, &right, 0, 0, 0};
    for (at.batch = 0; at.batch < left.batch.n; at.batch++)
        for (at.row = 0; at.row < left.free.n; at.row++, at.to += right.free.n)
            if (in[0]->reals)
                multiply_reals(at, in, out);
            else
                multiply_integers(at, in, out);
}

// ---- reduce, map ----

static struct array *result_at(struct array *out, uint32_t i) {
    return out->shape->is_tuple ? out->members[i] : out;
}

// What a reduction has in common for all of its results.
struct reduction {
    const struct region *region;
    const struct array *const *in; // arrays, then a start for each
    uint32_t n;                    // of arrays
    struct offsets kept, reduced;
};

// The results from `first` on, a lane each.
static void reduce_lanes(struct machine *machine, const struct reduction *by, int64_t first,
                         int64_t lanes, struct array *out) {
    struct array *const *parameters = by->region->parameters;
    for (uint32_t i = 0; i < by->n; i++)
        for (int64_t lane = 0; lane < lanes; lane++)
            array_set(parameters[i], lane, by->in[by->n + i], 0);
    for (int64_t k = 0; k < by->reduced.n; k++) {
        for (uint32_t i = 0; i < by->n; i++)
            for (int64_t lane = 0; lane < lanes; lane++)
                array_set(parameters[by->n + i], lane, by->in[i],
                          by->kept.of[first + lane] + by->reduced.of[k]);
        region_execute(machine, by->region, lanes);
        for (uint32_t i = 0; i < by->n; i++)
            for (int64_t lane = 0; lane < lanes; lane++)
                array_set(parameters[i], lane, by->region->results[i], lane);
    }
    for (uint32_t i = 0; i < by->n; i++)
        for (int64_t lane = 0; lane < lanes; lane++)
            array_set(result_at(out, i), first + lane, parameters[i], lane);
}

void execute_reduce(struct machine *machine, const struct instruction *instruction,
                    const struct array *const *in, struct array *out) {
    struct number_list reduced = instruction->attributes->dimensions, none = {0};
    const struct array_shape *shape = in[0]->shape;
    struct arena *arena = &machine->scratch;
    const struct region *region = region_of(machine, instruction->attributes->called[0]);
    if (!region)
        return;
    struct number_list kept = dimensions_beside(shape->rank, reduced, none, arena);
    struct reduction by = {region, in, instruction->n_operands / 2,
                           offsets_over(shape, kept, arena), offsets_over(shape, reduced, arena)};
    for (int64_t first = 0; first < by.kept.n && !machine->why; first += REGION_LANES) {
        int64_t left = by.kept.n - first;
        reduce_lanes(machine, &by, first, left < REGION_LANES ? left : REGION_LANES, out);
    }
}

void execute_map(struct machine *machine, const struct instruction *instruction,
                 const struct array *const *in, struct array *out) {
    const struct region *region = region_of(machine, instruction->attributes->called[0]);
    if (!region)
        return;
    for (int64_t first = 0; first < out->shape->n_elements; first += REGION_LANES) {
        int64_t left = out->shape->n_elements - first;
        int64_t lanes = left < REGION_LANES ? left : REGION_LANES;
        for (uint32_t i = 0; i < instruction->n_operands; i++)
            for (int64_t lane = 0; lane < lanes; lane++)
                array_set(region->parameters[i], lane, in[i], first + lane);
        region_execute(machine, region, lanes);
        for (int64_t lane = 0; lane < lanes; lane++)
            array_set(out, first + lane, region->results[0], lane);
    }
}
