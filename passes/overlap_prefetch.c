// Overlap, prefetch: gathers in loops over layers start some iterations before their use.
#include "ir/check.h"
#include "passes/overlap.h"

// A loop that starts with gathers of what one iteration needs.
struct pipeline {
    struct loop *loop;
    int variable;       // the loop's, by its depth
    uint32_t n_leading; // statements: pairs of start and wait
    int64_t ahead;      // k: how many iterations before its use a gather starts
    int64_t slots;      // of what is gathered: k + 1, or as many as there are iterations
};

// Of what is gathered to be kept every layer has a place of its own; else the next may have it too.
static bool has_own_place(const struct overlapper *o, const struct transfer_piece *piece) {
    return o->program->buffers[piece->to.buffer].stack == STACK_LAYERS;
}

// A gather of what this iteration needs: of its layer, into the layer's place or one that the next
// iteration may have.
static bool is_layer_gather(const struct overlapper *o, const struct transfer *transfer,
                            int variable) {
    if (transfer->exchange.kind != COLLECTIVE_ALL_GATHER)
        return false;
    for (uint32_t i = 0; i < transfer->n_pieces; i++) {
        const struct transfer_piece *piece = &transfer->pieces[i];
        const struct buffer *to = &o->program->buffers[piece->to.buffer];
        if (piece->from.index.variable != variable || to->class != CLASS_TRANSIENT ||
            (has_own_place(o, piece) && piece->to.index.variable != variable))
            return false;
    }
    return true;
}

int64_t wanted_prefetch(const struct overlapper *o, const struct transfer *transfer) {
    int64_t wanted = INT64_MAX;
    for (uint32_t i = 0; i < transfer->n_pieces; i++) {
        const struct buffer *from = &o->program->buffers[transfer->pieces[i].from.buffer];
        int64_t prefetch = placement_of(&o->placement, from)->prefetch;
        wanted = prefetch < wanted ? prefetch : wanted;
    }
    return wanted;
}

static bool is_gathered_here(const struct pipeline *p, buffer_id buffer) {
    for (uint32_t i = 0; i < p->n_leading; i += 2) {
        const struct transfer *transfer = &p->loop->body.statements[i].start;
        for (uint32_t k = 0; k < transfer->n_pieces; k++)
            if (transfer->pieces[k].to.buffer == buffer)
                return true;
    }
    return false;
}

// The second stride of a gather reads what the first has brought.
static bool reads_gathered(const struct pipeline *p, const struct transfer *transfer) {
    for (uint32_t i = 0; i < transfer->n_pieces; i++)
        if (is_gathered_here(p, transfer->pieces[i].from.buffer))
            return true;
    return false;
}

// Only gathers at the very front: what stands behind another statement may depend on it.
static struct pipeline find_pipeline(const struct overlapper *o, struct loop *loop, int variable) {
    int64_t trips = loop->end - loop->begin;
    struct pipeline p = {.loop = loop, .variable = variable, .ahead = trips};
    while (is_pair(&loop->body, p.n_leading)) {
        const struct transfer *transfer = &loop->body.statements[p.n_leading].start;
        if (!is_layer_gather(o, transfer, variable) || reads_gathered(&p, transfer))
            break;
        int64_t wanted = wanted_prefetch(o, transfer);
        p.ahead = wanted < p.ahead ? wanted : p.ahead;
        p.n_leading += 2;
    }
    p.slots = p.ahead < trips ? p.ahead + 1 : trips;
    return p;
}

// The slot of the iteration that is so many later.
static struct index slot_of(const struct pipeline *p, int64_t offset) {
    return p->slots > 1 ? index_variable(p->variable, offset, p->slots) : index_constant(0);
}

// References to a gathered buffer, in what follows the gathers, become those to the slot of this
// iteration.
static void refer_to_slots(struct overlapper *o, const struct pipeline *p) {
    const struct block rest = {&p->loop->body.statements[p->n_leading],
                               p->loop->body.n - p->n_leading, 0};
    struct statement_walk walk = walk_statements(&rest);
    while (walk_next(&walk)) {
        struct access access;
        for (uint32_t i = 0; (access = statement_access(o->program, walk.statement, i)).at; i++)
            if (o->program->buffers[access.at->buffer].stack != STACK_LAYERS &&
                is_gathered_here(p, access.at->buffer))
                access.at->index = slot_of(p, 0);
    }
}

// The gathers of the iteration `ahead` iterations later than the loop's variable says.
static void push_starts(struct overlapper *o, struct block *to, const struct pipeline *p,
                        int64_t ahead) {
    int64_t offset = p->loop->descending ? -ahead : ahead;
    for (uint32_t i = 0; i < p->n_leading; i += 2) {
        struct statement start =
            statement_clone(o->program->arena, o->program, &p->loop->body.statements[i]);
        for (uint32_t k = 0; k < start.start.n_pieces; k++) {
            struct transfer_piece *piece = &start.start.pieces[k];
            piece->from.index.offset += offset;
            if (has_own_place(o, piece))
                piece->to.index.offset += offset;
            else
                piece->to.index = slot_of(p, offset);
        }
        start.start.handle_index = slot_of(p, offset);
        block_push(o->program, to, start);
    }
}

static void push_waits(struct overlapper *o, struct block *to, const struct pipeline *p) {
    for (uint32_t i = 1; i < p->n_leading; i += 2) {
        struct statement wait = p->loop->body.statements[i];
        wait.wait.index = slot_of(p, 0);
        block_push(o->program, to, wait);
    }
}

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

// Each slot is a copy of the gathered unit: this is what prefetching costs.
static void give_slots(struct overlapper *o, const struct pipeline *p) {
    int64_t slots = p->slots;
    for (uint32_t i = 0; i < p->n_leading; i += 2) {
        const struct transfer *transfer = &p->loop->body.statements[i].start;
        o->step->handles[transfer->handle].slots = slots;
        for (uint32_t k = 0; k < transfer->n_pieces; k++) {
            struct buffer *buffer = &o->program->buffers[transfer->pieces[k].to.buffer];
            if (has_own_place(o, &transfer->pieces[k]))
                continue;
            // Loops over fewer layers go round in fewer of them.
            CHECK(buffer->stack == STACK_NONE || buffer->stack == STACK_SLOTS);
            if (buffer->count >= slots)
                continue;
            buffer->stack = STACK_SLOTS;
            buffer->count = slots;
        }
    }
}

// Prologue, middle, epilogue: together they run every iteration once, and gather every layer once.
static void push_pipelined(struct overlapper *o, struct block *to, struct statement *loop,
                           const struct pipeline *p) {
    int64_t n = loop->loop.end - loop->loop.begin;
    struct statement *rest = &p->loop->body.statements[p->n_leading];
    uint32_t n_rest = p->loop->body.n - p->n_leading;
    struct statement prologue = part_of_loop(loop, 0, p->ahead);
    struct statement middle = part_of_loop(loop, 0, n - p->ahead);
    struct statement epilogue = part_of_loop(loop, n - p->ahead, n);
    refer_to_slots(o, p);
    push_starts(o, &prologue.loop.body, p, 0);
    push_starts(o, &middle.loop.body, p, p->ahead);
    push_waits(o, &middle.loop.body, p);
    push_copies(o, &middle.loop.body, rest, n_rest);
    push_waits(o, &epilogue.loop.body, p);
    push_copies(o, &epilogue.loop.body, rest, n_rest);
    give_slots(o, p);
    block_push(o->program, to, prologue);
    if (middle.loop.end > middle.loop.begin)
        block_push(o->program, to, middle);
    block_push(o->program, to, epilogue);
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
        struct pipeline p = find_pipeline(o, &s->loop, depth);
        if (p.n_leading > 0 && p.n_leading < s->loop.body.n && p.ahead > 0)
            push_pipelined(o, &made, s, &p);
        else
            block_push(o->program, &made, *s);
    }
    *block = made;
}
