// Release: frees every item behind the last statement that uses it.
//
// Input: a program whose statements are in their final order. The frees it has are taken out: they
// told `overlap` how far transfers may move, and may be early or late by what it moved. Output: the
// same program with a `free` behind each last use. So the text says of every byte from when to when
// it holds something, the verifier holds every read to it, and what is alive can be counted while
// the program runs.
//
// A free inside a loop must be right in every run of the statement that it stands behind. It is, if
// the items that die there are as many as the runs and stand to the loops' variables as indices
// say. What dies in some runs only is freed behind the loop around it. Layers one after the other
// that die at once are freed in a loop, so that the text does not grow with them.
//
// What is followed is the step made short, and items and variables stand for those of the whole
// one where frees are written down.
#include "passes/schedule/release.h"

#include "ir/check.h"
#include "passes/passes.h"
#include "passes/schedule/spots.h"

// The end of a life, as seen from the spot behind which it may be freed.
struct end {
    const struct life *life;
    uint32_t spot, run; // which run of the spot's statement
    struct end_place {
        int64_t place;
        uint32_t loop;    // around the spot, by whose variable it may be named; NO_ID: none
        int depth;        // loops around the spot up to that one
        int64_t variable; // of that loop; 0: none
        int64_t modulus;  // of the remainder that names it; 0: it is named by an offset
    } places[MAX_STACKS]; // of the item
    bool is_named;        // by the innermost of the loops that may
    bool placed;
    uint32_t next;  // end at the spot, from 1 on; 0: there is none
    unsigned tried; // forms in which those like it are not as many as the runs
};

// By which loops the items of a buffer that die at a spot may be named, whichever they are.
struct naming {
    buffer_id buffer;
    bool is_named;
    struct end_place places[MAX_STACKS]; // but for places and variables
};

struct releaser {
    struct program *program;
    const struct shortened *shortened;
    struct arena *arena;    // of the pass
    struct uses uses;       // of the short step
    struct spot *spots;     // by place
    struct naming *namings; // of spots, each for the buffer that was looked at there last
    uint32_t n_namings, cap_namings;
    struct end *ends; // of the buffer that is looked at
    uint32_t n_ends;
    bool lost; // some items of the whole step that one of the short one stands for have no free
};

// ---- indices ----------------------------------------------------------------------------------

// What the items that die at a spot are to the variables of the loops around it. Items are named as
// the loop names them elsewhere: slots by a remainder, and others by an offset; or by their numbers.
enum form { FORM_NAMED, FORM_CONSTANT };

static bool is_constant(enum form form, const struct end_place *place) {
    return form == FORM_CONSTANT || place->loop == NO_ID;
}

// How far an end's place is from the variable that may name it; of a constant, the place itself.
static int64_t distance(enum form form, const struct end_place *place) {
    int64_t offset = place->place - place->variable;
    if (is_constant(form, place))
        return place->place;
    return place->modulus ? (offset % place->modulus + place->modulus) % place->modulus : offset;
}

static bool is_as_distant(const struct releaser *r, buffer_id buffer, enum form form,
                          const struct end *a, const struct end *b) {
    bool equal = true; // two ends at one spot
    for (unsigned k = 0; equal && k < r->program->buffers[buffer].stacks.n; k++)
        equal = distance(form, &a->places[k]) == distance(form, &b->places[k]);
    return equal;
}

// The reference in the whole step, but for places that are numbers: these are of the short one.
static struct reference name_of(const struct releaser *r, buffer_id buffer, enum form form,
                                const struct end *end) {
    const struct stacks *stacks = &r->program->buffers[buffer].stacks;
    struct reference named = reference_to(buffer);
    for (unsigned k = 0; k < stacks->n; k++) {
        struct end_place whole = end->places[k];
        named.indices[k] = index_constant(whole.place);
        if (is_constant(form, &whole))
            continue;
        whole.place = whole_place(r->shortened, buffer, k, whole.place);
        whole.variable = whole_variable(r->shortened, whole.loop, whole.variable);
        named.indices[k] = index_variable(whole.depth - 1, distance(form, &whole), whole.modulus);
    }
    return named;
}

// Does it stand for ends in several iterations, if for several? Of places that are numbers that is
// seen where they are those of the whole step.
static bool is_whole(const struct releaser *r, buffer_id buffer, enum form form,
                     const struct end *end) {
    for (unsigned k = 0; k < MAX_STACKS; k++) {
        const struct end_place *place = &end->places[k];
        if (!is_constant(form, place) &&
            places_stood_for(r->shortened, buffer, k, place->place) > 1 &&
            !is_in_middle(r->shortened, place->loop, place->variable))
            return false;
    }
    return true;
}

// Looks at the ends at the spot that are at one distance; frees them if they are as many as the runs.
static void place_distance(struct releaser *r, buffer_id buffer, enum form form,
                           const struct end *like) {
    struct spot *spot = &r->spots[like->spot];
    uint32_t n = 0;
    if (like->tried >> form & 1)
        return;
    for (uint32_t i = r->spots[like->spot].first_end; i > 0; i = r->ends[i - 1].next)
        n += !r->ends[i - 1].placed && is_as_distant(r, buffer, form, &r->ends[i - 1], like);
    bool fits = n == r->uses.runs[like->spot];
    for (uint32_t i = r->spots[like->spot].first_end; i > 0; i = r->ends[i - 1].next) {
        struct end *end = &r->ends[i - 1];
        if (!is_as_distant(r, buffer, form, end, like))
            continue;
        end->placed |= fits;
        end->tried |= 1u << form;
        r->lost |= fits && !is_whole(r, buffer, form, end);
    }
    if (fits)
        frees_add(r->program, &spot->frees, spot->depth, name_of(r, buffer, form, like));
}

static void place_ends(struct releaser *r, buffer_id buffer) {
    for (uint32_t i = 0; i < r->n_ends; i++)
        r->spots[r->ends[i].spot].first_end = 0;
    for (uint32_t i = r->n_ends; i > 0; i--) {
        struct spot *spot = &r->spots[r->ends[i - 1].spot];
        r->ends[i - 1].next = spot->first_end;
        spot->first_end = i;
    }
    for (uint32_t i = 0; i < r->n_ends; i++) {
        if (!r->ends[i].placed && r->ends[i].is_named)
            place_distance(r, buffer, FORM_NAMED, &r->ends[i]);
        if (!r->ends[i].placed)
            place_distance(r, buffer, FORM_CONSTANT, &r->ends[i]);
    }
}

// ---- from a statement to the loops around it --------------------------------------------------

// A loop may go round in fewer slots than a buffer has for others. Where it does not say in how many,
// these are all.
static int64_t modulus_of(const struct releaser *r, buffer_id buffer, unsigned k, uint32_t loop) {
    const struct stack *stack = &r->program->buffers[buffer].stacks.list[k];
    const struct named_stack *named = loop == NO_ID ? NULL : find_named(&r->spots[loop], buffer, k);
    if (named && named->modulus)
        return named->modulus;
    return stack->kind == STACK_SLOTS || stack->kind == STACK_IN_FLIGHT ? stack->count : 0;
}

// An end may be named by the variable of the innermost loop; where that is executed once for each
// iteration of the one around it and does not name the buffer, by that one's. It is not named if
// nothing else names items so: as many of them as there are runs may stand in a row by chance. A
// stack of which that loop names no places may have those that the next one around names.
static struct naming find_naming(const struct releaser *r, buffer_id id, uint32_t spot) {
    const struct buffer *buffer = &r->shortened->program->buffers[id];
    int depth = r->spots[spot].depth;
    uint32_t loop = r->spots[spot].loop;
    struct naming naming = {.buffer = id};
    while (loop != NO_ID && r->spots[loop].is_once && !names_buffer(&r->spots[loop], id)) {
        loop = r->spots[loop].loop;
        depth--;
    }
    naming.is_named = loop != NO_ID && buffer_items(&r->program->buffers[id]) > 1 &&
                      (r->spots[loop].is_fixed || names_buffer(&r->spots[loop], id));
    for (unsigned k = 0; k < MAX_STACKS; k++) {
        struct end_place *place = &naming.places[k];
        *place = (struct end_place){.loop = loop, .depth = depth};
        while (buffer->stacks.n > 1 && place->loop != NO_ID &&
               !find_named(&r->spots[place->loop], id, k)) {
            place->loop = r->spots[place->loop].loop;
            place->depth--;
        }
        place->modulus = modulus_of(r, id, k, place->loop);
    }
    return naming;
}

// Hardly any item dies at a spot alone.
static const struct naming *naming_at(struct releaser *r, buffer_id buffer, uint32_t spot) {
    uint32_t *at = &r->spots[spot].naming;
    if (*at == 0) {
        ARENA_PUSH(r->arena, r->namings, r->n_namings, r->cap_namings,
                   find_naming(r, buffer, spot));
        *at = r->n_namings;
    }
    if (r->namings[*at - 1].buffer != buffer)
        r->namings[*at - 1] = find_naming(r, buffer, spot);
    return &r->namings[*at - 1];
}

static struct end end_of(struct releaser *r, const struct life *life, uint32_t spot) {
    const struct execution *last = &r->uses.executions[life->last];
    const struct naming *naming = naming_at(r, life->buffer, spot);
    int64_t places[MAX_STACKS];
    int depth = r->spots[spot].depth;
    struct end end = {.life = life,
                      .spot = spot,
                      .run = spot == last->place ? life->last : last->runs[depth],
                      .is_named = naming->is_named};
    buffer_places(&r->shortened->program->buffers[life->buffer], life->item, places);
    for (unsigned k = 0; k < MAX_STACKS; k++) {
        struct end_place *place = &end.places[k];
        *place = naming->places[k];
        place->place = places[k];
        place->variable = place->depth ? last->variables[place->depth - 1] : 0;
    }
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
        if (life->item == end->life->item && life->first < behind && life->last >= behind)
            return true;
    }
    return false;
}

static bool stands_already(const struct releaser *r, uint32_t n, const struct end *end) {
    for (uint32_t i = 0; i < n; i++)
        if (r->ends[i].spot == end->spot && r->ends[i].run == end->run &&
            r->ends[i].life->item == end->life->item)
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
                               struct frees_at at, uint32_t *place) {
    struct block to = {0};
    for (uint32_t i = 0; i < from->n; i++) {
        struct statement s = from->statements[i];
        bool kept = !statement_only_frees(&s);
        const struct spot *spot = &r->spots[(*place)++];
        if (s.kind == STATEMENT_LOOP) {
            struct frees_at inside = at;
            inside.loops[inside.depth++] = s.loop.name;
            s.loop.body = with_frees(r, &s.loop.body, inside, place);
        }
        if (kept)
            block_push(r->program->arena, &to, s);
        frees_push(&at, &to, &spot->frees, s.span);
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
        r.lost |= !frees_of_whole(program, r.shortened, &r.spots[n++].frees);
    if (!r.lost)
        step->body = with_frees(&r, &step->body, (struct frees_at){.program = program}, &place);
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
