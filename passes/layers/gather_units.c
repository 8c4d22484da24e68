// Gather units: layers whose parameters are gathered several at once (`gathered(unit = layers(n))`)
// are computed in loops over groups of them.
//
// Input: the reference program. Output: the same program, in which every loop over such layers has
// become one over units, with the loop that it was over the layers of one. `partition` puts the
// gathers of a unit in front of it. Where layers are recomputed in groups (recompute_groups.c)
// these loops are there already: then a unit is one of those groups, or several.
#include "ir/check.h"
#include "passes/layers/layer_groups.h"
#include "passes/passes.h"

struct unit_cutter {
    struct program *program;
    struct placement placement;
};

// The most that a call in the loop wants at once of what it reads. Updates read what is stored.
static int64_t layers_at_once(const struct unit_cutter *c, const struct statement *loop) {
    int64_t most = 1;
    struct statement_walk walk = walk_statements(&loop->loop.body);
    for (const struct call *call; (call = walk_next_call(&walk));) {
        if (c->program->job->units[call->unit].phase == PHASE_UPDATE)
            continue;
        for (uint32_t i = 0; i < c->program->job->units[call->unit].n_parameters; i++) {
            const struct buffer *buffer = &c->program->buffers[call->operands[i].buffer];
            if (buffer->class != CLASS_PARAMETERS)
                continue;
            int64_t n = placement_of(&c->placement, buffer)->gather_layers;
            most = n > most ? n : most;
        }
    }
    return most;
}

// How many layers an iteration computes already.
static int64_t layers_of_iteration(const struct statement *loop) {
    const struct statement *first = &loop->loop.body.statements[0];
    return first->kind == STATEMENT_LOOP ? first->loop.stride : 1;
}

static void cut_step(const struct unit_cutter *c, struct step *step) {
    for (uint32_t i = 0; i < step->body.n; i++) {
        struct statement *s = &step->body.statements[i];
        if (s->kind != STATEMENT_LOOP)
            continue;
        int64_t n = layers_at_once(c, s), groups = n / layers_of_iteration(s);
        if (groups > 1)
            *s = cut_in_groups(c->program, s, groups, "u");
    }
}

bool cut_gather_units(struct job *job, const struct pass_context *context) {
    struct program *program = job_only(job);
    struct unit_cutter c = {.program = program};
    if (!placement_for(program, context, &c.placement))
        return false;
    for (int kind = 0; kind < N_STEPS; kind++)
        cut_step(&c, &program->steps[kind]);
    job_number(program->job);
    return true;
}
