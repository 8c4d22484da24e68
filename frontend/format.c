// A file laid out anew: line breaks and comments stay where they are, and so does the inside of a
// `step` or `unit`; indentation and blanks are made alike. What comes of it is parsed again and
// compared: it is the same tree with the same comments, and laid out anew it is the same text.
#include "frontend/format.h"

#include <stdlib.h>
#include <string.h>

#include "frontend/frontend.h"
#include "ir/check.h"

// Lines end with a line feed alone, and no byte order mark stands in front.
static char *plain_text(struct arena *arena, const char *text, size_t *length) {
    size_t n = 0, at = text_begin(text, *length);
    char *plain = ARENA_ARRAY(arena, char, *length + 1);
    for (; at < *length; at++)
        if (text[at] != '\r' || at + 1 == *length || text[at + 1] != '\n')
            plain[n++] = text[at];
    *length = n;
    plain[n] = 0;
    return plain;
}

static char *tree_text(struct arena *arena, const struct ast_file *file) {
    char *text = NULL;
    size_t length = 0;
    FILE *out = memory_given(open_memstream(&text, &length));
    ast_print(file, out);
    memory_written(out);
    char *kept = arena_string(arena, text, length);
    free(text);
    return kept;
}

// The next comment of a text, and how many tokens stand before it.
struct comment_walk {
    uint32_t token, at;
};
static bool next_comment(const struct token_text *text, struct comment_walk *walk,
                         struct gap_piece *piece) {
    for (; walk->token <= text->tokens.n; walk->token++) {
        bool last = walk->token == text->tokens.n;
        uint32_t end = last ? text->length : text->tokens.items[walk->token].span.begin;
        while (next_piece(text, &walk->at, end, piece))
            if (piece->comment)
                return true;
        if (!last)
            walk->at = text->tokens.items[walk->token].span.end;
    }
    return false;
}

static bool has_same_comments(const struct token_text *a, const struct token_text *b) {
    struct comment_walk of_a = {0}, of_b = {0};
    struct gap_piece x, y;
    bool more, same = a->tokens.n == b->tokens.n;
    while ((more = next_comment(a, &of_a, &x)) && same)
        same = next_comment(b, &of_b, &y) && of_a.token == of_b.token && x.length == y.length &&
               memcmp(x.comment, y.comment, x.length) == 0;
    return same && !next_comment(b, &of_b, &y);
}

// The formatted text is checked to be the same program, and not believed: the file is the user's.
static void check_formatted(struct arena *arena, struct diagnostics *diagnostics,
                            const struct token_text *before, uint32_t source) {
    struct token_text after;
    size_t length;
    CHECK(format_parse(arena, diagnostics, source, &after));
    CHECK(strcmp(tree_text(arena, &before->file), tree_text(arena, &after.file)) == 0);
    CHECK(has_same_comments(before, &after));
    char *again = format_lines(arena, &after, &length);
    CHECK(length == after.length && memcmp(again, after.text, length) == 0);
}

char *frontend_format(struct arena *arena, struct diagnostics *diagnostics, uint32_t source,
                      size_t *length) {
    struct source_file file = diagnostics->sources->items[source];
    struct token_text before;
    size_t n = file.length;
    const char *plain = plain_text(arena, file.text, &n);
    if (!frontend_read_text(arena, diagnostics, file.name, plain, n, &source) ||
        !format_parse(arena, diagnostics, source, &before))
        return NULL;
    char *text = format_lines(arena, &before, length);
    if (!frontend_read_text(arena, diagnostics, file.name, text, *length, &source))
        return NULL; // too large with its blanks
    check_formatted(arena, diagnostics, &before, source);
    return text;
}
