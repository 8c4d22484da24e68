// When buffers' bytes are in use: what lifetimes.h promises, of all buffers in one walk.
#include "passes/schedule/lifetimes.h"

// How a block uses a buffer. Of the hull of its statements that do, a loop among them counts whole,
// unless it is the only one and nothing crosses its iterations.
struct use {
    struct interval hull;
    struct interval inside; // the same, if one statement only uses it: the part of it that does
    uint32_t n_statements;  // directly in the block
    uint32_t indexed_by;    // bits: variables of loops
    bool written_first;     // a value is made here, not needed from before
    // Each value of a buffer that is a single item: from where it is written to its last use.
    struct interval *values;
    uint32_t n_values, cap_values;
    bool begins_anew; // with a statement that writes all of it
    // How many there were in front of the loop that used it last, and that loop; none: a statement did.
    uint32_t n_before;
    struct interval loop;
    bool behind_loop;
};

struct uses {           // of an open block
    struct use *of;     // by buffer
    buffer_id *buffers; // those that it uses, in any order
    uint32_t n;
};

struct lifetimes {
    const struct program *program;
    enum step_kind step;
    struct arena *arena;
    const struct started **started;         // by handle
    const bool *single;                     // by buffer: each value is all of it
    struct uses uses[LIMIT_LOOP_DEPTH + 1]; // by depth
};

int64_t count_positions(const struct block *block) {
    int64_t n = 0;
    struct statement_walk walk = walk_statements(block);
    while (walk_next(&walk))
        n += walk.statement->kind == STATEMENT_LOOP ? 2 : 1;
    return n;
}

bool is_left_to_host(const struct program *program, buffer_id buffer, enum step_kind step) {
    return step == STEP_EVALUATE && program->buffers[buffer].host == HOST_LOGITS;
}

// ---- one statement ------------------------------------------------------------------------------

// The buffer's in the block, which may be its first.
static struct use *use_of(struct uses *uses, buffer_id buffer) {
    if (uses->of[buffer].n_statements == 0)
        uses->buffers[uses->n++] = buffer;
    return &uses->of[buffer];
}

// What a loop leaves behind and is used now was written in each of its iterations, of which none can say that it is
// not the last: it lives from the first on, as uses.h has it.
static void join_values(struct use *use) {
    struct interval *joined = &use->values[use->n_before];
    use->n_values = use->n_before + 1;
    joined->first = joined->first < use->loop.first ? joined->first : use->loop.first;
    joined->last = use->loop.last;
}

// `anew`: what was there before is of no more use to anybody.
static void add_value(struct lifetimes *l, struct use *use, struct interval lives, bool anew) {
    if (use->behind_loop && !anew)
        join_values(use);
    use->behind_loop = false;
    struct interval *last = use->n_values ? &use->values[use->n_values - 1] : NULL;
    if (!last || (anew && last->last < lives.first))
        ARENA_PUSH(l->arena, use->values, use->n_values, use->cap_values, lives);
    else if (lives.last > last->last)
        last->last = lives.last;
}

static void use_buffer(struct use *use, int64_t position, const struct reference *at, bool write) {
    if (use->n_statements == 0) {
        use->hull.first = position;
        use->written_first = write;
    }
    if (use->n_statements == 0 || use->hull.last != position)
        use->n_statements++;
    use->hull.last = position;
    use->inside = (struct interval){position, position};
    use->indexed_by |= reference_variables(at);
}

// `over`: what is written was begun before, by a start that is waited for.
static void touch(struct lifetimes *l, struct uses *uses, int64_t position,
                  struct reference reference, bool write, bool over) {
    buffer_id whole = buffer_whole(l->program, reference.buffer);
    struct use *use = use_of(uses, whole);
    if (l->single[whole]) {
        bool anew = write && !over && reference.buffer == whole;
        use->begins_anew = use->n_values ? use->begins_anew : anew;
        add_value(l, use, (struct interval){position, position}, anew);
    }
    use_buffer(use, position, &reference, write);
}

static void touch_places(struct lifetimes *l, struct uses *uses, int64_t position,
                         const struct statement *statement, bool over) {
    struct access access;
    for (uint32_t i = 0; (access = statement_access(l->program, statement, i)).at; i++)
        touch(l, uses, position, *access.at, access.written, over);
}

// A wait ends what the starts of its handle began: source and target are busy until then. A call
// stands for its unit's frame too.
static void touch_statement(struct lifetimes *l, struct uses *uses, int64_t position,
                            const struct statement *statement) {
    touch_places(l, uses, position, statement, false);
    if (statement->kind == STATEMENT_WAIT) {
        for (const struct started *s = l->started[statement->wait.handle]; s; s = s->next)
            touch_places(l, uses, position, s->start, true);
    } else if (statement->kind == STATEMENT_CALL) {
        buffer_id frame = program_frame(l->program, statement->call.unit);
        if (frame != NO_ID)
            touch(l, uses, position, reference_to(frame), true, false);
    }
}

// ---- blocks -------------------------------------------------------------------------------------

static struct interval lives_in_block(const struct use *use) {
    return use->n_statements == 1 ? use->inside : use->hull;
}

// What the host finds behind the step is what the last iteration wrote, but all write it to the
// same place.
static bool crosses_iterations(const struct lifetimes *l, buffer_id buffer, const struct use *body,
                               int variable) {
    return body->indexed_by >> variable & 1 || !body->written_first ||
           is_left_to_host(l->program, buffer, l->step);
}

static void use_loop(struct use *use, const struct use *body, struct interval loop, bool crosses) {
    if (use->n_statements++ == 0) {
        use->hull.first = loop.first;
        use->written_first = body->written_first;
    }
    use->hull.last = loop.last;
    use->inside = crosses ? loop : lives_in_block(body);
    use->indexed_by |= body->indexed_by;
}

// A value that the loop leaves behind is that of its last iteration.
static void add_values_of_loop(struct lifetimes *l, struct use *use, const struct use *body,
                               struct interval loop, bool crosses) {
    bool anew = body->begins_anew && !crosses;
    uint32_t n_before = use->n_values;
    use->begins_anew = n_before ? use->begins_anew : anew;
    for (uint32_t i = 0; i < body->n_values && anew; i++)
        add_value(l, use, body->values[i], true);
    if (!anew)
        add_value(l, use, crosses ? loop : lives_in_block(body), false);
    use->behind_loop = !crosses;
    use->loop = loop;
    use->n_before = anew ? n_before : use->n_values - 1;
}

// Begins the uses of a block at this depth; the arrays serve all blocks there, one after the other.
static struct uses *uses_begin(struct lifetimes *l, int depth) {
    struct uses *uses = &l->uses[depth];
    if (!uses->of) {
        uses->of = ARENA_ARRAY(l->arena, struct use, l->program->n_buffers + 1);
        uses->buffers = ARENA_ARRAY(l->arena, buffer_id, l->program->n_buffers + 1);
    }
    while (uses->n > 0)
        uses->of[uses->buffers[--uses->n]] = (struct use){0};
    return uses;
}

// The block's uses, at `depth` loops; the position behind it.
static int64_t follow_block(struct lifetimes *l, const struct block *block, int64_t position,
                            int depth) {
    struct uses *uses = uses_begin(l, depth);
    for (uint32_t i = 0; i < block->n; i++) {
        const struct statement *statement = &block->statements[i];
        struct interval all = {position, position};
        if (statement->kind != STATEMENT_LOOP) {
            touch_statement(l, uses, position++, statement);
            continue;
        }
        all.last = follow_block(l, &statement->loop.body, position + 1, depth + 1);
        position = all.last + 1;
        const struct uses *inner = &l->uses[depth + 1];
        for (uint32_t k = 0; k < inner->n; k++) {
            buffer_id b = inner->buffers[k];
            const struct use *body = &inner->of[b];
            struct use *use = use_of(uses, b);
            bool crosses = crosses_iterations(l, b, body, depth);
            if (l->single[b])
                add_values_of_loop(l, use, body, all, crosses);
            use_loop(use, body, all, crosses);
            // What a loop that goes with the one around it names is another item in each of its
            // iterations too.
            if (statement->loop.stride && body->indexed_by >> depth & 1)
                use->indexed_by |= 1u << (depth - 1);
        }
    }
    return position;
}

// ---- the step -----------------------------------------------------------------------------------

// What is left to the host is there from its first use on.
static const bool *find_single(const struct program *program, enum step_kind step,
                               struct arena *arena) {
    bool *single = ARENA_ARRAY(arena, bool, program->n_buffers + 1);
    for (buffer_id b = 0; b < program->n_buffers; b++)
        single[b] = buffer_items(&program->buffers[b]) == 1 && !is_left_to_host(program, b, step) &&
                    !buffer_outlives_step(&program->buffers[b]);
    return single;
}

static struct lifetime of_intervals(struct arena *arena, const struct interval *list, uint32_t n) {
    return (struct lifetime){arena_copy(arena, list, n * sizeof *list), n};
}

static struct lifetime lifetime_of(const struct lifetimes *l, buffer_id b, int64_t end,
                                   struct arena *arena) {
    const struct use *use = &l->uses[0].of[b];
    // The host writes these before the step and reads them after it.
    if (buffer_outlives_step(&l->program->buffers[b]))
        return of_intervals(arena, &(struct interval){-1, end}, 1);
    if (use->n_statements == 0)
        return (struct lifetime){0};
    if (l->single[b])
        return of_intervals(arena, use->values, use->n_values);
    struct interval all = lives_in_block(use);
    if (is_left_to_host(l->program, b, l->step))
        all.last = end;
    return of_intervals(arena, &all, 1);
}

struct lifetime *step_lifetimes(const struct program *program, enum step_kind step,
                                struct arena *arena) {
    const struct block *body = &program->steps[step].body;
    struct arena scratch = {0};
    struct lifetimes l = {.program = program,
                          .step = step,
                          .arena = &scratch,
                          .started = starts_by_handle(&program->steps[step], &scratch),
                          .single = find_single(program, step, &scratch)};
    int64_t end = follow_block(&l, body, 0, 0);
    struct lifetime *lives = ARENA_ARRAY(arena, struct lifetime, program->n_buffers + 1);
    for (buffer_id b = 0; b < program->n_buffers; b++)
        lives[b] = lifetime_of(&l, b, end, arena);
    arena_free(&scratch);
    return lives;
}

static struct interval hull_of(const struct lifetime *lives) {
    return (struct interval){lives->list[0].first, lives->list[lives->n - 1].last};
}

bool lifetimes_meet(const struct lifetime *a, const struct lifetime *b) {
    if (a->n == 0 || b->n == 0)
        return false;
    struct interval all_of_a = hull_of(a), all_of_b = hull_of(b);
    if (a->n == 1 || b->n == 1)
        return all_of_a.first <= all_of_b.last && all_of_b.first <= all_of_a.last;
    for (uint32_t i = 0, k = 0; i < a->n && k < b->n;) {
        if (a->list[i].last < b->list[k].first)
            i++;
        else if (b->list[k].last < a->list[i].first)
            k++;
        else
            return true;
    }
    return false;
}
