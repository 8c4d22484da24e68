// Tokens of the text form of programs, and the state of its parser; for parse.c alone.
#ifndef PLACE_IR_PARSE_TOKENS_H
#define PLACE_IR_PARSE_TOKENS_H

#include "ir/ir.h"

enum token_kind {
    TOKEN_END,
    TOKEN_WORD,  // a name, dots included
    TOKEN_VALUE, // %name
    TOKEN_NUMBER,
    TOKEN_STRING,
    TOKEN_PUNCTUATION, // one character, or "->" as '>' or ".." as ':'
};

enum { ARROW = '>', RANGE = '~' };

struct token {
    enum token_kind kind;
    char punctuation;
    const char *text; // of the name, string or number; NUL-terminated, in the arena
    double real;
    int64_t integer;
    uint32_t begin, end;
};

struct parser {
    struct arena *arena;
    const char *text;
    uint32_t at, length, source;
    struct token token; // the current one
    uint32_t last_end;  // of the token before
    struct program *program;
    const char *variables[8];
    int depth;
    struct text_error *error;
};

// Keeps the first error and makes every later token the end of the text.
void text_fail_at(struct parser *, uint32_t begin, uint32_t end, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
// At the current token.
#define FAIL(p, ...) text_fail_at((p), (p)->token.begin, (p)->token.end, __VA_ARGS__)

// Reads the next token into `token`.
void text_advance(struct parser *);

#endif
