// Between flex and bison: what a token means beyond its letters. Private to frontend/ and grammar/.
#ifndef PLACE_FRONTEND_TOKENS_H
#define PLACE_FRONTEND_TOKENS_H

#include "frontend/parser.h"
#include "place.tab.h"

// ---- lexemes.c --------------------------------------------------------------------------------

// Called by the rules of grammar/place.l. A token is its number; `value` is what it carries.
// Reads a number and the unit behind it; `kept` is how many bytes are the token's.
int token_number(struct parser *p, PLACE_STYPE *value, const char *text, int length, int *kept);
// How many bytes at the beginning of a text are a number.
size_t number_length(const char *text);
int token_word(struct parser *p, PLACE_STYPE *value, const char *text, struct span span);
int token_string(struct parser *p, PLACE_STYPE *value, const char *text, struct span span);
int token_open_string(struct parser *p, PLACE_STYPE *value, const char *text, struct span span);
bool token_begins_program(struct parser *p);
int token_program(struct parser *p, PLACE_STYPE *value, struct span *span);
void token_open_program(struct parser *p);
int token_foreign_name(struct parser *p, PLACE_STYPE *value, const char *text, struct span span);
void token_unknown(struct parser *p, struct span span);
void token_comment(struct parser *p, struct span span);

struct keyword {
    int token;
    const char *text;
    bool item; // begins one: a keyword outside of brackets only
};
const struct keyword *keyword_find(const char *text); // NULL: it is none

// ---- tokens.c ---------------------------------------------------------------------------------

// The parser's source of tokens: flex's, with brackets counted, keywords told from names, and
// brackets that were left open closed.
int place_lex(PLACE_STYPE *value, struct span *span, struct parser *p);

// Whether only blanks stand before it on its line.
bool begins_line(const struct parser *p, uint32_t at);

// The parser has reported an error and throws away tokens: what is open inside the innermost brace
// will not be closed in the grammar's eyes.
void tokens_abandon_brackets(struct parser *p);

#endif
