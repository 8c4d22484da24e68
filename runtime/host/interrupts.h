/* Ctrl-C (and SIGTERM, which launchers send, and SIGHUP, when the terminal is gone): finishes the
 * step first, the second time ends the process at once with status 130, leaving no temporary file.
 */
#pragma once

/* `first`: what the first Ctrl-C does, in a few words, for who is at a terminal; a literal. */
void interrupts_begin(const char *first);
/* From here on it does this. */
void interrupts_promise(const char *first);
void interrupts_end(void);
int interrupts_seen(void);
