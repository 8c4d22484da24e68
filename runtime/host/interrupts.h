/* Ctrl-C (and SIGTERM, which launchers send): finishes the step first, the second time ends the
 * process at once with status 130, leaving no temporary file. What announces an end that comes
 * anyway (SIGHUP, SIGUSR2 and others) only finishes the step, however often it comes. */
#pragma once

/* What the first Ctrl-C tells who is at a terminal, of what it does; in one piece, which others'
 * lines do not divide, and in lines that a terminal does not break. */
#define INTERRUPTED(does) "\ninterrupted: " does ";\n  once more ends it at once\n"
/* `first`: an INTERRUPTED. */
void interrupts_begin(const char *first);
/* Sets what is told from here on: `first` at the first Ctrl-C, `second`, a line (null: nothing), at
 * the second. Both stay as they are as long as signals are handled. */
void interrupts_promise(const char *first, const char *second);
void interrupts_end(void);
int interrupts_seen(void);
