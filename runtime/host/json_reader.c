/* A reader of JSON (see json_reader.h). */
#include <string.h>
#include "runtime/host/json_reader.h"

enum { DEPTH_LIMIT = 512 }; /* of what is skipped */

bool reader_fail(struct json_reader *reader, const char *wrong) {
    if (!reader->wrong)
        reader->wrong = wrong;
    return false;
}

int reader_line(const struct json_reader *reader) {
    int line = 1;
    for (size_t i = 0; i < reader->at && i < reader->n; i++)
        line += reader->text[i] == '\n';
    return line;
}

/* The next character that is no white space; 0 at the end. */
static char peek(struct json_reader *reader) {
    while (reader->at < reader->n && reader->text[reader->at] &&
           strchr(" \t\r\n", reader->text[reader->at]))
        reader->at++;
    return reader->at < reader->n ? reader->text[reader->at] : 0;
}

static bool take(struct json_reader *reader, char c, const char *wrong) {
    if (reader->wrong || peek(reader) != c || reader->at == reader->n)
        return reader_fail(reader, wrong);
    reader->at++;
    return true;
}

bool reader_begin(struct json_reader *reader, char bracket) {
    return take(reader, bracket, bracket == '{' ? "an object should begin" : "a list should begin");
}

bool reader_next(struct json_reader *reader, char bracket, bool *first) {
    char end = bracket == '{' ? '}' : ']';
    if (reader->wrong)
        return false;
    if (peek(reader) == end) {
        reader->at++;
        return false;
    }
    if (!*first && !take(reader, ',', "a comma or the end should stand"))
        return false;
    *first = false;
    return true;
}

static int hex_digit(char c) {
    const char *digits = "0123456789abcdef";
    const char *found = c ? strchr(digits, c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c) : NULL;
    return found ? (int)(found - digits) : -1;
}

/* What stands behind a backslash; -1: nothing that is known. */
static int read_escape(struct json_reader *reader) {
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    if (reader->at >= reader->n)
        return -1;
    char c = reader->text[reader->at++];
    const char *found = c ? strchr(names, c) : NULL;
    if (found)
        return values[found - names];
    int value = 0;
    if (c != 'u' || reader->n - reader->at < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        int digit = hex_digit(reader->text[reader->at++]);
        if (digit < 0)
            return -1;
        value = value * 16 + digit;
    }
    return value > 0 && value < 128 ? value : -1;
}

bool reader_string(struct json_reader *reader, char *string, size_t bytes) {
    size_t used = 0;
    if (!take(reader, '"', "a string should begin"))
        return false;
    while (reader->at < reader->n && reader->text[reader->at] != '"') {
        int c = (unsigned char)reader->text[reader->at++];
        if (c < 32)
            return reader_fail(reader, "a string has a control character");
        if (c == '\\')
            c = read_escape(reader);
        if (c < 0)
            return reader_fail(reader, "a string has an escape that is not known");
        if (used + 1 >= bytes)
            return reader_fail(reader, "a string is too long");
        string[used++] = (char)c;
    }
    string[used] = 0;
    return take(reader, '"', "a string does not end");
}

static bool take_colon(struct json_reader *reader) {
    return take(reader, ':', "a colon should stand");
}

bool reader_key(struct json_reader *reader, char *key, size_t bytes) {
    return reader_string(reader, key, bytes) && take_colon(reader);
}

bool reader_integer(struct json_reader *reader, int64_t *integer) {
    int64_t value = 0;
    char c = peek(reader);
    if (reader->wrong || c < '0' || c > '9')
        return reader_fail(reader, "a whole number should stand");
    for (; reader->at < reader->n && reader->text[reader->at] >= '0' &&
           reader->text[reader->at] <= '9';
         reader->at++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, reader->text[reader->at] - '0', &value))
            return reader_fail(reader, "a number is too large");
    if (reader->at < reader->n && reader->text[reader->at] &&
        strchr(".eE", reader->text[reader->at]))
        return reader_fail(reader, "a number should be whole");
    *integer = value;
    return true;
}

static bool skip_string(struct json_reader *reader) {
    reader->at++;
    for (; reader->at < reader->n && reader->text[reader->at] != '"'; reader->at++)
        reader->at += reader->text[reader->at] == '\\';
    return take(reader, '"', "a string does not end");
}

/* Brackets are counted, not matched: what is between them is nobody's. */
bool reader_skip(struct json_reader *reader) {
    int depth = 0;
    do {
        char c = peek(reader);
        if (reader->wrong || reader->at >= reader->n)
            return reader_fail(reader, "a value should stand");
        if (c == '"') {
            if (!skip_string(reader))
                return false;
            continue;
        }
        depth += c == '{' || c == '[';
        depth -= c == '}' || c == ']';
        if (depth < 0 || depth > DEPTH_LIMIT || (depth == 0 && (c == ',' || c == ':')))
            return reader_fail(reader, "a value should stand");
        reader->at++;
        while (reader->at < reader->n && reader->text[reader->at] &&
               !strchr(" \t\r\n,:[]{}\"", reader->text[reader->at]) && !strchr(",:[]{}", c))
            reader->at++;
    } while (depth > 0);
    return true;
}

bool reader_slice(struct json_reader *reader, struct json_slice *slice) {
    char first = peek(reader);
    size_t begin = reader->at;
    if (!reader_skip(reader))
        return false;
    bool quoted = first == '"';
    *slice = (struct json_slice){reader->text + begin + quoted, reader->at - begin - 2 * quoted};
    return true;
}

bool reader_key_slice(struct json_reader *reader, struct json_slice *slice) {
    if (peek(reader) != '"')
        return reader_fail(reader, "a key should stand");
    return reader_slice(reader, slice) && take_colon(reader);
}

bool reader_end(struct json_reader *reader) {
    peek(reader);
    return !reader->wrong &&
           (reader->at == reader->n || reader_fail(reader, "something stands behind it"));
}
