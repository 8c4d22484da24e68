/* Saying once what all processes of a launcher have to say: a file that is refused is refused in
 * each. The first process on a machine writes its message and then waits at a socket whose name is
 * made of the text; the others, who look for it there, are silent if they find it. A message that
 * the first does not have is written by whoever has it, a moment later, so none is lost. Processes
 * on other machines may see other files, and have a voice of their own. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include "runtime/place.h"
#include "runtime/transport/launch.h"

/* How much later than the first another process may find the same. */
enum { PATIENCE_MILLISECONDS = 2000, BETWEEN_LOOKS_MILLISECONDS = 5 };

static int64_t milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* FNV-1a: the same name for the same text. */
static uint64_t hash(uint64_t seed, const char *text) {
    for (; *text; text++)
        seed = (seed ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return seed;
}

/* Of this launcher's processes: Open MPI names the job; others are the parent of what they start.
 * The name is Linux's abstract one, which needs no file and goes with its socket. */
static struct sockaddr_un address_of(const char *text, socklen_t *length) {
    const char *job = getenv("PMIX_NAMESPACE");
    char parent[32];
    snprintf(parent, sizeof parent, "%ld", (long)getppid());
    uint64_t number = hash(hash(UINT64_C(0xcbf29ce484222325), job ? job : parent), text);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int n = snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "place.%ld.%016" PRIx64,
                     (long)getuid(), number);
    *length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
    return address;
}

/* Until as many others have come as there are, or none comes any more. */
static void wait_for_others(int listener, int32_t others) {
    int64_t end = milliseconds() + PATIENCE_MILLISECONDS;
    struct pollfd poll_for = {.fd = listener, .events = POLLIN};
    for (int32_t i = 0; i < others; i++) {
        int64_t left = end - milliseconds();
        if (left <= 0 || poll(&poll_for, 1, (int)left) <= 0)
            return;
        close(accept(listener, NULL, NULL));
    }
}

static void be_found(const char *text, int32_t others) {
    socklen_t length;
    struct sockaddr_un address = address_of(text, &length);
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener >= 0 && bind(listener, (struct sockaddr *)&address, length) == 0 &&
        listen(listener, others) == 0)
        wait_for_others(listener, others);
    close(listener);
}

static bool first_has_said(const char *text) {
    socklen_t length;
    struct sockaddr_un address = address_of(text, &length);
    int64_t end = milliseconds() + PATIENCE_MILLISECONDS;
    bool found = false;
    while (!found && milliseconds() < end) {
        int connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        found = connect(connection, (struct sockaddr *)&address, length) == 0;
        close(connection);
        if (!found)
            poll(NULL, 0, BETWEEN_LOOKS_MILLISECONDS);
    }
    return found;
}

void place_say(const char *text) {
    int32_t others = launch_neighbours(1) - 1;
    bool first = launch_place() == 0;
    if (!*text || (others > 0 && !first && first_has_said(text)))
        return;
    fputs(text, stderr);
    fflush(stderr);
    if (others > 0 && first)
        be_found(text, others);
}
