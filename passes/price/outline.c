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
           cut_updates(job, &context) && hand_on(job, &context) && consume(job, &context) &&
           partition_noted(job_only(job), &context, notes);
}

// What stands behind partition decides how units' own values share bytes.
static bool plan_program(struct job *job, const struct config *config, struct placement placement,
                         struct diagnostics *diagnostics) {
    const struct pass_context context = {
        .config = config, .diagnostics = diagnostics, .placement = &placement};
    return offload(job, &context) && overlap(job, &context) && fuse(job, &context) &&
           plan_memory(job, &context);
}

// ---- communication ----------------------------------------------------------------------------

// Do routes say what it carries, or the shards of gradients whose squares it sums?
static bool follows_from_routes(const struct notes *notes, const struct transfer *start) {
    buffer_id from = start->pieces[0].from.buffer;
    if (notes->program->buffers[from].tensor != NO_ID)
        return true;
    for (uint32_t i = 0; i < notes->n_sums; i++)
        if (notes->sums[i] == from)
            return true;
    return false;
}

static void count_step(struct counting *c, const struct notes *notes, enum step_kind step) {
    struct statement_walk walk = walk_statements(&notes->program->steps[step].body);
    c->step = step;
    while (walk_next(&walk))
        if (walk.statement->kind != STATEMENT_START ||
            !follows_from_routes(notes, &walk.statement->start))
            count_statement(c, &walk);
}

static void count_communication(struct outline *o, struct arena *arena, const struct notes *notes) {
    struct counting counting = {
        .program = notes->program, .rows.arena = arena, .phase = PHASE_FORWARD};
    count_step(&counting, notes, STEP_TRAIN);
    count_step(&counting, notes, STEP_AVERAGE);
    o->transfers = counting.rows.items;
    o->n_transfers = counting.rows.n;
}

static struct outlined_moment keep_moment(struct arena *arena, const struct noted_moment *noted) {
    struct outlined_moment moment = {
        .step = noted->step,
        .phase = noted->phase,
        .times = noted->times,
        .loops = arena_copy(arena, noted->loops, (size_t)noted->depth * sizeof *noted->loops),
        .depth = noted->depth,
        .kinds = noted->kinds,
        .squares = noted->squares,
        .chances = ARENA_ARRAY(arena, struct outlined_chance, noted->n_chances),
        .n_chances = noted->n_chances};
    for (uint32_t i = 0; i < noted->n_chances; i++) {
        const struct chance *chance = &noted->chances[i];
        moment.chances[i] = (struct outlined_chance){chance->way, chance->events, chance->item};
        moment.events |= chance->events;
    }
    return moment;
}

// Moments of the steps that are accounted for.
static void keep_moments(struct outline *o, struct arena *arena, const struct notes *notes) {
    for (uint32_t i = 0; i < notes->n_moments; i++) {
        const struct noted_moment *noted = &notes->moments[i];
        if (noted->step != STEP_EVALUATE && noted->n_chances)
            ARENA_PUSH(arena, o->moments, o->n_moments, o->cap_moments, keep_moment(arena, noted));
    }
}

// ---- states of tensors ------------------------------------------------------------------------

// Counts the bytes of values that units hand on, and of the frames of units.
static void count_activations(struct outline *o, const struct program *program) {
    for (uint32_t b = 0; b < program->n_buffers; b++)
        if (class_states[program->buffers[b].class] == STATE_ACTIVATIONS)
            o->activations = size_plus(o->activations, buffer_bytes(program, &program->buffers[b]));
}

static bool facts_equal(const struct way_facts *a, const struct way_facts *b) {
    return a->left == b->left && memcmp(a->read_once, b->read_once, sizeof a->read_once) == 0;
}

static uint32_t add_facts(struct outline *o, struct arena *arena, struct way_facts facts) {
    uint32_t i = 0;
    while (i < o->n_facts && !facts_equal(&o->facts[i], &facts))
        i++;
    if (i == o->n_facts)
        ARENA_PUSH(arena, o->facts, o->n_facts, o->cap_facts, facts);
    return i;
}

static bool taken_equal(const struct taken *a, const struct taken *b) {
    return a->n == b->n && (a->n == 0 || memcmp(a->items, b->items, a->n * sizeof *a->items) == 0);
}

static bool kinds_equal(const struct kind *a, const struct kind *b) {
    return a->state == b->state && a->dtype == b->dtype && a->role == b->role &&
           a->facts == b->facts && a->whole == b->whole && a->items == b->items &&
           taken_equal(&a->gathered, &b->gathered) && taken_equal(&a->first, &b->first) &&
           a->paired == b->paired;
}

static void add_state(struct outline *o, struct arena *arena, uint32_t tensor, uint32_t way,
                      const struct kind *kind) {
    struct outlined state = {tensor, 0, way};
    while (state.kind < o->n_kinds && !kinds_equal(&o->kinds[state.kind], kind))
        state.kind++;
    if (state.kind == o->n_kinds)
        ARENA_PUSH(arena, o->kinds, o->n_kinds, o->cap_kinds, *kind);
    ARENA_PUSH(arena, o->states, o->n_states, o->cap_states, state);
}

// Work says which axes cut a tensor, so this is so however it is stored.
static struct kind kind_of(const struct program *program, const struct placed_tensor *placed,
                           const struct buffer *reference) {
    const struct tensor *tensor = &program->job->tensors[reference->tensor];
    struct buffer buffer = *reference;
    placed_cuts(placed, tensor, reference->class, buffer.layout.cuts);
    buffer.layout.flat.n = 0;
    struct tensor_type type = buffer_type(program, &buffer);
    return (struct kind){.state = class_states[reference->class],
                         .dtype = reference->dtype,
                         .role = tensor->n_roles ? tensor->roles[0] : ROLE_NONE,
                         .whole = type_elements(&type),
                         .items = buffer_items(reference)};
}

// Counts the items that units gather of each way before a use, or the first. A unit has one buffer of a way,
// whatever the step, for the most layers that it takes at once.
static struct taken *count_gathered(const struct notes *notes, enum route_event before,
                                    struct arena *arena, struct arena *scratch) {
    uint32_t n_units = notes->reference->job->n_units;
    int64_t *items = ARENA_ARRAY(scratch, int64_t, (size_t)notes->n_ways * n_units + 1);
    struct taken *gathered = ARENA_ARRAY(scratch, struct taken, notes->n_ways + 1);
    for (uint32_t i = 0; i < notes->n_moments; i++)
        for (uint32_t k = 0; k < notes->moments[i].n_chances; k++) {
            const struct chance *chance = &notes->moments[i].chances[k];
            CHECK(chance->buffers_of < n_units);
            int64_t *had = &items[chance->way * n_units + chance->buffers_of];
            if (chance->events >> before & 1 && *had < chance->layers)
                *had = chance->layers;
        }
    for (uint32_t way = 0; way < notes->n_ways; way++) {
        int64_t *of = &items[(size_t)way * n_units];
        uint32_t n = 0;
        for (uint32_t unit = 0; unit < n_units; unit++)
            if (of[unit])
                of[n++] = of[unit];
        gathered[way] = (struct taken){arena_copy(arena, of, n * sizeof *of), n};
    }
    return gathered;
}

static void list_ways(struct outline *o, struct arena *arena, const struct notes *notes,
                      const struct placement *placement) {
    struct arena *scratch = notes->program->arena;
    const struct taken *gathered = count_gathered(notes, EVENT_BEFORE_USE, arena, scratch);
    const struct taken *first = count_gathered(notes, EVENT_BEFORE_FIRST_USE, arena, scratch);
    for (uint32_t i = 0; i < notes->n_ways; i++) {
        const struct noted_way *way = &notes->ways[i];
        if (!way->reference)
            continue;
        struct way_facts facts = {.left = way->left};
        memcpy(facts.read_once, way->read_once, sizeof facts.read_once);
        struct kind kind = kind_of(notes->program, &placement->tensors[i / 2], way->reference);
        kind.facts = add_facts(o, arena, facts);
        kind.gathered = gathered[i];
        kind.first = first[i];
        kind.paired = way->paired;
        add_state(o, arena, i / 2, i, &kind);
    }
    o->n_ways = notes->n_ways;
}

static void list_optimizer(struct outline *o, struct arena *arena, const struct notes *notes,
                           const struct placement *placement) {
    const struct program *reference = notes->reference;
    for (uint32_t b = 0; b < reference->n_buffers; b++) {
        const struct buffer *buffer = &reference->buffers[b];
        if (class_states[buffer->class] != STATE_OPTIMIZER)
            continue;
        struct kind kind = kind_of(notes->program, placement_of(placement, buffer), buffer);
        add_state(o, arena, placement_index(placement, buffer), NO_ID, &kind);
    }
}

// ---- the whole --------------------------------------------------------------------------------

static bool fill_in(struct outline *o, struct arena *arena, const struct config *config,
                    struct program *program, const struct placement *placement,
                    struct diagnostics *diagnostics) {
    struct notes notes = {0};
    if (!make_program(program->job, config, *placement, diagnostics, &notes))
        return false;
    o->averages = program->steps[STEP_AVERAGE].present;
    o->work = account_work_of(notes.program, notes.works);
    count_communication(o, arena, &notes);
    keep_moments(o, arena, &notes);
    add_facts(o, arena, (struct way_facts){0});
    list_ways(o, arena, &notes, placement);
    list_optimizer(o, arena, &notes, placement);
    if (!plan_program(program->job, config, *placement, diagnostics))
        return false;
    count_activations(o, program);
    return true;
}

struct outline *outline_make(struct arena *arena, struct arena *scratch,
                             const struct config *config, const struct program *reference,
                             const struct placement *placement, struct diagnostics *diagnostics) {
    struct outline *o = ARENA_NEW(arena, struct outline);
    struct program *program = job_only(job_clone(scratch, reference->job));
    return fill_in(o, arena, config, program, placement, diagnostics) ? o : NULL;
}
