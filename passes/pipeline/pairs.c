// Whether a schedule's microbatches come in pairs, so that one of a pair can be added to the other where
// it is made.
#include "passes/pipeline/order.h"

bool schedule_pairs(struct arena *arena, const struct schedule *s) {
    uint32_t *waits = ARENA_ARRAY(arena, uint32_t, s->n_stages); // by stage, from 1 on; 0: none
    for (uint32_t rank = 0; rank < s->n_ranks; rank++)
        for (uint32_t i = 0; i < s->ranks[rank].n; i++) {
            const struct task *task = &s->ranks[rank].tasks[i];
            uint32_t *wait = &waits[task->stage];
            if (task->kind != TASK_BACKWARD && task->kind != TASK_WEIGHTS)
                continue;
            if (*wait && *wait - 1 != (task->microbatch ^ 1))
                return false;
            *wait = *wait ? 0 : task->microbatch + 1;
        }
    return true;
}
