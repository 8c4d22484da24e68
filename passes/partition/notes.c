// Partition, notes: the moments at which hops are looked for; see moments.h.
#include "passes/partition/partition.h"

static uint32_t number_of(const struct draft *draft, const struct way *way) {
    return (uint32_t)(way - draft->ways);
}

void begin_notes(struct draft *draft) {
    if (!draft->notes)
        return;
    uint32_t n = 2 * draft->plan->placement.n_ranges * draft->plan->placement.n_tensors;
    draft->notes->n_ways = n;
    draft->notes->ways = ARENA_ARRAY(draft->arena, struct noted_way, n + 1);
    for (uint32_t i = 0; i < n; i++)
        draft->notes->ways[i].reference = draft->ways[i].reference;
}

void note_reads(struct draft *draft, const struct way *way, enum step_kind step, bool read_once) {
    if (draft->notes)
        draft->notes->ways[number_of(draft, way)].read_once[step] = read_once;
}

void note_left(struct draft *draft, const struct way *way, uint64_t left) {
    if (draft->notes)
        draft->notes->ways[number_of(draft, way)].left = left;
}

// One without chances is forgotten.
void note_moment(struct draft *draft, struct cursor at, uint64_t kinds, bool squares) {
    struct notes *notes = draft->notes;
    if (!notes)
        return;
    struct loop *loops = ARENA_ARRAY(draft->arena, struct loop, at.depth + 1);
    for (int i = 0; i < at.depth; i++) {
        loops[i] = *at.loops[i];
        loops[i].body = (struct block){0};
    }
    struct noted_moment moment = {.step = at.kind,
                                  .times = at.trips,
                                  .loops = loops,
                                  .depth = at.depth,
                                  .kinds = kinds,
                                  .squares = squares};
    if (notes->n_moments && notes->moments[notes->n_moments - 1].n_chances == 0)
        notes->moments[notes->n_moments - 1] = moment;
    else
        ARENA_PUSH(draft->arena, notes->moments, notes->n_moments, notes->cap_moments, moment);
}

void note_chance(struct draft *draft, const struct way *way, struct chance chance) {
    struct notes *notes = draft->notes;
    if (!notes || number_of(draft, way) >= notes->n_ways) // the optimizer's goes over no axes
        return;
    struct noted_moment *moment = &notes->moments[notes->n_moments - 1];
    chance.way = number_of(draft, way);
    moment->phase = draft->plan->reference->job->units[chance.unit].phase;
    ARENA_PUSH(draft->arena, moment->chances, moment->n_chances, moment->cap_chances, chance);
}

void note_sum(struct draft *draft, buffer_id sum) {
    if (draft->notes)
        ARENA_PUSH(draft->arena, draft->notes->sums, draft->notes->n_sums, draft->notes->cap_sums,
                   sum);
}

static bool is_gradient(uint32_t way) {
    return way % 2;
}

// What units have left of gradients, and what is summed in pairs, is known by now.
void end_notes(struct draft *draft) {
    const struct plan *plan = draft->plan;
    struct notes *notes = draft->notes;
    if (!notes)
        return;
    notes->program = draft->program;
    notes->reference = plan->reference;
    notes->works = ARENA_ARRAY(draft->arena, bool, draft->program->job->n_units + 1);
    for (uint32_t u = 0; u < plan->reference->job->n_units; u++)
        for (const struct unit_use *use = draft->units.uses[u]; use; use = use->before)
            notes->works[use->unit] = plan->reference->job->units[u].phase != PHASE_UPDATE;
    for (uint32_t i = 0; i < notes->n_ways; i++)
        notes->ways[i].paired = is_gradient(i) && draft->ways[i].paired;
}
