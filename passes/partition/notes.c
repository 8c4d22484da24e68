// Partition, notes: the moments at which hops are looked for; see moments.h.
#include "passes/partition/partition.h"

static uint32_t number_of(const struct partitioner *p, const struct way *way) {
    return (uint32_t)(way - p->ways);
}

void begin_notes(struct partitioner *p) {
    if (!p->notes)
        return;
    uint32_t n = 2 * p->placement.n_ranges * p->placement.n_tensors;
    p->notes->n_ways = n;
    p->notes->ways = ARENA_ARRAY(p->arena, struct noted_way, n + 1);
    for (uint32_t i = 0; i < n; i++)
        p->notes->ways[i].reference = p->ways[i].reference;
}

void note_reads(struct partitioner *p, const struct way *way, enum step_kind step, bool read_once) {
    if (p->notes)
        p->notes->ways[number_of(p, way)].read_once[step] = read_once;
}

void note_left(struct partitioner *p, const struct way *way, uint64_t left) {
    if (p->notes)
        p->notes->ways[number_of(p, way)].left = left;
}

// One without chances is forgotten.
void note_moment(struct partitioner *p, struct cursor at, uint32_t kinds, bool squares) {
    struct notes *notes = p->notes;
    if (!notes)
        return;
    struct noted_moment moment = {
        .step = at.kind, .times = at.trips, .kinds = kinds, .squares = squares};
    if (notes->n_moments && notes->moments[notes->n_moments - 1].n_chances == 0)
        notes->moments[notes->n_moments - 1] = moment;
    else
        ARENA_PUSH(p->arena, notes->moments, notes->n_moments, notes->cap_moments, moment);
}

void note_chance(struct partitioner *p, const struct way *way, struct chance chance) {
    struct notes *notes = p->notes;
    if (!notes)
        return;
    struct noted_moment *moment = &notes->moments[notes->n_moments - 1];
    chance.way = number_of(p, way);
    moment->phase = p->reference->job->units[chance.unit].phase;
    ARENA_PUSH(p->arena, moment->chances, moment->n_chances, moment->cap_chances, chance);
}

void note_sum(struct partitioner *p, buffer_id sum) {
    if (p->notes)
        ARENA_PUSH(p->arena, p->notes->sums, p->notes->n_sums, p->notes->cap_sums, sum);
}

static bool is_gradient(uint32_t way) {
    return way % 2;
}

// What units have left of gradients, and what is summed in pairs, is known by now.
void end_notes(struct partitioner *p) {
    struct notes *notes = p->notes;
    if (!notes)
        return;
    notes->program = p->program;
    notes->reference = arena_copy(p->arena, p->reference, sizeof *p->reference);
    notes->works = ARENA_ARRAY(p->arena, bool, p->program->job->n_units + 1);
    for (uint32_t u = 0; u < p->reference->job->n_units; u++)
        for (const struct unit_use *use = p->uses[u]; use; use = use->before)
            notes->works[use->unit] = p->reference->job->units[u].phase != PHASE_UPDATE;
    for (uint32_t i = 0; i < notes->n_ways; i++)
        notes->ways[i].paired = is_gradient(i) && p->ways[i].paired;
}
