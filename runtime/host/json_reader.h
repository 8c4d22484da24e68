/* A reader of JSON that may be hostile: it goes forward over a text that is in memory, allocates
 * nothing, and stays at the first mistake. Numbers are whole; escapes are those of ASCII. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_reader {
    const char *text;
    size_t n, at;
    const char *wrong; /* null: nothing so far; else what is, at `at` */
};

/* All return false at a mistake, which `wrong` then says, and after one. */
bool reader_begin(struct json_reader *reader, char bracket); /* '{' or '[' */
/* Whether there is another item of what was begun with this bracket; false also at its end, which
 * is read. `first`: none was read yet; it is set to false. */
bool reader_next(struct json_reader *reader, char bracket, bool *first);
bool reader_key(struct json_reader *reader, char *key, size_t bytes);
bool reader_string(struct json_reader *reader, char *string, size_t bytes);
bool reader_integer(struct json_reader *reader, int64_t *integer); /* at least 0 */
/* Any value, of any kind. */
bool reader_skip(struct json_reader *reader);
/* The text of a value as it stands, of a string without its quotes; the same of a key. */
struct json_slice {
    const char *text;
    size_t n;
};
bool reader_slice(struct json_reader *reader, struct json_slice *slice);
bool reader_key_slice(struct json_reader *reader, struct json_slice *slice);
/* Nothing but white space is left. */
bool reader_end(struct json_reader *reader);

/* Says what is wrong, if nothing was wrong before. Returns false. */
bool reader_fail(struct json_reader *reader, const char *wrong);
/* The line of the place where it is. */
int reader_line(const struct json_reader *reader);
