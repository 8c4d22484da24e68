/* What Ctrl-C does (see interrupts.h). The handler's few words are global: signals belong to a
 * process. */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "runtime/host/file.h"
#include "runtime/host/interrupts.h"

enum signal_kind { URGENT, NOTICE, IGNORED };
static const struct {
    int number;
    enum signal_kind kind;
} held[] = {
#define SIGNAL(number, kind) {number, kind},
#include "runtime/host/signals.def"
#undef SIGNAL
};
enum { HELD = sizeof held / sizeof held[0] };
static struct sigaction previous[HELD];

/* Whoever asks by several ways at once (`timeout` signals its child, and then the child's group)
 * has asked once. */
#define ONE_REQUEST_NS INT64_C(500000000)

static _Atomic int interrupts;
static _Atomic int64_t first_urgent_ns; /* 0: there was none */
static bool is_watched;                 /* by a person, who is told: */
static const char *_Atomic promise;     /* what the first Ctrl-C does */
static const char *_Atomic loss;        /* what the second loses; null: nothing that is known */

static int64_t now_ns(void) {
    struct timespec now = {0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec + 1;
}

static void say(const char *text) {
    if (text)
        (void)!write(STDERR_FILENO, text, strlen(text));
}

static enum signal_kind kind_of(int number) {
    int i = 0;
    while (held[i].number != number)
        i++;
    return held[i].kind;
}

/* Whether it insists on an end that was asked for before. */
static bool insists(int number) {
    int64_t now = now_ns(), first = 0;
    if (kind_of(number) != URGENT)
        return false;
    return !atomic_compare_exchange_strong(&first_urgent_ns, &first, now) &&
           now - first > ONE_REQUEST_NS;
}

static void on_interrupt(int number) {
    int before = errno; /* of whatever was interrupted */
    if (insists(number)) {
        new_file_abandon();
        say(atomic_exchange(&loss, NULL)); /* once, should a third come before the end */
        _exit(130);
    }
    if (atomic_fetch_add(&interrupts, 1) == 0 && is_watched)
        say(atomic_load(&promise));
    errno = before;
}

void interrupts_promise(const char *first, const char *second) {
    atomic_store(&promise, first);
    atomic_store(&loss, second);
}

void interrupts_begin(const char *first) {
    interrupts_promise(first, NULL);
    atomic_store(&interrupts, 0);
    atomic_store(&first_urgent_ns, 0);
    is_watched = isatty(STDERR_FILENO);
    for (int i = 0; i < HELD; i++) {
        struct sigaction action = {.sa_handler = held[i].kind == IGNORED ? SIG_IGN : on_interrupt,
                                   .sa_flags = SA_RESTART};
        sigaction(held[i].number, &action, &previous[i]);
        if (held[i].number == SIGHUP && previous[i].sa_handler == SIG_IGN) /* nohup */
            sigaction(held[i].number, &previous[i], NULL);
    }
}

void interrupts_end(void) {
    for (int i = 0; i < HELD; i++)
        sigaction(held[i].number, &previous[i], NULL);
}

int interrupts_seen(void) {
    return atomic_load(&interrupts);
}
