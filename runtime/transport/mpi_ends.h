/* Messages between parts, from process to process: on their way from the start on, with a header by
 * which the receiver sees that it gets what it asked for. What goes to a rank of the same process is
 * left to the local transport. Shared by mpi.c, mpi_ends.c. */
#pragma once
#include "runtime/transport/mpi_flight.h"

/* Posts the flight's message, whose bytes are counted where a send's are. */
int32_t end_start(struct flight *flight, struct place_context *context,
                  const struct collective *collective, int64_t *sent_bytes);
/* Goes on without waiting: *done says that it is over, and what has come is what was asked for. */
int32_t end_poll(struct place_context *context, int32_t statement, struct flight *flight,
                 bool *done);
