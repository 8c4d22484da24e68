// What a pipeline's ranks wait for each other, and need not.
#include <inttypes.h>

#include "driver/costs.h"
#include "driver/report.h"

// ---- W816: idle ranks -------------------------------------------------------------------------

static const double MOST_IDLE = 0.2; // of the time

// As many times as many microbatches, by smaller ones where these can be cut; NULL: that does not help.
static const char *with_microbatches(struct compilation *c, const struct pipeline_remedy *remedy) {
    const struct train_config *train = &c->config.train;
    int64_t times = remedy->microbatches / c->placement.microbatches;
    if (times == 0)
        return NULL;
    bool cut = train->microbatch % times == 0;
    return arena_format(
        &c->arena,
        "with `%s = %" PRId64 "`, which makes %" PRId64 " microbatches, it is %" PRId64 "/%" PRId64,
        cut ? "microbatch" : "batch",
        cut ? train->microbatch / times : size_times(train->batch, times), remedy->microbatches,
        remedy->with_microbatches[0], remedy->with_microbatches[1]);
}

static const char *with_method(struct compilation *c, const struct pipeline_remedy *remedy) {
    if (remedy->chunks == 0)
        return NULL;
    return arena_format(&c->arena, "with `schedule %s%s` it is %" PRId64 "/%" PRId64,
                        method_names[remedy->method], remedy->says_chunks ? "(chunks = 2)" : "",
                        remedy->with_method[0], remedy->with_method[1]);
}

static void check_idle(struct compilation *c) {
    const struct pipeline_config *pipeline = &c->config.strategy.pipeline;
    const int64_t *bubble = account_pipeline(&c->placement, &c->arena)->bubble;
    if ((double)bubble[0] / (double)bubble[1] <= MOST_IDLE)
        return;
    struct diagnostic *d =
        report(c->diagnostics, W816, pipeline->method_span,
               "the ranks of this pipeline are idle %" PRId64 "/%" PRId64 " of the time", bubble[0],
               bubble[1]);
    diagnostic_say(d, "%u ranks, %" PRId64 " microbatch%s", c->placement.pipeline.schedule->n_ranks,
                   c->placement.microbatches, c->placement.microbatches == 1 ? "" : "es");
    diagnostic_origin(d, &pipeline->origin);
    if (pipeline->file || c->edited)
        return;
    const struct pipeline_remedy remedy =
        halve_idle(&c->placement, pipeline->method, c->final->job->sizes.layers);
    const char *more = with_microbatches(c, &remedy), *other = with_method(c, &remedy);
    if (more && other)
        diagnostic_help(d, "%s; %s", more, other);
    else if (more || other)
        diagnostic_help(d, "%s", more ? more : other);
}

// ---- W817: uneven stages ----------------------------------------------------------------------

static const double MOST_WORK = 1.2; // of the mean

static void check_even(struct compilation *c) {
    const struct pipeline_config *said = &c->config.strategy.pipeline;
    const struct placed_pipeline *placed = &c->placement.pipeline;
    uint32_t slowest = 0;
    double all = 0;
    for (uint32_t i = 0; i < placed->n_stages; i++) {
        all += placed->stages[i].work;
        slowest = placed->stages[i].work > placed->stages[slowest].work ? i : slowest;
    }
    double times = all > 0 ? placed->stages[slowest].work * placed->n_stages / all : 1;
    if (times < MOST_WORK)
        return;
    struct diagnostic *d = report(
        c->diagnostics, W817, said->n_stages ? said->stages[slowest].span : said->method_span,
        "stage %u has %.2f times the mean work of a stage", slowest, times);
    diagnostic_say(d, "all others wait for it");
    diagnostic_origin(d, &said->origin);
    if (said->n_stages && placed->evenest < times)
        diagnostic_help(d, "`stages = auto` makes the slowest %.2f times the mean",
                        placed->evenest);
    else
        diagnostic_help(d,
                        "no stages are more even: take fewer of them, or a model that they divide");
}

void check_pipeline_costs(struct compilation *c) {
    if (!is_pipelined(c))
        return;
    check_idle(c);
    check_even(c);
}
