/* The steps of a run, from where it begins to where it ends or is told to. */
#pragma once
#include "runtime/host/session.h"

/* Called by all ranks. When it succeeds the states are whole, though a rank may hold a failure
 * (session->failed). Returns the context's status. */
int32_t train_steps(struct session *session, struct place_context *context);
