/* See mpi_ends.h. MPI keeps the order of what one rank sends another about one thing, which is the
 * order of starts. */
#include <stdlib.h>
#include <string.h>
#include "runtime/transport/mpi_ends.h"

static bool take_down(struct flight *flight, const struct collective *collective) {
    size_t n = (size_t)collective->n_pieces;
    if (collective->n_pieces > flight->capacity) {
        struct place_piece *grown = realloc(flight->pieces, n * sizeof *grown);
        if (!grown)
            return false;
        flight->pieces = grown;
        flight->capacity = collective->n_pieces;
    }
    if (n + 1 > flight->cap_parts) {
        struct part *grown = realloc(flight->parts, (n + 1) * sizeof *grown);
        if (!grown)
            return false;
        flight->parts = grown;
        flight->cap_parts = n + 1;
    }
    memcpy(flight->pieces, collective->pieces, n * sizeof *flight->pieces);
    flight->collective = *collective;
    flight->collective.pieces = flight->pieces;
    return true;
}

/* The header, then the pieces as they lie. Returns the bytes of these. */
static int64_t list_parts(struct flight *flight) {
    const struct collective *collective = &flight->collective;
    bool sends = collective->kind == PLACE_SEND;
    int64_t all = 0;
    flight->header = (struct flight_header){.kind = (int32_t)collective->kind,
                                            .group = collective->group,
                                            .dtype = (int32_t)collective->dtype,
                                            .statement = collective->statement,
                                            .digest = message_digest(collective)};
    flight->parts[0] =
        (struct part){(char *)(sends ? &flight->header : &flight->came), sizeof flight->header};
    for (int32_t i = 0; i < collective->n_pieces; i++) {
        const struct place_piece *piece = &flight->pieces[i];
        int64_t bytes = piece->valid * dtype_size(collective->dtype);
        flight->parts[1 + i] =
            (struct part){sends ? (char *)piece->src : piece->dst, (size_t)bytes};
        all += bytes;
    }
    return all;
}

int32_t end_start(struct flight *flight, struct place_context *context,
                  const struct collective *collective, int64_t *sent_bytes) {
    if (!take_down(flight, collective))
        return context_fail(context, collective->statement, PLACE_ERROR_ARGUMENT, "out of memory");
    int64_t bytes = list_parts(flight);
    int32_t peer = collective_peer(context->program, context->rank, collective);
    int32_t about = collective->group * FLIGHT_TOPICS + TOPIC_PARTS, n = collective->n_pieces + 1;
    bool sends = collective->kind == PLACE_SEND;
    if (!(sends ? message_send(flight->meeting, peer, about, flight->parts, n)
                : message_receive(flight->meeting, peer, about, flight->parts, n)))
        return messages_fail(context, flight->meeting, collective->statement);
    *sent_bytes += sends ? bytes : 0;
    return PLACE_OK;
}

int32_t end_poll(struct place_context *context, int32_t statement, struct flight *flight,
                 bool *done) {
    int32_t status = messages_poll(context, flight->meeting, statement, done);
    if (status || !*done || flight->collective.kind == PLACE_SEND ||
        flight->came.digest == flight->header.digest)
        return status;
    char where[256];
    context_describe_statement(context->program, flight->came.statement, where, sizeof where);
    return context_fail(context, flight->collective.statement, PLACE_ERROR_MISMATCH,
                        "this receive meets another message: rank %d has sent it at %s",
                        collective_peer(context->program, context->rank, &flight->collective),
                        where);
}
