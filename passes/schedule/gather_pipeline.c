// Overlap, prefetch: which gathers an iteration of a loop begins with, and the slots that they bring
// what they gather to; see pipeline.h.
#include "passes/schedule/gather_pipeline.h"

#include <string.h>

#include "ir/check.h"
#include "passes/routes/routes.h"

bool has_slots(const struct overlapper *o, buffer_id buffer) {
    return !buffer_stack(&o->program->buffers[buffer], STACK_LAYERS);
}

bool has_slots_of_owners(const struct overlapper *o, buffer_id buffer) {
    return o->program->buffers[buffer].layout.owners.n && has_slots(o, buffer);
}

unsigned layer_stack(const struct overlapper *o, buffer_id buffer) {
    int layers = buffer_find_stack(&o->program->buffers[buffer], STACK_LAYERS);
    return layers < 0 ? 0 : (unsigned)layers;
}

static bool is_in_flight(const struct overlapper *o, buffer_id buffer) {
    return buffer_stack(&o->program->buffers[buffer], STACK_IN_FLIGHT);
}

static bool is_stacked_twice(const struct overlapper *o, buffer_id buffer) {
    return o->program->buffers[buffer].stacks.n > 1;
}

// Shards that were cast into their place are gathered around themselves.
static bool is_around_itself(const struct overlapper *o, const struct transfer_piece *piece) {
    return buffer_whole(o->program, piece->from.buffer) ==
           buffer_whole(o->program, piece->to.buffer);
}

// What a piece brings is a place of its own, or this device's part of one.
static buffer_id brought(const struct overlapper *o, const struct transfer_piece *piece) {
    return buffer_whole(o->program, piece->to.buffer);
}

static bool is_gathered(const struct overlapper *o, const struct block *gathers, buffer_id buffer) {
    struct transfer_walk walk = walk_transfers(gathers);
    while (next_transfer(&walk))
        for (uint32_t k = 0; k < walk.transfer->n_pieces; k++)
            if (brought(o, &walk.transfer->pieces[k]) == buffer)
                return true;
    return false;
}

// Is what a gather reads this iteration's, in the loop of that variable: its layer's, or what another
// brings in the body of the loop around?
static bool is_of_iteration(const struct overlapper *o, const struct reference *read,
                            const struct block *around, int variable) {
    return read->indices[layer_stack(o, read->buffer)].variable == variable ||
           (has_slots(o, read->buffer) && is_gathered(o, around, read->buffer));
}

// A gather of what this iteration needs into its layer's place or one that the next iteration may
// have. What is stacked twice has slots of its own already, in another order, unless it is read of a
// microbatch in flight.
static bool is_layer_gather(const struct overlapper *o, const struct transfer *transfer,
                            const struct block *around, int variable) {
    if (!brings_ahead(transfer))
        return false;
    for (uint32_t i = 0; i < transfer->n_pieces; i++) {
        const struct transfer_piece *piece = &transfer->pieces[i];
        const struct buffer *to = &o->program->buffers[piece->to.buffer];
        if ((is_stacked_twice(o, piece->from.buffer) && !is_in_flight(o, piece->from.buffer)) ||
            is_stacked_twice(o, piece->to.buffer) ||
            (!is_around_itself(o, piece) && !is_of_iteration(o, &piece->from, around, variable)) ||
            to->class != CLASS_TRANSIENT ||
            (!has_slots(o, piece->to.buffer) && piece->to.indices[0].variable != variable))
            return false;
    }
    return true;
}

// How many calls from there on cast for a pair behind them.
static uint32_t casts_at(const struct overlapper *o, const struct block *block, uint32_t at) {
    uint32_t n = 0;
    while (at + n < block->n && prepares_gather(o, &block->statements[at + n]))
        n++;
    return n;
}

// A call that casts this iteration's shards for the pair behind it, or behind others of these.
static bool is_layer_cast(const struct overlapper *o, const struct block *block, uint32_t at,
                          const struct block *around, int variable) {
    const struct statement *s = &block->statements[at];
    uint32_t n = casts_at(o, block, at);
    if (n == 0 || !is_pair(block, at + n) ||
        !is_layer_gather(o, &block->statements[at + n].start, around, variable))
        return false;
    for (uint32_t i = 0; i < o->program->job->units[s->call.unit].n_parameters; i++)
        if (!is_of_iteration(o, &s->call.operands[i], around, variable))
            return false;
    return true;
}

// The pairs and loops of pairs at the front of a block, in the loop of that variable. Frees among
// them are found anew by `release`.
static uint32_t count_gathers(const struct overlapper *o, const struct block *block,
                              const struct block *around, int variable) {
    uint32_t n = 0;
    while (n < block->n) {
        if (is_pair(block, n) && is_layer_gather(o, &block->statements[n].start, around, variable))
            n += 2;
        else if (is_layer_cast(o, block, n, around, variable) ||
                 is_nest(o, &block->statements[n], around, variable) ||
                 (n > 0 && statement_only_frees(&block->statements[n])))
            n++;
        else
            break;
    }
    return n;
}

bool is_nest(const struct overlapper *o, const struct statement *s, const struct block *around,
             int variable) {
    return s->kind == STATEMENT_LOOP && s->loop.stride &&
           count_gathers(o, &s->loop.body, around, variable + 1) == s->loop.body.n;
}

// What is gathered for a piece of a layer is so a piece ahead, not layers: of a loop that begins
// ahead of itself no iteration's transients could share their bytes.
static bool is_of_piece(const struct overlapper *o, const struct transfer *transfer) {
    const struct buffer *from = &o->program->buffers[transfer->pieces[0].from.buffer];
    return from->class != CLASS_ACTIVATIONS &&
           storage_of(&o->placement, from)->gather_unit == UNIT_TENSOR;
}

// ---- stages -----------------------------------------------------------------------------------

// Does one of the gathers read what `first` brings?
static bool reads_gathered(const struct overlapper *o, const struct block *first,
                           const struct block *second) {
    struct statement_walk walk = walk_statements(second);
    while (walk_next(&walk)) {
        struct access access;
        for (uint32_t i = 0; (access = statement_access(o->program, walk.statement, i)).at; i++)
            if (!access.written && is_gathered(o, first, access.at->buffer))
                return true;
    }
    return false;
}

// A gather among several: a pair, with the calls before it that cast for it, or a loop of pairs.
static struct block next_gather(const struct block *gathers, uint32_t at) {
    uint32_t n = 0;
    while (gathers->statements[at + n].kind == STATEMENT_CALL)
        n++;
    n += gathers->statements[at].kind == STATEMENT_LOOP ? 1 : 2;
    return (struct block){&gathers->statements[at], n, 0};
}

// The stage of the gather at `at`: the first, unless what it brings is gathered by others.
static uint32_t stage_of(const struct overlapper *o, const struct block *gathers, uint32_t at) {
    const struct block first = next_gather(gathers, at);
    uint32_t stage = 0;
    for (uint32_t i = at + first.n, n; i < gathers->n; i += n) {
        const struct block second = next_gather(gathers, i);
        n = second.n;
        if (!reads_gathered(o, &first, &second))
            continue;
        uint32_t behind = 1 + stage_of(o, gathers, i);
        stage = behind > stage ? behind : stage;
    }
    return stage;
}

// From where what a gather reads was brought, by others or by none.
static struct reference source_of(const struct overlapper *o, const struct block *gathers,
                                  struct reference from) {
    struct transfer_walk walk = walk_transfers(gathers);
    while (next_transfer(&walk))
        for (uint32_t k = 0; k < walk.transfer->n_pieces; k++) {
            const struct transfer_piece *piece = &walk.transfer->pieces[k];
            if (brought(o, piece) == from.buffer && !is_around_itself(o, piece))
                return source_of(o, gathers, piece->from);
        }
    return from;
}

static int64_t wanted_ahead(const struct overlapper *o, const struct block *all,
                            const struct block *gathers) {
    int64_t wanted = INT64_MAX;
    struct transfer_walk walk = walk_transfers(gathers);
    while (next_transfer(&walk)) {
        struct transfer from_rest = *walk.transfer;
        from_rest.pieces = ARENA_ARRAY(o->scratch, struct transfer_piece, from_rest.n_pieces + 1);
        for (uint32_t k = 0; k < from_rest.n_pieces; k++) {
            from_rest.pieces[k] = walk.transfer->pieces[k];
            from_rest.pieces[k].from = source_of(o, all, from_rest.pieces[k].from);
        }
        int64_t prefetch = is_of_piece(o, &from_rest) ? 0 : wanted_prefetch(o, &from_rest);
        wanted = prefetch < wanted ? prefetch : wanted;
    }
    return wanted;
}

// A stage starts ahead of the next, and so of the use by what that is ahead, too: at most so many
// iterations, or units, that are `most`.
static void set_ahead(const struct overlapper *o, struct gather_pipeline *p,
                      const struct block *all, int64_t most) {
    int64_t ahead = 0;
    for (uint32_t i = 0; i < p->n_stages; i++) {
        int64_t wanted = wanted_ahead(o, all, &p->stages[i].gathers);
        ahead = wanted < most - ahead ? ahead + wanted : most;
        p->stages[i].ahead = ahead;
    }
}

static void add_stages(const struct overlapper *o, struct gather_pipeline *p,
                       const struct block *all) {
    p->stages = ARENA_ARRAY(o->program->arena, struct stage, all->n + 1);
    for (uint32_t i = 0, n; i < all->n; i += n) {
        const struct block gather = next_gather(all, i);
        uint32_t stage = stage_of(o, all, i);
        n = gather.n;
        p->n_stages = stage < p->n_stages ? p->n_stages : stage + 1;
        for (uint32_t k = 0; k < n; k++)
            block_push(o->program->arena, &p->stages[stage].gathers, gather.statements[k]);
    }
}

// Only gathers at the very front: what stands behind another statement may depend on it.
static struct gather_pipeline pipeline_ahead(const struct overlapper *o, struct statement *loop,
                                             int variable, struct block body, int64_t most) {
    uint32_t n = count_gathers(o, &body, &loop->loop.body, variable);
    struct block gathers = {0};
    struct gather_pipeline p = {
        .loop = loop, .variable = variable, .rest = {body.statements + n, body.n - n, 0}};
    for (uint32_t i = 0; i < n; i++)
        if (!statement_only_frees(&body.statements[i]))
            block_push(o->program->arena, &gathers, body.statements[i]);
    add_stages(o, &p, &gathers);
    set_ahead(o, &p, &gathers, most);
    return p;
}

struct gather_pipeline find_gather_pipeline(const struct overlapper *o, struct statement *loop,
                                            int variable) {
    int64_t trips = loop->loop.end - loop->loop.begin;
    struct gather_pipeline p = pipeline_ahead(o, loop, variable, loop->loop.body, trips);
    for (uint32_t i = 0; i < p.n_stages; i++)
        p.stages[i].slots = p.stages[i].ahead < trips ? p.stages[i].ahead + 1 : trips;
    return p;
}

struct gather_pipeline pipeline_of_nest(const struct overlapper *o, const struct gather_pipeline *p,
                                        uint32_t at) {
    struct gather_pipeline made = {.loop = p->loop,
                                   .variable = p->variable,
                                   .stages = ARENA_ARRAY(o->program->arena, struct stage, 1),
                                   .n_stages = 1,
                                   .rest = {p->rest.statements + at + 1, p->rest.n - at - 1, 0}};
    made.stages[0] = (struct stage){.gathers = {p->rest.statements + at, 1, 0}, .slots = 1};
    return made;
}

// ---- units ------------------------------------------------------------------------------------

// Where the unit ends that begins with the gathers at `begin`: at the next that stand behind what it
// computes.
static uint32_t end_of_unit(const struct overlapper *o, const struct block *body, uint32_t begin,
                            int variable) {
    bool computes = false;
    for (uint32_t i = begin; i < body->n; i++) {
        bool gathers = is_nest(o, &body->statements[i], body, variable);
        if (gathers && computes)
            return i;
        computes |= !gathers && !statement_only_frees(&body->statements[i]);
    }
    return body->n;
}

struct units find_units(const struct overlapper *o, struct statement *loop, int variable) {
    const struct block *body = &loop->loop.body;
    struct units units = {ARENA_ARRAY(o->program->arena, struct gather_pipeline, body->n + 1), 0};
    uint32_t n = 0;
    for (uint32_t begin = 0; begin < body->n; begin = end_of_unit(o, body, begin, variable))
        n++;
    for (uint32_t begin = 0, end; begin < body->n; begin = end) {
        end = end_of_unit(o, body, begin, variable);
        struct gather_pipeline *p = &units.items[units.n++];
        *p = pipeline_ahead(o, loop, variable,
                            (struct block){&body->statements[begin], end - begin, 0}, n - 1);
        for (uint32_t i = 0; i < p->n_stages; i++)
            p->stages[i].slots = 1;
    }
    return units;
}

// ---- slots ------------------------------------------------------------------------------------

struct layers {
    int64_t first, last; // in the first iteration of the loop around; first > last: none
    int64_t step;        // from one iteration's to the next's
};
static const struct layers no_layers = {INT64_MAX, INT64_MIN, 1};

// What stands in no loop of its own goes through the iteration itself.
static struct layers layers_of(const struct transfer_walk *walk) {
    struct layers layers = {0, 0, 1};
    for (int i = 0; i < walk->statements.depth; i++) {
        const struct loop *loop = walk_loop(&walk->statements, i);
        layers.first = loop->stride * layers.first + loop->begin;
        layers.last = loop->stride * layers.last + loop->end - 1;
        layers.step *= loop->stride;
    }
    return layers;
}

int64_t layers_between_iterations(const struct statement *gather) {
    struct transfer_walk walk = walk_transfers(&(struct block){(struct statement *)gather, 1, 0});
    CHECK(next_transfer(&walk));
    return layers_of(&walk).step;
}

static void widen(const struct overlapper *o, struct layers *layers, const struct block *gathers,
                  buffer_id gathered) {
    struct transfer_walk walk = walk_transfers(gathers);
    while (next_transfer(&walk)) {
        const struct layers of = layers_of(&walk);
        for (uint32_t k = 0; k < walk.transfer->n_pieces; k++) {
            if (brought(o, &walk.transfer->pieces[k]) != gathered)
                continue;
            layers->first = of.first < layers->first ? of.first : layers->first;
            layers->last = of.last > layers->last ? of.last : layers->last;
            layers->step = of.step;
        }
    }
}

static void widen_by_stages(const struct overlapper *o, struct layers *layers,
                            const struct gather_pipeline *p, int64_t later, buffer_id gathered) {
    for (uint32_t i = 0; i < p->n_stages; i++) {
        const struct stage *stage = &p->stages[i];
        struct layers of = no_layers;
        if (later <= stage->ahead)
            widen(o, &of, &stage->gathers, gathered);
        if (of.first > of.last)
            continue;
        of.last += (stage->slots - 1) * of.step;
        layers->first = of.first < layers->first ? of.first : layers->first;
        layers->last = of.last > layers->last ? of.last : layers->last;
    }
}

// The layers between the first and the last that lie in a buffer while a unit is computed: its own,
// and those of units, or iterations, that started ahead. A descending loop has as many.
static int64_t layers_in_use(const struct overlapper *o, const struct units *units, uint32_t unit,
                             buffer_id gathered) {
    const struct gather_pipeline *p = &units->items[unit];
    struct layers layers = no_layers;
    for (uint32_t i = unit; i < units->n; i++)
        widen_by_stages(o, &layers, &units->items[i], i - unit, gathered);
    for (uint32_t i = 0; i < p->rest.n; i++)
        if (is_nest(o, &p->rest.statements[i], &p->loop->loop.body, p->variable))
            widen(o, &layers, &(struct block){&p->rest.statements[i], 1, 0}, gathered);
    return layers.last - layers.first + 1;
}

// Slots of what has owners are a multiple of these, so that a slot's number says whose it is.
static void want_slots(struct overlapper *o, buffer_id id, int64_t slots) {
    const struct buffer *buffer = &o->program->buffers[id];
    if (has_slots(o, id))
        slots = slots_of_owners(&o->program->job->mesh, &buffer->layout.owners, slots);
    o->slots[id] = slots > o->slots[id] ? slots : o->slots[id];
}

static void count_slots_of(struct overlapper *o, const struct units *units, uint32_t unit,
                           const struct block *gathers) {
    struct transfer_walk walk = walk_transfers(gathers);
    while (next_transfer(&walk))
        for (uint32_t k = 0; k < walk.transfer->n_pieces; k++) {
            buffer_id gathered = brought(o, &walk.transfer->pieces[k]);
            buffer_id given = walk.transfer->pieces[k].from.buffer;
            int64_t layers = layers_in_use(o, units, unit, gathered);
            want_slots(o, gathered, layers);
            if (has_slots_of_owners(o, given)) // cast or copied for it
                want_slots(o, given, layers);
        }
}

void count_slots(struct overlapper *o, const struct units *units) {
    if (!o->slots)
        o->slots = ARENA_ARRAY(o->scratch, int64_t, o->program->n_buffers + 1);
    memset(o->slots, 0, o->program->n_buffers * sizeof *o->slots);
    for (uint32_t unit = 0; unit < units->n; unit++) {
        const struct gather_pipeline *p = &units->items[unit];
        for (uint32_t i = 0; i < p->n_stages; i++)
            count_slots_of(o, units, unit, &p->stages[i].gathers);
        for (uint32_t i = 0; i < p->rest.n; i++)
            if (is_nest(o, &p->rest.statements[i], &p->loop->loop.body, p->variable))
                count_slots_of(o, units, unit, &(struct block){&p->rest.statements[i], 1, 0});
    }
}

struct index slot_of(const struct overlapper *o, const struct reference *at, int variable,
                     int64_t offset) {
    if (has_slots_of_owners(o, at->buffer)) // the item's number says whose it is, too
        offset += at->indices[0].offset;
    return index_in_slots(index_variable(variable, offset, 0),
                          o->slots[buffer_whole(o->program, at->buffer)]);
}

struct index flight_of(const struct overlapper *o, uint32_t handle, int variable, int64_t offset) {
    return index_in_slots(index_variable(variable, offset, 0), o->step->handles[handle].slots);
}

// References to a gathered buffer, in what follows the gathers, become those to the slot of this
// iteration.
static void refer_to_slots(struct overlapper *o, const struct gather_pipeline *p,
                           struct statement *gather) {
    const struct block gathers = {gather, 1, 0};
    struct transfer_walk first = walk_transfers(&gathers);
    struct statement_walk walk = walk_statements(&p->rest);
    if (!next_transfer(&first))
        return;
    int variable = p->variable + first.statements.depth;
    while (walk_next(&walk)) {
        struct access access;
        for (uint32_t i = 0; (access = statement_access(o->program, walk.statement, i)).at; i++)
            if (has_slots(o, access.at->buffer) &&
                is_gathered(o, &gathers, buffer_whole(o->program, access.at->buffer)))
                access.at->indices[0] = slot_of(o, access.at, variable, 0);
    }
}

// Other loops may go round in more of them.
static void make_slots(struct overlapper *o, buffer_id buffer) {
    if (has_slots(o, buffer))
        make_room_for_slots(o->program, buffer, o->slots[buffer]);
}

// Each slot is a copy of what is gathered for a layer: this is what prefetching costs. As many of a
// transfer are in flight as of any that it carries are in use.
static void give_slots(struct overlapper *o, struct statement *gather) {
    struct transfer_walk walk = walk_transfers(&(struct block){gather, 1, 0});
    while (next_transfer(&walk)) {
        struct handle *handle = &o->step->handles[walk.transfer->handle];
        handle->slots = 1;
        for (uint32_t k = 0; k < walk.transfer->n_pieces; k++) {
            buffer_id gathered = brought(o, &walk.transfer->pieces[k]);
            int64_t slots = o->slots[gathered];
            handle->slots = slots > handle->slots ? slots : handle->slots;
            make_slots(o, gathered);
            if (has_slots_of_owners(o, walk.transfer->pieces[k].from.buffer))
                make_slots(o, walk.transfer->pieces[k].from.buffer);
        }
    }
}

void refer_and_give_slots(struct overlapper *o, const struct gather_pipeline *p) {
    for (uint32_t i = 0; i < p->n_stages; i++)
        for (uint32_t k = 0; k < p->stages[i].gathers.n; k++) {
            refer_to_slots(o, p, &p->stages[i].gathers.statements[k]);
            give_slots(o, &p->stages[i].gathers.statements[k]);
        }
}
