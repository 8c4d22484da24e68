// How one state of each tensor travels in the training step of a program, whoever wrote it. How
// often, and with how much, is read off the text; how far ahead of its use a gather starts shows
// when the step, made short, is executed statement by statement (uses.h): the calls between its
// start and its wait are counted that compute with other layers of the same tensor. So it does not
// matter in which loops starts and waits stand.
#include "passes/account/account.h"

#include "passes/schedule/followed.h"

struct reader {
    const struct program *program;
    const struct placement *placement;
    enum state state;
    struct traffic *traffic;
};

// Whether a piece counts for the reader's state: gradients are counted when they are summed,
// parameters when they are gathered for calls. What is gathered behind an update that was made in
// windows goes back into the parameters, so it is not counted.
static bool travels(const struct reader *r, const struct transfer *start,
                    const struct transfer_piece *piece) {
    const struct buffer *from = &r->program->buffers[piece->from.buffer];
    const struct buffer *to = &r->program->buffers[piece->to.buffer];
    if (state_of_piece(&start->exchange, from, to) != r->state)
        return false;
    return r->state == STATE_GRADIENTS
               ? collective_sums(start->exchange.kind)
               : collective_gathers(start->exchange.kind) && to->class == CLASS_TRANSIENT;
}

// The end of a piece that says of which tensor and layer it is: the one that is no transient.
static const struct reference *named_end(const struct reader *r,
                                         const struct transfer_piece *piece) {
    const struct buffer *to = &r->program->buffers[piece->to.buffer];
    bool names = class_states[to->class] == r->state && to->tensor != NO_ID;
    return names ? &piece->to : &piece->from;
}

// The layer at a place of the buffer; 0 where it is not stacked by layers.
static int64_t layer_at(const struct buffer *buffer, int64_t place) {
    bool layers = buffer_stack(buffer, STACK_LAYERS);
    return layers ? buffer_first_layer(buffer) + place * buffer_layer_step(buffer) : 0;
}

// Where a tensor in the range of a place's layer stands in the placement.
static uint32_t place_of(const struct reader *r, const struct buffer *buffer, int64_t place) {
    return placement_range(r->placement, layer_at(buffer, place)) * r->placement->n_tensors +
           buffer->tensor;
}

static struct traffic *traffic_of(const struct reader *r, uint32_t place, unsigned axis) {
    return &r->traffic[place * r->program->job->mesh.n_axes + axis];
}

// ---- how often, with how much -----------------------------------------------------------------

static int64_t bytes_together(const struct program *program, const struct transfer *start) {
    bool gather = start->exchange.kind == COLLECTIVE_ALL_GATHER;
    int64_t bytes = 0;
    for (uint32_t i = 0; i < start->n_pieces; i++) {
        const struct transfer_piece *piece = &start->pieces[i];
        buffer_id whole = gather ? piece->to.buffer : piece->from.buffer;
        bytes = size_plus(bytes, buffer_item_bytes(program, &program->buffers[whole]));
    }
    return bytes;
}

// How many layers go by in loops that go with the one around them, as those over the layers of a
// group do.
static int64_t layers_in_a_row(const struct statement_walk *walk) {
    int64_t layers = 1;
    for (int variable = walk->depth - 1; variable >= 0; variable--) {
        const struct loop *loop = walk_loop(walk, variable);
        if (!loop->stride)
            break;
        layers = size_times(layers, loop->end - loop->begin);
    }
    return layers;
}

struct layer_places { // first to before end
    int64_t first, end;
};

static struct layer_places places_named(const struct statement_walk *walk, struct index index) {
    struct layer_places places = {index.offset, index.offset + 1};
    int64_t ratio = 1;
    for (int variable = index.variable; variable >= 0; variable--) {
        const struct loop *loop = walk_loop(walk, variable);
        places.first += ratio * loop->begin;
        places.end += ratio * (loop->end - 1);
        if (!loop->stride)
            break;
        ratio *= loop->stride;
    }
    return places;
}

static void add_to(struct traffic *traffic, const struct traffic *more) {
    if (traffic->times == 0)
        traffic->span = more->span;
    traffic->times = size_plus(traffic->times, more->times);
    traffic->together = more->together > traffic->together ? more->together : traffic->together;
    traffic->in_a_row = more->in_a_row > traffic->in_a_row ? more->in_a_row : traffic->in_a_row;
}

// How many places, from this one on, are of layers in the same range.
static int64_t places_alike(const struct reader *r, const struct buffer *buffer, int64_t place,
                            int64_t end) {
    int64_t layer = layer_at(buffer, place), step = buffer_layer_step(buffer);
    if (!buffer_stack(buffer, STACK_LAYERS))
        return end - place;
    const struct layer_range *range = &r->placement->ranges[placement_range(r->placement, layer)];
    if (step % range->step != 0 || range->end <= layer)
        return 1;
    int64_t n = (range->end - layer + step - 1) / step;
    return n < end - place ? n : end - place;
}

// What a statement carries of one item, it carries as often of each that it names.
static void add_piece(const struct reader *r, const struct statement_walk *walk,
                      const struct reference *named, struct traffic more) {
    const struct axis_list *axes = &walk->statement->start.exchange.axes;
    const struct buffer *buffer = &r->program->buffers[named->buffer];
    int layers = buffer_find_stack(buffer, STACK_LAYERS);
    struct layer_places places = places_named(walk, named->indices[layers < 0 ? 0 : layers]);
    int64_t times = walk_trips(walk) / (places.end - places.first);
    for (int64_t place = places.first, n; place < places.end; place += n) {
        n = places_alike(r, buffer, place, places.end);
        more.times = size_times(times, n);
        for (unsigned k = 0; k < axes->n; k++)
            add_to(traffic_of(r, place_of(r, buffer, place), axes->axes[k]), &more);
    }
}

static void add_start(const struct reader *r, const struct statement_walk *walk) {
    const struct transfer *start = &walk->statement->start;
    struct traffic more = {.together = bytes_together(r->program, start),
                           .in_a_row = layers_in_a_row(walk),
                           .span = walk->statement->span};
    for (uint32_t i = 0; i < start->n_pieces; i++)
        if (walk_trips(walk) > 0 && travels(r, start, &start->pieces[i]))
            add_piece(r, walk, named_end(r, &start->pieces[i]), more);
}

// ---- how far ahead ----------------------------------------------------------------------------

// A piece on its way; or what a buffer was filled with, and no call has read yet.
struct piece_state {
    uint32_t place; // in the placement
    int64_t calls;  // until the start; of what has arrived, from there to the wait
};
struct flight {
    const struct statement *start; // NULL: there is none
    struct piece_state *pieces;
};
struct arrived {
    const struct statement *start; // NULL: nothing
    struct piece_state piece;
};

// The calls so far that computed with another layer of a tensor than the one before, and what that
// one read.
struct clock {
    int64_t calls;
    buffer_id buffer;
    int64_t item;
};

struct follower {
    const struct reader *reader;
    const struct shortened *shortened;
    const int64_t *first_slot; // of every handle, in `flights`
    struct flight *flights;
    struct clock *clocks;    // of every tensor
    struct clock **clock_of; // of every buffer; NULL: no gather fills it
    struct arrived *arrived; // of every buffer
    struct arena *arena;
};

static struct flight *flight_of(const struct follower *f, const struct execution *now,
                                uint32_t handle, struct index index) {
    return &f->flights[f->first_slot[handle] + index_at(index, now->variables)];
}

// Where the tensor that is named stands in the placement. The step that is followed was made short;
// the layer is that of the whole step.
static uint32_t place_named(const struct follower *f, const struct execution *now,
                            const struct reference *named) {
    const struct buffer *buffer = &f->reader->program->buffers[named->buffer];
    int layers = buffer_find_stack(buffer, STACK_LAYERS);
    int64_t place = layers < 0 ? 0 : index_at(named->indices[layers], now->variables);
    if (layers >= 0)
        place = whole_place(f->shortened, named->buffer, (unsigned)layers, place);
    return place_of(f->reader, buffer, place);
}

static void follow_start(struct follower *f, const struct execution *now) {
    const struct transfer *start = &now->statement->start;
    struct flight flight = {now->statement,
                            ARENA_ARRAY(f->arena, struct piece_state, start->n_pieces + 1)};
    for (uint32_t i = 0; i < start->n_pieces; i++) {
        const struct reference *named = named_end(f->reader, &start->pieces[i]);
        if (!travels(f->reader, start, &start->pieces[i]))
            continue;
        const struct buffer *buffer = &f->reader->program->buffers[named->buffer];
        struct clock *clock = &f->clocks[buffer->tensor];
        flight.pieces[i] = (struct piece_state){place_named(f, now, named), clock->calls};
        f->clock_of[start->pieces[i].to.buffer] = clock;
    }
    *flight_of(f, now, start->handle, start->handle_index) = flight;
}

static void follow_wait(struct follower *f, const struct execution *now) {
    struct flight *flight =
        flight_of(f, now, now->statement->wait.handle, now->statement->wait.index);
    const struct transfer *start = flight->start ? &flight->start->start : NULL;
    for (uint32_t i = 0; start && i < start->n_pieces; i++) {
        buffer_id to = start->pieces[i].to.buffer;
        if (!travels(f->reader, start, &start->pieces[i]))
            continue;
        struct arrived arrived = {flight->start, flight->pieces[i]};
        arrived.piece.calls = f->clock_of[to]->calls - arrived.piece.calls;
        f->arrived[to] = arrived;
    }
    flight->start = NULL;
}

// The first call that reads what has arrived says for which phase it was gathered.
static void take_arrived(struct follower *f, buffer_id buffer, enum phase phase) {
    struct arrived *arrived = &f->arrived[buffer];
    const struct axis_list *axes = &arrived->start->start.exchange.axes;
    for (unsigned k = 0; k < axes->n; k++) {
        struct ahead *ahead =
            &traffic_of(f->reader, arrived->piece.place, axes->axes[k])->ahead[phase];
        if (!ahead->known || arrived->piece.calls > ahead->layers)
            *ahead = (struct ahead){true, arrived->piece.calls, arrived->start->span};
    }
    arrived->start = NULL;
}

static void follow_call(struct follower *f, const struct execution *now) {
    const struct call *call = &now->statement->call;
    const struct unit *unit = &f->reader->program->job->units[call->unit];
    for (uint32_t i = 0; i < unit->n_parameters; i++) {
        const struct reference *read = &call->operands[i];
        struct clock *clock = f->clock_of[read->buffer];
        if (!clock)
            continue;
        if (f->arrived[read->buffer].start)
            take_arrived(f, read->buffer, unit->phase);
        int64_t item = reference_item(f->shortened->program, read, now->variables);
        if (clock->calls == 0 || clock->buffer != read->buffer || clock->item != item)
            *clock = (struct clock){clock->calls + 1, read->buffer, item};
    }
}

static struct follower follower_new(const struct reader *reader, const struct shortened *shortened,
                                    struct arena *arena) {
    const struct program *program = shortened->program;
    const struct step *step = &program->steps[STEP_TRAIN];
    int64_t *first_slot = ARENA_ARRAY(arena, int64_t, step->n_handles + 1), slots = 0;
    for (uint32_t i = 0; i < step->n_handles; i++) {
        first_slot[i] = slots;
        slots += step->handles[i].slots;
    }
    return (struct follower){.reader = reader,
                             .shortened = shortened,
                             .first_slot = first_slot,
                             .flights = ARENA_ARRAY(arena, struct flight, slots + 1),
                             .clocks =
                                 ARENA_ARRAY(arena, struct clock, program->job->n_tensors + 1),
                             .clock_of = ARENA_ARRAY(arena, struct clock *, program->n_buffers + 1),
                             .arrived = ARENA_ARRAY(arena, struct arrived, program->n_buffers + 1),
                             .arena = arena};
}

// Finds how far ahead parameters are gathered. Nothing is known of a step that is too long even
// when it is made short.
static void follow_gathers(const struct reader *reader) {
    struct arena arena = {0};
    struct followed *followed = follow_step(reader->program, STEP_TRAIN);
    struct follower f = follower_new(reader, &followed->shortened, &arena);
    for (uint32_t i = 0; i < followed->uses.n; i++) {
        const struct execution *now = &followed->uses.executions[i];
        if (now->statement->kind == STATEMENT_START)
            follow_start(&f, now);
        else if (now->statement->kind == STATEMENT_WAIT)
            follow_wait(&f, now);
        else if (now->statement->kind == STATEMENT_CALL)
            follow_call(&f, now);
    }
    followed_free(followed);
    arena_free(&arena);
}

// ---- the whole --------------------------------------------------------------------------------

struct traffic *account_traffic(const struct program *program, const struct placement *placement,
                                enum state state, struct arena *arena) {
    size_t n = (size_t)placement->n_ranges * placement->n_tensors * program->job->mesh.n_axes;
    struct reader reader = {program, placement, state, ARENA_ARRAY(arena, struct traffic, n + 1)};
    struct statement_walk walk = walk_statements(&program->steps[STEP_TRAIN].body);
    while (walk_next(&walk))
        if (walk.statement->kind == STATEMENT_START)
            add_start(&reader, &walk);
    if (state == STATE_PARAMETERS)
        follow_gathers(&reader);
    return reader.traffic;
}
