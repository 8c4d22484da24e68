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
// says. What dies in some runs only is freed behind the loop around it. Layers one after the other
// that die at once are freed in a loop, so that the text does not grow with them.
//
// What is followed is the step made short, and items and variables stand for those of the whole
// one where frees are written down.
#include "passes/schedule/release.h"

#include <stdlib.h>

#include "ir/check.h"
#include "passes/passes.h"

// So many items from one on.
struct freed {
    struct reference first;
    int64_t count;
};

struct buffer_list { // in order, each as often as it was found
    buffer_id *list;
    uint32_t n, cap;
};

// A statement, and where it stands.
struct spot {
    uint32_t loop;            // the innermost loop around it, a spot; NO_ID: none
    int depth;                // loops around it
    struct buffer_list named; // of a loop, by its variable: items of which buffers
    bool is_fixed;            // its variable has one value
    bool is_once;             // it is executed once in each iteration of the loop that it goes with
    struct freed *freed;
    uint32_t n_freed, cap_freed;
};

// The end of a life, as seen from the spot behind which it may be freed.
struct end {
    const struct life *life;
    uint32_t spot, run;     // which run of the spot's statement
    uint32_t loop;          // around the spot, by whose variable the item may be named; NO_ID: none
    int depth;              // loops around the spot up to that one
    int64_t item, variable; // of that loop; 0: none
    bool placed;
    unsigned tried; // forms in which those like it are not as many as the runs
};

struct releaser {
    struct program *program;
    const struct shortened *shortened;
    struct arena *arena; // of the pass
    struct uses uses;    // of the short step
    struct spot *spots;  // by place
    struct end *ends;    // of the buffer that is looked at
    uint32_t n_ends;
    bool lost; // some items of the whole step that one of the short one stands for have no free
};

// A variable names the items of its loop; and of the loop around, if each iteration has one. It
// does not name layers by a remainder: no free says them so.
static void name_by_loops(struct arena *arena, const struct program *program, struct spot *spots,
                          const struct statement_walk *walk, const uint32_t *loops,
                          const struct reference *at, int variable) {
    buffer_id buffer = buffer_whole(program, at->buffer);
    if (at->index.modulus && program->buffers[buffer].stack == STACK_LAYERS)
        return;
    while (variable >= 0) {
        struct buffer_list *named = &spots[loops[variable]].named;
        ARENA_PUSH(arena, named->list, named->n, named->cap, buffer);
        variable = walk_loop(walk, variable)->stride == 1 ? variable - 1 : -1;
    }
}

// What a wait ends is named by its variable, if what is started is named so.
static void name_places(struct arena *arena, const struct program *program,
                        const struct started *const *starts, struct spot *spots,
                        const struct statement_walk *walk, const uint32_t *loops) {
    const struct statement *s = walk->statement;
    struct access access;
    for (uint32_t i = 0; (access = statement_access(program, s, i)).at; i++)
        name_by_loops(arena, program, spots, walk, loops, access.at, access.at->index.variable);
    if (s->kind != STATEMENT_WAIT || s->wait.index.variable < 0)
        return;
    for (const struct started *started = starts[s->wait.handle]; started; started = started->next)
        for (uint32_t i = 0; index_equal(started->start->start.handle_index, s->wait.index) &&
                             (access = statement_access(program, started->start, i)).at;
             i++)
            name_by_loops(arena, program, spots, walk, loops, access.at, s->wait.index.variable);
}

static int by_number(const void *left, const void *right) {
    buffer_id a = *(const buffer_id *)left, b = *(const buffer_id *)right;
    return (a > b) - (a < b);
}

static struct spot *find_spots(struct arena *arena, const struct program *program,
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
            qsort(spots[i].named.list, spots[i].named.n, sizeof(buffer_id), by_number);
    return spots;
}

static bool names_buffer(const struct spot *loop, buffer_id buffer) {
    return loop->named.n &&
           bsearch(&buffer, loop->named.list, loop->named.n, sizeof buffer, by_number);
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

// The index in the whole step.
static struct index index_of(const struct releaser *r, enum form form, const struct end *end,
                             buffer_id buffer) {
    int64_t count = r->program->buffers[buffer].count;
    struct end whole = {.item = whole_item(r->shortened, buffer, end->item)};
    if (form == FORM_CONSTANT)
        return index_constant(end->item);
    whole.variable = whole_variable(r->shortened, end->loop, end->variable);
    return index_variable(end->depth - 1, distance(form, &whole, count),
                          form == FORM_SLOT ? count : 0);
}

// Items that are named by their numbers, of the short step, are put together where one follows the
// other.
static void push_freed(struct releaser *r, struct spot *spot, struct reference freed) {
    struct freed *last = spot->n_freed ? &spot->freed[spot->n_freed - 1] : NULL;
    if (last && last->first.buffer == freed.buffer && freed.index.variable < 0 &&
        last->first.index.variable < 0 && spot->depth < LIMIT_LOOP_DEPTH &&
        freed.index.offset == last->first.index.offset + last->count &&
        r->program->buffers[freed.buffer].stack == STACK_LAYERS)
        last->count++;
    else
        ARENA_PUSH(r->program->arena, spot->freed, spot->n_freed, spot->cap_freed,
                   (struct freed){freed, 1});
}

// Does it stand for ends in several iterations, if for several?
static bool is_whole(const struct releaser *r, buffer_id buffer, const struct end *end) {
    return items_stood_for(r->shortened, buffer, end->item) == 1 ||
           is_in_middle(r->shortened, end->loop, end->variable);
}

// Looks at the ends at a spot that are at one distance; frees them if they are as many as the runs.
static void place_distance(struct releaser *r, buffer_id buffer, enum form form,
                           const struct end *like) {
    struct spot *spot = &r->spots[like->spot];
    uint32_t at = like->spot, n = 0;
    int64_t count = r->shortened->program->buffers[buffer].count, d = distance(form, like, count);
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
        r->lost |= fits && form != FORM_CONSTANT && !is_whole(r, buffer, end);
    }
    if (fits)
        push_freed(r, spot, (struct reference){buffer, index_of(r, form, like, buffer)});
}

// May items that die here be named by the variable of the loop? Not if nothing else names them so:
// as many of them as there are runs may stand in a row by chance.
static bool is_named_here(const struct releaser *r, buffer_id buffer, const struct end *end) {
    if (end->loop == NO_ID || r->program->buffers[buffer].count == 1)
        return false;
    const struct spot *loop = &r->spots[end->loop];
    return loop->is_fixed || names_buffer(loop, buffer);
}

// Items are named as the text names them elsewhere: layers by an offset, slots by a remainder.
static void place_ends(struct releaser *r, buffer_id buffer) {
    const struct buffer *b = &r->program->buffers[buffer];
    enum form own = b->stack == STACK_SLOTS ? FORM_SLOT : FORM_OFFSET;
    for (uint32_t i = 0; i < r->n_ends; i++) {
        if (!r->ends[i].placed && is_named_here(r, buffer, &r->ends[i]))
            place_distance(r, buffer, own, &r->ends[i]);
        if (!r->ends[i].placed)
            place_distance(r, buffer, FORM_CONSTANT, &r->ends[i]);
    }
}

// ---- from a statement to the loops around it --------------------------------------------------

// It may be named by the variable of the innermost loop; where that is executed once for each
// iteration of the one around it and does not name the buffer, by that one's.
static struct end end_of(const struct releaser *r, const struct life *life, uint32_t spot) {
    const struct execution *last = &r->uses.executions[life->last];
    int depth = r->spots[spot].depth;
    uint32_t loop = r->spots[spot].loop;
    struct end end = {.life = life,
                      .spot = spot,
                      .run = spot == last->place ? life->last : last->runs[depth],
                      .item = life->item};
    while (loop != NO_ID && r->spots[loop].is_once &&
           !names_buffer(&r->spots[loop], life->buffer)) {
        loop = r->spots[loop].loop;
        depth--;
    }
    end.loop = loop;
    end.depth = depth;
    end.variable = depth ? last->variables[depth - 1] : 0;
    return end;
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

// Items become those of the whole step, where no end of a run may stand for several.
static void find_whole_items(struct releaser *r, struct spot *spot) {
    for (uint32_t i = 0; i < spot->n_freed; i++) {
        struct freed *freed = &spot->freed[i];
        buffer_id buffer = freed->first.buffer;
        int64_t first = freed->first.index.offset, last = first + freed->count - 1;
        if (freed->first.index.variable >= 0)
            continue;
        r->lost |= items_stood_for(r->shortened, buffer, first) > 1 ||
                   items_stood_for(r->shortened, buffer, last) > 1;
        freed->first.index.offset = whole_item(r->shortened, buffer, first);
        freed->count = whole_item(r->shortened, buffer, last) - freed->first.index.offset + 1;
    }
}

// One statement for all single items, and one for each equal range of layers.
static struct statement free_like(const struct releaser *r, const struct spot *spot, uint32_t like,
                                  struct span span) {
    struct statement s = {.kind = STATEMENT_FREE, .span = span};
    int64_t first = spot->freed[like].first.index.offset, count = spot->freed[like].count;
    uint32_t cap = 0;
    for (uint32_t i = like; i < spot->n_freed; i++) {
        struct reference freed = spot->freed[i].first;
        if (spot->freed[i].count != count || (count > 1 && freed.index.offset != first))
            continue;
        if (count > 1)
            freed.index = index_variable(spot->depth, 0, 0);
        ARENA_PUSH(r->program->arena, s.free.items, s.free.n_items, cap, freed);
    }
    return s;
}

static bool stood_before(const struct spot *spot, uint32_t at) {
    const struct freed *freed = &spot->freed[at];
    for (uint32_t i = 0; i < at; i++)
        if (spot->freed[i].count == freed->count &&
            (freed->count == 1 || spot->freed[i].first.index.offset == freed->first.index.offset))
            return true;
    return false;
}

static void push_frees(const struct releaser *r, struct block *to, const struct spot *spot,
                       struct span span) {
    for (uint32_t i = 0; i < spot->n_freed; i++) {
        if (stood_before(spot, i))
            continue;
        struct statement s = free_like(r, spot, i, span);
        int64_t first = spot->freed[i].first.index.offset, count = spot->freed[i].count;
        if (count > 1) {
            struct loop loop = {.name = "l", .begin = first, .end = first + count};
            block_push(r->program, &loop.body, s);
            s = (struct statement){.kind = STATEMENT_LOOP, .span = span, .loop = loop};
        }
        block_push(r->program, to, s);
    }
}

static struct block with_frees(const struct releaser *r, const struct block *from,
                               uint32_t *place) {
    struct block to = {0};
    for (uint32_t i = 0; i < from->n; i++) {
        struct statement s = from->statements[i];
        bool kept = !statement_only_frees(&s);
        const struct spot *spot = &r->spots[(*place)++];
        if (s.kind == STATEMENT_LOOP)
            s.loop.body = with_frees(r, &s.loop.body, place);
        if (kept)
            block_push(r->program, &to, s);
        push_frees(r, &to, spot, s.span);
    }
    return to;
}

bool release_by(struct program *program, enum step_kind kind, const struct followed *followed) {
    struct step *step = &program->steps[kind];
    struct arena arena = {0};
    struct releaser r = {.program = program,
                         .shortened = &followed->shortened,
                         .arena = &arena,
                         .uses = followed->uses};
    if (followed->uses.too_long.statements)
        return false;
    r.spots = find_spots(&arena, program, step);
    r.ends = ARENA_ARRAY(&arena, struct end, r.uses.n_lives + 1);
    for (buffer_id i = 0; i < program->n_buffers; i++)
        release_buffer(&r, i);
    uint32_t n = 0, place = 0;
    struct statement_walk walk = walk_statements(&step->body);
    while (walk_next(&walk))
        find_whole_items(&r, &r.spots[n++]);
    if (!r.lost)
        step->body = with_frees(&r, &step->body, &place);
    arena_free(&arena);
    return !r.lost;
}

// A step in which items of the middle die otherwise than layer by layer, or all together, is
// followed as it is: none that is derived, but a person may write one.
static bool release_whole(struct program *program, enum step_kind kind, struct too_long *too_long) {
    struct followed *whole = follow_whole_step(program, kind);
    bool released = release_by(program, kind, whole);
    *too_long = whole->uses.too_long;
    followed_free(whole);
    return released;
}

// The steps of one program; `training` is left the way in which its training step was followed, if
// anybody asks.
static bool release_program(struct program *program, struct diagnostics *diagnostics,
                            struct followed **training) {
    struct too_long too_long = {0};
    for (int kind = 0; kind < N_STEPS && !too_long.statements; kind++) {
        struct followed *followed = follow_step(program, kind);
        too_long = followed->uses.too_long;
        CHECK(release_by(program, kind, followed) || too_long.statements ||
              release_whole(program, kind, &too_long) || too_long.statements);
        if (kind == STEP_TRAIN && training)
            *training = followed;
        else
            followed_free(followed);
    }
    if (too_long.statements)
        report_too_long(diagnostics, &too_long);
    return !too_long.statements;
}

bool release(struct job *job, const struct pass_context *context) {
    bool one = job->n_programs == 1, done = true;
    for (uint32_t i = 0; i < job->n_programs && done; i++)
        done =
            release_program(job->programs[i], context->diagnostics, one ? context->followed : NULL);
    job_number(job);
    return done;
}
