// Release: where the statements of a step stand; see spots.h.
#include "passes/schedule/spots.h"

#include <stdlib.h>

// A variable names the places of its loop; and of the loop around, if each iteration has one. It
// does not name layers by a remainder: no free says them so. `wait`: by whose variable what is
// stacked once is named; -1: by its own.
static void name_by_loops(struct arena *arena, const struct program *program, struct spot *spots,
                          const struct statement_walk *walk, const uint32_t *loops,
                          const struct reference *at, int wait) {
    buffer_id buffer = buffer_whole(program, at->buffer);
    const struct stacks *stacks = &program->buffers[buffer].stacks;
    for (unsigned k = 0; k < stacks->n; k++) {
        int variable = wait < 0 || stacks->n > 1 ? at->indices[k].variable : wait;
        if (at->indices[k].modulus && stacks->list[k].kind == STACK_LAYERS)
            continue;
        while (variable >= 0 && variable < walk->depth) {
            struct stack_list *named = &spots[loops[variable]].named;
            ARENA_PUSH(arena, named->list, named->n, named->cap,
                       (struct named_stack){buffer, k, at->indices[k].modulus});
            variable = walk_loop(walk, variable)->stride == 1 ? variable - 1 : -1;
        }
    }
}

// By whose variable what a wait ends is named, if what is started is named so: its own, or, where it
// has none, that of a loop that goes with another for one iteration. -1: by none.
static int variable_of_wait(const struct spot *spots, const struct statement_walk *walk,
                            const uint32_t *loops) {
    int variable = walk->statement->wait.index.variable;
    bool once = variable < 0 && walk->depth > 0 && spots[loops[walk->depth - 1]].is_once;
    return once ? walk->depth - 1 : variable;
}

static void name_places(struct arena *arena, const struct program *program,
                        const struct started *const *starts, struct spot *spots,
                        const struct statement_walk *walk, const uint32_t *loops) {
    const struct statement *s = walk->statement;
    struct access access;
    for (uint32_t i = 0; (access = statement_access(program, s, i)).at; i++)
        name_by_loops(arena, program, spots, walk, loops, access.at, -1);
    int variable = s->kind == STATEMENT_WAIT ? variable_of_wait(spots, walk, loops) : -1;
    if (variable < 0)
        return;
    for (const struct started *started = starts[s->wait.handle]; started; started = started->next)
        for (uint32_t i = 0; index_equal(started->start->start.handle_index, s->wait.index) &&
                             (access = statement_access(program, started->start, i)).at;
             i++)
            if (s->wait.index.variable >= 0 || reference_variables(access.at))
                name_by_loops(arena, program, spots, walk, loops, access.at, variable);
}

static int by_number(const void *left, const void *right) {
    const struct named_stack *a = left, *b = right;
    if (a->buffer != b->buffer)
        return a->buffer < b->buffer ? -1 : 1;
    return (a->stack > b->stack) - (a->stack < b->stack);
}

struct spot *find_spots(struct arena *arena, const struct program *program,
                        const struct step *step) {
    struct spot *spots = NULL;
    uint32_t n = 0, cap = 0, loops[LIMIT_LOOP_DEPTH];
    const struct started *const *starts = starts_by_handle(step, arena);
    struct statement_walk walk = walk_statements(&step->body);
    while (walk_next(&walk)) {
        ARENA_PUSH(
            arena, spots, n, cap,
            (struct spot){.loop = walk.depth ? loops[walk.depth - 1] : NO_ID, .depth = walk.depth});
        if (walk.statement->kind == STATEMENT_LOOP) {
            loops[walk.depth] = n - 1;
            const struct loop *loop = &walk.statement->loop;
            spots[n - 1].is_fixed = loop->end - loop->begin == 1 &&
                                    (!loop->stride || spots[loops[walk.depth - 1]].is_fixed);
            spots[n - 1].is_once = loop->end - loop->begin == 1 && loop->stride;
        } else if (walk.statement->kind != STATEMENT_FREE) {
            name_places(arena, program, starts, spots, &walk, loops);
        }
    }
    for (uint32_t i = 0; i < n; i++)
        if (spots[i].named.n)
            qsort(spots[i].named.list, spots[i].named.n, sizeof(struct named_stack), by_number);
    return spots;
}

const struct named_stack *find_named(const struct spot *loop, buffer_id buffer, unsigned stack) {
    const struct named_stack key = {.buffer = buffer, .stack = stack};
    return loop->named.n ? bsearch(&key, loop->named.list, loop->named.n, sizeof key, by_number)
                         : NULL;
}

bool names_buffer(const struct spot *loop, buffer_id buffer) {
    bool names = false;
    for (unsigned k = 0; k < MAX_STACKS && !names; k++)
        names = find_named(loop, buffer, k);
    return names;
}
