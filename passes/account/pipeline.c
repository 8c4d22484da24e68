// What a pipeline comes to: the idle time of its schedule, and what its ranks hold and send of it.
#include <string.h>

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

// ---- less of it -------------------------------------------------------------------------------

// False: the method has no such schedule.
static bool idle_of_shape(const struct pipeline_shape *shape, int64_t share[2]) {
    struct arena scratch = {0};
    struct simulation simulation;
    bool fits = !shape_unfit(&scratch, shape);
    if (fits) {
        CHECK(schedule_simulate(&scratch, schedule_of_shape(&scratch, shape), NULL, &simulation));
        share[0] = simulation.bubble.numerator;
        share[1] = simulation.bubble.denominator;
    }
    arena_free(&scratch);
    return fits;
}

static double value_of(const int64_t fraction[2]) {
    return (double)fraction[0] / (double)fraction[1];
}

// In microbatches of whole ranks: of the rank that has most in flight, and of all together.
struct held {
    double most, all;
};

// False: the method has no such schedule.
static bool held_of_shape(const struct pipeline_shape *shape, struct held *held) {
    struct arena scratch = {0};
    struct simulation simulation;
    bool fits = !shape_unfit(&scratch, shape);
    *held = (struct held){0};
    if (fits)
        CHECK(schedule_simulate(&scratch, schedule_of_shape(&scratch, shape), NULL, &simulation));
    for (uint32_t rank = 0; fits && rank < shape->n_ranks; rank++) {
        double of_rank = (double)simulation.ranks[rank].in_flight / shape->n_chunks;
        held->most = of_rank > held->most ? of_rank : held->most;
        held->all += of_rank;
    }
    arena_free(&scratch);
    return fits;
}

unsigned methods_that_hold_less(const struct placement *placement,
                                const struct pipeline_config *said, int64_t layers,
                                enum pipeline_method methods[N_METHODS]) {
    const struct placed_pipeline *pipeline = &placement->pipeline;
    bool says_chunks = said->chunks || said->n_stages;
    struct pipeline_shape shape = {said->method, pipeline->schedule->n_ranks, pipeline->n_chunks,
                                   (uint32_t)placement->microbatches};
    struct held least, held;
    unsigned n = 0;
    if (!held_of_shape(&shape, &least))
        return 0;
    for (int other = 0; other < N_METHODS; other++) {
        shape.method = (enum pipeline_method)other;
        shape.n_chunks = says_chunks ? pipeline->n_chunks : method_chunks(shape.method);
        if (shape.n_chunks == 0 || (int64_t)shape.n_ranks * shape.n_chunks > layers + 2 ||
            !held_of_shape(&shape, &held) || held.most > least.most ||
            (held.most == least.most && held.all >= least.all))
            continue;
        least = held;
        methods[n++] = shape.method;
    }
    return n;
}

struct pipeline_remedy halve_idle(const struct placement *placement, enum pipeline_method method,
                                  int64_t layers) {
    enum { MOST_TASKS = 1 << 18 }; // what is simulated is not to be waited for
    const struct placed_pipeline *pipeline = &placement->pipeline;
    struct pipeline_remedy made = {0};
    struct pipeline_shape shape = {method, pipeline->schedule->n_ranks, pipeline->n_chunks,
                                   (uint32_t)placement->microbatches};
    int64_t now[2], share[2];
    if (!idle_of_shape(&shape, now))
        return made;
    struct pipeline_shape more = shape;
    while (!made.microbatches && (int64_t)pipeline->n_stages * more.n_microbatches < MOST_TASKS) {
        more.n_microbatches *= 2;
        if (!idle_of_shape(&more, share) || 2 * value_of(share) > value_of(now))
            continue;
        made.microbatches = more.n_microbatches;
        memcpy(made.with_microbatches, share, sizeof share);
    }
    for (int other = 0; other < N_METHODS && !made.chunks; other++) {
        shape.method = (enum pipeline_method)other;
        shape.n_chunks = method_chunks(shape.method) ? method_chunks(shape.method) : 2;
        if ((int64_t)shape.n_ranks * shape.n_chunks > layers + 2 || !idle_of_shape(&shape, share) ||
            2 * value_of(share) > value_of(now))
            continue;
        made.method = shape.method;
        made.chunks = shape.n_chunks;
        made.says_chunks = !method_chunks(shape.method);
        memcpy(made.with_method, share, sizeof share);
    }
    return made;
}
