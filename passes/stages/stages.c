// Stages: a program for each rank of a pipeline, of the one that partition has made for all of them.
//
// Input: the program of one device that has all stages. In its loop over microbatches labels say which stage's task
// comes from there on. Output: a part for each rank along the pipeline's axes. It has the tasks of its own stages in the
// order of the schedule, with messages where one rank's task reads what another's has made; buffers for as many
// microbatches as are in flight; and of what stands around the tasks that which is about its own layers. Scalars that
// parts add to are summed over the pipeline, as partition has said.
#include "passes/stages/stages.h"

#include "ir/diagnostic.h"

static void make_parts(struct splitter *s, struct job *job) {
    uint32_t n = s->pipeline->schedule->n_ranks;
    s->parts = ARENA_ARRAY(s->scratch, struct program *, n);
    job->n_programs = 0;
    for (uint32_t rank = 0; rank < n; rank++) {
        s->parts[rank] = job_add_program(
            job, (struct mesh_part){.name = arena_format(job->arena, "rank%u", rank),
                                    .axes = s->pipeline->axes,
                                    .begin = rank,
                                    .end = rank + 1,
                                    .span = s->span});
        for (int kind = 0; kind < N_STEPS; kind++) {
            const struct step *from = &s->whole->steps[kind];
            struct step *step = &s->parts[rank]->steps[kind];
            step->present = from->present;
            step->span = from->span;
        }
    }
}

static void make_step(struct splitter *s, enum step_kind kind) {
    const struct block *body = &s->whole->steps[kind].body;
    for (uint32_t i = 0; i < body->n; i++) {
        if (&body->statements[i] != s->loops[kind].loop) {
            push_outside(s, kind, &body->statements[i]);
            continue;
        }
        for (uint32_t rank = 0; rank < s->pipeline->schedule->n_ranks; rank++) {
            struct making_part m = part_of_rank(s, rank, kind);
            push_tasks(&m);
        }
        if (kind == STEP_TRAIN)
            exchange_tied(s);
    }
}

bool split_stages(struct job *job, const struct pass_context *context) {
    struct placement placement;
    if (job->n_programs > 1 || !context->config)
        return true;
    struct program *whole = job->programs[0];
    if (!placement_for(whole, context, &placement))
        return false;
    if (placement.pipeline.axes.n == 0)
        return true;
    if (context->unparted)
        *context->unparted = job_only(job_clone(job->arena, job));
    struct arena scratch = {0};
    struct splitter s = {.arena = job->arena,
                         .scratch = &scratch,
                         .whole = whole,
                         .pipeline = &placement.pipeline,
                         .microbatches = placement.microbatches,
                         .span = origin_span(&context->config->strategy.pipeline.origin)};
    if (whole->job->policy.reproducible)
        s.holders = ARENA_ARRAY(&scratch, uint32_t, whole->n_buffers + 1);
    find_tasks(&s);
    order_tasks(&s);
    make_parts(&s, job);
    for (int kind = 0; kind < N_STEPS; kind++)
        make_step(&s, (enum step_kind)kind);
    job_number(job);
    arena_free(&scratch);
    return true;
}
