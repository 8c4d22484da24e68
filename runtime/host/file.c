/* Files that exist whole or not at all (see file.h). What is unfinished is known to the process,
 * which may have to end in a signal's handler. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "runtime/host/file.h"

/* Temporary files to remove on the way out. Their names are the table's own: a handler may read one
 * while its writer, another thread, is done and gone. One that finds no place here is left to the
 * next run that writes the same file. */
enum { UNFINISHED_LIMIT = 64 };
enum name_state { NAME_FREE, NAME_BUSY, NAME_TAKEN };
static struct {
    _Atomic int state; /* enum name_state */
    char path[FILE_PATH_BYTES];
} unfinished[UNFINISHED_LIMIT];

/* Takes a name that is in this state; nobody else looks at it then. */
static bool seize(int i, int state) {
    return atomic_compare_exchange_strong(&unfinished[i].state, &state, NAME_BUSY);
}

/* Where it is in the table, or -1. */
static int remember_unfinished(const char *path) {
    int i = 0;
    while (i < UNFINISHED_LIMIT && !seize(i, NAME_FREE))
        i++;
    if (i == UNFINISHED_LIMIT)
        return -1;
    strcpy(unfinished[i].path, path);
    atomic_store(&unfinished[i].state, NAME_TAKEN);
    return i;
}

static void forget_unfinished(int i) {
    if (i >= 0 && seize(i, NAME_TAKEN)) /* else a handler has it */
        atomic_store(&unfinished[i].state, NAME_FREE);
}

/* The process ends then, so what was seized stays so. */
void new_file_abandon(void) {
    for (int i = 0; i < UNFINISHED_LIMIT; i++)
        if (seize(i, NAME_TAKEN))
            unlink(unfinished[i].path);
}

/* The lowest number that is free is the one that open takes. What was opened the wrong way fails as
 * what is closed does. */
void standard_files_hold(void) {
    for (int file = STDIN_FILENO; file <= STDERR_FILENO; file++)
        if (fcntl(file, F_GETFD) < 0)
            (void)!open("/dev/null", file == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

/* A model or a dataset may have a thousand files, and a process may usually open about as many in
 * all. */
void files_allow_many(void) {
    const rlim_t enough = 1 << 16;
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= enough)
        return;
    limit.rlim_cur = limit.rlim_max < enough ? limit.rlim_max : enough;
    setrlimit(RLIMIT_NOFILE, &limit);
}

/* ---- open files ---- */

int file_write(int descriptor, const void *data, size_t bytes, int64_t offset) {
    const char *at = data;
    while (bytes > 0) {
        ssize_t n = pwrite(descriptor, at, bytes, offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        at += n;
        offset += n;
        bytes -= (size_t)n;
    }
    return 0;
}

size_t file_read(int descriptor, void *data, size_t bytes, int64_t offset) {
    size_t done = 0;
    while (done < bytes) {
        ssize_t n = pread(descriptor, (char *)data + done, bytes - done, offset + (int64_t)done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0)
            errno = 0;
        if (n <= 0)
            break;
        done += (size_t)n;
    }
    return done;
}

int file_flush(int descriptor) {
    int failed;
    do
        failed = fsync(descriptor);
    while (failed && errno == EINTR);
    return failed;
}

int folder_flush(int descriptor) {
    int failed = file_flush(descriptor);
    return failed && (errno == EINVAL || errno == ENOTSUP || errno == EROFS) ? 0 : failed;
}

bool file_lock(int descriptor) {
    return flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

/* ---- what is written over ----
 * A new file takes the name of an old one, which is to seem as if it had been written itself. */

/* Whether its owner, another than ours, could have put `path` into a folder that is anybody's
 * (/tmp) for us to fall for. Such links are not followed and such files not written over, as where
 * the kernel opens them (protected_symlinks, protected_regular). */
static bool is_planted(const char *path, uid_t owner) {
    char copy[FILE_PATH_BYTES];
    struct stat folder;
    snprintf(copy, sizeof copy, "%s", path);
    return owner != geteuid() && stat(dirname(copy), &folder) == 0 && folder.st_uid != owner &&
           folder.st_mode & S_ISVTX && folder.st_mode & S_IWOTH;
}

/* Why that may not be, or 0. A device or pipe would be replaced by a file, and a file that its
 * owner has protected could be, since renaming asks its folder alone. */
static int protected_by(const char *path, const struct stat *old) {
    if (!S_ISREG(old->st_mode))
        return S_ISDIR(old->st_mode) ? EISDIR : ENOTSUP;
    if (is_planted(path, old->st_uid))
        return EACCES;
    return faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0 ? 0 : errno;
}

static mode_t permissions_of(const struct stat *old) {
    return old->st_mode & (S_IRWXU | S_IRWXG | S_IRWXO);
}

/* What it has been opened with is no more. What the old group may do is not for another. */
void file_take_after(int descriptor, const struct stat *old) {
    mode_t mode = permissions_of(old);
    if (fchown(descriptor, old->st_uid, old->st_gid) != 0 &&
        fchown(descriptor, (uid_t)-1, old->st_gid) != 0)
        mode &= ~(mode_t)S_IRWXG;
    (void)!fchmod(descriptor, mode);
}

static bool is_planted_link(const char *path) {
    struct stat link;
    return lstat(path, &link) == 0 && S_ISLNK(link.st_mode) && is_planted(path, link.st_uid);
}

enum {
    RANDOM_DIGITS = 16,
    TEMPORARY_SUFFIX = 1 + RANDOM_DIGITS + 5 + 1, /* ".RANDOM.part", terminated */
    LINKS_LIMIT = 40,
};
static const char part_suffix[] = ".part";

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
        if (is_planted_link(place)) {
            errno = EACCES;
            return -1;
        }
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

/* What is not there yet is known by its name and the folder that it would be in. */
static bool is_same_name(const char *a, const char *b) {
    char place_a[FILE_PATH_BYTES], place_b[FILE_PATH_BYTES], copy[FILE_PATH_BYTES];
    struct stat x, y;
    if (follow_links(a, place_a) != 0 || follow_links(b, place_b) != 0 ||
        stat(dirname(strcpy(copy, place_a)), &x) != 0 ||
        stat(dirname(strcpy(copy, place_b)), &y) != 0)
        return false;
    return x.st_dev == y.st_dev && x.st_ino == y.st_ino &&
           strcmp(basename(place_a), basename(place_b)) == 0;
}

bool is_same_place(const char *a, const char *b) {
    struct stat x, y;
    bool a_exists = stat(a, &x) == 0, b_exists = stat(b, &y) == 0;
    if (a_exists || b_exists)
        return a_exists && b_exists && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
    return is_same_name(a, b);
}

/* ---- parts ----
 * Whoever makes one holds its lock, on every host that shares the folder. So one that can be locked
 * is what a process left that has died. */

/* Whether `name` is that of a part of the file `base`. */
static bool is_part_of(const char *name, const char *base) {
    size_t length = strlen(base);
    return strncmp(name, base, length) == 0 && name[length] == '.' &&
           strspn(name + length + 1, "0123456789abcdef") == RANDOM_DIGITS &&
           strcmp(name + length + 1 + RANDOM_DIGITS, part_suffix) == 0;
}

void part_folder_remove(int parent, const char *name) {
    int folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *list = folder < 0 ? NULL : fdopendir(folder);
    for (struct dirent *entry; list && (entry = readdir(list));)
        unlinkat(folder, entry->d_name, 0);
    if (list)
        closedir(list);
    else if (folder >= 0)
        close(folder);
    unlinkat(parent, name, AT_REMOVEDIR);
}

/* Some systems lock for writing only what is open for it, and no folder can be. */
static void remove_if_dead(int folder, const char *name) {
    struct stat status;
    int part = openat(folder, name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (part < 0 && errno == EISDIR)
        part = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_DIRECTORY | O_CLOEXEC);
    if (part < 0)
        return;
    bool is_dead = fstat(part, &status) == 0 &&
                   (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode)) &&
                   flock(part, LOCK_EX | LOCK_NB) == 0;
    if (is_dead && S_ISDIR(status.st_mode))
        part_folder_remove(folder, name);
    else if (is_dead)
        unlinkat(folder, name, 0);
    close(part);
}

/* The dead parts of this file. */
static void remove_remains(const char *path) {
    char copy[FILE_PATH_BYTES];
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    snprintf(copy, sizeof copy, "%s", path);
    DIR *folder = opendir(dirname(copy));
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (is_part_of(entry->d_name, base))
            remove_if_dead(dirfd(folder), entry->d_name);
    if (folder)
        closedir(folder);
}

/* One that nobody else has a name for, and that follows no link that was put in its place. */
static int create_part(const char *path, enum part_kind kind, mode_t mode,
                       char part[FILE_PATH_BYTES]) {
    uint64_t random;
    if (getrandom(&random, sizeof random, 0) != sizeof random)
        return -1;
    if (snprintf(part, FILE_PATH_BYTES, "%s.%016" PRIx64 "%s", path, random, part_suffix) >=
        FILE_PATH_BYTES) {
        errno = ENAMETOOLONG;
        return -1;
    }
    if (kind == PART_FILE)
        return open(part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    return mkdir(part, mode) != 0 ? -1
                                  : open(part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Locks it, unless another run has taken it for a dead one meanwhile. */
static bool keep_part(int descriptor) {
    struct stat status;
    return file_lock(descriptor) && fstat(descriptor, &status) == 0 && status.st_nlink > 0;
}

int part_open(const char *path, enum part_kind kind, mode_t mode, char part[FILE_PATH_BYTES]) {
    remove_remains(path);
    for (;;) {
        int descriptor = create_part(path, kind, mode, part);
        if (descriptor < 0 && errno == EEXIST)
            continue;
        if (descriptor < 0 || keep_part(descriptor))
            return descriptor;
        close(descriptor);
    }
}

/* ---- new files ---- */

int new_file_place(const char *path, char place[FILE_PATH_BYTES], bool *is_there,
                   struct stat *old) {
    if (follow_links(path, place) != 0)
        return -1;
    *is_there = stat(place, old) == 0;
    errno = *is_there ? protected_by(place, old) : 0;
    return errno ? -1 : 0;
}

int new_file_open(struct new_file *file, const char *path) {
    struct stat old;
    bool replaces;
    file->descriptor = -1;
    if (new_file_place(path, file->path, &replaces, &old) != 0)
        return -1;
    file->descriptor =
        part_open(file->path, PART_FILE, replaces ? permissions_of(&old) : 0666, file->temporary);
    if (file->descriptor < 0)
        return -1;
    if (replaces)
        file_take_after(file->descriptor, &old);
    file->remembered = remember_unfinished(file->temporary);
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

FILE *new_file_stream(const struct new_file *file) {
    int copy = fcntl(file->descriptor, F_DUPFD_CLOEXEC, 0);
    FILE *stream = copy < 0 ? NULL : fdopen(copy, "w");
    if (copy >= 0 && !stream)
        close(copy);
    return stream;
}

/* Flushes the folder, so that the new name outlives the machine, too. */
static void flush_folder_of(const char *path) {
    char copy[FILE_PATH_BYTES];
    snprintf(copy, sizeof copy, "%s", path);
    int folder = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return;
    (void)!folder_flush(folder);
    close(folder);
}

/* To be called when the part's name is gone: the lock goes with it. */
static void close_part(struct new_file *file) {
    close(file->descriptor);
    file->descriptor = -1;
    forget_unfinished(file->remembered);
}

int new_file_commit(struct new_file *file) {
    int failed = file_flush(file->descriptor);
    if (!failed)
        failed = rename(file->temporary, file->path);
    if (failed) {
        int reason = errno;
        new_file_discard(file);
        errno = reason;
        return -1;
    }
    flush_folder_of(file->path);
    close_part(file);
    return 0;
}

void new_file_discard(struct new_file *file) {
    if (file->descriptor < 0)
        return;
    unlink(file->temporary);
    close_part(file);
}

char *file_text(int descriptor, int64_t offset, int64_t bytes) {
    char *text = malloc((size_t)bytes + 1);
    errno = text ? 0 : ENOMEM;
    if (!text)
        return NULL;
    if (file_read(descriptor, text, (size_t)bytes, offset) != (size_t)bytes) {
        int reason = errno;
        free(text);
        errno = reason;
        return NULL;
    }
    text[bytes] = 0;
    return text;
}

int file_open_regular(const char *path, int64_t *bytes) {
    struct stat status;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0)
        return -1;
    if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
        close(descriptor);
        errno = EINVAL;
        return -1;
    }
    *bytes = status.st_size;
    return descriptor;
}

char *file_text_of(const char *path, int64_t most, size_t *bytes, const char **why) {
    int64_t length = 0;
    int descriptor = file_open_regular(path, &length);
    char *text = NULL;
    if (descriptor < 0)
        *why = file_obstacle();
    else if (length > most)
        *why = "it is larger than any such file";
    else if (!(text = file_text(descriptor, 0, length)))
        *why = file_shortfall();
    if (descriptor >= 0)
        close(descriptor);
    *bytes = text ? (size_t)length : 0;
    return text;
}

const char *file_obstacle(void) {
    return errno == EINVAL   ? "it is not a regular file"
           : errno == EMFILE ? "too many files are open; raise the limit, `ulimit -n`"
                             : strerror(errno);
}

const char *file_shortfall(void) {
    return errno ? strerror(errno) : "it became shorter meanwhile";
}
