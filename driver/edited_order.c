// The order in which the ranks of a pipeline do their tasks, where the step is written out: what its labels say. The
// reports are of that order; where it is another than the schedule that the file says, that is told (W830).
#include "driver/edited_inside.h"

static bool same_tasks(const struct rank_tasks *a, const struct rank_tasks *b) {
    if (a->n != b->n)
        return false;
    for (uint32_t i = 0; i < a->n; i++)
        if (a->tasks[i].kind != b->tasks[i].kind || a->tasks[i].stage != b->tasks[i].stage ||
            a->tasks[i].microbatch != b->tasks[i].microbatch)
            return false;
    return true;
}

// Labels that say no schedule are as good as none: they do nothing.
void edited_read_order(struct compilation *c) {
    const struct schedule *said = c->placement.pipeline.schedule;
    const struct schedule *own =
        is_pipelined(c) ? schedule_of_labels(&c->arena, c->final->job, said) : NULL;
    if (!own)
        return;
    for (uint32_t rank = 0; rank < own->n_ranks; rank++)
        c->reordered |= !same_tasks(&own->ranks[rank], &said->ranks[rank]);
    if (c->reordered) // labels do not say which tasks overlap
        c->placement.pipeline.schedule = own;
}

void edited_check_order(struct compilation *c) {
    const struct pipeline_config *said = &c->config.strategy.pipeline;
    struct span at;
    if (!c->reordered || !file_says(c, &said->origin, &at))
        return;
    struct diagnostic *d =
        report_unheard(c, &said->origin, said->method_span, pipeline_schedule_name(said));
    diagnostic_label(d, c->final->steps[STEP_TRAIN].span,
                     "in this ranks do their tasks in another order");
    diagnostic_help(d, "print the step anew without the written-out one");
}
