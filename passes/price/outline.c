// Price, outlines: what is found once for all strategies that divide work alike, by making the program of
// one of them up to partition. What its units send and hold, and at which moments hops of routes may
// happen, is the same for all; what the hops send is found from routes (sent.c).
#include <string.h>

#include "ir/check.h"
#include "ir/diagnostic.h"
#include "passes/price/price.h"

static bool make_program(struct job *job, const struct config *config, struct placement placement,
                         struct diagnostics *diagnostics, struct notes *notes) {
    const struct pass_context context = {
        .config = config, .diagnostics = diagnostics, .placement = &placement};
    return cut_ranges(job, &context) && recompute(job, &context) &&
           cut_gather_units(job, &context) && cut_at_gathers(job, &context) &&
           hand_on(job, &context) && partition_noted(job_only(job), &context, notes);
}

// What stands behind partition decides how units' own values share bytes.
static bool plan_program(struct job *job, const struct config *config, struct placement placement,
                         struct diagnostics *diagnostics) {
    const struct pass_context context = {
        .config = config, .diagnostics = diagnostics, .placement = &placement};
    return overlap(job, &context) && fuse(job, &context) && plan_memory(job, &context);
}

// ---- communication ----------------------------------------------------------------------------

// Do routes say what it carries, or the shards of gradients whose squares it sums?
static bool follows_from_routes(const struct outline *o, const struct transfer *start) {
    buffer_id from = start->pieces[0].from.buffer;
    if (o->notes.program->buffers[from].tensor != NO_ID)
        return true;
    for (uint32_t i = 0; i < o->notes.n_sums; i++)
        if (o->notes.sums[i] == from)
            return true;
    return false;
}

static void count_step(struct counting *c, const struct outline *o, enum step_kind step) {
    struct statement_walk walk = walk_statements(&o->notes.program->steps[step].body);
    c->step = step;
    while (walk_next(&walk))
        if (walk.statement->kind != STATEMENT_START ||
            !follows_from_routes(o, &walk.statement->start))
            count_statement(c, &walk);
}

static void count_communication(struct outline *o, struct arena *arena) {
    struct counting counting = {
        .program = o->notes.program, .rows.arena = arena, .phase = PHASE_FORWARD};
    count_step(&counting, o, STEP_TRAIN);
    count_step(&counting, o, STEP_AVERAGE);
    o->transfers = counting.rows.items;
    o->n_transfers = counting.rows.n;
}

// ---- buffers ----------------------------------------------------------------------------------

// Counts the bytes of values that units hand on, and of the frames of units.
static void count_activations(struct outline *o, const struct program *program) {
    for (uint32_t b = 0; b < program->n_buffers; b++)
        if (class_states[program->buffers[b].class] == STATE_ACTIVATIONS)
            o->activations = size_plus(o->activations, buffer_bytes(program, &program->buffers[b]));
}

static void list_optimizer(struct outline *o, struct arena *arena) {
    const struct program *reference = o->notes.reference;
    o->optimizer = ARENA_ARRAY(arena, struct buffer, reference->n_buffers + 1);
    for (uint32_t b = 0; b < reference->n_buffers; b++)
        if (class_states[reference->buffers[b].class] == STATE_OPTIMIZER)
            o->optimizer[o->n_optimizer++] = reference->buffers[b];
}

// Work says which axes cut a tensor, so this is so however it is stored.
static void find_wholes(struct outline *o, const struct placement *placement, struct arena *arena) {
    o->whole = ARENA_ARRAY(arena, int64_t, o->notes.n_ways + 1);
    for (uint32_t i = 0; i < o->notes.n_ways; i++) {
        const struct buffer *reference = o->notes.ways[i].reference;
        if (!reference)
            continue;
        struct buffer buffer = *reference;
        memcpy(buffer.layout.cuts, placement->tensors[i / 2].cuts, sizeof buffer.layout.cuts);
        buffer.layout.flat.n = 0;
        struct tensor_type type = buffer_type(o->notes.program, &buffer);
        o->whole[i] = type_elements(&type);
    }
}

// Counts the items that units gather of each way. A unit has one buffer of a way, whatever the step, for
// the most layers that it takes at once.
static void count_gathered(struct outline *o, struct arena *arena) {
    uint32_t n_units = o->notes.reference->job->n_units;
    struct arena scratch = {0};
    int64_t *items = ARENA_ARRAY(&scratch, int64_t, (size_t)o->notes.n_ways * n_units + 1);
    o->gathered = ARENA_ARRAY(arena, int64_t, o->notes.n_ways + 1);
    for (uint32_t i = 0; i < o->notes.n_moments; i++)
        for (uint32_t k = 0; k < o->notes.moments[i].n_chances; k++) {
            const struct chance *chance = &o->notes.moments[i].chances[k];
            CHECK(chance->buffers_of < n_units);
            int64_t *had = &items[chance->way * n_units + chance->buffers_of];
            if (!(chance->events >> EVENT_BEFORE_USE & 1) || *had >= chance->layers)
                continue;
            o->gathered[chance->way] += chance->layers - *had;
            *had = chance->layers;
        }
    arena_free(&scratch);
}

// ---- what is kept -----------------------------------------------------------------------------

// Moments of the steps that are accounted for, and ways with the buffers that they are of.
static struct notes keep_notes(const struct notes *from, struct arena *arena) {
    struct notes kept = {.n_ways = from->n_ways};
    kept.ways = arena_copy(arena, from->ways, from->n_ways * sizeof *from->ways);
    for (uint32_t i = 0; i < kept.n_ways; i++)
        if (kept.ways[i].reference)
            kept.ways[i].reference =
                arena_copy(arena, kept.ways[i].reference, sizeof *kept.ways[i].reference);
    for (uint32_t i = 0; i < from->n_moments; i++) {
        struct noted_moment moment = from->moments[i];
        if (moment.step == STEP_EVALUATE || moment.n_chances == 0)
            continue;
        moment.chances =
            arena_copy(arena, moment.chances, moment.n_chances * sizeof *moment.chances);
        ARENA_PUSH(arena, kept.moments, kept.n_moments, kept.cap_moments, moment);
    }
    return kept;
}

// ---- the whole --------------------------------------------------------------------------------

static bool fill_in(struct outline *o, struct arena *arena, const struct config *config,
                    struct program *program, const struct placement *placement,
                    struct diagnostics *diagnostics) {
    if (!make_program(program->job, config, *placement, diagnostics, &o->notes))
        return false;
    o->averages = program->steps[STEP_AVERAGE].present;
    count_communication(o, arena);
    o->work = account_work_of(o->notes.program, o->notes.works);
    list_optimizer(o, arena);
    count_gathered(o, arena);
    find_wholes(o, placement, arena);
    if (!plan_program(program->job, config, *placement, diagnostics))
        return false;
    count_activations(o, program);
    o->notes = keep_notes(&o->notes, arena);
    return true;
}

// The program itself is gone afterwards.
struct outline *outline_make(struct arena *arena, const struct config *config,
                             const struct program *reference, const struct placement *placement,
                             struct diagnostics *diagnostics) {
    struct arena scratch = {0};
    struct outline *o = ARENA_NEW(arena, struct outline);
    struct program *program = job_only(job_clone(&scratch, reference->job));
    bool made = fill_in(o, arena, config, program, placement, diagnostics);
    arena_free(&scratch);
    return made ? o : NULL;
}
