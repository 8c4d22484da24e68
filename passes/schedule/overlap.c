// Overlap: moves the two halves of collectives apart, so that bytes travel while devices compute.
//
// Input: a partitioned program in which every start is followed by its wait. Output: the same
// collectives in the same order on every device, with
//   prefetch      in loops over layers, the gather of layer l + k starts before layer l is computed
//                 (k = the mode's option); the gathered buffers become k + 1 slots that are used in
//                 turn. The loop gets a prologue, which starts the first k gathers, and an
//                 epilogue, which computes the last k layers and starts none; of no more than k
//                 iterations these two are all. What a prologue or a single unit gathers starts one
//                 computing statement earlier, so that the units around the layers (embedding,
//                 head) are ahead too, and loops over few layers one of the other.
//   late waits    a wait moves down to the first statement that touches what travels. Out of a loop
//                 over layers if every iteration's bytes are items of their own: then all may be in
//                 flight at once, as gradients are that are reduced in place. Where they are not
//                 (an unreduced gradient that the next layer overwrites) the wait stays: moving it
//                 would cost memory, which the mode's table does not allow.
//   Messages between parts stay where they are: when a wait may stand is a matter of all ranks' orders
//   (passes/stages/order.c).
//   early starts  inside units, a sum starts where its last summand is made.
//
// A bucket is at most what one unit call makes (partition cuts it smaller where the mode says so):
// larger ones would have to name several layers, and the text would grow with them.
#include <string.h>

#include "ir/check.h"
#include "passes/schedule/overlap.h"

// ---- gathers of single units ------------------------------------------------------------------

static bool is_early_gather(const struct overlapper *o, const struct statement *s) {
    if (s->kind == STATEMENT_LOOP) { // a prologue
        for (uint32_t i = 0; i < s->loop.body.n; i++)
            if (!is_early_gather(o, &s->loop.body.statements[i]) &&
                !prepares_gather(o, &s->loop.body.statements[i]))
                return false;
        return true;
    }
    return s->kind == STATEMENT_START && brings_ahead(&s->start) &&
           o->program->buffers[s->start.pieces[0].to.buffer].class == CLASS_TRANSIENT &&
           wanted_prefetch(o, &s->start) > 0;
}

// Is there a call in it that takes time? Transfers between such calls may pass each other, the calls
// give them time.
static bool computes(const struct overlapper *o, const struct statement *s) {
    if (s->kind != STATEMENT_LOOP)
        return s->kind == STATEMENT_CALL && !prepares_gather(o, s);
    struct statement_walk walk = walk_statements(&s->loop.body);
    while (walk_next(&walk))
        if (walk.statement->kind == STATEMENT_CALL && !prepares_gather(o, walk.statement))
            return true;
    return false;
}

// Do both statements name a buffer? `written`: one that either writes.
static bool share(const struct overlapper *o, const struct statement *a, const struct statement *b,
                  bool written) {
    struct access first, second;
    for (uint32_t i = 0; (first = statement_access(o->program, a, i)).at; i++)
        for (uint32_t k = 0; (second = statement_access(o->program, b, k)).at; k++)
            if (buffer_whole(o->program, first.at->buffer) ==
                    buffer_whole(o->program, second.at->buffer) &&
                (!written || first.written || second.written))
                return true;
    return false;
}

// May what `moved` does come before a wait in the statement at `at` of a block? Until then nobody writes
// what its start reads, nor touches what that writes. The start is in that statement, or the last in front
// of it; one that is elsewhere is not known.
static bool may_pass_wait(const struct overlapper *o, const struct block *block, uint32_t at,
                          uint32_t handle, const struct statement *moved) {
    bool found = false, in_front = false;
    for (uint32_t i = at + 1; i-- > 0 && !in_front;) {
        struct transfer_walk walk = walk_transfers(&(struct block){&block->statements[i], 1, 0});
        while (next_transfer(&walk)) {
            if (walk.transfer->handle != handle)
                continue;
            found = true;
            in_front = i < at;
            if (share(o, walk.statements.statement, moved, true))
                return false;
        }
    }
    return found;
}

static bool is_apart(const struct overlapper *o, const struct block *block, uint32_t at,
                     const struct statement *moved) {
    struct statement_walk walk = walk_statements(&(struct block){&block->statements[at], 1, 0});
    while (walk_next(&walk)) {
        const struct statement *s = walk.statement;
        if (share(o, s, moved, false) ||
            (s->kind == STATEMENT_WAIT && !may_pass_wait(o, block, at, s->wait.handle, moved)))
            return false;
    }
    return true;
}

// May the gather `moved`, or what casts for it, start before the statement at `at`?
static bool may_pass(const struct overlapper *o, const struct block *block, uint32_t at,
                     const struct statement *moved) {
    if (moved->kind == STATEMENT_LOOP) {
        for (uint32_t i = 0; i < moved->loop.body.n; i++)
            if (!may_pass(o, block, at, &moved->loop.body.statements[i]))
                return false;
        return true;
    }
    return is_apart(o, block, at, moved) &&
           (moved->kind == STATEMENT_CALL || !is_early_gather(o, &block->statements[at]));
}

static bool may_all_pass(const struct overlapper *o, const struct block *block, uint32_t at,
                         const struct statement *moved, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (!may_pass(o, block, at, &moved[i]))
            return false;
    return true;
}

// Upwards past one statement that computes, with the call right before that casts for it. If there is
// none, or what stands between cannot be passed, the gather stays where it is.
static void start_gathers_early(struct overlapper *o, struct block *block) {
    for (uint32_t i = 0; i < block->n; i++) {
        if (!is_early_gather(o, &block->statements[i])) {
            if (block->statements[i].kind == STATEMENT_LOOP)
                start_gathers_early(o, &block->statements[i].loop.body);
            continue;
        }
        bool cast = i > 0 && block->statements[i].kind == STATEMENT_START &&
                    prepares_gather(o, &block->statements[i - 1]);
        uint32_t n = cast ? 2 : 1, from = i + 1 - n, to = from;
        struct statement moved[2];
        memcpy(moved, &block->statements[from], n * sizeof *moved);
        bool passed = false;
        while (to > 0 && !passed && may_all_pass(o, block, to - 1, moved, n))
            passed = computes(o, &block->statements[--to]);
        if (!passed)
            continue;
        memmove(block->statements + to + n, block->statements + to,
                (from - to) * sizeof *block->statements);
        memcpy(&block->statements[to], moved, n * sizeof *moved);
    }
}

// ---- what sinks -------------------------------------------------------------------------------

// The statements of a block while waits sink in it, from the last to the first: as a list, in which
// a wait goes to its place at once, however far that is.
struct spot {
    struct statement statement;
    struct spot *before, *behind;
};
struct spots {
    struct spot *first, *last;
};

// The next statement that touches a buffer's bytes, in the block of this number. What is noted
// later is further up.
struct touch {
    struct spot *spot;
    uint32_t block, order;
};
struct sinking { // a block
    struct overlapper *overlapper;
    struct spots spots;
    int depth;
    uint32_t block;
};

static void insert_spot(struct spots *spots, struct spot *made, struct spot *behind) {
    made->behind = behind;
    made->before = behind ? behind->before : spots->last;
    *(made->before ? &made->before->behind : &spots->first) = made;
    *(behind ? &behind->before : &spots->last) = made;
}

static void remove_spot(struct spots *spots, struct spot *spot) {
    *(spot->before ? &spot->before->behind : &spots->first) = spot->behind;
    *(spot->behind ? &spot->behind->before : &spots->last) = spot->before;
}

static struct spot *new_spot(struct sinking *k, struct statement statement) {
    struct spot *spot = ARENA_ARRAY(k->overlapper->scratch, struct spot, 1);
    spot->statement = statement;
    return spot;
}

static void take_block(struct sinking *k, const struct block *block) {
    for (uint32_t i = 0; i < block->n; i++)
        insert_spot(&k->spots, new_spot(k, block->statements[i]), NULL);
}

static void put_block(const struct sinking *k, struct block *block) {
    block->n = 0;
    for (const struct spot *spot = k->spots.first; spot; spot = spot->behind)
        block_push(k->overlapper->program->arena, block, spot->statement);
}

static void note_touch(struct sinking *k, buffer_id buffer, struct spot *spot) {
    struct overlapper *o = k->overlapper;
    o->touched[k->depth][buffer_whole(o->program, buffer)] =
        (struct touch){spot, k->block, ++o->n_touches};
}

// Notes what a statement touches, which is now the first of those that have been looked at.
static void note_touches(struct sinking *k, struct spot *spot) {
    const struct block only = {&spot->statement, 1, 1};
    struct statement_walk walk = walk_statements(&only);
    struct access access;
    while (walk_next(&walk))
        for (uint32_t i = 0;
             (access = statement_access(k->overlapper->program, walk.statement, i)).at; i++)
            note_touch(k, access.at->buffer, spot);
}

static struct touch touch_of(const struct sinking *k, buffer_id buffer) {
    const struct overlapper *o = k->overlapper;
    struct touch touch = o->touched[k->depth][buffer_whole(o->program, buffer)];
    return touch.block == k->block ? touch : (struct touch){0};
}

// The first statement that was noted and touches what travels; NULL: none does.
static struct spot *first_touch(const struct sinking *k, const struct transfer *transfer) {
    struct touch first = {0};
    for (uint32_t i = 0; i < transfer->n_pieces; i++) {
        struct touch from = touch_of(k, transfer->pieces[i].from.buffer);
        struct touch to = touch_of(k, transfer->pieces[i].to.buffer);
        first = from.order > first.order ? from : first;
        first = to.order > first.order ? to : first;
    }
    return first.spot;
}

// ---- late waits -------------------------------------------------------------------------------

// Rotates one statement down; everything between moves up by one.
static void move_down(struct block *block, uint32_t from, uint32_t to) {
    struct statement moved = block->statements[from];
    memmove(block->statements + from, block->statements + from + 1,
            (to - from) * sizeof *block->statements);
    block->statements[to] = moved;
}

// The wait of the start at `at`, in the same block; NO_ID: it is elsewhere.
static uint32_t wait_of(const struct block *block, uint32_t at) {
    const struct transfer *start = &block->statements[at].start;
    for (uint32_t i = at + 1; i < block->n; i++) {
        const struct statement *s = &block->statements[i];
        if (s->kind == STATEMENT_WAIT && s->wait.handle == start->handle &&
            index_equal(s->wait.index, start->handle_index))
            return i;
    }
    return NO_ID;
}

// How many places further on than others the loop names what has slots: where the next item is brought in ahead.
static int64_t places_ahead(const struct overlapper *o, const struct loop *loop, buffer_id buffer,
                            struct index index) {
    int64_t first = index.offset, last = index.offset;
    struct statement_walk walk = walk_statements(&loop->body);
    while (walk_next(&walk)) {
        struct access access;
        for (uint32_t i = 0; (access = statement_access(o->program, walk.statement, i)).at; i++)
            for (unsigned k = 0; k < MAX_STACKS; k++) {
                const struct index *at = &access.at->indices[k];
                bool slot = at->variable == index.variable && at->modulus == index.modulus;
                if (!slot || buffer_whole(o->program, access.at->buffer) != buffer)
                    continue;
                first = at->offset < first ? at->offset : first;
                last = at->offset > last ? at->offset : last;
            }
    }
    return last - first;
}

// Does the index name another place in every iteration of the loop? What has slots does in a loop
// over a group's layers, if all of them find one, and what is brought in ahead another.
static bool is_own(const struct overlapper *o, const struct reference *at, unsigned stack,
                   const struct loop *loop, int variable) {
    struct index index = at->indices[stack];
    int64_t n = loop->end - loop->begin;
    if (index.variable != variable || index.modulus == 0)
        return index.variable == variable;
    return loop->stride && index.modulus >= n &&
           index.modulus - n >= places_ahead(o, loop, buffer_whole(o->program, at->buffer), index);
}

static bool names_own(const struct overlapper *o, const struct reference *at,
                      const struct loop *loop, int variable) {
    for (unsigned k = 0; k < MAX_STACKS; k++)
        if (is_own(o, at, k, loop, variable))
            return true;
    return false;
}

// Does every iteration send items of its own?
static bool sends_own(const struct overlapper *o, const struct loop *loop,
                      const struct transfer *transfer, int variable) {
    for (uint32_t i = 0; i < transfer->n_pieces; i++)
        if (!names_own(o, &transfer->pieces[i].from, loop, variable) ||
            !names_own(o, &transfer->pieces[i].to, loop, variable))
            return false;
    return true;
}

// Does a statement behind the start name what it carries?
static bool touches_later(struct overlapper *o, const struct loop *loop, uint32_t start) {
    for (uint32_t i = start + 1; i < loop->body.n; i++)
        if (touches(o, &loop->body.statements[i], &loop->body.statements[start].start))
            return true;
    return false;
}

// All in flight at once, and with those of the loops that were cut from the same one: l mod end is
// l in all of them. Of a group's layers each run of the loop has as many as there are iterations.
static void give_flights(struct overlapper *o, struct loop *loop, uint32_t start, uint32_t wait,
                         int variable) {
    int64_t flights = loop->stride ? loop->stride : loop->end;
    struct block *body = &loop->body;
    struct handle *handle = &o->step->handles[body->statements[start].start.handle];
    struct index slot = index_variable(variable, 0, flights);
    body->statements[start].start.handle_index = body->statements[wait].wait.index = slot;
    if (handle->slots < flights)
        handle->slots = flights;
}

// A loop of waits alone, behind the loop that has the starts.
static struct statement take_wait_out(struct overlapper *o, struct statement *loop, uint32_t start,
                                      uint32_t wait, int variable) {
    struct block *body = &loop->loop.body;
    give_flights(o, &loop->loop, start, wait, variable);
    struct statement waits = *loop;
    waits.loop.body = (struct block){0};
    waits.span = body->statements[wait].span;
    block_push(o->program->arena, &waits.loop.body, body->statements[wait]);
    move_down(body, wait, body->n - 1);
    body->n--;
    return waits;
}

// Loops of nothing but waits that came to stand one behind the other are one loop.
static void join_waits(struct sinking *k, struct spot *spot) {
    struct statement *first = spot->before ? &spot->before->statement : NULL;
    struct statement *second = &spot->statement;
    if (!first || first->kind != STATEMENT_LOOP || first->loop.begin != second->loop.begin ||
        first->loop.end != second->loop.end || first->loop.stride != second->loop.stride ||
        first->loop.descending != second->loop.descending)
        return;
    for (uint32_t i = 0; i < first->loop.body.n; i++)
        if (first->loop.body.statements[i].kind != STATEMENT_WAIT)
            return;
    push_copies(k->overlapper, &first->loop.body, second->loop.body.statements,
                second->loop.body.n);
    remove_spot(&k->spots, spot);
}

// Is what both name in an iteration in one place of its own?
static bool name_own_alike(const struct overlapper *o, const struct reference *a,
                           const struct reference *b, const struct loop *loop, int variable) {
    for (unsigned k = 0; k < MAX_STACKS; k++)
        if (is_own(o, a, k, loop, variable) && index_equal(a->indices[k], b->indices[k]))
            return true;
    return false;
}

// May all of one statement's iterations run before the first of the other's, of the same loop? What
// both name must be another item in each.
static bool iterations_part(const struct overlapper *o, const struct loop *loop, int variable,
                            const struct statement *a, const struct statement *b) {
    struct access first, second;
    for (uint32_t i = 0; (first = statement_access(o->program, a, i)).at; i++)
        for (uint32_t k = 0; (second = statement_access(o->program, b, k)).at; k++)
            if (buffer_whole(o->program, first.at->buffer) ==
                    buffer_whole(o->program, second.at->buffer) &&
                !name_own_alike(o, first.at, second.at, loop, variable))
                return false;
    return true;
}

// The start in the loop that a wait belongs to; NO_ID: it is behind the wait, or elsewhere.
static uint32_t start_of(const struct block *block, uint32_t wait) {
    for (uint32_t i = wait; i-- > 0;)
        if (block->statements[i].kind == STATEMENT_START && wait_of(block, i) == wait)
            return i;
    return NO_ID;
}

// What the loop does from `at` on, in a loop of its own behind it? A wait there leaves what its start
// names in flight through all iterations of what stays.
static bool may_split(const struct overlapper *o, const struct loop *loop, uint32_t at,
                      int variable) {
    const struct block head = {loop->body.statements, at, 0};
    for (uint32_t i = at; i < loop->body.n; i++) {
        const struct statement *s = &loop->body.statements[i];
        struct statement_walk walk = walk_statements(&head);
        if (s->kind == STATEMENT_LOOP)
            return false;
        uint32_t start = s->kind == STATEMENT_WAIT ? start_of(&loop->body, i) : NO_ID;
        if (start < at)
            s = &loop->body.statements[start];
        while (walk_next(&walk))
            if (!iterations_part(o, loop, variable, walk.statement, s))
                return false;
    }
    return true;
}

// Reductions whose sums are used at once in the iteration, as accumulated gradients are, and copies of what
// is then freed: where every iteration has its own transients, what waits and uses them follows in a loop
// behind.
static bool split_at_wait(struct sinking *k, struct spot *spot, uint32_t wait) {
    struct overlapper *o = k->overlapper;
    int depth = k->depth;
    struct loop *loop = &spot->statement.loop;
    struct statement tail = spot->statement;
    if (loop_has_tasks(loop)) // which keep their order: others wait for what they send
        return false;
    for (uint32_t i = wait; i < loop->body.n; i++) {
        uint32_t start =
            loop->body.statements[i].kind == STATEMENT_WAIT ? start_of(&loop->body, i) : NO_ID;
        if (start < wait && !sends_own(o, loop, &loop->body.statements[start].start, depth))
            return false;
    }
    if (!may_split(o, loop, wait, depth))
        return false;
    for (uint32_t i = wait; i < loop->body.n; i++) {
        uint32_t start =
            loop->body.statements[i].kind == STATEMENT_WAIT ? start_of(&loop->body, i) : NO_ID;
        if (start < wait)
            give_flights(o, loop, start, i, depth);
    }
    tail.loop.body = (struct block){0};
    push_copies(o, &tail.loop.body, loop->body.statements + wait, loop->body.n - wait);
    loop->body.n = wait;
    insert_spot(&k->spots, new_spot(k, tail), spot->behind);
    return true;
}

// Does a copy take away what was made, to where it is kept?
static bool takes_away(const struct overlapper *o, const struct transfer *transfer) {
    for (uint32_t i = 0; i < transfer->n_pieces; i++)
        if (o->program->buffers[transfer->pieces[i].from.buffer].class != CLASS_TRANSIENT)
            return false;
    return is_copy(transfer);
}

static void sink_block(struct overlapper *o, struct block *block, int depth);

// Takes waits out of the loop and lets them sink behind it.
static void sink_from_loop(struct sinking *k, struct spot *spot) {
    struct overlapper *o = k->overlapper;
    struct statement *loop = &spot->statement;
    sink_block(o, &loop->loop.body, k->depth + 1);
    for (uint32_t i = 0; i < loop->loop.body.n; i++) {
        struct block *body = &loop->loop.body;
        uint32_t wait = body->statements[i].kind == STATEMENT_START ? wait_of(body, i) : NO_ID;
        if (wait == NO_ID || exchange_is_message(&body->statements[i].start.exchange) ||
            !sends_own(o, &loop->loop, &body->statements[i].start, k->depth))
            continue;
        struct transfer transfer = body->statements[i].start;
        if (!touches_later(o, &loop->loop, i)) {
            struct spot *waits = new_spot(k, take_wait_out(o, loop, i, wait, k->depth));
            insert_spot(&k->spots, waits, first_touch(k, &transfer));
            join_waits(k, waits);
        } else if ((!brings_ahead(&transfer) || takes_away(o, &transfer)) &&
                   split_at_wait(k, spot, wait)) {
            sink_from_loop(k, spot->behind);
            note_touches(k, spot->behind);
        }
    }
}

// Statements are looked at from the last to the first: what sinks does so past waits that have sunk
// already.
static void sink_block(struct overlapper *o, struct block *block, int depth) {
    struct sinking k = {.overlapper = o, .depth = depth, .block = ++o->n_blocks};
    CHECK(depth < LIMIT_LOOP_DEPTH);
    if (!o->touched[depth])
        o->touched[depth] = ARENA_ARRAY(o->scratch, struct touch, o->program->n_buffers + 1);
    take_block(&k, block);
    for (struct spot *spot = k.spots.last; spot; spot = spot->before) {
        struct spot *wait = spot->behind;
        if (spot->statement.kind == STATEMENT_LOOP) {
            sink_from_loop(&k, spot);
        } else if (wait && are_pair(&spot->statement, &wait->statement) &&
                   !exchange_is_message(&spot->statement.start.exchange)) {
            remove_spot(&k.spots, wait);
            insert_spot(&k.spots, wait, first_touch(&k, &spot->statement.start));
        }
        note_touches(&k, spot);
    }
    put_block(&k, block);
}

// ---- early starts in units --------------------------------------------------------------------

static uint32_t producer_of(const struct unit *unit, value_id value, uint32_t before) {
    for (uint32_t i = before; i-- > 0;)
        for (unsigned k = 0; k < unit->ops[i].n_results; k++)
            if (unit->ops[i].results[k] == value)
                return i;
    return NO_ID;
}

// Partition sums a value before the op that needs it. Ops between, such as a weight's gradient, can
// run while it travels.
static void start_early(struct unit *unit) {
    for (uint32_t i = 0; i < unit->n_ops; i++) {
        if (unit->ops[i].kind != OP_ALL_REDUCE)
            continue;
        uint32_t producer = producer_of(unit, unit->ops[i].operands[0], i);
        uint32_t to = producer == NO_ID ? 0 : producer + 1;
        struct op moved = unit->ops[i];
        memmove(unit->ops + to + 1, unit->ops + to, (i - to) * sizeof *unit->ops);
        unit->ops[to] = moved;
    }
}

// ---- the pass ---------------------------------------------------------------------------------

// The steps first, whose statements name buffers; units are local and come by themselves.
static bool overlap_program(struct program *program, const struct pass_context *context) {
    struct arena scratch = {0};
    struct overlapper o = {.program = program, .scratch = &scratch};
    bool placed = placement_for(program, context, &o.placement);
    for (int kind = 0; kind < N_STEPS && placed; kind++) {
        o.step = &program->steps[kind];
        prefetch_block(&o, &o.step->body, 0);
        start_gathers_early(&o, &o.step->body);
        sink_block(&o, &o.step->body, 0);
    }
    arena_free(&scratch);
    return placed;
}

bool overlap(struct job *job, const struct pass_context *context) {
    for (uint32_t i = 0; i < job->n_programs; i++)
        if (!overlap_program(job->programs[i], context))
            return false;
    for (uint32_t u = 0; u < job->n_units; u++)
        start_early(&job->units[u]);
    job_number(job);
    return true;
}
