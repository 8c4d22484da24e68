// Bytes to tokens. Every byte is looked at once or twice, nothing is copied, and the NUL behind the text ends every
// loop. A NUL in the text is a byte that belongs to no token.
#include "equal/text/scan.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct span scan_span(const struct scanner *s, struct word word) {
    uint32_t begin = (uint32_t)(word.text - s->begin);
    return span_of(s->source, begin, begin + word.length);
}

static struct diagnostic *report_words(struct scanner *s, enum diagnostic_code code, struct word at,
                                       const char *format, va_list args) {
    if (s->failed)
        return NULL;
    char *message = NULL;
    size_t length = 0;
    FILE *to = memory_given(open_memstream(&message, &length));
    vfprintf(to, format, args);
    memory_written(to);
    struct diagnostic *d = report(s->diagnostics, code, scan_span(s, at), "%s", message);
    free(message);
    if ((s->at == s->end || at.text + at.length == s->end) && code != E901)
        diagnostic_help(d, "the text ends here: if the file is not whole, dump or copy it again");
    s->failed = true;
    s->at = s->end;
    return d;
}

struct scanner scanner_new(uint32_t source, struct arena *arena, struct arena *scratch,
                           struct diagnostics *diagnostics) {
    const struct source_file *file = &diagnostics->sources->items[source];
    return (struct scanner){.at = file->text + text_begin(file->text, file->length),
                            .begin = file->text,
                            .end = file->text + file->length,
                            .source = source,
                            .diagnostics = diagnostics,
                            .arena = arena,
                            .scratch = scratch};
}

struct diagnostic *scan_report(struct scanner *s, enum diagnostic_code code, struct word at,
                               const char *format, ...) {
    va_list args;
    va_start(args, format);
    struct diagnostic *d = report_words(s, code, at, format, args);
    va_end(args);
    return d;
}

bool scan_fail(struct scanner *s, enum diagnostic_code code, struct word at, const char *format,
               ...) {
    va_list args;
    va_start(args, format);
    report_words(s, code, at, format, args);
    va_end(args);
    return false;
}

static bool is_blank(char c) {
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static bool is_of_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '-';
}

// Some bytes of what stands at the place, to be shown.
static struct word here(const struct scanner *s) {
    uint32_t length = 0;
    while (length < 24 && is_of_word(s->at[length]))
        length++;
    return (struct word){s->at, length ? length : s->at < s->end};
}

bool scan_expected(struct scanner *s, const char *what) {
    if (s->failed)
        return false;
    scan_blanks(s);
    if (s->at == s->end)
        return scan_fail(s, E902, (struct word){s->end, 0}, "the text ends where %s is expected",
                         what);
    if (*s->at == '\0')
        return scan_fail(s, E902, (struct word){s->at, 1},
                         "expected %s, and there is a NUL: this is no text", what);
    return scan_fail(s, E902, here(s), "expected %s", what);
}

void scan_blanks(struct scanner *s) {
    for (;;) {
        while (is_blank(*s->at))
            s->at++;
        if (s->at[0] != '/' || (s->at[1] != '*' && s->at[1] != '/'))
            return;
        const char *close = s->at[1] == '*' ? strstr(s->at + 2, "*/") : strchr(s->at, '\n');
        if (!close) {
            scan_fail(s, E902, (struct word){s->at, 2}, "a comment that does not end");
            return;
        }
        s->at = close + (s->at[1] == '*' ? 2 : 1);
    }
}

char scan_peek(struct scanner *s) {
    scan_blanks(s);
    return *s->at;
}

bool scan_take(struct scanner *s, char c) {
    if (scan_peek(s) != c)
        return false;
    s->at++;
    return true;
}

bool scan_need(struct scanner *s, char c) {
    if (scan_take(s, c))
        return true;
    const char what[] = {'`', c, '`', '\0'};
    return scan_expected(s, what);
}

struct word scan_word(struct scanner *s) {
    scan_blanks(s);
    const char *begin = s->at;
    while (is_of_word(*s->at))
        s->at++;
    return scan_from(s, begin);
}

bool scan_number(struct scanner *s, int64_t *number) {
    scan_blanks(s);
    const char *begin = s->at;
    bool negative = *s->at == '-';
    s->at += negative;
    if (*s->at < '0' || *s->at > '9') {
        s->at = begin;
        return scan_expected(s, "a number");
    }
    int64_t value = 0;
    bool fits = true;
    for (; *s->at >= '0' && *s->at <= '9'; s->at++)
        fits = fits && !__builtin_mul_overflow(value, 10, &value) &&
               !__builtin_sub_overflow(value, *s->at - '0', &value);
    fits = fits && (negative || !__builtin_sub_overflow(0, value, &value));
    *number = value;
    return fits || scan_fail(s, E907, scan_from(s, begin), "a number beyond 64 bits");
}

bool scan_truth(struct scanner *s, bool *truth) {
    struct word word = scan_word(s);
    *truth = word_is(word, "true") || word_is(word, "1");
    if (*truth || word_is(word, "false") || word_is(word, "0"))
        return true;
    s->at = word.text;
    return scan_expected(s, "`true` or `false`");
}

// Moves behind the quote that closes the one at the place.
static bool skip_quoted(struct scanner *s) {
    const char *begin = s->at;
    do
        s->at += *s->at == '\\' && s->at[1] ? 2 : 1;
    while (*s->at != '"' && *s->at);
    if (*s->at == '"') {
        s->at++;
        return true;
    }
    return scan_fail(s, E902, (struct word){begin, 1}, "a quote that is not closed");
}

bool scan_quoted(struct scanner *s, struct word *inside) {
    if (scan_peek(s) != '"')
        return scan_expected(s, "a text in quotes");
    const char *begin = s->at;
    if (!skip_quoted(s))
        return false;
    *inside = (struct word){begin + 1, (uint32_t)(s->at - begin - 2)};
    return true;
}

bool scan_balanced(struct scanner *s) {
    const char *begin = s->at;
    int64_t open = 0;
    do {
        char c = *s->at;
        if (c == '"') {
            if (!skip_quoted(s))
                return false;
            continue;
        }
        if (c == '\0')
            return scan_fail(s, E902, (struct word){begin, 1}, "a bracket that is not closed");
        open += (c == '{') + (c == '(') + (c == '[') - (c == '}') - (c == ')') - (c == ']');
        s->at++;
    } while (open > 0);
    return true;
}

bool scan_value(struct scanner *s) {
    scan_blanks(s);
    for (;;)
        switch (*s->at) {
        case '{':
        case '(':
        case '[':
            if (!scan_balanced(s))
                return false;
            break;
        case '"':
            if (!skip_quoted(s))
                return false;
            break;
        case ',':
        case '\n':
        case '}':
        case ')':
        case ']':
        case '\0':
            return true;
        default:
            s->at++;
        }
}

bool word_is(struct word word, const char *text) {
    for (uint32_t i = 0; i < word.length; i++)
        if (text[i] != word.text[i] || text[i] == '\0')
            return false;
    return text[word.length] == '\0';
}
