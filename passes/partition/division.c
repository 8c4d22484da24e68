// Partition, division: how what units hand on to each other is divided, before any buffer is made: as
// the work of its writer is, except what a ring reads and what forward keeps for backward (kept.c).
#include <string.h>

#include "ir/check.h"
#include "passes/partition/plan.h"
#include "passes/placement/work.h"

// Divides a result as its writer's work is divided. If it has several writers, the one in the
// innermost loop decides: layers hand on to each other more often than they take from what stands
// before them.
static void divide_result(const struct plan *plan, struct division *divisions,
                          const struct call *call, uint32_t i, int depth, int64_t layer) {
    const struct unit *unit = &plan->reference->job->units[call->unit];
    struct division *division = &divisions[call->results[i].buffer];
    if (!division->for_ring && division->depth < depth &&
        work_cuts_of_result(&plan->placement, unit, i, layer, division->kept, division->type.cuts))
        division->depth = depth;
}

static int64_t local_elements(const struct plan *plan, const struct tensor_type *type,
                              const struct axis_list cuts[MAX_RANK]) {
    struct sharding sharding = {0};
    struct tensor_type local;
    memcpy(sharding.cuts, cuts, sizeof sharding.cuts);
    CHECK(sharding_local(plan, type, &sharding, &local));
    return type_elements(&local);
}

// What a ring reads, in every round, lies as the ring wants it, whoever writes it; but not where
// the device would have to keep, and send on, more of it than its part.
static void divide_operands(const struct plan *plan, struct division *divisions,
                            const struct call *call, const struct ring *ring) {
    const struct unit *unit = &plan->reference->job->units[call->unit];
    for (uint32_t i = 0; i < unit->n_parameters; i++) {
        struct division *division = &divisions[call->operands[i].buffer];
        const struct tensor_type *type = &unit->values[i].type;
        if (local_elements(plan, type, ring->cuts[i]) >
            local_elements(plan, type, division->type.cuts))
            continue;
        memcpy(division->type.cuts, ring->cuts[i], sizeof division->type.cuts);
        division->for_ring = true;
    }
}

static void divide_call(const struct plan *plan, struct division *divisions,
                        const struct statement *statement, int depth, int64_t layer) {
    const struct cut_call *cut = find_cut_call(plan, statement);
    uint32_t n = cut ? cut->n_pieces : 1;
    for (uint32_t k = 0; k < n; k++) {
        const struct call *call = cut ? &cut->pieces[k].call : &statement->call;
        for (uint32_t i = 0; i < plan->reference->job->units[call->unit].n_results; i++)
            divide_result(plan, divisions, call, i, depth, layer);
        if (cut && cut->rings[k])
            divide_operands(plan, divisions, call, cut->rings[k]);
    }
}

const struct division *divide_values(const struct plan *plan) {
    struct division *divisions =
        ARENA_ARRAY(plan->arena, struct division, plan->reference->n_buffers + 1);
    find_kept(plan, divisions);
    for (int kind = 0; kind < N_STEPS; kind++) {
        if (!plan->reference->steps[kind].present)
            continue;
        struct statement_walk walk = walk_statements(&plan->reference->steps[kind].body);
        while (walk_next(&walk)) {
            const struct loop *loop = walk_loop(&walk, walk.depth - 1);
            if (walk.statement->kind == STATEMENT_CALL)
                divide_call(plan, divisions, walk.statement, walk.depth + 1,
                            loop ? loop->begin : 0);
        }
    }
    divide_kept(plan, divisions);
    return divisions;
}
