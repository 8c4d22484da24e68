// Reading sources. Whatever the path leads to, the result is text that may be shown to a person
// (valid UTF-8, no control characters) or one message.
//
// All text enters here: files, standard input, imports, config.json, the arguments of -D. Behind it
// nobody has to fear a NUL, half a character or an escape sequence that would reach a terminal
// through a message. `from` is where the text is asked for, nowhere for what the command line
// names.
#include "frontend/frontend.h"
#include "frontend/read.h"
#include "ir/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// Bytes of the UTF-8 character at `text`, 0 if it is none or must not be in a text.
static size_t character_bytes(const unsigned char *text, size_t left) {
    if (*text < 0x80)
        return (*text >= 0x20 && *text != 0x7F) || *text == '\n' || *text == '\t' || *text == '\r';
    size_t n = *text >= 0xF0 ? 4 : *text >= 0xE0 ? 3 : 2;
    if (*text < 0xC2 || *text > 0xF4 || n > left)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((text[i] & 0xC0) != 0x80)
            return 0;
    // Overlong forms, surrogates, beyond the last character; controls above ASCII.
    if ((*text == 0xC2 && text[1] < 0xA0) || (*text == 0xE0 && text[1] < 0xA0) ||
        (*text == 0xED && text[1] > 0x9F) || (*text == 0xF0 && text[1] < 0x90) ||
        (*text == 0xF4 && text[1] > 0x8F))
        return 0;
    return n;
}

// Whether eight bytes are printable ASCII, as nearly all of a text is: none is below 0x20 or above 0x7E.
static bool are_printable(const char *text) {
    const uint64_t each = UINT64_C(0x0101010101010101);
    uint64_t bytes;
    memcpy(&bytes, text, sizeof bytes);
    return ((bytes | (bytes - 0x20 * each) | (bytes + each)) & 0x80 * each) == 0;
}

// `where` is the first byte that is not of a text.
static bool is_text(const char *text, size_t length, size_t *where) {
    for (size_t at = 0; at < length;) {
        if (length - at >= 8 && are_printable(text + at)) {
            at += 8;
            continue;
        }
        size_t n = character_bytes((const unsigned char *)text + at, length - at);
        if (!n) {
            *where = at;
            return false;
        }
        at += n;
    }
    return true;
}

// A message about a file as a whole: at the text that asks for it, else at the file's own
// beginning, for which it becomes a source without text.
static struct span file_span(struct arena *arena, struct diagnostics *diagnostics, struct span from,
                             const char *path) {
    if (from.source != NO_SOURCE)
        return from;
    return span_of(source_add(diagnostics->sources, arena, path, "", 0), 0, 0);
}

// The remedy depends on why, and on who asked: paths in a file are relative to it.
static void report_unreadable(struct arena *arena, struct diagnostics *diagnostics,
                              struct span from, const char *path, int error) {
    struct diagnostic *d = report(diagnostics, E100, file_span(arena, diagnostics, from, path),
                                  "cannot read `%s`: %s", path, strerror(error));
    diagnostic_help(d, error == ENOENT && from.source == NO_SOURCE
                           ? "check the path; it is taken from the current folder"
                       : error == ENOENT ? "check the path; it is taken from the file that names it"
                       : error == EACCES ? "its permissions must let you read it"
                                         : "name a text file");
}

static const char *kind_of(mode_t mode) {
    return S_ISDIR(mode)    ? "a directory"
           : S_ISFIFO(mode) ? "a named pipe"
           : S_ISSOCK(mode) ? "a socket"
                            : "a device";
}

static void report_no_file(struct arena *arena, struct diagnostics *diagnostics, struct span from,
                           const char *path, mode_t mode) {
    struct diagnostic *d = report(diagnostics, E100, file_span(arena, diagnostics, from, path),
                                  "cannot read `%s`: it is %s, not a file", path, kind_of(mode));
    if (from.source == NO_SOURCE && !S_ISDIR(mode))
        diagnostic_help(d, "name a text file, or read standard input: `-`");
    else
        diagnostic_help(d, "name a text file");
}

// Where the byte stands, in a source that has a `?` for every byte that must not be shown.
static void report_no_text(struct arena *arena, struct diagnostics *diagnostics, const char *name,
                           const char *text, size_t length, size_t where, struct span from) {
    char *shown = arena_string(arena, text, length);
    for (size_t at = where; at < length;) {
        size_t n = character_bytes((const unsigned char *)text + at, length - at);
        if (!n)
            shown[at] = '?';
        at += n ? n : 1;
    }
    uint32_t source = source_add(diagnostics->sources, arena, name, shown, length);
    struct diagnostic *d =
        report(diagnostics, E100, span_of(source, (uint32_t)where, (uint32_t)where + 1),
               "`%s` is not text: byte %zu is 0x%02X", name, where, (unsigned char)text[where]);
    if (from.source != NO_SOURCE)
        diagnostic_note_at(d, from, "the file is named here");
    diagnostic_help(d, "text is UTF-8 without control characters");
}

static const struct text_limit strategy_limit = {
    LIMIT_SOURCE_BYTES, "a strategy is a few lines; is this the right file?"};

// The sizes are checked once more behind the reading: a pipe tells none before its end.
static bool read_text_within(struct arena *arena, struct diagnostics *diagnostics, const char *name,
                             const char *text, size_t length, const struct text_limit *limit,
                             struct span from, uint32_t *source) {
    size_t where;
    if (length > limit->bytes) {
        struct diagnostic *d =
            report(diagnostics, E100, file_span(arena, diagnostics, from, name),
                   "`%s` is larger than %d MiB", name, (int)(limit->bytes >> 20));
        diagnostic_help(d, "%s", limit->remedy);
        return false;
    }
    if (!is_text(text, length, &where)) {
        report_no_text(arena, diagnostics, name, text, length, where, from);
        return false;
    }
    *source = source_add(diagnostics->sources, arena, name, text, length);
    return true;
}

bool read_text(struct arena *arena, struct diagnostics *diagnostics, const char *name,
               const char *text, size_t length, struct span from, uint32_t *source) {
    return read_text_within(arena, diagnostics, name, text, length, &strategy_limit, from, source);
}

// Doubling reads: pipes have no size to ask for, and the size of a file may change.
char *read_bytes(FILE *file, size_t limit, size_t *length) {
    size_t capacity = 16 * 1024, used = 0;
    char *bytes = malloc(capacity);
    while (bytes) {
        used += fread(bytes + used, 1, capacity - used, file);
        if (used < capacity || capacity > limit)
            break;
        char *larger = realloc(bytes, capacity *= 2);
        if (!larger)
            free(bytes);
        bytes = larger;
    }
    *length = used;
    if (bytes && ferror(file)) {
        free(bytes);
        return NULL;
    }
    return bytes;
}

// What a shell hands over open as `<(command)`, or as standard input by its other name.
static bool is_handed_over(const char *path) {
    return strncmp(path, "/dev/fd/", strlen("/dev/fd/")) == 0 || strcmp(path, "/dev/stdin") == 0;
}

static bool has_an_end(mode_t mode, bool handed_over) {
    return S_ISREG(mode) || (handed_over && S_ISFIFO(mode));
}

// Opens a file; whatever else has the path is refused before it is opened, since of files alone it
// is certain that they end. The opening waits for nothing, in case the path means something else by
// then. NULL: reported.
static FILE *open_file(struct arena *arena, struct diagnostics *diagnostics, const char *path,
                       struct span from) {
    bool handed_over = from.source == NO_SOURCE && is_handed_over(path);
    int flags = O_RDONLY | O_CLOEXEC | (handed_over ? 0 : O_NONBLOCK), file = -1;
    struct stat status;
    FILE *opened = NULL;
    bool known = stat(path, &status) == 0;
    if (known && has_an_end(status.st_mode, handed_over)) {
        file = open(path, flags);
        known = file >= 0 && fstat(file, &status) == 0;
    }
    if (known && file >= 0 && has_an_end(status.st_mode, handed_over)) {
        opened = fdopen(file, "rb");
        known = opened != NULL;
    }
    if (!known)
        report_unreadable(arena, diagnostics, from, path, errno);
    else if (!opened)
        report_no_file(arena, diagnostics, from, path, status.st_mode);
    if (!opened && file >= 0)
        close(file);
    return opened;
}

// `-` is standard input for the command line only; in a file it is a name. Unlike all else of the
// frontend the bytes are malloc's and the caller's, because text that is taken over is copied.
char *read_path(struct arena *arena, struct diagnostics *diagnostics, const char *path,
                size_t limit, struct span from, size_t *length) {
    bool standard_input = strcmp(path, "-") == 0 && from.source == NO_SOURCE;
    FILE *file = standard_input ? stdin : open_file(arena, diagnostics, path, from);
    if (!file)
        return NULL;
    char *bytes = read_bytes(file, limit, length);
    if (!bytes)
        report_unreadable(arena, diagnostics, from, path, errno);
    if (!standard_input)
        fclose(file);
    return bytes;
}

// The name of standard input is one that no import can mean.
bool read_source_within(struct arena *arena, struct diagnostics *diagnostics, const char *path,
                        const struct text_limit *limit, struct span from, uint32_t *source) {
    size_t length;
    char *bytes = read_path(arena, diagnostics, path, limit->bytes, from, &length);
    if (!bytes)
        return false;
    bool standard_input = strcmp(path, "-") == 0 && from.source == NO_SOURCE;
    bool good = read_text_within(arena, diagnostics, standard_input ? "<stdin>" : path, bytes,
                                 length, limit, from, source);
    free(bytes);
    return good;
}

bool read_source(struct arena *arena, struct diagnostics *diagnostics, const char *path,
                 struct span from, uint32_t *source) {
    return read_source_within(arena, diagnostics, path, &strategy_limit, from, source);
}

bool frontend_read(struct arena *arena, struct diagnostics *diagnostics, const char *path,
                   uint32_t *source) {
    return read_source(arena, diagnostics, path, span_nowhere(), source);
}

bool frontend_read_within(struct arena *arena, struct diagnostics *diagnostics, const char *path,
                          size_t most_bytes, const char *remedy, uint32_t *source) {
    const struct text_limit limit = {most_bytes, remedy};
    return read_source_within(arena, diagnostics, path, &limit, span_nowhere(), source);
}

bool frontend_read_text(struct arena *arena, struct diagnostics *diagnostics, const char *name,
                        const char *text, size_t length, uint32_t *source) {
    return read_text(arena, diagnostics, name, text, length, span_nowhere(), source);
}

bool frontend_parse(struct arena *arena, struct diagnostics *diagnostics, uint32_t source,
                    struct ast_file *file) {
    uint32_t errors_before = diagnostics->n_errors;
    parse_source(arena, diagnostics, source, file);
    return diagnostics->n_errors == errors_before;
}
