/* Ctrl-C (and SIGTERM, which launchers send, and SIGHUP, when the terminal is gone): finishes the
 * step first, the second time ends the process at once with status 130, leaving no temporary file.
 */
#pragma once

/* What the first Ctrl-C tells who is at a terminal, of what it does; in one piece, which others'
 * lines do not divide. */
#define INTERRUPTED(does) "\ninterrupted: " does "; once more ends it at once\n"
/* `first`: an INTERRUPTED. */
void interrupts_begin(const char *first);
/* From here on it does this. */
void interrupts_promise(const char *first);
void interrupts_end(void);
int interrupts_seen(void);
