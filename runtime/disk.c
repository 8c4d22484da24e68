/* A rank's file (see disk.h).
 *
 * Past the cache only whole pages go, from memory that begins at one: they pass through a staging
 * place. The pages at both ends of a range, which neighbours share, go through the cache; the system
 * keeps the two views of a page alike, and one thread at a time looks at either. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include "runtime/disk.h"

enum { PAGE_BYTES = 4096, STAGING_BYTES = 1 << 20 };

struct disk {
    int file, direct; /* direct -1: the cache is in use */
    char *staging;
    int64_t written;
};

/* One direction of a transfer: both are the same but for who gives. */
struct range {
    char *to;         /* null: it is written */
    const char *from; /* null: it is read */
    int64_t at;
};

static int least(int64_t a, int64_t b) {
    return (int)(a < b ? a : b);
}

const char *file_system_elsewhere(uint32_t number, const char **where) {
    static const struct {
        uint32_t number;
        const char *name, *where;
    } rows[] = {
#define FILE_SYSTEM(number, name, where) {number, name, where},
#include "runtime/file_systems.def"
#undef FILE_SYSTEM
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].number == number) {
            *where = rows[i].where;
            return rows[i].name;
        }
    return NULL;
}

/* A file without a name; where the file system has none, one whose name is gone at once. */
static int open_nameless(const char *folder) {
    int file = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (file >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
        return file;
    static const char name[] = "/place.XXXXXX";
    size_t length = strlen(folder);
    char *path = malloc(length + sizeof name);
    if (!path)
        return -1;
    memcpy(path, folder, length);
    memcpy(path + length, name, sizeof name);
    file = mkostemp(path, O_CLOEXEC);
    if (file >= 0)
        unlink(path);
    free(path);
    return file;
}

/* The same file once more, past the cache; -1: not here. */
static int open_direct(int file) {
    char path[64] = "/proc/self/fd/", digits[16];
    int n = 0;
    for (int rest = file; rest > 0 || n == 0; rest /= 10)
        digits[n++] = (char)('0' + rest % 10);
    for (size_t at = strlen(path); n > 0;)
        path[at++] = digits[--n];
    return open(path, O_RDWR | O_CLOEXEC | O_DIRECT);
}

struct disk *disk_open(const char *folder, int64_t bytes) {
    struct disk *disk = calloc(1, sizeof *disk);
    if (!disk)
        return NULL;
    disk->direct = -1;
    disk->file = open_nameless(folder);
    if (disk->file >= 0 && ftruncate(disk->file, bytes) == 0) {
        disk->staging = aligned_alloc(PAGE_BYTES, STAGING_BYTES);
        disk->direct = disk->staging ? open_direct(disk->file) : -1;
        return disk;
    }
    int reason = errno;
    disk_close(disk);
    errno = reason;
    return NULL;
}

void disk_close(struct disk *disk) {
    if (!disk)
        return;
    if (disk->direct >= 0)
        close(disk->direct);
    if (disk->file >= 0)
        close(disk->file);
    free(disk->staging);
    free(disk);
}

int64_t disk_room(const char *path) {
    struct statvfs status;
    if (statvfs(path, &status) != 0 || !status.f_blocks)
        return INT64_MAX;
    return (int64_t)status.f_bavail * (int64_t)status.f_frsize;
}

const char *disk_remedy(int reason) {
    switch (reason) {
    case ENOSPC:
        return "make room, or ";
    case EDQUOT:
        return "have your quota raised, or ";
    case EFBIG:
        return "raise the limit of a file's size (ulimit -f), or ";
    default:
        return "";
    }
}

/* What the system does of the bytes at once: how many, or -1. */
static ssize_t move_some(int file, const struct range *range, void *to, const void *from,
                         int bytes) {
    ssize_t n;
    do
        n = range->to ? pread(file, to, (size_t)bytes, range->at)
                      : pwrite(file, from, (size_t)bytes, range->at);
    while (n < 0 && errno == EINTR);
    if (n == 0)
        errno = EIO; /* a file that was as long as the plan has become shorter */
    return n > 0 ? n : -1;
}

/* Whole pages by way of the staging place. A file system that took the flag, and takes no such
 * transfer, is used through the cache from then on. */
static ssize_t move_pages(struct disk *disk, const struct range *range, int bytes) {
    if (range->from)
        memcpy(disk->staging, range->from, (size_t)bytes);
    ssize_t n = move_some(disk->direct, range, disk->staging, disk->staging, bytes);
    if (n < 0 && errno == EINVAL) {
        close(disk->direct);
        disk->direct = -1;
        return 0;
    }
    if (n > 0 && range->to)
        memcpy(range->to, disk->staging, (size_t)n);
    return n;
}

/* How many of the bytes go next, and whether past the cache. */
static int next_bytes(const struct disk *disk, int64_t at, int64_t bytes, bool *direct) {
    int64_t into_page = at % PAGE_BYTES;
    *direct = disk->direct >= 0 && into_page == 0 && bytes >= PAGE_BYTES;
    if (*direct)
        return least(bytes / PAGE_BYTES * PAGE_BYTES, STAGING_BYTES);
    return disk->direct >= 0 && into_page ? least(bytes, PAGE_BYTES - into_page)
                                          : least(bytes, STAGING_BYTES);
}

static int move_range(struct disk *disk, struct range range, int64_t bytes) {
    int64_t begin = range.at;
    while (bytes > 0) {
        bool direct;
        int next = next_bytes(disk, range.at, bytes, &direct);
        ssize_t n = direct ? move_pages(disk, &range, next)
                           : move_some(disk->file, &range, range.to, range.from, next);
        if (n < 0)
            return errno;
        range.to += range.to ? n : 0;
        range.from += range.from ? n : 0;
        range.at += n;
        bytes -= n;
    }
    if (disk->direct < 0) /* nobody reads it soon */
        posix_fadvise(disk->file, begin, range.at - begin, POSIX_FADV_DONTNEED);
    return 0;
}

int disk_read(struct disk *disk, void *to, int64_t at, int64_t bytes) {
    return move_range(disk, (struct range){.to = to, .at = at}, bytes);
}

int disk_write(struct disk *disk, const void *from, int64_t at, int64_t bytes) {
    int reason = move_range(disk, (struct range){.from = from, .at = at}, bytes);
    if (!reason && at + bytes > disk->written)
        disk->written = at + bytes;
    return reason;
}

int64_t disk_written_bytes(const struct disk *disk) {
    return disk ? disk->written : 0;
}
