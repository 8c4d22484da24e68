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
// All of a group are in flight together, also where nothing is ahead. Where an iteration goes over
// several units, pieces of a group that is recomputed at once, gathers start ahead within it:
//
//   for g = 0 .. 3 {
//     start A  wait A  call block(A)  start B  wait B  call block(B)
//   }
// becomes, one unit ahead,
//   for g = 0 .. 3 {
//     start A  start B  wait A  call block(A)  wait B  call block(B)
//   }
#include "ir/check.h"
#include "passes/schedule/overlap.h"

// Gathers of what one iteration of a loop needs, and what stands behind them.
struct pipeline {
    struct statement *loop;
    int variable;         // the loop's, by its depth
    struct block leading; // pairs of start and wait, and loops of such
    struct block rest;
    int64_t ahead; // k: how many iterations before its use a gather starts
    int64_t slots; // of what is gathered: k + 1, or as many as there are iterations
};

// ---- which gathers ----------------------------------------------------------------------------

// Every layer has a place of its own where what is gathered is kept; else the next may have it too.
static bool has_slots(const struct overlapper *o, buffer_id buffer) {
    return !buffer_stack(&o->program->buffers[buffer], STACK_LAYERS);
}

static bool is_stacked_twice(const struct overlapper *o, buffer_id buffer) {
    return o->program->buffers[buffer].stacks.n > 1;
}

// A gather of what this iteration needs: of its layer, into the layer's place or one that the next
// iteration may have. What is stacked twice has slots of its own already, in another order.
static bool is_layer_gather(const struct overlapper *o, const struct transfer *transfer,
                            int variable) {
    if (transfer->exchange.kind != COLLECTIVE_ALL_GATHER)
        return false;
    for (uint32_t i = 0; i < transfer->n_pieces; i++) {
        const struct transfer_piece *piece = &transfer->pieces[i];
        const struct buffer *to = &o->program->buffers[piece->to.buffer];
        if (is_stacked_twice(o, piece->from.buffer) || is_stacked_twice(o, piece->to.buffer) ||
            piece->from.indices[0].variable != variable || to->class != CLASS_TRANSIENT ||
            (!has_slots(o, piece->to.buffer) && piece->to.indices[0].variable != variable))
            return false;
    }
    return true;
}

static bool is_nest(const struct overlapper *o, const struct statement *s, int variable);

// The pairs and loops of pairs at the front of a block, in the loop of that variable.
static uint32_t count_gathers(const struct overlapper *o, const struct block *block, int variable) {
    uint32_t n = 0;
    while (n < block->n) {
        if (is_pair(block, n) && is_layer_gather(o, &block->statements[n].start, variable))
            n += 2;
        else if (is_nest(o, &block->statements[n], variable))
            n++;
        else
            break;
    }
    return n;
}

// Is it a loop, inside that of `variable` and going with it, of gathers and nothing else?
static bool is_nest(const struct overlapper *o, const struct statement *s, int variable) {
    return s->kind == STATEMENT_LOOP && s->loop.stride &&
           count_gathers(o, &s->loop.body, variable + 1) == s->loop.body.n;
}

// Runs through the transfers that are started in a block, loops included.
struct transfer_walk {
    struct statement_walk statements;
    struct transfer *transfer;
};
static struct transfer_walk walk_transfers(const struct block *block) {
    return (struct transfer_walk){.statements = walk_statements(block)};
}
static bool next_transfer(struct transfer_walk *walk) {
    while (walk_next(&walk->statements))
        if (walk->statements.statement->kind == STATEMENT_START) {
            walk->transfer = &walk->statements.statement->start;
            return true;
        }
    return false;
}

static bool is_gathered(const struct block *gathers, buffer_id buffer) {
    struct transfer_walk walk = walk_transfers(gathers);
    while (next_transfer(&walk))
        for (uint32_t k = 0; k < walk.transfer->n_pieces; k++)
            if (walk.transfer->pieces[k].to.buffer == buffer)
                return true;
    return false;
}

// The second stride of a gather reads what the first has brought.
static bool reads_gathered(const struct block *gathers, struct statement *second) {
    struct transfer_walk walk = walk_transfers(&(struct block){second, 1, 0});
    while (next_transfer(&walk))
        for (uint32_t k = 0; k < walk.transfer->n_pieces; k++)
            if (is_gathered(gathers, walk.transfer->pieces[k].from.buffer))
                return true;
    return false;
}

// What is gathered for a piece of a layer is so a piece ahead, not layers: of a loop that begins
// ahead of itself no iteration's transients could share their bytes.
static bool is_of_piece(const struct overlapper *o, const struct transfer *transfer) {
    const struct buffer *from = &o->program->buffers[transfer->pieces[0].from.buffer];
    return placement_of(&o->placement, from)->gather_unit == UNIT_TENSOR;
}

static int64_t wanted_ahead(const struct overlapper *o, const struct block *gathers) {
    int64_t wanted = INT64_MAX;
    struct transfer_walk walk = walk_transfers(gathers);
    while (next_transfer(&walk)) {
        int64_t prefetch = is_of_piece(o, walk.transfer) ? 0 : wanted_prefetch(o, walk.transfer);
        wanted = prefetch < wanted ? prefetch : wanted;
    }
    return wanted;
}

static struct pipeline make_pipeline(struct statement *loop, int variable, struct block leading,
                                     int64_t ahead) {
    const struct block *body = &loop->loop.body;
    uint32_t before = (uint32_t)(leading.statements - body->statements) + leading.n;
    int64_t trips = loop->loop.end - loop->loop.begin;
    ahead = ahead < trips ? ahead : trips;
    return (struct pipeline){.loop = loop,
                             .variable = variable,
                             .leading = leading,
                             .rest = {body->statements + before, body->n - before, 0},
                             .ahead = ahead,
                             .slots = ahead < trips ? ahead + 1 : trips};
}

// Only gathers at the very front: what stands behind another statement may depend on it.
static struct pipeline find_pipeline(const struct overlapper *o, struct statement *loop,
                                     int variable) {
    const struct block *body = &loop->loop.body;
    struct block leading = {body->statements, 0, 0};
    uint32_t n = count_gathers(o, body, variable);
    while (leading.n < n && !reads_gathered(&leading, &body->statements[leading.n]))
        leading.n++;
    return make_pipeline(loop, variable, leading, wanted_ahead(o, &leading));
}

// ---- slots ------------------------------------------------------------------------------------

// The slot of what the iteration that is so many later gathers.
static struct index slot_of(const struct pipeline *p, int64_t offset) {
    return p->slots > 1 ? index_variable(p->variable, offset, p->slots) : index_constant(0);
}

// How many layers are gathered at once: those of a unit, or one.
static int64_t layers_of(const struct overlapper *o, const struct statement *gather) {
    struct transfer_walk walk = walk_transfers(&gather->loop.body);
    if (gather->kind != STATEMENT_LOOP || !next_transfer(&walk))
        return 1;
    const struct buffer *from = &o->program->buffers[walk.transfer->pieces[0].from.buffer];
    return placement_of(&o->placement, from)->gather_layers;
}

// Each layer of a group has slots of its own, and groups follow each other as layers do.
static int64_t slots_of(const struct overlapper *o, const struct pipeline *p,
                        const struct statement *gather) {
    return p->slots * layers_of(o, gather);
}

// References to a gathered buffer, in what follows the gathers, become those to the slot of this
// iteration.
static void refer_to_slots(struct overlapper *o, const struct pipeline *p,
                           struct statement *gather) {
    const struct block gathers = {gather, 1, 0};
    struct statement_walk walk = walk_statements(&p->rest);
    while (walk_next(&walk)) {
        struct access access;
        for (uint32_t i = 0; (access = statement_access(o->program, walk.statement, i)).at; i++)
            if (!has_slots(o, access.at->buffer) ||
                !is_gathered(&gathers, buffer_whole(o->program, access.at->buffer)))
                continue;
            else if (gather->kind == STATEMENT_LOOP)
                access.at->indices[0] =
                    index_variable(access.at->indices[0].variable, 0, slots_of(o, p, gather));
            else
                access.at->indices[0] = slot_of(p, 0);
    }
}

// Windows in what is gathered go with it.
static void set_slots(struct overlapper *o, buffer_id gathered, int64_t slots) {
    for (buffer_id id = 0; id < o->program->n_buffers; id++) {
        struct buffer *buffer = &o->program->buffers[id];
        if (id != gathered && buffer->window_of != gathered)
            continue;
        buffer->stacks = stacked(STACK_SLOTS, slots);
    }
}

// Each slot is a copy of the gathered unit: this is what prefetching costs.
static void give_slots(struct overlapper *o, const struct pipeline *p, struct statement *gather) {
    int64_t slots = slots_of(o, p, gather);
    struct transfer_walk walk = walk_transfers(&(struct block){gather, 1, 0});
    while (next_transfer(&walk)) {
        o->step->handles[walk.transfer->handle].slots = slots;
        for (uint32_t k = 0; k < walk.transfer->n_pieces; k++) {
            buffer_id gathered = walk.transfer->pieces[k].to.buffer;
            const struct buffer *buffer = &o->program->buffers[gathered];
            // Loops over fewer layers go round in fewer of them.
            if (has_slots(o, gathered) && buffer_items(buffer) < slots)
                set_slots(o, gathered, slots);
        }
    }
}

// ---- starts and waits -------------------------------------------------------------------------

// The start of what is gathered `offset` later: iterations, or layers of a loop of gathers. `slot`:
// of the transfer then, and of what it brings where that has slots.
static void move_start(struct overlapper *o, struct transfer *start, int64_t offset,
                       struct index slot) {
    for (uint32_t k = 0; k < start->n_pieces; k++) {
        struct transfer_piece *piece = &start->pieces[k];
        piece->from.indices[0].offset += offset;
        if (has_slots(o, piece->to.buffer))
            piece->to.indices[0] = slot;
        else
            piece->to.indices[0].offset += offset;
    }
    start->handle_index = slot;
}

// Takes the starts, or the waits, out of a loop of gathers, each in the slot of its layer.
static void keep_only(struct overlapper *o, struct block *block, enum statement_kind kind,
                      int64_t offset, struct index slot) {
    struct block kept = {0};
    for (uint32_t i = 0; i < block->n; i++) {
        struct statement s = block->statements[i];
        struct index inside = index_variable(slot.variable + 1, slot.offset, slot.modulus);
        if (s.kind == STATEMENT_LOOP)
            keep_only(o, &s.loop.body, kind, offset, inside);
        else if (s.kind != kind)
            continue;
        else if (kind == STATEMENT_START)
            move_start(o, &s.start, offset, slot);
        else
            s.wait.index = slot;
        block_push(o->program, &kept, s);
    }
    *block = kept;
}

static struct statement half_of_nest(struct overlapper *o, const struct pipeline *p,
                                     const struct statement *nest, enum statement_kind kind,
                                     int64_t offset) {
    struct statement half = statement_clone(o->program->arena, o->program, nest);
    offset *= layers_of(o, nest);
    keep_only(o, &half.loop.body, kind, offset,
              index_variable(p->variable + 1, offset, slots_of(o, p, nest)));
    return half;
}

// The gathers of the iteration `ahead` iterations later than the loop's variable says.
static void push_starts(struct overlapper *o, struct block *to, const struct pipeline *p,
                        int64_t ahead) {
    int64_t offset = p->loop->loop.descending ? -ahead : ahead;
    for (uint32_t i = 0; i < p->leading.n; i++) {
        const struct statement *gather = &p->leading.statements[i];
        struct statement start = statement_clone(o->program->arena, o->program, gather);
        if (gather->kind == STATEMENT_LOOP)
            start = half_of_nest(o, p, gather, STATEMENT_START, offset);
        else if (gather->kind == STATEMENT_START)
            move_start(o, &start.start, offset, slot_of(p, offset));
        if (gather->kind != STATEMENT_WAIT)
            block_push(o->program, to, start);
    }
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
static struct statement *first_reader(const struct overlapper *o, const struct pipeline *p,
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
static void place_waits(struct overlapper *o, struct pipeline *p, struct statement *nest,
                        struct block *before) {
    struct statement waits = half_of_nest(o, p, nest, STATEMENT_WAIT, 0);
    struct statement *reader = first_reader(o, p, nest);
    if (!reader || !same_iterations(nest, reader) || is_nest(o, reader, p->variable) ||
        waits.loop.body.statements[0].kind == STATEMENT_LOOP) {
        block_push(o->program, before, waits);
        return;
    }
    for (uint32_t i = 0; i < waits.loop.body.n; i++)
        block_insert(o->program, &reader->loop.body, i, waits.loop.body.statements[i]);
}

// The waits for an iteration's gathers, at the front of what follows them.
static struct block waits_of(struct overlapper *o, struct pipeline *p) {
    struct block waits = {0};
    for (uint32_t i = 0; i < p->leading.n; i++) {
        struct statement *gather = &p->leading.statements[i];
        if (gather->kind == STATEMENT_LOOP) {
            place_waits(o, p, gather, &waits);
        } else if (gather->kind == STATEMENT_WAIT) {
            struct statement wait = *gather;
            wait.wait.index = slot_of(p, 0);
            block_push(o->program, &waits, wait);
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

static void refer_and_give_slots(struct overlapper *o, const struct pipeline *p) {
    for (uint32_t i = 0; i < p->leading.n; i++) {
        refer_to_slots(o, p, &p->leading.statements[i]);
        give_slots(o, p, &p->leading.statements[i]);
    }
}

// What an iteration does, once its gathers have been started. A loop of gathers that could not
// start ahead is one after all: its layers' travel together.
static struct block rest_of(struct overlapper *o, struct pipeline *p) {
    struct block rest = waits_of(o, p);
    for (uint32_t i = 0; i < p->rest.n; i++) {
        if (!is_nest(o, &p->rest.statements[i], p->variable)) {
            block_push(o->program, &rest, p->rest.statements[i]);
            continue;
        }
        struct block nest = {&p->rest.statements[i], 1, 0};
        struct pipeline here = make_pipeline(p->loop, p->variable, nest, 0);
        refer_and_give_slots(o, &here);
        push_starts(o, &rest, &here, 0);
        struct block waits = waits_of(o, &here);
        push_copies(o, &rest, waits.statements, waits.n);
    }
    return rest;
}

// Where the unit ends that begins with the gathers at `begin`: at the next that stand behind what it
// computes.
static uint32_t end_of_unit(const struct overlapper *o, const struct block *body, uint32_t begin,
                            int variable) {
    bool computes = false;
    for (uint32_t i = begin; i < body->n; i++) {
        bool gathers = is_nest(o, &body->statements[i], variable);
        if (gathers && computes)
            return i;
        computes |= !gathers;
    }
    return body->n;
}

// The units of an iteration; fewer than two: it is one, or has none.
struct units {
    struct pipeline *items;
    uint32_t n;
};

static struct units find_units(const struct overlapper *o, struct statement *loop, int variable) {
    const struct block *body = &loop->loop.body;
    struct units units = {ARENA_ARRAY(o->program->arena, struct pipeline, body->n + 1), 0};
    for (uint32_t begin = 0, end; begin < body->n; begin = end) {
        struct statement part = *loop;
        end = end_of_unit(o, body, begin, variable);
        part.loop.body = (struct block){&body->statements[begin], end - begin, 0};
        units.items[units.n] = find_pipeline(o, &part, variable);
        units.items[units.n++].loop = loop;
    }
    for (uint32_t i = 0; i < units.n; i++) {
        struct pipeline *p = &units.items[i];
        int64_t wanted = wanted_ahead(o, &p->leading);
        p->ahead = wanted < units.n - 1 ? wanted : units.n - 1;
        p->slots = p->ahead + 1;
    }
    return units;
}

// Each unit in its place, behind the starts of those that are to be ahead of theirs by then.
static void push_units(struct overlapper *o, struct block *to, struct statement *loop,
                       struct units units) {
    struct block body = {0};
    for (uint32_t i = 0; i < units.n; i++)
        refer_and_give_slots(o, &units.items[i]);
    for (uint32_t i = 0, started = 0; i < units.n; i++) {
        for (; started < units.n && started <= i + units.items[started].ahead; started++)
            push_starts(o, &body, &units.items[started], 0);
        struct block rest = rest_of(o, &units.items[i]);
        push_copies(o, &body, rest.statements, rest.n);
    }
    loop->loop.body = body;
    block_push(o->program, to, *loop);
}

static void push_loop(struct overlapper *o, struct block *to, struct statement loop) {
    if (loop.loop.end > loop.loop.begin)
        block_push(o->program, to, loop);
}

// Prologue, middle, epilogue: together they run every iteration once, and gather every layer once.
static void push_pipelined(struct overlapper *o, struct block *to, struct pipeline *p) {
    int64_t n = p->loop->loop.end - p->loop->loop.begin;
    struct statement prologue = part_of_loop(p->loop, 0, p->ahead);
    struct statement middle = part_of_loop(p->loop, 0, n - p->ahead);
    struct statement epilogue = part_of_loop(p->loop, n - p->ahead, n);
    refer_and_give_slots(o, p);
    push_starts(o, &prologue.loop.body, p, 0);
    push_starts(o, &middle.loop.body, p, p->ahead);
    struct block rest = rest_of(o, p);
    push_copies(o, &middle.loop.body, rest.statements, rest.n);
    push_copies(o, &epilogue.loop.body, rest.statements, rest.n);
    push_loop(o, to, prologue);
    push_loop(o, to, middle);
    push_loop(o, to, epilogue);
}

// All gathers of a group's layers travel together, ahead or not.
static bool is_pipelined(const struct pipeline *p) {
    return p->leading.n > 0 && p->rest.n > 0 &&
           (p->ahead > 0 || p->leading.statements[0].kind == STATEMENT_LOOP);
}

// Inner loops first: the loop over microbatches holds those over layers.
void prefetch_block(struct overlapper *o, struct block *block, int depth) {
    struct block made = {0};
    for (uint32_t i = 0; i < block->n; i++) {
        struct statement *s = &block->statements[i];
        if (s->kind != STATEMENT_LOOP) {
            block_push(o->program, &made, *s);
            continue;
        }
        prefetch_block(o, &s->loop.body, depth + 1);
        struct pipeline p = find_pipeline(o, s, depth);
        struct units units = find_units(o, s, depth);
        if (units.n > 1)
            push_units(o, &made, s, units);
        else if (is_pipelined(&p))
            push_pipelined(o, &made, &p);
        else
            block_push(o->program, &made, *s);
    }
    *block = made;
}
