// Pieces of collectives, and the room that their messages take where each rank is a process of its own. Part of
// both libraries of the backend, since the code starts collectives and the descriptor says how much room they
// need.
#include "backend/pieces.h"

#include "ir/limits.h"
#include "runtime/place.h"

_Static_assert((int)LIMIT_SMALL_ALL_REDUCE_BYTES == PLACE_SMALL_ALL_REDUCE_BYTES,
               "limits.def and place.h agree: what is accounted is what is sent");

// ---- shapes -----------------------------------------------------------------------------------

int64_t elements_before(const struct tensor_type *type, int dim) {
    int64_t elements = 1;
    for (int i = 0; i < dim; i++)
        elements *= type->dims[i].size;
    return elements;
}

// The whole is what an all_gather writes, and what others read. A flat whole may have fewer
// elements than its parts together; `valid` tells the runtime where padding begins.
struct piece_shape piece_shape_of(const struct exchange *exchange, const struct mesh *mesh,
                                  const struct tensor_type *from, const struct tensor_type *to) {
    enum collective_kind kind = exchange->kind;
    const struct tensor_type *whole = kind == COLLECTIVE_ALL_GATHER ? to : from;
    const struct tensor_type *part = kind == COLLECTIVE_ALL_GATHER ? from : to;
    struct piece_shape shape = {.outer = 1, .valid = type_elements(whole)};
    if (kind == COLLECTIVE_ALL_REDUCE || kind == COLLECTIVE_PERMUTE ||
        exchange_has_owner(exchange) || exchange_is_message(exchange))
        return shape;
    if (exchange->dim > 0)
        shape.outer = elements_before(whole, exchange->dim);
    shape.chunk = type_elements(part) / shape.outer;
    if (kind == COLLECTIVE_ALL_TO_ALL) { // what arrives has as many elements as what leaves
        shape.chunk /= mesh_group_size(mesh, &exchange->axes);
        shape.dst_outer = elements_before(to, exchange->concat_dim);
    }
    return shape;
}

// ---- room -------------------------------------------------------------------------------------

// One collective, as runtime/transport/mpi_flight.c measures it.
struct room {
    const struct exchange *exchange;
    int64_t members, element; // bytes
    int64_t valid;            // elements of all pieces
    int64_t packed, direct;   // bytes that a member gives to another
};

// Whether each member gives all of every piece, not a chunk.
static bool gives_all(const struct room *room) {
    enum collective_kind kind = room->exchange->kind;
    bool small = kind == COLLECTIVE_ALL_REDUCE &&
                 room->valid * room->element <= LIMIT_SMALL_ALL_REDUCE_BYTES;
    return small || kind == COLLECTIVE_PERMUTE || exchange_has_owner(room->exchange);
}

static int64_t chunk_of(const struct room *room, const struct piece_shape *shape) {
    return room->exchange->kind == COLLECTIVE_ALL_REDUCE
               ? (shape->valid + room->members - 1) / room->members
               : shape->outer * shape->chunk;
}

static void add_piece(struct room *room, const struct piece_shape *shape) {
    bool all = gives_all(room);
    int64_t elements = all ? shape->valid : chunk_of(room, shape), bytes = elements * room->element;
    bool in_rows = shape->outer > 1 || shape->dst_outer > 1;
    bool is_direct = bytes >= PLACE_DIRECT_PIECE_BYTES &&
                     (all || (!in_rows && elements * room->members == shape->valid));
    *(is_direct ? &room->direct : &room->packed) += bytes;
}

static int64_t slot_bytes(int64_t packed) {
    return round_up(packed + PLACE_MESSAGE_HEADER_BYTES, 64);
}

// Two seats have a slot each for what they have, and for what comes. Partials of elements of 16 bits are
// singles (runtime/transport/doubling.h).
static int64_t bytes_in_rounds(const struct room *room) {
    int64_t partial = room->element < 4 ? 4 : room->element;
    return 4 * (PLACE_MESSAGE_HEADER_BYTES + room->valid * partial);
}

static int64_t bytes_of(const struct room *room) {
    enum collective_kind kind = room->exchange->kind;
    bool all = gives_all(room), reduces = kind == COLLECTIVE_ALL_REDUCE ||
                                          kind == COLLECTIVE_REDUCE_SCATTER ||
                                          kind == COLLECTIVE_REDUCE;
    if (all && kind == COLLECTIVE_ALL_REDUCE && room->members > LIMIT_DIRECT_MEMBERS)
        return bytes_in_rounds(room);
    int64_t slots = room->members * (all || kind == COLLECTIVE_ALL_GATHER ? 1 : 2);
    int64_t summands = reduces ? (room->members - 1) * round_up(room->direct, 64) : 0;
    return slots * slot_bytes(room->packed) + summands;
}

static int64_t room_of(const struct job *job, const struct exchange *exchange, enum dtype dtype,
                       const struct piece_shape *shapes, uint32_t n) {
    struct room room = {.exchange = exchange,
                        .members = mesh_group_size(&job->mesh, &exchange->axes),
                        .element = dtype_bytes[dtype]};
    for (uint32_t i = 0; i < n; i++)
        room.valid += shapes[i].valid;
    for (uint32_t i = 0; i < n; i++)
        add_piece(&room, &shapes[i]);
    return room.members > 1 ? bytes_of(&room) : 0;
}

static int64_t room_of_start(struct arena *arena, const struct program *program,
                             const struct transfer *start) {
    const struct buffer *first = &program->buffers[start->pieces[0].from.buffer];
    struct piece_shape *shapes = ARENA_ARRAY(arena, struct piece_shape, start->n_pieces);
    for (uint32_t i = 0; i < start->n_pieces; i++) {
        struct tensor_type from =
            buffer_type(program, &program->buffers[start->pieces[i].from.buffer]);
        struct tensor_type to = buffer_type(program, &program->buffers[start->pieces[i].to.buffer]);
        shapes[i] = piece_shape_of(&start->exchange, &program->job->mesh, &from, &to);
    }
    return room_of(program->job, &start->exchange, first->dtype, shapes, start->n_pieces);
}

static int64_t room_of_step(struct arena *arena, const struct program *program,
                            const struct step *step) {
    int64_t most = 0;
    struct statement_walk walk = walk_statements(&step->body);
    while (walk_next(&walk)) {
        const struct statement *statement = walk.statement;
        if (statement->kind != STATEMENT_START || is_copy(&statement->start) ||
            exchange_is_message(&statement->start.exchange)) // it goes as it lies
            continue;
        int64_t bytes = room_of_start(arena, program, &statement->start);
        most = bytes > most ? bytes : most;
    }
    return most;
}

static int64_t room_of_unit(const struct job *job, const struct unit *unit) {
    int64_t most = 0;
    for (uint32_t i = 0; i < unit->n_ops; i++) {
        const struct op *op = &unit->ops[i];
        struct exchange exchange;
        if (op->kind == OP_WAIT || op->kind == OP_SLICE || !op_exchange(op, &exchange))
            continue;
        const struct tensor_type *from = &unit->values[op->operands[0]].type;
        struct piece_shape shape =
            piece_shape_of(&exchange, &job->mesh, from, &unit->values[op->results[0]].type);
        int64_t bytes = room_of(job, &exchange, from->dtype, &shape, 1);
        most = bytes > most ? bytes : most;
    }
    return most;
}

int64_t message_room(struct arena *arena, const struct job *job) {
    int64_t most = 0, bytes;
    for (uint32_t u = 0; u < job->n_units; u++)
        most = (bytes = room_of_unit(job, &job->units[u])) > most ? bytes : most;
    for (uint32_t i = 0; i < job->n_programs; i++)
        for (int s = 0; s < N_STEPS; s++)
            if (job->programs[i]->steps[s].present) {
                bytes = room_of_step(arena, job->programs[i], &job->programs[i]->steps[s]);
                most = bytes > most ? bytes : most;
            }
    return most;
}
