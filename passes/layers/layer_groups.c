// Loops over groups of layers; see layer_groups.h.
#include "passes/layers/layer_groups.h"

#include "ir/check.h"

static void deepen(const struct program *program, struct statement *statement) {
    struct access access;
    for (uint32_t i = 0; (access = statement_access(program, statement, i)).at; i++)
        for (unsigned k = 0; k < MAX_STACKS; k++)
            if (access.at->indices[k].variable >= 0)
                access.at->indices[k].variable++;
}

void deepen_variables(const struct program *program, struct statement *statement) {
    deepen(program, statement);
    if (statement->kind != STATEMENT_LOOP)
        return;
    struct statement_walk walk = walk_statements(&statement->loop.body);
    while (walk_next(&walk))
        deepen(program, walk.statement);
}

struct statement loop_in_group(const struct statement *loop, int64_t n, int64_t from, int64_t to) {
    return (struct statement){.kind = STATEMENT_LOOP,
                              .span = loop->span,
                              .loop = {.name = loop->loop.name,
                                       .begin = loop->loop.begin + from,
                                       .end = loop->loop.begin + to,
                                       .stride = n}};
}

struct statement cut_in_groups(struct program *program, const struct statement *loop, int64_t n,
                               const char *name) {
    int64_t trips = loop->loop.end - loop->loop.begin;
    CHECK(!loop->loop.stride && trips % n == 0);
    struct statement groups = *loop, layers = loop_in_group(loop, n, 0, n);
    groups.loop =
        (struct loop){.name = name, .end = trips / n, .descending = loop->loop.descending};
    layers.loop.descending = loop->loop.descending;
    layers.loop.body = loop->loop.body;
    deepen_variables(program, &layers);
    block_push(program->arena, &groups.loop.body, layers);
    return groups;
}

static void push_piece(struct program *program, struct block *to, const struct statement *loop,
                       int64_t begin, int64_t end) {
    struct statement piece = statement_clone(program->arena, program, loop);
    piece.loop.begin = begin > loop->loop.begin ? begin : loop->loop.begin;
    piece.loop.end = end < loop->loop.end ? end : loop->loop.end;
    if (piece.loop.begin < piece.loop.end)
        block_push(program->arena, to, piece);
}

void push_in_pieces(struct program *program, struct block *to, const struct statement *loop,
                    int64_t first, int64_t n) {
    CHECK(loop->loop.stride && loop->loop.begin >= first);
    int64_t pieces = (loop->loop.end - first + n - 1) / n;
    for (int64_t i = 0; i < pieces; i++) {
        int64_t begin = first + n * (loop->loop.descending ? pieces - 1 - i : i);
        push_piece(program, to, loop, begin, begin + n);
    }
}

// The first call in the block, with the first layer of the loop around it; `layer`: of the block's.
static const struct call *first_call(const struct block *block, int64_t *layer) {
    struct statement_walk walk = walk_statements(block);
    const struct call *call = walk_next_call(&walk);
    if (call && walk.depth > 0)
        *layer = walk_loop(&walk, walk.depth - 1)->begin;
    return call;
}

int64_t layers_taken_at_once(const struct program *program, const struct placement *placement,
                             const struct block *block, int64_t layer) {
    const struct call *call = first_call(block, &layer);
    if (!call)
        return 1;
    bool updates = program->job->units[call->unit].phase == PHASE_UPDATE;
    uint32_t range = placement_range(placement, layer);
    return (updates ? placement->updated_at_once : placement->worked_at_once)[range];
}

bool layers_around(const struct statement_walk *walk, struct layer_range *layers) {
    const struct loop *loop = walk_loop(walk, walk->depth - 1);
    if (!loop)
        return false;
    *layers = (struct layer_range){loop->begin, loop->end, 1};
    if (loop->stride) {
        const struct loop *turns = walk_loop(walk, walk->depth - 2);
        layers->end = loop->begin + loop->stride * (turns->end - turns->begin);
        layers->step = loop->stride;
    }
    return true;
}
