// Laying a text out anew: what its parts share. Private to frontend/.
#ifndef PLACE_FRONTEND_FORMAT_H
#define PLACE_FRONTEND_FORMAT_H

#include "frontend/ast.h"
#include "frontend/tokens.h"

// ---- format_tokens.c --------------------------------------------------------------------------

// A text as the parser saw it.
struct token_text {
    const char *text;
    uint32_t length;
    struct token_list tokens;
    bool *begins; // by token: an item, a field, an axis or a statement begins with it
    struct ast_file file;
};

// False: reported.
bool format_parse(struct arena *arena, struct diagnostics *diagnostics, uint32_t source,
                  struct token_text *text);
// Whether the token is one of these signs, whose number in the grammar is the character.
bool is_one_of(int kind, const char *signs);
// What the token is written as: a number and its unit have one blank between.
const char *token_spelling(struct arena *arena, const struct token_text *text, uint32_t token);
// How many blanks stand before the token on its line. `inside` is the innermost open bracket, 0
// outside of all; in letters, `states : (S*+M, ...)`, signs have none around.
unsigned blanks_before(const struct token_text *text, uint32_t token, char inside, bool in_letters);
// Whether this bracket holds the letters of a `states`.
bool opens_letters(const struct token_text *text, uint32_t token);

// What stands between two tokens, piece by piece from `*at` on: a comment without blanks at its
// end, or the ends of lines, whose number is `n_ends`. False: nothing is left before `end`.
struct gap_piece {
    const char *comment; // NULL: ends of lines
    uint32_t length, begin, n_ends;
};
bool next_piece(const struct token_text *text, uint32_t *at, uint32_t end, struct gap_piece *piece);

// ---- format_lines.c ---------------------------------------------------------------------------

// The text laid out anew. It is the arena's.
char *format_lines(struct arena *arena, const struct token_text *text, size_t *length);

#endif
