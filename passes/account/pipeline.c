// What a pipeline comes to: the idle time of its schedule, and what its ranks hold and send of it.
#include "ir/check.h"
#include "passes/passes.h"
#include "passes/pipeline/order.h"

// What the rank's stages do of all, which is the work of one microbatch.
static double share_of(const struct placed_pipeline *pipeline, uint32_t rank) {
    double own = 0, all = 0;
    for (uint32_t i = 0; i < pipeline->n_stages; i++) {
        all += pipeline->stages[i].work;
        own += pipeline->schedule->rank_of[i] == rank ? pipeline->stages[i].work : 0;
    }
    return all > 0 ? own / all : 0;
}

struct pipeline_account *account_pipeline(const struct placement *placement, struct arena *arena) {
    const struct placed_pipeline *pipeline = &placement->pipeline;
    struct arena scratch = {0};
    struct simulation even, weighed;
    struct pipeline_account *made = ARENA_NEW(arena, struct pipeline_account);
    double *weights = ARENA_ARRAY(&scratch, double, pipeline->n_stages + 1);
    for (uint32_t i = 0; i < pipeline->n_stages; i++)
        weights[i] = pipeline->stages[i].work > 0 ? pipeline->stages[i].work : 1;
    CHECK(schedule_simulate(&scratch, pipeline->schedule, NULL, &even));
    CHECK(schedule_simulate(&scratch, pipeline->schedule, weights, &weighed));
    *made = (struct pipeline_account){
        .bubble = {even.bubble.numerator, even.bubble.denominator},
        .span_bubble = {even.span_bubble.numerator, even.span_bubble.denominator},
        .idle = weighed.idle / (pipeline->schedule->n_ranks * weighed.makespan),
        .n_ranks = pipeline->schedule->n_ranks,
        .ranks = ARENA_ARRAY(arena, struct rank_account, pipeline->schedule->n_ranks)};
    for (uint32_t rank = 0; rank < made->n_ranks; rank++)
        made->ranks[rank] = (struct rank_account){.in_flight = even.ranks[rank].in_flight,
                                                  .until_inputs = even.ranks[rank].until_inputs,
                                                  .sends = even.ranks[rank].sends,
                                                  .share = share_of(pipeline, rank)};
    arena_free(&scratch);
    return made;
}
