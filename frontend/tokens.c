// From the words that flex finds to the tokens that bison reads.
//
// Brackets are counted here for two reasons: item keywords are keywords outside of them only, and a
// bracket that is left open is closed where it must have ended (before the brace around it closes,
// before an item that begins at the left margin, at the end), so that one missing bracket is one
// message and not the loss of the rest of the file.
#include "frontend/tokens.h"

#include <ctype.h>
#include <string.h>

int place_scan_lex(PLACE_STYPE *value, struct span *span, void *scanner); // flex's

// ---- brackets ---------------------------------------------------------------------------------

static char closer_of(char opener) {
    return opener == '(' ? ')' : opener == '[' ? ']' : '}';
}

// Nesting is bounded here for everything that walks the tree behind the parser.
static void open_bracket(struct parser *p, char kind, struct span span) {
    if (p->n_brackets == LIMIT_NESTING) {
        report(p->diagnostics, E123, span, "more than %d brackets are open here", LIMIT_NESTING);
        p->stopped = true;
        return;
    }
    p->brackets[p->n_brackets++] = (struct open_bracket){kind, false, span};
}

// How many brackets must be closed before this one: -1 if it closes nothing. A parenthesis does
// not reach beyond the brace it is in.
static int brackets_above(const struct parser *p, char closer) {
    for (uint32_t i = p->n_brackets; i-- > 0;) {
        if (closer_of(p->brackets[i].kind) == closer)
            return (int)(p->n_brackets - 1 - i);
        if (p->brackets[i].kind == '{')
            return -1;
    }
    return -1;
}

// An item keyword at the left margin with a name, a string or a brace behind it cannot be inside a
// block: a brace is missing before it.
static bool begins_item_at_margin(const struct parser *p, const char *word, struct span span) {
    const struct keyword *keyword = keyword_find(word);
    if (!keyword || !keyword->item || (span.begin && p->text[span.begin - 1] != '\n'))
        return false;
    const char *behind = p->text + span.end;
    behind += strspn(behind, " \t");
    if (keyword->token == TRAIN)
        return *behind == '{';
    return *behind == '"' || *behind == '_' || isalpha((unsigned char)*behind);
}

// The innermost bracket, or its brace if more is lost than a parenthesis: what a person looks for.
static void report_open(struct parser *p, int token, struct span span) {
    const struct open_bracket *open = &p->brackets[p->n_brackets - 1];
    while (open > p->brackets && open->kind != '{' && token != '}')
        open--;
    struct diagnostic *d =
        report(p->diagnostics, E101, open->span, "this `%c` is never closed", open->kind);
    if (token)
        diagnostic_label(d, span, "`%c` is missing before this", closer_of(open->kind));
}

// Closes one bracket that the text leaves open; true if the parser must see it.
static bool close_open(struct parser *p, struct span *span, int *token) {
    struct open_bracket open = p->brackets[--p->n_brackets];
    *span = span_of(p->source, p->held_span.begin, p->held_span.begin);
    *token = closer_of(open.kind);
    return !open.abandoned;
}

// Keeps a token back until the brackets above `remaining` are closed.
static void hold(struct parser *p, int token, struct span span, uint32_t remaining) {
    p->held_token = token;
    p->held_span = span;
    p->held_remaining = remaining;
    bool wanted = false;
    for (uint32_t i = remaining; i < p->n_brackets; i++)
        wanted |= !p->brackets[i].abandoned;
    if (wanted)
        report_open(p, token, span);
}

// ---- the parser's tokens ----------------------------------------------------------------------

// Between `step` or `unit` and their brace stand names and dots only.
static void note_program(struct parser *p, int token) {
    if (token == STEP || token == UNIT)
        p->program_next = true;
    else if (token != NAME && token != '.')
        p->program_next = false;
}

// The next token of the text, with what it does to the brackets. May hold it.
static int read_token(struct parser *p, PLACE_STYPE *value, struct span *span) {
    int token = p->stopped ? 0 : place_scan_lex(value, span, p->scanner);
    if (token == 0) {
        *span = span_of(p->source, p->length, p->length);
        if (p->n_brackets && !p->stopped)
            hold(p, 0, *span, 0);
    } else if (token == '(' || token == '[' || token == '{') {
        open_bracket(p, (char)token, *span);
    } else if (token == ')' || token == ']' || token == '}') {
        int above = brackets_above(p, (char)token);
        if (above > 0)
            hold(p, token, *span, p->n_brackets - (uint32_t)above);
        else if (above == 0)
            p->n_brackets--;
    } else if (token == NAME && p->goal == PARSE_FILE) {
        const struct keyword *keyword = keyword_find(value->name.text);
        if (keyword && p->n_brackets && begins_item_at_margin(p, value->name.text, *span))
            hold(p, keyword->token, *span, 0);
        if (keyword && !p->n_brackets)
            token = keyword->token;
    }
    return token;
}

bool begins_line(const struct parser *p, uint32_t at) {
    while (at > 0 && (p->text[at - 1] == ' ' || p->text[at - 1] == '\t'))
        at--;
    return at == 0 || p->text[at - 1] == '\n';
}

// Whether the parser has given up inside a parenthesis or bracket that is open still.
static bool inside_abandoned(const struct parser *p) {
    return p->n_brackets && p->brackets[p->n_brackets - 1].abandoned;
}

// The next token that the parser is to see: what stands behind a mistake in the same parentheses
// would only be misread.
static int next_token(struct parser *p, PLACE_STYPE *value, struct span *span) {
    int token = read_token(p, value, span);
    while (p->skipping && p->held_token < 0 && token) {
        p->skipping = inside_abandoned(p);
        token = read_token(p, value, span);
    }
    p->skipping = false;
    return token;
}

// What bison calls. First the goal, as a token that no text has; then the text's own, each brought
// with the brackets that had to be closed before it.
int place_lex(PLACE_STYPE *value, struct span *span, struct parser *p) {
    if (!p->started) {
        p->started = true;
        *span = span_of(p->source, 0, 0);
        return p->goal == PARSE_FILE ? GOAL_FILE : GOAL_SETTING;
    }
    int token = 0;
    if (p->held_token < 0)
        token = next_token(p, value, span);
    if (p->held_token >= 0) {
        while (p->n_brackets > p->held_remaining)
            if (close_open(p, span, &token))
                return token;
        token = p->held_token;
        *span = p->held_span;
        p->held_token = -1;
        if (token == ')' || token == ']' || token == '}')
            p->n_brackets--; // the one that it closes itself
    }
    note_program(p, token);
    if (p->tokens && token)
        ARENA_PUSH(p->arena, p->tokens->items, p->tokens->n, p->tokens->capacity,
                   (struct token){token, *span});
    return token;
}

// The parser gave up inside them: their closing is no longer its business, nor worth a message.
void tokens_abandon_brackets(struct parser *p) {
    for (uint32_t i = p->n_brackets; i-- > 0 && p->brackets[i].kind != '{';)
        p->brackets[i].abandoned = true;
    // What cannot stand at the beginning of a line is rather the next statement, where a
    // parenthesis was forgotten before it, than an argument.
    p->skipping = inside_abandoned(p) && !begins_line(p, p->wrong_at);
}
