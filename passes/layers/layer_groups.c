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
    block_push(program, &groups.loop.body, layers);
    return groups;
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
