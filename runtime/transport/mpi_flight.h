/* One collective between processes, from its start to where all that it brings is in its place:
 * what of it is on the way when, and what is done with what has come. Shared by mpi.c,
 * mpi_ends.c, mpi_flight.c.
 *
 * What lies side by side in memory and is long goes as it is, without a copy on either side (a
 * piece is *direct*). All else is packed into one message for each peer, behind a header by which
 * the other side sees that it is in the same collective. A small all_reduce among many meets its
 * peers in rounds (doubling.h), each with a header, too. */
#pragma once
#include "runtime/transport/doubling.h"
#include "runtime/transport/mpi_messages.h"
#include "runtime/transport/transport.h"

/* The stages of a flight, in their order. */
enum flight_stage {
    FLIGHT_IDLE,      /* not started, or complete */
    FLIGHT_READY,     /* it has no room yet for what comes; nothing is on its way */
    FLIGHT_MEETING,   /* packed messages travel, round by round; direct pieces are sent */
    FLIGHT_MOVING,    /* all members are in this collective; direct pieces are received */
    FLIGHT_GATHERING, /* of a large all_reduce: the chunks that their owners have summed travel */
};

/* What messages of a group are about. Rounds behind the first have a topic of their own, for what
 * was started later may have its first messages on the way by then. */
enum flight_topic {
    TOPIC_MEETING,
    TOPIC_ROUNDS,
    TOPIC_MOVING,
    TOPIC_GATHERING,
    TOPIC_PARTS,
    FLIGHT_TOPICS
};
/* Sets of messages of one flight. */
enum { FLIGHT_SLOTS = 2 };

struct flight_header {
    int32_t kind, group, dtype, operation, shift, statement;
    uint64_t number;      /* of the collective, among those of this group */
    uint64_t digest;      /* of the collective */
    int64_t packed_bytes; /* behind the header */
};
_Static_assert(sizeof(struct flight_header) == PLACE_MESSAGE_HEADER_BYTES,
               "as the compiler counts");

struct flight {
    int in_flight; /* started, and not waited for */
    bool is_local; /* the local transport has all the rest */
    bool is_message;
    enum flight_stage stage;
    struct place_context *context;
    struct collective collective;
    struct place_piece *pieces;
    int32_t capacity, n_direct; /* pieces; those that are direct */
    bool gives_all;             /* of every piece each member gives all, not a chunk */
    bool doubles;               /* in rounds of pairs: */
    int32_t round, rounds;      /* the one that is under way while it meets, else 0; all */
    struct flight_header header;
    struct flight_header came; /* of a message that is received (mpi_ends.h) */
    struct group group;
    int64_t element;                   /* bytes */
    struct messages *meeting, *moving; /* packed messages; what comes behind them */
    /* What goes out, what comes in: [2 * group][1 + n_direct]; in rounds [2][seats]. */
    struct part *parts;
    size_t cap_parts;
    const void **sources; /* scratch: of all members */
    int64_t *sent_bytes;  /* where they are counted */
    char *room;           /* for what is packed, and for summands that come; room_bytes of it */
    size_t slot_bytes, scratch_bytes, room_bytes;
    struct flight *before; /* of the same group, when this was started */
    struct flight *next;   /* of the rank: in the order of their starts */
    size_t room_end;       /* see mpi.c */
};

/* Takes down what is to be done, as number `number` of its group. It gets ready, and says how much
 * room it needs. False: no memory. */
bool flight_prepare(struct flight *flight, struct place_context *context,
                    const struct collective *collective, uint64_t number);

/* Sets out from FLIGHT_READY: everything that can be sent is on its way. */
int32_t flight_begin(struct flight *flight);

/* Goes as far as it can without waiting, to FLIGHT_IDLE at last. A flight never passes the one
 * before it in its group, so that all members exchange messages in the same order. *moved says that
 * its stage has changed. A failure is told at the statement that started it. */
int32_t flight_advance(struct flight *flight, bool *moved);

/* The flight of its group that has to go on first; itself, if there is none. */
struct flight *flight_ahead(struct flight *flight);
/* What it waits for now. */
struct messages *flight_messages(const struct flight *flight);
