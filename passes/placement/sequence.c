// See sequence.h.
#include "passes/placement/sequence.h"

#include <inttypes.h>

#include "ir/diagnostic.h"
#include "passes/placement/work.h"

// Two on every device.
int64_t ring_chunks(const struct placing *p) {
    const struct axis_list *ring = &p->placement->ring;
    return ring->n ? 2 * mesh_group_size(&p->config->mesh, ring) : 1;
}

// The least number of which `number` and the parts of the sequence in this scope are divisors.
static int64_t common_multiple(const struct placing *p, int64_t number,
                               const struct selector *scope) {
    struct axis_list cuts = work_cuts_of_kept_in_scope(p->placement, scope, DIM_SEQUENCE);
    int64_t parts = mesh_group_size(&p->config->mesh, &cuts), multiple = number;
    while (multiple % parts)
        multiple += number;
    return multiple;
}

// One length does for all statements together, and for the ring.
int64_t sequence_parts(const struct placing *p) {
    const struct strategy_config *strategy = &p->config->strategy;
    int64_t parts = ring_chunks(p);
    for (uint32_t s = 0; s < strategy->n_splits; s++)
        for (uint32_t i = 0; i < strategy->splits[s].n_dimensions; i++)
            if (strategy->splits[s].dimensions[i] == DIM_SEQUENCE)
                parts = common_multiple(p, parts, &strategy->splits[s].scope);
    for (uint32_t m = 0; m < strategy->n_modes; m++)
        if (cuts_activations(p, &strategy->modes[m]) &&
            strategy->modes[m].by_dimension == DIM_SEQUENCE)
            parts = common_multiple(p, parts, &strategy->modes[m].selector);
    return parts;
}

void propose_sequence(struct placing *p, struct diagnostic *d) {
    const struct train_config *train = &p->config->train;
    int64_t parts = sequence_parts(p), length = (train->sequence + parts - 1) / parts * parts;
    if (length > p->config->model.sequence_limit)
        length = train->sequence / parts * parts;
    if (length > 0 && train->sequence_origin.kind == ORIGIN_STATEMENT)
        diagnostic_edit(d, train->sequence_origin.span, "sequence = %" PRId64, length);
}
