/* A config.json beside weights (see weights_config.h). It is another program's, and may say a thing
 * in several ways: what it says is compared, and not what it leaves out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "runtime/host/json_reader.h"
#include "runtime/host/same_model.h"
#include "runtime/host/saved_model.h"
#include "runtime/host/weights_config.h"

enum { MOST_BYTES = 1 << 20, KEY_BYTES = 512, VALUE_BYTES = 64 };

/* A value, as the file has it; strings without their quotes. */
struct said {
    const char *text;
    size_t bytes;
};

static bool is_word_of(const struct field *field, struct said said) {
    const char *at = field->value, *end = field->value + field->value_bytes;
    while (at < end) {
        const char *bar = memchr(at, '|', (size_t)(end - at));
        size_t bytes = (size_t)((bar ? bar : end) - at);
        if (bytes == said.bytes && memcmp(at, said.text, bytes) == 0)
            return true;
        at += bytes + 1;
    }
    return false;
}

/* Numbers by what they are: 1e-5 is 0.00001. */
static bool says_same(const struct field *field, struct said said) {
    char ours[VALUE_BYTES], theirs[VALUE_BYTES], *end_of_ours, *end_of_theirs;
    if (is_word_of(field, said))
        return true;
    if (field->value_bytes >= sizeof ours || said.bytes >= sizeof theirs)
        return false;
    snprintf(ours, sizeof ours, "%.*s", (int)field->value_bytes, field->value);
    snprintf(theirs, sizeof theirs, "%.*s", (int)said.bytes, said.text);
    double a = strtod(ours, &end_of_ours), b = strtod(theirs, &end_of_theirs);
    return *ours && *theirs && !*end_of_ours && !*end_of_theirs && a == b;
}

/* Whether the text has a field of that name with another value. */
static bool find_other(const char *unseen, const char *name, struct said said,
                       struct field *field) {
    size_t at = 0;
    while (field_next(unseen, &at, field))
        if (field->name_bytes == strlen(name) && memcmp(field->name, name, field->name_bytes) == 0)
            return !says_same(field, said);
    return false;
}

/* Only characters that a terminal shows. */
static void show(char to[VALUE_BYTES], struct said said) {
    size_t n = said.bytes < VALUE_BYTES - 1 ? said.bytes : VALUE_BYTES - 1;
    for (size_t i = 0; i < n; i++)
        to[i] = (char)(said.text[i] < ' ' || said.text[i] > '~' ? '?' : said.text[i]);
    to[n] = 0;
}

static int report_other(const char *path, const struct field *field, struct said said,
                        char *message, size_t message_bytes) {
    char theirs[VALUE_BYTES], ours[VALUE_BYTES];
    const char *dot = memchr(field->name, '.', field->name_bytes);
    const char *key = dot ? dot + 1 : field->name;
    show(theirs, said);
    show(ours, (struct said){field->value, strcspn(field->value, "|;")});
    snprintf(message, message_bytes,
             "%s: `%.*s` is %s there, and %s in this model: take the model from it, or, where the "
             "difference is meant, name the file of weights itself, not its folder",
             path, (int)(field->name + field->name_bytes - key), key, theirs, ours);
    return -1;
}

static bool is_rotation(const char *key) {
    return strcmp(key, "rope_scaling") == 0 || strcmp(key, "rope_parameters") == 0;
}

/* 1: the value of a field is another; 0: none is, or the text is wrong, as the reader then says. */
static int compare(struct json_reader *reader, const char *prefix, const char *unseen,
                   struct field *field, struct said *said) {
    char key[KEY_BYTES], name[KEY_BYTES + 8];
    bool first = true;
    if (!reader_begin(reader, '{'))
        return 0;
    while (reader_next(reader, '{', &first)) {
        if (!reader_key(reader, key, sizeof key))
            return 0;
        const char *value = reader->text + reader->at;
        value += strspn(value, " \t\r\n");
        if (!*prefix && is_rotation(key) && *value == '{') {
            if (compare(reader, "rope.", unseen, field, said))
                return 1;
            continue;
        }
        if (!reader_skip(reader))
            return 0;
        const char *end = reader->text + reader->at;
        bool quoted = *value == '"';
        *said = (struct said){value + quoted, (size_t)(end - value) - 2 * quoted};
        snprintf(name, sizeof name, "%s%s", prefix, key);
        bool is_null = said->bytes == 4 && memcmp(said->text, "null", 4) == 0;
        if (!is_null && find_other(unseen, name, *said, field))
            return 1;
    }
    return 0;
}

/* Null: it cannot be read, or is larger than any. To be freed. */
static char *read_whole(const char *path, size_t *bytes) {
    int64_t length = 0;
    int descriptor = file_open_regular(path, &length);
    char *text = descriptor >= 0 && length <= MOST_BYTES ? file_text(descriptor, 0, length) : NULL;
    if (descriptor >= 0)
        close(descriptor);
    *bytes = text ? (size_t)length : 0;
    return text;
}

int weights_config_check(const struct place_program *program, const char *folder, char *message,
                         size_t message_bytes) {
    char path[FILE_PATH_BYTES];
    const char *slash = *folder && folder[strlen(folder) - 1] == '/' ? "" : "/";
    bool fits = snprintf(path, sizeof path, "%s%s" CONFIG_NAME, folder, slash) < (int)sizeof path;
    if (!program->config_unseen || !fits || access(path, F_OK) != 0)
        return 0;
    struct json_reader reader = {.text = read_whole(path, &reader.n)};
    struct field field;
    struct said said;
    int other = reader.text ? compare(&reader, "", program->config_unseen, &field, &said) : 0;
    int status = 0;
    if (other)
        status = report_other(path, &field, said, message, message_bytes);
    else if (!reader.text || reader.wrong) {
        snprintf(message, message_bytes,
                 "%s: it cannot be read%s%s, and might say that the weights are another model's; "
                 "mend it, or name the file of weights itself",
                 path, reader.wrong ? ": " : "", reader.wrong ? reader.wrong : "");
        status = -1;
    }
    free((char *)reader.text);
    return status;
}
