/* Kinds of files, told by how they begin (see kind.h). */
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "runtime/host/kind.h"

static const struct {
    const char *name, *begins; /* null: by a length, of a header in JSON */
} kinds[] = {
    [FILE_TENSORS] = {"a safetensors file", NULL},
    [FILE_LOG] = {"a log of a run", "{\"schema\": "},
    [FILE_TIMELINE] = {"a timeline of memory", "{\"statement\": "},
    [FILE_TRACE] = {"a trace", "{\"displayTimeUnit\": "},
    [FILE_FLIGHT] = {"a flight recorder", "flight recorder: "},
    [FILE_MANIFEST] = {"a checkpoint's manifest", "{\"format\": \"place checkpoint\""},
    /* Laid out as nobody else does: those of others, who may have said more in it, begin otherwise.
     */
    [FILE_CONFIG] = {"a config.json of --save", "{ \"architectures\": [\""},
};
enum { LONGEST_BEGINNING = 32 };

/* Eight bytes of length, then the header. */
static bool is_tensors(const char *bytes, size_t n, int64_t size) {
    uint64_t header;
    memcpy(&header, bytes, sizeof header);
    return n > sizeof header && header >= 2 && header <= (uint64_t)size - sizeof header &&
           bytes[sizeof header] == '{';
}

/* A file may have been cut off in its beginning. */
static bool is_beginning(const char *bytes, size_t n, const char *begins) {
    size_t length = strlen(begins);
    return memcmp(bytes, begins, n < length ? n : length) == 0;
}

const char *kind_missed(enum file_kind kind, const char *path) {
    char bytes[LONGEST_BEGINNING] = "";
    struct stat status;
    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size == 0)
        return NULL;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = file < 0 ? -1 : read(file, bytes, sizeof bytes);
    if (file >= 0)
        close(file);
    if (n < 0) /* what cannot be read is not known to be ours */
        return kinds[kind].name;
    bool fits = kinds[kind].begins ? is_beginning(bytes, (size_t)n, kinds[kind].begins)
                                   : is_tensors(bytes, (size_t)n, status.st_size);
    return fits ? NULL : kinds[kind].name;
}
