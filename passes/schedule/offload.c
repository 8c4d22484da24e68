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
// Of layers that are copied several at once, which are in groups (layers/gather_units.c), a group's come in
// together, in a loop in front of those that use them, and what goes out is waited for behind the loop that
// makes it:
//
//   for g = 0 .. 2 descending {
//     for l = 2*g .. 2*g+2 descending { start fetch { saved.q[l] -> saved.q.fetched[l mod 2] }  wait fetch }
//     for l = 2*g .. 2*g+2 descending { call block_backward(q = saved.q.fetched[l mod 2]) }
//   }
//
// What one layer hands to the next goes out while the next is computed. What comes in does so ahead
// once `overlap` has been there, which also gives it its slots. What is kept of no layer, and what the
// last layer hands on, is used at once and stays on the device, and so does what layers hand on of
// several microbatches that a stage of a pipeline has in flight.
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
    int64_t layer, read_layer;   // the first that forward writes, and reads, it for
    int64_t at_once;             // layers that are copied at once, the most of any range
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
    const struct loop *loops[LIMIT_LOOP_DEPTH];
    struct block late[LIMIT_LOOP_DEPTH]; // waits of what goes out in them, for a loop behind
    struct placement placement;
};

static const struct unit *unit_of(const struct offloader *o, const struct call *call) {
    return &o->program->job->units[call->unit];
}

// ---- which buffers ----------------------------------------------------------------------------

// By what the items of a layer are told apart: of the microbatches that a stage of a pipeline has in flight each has its
// own.
static struct index layer_index(const struct offloader *o, struct reference at) {
    unsigned stacks = o->program->buffers[at.buffer].stacks.n;
    return at.indices[stacks > 1 ? stacks - 1 : 0];
}

static bool is_in_flight(const struct buffer *buffer) {
    return buffer->stacks.n == 2 && buffer->stacks.list[0].kind == STACK_IN_FLIGHT;
}

static void note_operand(struct offloader *o, const struct statement_walk *walk,
                         const struct unit *unit, struct reference at) {
    struct kept *kept = &o->kept[at.buffer];
    struct index item = layer_index(o, at);
    bool in_loop = item.variable >= 0;
    kept->in_turn |= item.modulus != 0;
    if (unit->phase == PHASE_FORWARD && in_loop) {
        kept->forward = true;
        kept->read_at = item.offset;
        kept->read_layer = walk_loop(walk, walk->depth - 1)->begin;
    }
    kept->backward |= unit->phase == PHASE_BACKWARD && in_loop;
}

static void note_result(struct offloader *o, const struct statement_walk *walk,
                        const struct unit *unit, uint32_t result, struct reference at) {
    struct kept *kept = &o->kept[at.buffer];
    struct index item = layer_index(o, at);
    kept->in_turn |= item.modulus != 0;
    kept->backward_writes |= unit->phase != PHASE_FORWARD;
    if (unit->phase != PHASE_FORWARD || item.variable < 0)
        return;
    kept->written = true;
    kept->layer = walk_loop(walk, walk->depth - 1)->begin;
    int64_t at_once = o->placement.kept_at_once[placement_range(&o->placement, kept->layer)];
    kept->at_once = at_once > kept->at_once ? at_once : kept->at_once;
    kept->written_at = item.offset;
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
            note_operand(o, &walk, unit, call->operands[i]);
        for (uint32_t i = 0; i < unit->n_results; i++)
            note_result(o, &walk, unit, i, call->results[i]);
    }
}

// Does an iteration hand it to the next, or to the layer whose turn is next in it?
static bool is_handed_to_next(const struct kept *kept) {
    return kept->forward && kept->written_at != kept->read_at;
}

static bool is_handed_on(const struct kept *kept) {
    return is_handed_to_next(kept) || (kept->forward && kept->layer != kept->read_layer);
}

// The input of a layer is what is said of the layer as a whole.
static const struct mode_statement *said_of(const struct offloader *o, const struct kept *kept) {
    bool of_op = kept->made_by && kept->made_by->n_roles > 0 &&
                 kept->made_by->roles[0] == ROLE_LAYERS && !is_handed_on(kept);
    return of_op ? offloads_activations(&o->modes, kept->made_by->roles, kept->made_by->n_roles,
                                        kept->layer)
                 : offloads_input(&o->modes, kept->read_layer);
}

static bool may_leave(const struct offloader *o, buffer_id id) {
    const struct buffer *buffer = &o->program->buffers[id];
    const struct kept *kept = &o->kept[id];
    // What is handed on of a microbatch in flight is sent from where it was left while others come there.
    bool has_place = buffer->stacks.n == 1 || (is_in_flight(buffer) && !is_handed_on(kept));
    return buffer->class == CLASS_ACTIVATIONS && has_place && !kept->in_turn && kept->written &&
           kept->backward && !kept->backward_writes;
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
    if (layers_of_unit(kept->away) == 1)
        kept->at_once = 1;
    kept->left =
        add_place(o, id, ".left", is_handed_to_next(kept) ? kept->at_once + 1 : kept->at_once);
    struct buffer *buffer = &o->program->buffers[id];
    buffer->tier = kept->away->to;
    buffer->stacks.list[buffer->stacks.n - 1].kind = STACK_LAYERS;
    if (is_handed_to_next(kept))
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

// How many items that a loop over a group's layers uses, by its variable, are copied together: all of the
// group's, if its range copies as many at once; 1: each is by itself.
static int64_t copied_together(const struct offloader *o, buffer_id id, int variable) {
    const struct loop *loop = o->loops[variable];
    int64_t layers = loop->end - loop->begin;
    uint32_t range = placement_range(&o->placement, loop->begin);
    bool together = layers <= o->kept[id].at_once && layers <= o->placement.kept_at_once[range];
    return loop->stride && together ? layers : 1;
}

static void add_piece(struct offloader *o, struct copying *to, struct reference from,
                      struct reference at) {
    const struct transfer_piece piece = {.from = from, .to = at};
    ARENA_PUSH(o->program->arena, to->pieces, to->n, to->cap, piece);
}

// A copy of which several are in flight, in the loop of a variable, or one.
struct flight {
    int variable;
    int64_t n;
};

static void push_copy(struct offloader *o, const char *verb, const struct copying *of,
                      struct transfer_piece *pieces, uint32_t n, struct flight flight,
                      struct block *starts, struct block *waits) {
    static const struct axis_list none = {0};
    struct arena *arena = o->program->arena;
    const char *name = arena_format(arena, "%s.%s", verb, of->name);
    struct index index = index_in_slots(index_variable(flight.variable, 0, 0), flight.n);
    uint32_t handle =
        step_add_handle(arena, o->step, names_fresh(&o->step->handle_names, name, '.'), flight.n);
    block_push(arena, starts,
               (struct statement){.kind = STATEMENT_START,
                                  .span = of->span,
                                  .start = {.exchange = exchange_flat(COLLECTIVE_COPY, &none),
                                            .handle = handle,
                                            .handle_index = index,
                                            .pieces = pieces,
                                            .n_pieces = n}});
    block_push(arena, waits,
               (struct statement){.kind = STATEMENT_WAIT,
                                  .span = of->span,
                                  .wait = {.handle = handle, .index = index}});
}

// The buffer that is elsewhere, of a copy from or to it.
static buffer_id kept_by(const struct offloader *o, const struct transfer_piece *piece) {
    return is_away(o, piece->from.buffer) ? piece->from.buffer : piece->to.buffer;
}

// Those of a loop's copies that several layers have together, with how many are in flight; or the others.
static struct flight take_together(const struct offloader *o, const struct copying *all,
                                   int variable, bool together, struct copying *taken) {
    struct flight flight = {variable, 1};
    *taken = *all;
    taken->pieces = ARENA_ARRAY(o->program->arena, struct transfer_piece, all->n + 1);
    taken->n = 0;
    for (uint32_t i = 0; i < all->n; i++) {
        int64_t n = copied_together(o, kept_by(o, &all->pieces[i]), variable);
        if ((n > 1) != together)
            continue;
        taken->pieces[taken->n++] = all->pieces[i];
        flight.n = n > flight.n ? n : flight.n;
    }
    return flight;
}

// Starts and waits of what goes side by side: all that there is, or where a statement says so each
// value by itself.
static void push_copies(struct offloader *o, const char *verb, const struct copying *of,
                        struct flight flight, struct block *starts, struct block *waits) {
    struct copying together = *of;
    together.pieces = ARENA_ARRAY(o->program->arena, struct transfer_piece, of->n + 1);
    together.n = 0;
    for (uint32_t i = 0; i < of->n; i++) {
        if (o->kept[kept_by(o, &of->pieces[i])].away->unit == UNIT_TENSOR)
            push_copy(o, verb, of, &of->pieces[i], 1, flight, starts, waits);
        else
            together.pieces[together.n++] = of->pieces[i];
    }
    if (together.n)
        push_copy(o, verb, of, together.pieces, together.n, flight, starts, waits);
}

static struct reference left_at(const struct offloader *o, struct reference at) {
    buffer_id left = o->kept[at.buffer].left;
    return reference_at(
        left, index_in_slots(layer_index(o, at), buffer_items(&o->program->buffers[left])));
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
    if (is_away(o, added.from.buffer)) {
        struct index item = layer_index(o, added.from);
        int64_t slots = copied_together(o, added.from.buffer, item.variable);
        added.to = reference_at(add_place(o, added.from.buffer, ".fetched", slots),
                                index_in_slots(item, slots));
    }
    ARENA_PUSH(o->program->arena, of->pieces, of->n, of->cap, added);
    return added.to;
}

// Where backward has what came in for it in the loop whose variable says which item.
static struct reference fetched_at(struct offloader *o, const char *reader, struct span span,
                                   struct reference at) {
    return copied_to(o, &o->coming_in[layer_index(o, at).variable], reader, span,
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
        copied_to(o, &o->going_out[layer_index(o, at).variable], writer, span,
                  &(struct transfer_piece){.from = left, .to = at});
    return left;
}

// What a call reads goes out while it computes: that of a group's layers until all of them have been
// computed.
static void put_before(struct offloader *o, const struct copying *before, struct block *made,
                       struct block *late) {
    struct copying alone, together;
    if (before->n == 0)
        return;
    int variable = before->pieces[0].to.indices[0].variable;
    struct flight one = take_together(o, before, variable, false, &alone);
    struct flight several = take_together(o, before, variable, true, &together);
    push_copies(o, "put", &alone, one, made, late);
    push_copies(o, "put", &together, several, made, &o->late[variable]);
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
        bool by_item = layer_index(o, at).variable >= 0;
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
    put_before(o, &before, made, late);
    block_push(arena, made, s);
}

// A collective sends what calls have, on the device; it is of the call before it.
static void push_start(struct offloader *o, struct block *made, struct statement s) {
    s = statement_clone(o->program->arena, o->program, &s);
    for (uint32_t i = 0; i < s.start.n_pieces; i++) {
        struct reference *from = &s.start.pieces[i].from;
        if (is_away(o, from->buffer))
            *from = o->backward && layer_index(o, *from).variable >= 0
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

static void push_all(const struct offloader *o, struct block *to, const struct block *from) {
    for (uint32_t i = 0; i < from->n; i++)
        block_push(o->program->arena, to, from->statements[i]);
}

static struct statement loop_of(const struct statement *like, struct block body) {
    struct statement made = *like;
    made.loop.body = body;
    return made;
}

// Puts what the loop's items go out by at its end; a group's are waited for in a loop behind it.
static void put_behind(struct offloader *o, struct statement *loop, int depth,
                       struct block *behind) {
    struct block waits = {0};
    struct copying alone, together;
    struct flight one = take_together(o, &o->going_out[depth], depth, false, &alone);
    struct flight several = take_together(o, &o->going_out[depth], depth, true, &together);
    push_copies(o, "put", &alone, one, &loop->loop.body, &waits);
    push_copies(o, "put", &together, several, &loop->loop.body, &o->late[depth]);
    push_all(o, &loop->loop.body, &waits);
    if (o->late[depth].n)
        block_push(o->program->arena, behind, loop_of(loop, o->late[depth]));
}

// Fetches the loop's items at its front; a group's in a loop in front of it.
static void fetch_before(struct offloader *o, struct statement *loop, int depth,
                         struct block *ahead) {
    struct block made = {0}, nest = {0};
    struct copying alone, together;
    take_together(o, &o->coming_in[depth], depth, false, &alone);
    take_together(o, &o->coming_in[depth], depth, true, &together);
    const struct flight one = {depth, 1}; // until `overlap` starts them ahead
    push_copies(o, "fetch", &alone, one, &made, &made);
    push_copies(o, "fetch", &together, one, &nest, &nest);
    for (uint32_t i = 0; i < made.n; i++)
        block_insert(o->program->arena, &loop->loop.body, i, made.statements[i]);
    if (nest.n)
        block_push(o->program->arena, ahead, loop_of(loop, nest));
}

static void change_loop(struct offloader *o, struct statement *loop, int depth, struct block *ahead,
                        struct block *behind) {
    o->coming_in[depth] = o->going_out[depth] = (struct copying){0};
    o->late[depth] = (struct block){0};
    o->loops[depth] = &loop->loop;
    change_block(o, &loop->loop.body, depth + 1);
    put_behind(o, loop, depth, behind);
    fetch_before(o, loop, depth, ahead);
}

// Where in a block what is copied for layers of a group comes in: in front of all that is done with them, the
// copies and gathers of others included, or of a piece of them where several are recomputed at once.
struct front {
    int64_t first, piece; // layers; the number of the piece at hand
    bool begun;
    uint32_t at;
};

static struct front front_of(const struct block *block) {
    struct front front = {.first = INT64_MAX};
    for (uint32_t i = 0; i < block->n; i++) {
        const struct statement *s = &block->statements[i];
        if (s->kind == STATEMENT_LOOP && s->loop.begin < front.first)
            front.first = s->loop.begin;
    }
    return front;
}

static void move_front(const struct offloader *o, struct front *front, const struct loop *loop,
                       uint32_t here) {
    if (!loop->stride)
        return;
    uint32_t range = placement_range(&o->placement, loop->begin);
    int64_t piece = (loop->begin - front->first) / o->placement.kept_at_once[range];
    if (front->begun && piece != front->piece)
        front->at = here;
    front->begun = true;
    front->piece = piece;
}

static void push_loop(struct offloader *o, struct block *made, struct statement loop, int depth,
                      struct front *front) {
    struct block ahead = {0}, behind = {0};
    move_front(o, front, &loop.loop, made->n);
    change_loop(o, &loop, depth, &ahead, &behind);
    for (uint32_t i = 0; i < ahead.n; i++)
        block_insert(o->program->arena, made, front->at++, ahead.statements[i]);
    block_push(o->program->arena, made, loop);
    push_all(o, made, &behind);
}

static void change_block(struct offloader *o, struct block *block, int depth) {
    struct block made = {0}, late = {0};
    struct front front = front_of(block);
    for (uint32_t i = 0; i < block->n; i++) {
        const struct statement s = block->statements[i];
        if (s.kind == STATEMENT_LOOP)
            push_loop(o, &made, s, depth, &front);
        else if (s.kind == STATEMENT_CALL)
            push_call(o, &made, s, &late);
        else if (s.kind == STATEMENT_START)
            push_start(o, &made, s);
        else if (s.kind == STATEMENT_FREE)
            push_free(o, &made, s);
        else
            block_push(o->program->arena, &made, s);
    }
    push_all(o, &made, &late);
    *block = made;
}

// ---- the pass ---------------------------------------------------------------------------------

static bool offload_program(struct program *program, const struct pass_context *context) {
    struct offloader o = {.program = program,
                          .modes = modes_by_layer(program->arena, &context->config->strategy),
                          .names.arena = program->arena,
                          .kept = ARENA_ARRAY(program->arena, struct kept, program->n_buffers + 1),
                          .n = program->n_buffers};
    if (!placement_for(program, context, &o.placement))
        return false;
    note_step(&o);
    if (!find_away(&o))
        return true;
    for (int kind = 0; kind < N_STEPS; kind++) {
        o.step = &program->steps[kind];
        o.trains = kind == STEP_TRAIN;
        o.backward = false;
        change_block(&o, &o.step->body, 0);
    }
    return true;
}

bool offload(struct job *job, const struct pass_context *context) {
    for (uint32_t i = 0; i < job->n_programs; i++)
        if (!offload_program(job->programs[i], context))
            return false;
    job_number(job);
    return true;
}
