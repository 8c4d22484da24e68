// Recompute, several layers at once (`recomputed(unit = layers(n))`): of the inputs of layers only
// every n-th is kept, and backward goes over the groups, the last first:
//
//   for g = 0 .. 2 {                                  keep the group's input, then its layers
//     for l = 2*g .. 2*g+1 { call keep_hidden(x = hidden[l mod 2]) -> (y = saved.hidden[g]) }
//     for l = 2*g .. 2*g+2 { call block_forward(x = hidden[l mod 2]) -> (y = hidden[l+1 mod 2]) }
//   }
//   for g = 0 .. 2 descending {
//     for l = 2*g .. 2*g+1 { call take_hidden(x = saved.hidden[g]) -> (y = again.hidden[l mod 2]) }
//     for l = 2*g .. 2*g+1 { call block_recompute(x = again.hidden[l mod 2]) ->
//                                (y = again.hidden[l+1 mod 2], a = saved.a[l mod 2]) }
//     for l = 2*g+1 .. 2*g+2 { call block_recompute_last(x = again.hidden[l mod 2]) ->
//                                  (a = saved.a[l mod 2]) }
//     for l = 2*g .. 2*g+2 descending { call block_backward(x = again.hidden[l mod 2],
//                                           a = saved.a[l mod 2], ...) -> ... }
//   }
//
// What the last layer of a group hands on is in the next group, which has been run already. So what
// forward leaves behind for backward has n slots instead of an item for each layer, and
// backward units are those of a strategy that keeps everything. `place` has cut ranges of layers
// such that n divides them; or, where more layers are gathered, or updated, at once and n does not
// divide their number, such that this does: then an iteration goes over so many layers, in groups of
// n, the last of which is shorter, and keeps the input of each in a buffer of its own.
#include <inttypes.h>

#include "ir/check.h"
#include "passes/layers/layer_groups.h"
#include "passes/layers/recompute.h"
#include "passes/reference/emit.h"
#include "passes/reference/select.h"

// ---- which loops ------------------------------------------------------------------------------

// The result of a layer that the next one reads; NO_ID: there is none.
static uint32_t handed_on(const struct program *program, const struct call *call) {
    const struct unit *unit = &program->job->units[call->unit];
    for (uint32_t i = 0; i < unit->n_results; i++)
        for (uint32_t k = 0; k < unit->n_parameters; k++)
            if (call->results[i].buffer == call->operands[k].buffer)
                return i;
    return NO_ID;
}

// Ranges of layers begin at different ones, and turns are counted from 0.
static bool is_backward_of(const struct loop *loop, int64_t begin) {
    bool over_turns = loop->body.statements[0].kind == STATEMENT_LOOP;
    return loop->descending && loop->begin == begin && !loop->stride && !over_turns;
}

static bool has_backward(const struct program *program, const struct loop *loop) {
    struct statement_walk walk = walk_statements(&program->steps[STEP_TRAIN].body);
    while (walk_next(&walk))
        if (walk.statement->kind == STATEMENT_LOOP &&
            is_backward_of(&walk.statement->loop, loop->begin))
            return true;
    return false;
}

// An iteration goes over one group, unless more layers are gathered at once and are not whole groups,
// or the update takes more at once and the range is a multiple of those alone.
static int64_t layers_of_iteration(const struct recomputing *r, const struct loop *loop,
                                   int64_t n) {
    int64_t gathered = layers_taken_at_once(r->program, &r->placement, &loop->body, loop->begin);
    int64_t cut = gathered > n && gathered % n ? gathered : n;
    bool whole = (loop->end - loop->begin) % (gathered > cut ? gathered : cut) == 0;
    return whole ? cut : r->placement.most_at_once[placement_range(&r->placement, loop->begin)];
}

static void find_group(struct recomputing *r, const struct statement *over) {
    const struct loop *loop = &over->loop;
    const struct call *call = &loop->body.statements[0].call;
    const struct unit *unit = &r->program->job->units[call->unit];
    int64_t n = layers_recomputed_at_once(&r->modes, loop->begin);
    uint32_t result = handed_on(r->program, call);
    n = n < loop->end - loop->begin ? n : loop->end - loop->begin;
    if (n <= 1 || result == NO_ID || unit->phase != PHASE_FORWARD ||
        !has_backward(r->program, loop))
        return;
    const struct op *op = unit_producer(unit, unit->results[result].value);
    const struct layer_range layers = {loop->begin, loop->end, 1};
    if (!op || !is_recomputed(r, op, &layers)) // then every layer's input is kept
        return;
    int64_t cut = layers_of_iteration(r, loop, n);
    CHECK(loop->body.n == 1 && (loop->end - loop->begin) % cut == 0);
    struct layer_group group = {.begin = loop->begin,
                                .end = loop->end,
                                .n = n,
                                .cut = cut,
                                .forward = call,
                                .loop = loop,
                                .hidden = call->results[result].buffer};
    ARENA_PUSH(r->program->arena, r->groups, r->n_groups, r->cap_groups, group);
}

void find_groups(struct recomputing *r) {
    struct statement_walk walk = walk_statements(&r->program->steps[STEP_TRAIN].body);
    while (walk_next(&walk))
        if (walk.statement->kind == STATEMENT_LOOP &&
            walk.statement->loop.body.statements[0].kind == STATEMENT_CALL)
            find_group(r, walk.statement);
}

const struct layer_group *layer_group_of(const struct recomputing *r, const struct call *forward) {
    for (uint32_t i = 0; i < r->n_groups; i++)
        if (r->groups[i].forward == forward)
            return &r->groups[i];
    return NULL;
}

// ---- what computes again ----------------------------------------------------------------------

// What backward needs and, but of the last layer of a group, what the next one does.
static struct call recompute_layer(struct recomputing *r, const struct layer_group *group,
                                   const char *suffix) {
    struct arena *arena = r->program->arena;
    const struct unit *unit = &r->program->job->units[group->forward->unit];
    bool last = suffix[0];
    value_id *wanted = ARENA_ARRAY(arena, value_id, unit->n_results);
    struct reference *results = ARENA_ARRAY(arena, struct reference, unit->n_results);
    uint32_t n = 0;
    for (uint32_t i = 0; i < unit->n_results; i++) {
        buffer_id buffer = group->forward->results[i].buffer;
        bool handed_on = buffer == group->hidden && !last;
        if (!handed_on && !(buffer < r->n_buffers && r->dropped[buffer]))
            continue;
        wanted[n] = unit->results[i].value;
        results[n++] = group->forward->results[i];
    }
    if (n == 0)
        return (struct call){.unit = NO_ID};
    const struct layer_range layers = {group->begin, group->end, 1};
    struct call call = make_recomputing(r, group->forward, &layers, suffix, wanted, n);
    call.results = results;
    return call;
}

void recompute_in_groups(struct recomputing *r) {
    for (uint32_t i = 0; i < r->n_groups; i++) {
        r->groups[i].again = recompute_layer(r, &r->groups[i], "");
        r->groups[i].last_again = recompute_layer(r, &r->groups[i], "_last");
    }
}

// ---- buffers ----------------------------------------------------------------------------------

struct group_cutter {
    struct recomputing *r;
    struct program *program;
    const struct layer_group *group;
    uint32_t n_groups;             // that an iteration goes over
    buffer_id *kept;               // of each: inputs of groups
    buffer_id again;               // inputs of the layers of one group
    uint32_t keep_unit, take_unit; // that copy from one to the other
};

static void give_slots(struct program *program, buffer_id id, int64_t n) {
    program->buffers[id].stacks = stacked(STACK_SLOTS, n);
}

static buffer_id add_slots(struct group_cutter *c, const char *prefix, int64_t n) {
    struct buffer made = c->program->buffers[c->group->hidden];
    made.name = arena_format(c->program->arena, "%s.%s", prefix, made.name);
    buffer_id id = program_add_buffer(c->program, made);
    give_slots(c->program, id, n);
    return id;
}

// What is kept and what is recomputed lies as what layers hand on does: so the copies have the
// roles of the op that makes it.
static uint32_t copying_unit(struct group_cutter *c, const char *verb, enum phase phase) {
    const struct unit *unit = &c->program->job->units[c->group->forward->unit];
    const struct buffer *hidden = &c->program->buffers[c->group->hidden];
    uint32_t result = handed_on(c->program, c->group->forward);
    return add_copying_unit(c->program, verb, hidden,
                            unit_producer(unit, unit->results[result].value), phase);
}

// ---- references -------------------------------------------------------------------------------

static void refer_to_slot(struct reference *at, buffer_id slots, int64_t n) {
    at->buffer = slots;
    at->indices[0] = index_in_slots(at->indices[0], n);
}

// What a statement in the group's loops names, now that there are slots; or, outside of them, what
// layers take and hand on at their ends.
static void refer(const struct group_cutter *c, struct statement *statement, bool backward) {
    const struct recomputing *r = c->r;
    struct access access;
    for (uint32_t i = 0; (access = statement_access(c->program, statement, i)).at; i++) {
        buffer_id id = access.at->buffer;
        if (id == c->group->hidden && backward)
            refer_to_slot(access.at, c->again, c->group->n);
        else if (id == c->group->hidden)
            refer_to_slot(access.at, id, 2);
        else if (backward && id < r->n_buffers && r->dropped[id])
            refer_to_slot(access.at, id, c->group->n);
    }
}

static void refer_all(const struct group_cutter *c, struct statement *statement, bool backward) {
    refer(c, statement, backward);
    if (statement->kind != STATEMENT_LOOP)
        return;
    struct statement_walk walk = walk_statements(&statement->loop.body);
    while (walk_next(&walk))
        refer(c, walk.statement, backward);
}

// ---- loops ------------------------------------------------------------------------------------

enum { GROUP, LAYER }; // variables of the loops

// The input of the group's first layer, to where it is kept or from there.
static void push_copy(const struct group_cutter *c, struct block *to, struct statement loop,
                      uint32_t unit, struct reference from, struct reference at) {
    struct arena *arena = c->program->arena;
    struct statement call = {.kind = STATEMENT_CALL,
                             .span = loop.span,
                             .call = {.unit = unit,
                                      .operands = arena_copy(arena, &from, sizeof from),
                                      .results = arena_copy(arena, &at, sizeof at)}};
    block_push(c->program->arena, &loop.loop.body, call);
    block_push(c->program->arena, to, loop);
}

static void push_recomputing(const struct group_cutter *c, struct block *to, struct statement loop,
                             struct call again) {
    if (again.unit == NO_ID || loop.loop.begin == loop.loop.end)
        return;
    const struct statement said = {.kind = STATEMENT_CALL, .span = loop.span, .call = again};
    struct statement call = statement_clone(c->program->arena, c->program, &said);
    refer(c, &call, true);
    deepen_variables(c->program, &call);
    block_push(c->program->arena, &loop.loop.body, call);
    block_push(c->program->arena, to, loop);
}

// What is done with the `number`th group of an iteration. `layers`: what it does with all of its
// layers.
static void push_group(const struct group_cutter *c, struct block *to, const struct statement *from,
                       const struct statement *layers, uint32_t number, bool backward) {
    int64_t n = c->group->n, cut = c->group->cut, first = number * n;
    int64_t end = first + n < cut ? first + n : cut;
    struct statement input = loop_in_group(from, cut, first, first + 1);
    struct reference kept = reference_at(c->kept[number], index_variable(GROUP, 0, 0));
    struct index layer = index_variable(LAYER, -c->group->begin, 0);
    struct reference hidden = reference_at(c->group->hidden, index_in_slots(layer, 2));
    struct reference again = reference_at(c->again, index_in_slots(layer, n));
    if (backward) {
        push_copy(c, to, input, c->take_unit, kept, again);
        push_recomputing(c, to, loop_in_group(from, cut, first, end - 1), c->group->again);
        push_recomputing(c, to, loop_in_group(from, cut, end - 1, end), c->group->last_again);
    } else {
        push_copy(c, to, input, c->keep_unit, hidden, kept);
    }
    struct statement all = statement_clone(c->program->arena, c->program, layers);
    all.loop.begin = from->loop.begin + first;
    all.loop.end = from->loop.begin + end;
    block_push(c->program->arena, to, all);
}

static struct statement loop_over_groups(const struct group_cutter *c, const struct statement *from,
                                         bool backward) {
    struct statement made = cut_in_groups(c->program, from, c->group->cut, "g");
    const struct statement layers = made.loop.body.statements[0];
    made.loop.body = (struct block){0};
    for (uint32_t i = 0; i < c->n_groups; i++)
        push_group(c, &made.loop.body, from, &layers, backward ? c->n_groups - 1 - i : i, backward);
    return made;
}

// Evaluation has no backward: its loops stay as they are.
static void cut_step(const struct group_cutter *c, struct step *step, bool train) {
    for (uint32_t i = 0; i < step->body.n; i++) {
        struct statement *s = &step->body.statements[i];
        bool loop = s->kind == STATEMENT_LOOP;
        bool backward = loop && is_backward_of(&s->loop, c->group->begin);
        bool forward = train && loop && &s->loop == c->group->loop;
        refer_all(c, s, backward);
        if (forward || backward)
            *s = loop_over_groups(c, s, backward);
    }
}

static const char *kept_name(const struct group_cutter *c, uint32_t number) {
    return number == 0 ? "saved" : arena_format(c->program->arena, "saved.%" PRIu32, number);
}

static void cut_group(struct recomputing *r, const struct layer_group *group) {
    struct group_cutter c = {.r = r, .program = r->program, .group = group};
    CHECK(buffer_items(&c.program->buffers[group->hidden]) == group->end - group->begin + 1);
    c.n_groups = (uint32_t)((group->cut + group->n - 1) / group->n);
    c.kept = ARENA_ARRAY(c.program->arena, buffer_id, c.n_groups);
    for (uint32_t i = 0; i < c.n_groups; i++)
        c.kept[i] = add_slots(&c, kept_name(&c, i), (group->end - group->begin) / group->cut);
    c.again = add_slots(&c, "again", group->n);
    c.keep_unit = copying_unit(&c, "keep", PHASE_FORWARD);
    c.take_unit = copying_unit(&c, "take", PHASE_BACKWARD);
    give_slots(c.program, group->hidden, 2);
    for (uint32_t i = 0; i < c.program->job->units[group->again.unit].n_results; i++)
        if (group->again.results[i].buffer != group->hidden)
            give_slots(c.program, group->again.results[i].buffer, group->n);
    for (int kind = 0; kind < N_STEPS; kind++)
        cut_step(&c, &c.program->steps[kind], kind == STEP_TRAIN);
}

void cut_groups(struct recomputing *r) {
    for (uint32_t i = 0; i < r->n_groups; i++)
        cut_group(r, &r->groups[i]);
}
