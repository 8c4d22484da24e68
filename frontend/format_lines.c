// From tokens to lines. A line has the code and the comment that it had; its indentation follows
// from the braces around it. What stood in a column in neighbouring lines, signs, links of axes,
// comments behind them, stands in one again.
//
// A text that was laid out stays: a column is as far right as the longest line asks for, so that
// lines which come to stand alike by chance are where they would be as one column.
#include "frontend/format.h"

#include <string.h>

#include "ir/check.h"
#include "ir/limits.h"

enum { INDENTATION = 2, CONTINUATION = 4, TAB = 8 };

// Where a column may be: the first sign outside of parentheses, a link, the comment.
enum stop { STOP_SIGN, STOP_LINK, STOP_COMMENT, N_STOPS };
struct stop_place {
    bool is_there;
    uint32_t old_column;
    uint32_t at; // in the code, blanks before included; of a comment the code's end
};
static const uint32_t stop_blanks[N_STOPS] = {[STOP_SIGN] = 1, [STOP_LINK] = 2, [STOP_COMMENT] = 2};

// A bracket's place: in which line, and how many characters there are no blanks up to it.
struct anchor {
    uint32_t line, n_signs;
};

struct line {
    bool blank_before;
    bool in_brackets; // it begins in some: nothing of it is in a column with other lines
    bool is_anchored; // it begins right behind a bracket of a line above
    struct anchor anchor;
    uint32_t indentation;
    char *code; // "": a comment alone
    uint32_t n_code, cap_code;
    uint32_t n_signs;         // of them no blanks
    struct gap_piece comment; // NULL: none
    struct stop_place stops[N_STOPS];
};

// A bracket that is open.
struct open {
    char kind;
    bool letters;
    uint32_t old_column; // behind it
    struct anchor anchor;
};

struct layout {
    struct arena *arena;
    const struct token_text *text;
    struct line *lines;
    uint32_t n, capacity;
    bool in_line;      // the last line goes on
    bool blank_before; // the next one
    struct open open[LIMIT_NESTING];
    uint32_t n_open;
    uint32_t seen, seen_column; // how far the old text was looked at, and the column there
};

// ---- columns ----------------------------------------------------------------------------------

// The column, in characters from 0, behind a text that begins in a column.
static uint32_t column_behind(uint32_t column, const char *text, uint32_t length) {
    for (uint32_t i = 0; i < length; i++)
        if (text[i] == '\t')
            column += TAB - column % TAB;
        else
            column += !continues_character(text[i]);
    return column;
}

// The column in the old text, which is gone through once.
static uint32_t old_column(struct layout *l, uint32_t at) {
    for (; l->seen < at; l->seen++) {
        const char *byte = l->text->text + l->seen;
        l->seen_column = *byte == '\n' ? 0 : column_behind(l->seen_column, byte, 1);
    }
    return l->seen_column;
}

// The column in front of a byte of the code. A program has several lines, of which the last counts.
static uint32_t new_column(const struct line *line, uint32_t at) {
    uint32_t begin = at;
    while (begin > 0 && line->code[begin - 1] != '\n')
        begin--;
    return column_behind(begin ? 0 : line->indentation, line->code + begin, at - begin);
}

// ---- indentation ------------------------------------------------------------------------------

static bool ends_line(const struct token_text *text, uint32_t token) {
    bool last = token + 1 == text->tokens.n;
    uint32_t end = text->tokens.items[token].span.end;
    uint32_t next = last ? text->length : text->tokens.items[token + 1].span.begin;
    return memchr(text->text + end, '\n', next - end);
}

// How many brackets the tokens close with which a line begins.
static uint32_t n_closed_first(const struct token_text *text, uint32_t token) {
    uint32_t n = 0;
    while (token < text->tokens.n && is_one_of(text->tokens.items[token].kind, ")]}")) {
        n++;
        if (ends_line(text, token++))
            break;
    }
    return n;
}

// How far a line is indented that begins with this token or with a comment before it.
static uint32_t indentation_of(const struct layout *l, uint32_t token, bool is_comment) {
    const struct token_text *text = l->text;
    uint32_t closed = is_comment ? 0 : n_closed_first(text, token);
    uint32_t n = l->n_open - (closed < l->n_open ? closed : l->n_open);
    bool in_brackets = l->n_open && l->open[l->n_open - 1].kind != '{';
    bool is_part = token == text->tokens.n || text->begins[token] ||
                   is_one_of(text->tokens.items[token].kind, "{}");
    return INDENTATION * n + (is_part || in_brackets ? 0 : CONTINUATION);
}

// ---- lines ------------------------------------------------------------------------------------

// Begins a line with this token or with a comment before it, which stood in a column. In brackets
// it may stay right behind the innermost.
static struct line *begin_line(struct layout *l, uint32_t token, bool is_comment, uint32_t column) {
    const struct open *innermost = l->n_open ? &l->open[l->n_open - 1] : NULL;
    struct line line = {.blank_before = l->blank_before && l->n,
                        .indentation = indentation_of(l, token, is_comment)};
    line.in_brackets = innermost && innermost->kind != '{';
    line.is_anchored = line.in_brackets && column == innermost->old_column &&
                       (is_comment || n_closed_first(l->text, token) == 0);
    if (line.is_anchored)
        line.anchor = innermost->anchor;
    ARENA_PUSH(l->arena, l->lines, l->n, l->capacity, line);
    l->in_line = true;
    l->blank_before = false;
    return &l->lines[l->n - 1];
}

static void add_code(struct layout *l, struct line *line, const char *code) {
    for (; *code; code++) {
        ARENA_PUSH(l->arena, line->code, line->n_code, line->cap_code, *code);
        line->n_signs += *code != ' ';
    }
}

static void note_bracket(struct layout *l, const struct line *line, uint32_t token) {
    const struct token *t = &l->text->tokens.items[token];
    if (is_one_of(t->kind, "([{")) {
        CHECK(l->n_open < LIMIT_NESTING);
        l->open[l->n_open++] = (struct open){.kind = (char)t->kind,
                                             .letters = opens_letters(l->text, token),
                                             .old_column = old_column(l, t->span.end),
                                             .anchor = {l->n - 1, line->n_signs}};
    } else if (is_one_of(t->kind, ")]}")) {
        l->n_open--;
    }
}

// The blanks before the token are in the code.
static void note_stop(struct layout *l, struct line *line, uint32_t token) {
    const struct token *t = &l->text->tokens.items[token];
    bool is_link = t->kind == LINK, in_brackets = l->n_open && l->open[l->n_open - 1].kind != '{';
    struct stop_place *stop = &line->stops[is_link ? STOP_LINK : STOP_SIGN];
    if (!line->n_code || line->in_brackets || in_brackets || stop->is_there ||
        (!is_link && !is_one_of(t->kind, "=:")))
        return;
    *stop = (struct stop_place){true, old_column(l, t->span.begin), line->n_code};
}

static void add_token(struct layout *l, uint32_t token) {
    uint32_t begin = l->text->tokens.items[token].span.begin;
    const struct open *innermost = l->n_open ? &l->open[l->n_open - 1] : NULL;
    struct line *line;
    if (l->in_line) {
        line = &l->lines[l->n - 1];
        unsigned blanks = blanks_before(l->text, token, innermost ? innermost->kind : 0,
                                        innermost && innermost->letters);
        add_code(l, line, &"  "[2 - blanks]);
    } else {
        line = begin_line(l, token, false, old_column(l, begin));
    }
    note_stop(l, line, token);
    add_code(l, line, token_spelling(l->arena, l->text, token));
    note_bracket(l, line, token);
}

// Comments and ends of lines before a token, or before the end of the text.
static void add_gap(struct layout *l, uint32_t at, uint32_t token) {
    bool last = token == l->text->tokens.n;
    uint32_t end = last ? l->text->length : l->text->tokens.items[token].span.begin;
    struct gap_piece piece;
    while (next_piece(l->text, &at, end, &piece)) {
        if (!piece.comment) {
            l->in_line = false;
            l->blank_before |= piece.n_ends > 1;
            continue;
        }
        uint32_t column = old_column(l, piece.begin);
        struct line *line = l->in_line ? &l->lines[l->n - 1] : begin_line(l, token, true, column);
        line->comment = piece;
        line->stops[STOP_COMMENT] = (struct stop_place){true, column, line->n_code};
    }
}

// ---- columns of neighbouring lines --------------------------------------------------------------

static bool stood_alike(const struct layout *l, uint32_t a, uint32_t b, enum stop stop) {
    const struct stop_place *x = &l->lines[a].stops[stop], *y = &l->lines[b].stops[stop];
    return x->is_there && y->is_there && x->old_column == y->old_column;
}

// The next line of the column, or l->n. Signs and links stand in one from line to line. Comments
// behind code may have lines without any between; one alone may go on what stands behind the line
// in front.
static uint32_t next_in_column(const struct layout *l, uint32_t line, enum stop stop) {
    uint32_t next = line + 1;
    bool neighbour = next < l->n && !l->lines[next].blank_before;
    if (neighbour && stood_alike(l, line, next, stop))
        return next;
    while (stop == STOP_COMMENT && next < l->n &&
           !(l->lines[next].n_code && l->lines[next].stops[stop].is_there))
        next++;
    return stop == STOP_COMMENT && next < l->n && stood_alike(l, line, next, stop) ? next : l->n;
}

static void insert_blanks(struct layout *l, struct line *line, uint32_t at, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        add_code(l, line, " ");
    memmove(line->code + at + n, line->code + at, line->n_code - n - at);
    memset(line->code + at, ' ', n);
    for (int stop = 0; stop < N_STOPS; stop++)
        line->stops[stop].at += line->stops[stop].at >= at ? n : 0;
}

// What stands before the stop with its blanks; nothing before a comment alone.
static uint32_t width_before(const struct line *line, enum stop stop) {
    uint32_t at = line->stops[stop].at;
    if (!line->n_code)
        return 0;
    while (at > 0 && line->code[at - 1] == ' ')
        at--;
    return new_column(line, at) + stop_blanks[stop];
}

// Returns the last line of the column.
static uint32_t align(struct layout *l, uint32_t first, enum stop stop) {
    uint32_t column = 0, last = first;
    for (uint32_t i = first; i < l->n; i = next_in_column(l, i, stop)) {
        uint32_t width = width_before(&l->lines[i], stop);
        column = width > column ? width : column;
        last = i;
    }
    for (uint32_t i = first; i < l->n; i = next_in_column(l, i, stop)) {
        struct line *line = &l->lines[i];
        uint32_t at = line->stops[stop].at;
        if (line->n_code)
            insert_blanks(l, line, at, column - new_column(line, at));
        else
            line->indentation = column;
    }
    return last;
}

static void align_all(struct layout *l, enum stop stop) {
    for (uint32_t i = 0; i < l->n; i++)
        if (l->lines[i].n_code && l->lines[i].stops[stop].is_there)
            i = align(l, i, stop);
}

// A bracket stands in a line above, which has found its own place.
static void anchor_lines(struct layout *l) {
    for (uint32_t i = 0; i < l->n; i++) {
        struct line *line = &l->lines[i];
        if (!line->is_anchored)
            continue;
        const struct line *above = &l->lines[line->anchor.line];
        uint32_t at = 0;
        for (uint32_t n = 0; n < line->anchor.n_signs; at++)
            n += above->code[at] != ' ';
        line->indentation = new_column(above, at);
    }
}

// Stops are aligned from left to right: what is moved moves what stands behind it, and what hangs
// on it.
static void align_stops(struct layout *l) {
    align_all(l, STOP_SIGN);
    align_all(l, STOP_LINK);
    anchor_lines(l);
    align_all(l, STOP_COMMENT);
}

// ---- the whole --------------------------------------------------------------------------------

static char *append(char *to, const char *bytes, size_t n) {
    if (n)
        memcpy(to, bytes, n);
    return to + n;
}

static char *print_lines(const struct layout *l, size_t *length) {
    size_t most = 1;
    for (uint32_t i = 0; i < l->n; i++) {
        const struct line *line = &l->lines[i];
        most += (size_t)line->indentation + line->n_code + line->comment.length + 2;
    }
    char *text = ARENA_ARRAY(l->arena, char, most), *at = text;
    for (uint32_t i = 0; i < l->n; i++) {
        const struct line *line = &l->lines[i];
        at = append(at, "\n", line->blank_before);
        memset(at, ' ', line->indentation);
        at = append(at + line->indentation, line->code, line->n_code);
        at = append(at, line->comment.comment, line->comment.length);
        *at++ = '\n';
    }
    *at = 0;
    *length = (size_t)(at - text);
    return text;
}

char *format_lines(struct arena *arena, const struct token_text *text, size_t *length) {
    struct layout l = {.arena = arena, .text = text};
    uint32_t at = 0;
    for (uint32_t token = 0; token < text->tokens.n; token++) {
        add_gap(&l, at, token);
        add_token(&l, token);
        at = text->tokens.items[token].span.end;
    }
    add_gap(&l, at, text->tokens.n);
    align_stops(&l);
    return print_lines(&l, length);
}
