/* Ctrl-C (and SIGTERM, which launchers send, and SIGHUP, when the terminal is gone): finishes the
 * step first, the second time ends the process at once with status 130, leaving no temporary file.
 */
#pragma once

void interrupts_begin(void);
void interrupts_end(void);
int interrupts_seen(void);
