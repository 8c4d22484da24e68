/* Messages between ranks of which a process has one or several: by memory inside a process, by MPI
 * between processes. Shared by mpi.c, mpi_ends.c, mpi_flight.c,
 * mpi_messages.c.
 *
 * Ranks are dealt out in order, as many to each process. MPI is asked for MPI_THREAD_SERIALIZED,
 * and one lock of the process is around all its calls: none of them blocks, so they are short, and
 * no implementation has to be trusted with more (MPI_THREAD_MULTIPLE takes such a lock inside,
 * too). */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "runtime/context.h"
#include "runtime/patience.h"

/* What a message is about: a number below the `topics` of messages_begin, or this, of what the host
 * says. Messages of one topic from one rank to another arrive in the order in which they were sent.
 */
enum { MESSAGE_OF_HOST = -1 };

/* Bytes that a message takes from, or leaves at, one place. */
struct part {
    char *data;
    size_t bytes;
};

/* One rank's messages that are under way together. */
struct messages;

/* Starts MPI for this many processes, which divide the devices. 0, or -1 with one line in
 * `message`. Afterwards this process has the ranks from `first` on, each of which has `slots` sets
 * of messages. */
int messages_begin(const struct place_program *program, int32_t processes, double patience_seconds,
                   int32_t topics, int32_t slots, int32_t *first, char *message,
                   size_t message_bytes);
/* Leaves MPI in peace, as all processes do. */
void messages_end(void);
/* Members of a group use the same slot for the same thing. */
struct messages *messages_of(int32_t rank, int32_t slot);
bool rank_is_here(int32_t rank);

/* Post one message without waiting: at most one to a rank, and one from it, until all of the set
 * are done; until then parts, and what they point to, are busy. A receiver's parts are as long as
 * the sender's. False: it could not be posted; messages_fail says why. */
bool message_send(struct messages *messages, int32_t to, int32_t about, const struct part *parts,
                  int32_t n_parts);
bool message_receive(struct messages *messages, int32_t from, int32_t about,
                     const struct part *parts, int32_t n_parts);
int32_t messages_fail(struct place_context *context, struct messages *messages, int32_t statement);

/* Goes on with what was posted, without waiting: *done says that all of it is done. A message
 * inside the process that is longer than what was made room for is cut; its beginning says so. */
int32_t messages_poll(struct place_context *context, struct messages *messages, int32_t statement,
                      bool *done);

/* The patience of a wait that begins now, or that has brought something now. */
struct patience messages_patience(void);
/* Goes on with a wait that is not over: fails when another rank has failed, or when the patience is
 * over, naming those whom these messages still miss. Null: it is never over. Else lets other threads
 * go first. */
int32_t messages_be_patient(struct place_context *context, struct messages *messages,
                            int32_t statement, struct patience *patience);

/* Waits until all that was posted is done, a timed wait until the patience is over; on a failure
 * takes it back. */
int32_t messages_finish(struct place_context *context, struct messages *messages, int32_t statement,
                        bool timed);

/* The other ranks of this process are to stop waiting. */
void messages_abort(void);
