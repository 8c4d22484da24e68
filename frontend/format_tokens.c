// What laying out must know of a text: its tokens, with which of them a new part begins, the
// comments between them, and how many blanks stand between two.
#include "frontend/format.h"

#include <stdlib.h>
#include <string.h>

// ---- parts ------------------------------------------------------------------------------------

static int compare_begin(const void *key, const void *token) {
    uint32_t begin = *(const uint32_t *)key, at = ((const struct token *)token)->span.begin;
    return begin < at ? -1 : begin > at;
}

// Every part begins with a token.
static void note_begin(struct token_text *text, struct span span) {
    const struct token *tokens = text->tokens.items, *found = NULL;
    if (text->tokens.n)
        found = bsearch(&span.begin, tokens, text->tokens.n, sizeof *tokens, compare_begin);
    if (found)
        text->begins[found - tokens] = true;
}

static void note_fields(struct token_text *text, const struct ast_block *block) {
    for (uint32_t i = 0; i < block->n; i++) {
        note_begin(text, block->items[i].span);
        note_fields(text, &block->items[i].block);
    }
}

static void note_axes(struct token_text *text, const struct ast_axes *axes) {
    for (uint32_t i = 0; i < axes->n; i++)
        note_begin(text, axes->items[i].span);
}

static void note_statements(struct token_text *text, const struct ast_body *body) {
    for (uint32_t i = 0; i < body->n; i++) {
        const struct ast_statement *statement = &body->items[i];
        note_begin(text, statement->span);
        if (statement->kind == STATEMENT_IN)
            note_statements(text, &statement->in.body);
        if (statement->kind == STATEMENT_RELAX)
            note_statements(text, &statement->relax.body);
    }
}

static void note_item(struct token_text *text, const struct ast_item *item) {
    note_begin(text, item->span);
    switch (item->kind) {
    case ITEM_MODEL_FILE:
    case ITEM_MODEL_FAMILY:
        note_fields(text, &item->model.block);
        break;
    case ITEM_DEVICE:
        note_fields(text, &item->device);
        break;
    case ITEM_TRAIN:
        note_fields(text, &item->train);
        break;
    case ITEM_MESH:
        note_axes(text, &item->mesh.axes);
        break;
    case ITEM_STRATEGY:
        note_statements(text, &item->strategy.body);
        break;
    case ITEM_IMPORT:
    case ITEM_STEP:
    case ITEM_UNIT:
        break;
    }
}

bool format_parse(struct arena *arena, struct diagnostics *diagnostics, uint32_t source,
                  struct token_text *text) {
    const struct source_file *file = &diagnostics->sources->items[source];
    *text = (struct token_text){.text = file->text, .length = file->length};
    uint32_t errors_before = diagnostics->n_errors;
    parse_source_with_tokens(arena, diagnostics, source, &text->file, &text->tokens);
    if (diagnostics->n_errors != errors_before)
        return false;
    text->begins = ARENA_ARRAY(arena, bool, text->tokens.n);
    for (uint32_t i = 0; i < text->tokens.n; i++)
        text->begins[i] = false;
    for (uint32_t i = 0; i < text->file.n; i++)
        note_item(text, &text->file.items[i]);
    return true;
}

// ---- tokens -----------------------------------------------------------------------------------

const char *token_spelling(struct arena *arena, const struct token_text *text, uint32_t token) {
    const struct token *t = &text->tokens.items[token];
    const char *begin = text->text + t->span.begin;
    uint32_t length = t->span.end - t->span.begin;
    if (t->kind != QUANTITY)
        return arena_string(arena, begin, length);
    uint32_t digits = (uint32_t)number_length(begin);
    uint32_t unit = digits + (uint32_t)strspn(begin + digits, " \t");
    return arena_format(arena, "%.*s %.*s", (int)digits, begin, (int)(length - unit), begin + unit);
}

static int kind_before(const struct token_text *text, uint32_t token, uint32_t n) {
    return token >= n ? text->tokens.items[token - n].kind : 0;
}

bool opens_letters(const struct token_text *text, uint32_t token) {
    return kind_before(text, token, 1) == ':' && kind_before(text, token, 2) == STATES;
}

bool is_one_of(int kind, const char *signs) {
    return kind > 0 && kind < 128 && strchr(signs, kind);
}

// A bracket that a name has, as in `adamw(...)`, `layers[...]`, `link(...)`.
static bool is_of_name(int before, int bracket) {
    return is_one_of(bracket, "([") && (before == NAME || before == LINK);
}

unsigned blanks_before(const struct token_text *text, uint32_t token, char inside,
                       bool in_letters) {
    int left = kind_before(text, token, 1), right = text->tokens.items[token].kind;
    if (left == '{')
        return right == '}' ? 0 : 1;
    if (text->begins[token] || right == LINK)
        return 2;
    if (is_one_of(left, "([.-") || is_one_of(right, ")],.") || is_of_name(left, right))
        return 0;
    if (inside == '[' && (left == ':' || right == ':')) // a slice
        return 0;
    return in_letters && (is_one_of(left, "*+") || is_one_of(right, "*+")) ? 0 : 1;
}

// ---- between tokens ---------------------------------------------------------------------------

bool next_piece(const struct token_text *text, uint32_t *at, uint32_t end,
                struct gap_piece *piece) {
    *piece = (struct gap_piece){0};
    while (*at < end && text->text[*at] != '/') {
        piece->n_ends += text->text[*at] == '\n';
        ++*at;
    }
    if (piece->n_ends)
        return true;
    if (*at == end)
        return false;
    piece->begin = *at;
    piece->comment = text->text + *at;
    while (*at < end && text->text[*at] != '\n')
        ++*at;
    piece->length = *at - piece->begin;
    while (strchr(" \t\r", piece->comment[piece->length - 1]))
        piece->length--;
    return true;
}
