/* Collectives from single messages (see mpi_flight.h), because MPI's own may send other volumes,
 * add in another order, or be slow; here every chunk is summed by one owner in the same tree as in
 * the local transport, so both give the same bits.
 *
 * Headers travel apart from direct pieces, which are received only when all headers agree: what
 * does not belong together never meets in memory. Bytes are counted where they are handed over,
 * without the header. */
#include <stdlib.h>
#include <string.h>
#include "runtime/transport/mpi_flight.h"

/* ---- what travels how ----------------------------------------------------------------------- */

/* Elements of a piece in one message, padding and all. */
static int64_t elements_of(const struct flight *flight, int32_t i) {
    const struct place_piece *piece = &flight->collective.pieces[i];
    return flight->gives_all
               ? piece->valid
               : piece->outer * collective_chunk(&flight->collective, i, flight->group.size);
}

static size_t bytes_of(const struct flight *flight, int32_t i) {
    return (size_t)(elements_of(flight, i) * flight->element);
}

static bool is_direct(const struct flight *flight, int32_t i) {
    const struct place_piece *piece = &flight->collective.pieces[i];
    if (bytes_of(flight, i) < PLACE_DIRECT_PIECE_BYTES)
        return false;
    bool in_rows =
        piece->outer > 1 || (flight->collective.kind == PLACE_ALL_TO_ALL && piece->dst_outer > 1);
    bool padded = flight->group.size * elements_of(flight, i) != piece->valid;
    return flight->gives_all || (!in_rows && !padded);
}

/* Whether what goes to one peer is not what goes to another. */
static bool is_cut(const struct flight *flight) {
    return !flight->gives_all && flight->collective.kind != PLACE_ALL_GATHER;
}

static bool is_owner(const struct flight *flight, int32_t place) {
    return place == flight->collective.shift;
}

/* Whether this rank adds anything up. */
static bool reduces(const struct flight *flight) {
    enum place_collective kind = flight->collective.kind;
    return kind == PLACE_ALL_REDUCE || kind == PLACE_REDUCE_SCATTER ||
           (kind == PLACE_REDUCE && is_owner(flight, flight->group.place));
}

static bool sends_to(const struct flight *flight, int32_t place) {
    int32_t own = flight->group.place;
    if (collective_has_owner(&flight->collective))
        return place != own &&
               is_owner(flight, flight->collective.kind == PLACE_REDUCE ? place : own);
    bool is_peer = flight->collective.kind != PLACE_PERMUTE ||
                   place == group_behind(&flight->group, flight->collective.shift);
    return is_peer && place != flight->group.place;
}

static bool hears_from(const struct flight *flight, int32_t place) {
    int32_t own = flight->group.place;
    if (collective_has_owner(&flight->collective))
        return place != own &&
               is_owner(flight, flight->collective.kind == PLACE_REDUCE ? own : place);
    bool is_peer = flight->collective.kind != PLACE_PERMUTE ||
                   place == group_before(&flight->group, flight->collective.shift);
    return is_peer && place != flight->group.place;
}

/* ---- room -------------------------------------------------------------------------------------
 * First a slot for what each member gives, then, where each gets something else, a slot for what
 * goes to each, then summands of direct pieces from each of the others. A slot is a header with
 * what is packed behind it. */

static char *given_slot(const struct flight *flight, int32_t place) {
    return flight->room + (size_t)place * flight->slot_bytes;
}

/* What goes to a member; what is for itself is given at once. */
static char *slot_for(const struct flight *flight, int32_t place) {
    if (place == flight->group.place || !is_cut(flight))
        return given_slot(flight, flight->group.place);
    return given_slot(flight, flight->group.size + place);
}

static char *payload(char *slot) {
    return slot + sizeof(struct flight_header);
}

static char *summands_from(const struct flight *flight, int32_t place) {
    int32_t slots = flight->group.size * (is_cut(flight) ? 2 : 1);
    int32_t among_others = place - (place > flight->group.place);
    return given_slot(flight, slots) + (size_t)among_others * flight->scratch_bytes;
}

static size_t round_to_lines(size_t bytes) {
    return (bytes + 63) / 64 * 64;
}

/* Rounds need a slot for what each seat has, then one for what comes to it, side by side. */
static void measure_rounds(struct flight *flight) {
    flight->n_direct = 0;
    flight->header.packed_bytes = doubling_partial_bytes(&flight->collective);
    flight->slot_bytes = sizeof(struct flight_header) + (size_t)flight->header.packed_bytes;
    flight->scratch_bytes = 0;
    flight->room_bytes = 2 * DOUBLING_SEATS * flight->slot_bytes;
}

static void measure(struct flight *flight) {
    size_t n = (size_t)flight->group.size, direct = 0, packed = 0;
    flight->n_direct = 0;
    for (int32_t i = 0; i < flight->collective.n_pieces; i++) {
        *(is_direct(flight, i) ? &direct : &packed) += bytes_of(flight, i);
        flight->n_direct += is_direct(flight, i);
    }
    flight->header.packed_bytes = (int64_t)packed;
    flight->slot_bytes = round_to_lines(packed + sizeof(struct flight_header));
    flight->scratch_bytes = reduces(flight) ? round_to_lines(direct) : 0;
    flight->room_bytes =
        n * flight->slot_bytes * (is_cut(flight) ? 2 : 1) + (n - 1) * flight->scratch_bytes;
}

/* ---- packing -------------------------------------------------------------------------------- */

static struct chunk_range packed_range(int64_t count) {
    return chunk_range_of(1, count, 1, 0);
}

/* Chunk `number` of every packed piece, from where the pieces' sources lie as wholes; padding as
 * zeros. */
static void pack_chunks(const struct flight *flight, int32_t number, char *to) {
    const struct collective *collective = &flight->collective;
    for (int32_t i = 0; i < collective->n_pieces; i++) {
        if (is_direct(flight, i))
            continue;
        struct chunk_range range = collective_range(collective, i, flight->group.size, number);
        int64_t count = range.outer * range.row;
        struct chunk_copy copy = {to,    collective->pieces[i].src, packed_range(count),
                                  range, flight->element,           false};
        chunk_copy_part(&copy, 0, count);
        to += count * flight->element;
        memset(to, 0, (size_t)(range.pad * flight->element));
        to += range.pad * flight->element;
    }
}

/* All of every packed piece's source, which lies side by side: parts of an all_gather, or what is
 * not cut. */
static void pack_sources(const struct flight *flight, char *to) {
    const struct collective *collective = &flight->collective;
    for (int32_t i = 0; i < collective->n_pieces; i++) {
        if (is_direct(flight, i))
            continue;
        size_t bytes = bytes_of(flight, i);
        memcpy(to, collective->pieces[i].src, bytes);
        to += bytes;
    }
}

static void pack(const struct flight *flight) {
    int32_t own = flight->group.place;
    if (!is_cut(flight))
        pack_sources(flight, payload(given_slot(flight, own)));
    for (int32_t i = 0; i < flight->group.size && is_cut(flight); i++)
        pack_chunks(flight, i, payload(slot_for(flight, i)));
    for (int32_t i = 0; i < flight->group.size; i++)
        memcpy(slot_for(flight, i), &flight->header, sizeof flight->header);
}

/* What a member gave into the results, where what comes from it lies. */
static void unpack_chunks(const struct flight *flight, int32_t number) {
    const struct collective *collective = &flight->collective;
    const char *from = payload(given_slot(flight, number));
    int32_t n = flight->group.size;
    for (int32_t i = 0; i < collective->n_pieces; i++) {
        if (is_direct(flight, i))
            continue;
        struct chunk_range range = collective_result_range(collective, i, n, number);
        int64_t count = range.outer * range.row;
        struct chunk_copy copy = {collective->pieces[i].dst, from, range, packed_range(count),
                                  flight->element,           false};
        chunk_copy_part(&copy, 0, count);
        from += (count + range.pad) * flight->element;
    }
}

/* What a slot holds into results that lie side by side: reduced parts, whose padding becomes zero,
 * or wholes. */
static void unpack_results(const struct flight *flight, int32_t place) {
    const struct collective *collective = &flight->collective;
    const char *from = payload(given_slot(flight, place));
    for (int32_t i = 0; i < collective->n_pieces; i++) {
        if (is_direct(flight, i))
            continue;
        size_t bytes = bytes_of(flight, i);
        memcpy(collective->pieces[i].dst, from, bytes);
        from += bytes;
    }
}

/* ---- direct pieces -------------------------------------------------------------------------- */

/* What goes to a member in the first exchange. */
static char *direct_source(const struct flight *flight, int32_t i, int32_t to) {
    char *src = (char *)flight->collective.pieces[i].src;
    return is_cut(flight) ? src + (size_t)to * bytes_of(flight, i) : src;
}

/* Where a part of the result goes: what comes from a member, or was summed by it. */
static char *direct_result(const struct flight *flight, int32_t i, int32_t from) {
    char *dst = flight->collective.pieces[i].dst;
    bool all = flight->gives_all || flight->collective.kind == PLACE_REDUCE_SCATTER;
    return all ? dst : dst + (size_t)from * bytes_of(flight, i);
}

/* What this rank gives to itself. */
static void copy_own_pieces(const struct flight *flight) {
    int32_t own = flight->group.place;
    for (int32_t i = 0; i < flight->collective.n_pieces; i++) {
        if (!is_direct(flight, i))
            continue;
        char *from = direct_source(flight, i, own), *to = direct_result(flight, i, own);
        if (from != to)
            memcpy(to, from, bytes_of(flight, i));
    }
}

/* ---- sums ----------------------------------------------------------------------------------- */

/* Reduces what all members gave, packed, into this rank's slot. */
static void reduce_packed(const struct flight *flight) {
    for (int32_t i = 0; i < flight->group.size; i++)
        flight->sources[i] = payload(given_slot(flight, i));
    collective_reduce(&flight->collective, payload(given_slot(flight, flight->group.place)),
                      flight->sources, flight->group.size, 0,
                      flight->header.packed_bytes / flight->element, false);
}

/* Reduces direct pieces, each into its place. */
static void reduce_direct(const struct flight *flight) {
    int32_t own = flight->group.place;
    size_t offset = 0;
    for (int32_t i = 0; i < flight->collective.n_pieces; i++) {
        if (!is_direct(flight, i))
            continue;
        for (int32_t k = 0; k < flight->group.size; k++)
            flight->sources[k] =
                k == own ? direct_source(flight, i, own) : summands_from(flight, k) + offset;
        collective_reduce(&flight->collective, direct_result(flight, i, own), flight->sources,
                          flight->group.size, 0, elements_of(flight, i), false);
        offset += bytes_of(flight, i);
    }
}

/* ---- messages ------------------------------------------------------------------------------- */

static struct part *parts_for(const struct flight *flight, int32_t place) {
    return flight->parts + (size_t)place * (size_t)(1 + flight->n_direct);
}
static struct part *parts_from(const struct flight *flight, int32_t place) {
    return parts_for(flight, flight->group.size + place);
}

/* The slot, then direct pieces one by one: of the first exchange, or of chunks that were summed. */
static void list_parts(const struct flight *flight, int32_t place, bool summed) {
    int32_t own = flight->group.place;
    struct part *out = parts_for(flight, place), *in = parts_from(flight, place);
    size_t slot = sizeof(struct flight_header) + (size_t)flight->header.packed_bytes;
    *out++ = (struct part){summed ? given_slot(flight, own) : slot_for(flight, place), slot};
    *in++ = (struct part){given_slot(flight, place), slot};
    size_t offset = 0;
    for (int32_t i = 0; i < flight->collective.n_pieces; i++) {
        if (!is_direct(flight, i))
            continue;
        size_t bytes = bytes_of(flight, i);
        bool to_sum = flight->scratch_bytes && !summed;
        *out++ = (struct part){
            summed ? direct_result(flight, i, own) : direct_source(flight, i, place), bytes};
        *in++ = (struct part){to_sum ? summands_from(flight, place) + offset
                                     : direct_result(flight, i, place),
                              bytes};
        offset += bytes;
    }
}

static void list_all_parts(const struct flight *flight, bool summed) {
    for (int32_t i = 0; i < flight->group.size; i++)
        if (i != flight->group.place)
            list_parts(flight, i, summed);
}

static int32_t peer_of(const struct flight *flight, int32_t place) {
    return group_member(flight->context->program, &flight->group, place);
}

static int32_t about(const struct flight *flight, enum flight_topic topic) {
    return flight->collective.group * FLIGHT_TOPICS + (int32_t)topic;
}

/* Counts what is sent without the header, which is in part 0. */
static void count_sent(const struct flight *flight, int32_t place, int32_t begin, int32_t end) {
    const struct part *parts = parts_for(flight, place);
    for (int32_t i = begin; i < end; i++)
        *flight->sent_bytes +=
            (int64_t)(parts[i].bytes - (i == 0 ? sizeof(struct flight_header) : 0));
}

/* Which parts travel: the slot, direct pieces, or both. */
struct exchange {
    struct messages *messages;
    int32_t begin, end;
};

static struct exchange exchange_of(const struct flight *flight, enum flight_topic topic) {
    return (struct exchange){
        .messages = topic == TOPIC_MEETING ? flight->meeting : flight->moving,
        .begin = topic == TOPIC_MOVING,
        .end = topic == TOPIC_MEETING ? 1 : 1 + flight->n_direct,
    };
}

static int32_t post_receives(const struct flight *flight, enum flight_topic topic) {
    struct exchange exchange = exchange_of(flight, topic);
    bool posted = true;
    for (int32_t i = 0; i < flight->group.size && exchange.begin < exchange.end && posted; i++)
        if (hears_from(flight, i))
            posted = message_receive(exchange.messages, peer_of(flight, i), about(flight, topic),
                                     parts_from(flight, i) + exchange.begin,
                                     exchange.end - exchange.begin);
    return posted ? PLACE_OK
                  : messages_fail(flight->context, exchange.messages, flight->header.statement);
}

static int32_t post_sends(const struct flight *flight, enum flight_topic topic) {
    struct exchange exchange = exchange_of(flight, topic);
    bool posted = true;
    for (int32_t i = 0; i < flight->group.size && exchange.begin < exchange.end && posted; i++) {
        if (!sends_to(flight, i))
            continue;
        count_sent(flight, i, exchange.begin, exchange.end);
        posted = message_send(exchange.messages, peer_of(flight, i), about(flight, topic),
                              parts_for(flight, i) + exchange.begin, exchange.end - exchange.begin);
    }
    return posted ? PLACE_OK
                  : messages_fail(flight->context, exchange.messages, flight->header.statement);
}

/* Checks that what a member has sent is of the same collective. */
static int32_t check_header(const struct flight *flight, int32_t place, const char *slot) {
    struct flight_header other;
    const struct flight_header *own = &flight->header;
    memcpy(&other, slot, sizeof other);
    const char *difference = other.kind != own->kind             ? "kind"
                             : other.group != own->group         ? "axes"
                             : other.dtype != own->dtype         ? "element type"
                             : other.operation != own->operation ? "operation"
                             : other.shift != own->shift         ? "shift"
                             : other.digest != own->digest       ? "number of pieces or size of one"
                             : other.number != own->number       ? "place in the order"
                                                                 : NULL;
    if (!difference)
        return PLACE_OK;
    char where[256];
    context_describe_statement(flight->context->program, other.statement, where, sizeof where);
    return context_fail(flight->context, own->statement, PLACE_ERROR_MISMATCH,
                        "this %s meets a different collective: rank %d has started %s at %s; they "
                        "differ in their %s",
                        collective_name(flight->collective.kind), peer_of(flight, place),
                        collective_name((enum place_collective)other.kind), where, difference);
}

/* ---- rounds --------------------------------------------------------------------------------- */

static struct doubling_turn turn_of(const struct flight *flight, int32_t seat) {
    return doubling_turn_of(flight->group.size, flight->group.place, seat, flight->round);
}

static int32_t seats_of(const struct flight *flight) {
    return doubling_seats(flight->group.size, flight->group.place);
}

static char *came_slot(const struct flight *flight, int32_t seat) {
    return given_slot(flight, DOUBLING_SEATS + seat);
}

static void pack_leaf(const struct flight *flight) {
    for (int32_t seat = 0; seat < DOUBLING_SEATS; seat++)
        memcpy(given_slot(flight, seat), &flight->header, sizeof flight->header);
    doubling_take_leaf(&flight->collective, payload(given_slot(flight, 0)));
}

/* What this rank's seats give to others in this round, or get. */
struct round_messages {
    int32_t n, seats[DOUBLING_SEATS]; /* messages; how many seats' slots are in each */
    int32_t first_seat[DOUBLING_SEATS], partners[DOUBLING_SEATS];
};

/* Both seats' slots go in one message where one member has both others. */
static struct round_messages list_round(const struct flight *flight, bool gives) {
    struct round_messages list = {0};
    for (int32_t seat = 0; seat < seats_of(flight); seat++) {
        struct doubling_turn turn = turn_of(flight, seat);
        if (!(gives ? turn.gives : turn.gets) || turn.partner == flight->group.place)
            continue;
        if (list.n && list.partners[list.n - 1] == turn.partner) {
            list.seats[list.n - 1]++;
            continue;
        }
        list.partners[list.n] = turn.partner;
        list.first_seat[list.n] = seat;
        list.seats[list.n++] = 1;
    }
    return list;
}

static int32_t post_round(const struct flight *flight) {
    struct round_messages in = list_round(flight, false), out = list_round(flight, true);
    int32_t topic = about(flight, flight->round ? TOPIC_ROUNDS : TOPIC_MEETING);
    bool posted = true;
    for (int32_t i = 0; i < in.n && posted; i++) {
        struct part *part = &flight->parts[i];
        *part = (struct part){came_slot(flight, in.first_seat[i]),
                              (size_t)in.seats[i] * flight->slot_bytes};
        posted = message_receive(flight->meeting, peer_of(flight, in.partners[i]), topic, part, 1);
    }
    for (int32_t i = 0; i < out.n && posted; i++) {
        struct part *part = &flight->parts[DOUBLING_SEATS + i];
        *part = (struct part){given_slot(flight, out.first_seat[i]),
                              (size_t)out.seats[i] * flight->slot_bytes};
        *flight->sent_bytes += out.seats[i] * flight->header.packed_bytes;
        posted = message_send(flight->meeting, peer_of(flight, out.partners[i]), topic, part, 1);
    }
    return posted ? PLACE_OK
                  : messages_fail(flight->context, flight->meeting, flight->header.statement);
}

/* What has come is joined with what the seats have. Of the one beside a member's own nothing but
 * the root is wanted after the last round, and that the other has, too. */
static int32_t use_round(const struct flight *flight) {
    for (int32_t seat = 0; seat < seats_of(flight); seat++) {
        struct doubling_turn turn = turn_of(flight, seat);
        bool own = turn.partner == flight->group.place;
        char *had = given_slot(flight, seat);
        char *came = own ? given_slot(flight, turn.seat) : came_slot(flight, seat);
        int32_t status = turn.gets && !own ? check_header(flight, turn.partner, came) : PLACE_OK;
        if (status)
            return status;
        if (!own || seat == 0)
            doubling_join(&flight->collective, &turn, payload(had), payload(had), payload(came));
    }
    return PLACE_OK;
}

/* Goes on to the next round, or behind the last. */
static int32_t end_round(struct flight *flight) {
    int32_t status = use_round(flight);
    if (status)
        return status;
    if (++flight->round < flight->rounds)
        return post_round(flight);
    flight->round = 0;
    flight->stage = FLIGHT_MOVING;
    return PLACE_OK;
}

/* ---- from stage to stage -------------------------------------------------------------------- */

static void unpack_all(const struct flight *flight, bool own_too) {
    for (int32_t i = 0; i < flight->group.size; i++)
        if (own_too || i != flight->group.place)
            unpack_chunks(flight, i);
}

/* The first exchange is over: what it brought goes where it belongs. */
static void use_what_came(const struct flight *flight) {
    int32_t own = flight->group.place;
    int32_t before = group_before(&flight->group, flight->collective.shift);
    switch (flight->collective.kind) {
    case PLACE_ALL_REDUCE:
        if (flight->doubles) {
            doubling_give_root(&flight->collective, payload(given_slot(flight, 0)));
            break;
        }
        reduce_packed(flight);
        reduce_direct(flight);
        if (flight->gives_all)
            unpack_results(flight, own);
        else
            unpack_chunks(flight, own);
        break;
    case PLACE_REDUCE_SCATTER:
        reduce_packed(flight);
        reduce_direct(flight);
        unpack_results(flight, own);
        break;
    case PLACE_ALL_GATHER:
    case PLACE_ALL_TO_ALL:
        copy_own_pieces(flight);
        unpack_all(flight, true);
        break;
    case PLACE_PERMUTE:
        if (before == own)
            copy_own_pieces(flight);
        unpack_results(flight, before);
        break;
    case PLACE_REDUCE:
        if (!is_owner(flight, own))
            break;
        reduce_packed(flight);
        reduce_direct(flight);
        unpack_results(flight, own);
        break;
    case PLACE_BROADCAST:
        if (is_owner(flight, own))
            copy_own_pieces(flight);
        unpack_results(flight, flight->collective.shift);
        break;
    case PLACE_SEND:
    case PLACE_RECEIVE:
        break; /* is no collective (mpi_ends.c) */
    }
}

static int32_t check_headers(const struct flight *flight) {
    int32_t status = PLACE_OK;
    for (int32_t i = 0; i < flight->group.size && !status; i++)
        if (hears_from(flight, i))
            status = check_header(flight, i, given_slot(flight, i));
    return status;
}

/* A large all_reduce: every owner of a chunk has summed it. */
static int32_t gather_sums(const struct flight *flight) {
    list_all_parts(flight, true);
    int32_t status = post_receives(flight, TOPIC_GATHERING);
    return status ? status : post_sends(flight, TOPIC_GATHERING);
}

/* All that it waited for in this stage is done. */
static int32_t enter_next_stage(struct flight *flight) {
    bool gathers = flight->collective.kind == PLACE_ALL_REDUCE && !flight->gives_all;
    int32_t status = PLACE_OK;
    switch (flight->stage) {
    case FLIGHT_MEETING:
        if (flight->doubles)
            return end_round(flight);
        status = check_headers(flight);
        flight->stage = FLIGHT_MOVING;
        return status ? status : post_receives(flight, TOPIC_MOVING);
    case FLIGHT_MOVING:
        use_what_came(flight);
        flight->stage = gathers ? FLIGHT_GATHERING : FLIGHT_IDLE;
        return gathers ? gather_sums(flight) : PLACE_OK;
    case FLIGHT_GATHERING:
        unpack_all(flight, false);
        flight->stage = FLIGHT_IDLE;
        return PLACE_OK;
    case FLIGHT_IDLE:
    case FLIGHT_READY:
        break;
    }
    return PLACE_OK;
}

/* Null: it is complete, and may by now be another collective. */
static struct flight *flight_before(const struct flight *flight) {
    struct flight *before = flight->before;
    bool is_same = before && before->stage != FLIGHT_IDLE &&
                   before->header.group == flight->header.group &&
                   before->header.number < flight->header.number;
    return is_same ? before : NULL;
}

struct flight *flight_ahead(struct flight *flight) {
    while (flight_before(flight))
        flight = flight_before(flight);
    return flight;
}

struct messages *flight_messages(const struct flight *flight) {
    return flight->stage == FLIGHT_MEETING ? flight->meeting : flight->moving;
}

/* Whether messages of the flight's next stage, or round, come behind those of the one before it. In
 * rounds that one has sent some only, and what is in none must not pass it, so that what follows
 * does not either. */
static bool is_behind(const struct flight *flight, const struct flight *before) {
    bool in_rounds = flight->stage == FLIGHT_MEETING && flight->doubles && before->doubles;
    return before->stage > flight->stage ||
           (in_rounds && before->stage == flight->stage && before->round > flight->round);
}

static bool may_go_on(const struct flight *flight) {
    const struct flight *before = flight_before(flight);
    return flight->stage > FLIGHT_READY && (!before || is_behind(flight, before));
}

int32_t flight_advance(struct flight *flight, bool *moved) {
    int32_t status = PLACE_OK;
    bool done = true;
    while (done && !status && may_go_on(flight)) {
        status = messages_poll(flight->context, flight_messages(flight),
                               flight->collective.statement, &done);
        if (status || !done)
            break;
        status = enter_next_stage(flight);
        *moved = true;
    }
    return status;
}

/* ---- start ---------------------------------------------------------------------------------- */

static bool copy_pieces(struct flight *flight, const struct collective *collective) {
    if (collective->n_pieces > flight->capacity) {
        struct place_piece *grown =
            realloc(flight->pieces, (size_t)collective->n_pieces * sizeof *grown);
        if (!grown)
            return false;
        flight->pieces = grown;
        flight->capacity = collective->n_pieces;
    }
    memcpy(flight->pieces, collective->pieces,
           (size_t)collective->n_pieces * sizeof *flight->pieces);
    flight->collective = *collective;
    flight->collective.pieces = flight->pieces;
    return true;
}

static bool grow_parts(struct flight *flight) {
    size_t parts = flight->doubles
                       ? 2 * DOUBLING_SEATS
                       : 2 * (size_t)flight->group.size * (size_t)(1 + flight->n_direct);
    if (parts <= flight->cap_parts)
        return true;
    struct part *grown = realloc(flight->parts, parts * sizeof *grown);
    if (!grown)
        return false;
    flight->parts = grown;
    flight->cap_parts = parts;
    return true;
}

bool flight_prepare(struct flight *flight, struct place_context *context,
                    const struct collective *collective, uint64_t number) {
    if (!copy_pieces(flight, collective))
        return false;
    flight->context = context;
    flight->group = group_of(context->program, context->rank,
                             &context->program->groups[collective->group].axes);
    flight->element = dtype_size(collective->dtype);
    flight->header = (struct flight_header){.kind = (int32_t)collective->kind,
                                            .group = collective->group,
                                            .dtype = (int32_t)collective->dtype,
                                            .operation = (int32_t)collective->operation,
                                            .shift = collective->shift,
                                            .statement = collective->statement,
                                            .number = number,
                                            .digest = collective_digest(collective)};
    flight->gives_all = collective->kind == PLACE_PERMUTE || collective_has_owner(collective) ||
                        collective_is_small(collective);
    flight->doubles = doubling_serves(context->program, collective, flight->group.size);
    flight->round = 0;
    flight->rounds = flight->doubles ? doubling_rounds(flight->group.size) : 0;
    if (flight->doubles)
        measure_rounds(flight);
    else
        measure(flight);
    flight->stage = FLIGHT_READY;
    return grow_parts(flight);
}

int32_t flight_begin(struct flight *flight) {
    if (flight->doubles) {
        pack_leaf(flight);
        flight->stage = FLIGHT_MEETING;
        return post_round(flight);
    }
    pack(flight);
    list_all_parts(flight, false);
    flight->stage = FLIGHT_MEETING;
    int32_t status = post_receives(flight, TOPIC_MEETING);
    if (!status)
        status = post_sends(flight, TOPIC_MEETING);
    return status ? status : post_sends(flight, TOPIC_MOVING);
}
