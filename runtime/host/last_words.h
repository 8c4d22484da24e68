/* Where the states of a run are when it ends, and how it goes on: said at its end, or, where a
 * second signal ends it at once, from a text that is prepared for its handler. */
#pragma once
#include <stdbool.h>

struct session;

/* Every process calls it before the first step, and that of rank 0 behind every checkpoint. What is
 * lost is said by the process that has rank 0. */
void last_words_prepare(const struct session *session, bool has_first_rank);
/* `status`: with which the run ends. */
void last_words_say(const struct session *session, int status);
