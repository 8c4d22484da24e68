// Offload: what forward keeps for backward of a layer is on the host or on disk in between.
//
// Input: a partitioned program. Output: the same program, in which such a buffer lies in another tier,
// and calls have places on the device: one that forward leaves an item in, from which it goes out,
// and one for each loop of backward, to which it comes in.
//
//   for l = 0 .. 4 { call block_forward(x = hidden[l]) -> (y = hidden[l+1], q = saved.q[l]) }
//   for l = 0 .. 4 descending { call block_backward(x = hidden[l], q = saved.q[l]) }
// becomes
//   for l = 0 .. 4 {
//     start put { hidden.left[l mod 2] -> hidden[l] }
//     call block_forward(x = hidden.left[l mod 2]) -> (y = hidden.left[l+1 mod 2], q = saved.q.left)
//     wait put
//     start put.1 { saved.q.left -> saved.q[l] }  wait put.1
//   }
//   for l = 0 .. 4 descending {
//     start fetch { hidden[l] -> hidden.fetched, saved.q[l] -> saved.q.fetched }  wait fetch
//     call block_backward(x = hidden.fetched, q = saved.q.fetched)
//   }
//
// What one layer hands to the next goes out while the next is computed. What comes in does so ahead
// once `overlap` has been there, which also gives it its slots. What is kept of no layer, and what the
// last layer hands on, is used at once and stays on the device.
#include <inttypes.h>

#include "passes/passes.h"
#include "passes/reference/select.h"

// What the steps say of a buffer.
struct kept {
    bool forward, backward;      // calls in loops there read it
    bool backward_writes;        // it is no value of forward's
    bool in_turn;                // its items are slots already, or a transfer brings them
    const struct op *made_by;    // in a forward unit; NULL: none of its ops
    bool written;                // by a forward call
    int64_t layer;               // the first that forward writes it for
    int64_t written_at, read_at; // which item forward does in loops, counted from the variable
    const struct mode_statement *away; // the statement that keeps it elsewhere; NULL: none does
    buffer_id left;                    // the place on the device that forward leaves it in
};

// What is copied at one place of a step: for a call of forward, or for all of backward in a loop.
struct copying {
    struct transfer_piece *pieces;
    uint32_t n, cap;
    const char *name; // of the first unit that it is for
    struct span span;
};

struct offloader {
    struct program *program;
    struct modes_by_layer modes;
    struct names names; // of buffers
    struct step *step;
    bool trains;       // the step that is changed does
    bool backward;     // the last call that was changed is of backward
    struct kept *kept; // by buffers
    uint32_t n;        // of these
    struct copying going_out[LIMIT_LOOP_DEPTH],
        coming_in[LIMIT_LOOP_DEPTH]; // by the loops around the statement at hand
};

static const struct unit *unit_of(const struct offloader *o, const struct call *call) {
    return &o->program->job->units[call->unit];
}

// ---- which buffers ----------------------------------------------------------------------------

static void note_operand(struct offloader *o, const struct unit *unit, struct reference at) {
    struct kept *kept = &o->kept[at.buffer];
    bool in_loop = at.indices[0].variable >= 0;
    kept->in_turn |= at.indices[0].modulus != 0;
    if (unit->phase == PHASE_FORWARD && in_loop) {
        kept->forward = true;
        kept->read_at = at.indices[0].offset;
    }
    kept->backward |= unit->phase == PHASE_BACKWARD && in_loop;
}

static void note_result(struct offloader *o, const struct statement_walk *walk,
                        const struct unit *unit, uint32_t result, struct reference at) {
    struct kept *kept = &o->kept[at.buffer];
    kept->in_turn |= at.indices[0].modulus != 0;
    kept->backward_writes |= unit->phase != PHASE_FORWARD;
    if (unit->phase != PHASE_FORWARD || at.indices[0].variable < 0)
        return;
    kept->written = true;
    kept->layer = walk_loop(walk, walk->depth - 1)->begin;
    kept->written_at = at.indices[0].offset;
    kept->made_by = unit_producer(unit, unit->results[result].value);
}

// What a transfer brings, no call leaves.
static void note_transfer(struct offloader *o, const struct transfer *transfer) {
    for (uint32_t i = 0; i < transfer->n_pieces; i++)
        o->kept[transfer->pieces[i].to.buffer].in_turn = true;
}

static void note_step(struct offloader *o) {
    struct statement_walk walk = walk_statements(&o->program->steps[STEP_TRAIN].body);
    while (walk_next(&walk)) {
        if (walk.statement->kind == STATEMENT_START)
            note_transfer(o, &walk.statement->start);
        if (walk.statement->kind != STATEMENT_CALL)
            continue;
        const struct call *call = &walk.statement->call;
        const struct unit *unit = unit_of(o, call);
        for (uint32_t i = 0; i < unit->n_parameters; i++)
            note_operand(o, unit, call->operands[i]);
        for (uint32_t i = 0; i < unit->n_results; i++)
            note_result(o, &walk, unit, i, call->results[i]);
    }
}

// Does a layer hand it to the next?
static bool is_handed_on(const struct kept *kept) {
    return kept->forward && kept->written_at != kept->read_at;
}

// The input of a layer is what is said of the layer as a whole.
static const struct mode_statement *said_of(const struct offloader *o, const struct kept *kept) {
    bool of_op = kept->made_by && kept->made_by->n_roles > 0 &&
                 kept->made_by->roles[0] == ROLE_LAYERS && !is_handed_on(kept);
    return of_op ? offloads_activations(&o->modes, kept->made_by->roles, kept->made_by->n_roles,
                                        kept->layer)
                 : offloads_input(&o->modes, kept->layer);
}

static bool may_leave(const struct offloader *o, buffer_id id) {
    const struct buffer *buffer = &o->program->buffers[id];
    const struct kept *kept = &o->kept[id];
    return buffer->class == CLASS_ACTIVATIONS && buffer->stacks.n == 1 && !kept->in_turn &&
           kept->written && kept->backward && !kept->backward_writes;
}

static buffer_id add_place(struct offloader *o, buffer_id of, const char *suffix, int64_t slots) {
    struct buffer place = o->program->buffers[of];
    const char *name = arena_format(o->program->arena, "%s%s", place.name, suffix);
    place.name = names_fresh(&o->names, name, '.');
    place.class = CLASS_TRANSIENT;
    place.tier = TIER_DEVICE;
    place.stacks = stacked_in_slots(slots);
    buffer_id made = program_add_buffer(o->program, place);
    names_add(&o->names, place.name, made);
    return made;
}

// Nobody keeps what the last layer hands on. What is kept of every group of layers is counted by groups.
static void move_away(struct offloader *o, buffer_id id) {
    struct kept *kept = &o->kept[id];
    kept->left = add_place(o, id, ".left", is_handed_on(kept) ? 2 : 1);
    struct buffer *buffer = &o->program->buffers[id];
    buffer->tier = kept->away->to;
    buffer->stacks.list[0].kind = STACK_LAYERS;
    if (is_handed_on(kept))
        buffer->stacks.list[0].count--;
}

static bool find_away(struct offloader *o) {
    bool any = false;
    for (buffer_id id = 0; id < o->n; id++) {
        names_add(&o->names, o->program->buffers[id].name, id);
        if (may_leave(o, id))
            o->kept[id].away = said_of(o, &o->kept[id]);
        any |= o->kept[id].away != NULL;
    }
    for (buffer_id id = 0; id < o->n; id++)
        if (o->kept[id].away)
            move_away(o, id);
    return any;
}

// ---- copies -----------------------------------------------------------------------------------

static bool is_away(const struct offloader *o, buffer_id id) {
    return id < o->n && o->kept[id].away;
}

static void add_piece(struct offloader *o, struct copying *to, struct reference from,
                      struct reference at) {
    const struct transfer_piece piece = {.from = from, .to = at};
    ARENA_PUSH(o->program->arena, to->pieces, to->n, to->cap, piece);
}

static void push_copy(struct offloader *o, const char *verb, const struct copying *of,
                      struct transfer_piece *pieces, uint32_t n, struct block *starts,
                      struct block *waits) {
    static const struct axis_list none = {0};
    struct arena *arena = o->program->arena;
    const char *name = arena_format(arena, "%s.%s", verb, of->name);
    uint32_t handle =
        step_add_handle(arena, o->step, names_fresh(&o->step->handle_names, name, '.'), 1);
    block_push(arena, starts,
               (struct statement){.kind = STATEMENT_START,
                                  .span = of->span,
                                  .start = {.exchange = exchange_flat(COLLECTIVE_COPY, &none),
                                            .handle = handle,
                                            .handle_index = index_constant(0),
                                            .pieces = pieces,
                                            .n_pieces = n}});
    block_push(arena, waits,
               (struct statement){.kind = STATEMENT_WAIT,
                                  .span = of->span,
                                  .wait = {.handle = handle, .index = index_constant(0)}});
}

// Starts and waits of what goes side by side: all that there is, or where a statement says so each
// value by itself.
static void push_copies(struct offloader *o, const char *verb, const struct copying *of,
                        struct block *starts, struct block *waits) {
    struct copying together = *of;
    together.pieces = ARENA_ARRAY(o->program->arena, struct transfer_piece, of->n + 1);
    together.n = 0;
    for (uint32_t i = 0; i < of->n; i++) {
        buffer_id from = of->pieces[i].from.buffer;
        buffer_id kept = is_away(o, from) ? from : of->pieces[i].to.buffer;
        if (o->kept[kept].away->unit == UNIT_TENSOR)
            push_copy(o, verb, of, &of->pieces[i], 1, starts, waits);
        else
            together.pieces[together.n++] = of->pieces[i];
    }
    if (together.n)
        push_copy(o, verb, of, together.pieces, together.n, starts, waits);
}

static struct reference left_at(const struct offloader *o, struct reference at) {
    buffer_id left = o->kept[at.buffer].left;
    return reference_at(left,
                        index_in_slots(at.indices[0], buffer_items(&o->program->buffers[left])));
}

// ---- calls ------------------------------------------------------------------------------------

// Adds the copy of an item to those of a loop, if it is not among them. Returns where it goes from there.
static struct reference copied_to(struct offloader *o, struct copying *of, const char *name,
                                  struct span span, const struct transfer_piece *piece) {
    for (uint32_t i = 0; i < of->n; i++)
        if (reference_equal(&of->pieces[i].from, &piece->from))
            return of->pieces[i].to;
    if (of->n == 0) {
        of->name = name;
        of->span = span;
    }
    struct transfer_piece added = *piece;
    if (is_away(o, added.from.buffer))
        added.to = reference_to(add_place(o, added.from.buffer, ".fetched", 1));
    ARENA_PUSH(o->program->arena, of->pieces, of->n, of->cap, added);
    return added.to;
}

// Where backward has what came in for it in the loop whose variable says which item.
static struct reference fetched_at(struct offloader *o, const char *reader, struct span span,
                                   struct reference at) {
    return copied_to(o, &o->coming_in[at.indices[0].variable], reader, span,
                     &(struct transfer_piece){.from = at});
}

// An item that is handed on goes out once in the block, in front of the first call that reads it.
static bool goes_out(const struct offloader *o, const struct block *made, struct reference left) {
    for (uint32_t i = 0; i < made->n; i++)
        for (uint32_t k = 0;
             made->statements[i].kind == STATEMENT_START && k < made->statements[i].start.n_pieces;
             k++)
            if (reference_equal(&made->statements[i].start.pieces[k].from, &left))
                return false;
    return o->trains;
}

// Where forward leaves an item, from which it goes out behind all that the loop does for it.
static struct reference leave_at(struct offloader *o, const char *writer, struct span span,
                                 struct reference at) {
    struct reference left = left_at(o, at);
    if (o->trains && !is_handed_on(&o->kept[at.buffer]))
        copied_to(o, &o->going_out[at.indices[0].variable], writer, span,
                  &(struct transfer_piece){.from = left, .to = at});
    return left;
}

static void push_call(struct offloader *o, struct block *made, struct statement s,
                      struct block *late) {
    struct arena *arena = o->program->arena;
    s = statement_clone(arena, o->program, &s);
    const struct unit *unit = unit_of(o, &s.call);
    o->backward = unit->phase == PHASE_BACKWARD;
    struct copying before = {.name = unit->name, .span = s.span};
    for (uint32_t i = 0; i < unit->n_parameters; i++) {
        struct reference at = s.call.operands[i];
        if (!is_away(o, at.buffer))
            continue;
        bool by_item = at.indices[0].variable >= 0;
        if (o->backward && by_item) {
            s.call.operands[i] = fetched_at(o, unit->name, s.span, at);
            continue;
        }
        s.call.operands[i] = left_at(o, at);
        if (by_item && is_handed_on(&o->kept[at.buffer]) && goes_out(o, made, s.call.operands[i]))
            add_piece(o, &before, s.call.operands[i], at);
    }
    for (uint32_t i = 0; i < unit->n_results; i++)
        if (is_away(o, s.call.results[i].buffer))
            s.call.results[i] = leave_at(o, unit->name, s.span, s.call.results[i]);
    push_copies(o, "put", &before, made, late);
    block_push(arena, made, s);
}

// A collective sends what calls have, on the device; it is of the call before it.
static void push_start(struct offloader *o, struct block *made, struct statement s) {
    s = statement_clone(o->program->arena, o->program, &s);
    for (uint32_t i = 0; i < s.start.n_pieces; i++) {
        struct reference *from = &s.start.pieces[i].from;
        if (is_away(o, from->buffer))
            *from = o->backward && from->indices[0].variable >= 0
                        ? fetched_at(o, o->step->handles[s.start.handle].name, s.span, *from)
                        : left_at(o, *from);
    }
    block_push(o->program->arena, made, s);
}

// Frees tell `overlap` how far transfers may move; those of what is elsewhere now tell nothing.
static void push_free(struct offloader *o, struct block *made, struct statement s) {
    struct reference *items = ARENA_ARRAY(o->program->arena, struct reference, s.free.n_items + 1);
    uint32_t n = 0;
    for (uint32_t i = 0; i < s.free.n_items; i++)
        if (!is_away(o, s.free.items[i].buffer))
            items[n++] = s.free.items[i];
    s.free.items = items;
    s.free.n_items = n;
    if (n)
        block_push(o->program->arena, made, s);
}

static void change_block(struct offloader *o, struct block *block, int depth);

static void change_loop(struct offloader *o, struct statement *loop, int depth) {
    struct block made = {0}, waits = {0};
    o->coming_in[depth] = o->going_out[depth] = (struct copying){0};
    change_block(o, &loop->loop.body, depth + 1);
    push_copies(o, "put", &o->going_out[depth], &loop->loop.body, &waits);
    for (uint32_t i = 0; i < waits.n; i++)
        block_push(o->program->arena, &loop->loop.body, waits.statements[i]);
    push_copies(o, "fetch", &o->coming_in[depth], &made, &made);
    for (uint32_t i = 0; i < made.n; i++)
        block_insert(o->program->arena, &loop->loop.body, i, made.statements[i]);
}

static void change_block(struct offloader *o, struct block *block, int depth) {
    struct block made = {0}, late = {0};
    for (uint32_t i = 0; i < block->n; i++) {
        struct statement s = block->statements[i];
        if (s.kind == STATEMENT_LOOP)
            change_loop(o, &s, depth);
        if (s.kind == STATEMENT_CALL)
            push_call(o, &made, s, &late);
        else if (s.kind == STATEMENT_START)
            push_start(o, &made, s);
        else if (s.kind == STATEMENT_FREE)
            push_free(o, &made, s);
        else
            block_push(o->program->arena, &made, s);
    }
    for (uint32_t i = 0; i < late.n; i++)
        block_push(o->program->arena, &made, late.statements[i]);
    *block = made;
}

// ---- the pass ---------------------------------------------------------------------------------

static void offload_program(struct program *program, const struct pass_context *context) {
    struct offloader o = {.program = program,
                          .modes = modes_by_layer(program->arena, &context->config->strategy),
                          .names.arena = program->arena,
                          .kept = ARENA_ARRAY(program->arena, struct kept, program->n_buffers + 1),
                          .n = program->n_buffers};
    note_step(&o);
    if (!find_away(&o))
        return;
    for (int kind = 0; kind < N_STEPS; kind++) {
        o.step = &program->steps[kind];
        o.trains = kind == STEP_TRAIN;
        o.backward = false;
        change_block(&o, &o.step->body, 0);
    }
}

bool offload(struct job *job, const struct pass_context *context) {
    for (uint32_t i = 0; i < job->n_programs; i++)
        offload_program(job->programs[i], context);
    job_number(job);
    return true;
}
