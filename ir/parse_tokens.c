// Cuts the text form of programs into tokens: names with dots, %values, numbers, strings,
// punctuation. Comments and a trailing @line:column are skipped as space is.
#include "ir/parse.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "ir/diagnostic.h"

// The position moves to the end: every token from here on is the end of the text.
void text_fail_at(struct parser *p, uint32_t begin, uint32_t end, const char *format, ...) {
    if (!p->error->message) {
        char message[512];
        va_list args;
        va_start(args, format);
        vsnprintf(message, sizeof message, format, args);
        va_end(args);
        p->error->message = arena_string(p->arena, message, strlen(message));
        p->error->span = (struct span){p->source, begin, end > begin ? end : begin + 1};
    }
    p->at = p->length;
    p->token = (struct token){.kind = TOKEN_END, .text = "", .begin = begin, .end = end};
}

bool text_failed(const struct parser *p) {
    return p->error->message != NULL;
}

void text_meant(struct parser *p, const struct token *token, const char *const *first, size_t n,
                size_t stride) {
    if (text_failed(p) || (token->kind != TOKEN_WORD && token->kind != TOKEN_VALUE))
        return;
    const char **names = ARENA_ARRAY(p->arena, const char *, n + 1);
    for (size_t i = 0; i < n; i++)
        names[i] = *(const char *const *)((const char *)first + i * stride);
    const char *near = nearest_name(token->text, names, n);
    if (near)
        p->error->meant =
            arena_format(p->arena, "%s%s", token->kind == TOKEN_VALUE ? "%" : "", near);
}

// Blanks, comments, and what was printed for people only.
static void skip_space(struct parser *p) {
    while (p->at < p->length) {
        char c = p->text[p->at];
        bool comment = c == '/' && p->at + 1 < p->length && p->text[p->at + 1] == '/';
        // A trailing @line:column says where a statement came from when it was printed.
        if (comment || c == '@') {
            while (p->at < p->length && p->text[p->at] != '\n')
                p->at++;
        } else if (isspace((unsigned char)c)) {
            p->at++;
        } else {
            return;
        }
    }
}

static bool is_name_character(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

// A dot belongs to a name if a name goes on behind it: `a.b`, but `0 .. 4` and `a.` not.
static uint32_t scan_name(const struct parser *p, uint32_t at) {
    while (at < p->length &&
           (is_name_character(p->text[at]) ||
            (p->text[at] == '.' && at + 1 < p->length && is_name_character(p->text[at + 1]))))
        at++;
    return at;
}

// Whole numbers are kept exactly beside the double, which holds them to 2^53 only.
static void scan_number(struct parser *p, struct token *token) {
    char digits[64];
    uint32_t n = 0, at = p->at;
    while (at < p->length && n + 1 < sizeof digits) {
        char c = p->text[at];
        bool sign = (c == '-' || c == '+') && n > 0 && strchr("eE", digits[n - 1]);
        // `..` ends a number: it is the range of a loop.
        bool point = c == '.' && !(at + 1 < p->length && p->text[at + 1] == '.');
        if (!(isdigit((unsigned char)c) || sign || point || (n > 0 && (c == 'e' || c == 'E')) ||
              (n == 0 && c == '-')))
            break;
        digits[n++] = c;
        at++;
    }
    digits[n] = 0;
    char *end;
    token->kind = TOKEN_NUMBER;
    token->real = strtod(digits, &end);
    token->integer = strtoll(digits, NULL, 10);
    token->text = arena_string(p->arena, digits, n);
    p->at = at;
    if (*end || n == 0 || !isfinite(token->real))
        text_fail_at(p, token->begin, at, "`%s` is not a number", digits);
}

// No escapes: names of saved tensors are all that is quoted.
static void scan_string(struct parser *p, struct token *token) {
    uint32_t begin = ++p->at;
    while (p->at < p->length && p->text[p->at] != '"' && p->text[p->at] != '\n')
        p->at++;
    token->kind = TOKEN_STRING;
    token->text = arena_string(p->arena, p->text + begin, p->at - begin);
    if (p->at >= p->length || p->text[p->at] != '"')
        text_fail_at(p, token->begin, p->at, "this string does not end on its line");
    else
        p->at++;
}

// One token of lookahead is all that the grammar needs.
void text_advance(struct parser *p) {
    p->last_end = p->token.end;
    skip_space(p);
    struct token token = {.kind = TOKEN_END, .text = "", .begin = p->at, .end = p->at};
    if (p->at < p->length) {
        char c = p->text[p->at], next = p->at + 1 < p->length ? p->text[p->at + 1] : 0;
        uint32_t begin = p->at;
        if (isalpha((unsigned char)c) || c == '_') {
            token.kind = TOKEN_WORD;
            p->at = scan_name(p, p->at);
            token.text = arena_string(p->arena, p->text + begin, p->at - begin);
        } else if (c == '%') {
            token.kind = TOKEN_VALUE;
            p->at = scan_name(p, p->at + 1);
            token.text = arena_string(p->arena, p->text + begin + 1, p->at - begin - 1);
        } else if (isdigit((unsigned char)c) || (c == '-' && isdigit((unsigned char)next))) {
            scan_number(p, &token);
        } else if (c == '"') {
            scan_string(p, &token);
        } else {
            token.kind = TOKEN_PUNCTUATION;
            token.punctuation = c;
            p->at++;
            if ((c == '-' && next == '>') || (c == '.' && next == '.')) {
                token.punctuation = c == '-' ? ARROW : RANGE;
                p->at++;
            }
        }
        token.end = p->at;
    }
    if (!p->error->message)
        p->token = token;
}
