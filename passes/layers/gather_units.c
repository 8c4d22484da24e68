// Gather units: layers whose parameters are gathered several at once (`gathered(unit = layers(n))`), or of
// which something is copied so between tiers (`offloaded(unit = layers(n))`), are computed, or updated, in
// loops over groups of them.
//
// Input: the reference program. Output: the same program, in which every loop over such layers has
// become one over units, with the loop that it was over the layers of one. `partition` puts the
// gathers of a unit in front of it. Where layers are recomputed in groups (recompute_groups.c)
// these loops are there already: then a unit is one of those groups, or several, or where fewer
// layers are gathered than recomputed at once a piece of one:
//
//   for g = 0 .. 2 {                        two gathered, three recomputed
//     for l = 3*g .. 3*g+2 { BODY }         a unit
//     for l = 3*g+2 .. 3*g+3 { BODY }       a unit
//   }
#include "ir/check.h"
#include "passes/layers/layer_groups.h"
#include "passes/passes.h"

struct unit_cutter {
    struct program *program;
    struct placement placement;
};

// How many layers an iteration computes already.
static int64_t layers_of_iteration(const struct statement *loop) {
    const struct statement *first = &loop->loop.body.statements[0];
    return first->kind == STATEMENT_LOOP ? first->loop.stride : 1;
}

// The loops of a group over its layers, in pieces.
static void cut_groups_in_units(const struct unit_cutter *c, struct statement *groups, int64_t n) {
    const struct block loops = groups->loop.body;
    int64_t first = loops.statements[0].loop.begin;
    for (uint32_t i = 1; i < loops.n; i++)
        if (loops.statements[i].loop.begin < first)
            first = loops.statements[i].loop.begin;
    groups->loop.body = (struct block){0};
    for (uint32_t i = 0; i < loops.n; i++)
        push_in_pieces(c->program, &groups->loop.body, &loops.statements[i], first, n);
}

// Layers of which no groups are made, as evaluation recomputes nothing, are in units as others of
// their range, whose number is one of whole groups.
static void cut_like_groups(const struct unit_cutter *c, struct statement *loop, int64_t n) {
    uint32_t range = placement_range(&c->placement, loop->loop.begin);
    *loop = cut_in_groups(c->program, loop, c->placement.most_at_once[range], "g");
    cut_groups_in_units(c, loop, n);
}

static void cut_step(const struct unit_cutter *c, struct step *step) {
    for (uint32_t i = 0; i < step->body.n; i++) {
        struct statement *s = &step->body.statements[i];
        if (s->kind != STATEMENT_LOOP)
            continue;
        int64_t n = layers_taken_at_once(c->program, &c->placement, &s->loop.body, s->loop.begin);
        int64_t computed = layers_of_iteration(s);
        if (n < computed && n > 1)
            cut_groups_in_units(c, s, n);
        else if (computed == 1 && (s->loop.end - s->loop.begin) % n)
            cut_like_groups(c, s, n);
        else if (n > computed)
            *s = cut_in_groups(c->program, s, n / computed, "u");
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
