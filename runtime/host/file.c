/* Files that exist whole or not at all, and what happens to them on Ctrl-C (see file.h). The
 * handler's few words are the runtime's only global state: signals belong to a process. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "runtime/host/file.h"

static _Atomic int interrupts;
static bool is_watched;                /* by a person, who is told what the first Ctrl-C does */
static const char *_Atomic unfinished; /* temporary file to remove on the way out */

/* Signals that are held while a program runs, and what they did before. */
static const int held[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ};
enum { HELD = sizeof held / sizeof held[0] };
static struct sigaction previous[HELD];

void new_file_abandon(void) {
    const char *path = atomic_load(&unfinished);
    if (path)
        unlink(path);
}

static void on_interrupt(int signal_number) {
    static const char told[] =
        "\ninterrupted: the step is ended and files are written first; once more ends it at once\n";
    if (atomic_fetch_add(&interrupts, 1) == 0) {
        int before = errno; /* of whatever was interrupted */
        if (is_watched)
            (void)!write(STDERR_FILENO, told, sizeof told - 1);
        errno = before;
        return;
    }
    new_file_abandon();
    _exit(130);
}

void interrupts_begin(void) {
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

/* The lowest number that is free is the one that open takes. What was opened the wrong way fails as
 * what is closed does. */
void standard_files_hold(void) {
    for (int file = STDIN_FILENO; file <= STDERR_FILENO; file++)
        if (fcntl(file, F_GETFD) < 0)
            (void)!open("/dev/null", file == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

/* ---- what is written over ----
 * A new file takes the name of an old one, which is to seem as if it had been written itself. */

/* Why that may not be, or 0. A device or pipe would be replaced by a file, and a file that its
 * owner has protected could be, since renaming asks its folder alone. */
static int protected_by(const char *path, const struct stat *old) {
    if (!S_ISREG(old->st_mode))
        return S_ISDIR(old->st_mode) ? EISDIR : ENOTSUP;
    return faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0 ? 0 : errno;
}

static mode_t permissions_of(const struct stat *old) {
    return old->st_mode & (S_IRWXU | S_IRWXG | S_IRWXO);
}

/* As far as the system lets this process; what it has been opened with is no more. What the old
 * group may do is not for another. */
static void take_after(int descriptor, const struct stat *old) {
    mode_t mode = permissions_of(old);
    if (fchown(descriptor, old->st_uid, old->st_gid) != 0 &&
        fchown(descriptor, (uid_t)-1, old->st_gid) != 0)
        mode &= ~(mode_t)S_IRWXG;
    (void)!fchmod(descriptor, mode);
}

enum { TEMPORARY_SUFFIX = 16, LINKS_LIMIT = 40 }; /* at most: ".PID.part" */

int follow_links(const char *path, char place[FILE_PATH_BYTES]) {
    char target[FILE_PATH_BYTES];
    if (strlen(path) >= FILE_PATH_BYTES - TEMPORARY_SUFFIX || !*path) {
        errno = *path ? ENAMETOOLONG : ENOENT;
        return -1;
    }
    strcpy(place, path);
    for (int links = 0; links < LINKS_LIMIT; links++) {
        ssize_t length = readlink(place, target, sizeof target - 1);
        if (length < 0) /* no link; or nothing, which the folder is asked about */
            return errno == EINVAL || errno == ENOENT ? 0 : -1;
        target[length] = 0;
        char *name = target[0] == '/' || !strrchr(place, '/') ? place : strrchr(place, '/') + 1;
        if ((size_t)(name - place + length) >= FILE_PATH_BYTES - TEMPORARY_SUFFIX) {
            errno = ENAMETOOLONG;
            return -1;
        }
        strcpy(name, target);
    }
    errno = ELOOP;
    return -1;
}

int new_file_open(struct new_file *file, const char *path) {
    file->descriptor = -1;
    if (follow_links(path, file->path) != 0)
        return -1;
    struct stat old;
    bool replaces = stat(file->path, &old) == 0;
    errno = replaces ? protected_by(file->path, &old) : 0;
    if (errno)
        return -1;
    int length = snprintf(file->temporary, sizeof file->temporary, "%s.%ld.part", file->path,
                          (long)getpid());
    if (length >= (int)sizeof file->temporary) {
        errno = ENAMETOOLONG;
        return -1;
    }
    file->descriptor = open(file->temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
                            replaces ? permissions_of(&old) : 0666);
    if (file->descriptor < 0)
        return -1;
    if (replaces)
        take_after(file->descriptor, &old);
    atomic_store(&unfinished, file->temporary);
    return 0;
}

int new_file_probe(const char *path, char place[FILE_PATH_BYTES]) {
    struct new_file file;
    if (new_file_open(&file, path) != 0)
        return -1;
    memcpy(place, file.path, sizeof file.path);
    new_file_discard(&file);
    return 0;
}

int new_file_write(struct new_file *file, const void *data, size_t bytes) {
    const char *at = data;
    while (bytes > 0) {
        ssize_t n = write(file->descriptor, at, bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        at += n;
        bytes -= (size_t)n;
    }
    return 0;
}

int new_file_commit(struct new_file *file) {
    int failed = fsync(file->descriptor);
    failed |= close(file->descriptor);
    file->descriptor = -1;
    if (!failed)
        failed = rename(file->temporary, file->path);
    if (failed) {
        int reason = errno;
        unlink(file->temporary);
        errno = reason;
    }
    atomic_store(&unfinished, NULL);
    return failed ? -1 : 0;
}

void new_file_discard(struct new_file *file) {
    if (file->descriptor < 0)
        return;
    close(file->descriptor);
    file->descriptor = -1;
    unlink(file->temporary);
    atomic_store(&unfinished, NULL);
}
