// Overlap, prefetch: which gathers an iteration of a loop begins with, and the slots that they bring
// what they gather to; see pipeline.h.
#include "passes/schedule/pipeline.h"

#include <string.h>

#include "ir/check.h"

bool has_slots(const struct overlapper *o, buffer_id buffer) {
    return !buffer_stack(&o->program->buffers[buffer], STACK_LAYERS);
}

static bool is_stacked_twice(const struct overlapper *o, buffer_id buffer) {
    return o->program->buffers[buffer].stacks.n > 1;
}

// Shards that were cast into their place are gathered around themselves.
static bool is_around_itself(const struct overlapper *o, const struct transfer_piece *piece) {
    return buffer_whole(o->program, piece->from.buffer) ==
           buffer_whole(o->program, piece->to.buffer);
}

// A gather of what this iteration needs: of its layer, into the layer's place or one that the next
// iteration may have. What is stacked twice has slots of its own already, in another order.
static bool is_layer_gather(const struct overlapper *o, const struct transfer *transfer,
                            int variable) {
    if (!brings_ahead(transfer))
        return false;
    for (uint32_t i = 0; i < transfer->n_pieces; i++) {
        const struct transfer_piece *piece = &transfer->pieces[i];
        const struct buffer *to = &o->program->buffers[piece->to.buffer];
        if (is_stacked_twice(o, piece->from.buffer) || is_stacked_twice(o, piece->to.buffer) ||
            (!is_around_itself(o, piece) && piece->from.indices[0].variable != variable) ||
            to->class != CLASS_TRANSIENT ||
            (!has_slots(o, piece->to.buffer) && piece->to.indices[0].variable != variable))
            return false;
    }
    return true;
}

// A call that casts this iteration's shards for the pair behind it.
static bool is_layer_cast(const struct overlapper *o, const struct block *block, uint32_t at,
                          int variable) {
    const struct statement *s = &block->statements[at];
    if (!prepares_gather(o, s) || !is_pair(block, at + 1) ||
        !is_layer_gather(o, &block->statements[at + 1].start, variable))
        return false;
    for (uint32_t i = 0; i < o->program->job->units[s->call.unit].n_parameters; i++)
        if (s->call.operands[i].indices[0].variable != variable)
            return false;
    return true;
}

// The pairs and loops of pairs at the front of a block, in the loop of that variable.
static uint32_t count_gathers(const struct overlapper *o, const struct block *block, int variable) {
    uint32_t n = 0;
    while (n < block->n) {
        if (is_pair(block, n) && is_layer_gather(o, &block->statements[n].start, variable))
            n += 2;
        else if (is_layer_cast(o, block, n, variable) ||
                 is_nest(o, &block->statements[n], variable))
            n++;
        else
            break;
    }
    return n;
}

bool is_nest(const struct overlapper *o, const struct statement *s, int variable) {
    return s->kind == STATEMENT_LOOP && s->loop.stride &&
           count_gathers(o, &s->loop.body, variable + 1) == s->loop.body.n;
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

// The second stride of a gather reads what the first has brought.
static bool reads_gathered(const struct overlapper *o, const struct block *gathers,
                           struct statement *second) {
    struct transfer_walk walk = walk_transfers(&(struct block){second, 1, 0});
    while (next_transfer(&walk))
        for (uint32_t k = 0; k < walk.transfer->n_pieces; k++)
            if (is_gathered(o, gathers, walk.transfer->pieces[k].from.buffer))
                return true;
    return false;
}

// What is gathered for a piece of a layer is so a piece ahead, not layers: of a loop that begins
// ahead of itself no iteration's transients could share their bytes.
static bool is_of_piece(const struct overlapper *o, const struct transfer *transfer) {
    const struct buffer *from = &o->program->buffers[transfer->pieces[0].from.buffer];
    return from->class != CLASS_ACTIVATIONS &&
           storage_of(&o->placement, from)->gather_unit == UNIT_TENSOR;
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

struct pipeline make_pipeline(struct statement *loop, int variable, struct block leading,
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
struct pipeline find_pipeline(const struct overlapper *o, struct statement *loop, int variable) {
    const struct block *body = &loop->loop.body;
    struct block leading = {body->statements, 0, 0};
    uint32_t n = count_gathers(o, body, variable);
    while (leading.n < n && !reads_gathered(o, &leading, &body->statements[leading.n]))
        leading.n++;
    return make_pipeline(loop, variable, leading, wanted_ahead(o, &leading));
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

struct units find_units(const struct overlapper *o, struct statement *loop, int variable) {
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
        p->slots = 1;
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

// The layers between the first and the last that lie in a buffer while a unit is computed: its own,
// and those of units, or iterations, that started ahead. A descending loop has as many.
static int64_t layers_in_use(const struct overlapper *o, const struct units *units, uint32_t unit,
                             buffer_id gathered) {
    const struct pipeline *p = &units->items[unit];
    struct layers layers = no_layers;
    for (uint32_t i = unit; i < units->n; i++)
        if (i <= unit + units->items[i].ahead)
            widen(o, &layers, &units->items[i].leading, gathered);
    if (layers.first <= layers.last)
        layers.last += (p->slots - 1) * layers.step;
    for (uint32_t i = 0; i < p->rest.n; i++)
        if (is_nest(o, &p->rest.statements[i], p->variable))
            widen(o, &layers, &(struct block){&p->rest.statements[i], 1, 0}, gathered);
    return layers.last - layers.first + 1;
}

static void count_slots_of(struct overlapper *o, const struct units *units, uint32_t unit,
                           const struct block *gathers) {
    struct transfer_walk walk = walk_transfers(gathers);
    while (next_transfer(&walk))
        for (uint32_t k = 0; k < walk.transfer->n_pieces; k++) {
            buffer_id gathered = brought(o, &walk.transfer->pieces[k]);
            int64_t layers = layers_in_use(o, units, unit, gathered);
            o->slots[gathered] = layers > o->slots[gathered] ? layers : o->slots[gathered];
        }
}

void count_slots(struct overlapper *o, const struct units *units) {
    if (!o->slots)
        o->slots = ARENA_ARRAY(o->scratch, int64_t, o->program->n_buffers + 1);
    memset(o->slots, 0, o->program->n_buffers * sizeof *o->slots);
    for (uint32_t unit = 0; unit < units->n; unit++) {
        const struct pipeline *p = &units->items[unit];
        count_slots_of(o, units, unit, &p->leading);
        for (uint32_t i = 0; i < p->rest.n; i++)
            if (is_nest(o, &p->rest.statements[i], p->variable))
                count_slots_of(o, units, unit, &(struct block){&p->rest.statements[i], 1, 0});
    }
}

static struct index index_of_slot(int variable, int64_t offset, int64_t slots) {
    return slots > 1 ? index_variable(variable, offset, slots) : index_constant(0);
}

struct index slot_of(const struct overlapper *o, buffer_id gathered, int variable, int64_t offset) {
    return index_of_slot(variable, offset, o->slots[buffer_whole(o->program, gathered)]);
}

struct index flight_of(const struct overlapper *o, uint32_t handle, int variable, int64_t offset) {
    return index_of_slot(variable, offset, o->step->handles[handle].slots);
}

// References to a gathered buffer, in what follows the gathers, become those to the slot of this
// iteration.
static void refer_to_slots(struct overlapper *o, const struct pipeline *p,
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
                access.at->indices[0] = slot_of(o, access.at->buffer, variable, 0);
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
            // Other loops may go round in more of them.
            if (has_slots(o, gathered) && buffer_items(&o->program->buffers[gathered]) < slots)
                set_slots(o, gathered, slots);
        }
    }
}

void refer_and_give_slots(struct overlapper *o, const struct pipeline *p) {
    for (uint32_t i = 0; i < p->leading.n; i++) {
        refer_to_slots(o, p, &p->leading.statements[i]);
        give_slots(o, &p->leading.statements[i]);
    }
}
