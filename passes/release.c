// Release: frees every item behind the last statement that uses it.
//
// Input: a program whose statements are in their final order. The frees it has are taken out: they
// told `overlap` how far transfers may move, and may be early or late by what it moved. Output: the
// same program with a `free` behind each last use. So the text says of every byte from when to when
// it holds something, the verifier holds every read to it, and what is alive can be counted while
// the program runs.
//
// A free inside a loop must be right in every run of the statement that it stands behind. It is, if
// the items that die there are as many as the runs and stand to the loop's variable as one index
// says. What dies in some runs only is freed behind the loop around it.
#include "passes/passes.h"

#include "ir/check.h"
#include "passes/uses.h"

// A statement, and where it stands.
struct spot {
    uint32_t loop; // the innermost loop around it, a spot; NO_ID: none
    int depth;     // loops around it
    struct reference *freed;
    uint32_t n_freed, cap_freed;
};

// The end of a life, as seen from the spot behind which it may be freed.
struct end {
    const struct life *life;
    uint32_t spot, run;     // which run of the spot's statement
    int64_t item, variable; // of the innermost loop around the spot; 0: none
    bool placed;
    unsigned tried; // forms in which those like it are not as many as the runs
};

struct releaser {
    struct program *program;
    struct arena *arena; // of the pass
    struct uses uses;
    struct spot *spots; // by place
    struct end *ends;   // of the buffer that is looked at
    uint32_t n_ends;
};

static struct spot *find_spots(struct arena *arena, const struct block *body) {
    struct spot *spots = NULL;
    uint32_t n = 0, cap = 0, loops[LIMIT_LOOP_DEPTH];
    struct statement_walk walk = walk_statements(body);
    while (walk_next(&walk)) {
        ARENA_PUSH(
            arena, spots, n, cap,
            (struct spot){.loop = walk.depth ? loops[walk.depth - 1] : NO_ID, .depth = walk.depth});
        if (walk.statement->kind == STATEMENT_LOOP)
            loops[walk.depth] = n - 1;
    }
    return spots;
}

// ---- indices ----------------------------------------------------------------------------------

// What the items that die at a spot are to the variable of the loop around it.
enum form { FORM_OFFSET, FORM_SLOT, FORM_CONSTANT, N_FORMS };

static int64_t distance(enum form form, const struct end *end, int64_t count) {
    int64_t offset = end->item - end->variable;
    if (form == FORM_CONSTANT)
        return end->item;
    return form == FORM_OFFSET ? offset : (offset % count + count) % count;
}

static struct index index_of(enum form form, int64_t distance, int depth, int64_t count) {
    if (form == FORM_CONSTANT)
        return index_constant(distance);
    return index_variable(depth - 1, distance, form == FORM_SLOT ? count : 0);
}

// Of the ends at a spot those at one distance; frees them if they are as many as the runs.
static void place_distance(struct releaser *r, buffer_id buffer, enum form form,
                           const struct end *like) {
    struct spot *spot = &r->spots[like->spot];
    uint32_t at = like->spot, n = 0;
    int64_t count = r->program->buffers[buffer].count, d = distance(form, like, count);
    if (like->tried >> form & 1)
        return;
    for (uint32_t i = 0; i < r->n_ends; i++)
        n += !r->ends[i].placed && r->ends[i].spot == at && distance(form, &r->ends[i], count) == d;
    bool fits = n == r->uses.runs[at];
    for (uint32_t i = 0; i < r->n_ends; i++) {
        struct end *end = &r->ends[i];
        if (end->spot != at || distance(form, end, count) != d)
            continue;
        end->placed |= fits;
        end->tried |= 1u << form;
    }
    if (!fits)
        return;
    struct reference freed = {buffer, index_of(form, d, spot->depth, count)};
    ARENA_PUSH(r->program->arena, spot->freed, spot->n_freed, spot->cap_freed, freed);
}

// As the text names items elsewhere: layers by an offset, slots by a remainder.
static void place_ends(struct releaser *r, buffer_id buffer) {
    const struct buffer *b = &r->program->buffers[buffer];
    enum form own = b->stack == STACK_SLOTS ? FORM_SLOT : FORM_OFFSET;
    for (uint32_t i = 0; i < r->n_ends; i++) {
        bool in_loop = r->spots[r->ends[i].spot].depth > 0;
        if (!r->ends[i].placed && in_loop && b->count > 1)
            place_distance(r, buffer, own, &r->ends[i]);
        if (!r->ends[i].placed)
            place_distance(r, buffer, FORM_CONSTANT, &r->ends[i]);
    }
}

// ---- from a statement to the loops around it --------------------------------------------------

static struct end end_of(const struct releaser *r, const struct life *life, uint32_t spot) {
    const struct execution *last = &r->uses.executions[life->last];
    int depth = r->spots[spot].depth;
    return (struct end){.life = life,
                        .spot = spot,
                        .run = spot == last->place ? life->last : last->runs[depth],
                        .item = life->item,
                        .variable = depth ? last->variables[depth - 1] : 0};
}

// Has the item a life that goes on behind the run of the loop in which this one ends?
static bool is_alive_behind(const struct releaser *r, const struct end *end) {
    uint32_t behind = end->life->last;
    int depth = r->spots[end->spot].depth;
    while (behind < r->uses.n && r->spots[r->uses.executions[behind].place].depth > depth &&
           r->uses.executions[behind].runs[depth] == end->run)
        behind++;
    buffer_id buffer = end->life->buffer;
    for (uint32_t i = r->uses.first_life[buffer]; i < r->uses.first_life[buffer + 1]; i++) {
        const struct life *life = &r->uses.lives[i];
        if (life->item == end->item && life->first < behind && life->last >= behind)
            return true;
    }
    return false;
}

static bool stands_already(const struct releaser *r, uint32_t n, const struct end *end) {
    for (uint32_t i = 0; i < n; i++)
        if (r->ends[i].spot == end->spot && r->ends[i].run == end->run &&
            r->ends[i].item == end->item)
            return true;
    return false;
}

// The ends that found no place move out of one loop. Of one item, one free in a run is enough.
static void move_out(struct releaser *r) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->n_ends; i++) {
        if (r->ends[i].placed)
            continue;
        uint32_t loop = r->spots[r->ends[i].spot].loop;
        CHECK(loop != NO_ID); // outside all loops everything has a place
        struct end end = end_of(r, r->ends[i].life, loop);
        if (!is_alive_behind(r, &end) && !stands_already(r, n, &end))
            r->ends[n++] = end;
    }
    r->n_ends = n;
}

static void release_buffer(struct releaser *r, buffer_id buffer) {
    r->n_ends = 0;
    for (uint32_t i = r->uses.first_life[buffer]; i < r->uses.first_life[buffer + 1]; i++) {
        const struct life *life = &r->uses.lives[i];
        if (!life->left)
            r->ends[r->n_ends++] = end_of(r, life, r->uses.executions[life->last].place);
    }
    while (r->n_ends > 0) {
        place_ends(r, buffer);
        move_out(r);
    }
}

// ---- the text ---------------------------------------------------------------------------------

static struct block with_frees(const struct releaser *r, const struct block *from,
                               uint32_t *place) {
    struct block to = {0};
    for (uint32_t i = 0; i < from->n; i++) {
        struct statement s = from->statements[i];
        const struct spot *spot = &r->spots[(*place)++];
        if (s.kind == STATEMENT_LOOP)
            s.loop.body = with_frees(r, &s.loop.body, place);
        if (s.kind != STATEMENT_FREE)
            block_push(r->program, &to, s);
        if (spot->n_freed > 0)
            block_push(r->program, &to,
                       (struct statement){.kind = STATEMENT_FREE,
                                          .span = s.span,
                                          .free = {spot->freed, spot->n_freed}});
    }
    return to;
}

bool release(struct program *program, const struct pass_context *context) {
    struct arena arena = {0};
    for (int kind = 0; kind < N_STEPS; kind++) {
        struct step *step = &program->steps[kind];
        struct releaser r = {.program = program, .arena = &arena};
        r.uses = uses_of(program, kind, &arena);
        r.spots = find_spots(&arena, &step->body);
        r.ends = ARENA_ARRAY(&arena, struct end, r.uses.n_lives + 1);
        for (buffer_id i = 0; i < program->n_buffers; i++)
            release_buffer(&r, i);
        uint32_t place = 0;
        step->body = with_frees(&r, &step->body, &place);
    }
    arena_free(&arena);
    program_number(program);
    return true;
}
