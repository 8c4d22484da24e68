/* What Ctrl-C does (see interrupts.h). The handler's few words are global: signals belong to a
 * process. */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>
#include "runtime/host/file.h"
#include "runtime/host/interrupts.h"

static _Atomic int interrupts;
static bool is_watched;             /* by a person, who is told: */
static const char *_Atomic promise; /* what the first Ctrl-C does */

/* Signals that are held while a program runs, and what they did before. */
static const int held[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ};
enum { HELD = sizeof held / sizeof held[0] };
static struct sigaction previous[HELD];

static void on_interrupt(int signal_number) {
    if (atomic_fetch_add(&interrupts, 1) == 0) {
        int before = errno; /* of whatever was interrupted */
        const char *told = atomic_load(&promise);
        if (is_watched)
            (void)!write(STDERR_FILENO, told, strlen(told));
        errno = before;
        return;
    }
    new_file_abandon();
    _exit(130);
}

void interrupts_promise(const char *first) {
    atomic_store(&promise, first);
}

void interrupts_begin(const char *first) {
    interrupts_promise(first);
    atomic_store(&interrupts, 0);
    is_watched = isatty(STDERR_FILENO);
    for (int i = 0; i < HELD; i++) {
        /* A closed pipe and a limit on file sizes are errors of the write, reported as such. */
        bool interrupt = held[i] == SIGINT || held[i] == SIGTERM || held[i] == SIGHUP;
        struct sigaction action = {.sa_handler = interrupt ? on_interrupt : SIG_IGN,
                                   .sa_flags = SA_RESTART};
        sigaction(held[i], &action, &previous[i]);
        if (held[i] == SIGHUP && previous[i].sa_handler == SIG_IGN)
            sigaction(held[i], &previous[i], NULL); /* nohup: the run is to outlive the terminal */
    }
}

void interrupts_end(void) {
    for (int i = 0; i < HELD; i++)
        sigaction(held[i], &previous[i], NULL);
}

int interrupts_seen(void) {
    return atomic_load(&interrupts);
}
