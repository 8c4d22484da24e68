/* Where the states of a run are when it ends, and how it goes on: said at its end, or, where a
 * second signal ends it at once, from a text that is prepared for its handler. */
#pragma once

struct session;

/* Of rank 0's process: before the first step, and behind every checkpoint. */
void last_words_prepare(struct session *session);
/* `status`: with which the run ends. */
void last_words_say(const struct session *session, int status);
