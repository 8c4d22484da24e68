// Split backward: where a pipeline's schedule has weights apart, each unit of backward is two, one that makes the
// gradients of its inputs, for which the stage before waits, and one that makes those of its weights.
//
//   for l = 0 .. 4 descending { call block_backward(...) }
//   call embedding_backward(...)
// becomes
//   for l = 0 .. 4 descending { call block_backward_inputs(...) }
//   for l = 0 .. 4 descending { call block_backward_weights(...) }
//   call embedding_backward(...)
//
// Which op is of which, passes/pipeline/halves.c says. What both need is made once, by the first, and kept for the
// second, recomputed values included. What lies in slots that layers have in turns, as what they hand back to one
// another, has a place for each layer then, if weights read it later.
#include <string.h>

#include "ir/check.h"
#include "passes/layers/cut_unit.h"
#include "passes/passes.h"
#include "passes/pipeline/halves.h"

struct halver {
    struct program *program;
    struct placement placement;
    struct unit_cuts cuts;
    uint32_t n_buffers; // before anything was added
};

// ---- places of what crosses -------------------------------------------------------------------

static bool is_gradient(const struct halver *h, struct reference at) {
    return h->program->buffers[at.buffer].class == CLASS_GRADIENTS;
}

// The place of a layer's gradients is that of what its halves hand on.
static const struct reference *layered_gradient(const struct halver *h, const struct statement *s) {
    const struct unit *unit = &h->program->job->units[s->call.unit];
    for (uint32_t i = 0; i < unit->n_results; i++)
        if (is_gradient(h, s->call.results[i]) &&
            buffer_stack(&h->program->buffers[s->call.results[i].buffer], STACK_LAYERS))
            return &s->call.results[i];
    return NULL;
}

static void give_layers(struct halver *h, const struct statement *whole, struct reference *at) {
    const struct reference *like = layered_gradient(h, whole);
    if (at->buffer < h->n_buffers || !like)
        return;
    h->program->buffers[at->buffer].stacks = h->program->buffers[like->buffer].stacks;
    memcpy(at->indices, like->indices, sizeof at->indices);
}

static struct statement half_call(struct halver *h, const struct unit_cut *cut, unsigned half,
                                  const struct statement *whole, const struct layer_range *range) {
    const struct unit_piece *piece = &cut->pieces[half];
    struct statement made = call_of_piece(&cut->cutter, whole, piece, range);
    for (uint32_t i = 0; i < piece->n_parameters; i++)
        give_layers(h, whole, &made.call.operands[i]);
    for (uint32_t i = 0; i < piece->n_results; i++)
        give_layers(h, whole, &made.call.results[i]);
    return made;
}

// ---- statements -------------------------------------------------------------------------------

static void push_half(struct halver *h, struct block *to, const struct statement *from,
                      unsigned half, int64_t layer);

static void push_half_of_call(struct halver *h, struct block *to, const struct statement *from,
                              unsigned half, int64_t layer) {
    uint32_t n_weights, range = placement_range(&h->placement, layer);
    uint32_t *halves = halves_of(h->program->arena, h->program, &from->call, &n_weights);
    uint32_t n_ops = h->program->job->units[from->call.unit].n_ops;
    if (n_weights == 0 || n_weights == n_ops) {
        if (half == (n_weights ? OF_WEIGHTS : OF_INPUTS))
            block_push(h->program->arena, to, *from);
        return;
    }
    struct unit_cut *cut = unit_cut_by(&h->cuts, h->program, from->call.unit, halves, N_HALVES);
    static const char *const names[N_HALVES] = {"inputs", "weights"};
    for (; cut->n_pieces < N_HALVES; cut->n_pieces++)
        cut->pieces[cut->n_pieces] = make_piece(&cut->cutter, cut->n_pieces, names[cut->n_pieces]);
    block_push(h->program->arena, to,
               half_call(h, cut, half, from,
                         h->placement.n_ranges > 1 ? &h->placement.ranges[range] : NULL));
}

static void push_half_of_loop(struct halver *h, struct block *to, const struct statement *from,
                              unsigned half) {
    struct statement made = *from;
    made.loop.body = (struct block){0};
    for (uint32_t i = 0; i < from->loop.body.n; i++)
        push_half(h, &made.loop.body, &from->loop.body.statements[i], half, from->loop.begin);
    if (made.loop.body.n)
        block_push(h->program->arena, to, made);
}

static void push_half(struct halver *h, struct block *to, const struct statement *from,
                      unsigned half, int64_t layer) {
    if (from->kind == STATEMENT_LOOP)
        push_half_of_loop(h, to, from, half);
    else if (from->kind == STATEMENT_CALL)
        push_half_of_call(h, to, from, half, layer);
    else if (half == OF_INPUTS) // zeroes, which come first
        block_push(h->program->arena, to, *from);
}

// ---- what layers have in turns ----------------------------------------------------------------

// The places of a buffer of slots if each index that counts had its own.
struct places {
    bool read; // by weights
    int64_t first, last;
    int64_t ahead; // what is added to the number of a layer, at least
};

static bool is_in_slots(const struct halver *h, buffer_id id) {
    return buffer_stack(&h->program->buffers[id], STACK_SLOTS);
}

struct interval {
    int64_t least, most;
};

// The values that the variable of a loop around the statement has.
static struct interval values_of(const struct statement_walk *walk, int variable) {
    struct interval values = {0, 0};
    for (int i = 0; i <= variable; i++) {
        const struct loop *loop = walk_loop(walk, i);
        values.least = loop->stride * values.least + loop->begin;
        values.most = loop->stride * values.most + loop->end - 1;
    }
    return values;
}

static void note_place(const struct statement_walk *walk, struct index index,
                       struct places *places) {
    if (index.variable < 0)
        return;
    struct interval values = values_of(walk, index.variable);
    bool none = places->last < places->first;
    if (none || values.least + index.offset < places->first)
        places->first = values.least + index.offset;
    if (none || values.most + index.offset > places->last)
        places->last = values.most + index.offset;
    if (none || index.offset < places->ahead)
        places->ahead = index.offset;
}

static struct places *find_places(const struct halver *h, const struct block *body,
                                  const struct block *weights) {
    struct places *places =
        ARENA_ARRAY(h->program->arena, struct places, h->program->n_buffers + 1);
    struct statement_walk walk = walk_statements(body);
    struct access access;
    for (buffer_id i = 0; i < h->program->n_buffers; i++)
        places[i].last = -1;
    while (walk_next(&walk))
        for (uint32_t i = 0; (access = statement_access(h->program, walk.statement, i)).at; i++)
            if (is_in_slots(h, access.at->buffer))
                note_place(&walk, access.at->indices[0], &places[access.at->buffer]);
    walk = walk_statements(weights);
    while (walk_next(&walk))
        for (uint32_t i = 0; (access = statement_access(h->program, walk.statement, i)).at; i++)
            places[access.at->buffer].read |= !access.written;
    return places;
}

// What is written in front of all loops over the layers that read it is the last one's, which goes back first, and
// what is read behind them the first one's.
static void give_place(const struct places *places, const struct access *access, int64_t slots) {
    struct index *index = &access->at->indices[0];
    if (index->variable < 0) {
        int64_t here = access->written ? places->last : places->first;
        CHECK((here - index->offset) % slots == 0);
        index->offset = (int32_t)here;
    }
    *index = index_variable(index->variable, index->offset - places->first, 0);
}

static void give_places(struct halver *h, struct block *body, const struct block *weights) {
    const struct places *places = find_places(h, body, weights);
    struct statement_walk walk = walk_statements(body);
    while (walk_next(&walk)) {
        struct access access;
        for (uint32_t i = 0; (access = statement_access(h->program, walk.statement, i)).at; i++)
            if (is_in_slots(h, access.at->buffer) && places[access.at->buffer].read)
                give_place(&places[access.at->buffer], &access,
                           h->program->buffers[access.at->buffer].stacks.list[0].count);
    }
    for (buffer_id i = 0; i < h->program->n_buffers; i++)
        if (is_in_slots(h, i) && places[i].read)
            h->program->buffers[i].stacks =
                (struct stacks){1,
                                {{.kind = STACK_LAYERS,
                                  .count = places[i].last - places[i].first + 1,
                                  .first_layer = places[i].first - places[i].ahead}}};
}

bool split_backward(struct job *job, const struct pass_context *context) {
    struct program *program = job_only(job);
    struct halver h = {.program = program, .n_buffers = program->n_buffers};
    struct step *step = &program->steps[STEP_TRAIN];
    if (!placement_for(program, context, &h.placement))
        return false;
    if (!h.placement.pipeline.schedule || !h.placement.pipeline.schedule->splits_backward)
        return true;
    struct block made = {0}, weights = {0};
    bool behind = false;
    for (uint32_t i = 0; i < step->body.n; i++) {
        const struct statement *s = &step->body.statements[i];
        if (statement_calls(job, s, PHASE_BACKWARD)) {
            push_half(&h, &made, s, OF_INPUTS, 0);
            push_half(&h, &weights, s, OF_WEIGHTS, 0);
            behind = true;
            continue;
        }
        for (uint32_t k = 0; k < weights.n && behind; k++)
            block_push(program->arena, &made, weights.statements[k]);
        behind = false;
        block_push(program->arena, &made, *s);
    }
    step->body = made;
    give_places(&h, &step->body, &weights);
    job_number(job);
    return true;
}
