// What lexer and grammar share while one text is parsed. Private to frontend/ and grammar/.
#ifndef PLACE_FRONTEND_PARSER_H
#define PLACE_FRONTEND_PARSER_H

#include "frontend/ast.h"
#include "ir/diagnostic.h"
#include "ir/limits.h"

struct open_bracket {
    char kind;      // '(' '[' '{'
    bool abandoned; // the parser has given up on it; that it is not closed is not reported again
    struct span span;
};

// What the text is, said to the grammar by the first token.
enum parse_goal { PARSE_FILE, PARSE_SETTING };

// The tokens of a text, in order.
struct token {
    int kind; // the grammar's
    struct span span;
};
struct token_list {
    struct token *items;
    uint32_t n, capacity;
};

struct parser {
    struct arena *arena;
    struct diagnostics *diagnostics;
    void *scanner; // flex's
    uint32_t source;
    const char *text;
    uint32_t length;
    uint32_t offset; // of the next byte that flex will look at
    enum parse_goal goal;
    bool started;

    struct open_bracket brackets[LIMIT_NESTING];
    uint32_t n_brackets;
    uint32_t program_depth; // braces open inside a step or unit
    uint32_t program_begin;
    bool program_next; // the next brace opens a step or unit
    int held_token;    // read, but a bracket that was left open is closed first; -1: none
    struct span held_span;
    uint32_t held_remaining;  // brackets that stay open when it is let go
    uint32_t wrong_at;        // where the token begins that was last reported
    bool skipping;            // up to where the abandoned brackets are closed
    bool stopped;             // nesting too deep: only the end follows
    struct ast_path assigned; // the last field with a value, in this block

    struct diagnostic *foreign_comments; // what was told of them; NULL: there is none

    struct token_list *tokens; // where they are noted; NULL: nowhere
    struct ast_file file;      // results
    struct ast_field setting;  // of PARSE_SETTING
};

// Parses the source and appends what is well-formed to the file; the rest is reported.
void parse_source(struct arena *arena, struct diagnostics *diagnostics, uint32_t source,
                  struct ast_file *file);
// The same, with its tokens. In a text with mistakes some may be made up.
void parse_source_with_tokens(struct arena *arena, struct diagnostics *diagnostics, uint32_t source,
                              struct ast_file *file, struct token_list *tokens);
// Parses the source as one field, as -D takes it. Without a value where that was reported.
struct ast_field parse_setting(struct arena *arena, struct diagnostics *diagnostics,
                               uint32_t source);

#endif
