/* Messages between ranks of which a process has one or several: by memory inside a process, by MPI
 * between processes.
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

/* What a message is about: a group's index, or this, of what the host says. */
enum { MESSAGE_OF_HOST = -1 };

/* A rank's messages under way. */
struct mailbox;

/* Starts MPI for this many processes, which divide the devices. 0, or -1 with one line in
 * `message`. Afterwards this process has the ranks from `first` on. */
int messages_begin(const struct place_program *program, int32_t processes, double patience_seconds,
                   int32_t *first, char *message, size_t message_bytes);
/* Leaves MPI in peace, as all processes do. */
void messages_end(void);
struct mailbox *messages_of(int32_t rank);
bool rank_is_here(int32_t rank);

/* Post one message without waiting: at most one to a rank, and one from it, before messages_finish;
 * until then what `data` points to is busy. False: it could not be posted; messages_fail says why.
 */
bool message_send(struct mailbox *box, int32_t to, int32_t about, const void *data, size_t bytes);
bool message_receive(struct mailbox *box, int32_t from, int32_t about, void *data, size_t bytes);
int32_t messages_fail(struct place_context *context, struct mailbox *box, int32_t statement);

/* Waits until all that was posted is done. A message inside the process that is longer than what
 * was made room for is cut; its beginning says so. */
int32_t messages_finish(struct place_context *context, struct mailbox *box, int32_t statement);

/* The other ranks of this process are to stop waiting. */
void messages_abort(void);
