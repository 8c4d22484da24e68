// Frees, from items to statements; see frees.h.
#include "passes/schedule/frees.h"

#include <string.h>

// Which of a buffer's indices says the layer; -1: none.
static int index_of_layers(const struct program *program, buffer_id buffer) {
    return buffer_find_stack(&program->buffers[buffer], STACK_LAYERS);
}

// ---- items ------------------------------------------------------------------------------------

// Do the second begin with the next layer's item behind the first?
static bool goes_on(const struct program *program, const struct freed *freed,
                    const struct freed *next) {
    struct reference first = next->first;
    int k = index_of_layers(program, first.buffer);
    if (k < 0 || first.indices[k].variable >= 0)
        return false;
    first.indices[k] = index_moved(first.indices[k], -freed->count);
    return reference_equal(&freed->first, &first);
}

// The frees of one buffer stand side by side. Those of which others are the next layers become one
// with them, in the place of the first that was added: ranges are the same in whatever order items
// come.
static void join(const struct program *program, struct frees *frees) {
    struct freed *last = &frees->list[frees->n - 1];
    for (uint32_t i = frees->n - 1; i > 0 && frees->list[i - 1].first.buffer == last->first.buffer;
         i--) {
        struct freed *at = &frees->list[i - 1];
        bool behind = goes_on(program, at, last);
        if (!behind && !goes_on(program, last, at))
            continue;
        at->first = behind ? at->first : last->first;
        at->count += last->count;
        memmove(last, last + 1, (size_t)(&frees->list[frees->n] - (last + 1)) * sizeof *last);
        frees->n--;
        last = at;
    }
}

void frees_add(struct program *program, struct frees *frees, int depth, struct reference item) {
    ARENA_PUSH(program->arena, frees->list, frees->n, frees->cap, (struct freed){item, 1});
    if (depth < LIMIT_LOOP_DEPTH) // else there is no room for a loop: each by itself
        join(program, frees);
}

// Indices that are numbers become those of the whole step, where no end of a range may stand for
// several.
static bool find_whole(const struct program *program, const struct shortened *shortened,
                       struct freed *freed) {
    buffer_id buffer = freed->first.buffer;
    int layers = index_of_layers(program, buffer);
    bool all = true;
    for (unsigned k = 0; k < program->buffers[buffer].stacks.n; k++) {
        struct index *index = &freed->first.indices[k];
        int64_t first = index->offset, last = first + ((int)k == layers ? freed->count - 1 : 0);
        if (index->variable >= 0)
            continue;
        all = all && places_stood_for(shortened, buffer, k, first) == 1 &&
              places_stood_for(shortened, buffer, k, last) == 1;
        *index = index_constant(whole_place(shortened, buffer, k, first));
        if ((int)k == layers)
            freed->count = whole_place(shortened, buffer, k, last) - index->offset + 1;
    }
    return all;
}

bool frees_of_whole(const struct program *program, const struct shortened *shortened,
                    struct frees *frees) {
    bool all = true;
    for (uint32_t i = 0; i < frees->n; i++)
        all = find_whole(program, shortened, &frees->list[i]) && all;
    return all;
}

// ---- statements -------------------------------------------------------------------------------

// The place of the first layer of a range.
static int64_t first_place(const struct program *program, const struct freed *freed) {
    return freed->first.indices[index_of_layers(program, freed->first.buffer)].offset;
}

// Whether one statement frees both: single items, or those of the same layers.
static bool freed_together(const struct program *program, const struct freed *a,
                           const struct freed *b) {
    return a->count == b->count &&
           (a->count == 1 || first_place(program, a) == first_place(program, b));
}

static struct statement free_like(const struct frees_at *at, const struct frees *frees,
                                  uint32_t like, struct span span) {
    struct statement s = {.kind = STATEMENT_FREE, .span = span};
    uint32_t cap = 0;
    for (uint32_t i = like; i < frees->n; i++) {
        struct reference item = frees->list[i].first;
        if (!freed_together(at->program, &frees->list[i], &frees->list[like]))
            continue;
        if (frees->list[i].count > 1)
            item.indices[index_of_layers(at->program, item.buffer)] =
                index_variable(at->depth, 0, 0);
        ARENA_PUSH(at->program->arena, s.free.items, s.free.n_items, cap, item);
    }
    return s;
}

static bool stood_before(const struct program *program, const struct frees *frees, uint32_t i) {
    for (uint32_t k = 0; k < i; k++)
        if (freed_together(program, &frees->list[k], &frees->list[i]))
            return true;
    return false;
}

// Whether an item is named by the variable of a loop around that is called so.
static bool is_meant(const struct frees_at *at, const struct statement *frees, const char *name) {
    uint32_t variables = 0;
    for (uint32_t i = 0; i < frees->free.n_items; i++)
        variables |= reference_variables(&frees->free.items[i]);
    for (int variable = 0; variable < at->depth; variable++)
        if (variables >> variable & 1 && strcmp(at->loops[variable], name) == 0)
            return true;
    return false;
}

// What the loop over layers is called: in the text the innermost of a name counts.
static const char *name_of_layers(const struct frees_at *at, const struct statement *frees) {
    const char *name = "l";
    for (int n = 2; is_meant(at, frees, name); n++)
        name = arena_format(at->program->arena, "l%d", n);
    return name;
}

void frees_push(const struct frees_at *at, struct block *to, const struct frees *frees,
                struct span span) {
    for (uint32_t i = 0; i < frees->n; i++) {
        const struct freed *freed = &frees->list[i];
        if (stood_before(at->program, frees, i))
            continue;
        struct statement s = free_like(at, frees, i, span);
        if (freed->count > 1) {
            int64_t first = first_place(at->program, freed);
            struct loop loop = {
                .name = name_of_layers(at, &s), .begin = first, .end = first + freed->count};
            block_push(at->program->arena, &loop.body, s);
            s = (struct statement){.kind = STATEMENT_LOOP, .span = span, .loop = loop};
        }
        block_push(at->program->arena, to, s);
    }
}
