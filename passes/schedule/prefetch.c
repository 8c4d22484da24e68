// Overlap, prefetch: gathers in loops over layers start some iterations before their use.
//
// What one iteration gathers are pairs of start and wait at its front; in a loop over groups of
// layers, loops of pairs over the layers of a group:
//
//   for u = 0 .. 3 {
//     for l = 2*u .. 2*u+2 { start gather[0] { w[l] -> g[l mod 2] }  wait gather[0] }
//     for l = 2*u .. 2*u+2 { call block(w = g[l mod 2]) }
//   }
// becomes, one group ahead,
//   for u = 0 .. 1 { for l = 2*u .. 2*u+2 { start gather[l mod 4] { w[l] -> g[l mod 4] } } }
//   for u = 0 .. 2 {
//     for l = 2*u .. 2*u+2 { start gather[l+2 mod 4] { w[l+2] -> g[l+2 mod 4] } }
//     for l = 2*u .. 2*u+2 { wait gather[l mod 4]  call block(w = g[l mod 4]) }
//   }
//   for u = 2 .. 3 { for l = 2*u .. 2*u+2 { wait gather[l mod 4]  call block(w = g[l mod 4]) } }
//
// All of a group are in flight together, also where nothing is ahead. Where a gather reads what
// another has brought, a copy from another tier or a first stride, each is a stage, and starts ahead of
// the one that reads it: copied two layers and gathered one layer ahead,
//
//   for l = 0 .. 1 {
//     start fetch[l+3 mod 4] { w[l+3] -> f[l+3 mod 4] }
//     wait fetch[l+1 mod 4]  start gather[l+1 mod 2] { f[l+1 mod 4] -> g[l+1 mod 2] }
//     wait gather[l mod 2]  call block(w = g[l mod 2])
//   }
//
// with a loop in front for each stage, and one behind. Where an iteration goes over several units, pieces
// of a group that is recomputed at once, gathers start ahead within it:
//
//   for g = 0 .. 3 {
//     start A  wait A  call block(A)  start B  wait B  call block(B)
//   }
// becomes, one unit ahead,
//   for g = 0 .. 3 {
//     start A  start B  wait A  call block(A)  wait B  call block(B)
//   }
#include <stdlib.h>

#include "passes/schedule/gather_pipeline.h"

// ---- starts and waits -------------------------------------------------------------------------

static void move_reference(const struct overlapper *o, struct reference *at, int64_t offset,
                           int variable) {
    struct index *layer = &at->indices[layer_stack(o, at->buffer)];
    *layer =
        has_slots(o, at->buffer) ? slot_of(o, at, variable, offset) : index_moved(*layer, offset);
}

// The start of what is gathered `offset` later: iterations, or layers of a loop of gathers, whose
// variable it is. Or the call that casts what is gathered.
static void move_start(struct overlapper *o, struct statement *s, int64_t offset, int variable) {
    struct access access;
    for (uint32_t i = 0; (access = statement_access(o->program, s, i)).at; i++)
        move_reference(o, access.at, offset, variable);
    if (s->kind == STATEMENT_START)
        s->start.handle_index = flight_of(o, s->start.handle, variable, offset);
}

// A gather begins with its start, or with the call that casts what it gathers.
static enum statement_kind half_of(const struct statement *s) {
    return s->kind == STATEMENT_CALL ? STATEMENT_START : s->kind;
}

// Takes the starts, or the waits, out of a loop of gathers, each in the slot of its layer.
static void keep_only(struct overlapper *o, struct block *block, enum statement_kind kind,
                      int64_t offset, int variable) {
    struct block kept = {0};
    for (uint32_t i = 0; i < block->n; i++) {
        struct statement s = block->statements[i];
        if (s.kind == STATEMENT_LOOP)
            keep_only(o, &s.loop.body, kind, offset, variable + 1);
        else if (half_of(&s) != kind)
            continue;
        else if (kind == STATEMENT_START)
            move_start(o, &s, offset, variable);
        else
            s.wait.index = flight_of(o, s.wait.handle, variable, offset);
        block_push(o->program->arena, &kept, s);
    }
    *block = kept;
}

static struct statement half_of_nest(struct overlapper *o, const struct gather_pipeline *p,
                                     const struct statement *nest, enum statement_kind kind,
                                     int64_t offset) {
    struct statement half = statement_clone(o->program->arena, o->program, nest);
    offset *= layers_between_iterations(nest);
    keep_only(o, &half.loop.body, kind, offset, p->variable + 1);
    return half;
}

// The starts, or the waits, of a stage for the iteration `ahead` iterations later than the loop's
// variable says.
static void push_halves(struct overlapper *o, struct block *to, const struct gather_pipeline *p,
                        const struct stage *stage, enum statement_kind kind, int64_t ahead) {
    int64_t offset = p->loop->loop.descending ? -ahead : ahead;
    for (uint32_t i = 0; i < stage->gathers.n; i++) {
        const struct statement *gather = &stage->gathers.statements[i];
        struct statement half = statement_clone(o->program->arena, o->program, gather);
        if (gather->kind == STATEMENT_LOOP)
            half = half_of_nest(o, p, gather, kind, offset);
        else if (half_of(gather) != kind)
            continue;
        else if (kind == STATEMENT_START)
            move_start(o, &half, offset, p->variable);
        else
            half.wait.index = flight_of(o, half.wait.handle, p->variable, offset);
        block_push(o->program->arena, to, half);
    }
}

// Starts a stage, once what it reads is there: what the stage behind it has brought.
static void push_starts(struct overlapper *o, struct block *to, const struct gather_pipeline *p,
                        uint32_t stage, int64_t ahead) {
    if (stage + 1 < p->n_stages)
        push_halves(o, to, p, &p->stages[stage + 1], STATEMENT_WAIT, ahead);
    push_halves(o, to, p, &p->stages[stage], STATEMENT_START, ahead);
}

static bool same_iterations(const struct statement *a, const struct statement *b) {
    return a->kind == STATEMENT_LOOP && b->kind == STATEMENT_LOOP &&
           a->loop.begin == b->loop.begin && a->loop.end == b->loop.end &&
           a->loop.stride == b->loop.stride && a->loop.descending == b->loop.descending;
}

// A loop over other layers of the same group has slots of its own.
static bool is_of_other_layers(const struct statement *a, const struct statement *b) {
    return a->kind == STATEMENT_LOOP && b->kind == STATEMENT_LOOP && a->loop.stride > 0 &&
           a->loop.stride == b->loop.stride &&
           (a->loop.end <= b->loop.begin || b->loop.end <= a->loop.begin);
}

// The first of `rest` that touches what the nest gathers; NULL: nothing does.
static struct statement *first_reader(const struct overlapper *o, const struct gather_pipeline *p,
                                      struct statement *nest) {
    for (uint32_t i = 0; i < p->rest.n; i++) {
        if (is_of_other_layers(nest, &p->rest.statements[i]))
            continue;
        struct transfer_walk walk = walk_transfers(&(struct block){nest, 1, 0});
        while (next_transfer(&walk))
            if (touches(o, &p->rest.statements[i], walk.transfer))
                return &p->rest.statements[i];
    }
    return NULL;
}

// A layer's gathers are waited for where the layer is computed, if that is in a loop like the
// nest's; else all of a group's are before what comes first.
static void place_waits(struct overlapper *o, struct gather_pipeline *p, struct statement *nest,
                        struct block *before) {
    struct statement waits = half_of_nest(o, p, nest, STATEMENT_WAIT, 0);
    struct statement *reader = first_reader(o, p, nest);
    if (!reader || !same_iterations(nest, reader) ||
        is_nest(o, reader, &p->loop->loop.body, p->variable) ||
        waits.loop.body.statements[0].kind == STATEMENT_LOOP) {
        block_push(o->program->arena, before, waits);
        return;
    }
    for (uint32_t i = 0; i < waits.loop.body.n; i++)
        block_insert(o->program->arena, &reader->loop.body, i, waits.loop.body.statements[i]);
}

// The waits for what an iteration's last stage gathers, at the front of what follows.
static struct block waits_of(struct overlapper *o, struct gather_pipeline *p) {
    struct block waits = {0};
    for (uint32_t i = 0; p->n_stages && i < p->stages[0].gathers.n; i++) {
        struct statement *gather = &p->stages[0].gathers.statements[i];
        if (gather->kind == STATEMENT_LOOP) {
            place_waits(o, p, gather, &waits);
        } else if (gather->kind == STATEMENT_WAIT) {
            struct statement wait = *gather;
            wait.wait.index = flight_of(o, wait.wait.handle, p->variable, 0);
            block_push(o->program->arena, &waits, wait);
        }
    }
    return waits;
}

// ---- loops ------------------------------------------------------------------------------------

// The part of the iterations between two places in the order of execution: `from` .. `to` counted
// from the loop's first iteration.
static struct statement part_of_loop(const struct statement *loop, int64_t from, int64_t to) {
    struct statement part = *loop;
    part.loop.body = (struct block){0};
    if (loop->loop.descending) {
        part.loop.begin = loop->loop.end - to;
        part.loop.end = loop->loop.end - from;
    } else {
        part.loop.end = loop->loop.begin + to;
        part.loop.begin = loop->loop.begin + from;
    }
    return part;
}

// What an iteration does, once its gathers have been started. A loop of gathers that could not
// start ahead is one after all: its layers' travel together.
static struct block rest_of(struct overlapper *o, struct gather_pipeline *p) {
    struct block rest = waits_of(o, p);
    for (uint32_t i = 0; i < p->rest.n; i++) {
        if (!is_nest(o, &p->rest.statements[i], &p->loop->loop.body, p->variable)) {
            block_push(o->program->arena, &rest, p->rest.statements[i]);
            continue;
        }
        struct gather_pipeline here = pipeline_of_nest(o, p, i);
        refer_and_give_slots(o, &here);
        push_starts(o, &rest, &here, 0, 0);
        struct block waits = waits_of(o, &here);
        push_copies(o, &rest, waits.statements, waits.n);
    }
    return rest;
}

static uint32_t most_stages(struct units units) {
    uint32_t most = 0;
    for (uint32_t i = 0; i < units.n; i++)
        most = units.items[i].n_stages > most ? units.items[i].n_stages : most;
    return most;
}

// The starts of a stage of those units that are to be ahead of their use by the time of a unit.
// `started`: of how many units it has.
static void push_starts_by(struct overlapper *o, struct block *to, struct units units,
                           uint32_t stage, uint32_t unit, uint32_t *started) {
    for (; *started < units.n; ++*started) {
        const struct gather_pipeline *p = &units.items[*started];
        if (stage >= p->n_stages)
            continue;
        if (*started > unit + p->stages[stage].ahead)
            return;
        push_starts(o, to, p, stage, 0);
    }
}

// Each unit in its place, behind the starts of those that are to be ahead of theirs by then.
static void push_units(struct overlapper *o, struct block *to, struct statement *loop,
                       struct units units) {
    struct block body = {0};
    uint32_t n_stages = most_stages(units);
    uint32_t *started = ARENA_ARRAY(o->scratch, uint32_t, n_stages + 1);
    for (uint32_t i = 0; i < units.n; i++)
        refer_and_give_slots(o, &units.items[i]);
    for (uint32_t i = 0; i < units.n; i++) {
        for (uint32_t stage = n_stages; stage-- > 0;)
            push_starts_by(o, &body, units, stage, i, &started[stage]);
        struct block rest = rest_of(o, &units.items[i]);
        push_copies(o, &body, rest.statements, rest.n);
    }
    loop->loop.body = body;
    block_push(o->program->arena, to, *loop);
}

// What goes on between two times, counted in iterations that are computed: the stages that start
// something then, each for the iteration that is so far ahead, and what is computed. The loop's
// variable says the one that is the least ahead.
static void push_time(struct overlapper *o, struct block *to, const struct gather_pipeline *p,
                      const struct block *rest, int64_t from, int64_t until) {
    int64_t n = p->loop->loop.end - p->loop->loop.begin;
    bool computes = from >= 0;
    int64_t least = computes ? 0 : INT64_MAX;
    for (uint32_t i = p->n_stages; i-- > 0 && !computes;)
        if (from >= -p->stages[i].ahead && from < n - p->stages[i].ahead)
            least = p->stages[i].ahead;
    if (from >= until || least == INT64_MAX)
        return;
    struct statement part = part_of_loop(p->loop, from + least, until + least);
    for (uint32_t i = p->n_stages; i-- > 0;)
        if (from >= -p->stages[i].ahead && from < n - p->stages[i].ahead)
            push_starts(o, &part.loop.body, p, i, p->stages[i].ahead - least);
    if (computes)
        push_copies(o, &part.loop.body, rest->statements, rest->n);
    block_push(o->program->arena, to, part);
}

static int by_time(const void *left, const void *right) {
    const int64_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

// Together these run every iteration once, and gather every layer once: a prologue for each stage,
// the middle, and an epilogue for each.
static void push_pipelined(struct overlapper *o, struct block *to, struct gather_pipeline *p) {
    int64_t n = p->loop->loop.end - p->loop->loop.begin;
    uint32_t n_times = 0;
    int64_t *times = ARENA_ARRAY(o->scratch, int64_t, 2 * p->n_stages + 2);
    times[n_times++] = 0;
    times[n_times++] = n;
    for (uint32_t i = 0; i < p->n_stages; i++) {
        times[n_times++] = -p->stages[i].ahead;
        times[n_times++] = n - p->stages[i].ahead;
    }
    qsort(times, n_times, sizeof *times, by_time);
    refer_and_give_slots(o, p);
    struct block rest = rest_of(o, p);
    for (uint32_t i = 1; i < n_times; i++)
        push_time(o, to, p, &rest, times[i - 1], times[i]);
}

// All gathers of a group's layers travel together, ahead or not.
static bool is_pipelined(const struct gather_pipeline *p) {
    bool ahead = false;
    for (uint32_t i = 0; i < p->n_stages; i++)
        ahead |=
            p->stages[i].ahead > 0 || p->stages[i].gathers.statements[0].kind == STATEMENT_LOOP;
    return ahead && p->rest.n > 0;
}

// Inner loops first: the loop over microbatches holds those over layers.
void prefetch_block(struct overlapper *o, struct block *block, int depth) {
    struct block made = {0};
    for (uint32_t i = 0; i < block->n; i++) {
        struct statement *s = &block->statements[i];
        if (s->kind != STATEMENT_LOOP) {
            block_push(o->program->arena, &made, *s);
            continue;
        }
        prefetch_block(o, &s->loop.body, depth + 1);
        struct gather_pipeline p = find_gather_pipeline(o, s, depth);
        struct units units = find_units(o, s, depth);
        if (units.n < 2)
            units = (struct units){&p, 1};
        count_slots(o, &units);
        if (units.n > 1)
            push_units(o, &made, s, units);
        else if (is_pipelined(&p))
            push_pipelined(o, &made, &p);
        else
            block_push(o->program->arena, &made, *s);
    }
    *block = made;
}
