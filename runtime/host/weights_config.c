/* A config.json beside weights (see weights_config.h). It is another program's, and may say a thing
 * in several ways: what it says is compared, and that it says what it must. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "runtime/host/fields.h"
#include "runtime/host/file.h"
#include "runtime/host/json_reader.h"
#include "runtime/host/tensor_files.h"
#include "runtime/host/weights_config.h"

enum { MOST_BYTES = 1 << 20, NAME_BYTES = 256, VALUE_BYTES = 64, MOST_FIELDS = 64 };

/* A field of the program's, and what a file says of it. */
struct told {
    struct field field; /* its name without the sign */
    bool is_needed, is_there;
};

struct comparison {
    struct told fields[MOST_FIELDS];
    int n;
    const struct told *other; /* the first of which the file says something else; null: none */
    struct json_slice there;
};

static void list_fields(struct comparison *comparison, const char *unseen) {
    struct field field;
    size_t at = 0;
    while (comparison->n < MOST_FIELDS && field_next(unseen, &at, &field)) {
        bool is_needed = field.name[field.name_bytes - 1] == '!';
        field.name_bytes -= is_needed;
        comparison->fields[comparison->n++] = (struct told){field, is_needed, false};
    }
}

/* ---- values --------------------------------------------------------------------------------- */

static bool is_word_of(const struct field *field, struct json_slice there) {
    const char *at = field->value, *end = field->value + field->value_bytes;
    while (at < end) {
        const char *bar = memchr(at, '|', (size_t)(end - at));
        size_t bytes = (size_t)((bar ? bar : end) - at);
        if (bytes == there.n && memcmp(at, there.text, bytes) == 0)
            return true;
        at += bytes + 1;
    }
    return false;
}

/* Numbers by what they are: 1e-5 is 0.00001. */
static bool says_same(const struct field *field, struct json_slice there) {
    char ours[VALUE_BYTES], theirs[VALUE_BYTES], *end_of_ours, *end_of_theirs;
    if (is_word_of(field, there))
        return true;
    if (field->value_bytes >= sizeof ours || there.n >= sizeof theirs)
        return false;
    snprintf(ours, sizeof ours, "%.*s", (int)field->value_bytes, field->value);
    snprintf(theirs, sizeof theirs, "%.*s", (int)there.n, there.text);
    double a = strtod(ours, &end_of_ours), b = strtod(theirs, &end_of_theirs);
    return *ours && *theirs && !*end_of_ours && !*end_of_theirs && a == b;
}

static bool is_null(struct json_slice slice) {
    return slice.n == 4 && memcmp(slice.text, "null", 4) == 0;
}

/* Null is how such files leave a field out. False: the file says something else. */
static bool compare_field(struct comparison *comparison, const char *name,
                          struct json_slice there) {
    for (int i = 0; i < comparison->n && !is_null(there); i++) {
        struct told *told = &comparison->fields[i];
        if (told->field.name_bytes != strlen(name) ||
            memcmp(told->field.name, name, told->field.name_bytes) != 0)
            continue;
        told->is_there = true;
        if (says_same(&told->field, there))
            return true;
        comparison->other = told;
        comparison->there = there;
        return false;
    }
    return true;
}

/* ---- the file ------------------------------------------------------------------------------- */

static bool is_slice(struct json_slice slice, const char *text) {
    return slice.n == strlen(text) && memcmp(slice.text, text, slice.n) == 0;
}

/* What a table of rotary positions says of a scaling; its theta may stand beside it as well. */
static void name_field(char name[NAME_BYTES], bool in_rotation, struct json_slice key) {
    bool theta = is_slice(key, "rope_theta"), type = is_slice(key, "type");
    snprintf(name, NAME_BYTES, "%s%.*s", in_rotation && !theta ? "rope." : "",
             in_rotation && type  ? (int)sizeof "rope_type" - 1
             : key.n < NAME_BYTES ? (int)key.n
                                  : NAME_BYTES,
             in_rotation && type ? "rope_type" : key.text);
}

/* Stops at the first that is another, and where the text is wrong, as the reader then says. */
static void compare(struct comparison *comparison, struct json_reader *reader, bool in_rotation) {
    struct json_slice key, value;
    char name[NAME_BYTES];
    bool first = true;
    if (!reader_begin(reader, '{'))
        return;
    while (reader_next(reader, '{', &first)) {
        if (!reader_key_slice(reader, &key))
            return;
        struct json_reader before = *reader;
        if (!reader_slice(reader, &value))
            return;
        bool rotation = is_slice(key, "rope_scaling") || is_slice(key, "rope_parameters");
        if (!in_rotation && rotation && value.n > 0 && value.text[0] == '{') {
            compare(comparison, &before, true);
            if (comparison->other)
                return;
            continue;
        }
        name_field(name, in_rotation, key);
        if (!compare_field(comparison, name, value))
            return;
    }
    if (!in_rotation)
        reader_end(reader);
}

/* Only characters that a terminal shows. */
static void show(char to[VALUE_BYTES], struct json_slice slice) {
    size_t n = slice.n < VALUE_BYTES - 1 ? slice.n : VALUE_BYTES - 1;
    for (size_t i = 0; i < n; i++)
        to[i] = (char)(slice.text[i] < ' ' || slice.text[i] > '~' ? '?' : slice.text[i]);
    to[n] = 0;
}

#define INSTEAD "name the file of weights itself, not its folder"

static int report_other(const char *path, const struct comparison *comparison, char *message,
                        size_t message_bytes) {
    char theirs[VALUE_BYTES] = "not said", ours[VALUE_BYTES];
    const struct field *field = &comparison->other->field;
    const char *dot = memchr(field->name, '.', field->name_bytes);
    const char *key = dot ? dot + 1 : field->name;
    if (comparison->there.text)
        show(theirs, comparison->there);
    show(ours, (struct json_slice){field->value, strcspn(field->value, "|;")});
    snprintf(message, message_bytes,
             "%s: `%.*s` is %s there, and %s in this model: take the model from it, or, where the "
             "difference is meant, " INSTEAD,
             path, (int)(field->name + field->name_bytes - key), key, theirs, ours);
    return -1;
}

static int check_text(const char *unseen, struct json_reader *reader, const char *path,
                      char *message, size_t message_bytes) {
    struct comparison comparison = {.n = 0};
    list_fields(&comparison, unseen);
    compare(&comparison, reader, false);
    if (reader->wrong) {
        snprintf(message, message_bytes, "%s, line %d: %s; mend it, or " INSTEAD, path,
                 reader_line(reader), reader->wrong);
        return -1;
    }
    for (int i = 0; i < comparison.n && !comparison.other; i++)
        if (comparison.fields[i].is_needed && !comparison.fields[i].is_there)
            comparison.other = &comparison.fields[i];
    return comparison.other ? report_other(path, &comparison, message, message_bytes) : 0;
}

int weights_config_check(const struct place_program *program, const char *folder, char *message,
                         size_t message_bytes) {
    char path[FILE_PATH_BYTES];
    const char *slash = *folder && folder[strlen(folder) - 1] == '/' ? "" : "/", *why;
    bool fits = snprintf(path, sizeof path, "%s%s" CONFIG_NAME, folder, slash) < (int)sizeof path;
    if (!program->model || !fits || access(path, F_OK) != 0)
        return 0;
    if (!program->config_unseen) {
        snprintf(
            message, message_bytes,
            "%s: it says another model, since none of transformers' is like this one; " INSTEAD,
            path);
        return -1;
    }
    size_t bytes;
    char *text = file_text_of(path, MOST_BYTES, &bytes, &why);
    if (!text) {
        snprintf(message, message_bytes, "%s: cannot be read: %s; mend it, or " INSTEAD, path, why);
        return -1;
    }
    struct json_reader reader = {.text = text, .n = bytes};
    int status = check_text(program->config_unseen, &reader, path, message, message_bytes);
    free(text);
    return status;
}
