/* System calls that fail or take long, as they do on some file systems: linked into a program, these
 * take the place of the C library's. The environment says which, by numbers:
 *
 * FAULT_FSYNC_SECONDS      every flush of a file takes so long
 * FAULT_FSYNC_FOLDER       every flush of a folder fails, with this errno
 * FAULT_FSYNC_NAME         ... only of those whose paths end so
 * FAULT_FLOCK              every lock fails, with this errno
 * FAULT_PWRITE_SECONDS     every write at a place of a file takes so long
 *
 * They also count what is written by way of the system's cache. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "tests/system_faults.h"

static _Atomic int64_t cached_bytes;

static double number_of(const char *name) {
    const char *text = getenv(name);
    return text ? strtod(text, NULL) : 0;
}

static int ends_as_said(int descriptor) {
    char link[64], path[4096];
    const char *end = getenv("FAULT_FSYNC_NAME");
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t n = readlink(link, path, sizeof path);
    size_t length = end ? strlen(end) : 0;
    return n >= (ssize_t)length && memcmp(path + n - length, end ? end : "", length) == 0;
}

static int fail(int reason) {
    errno = reason;
    return -1;
}

static void tarry(const char *name) {
    double seconds = number_of(name), whole = floor(seconds);
    if (seconds > 0)
        nanosleep(&(struct timespec){(time_t)whole, (long)((seconds - whole) * 1e9)}, NULL);
}

int fsync(int descriptor) {
    int reason = (int)number_of("FAULT_FSYNC_FOLDER");
    struct stat status;
    if (reason && fstat(descriptor, &status) == 0 && S_ISDIR(status.st_mode) &&
        ends_as_said(descriptor))
        return fail(reason);
    tarry("FAULT_FSYNC_SECONDS");
    return (int)syscall(SYS_fsync, descriptor);
}

int flock(int descriptor, int operation) {
    int reason = (int)number_of("FAULT_FLOCK");
    return reason ? fail(reason) : (int)syscall(SYS_flock, descriptor, operation);
}

ssize_t pwrite(int descriptor, const void *bytes, size_t n, off_t at) {
    tarry("FAULT_PWRITE_SECONDS");
    ssize_t written = syscall(SYS_pwrite64, descriptor, bytes, n, at);
    if (written > 0 && !(fcntl(descriptor, F_GETFL) & O_DIRECT))
        atomic_fetch_add(&cached_bytes, written);
    return written;
}

bool system_passes_cache(const char *folder) {
    enum { PAGE = 4096 };
    int file = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC | O_DIRECT, 0600);
    void *page = aligned_alloc(PAGE, PAGE);
    bool passes = file >= 0 && page && pwrite(file, memset(page, 0, PAGE), PAGE, 0) == PAGE;
    free(page);
    if (file >= 0)
        close(file);
    return passes;
}

int64_t system_cached_bytes(void) {
    return atomic_load(&cached_bytes);
}
