/* Whether the processes that a launcher started were given the same: what one of them does in
 * another way, all others wait for, or is not noticed. */
#pragma once
#include "runtime/host/session.h"

/* Called by all ranks, before anything else that ranks do together; those of one process have one
 * start. Where the program, the seed, what the data hold, or an option in which ranks take part is
 * not that of rank 0, all fail and say what. */
int32_t agreement_reach(struct session *session, struct place_context *context);
