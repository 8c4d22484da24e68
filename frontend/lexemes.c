// What each lexeme that flex finds is: the token's number and what it carries, or what is wrong with
// it. Item keywords are names here; they are told apart where brackets are known (tokens.c).
#include "frontend/tokens.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

// ---- keywords --------------------------------------------------------------------------------

static const struct keyword keywords[] = {
#define ITEM                        true
#define RESERVED                    false
#define KEYWORD(token, text, where) {token, text, where},
#include "frontend/keywords.def"
#undef KEYWORD
#undef ITEM
#undef RESERVED
};
enum { N_KEYWORDS = sizeof keywords / sizeof *keywords };

const struct keyword *keyword_find(const char *text) {
    for (int i = 0; i < N_KEYWORDS; i++)
        if (strcmp(keywords[i].text, text) == 0)
            return &keywords[i];
    return NULL;
}

// ---- numbers ----------------------------------------------------------------------------------

// Digits alone are exact up to 2^63, other spellings where a double holds them exactly: 1e9 is a
// size.
static struct ast_number read_number(struct parser *p, const char *text, size_t length) {
    struct ast_number number = {.text = arena_string(p->arena, text, length)};
    number.value = strtod(number.text, NULL);
    if (strspn(number.text, "0123456789") == length) {
        errno = 0;
        number.integer = strtoll(number.text, NULL, 10);
        number.is_integer = errno == 0;
    } else if (number.value < 0x1p53 && number.value == (double)(int64_t)number.value) {
        number.integer = (int64_t)number.value; // 1e9
        number.is_integer = true;
    }
    return number;
}

// The pattern of the lexer again, which has matched the unit along.
size_t number_length(const char *text) {
    size_t n = strspn(text, "0123456789");
    if (text[n] == '.' && isdigit((unsigned char)text[n + 1]))
        n += 1 + strspn(text + n + 1, "0123456789");
    if (text[n] == 'e' || text[n] == 'E') {
        size_t sign = text[n + 1] == '+' || text[n + 1] == '-';
        size_t digits = strspn(text + n + 1 + sign, "0123456789");
        n += digits ? 1 + sign + digits : 0;
    }
    return n;
}

// `GFLOPS` and `GBps` for `GFLOP/s` and `GB/s`: rates without their stroke.
static bool is_rate_spelt(const char *word, const char *rate) {
    size_t stem = strcspn(rate, "/"), length = strlen(word);
    if (!rate[stem] || length <= stem || strncasecmp(word, rate, stem) != 0)
        return false;
    const char *end = word + stem;
    return strcasecmp(end, "s") == 0 || strcasecmp(end, "ps") == 0;
}

enum { BITS_OF_A_BYTE = 8 };

// `Gbps`, `Gb/s` and `Gbit/s` for `GB/s`: network links are sold by bits, which a small b tells.
static bool is_rate_in_bits(const char *word, const char *rate) {
    size_t prefix = strcspn(rate, "B");
    if (strcmp(rate + prefix, "B/s") != 0 || strncasecmp(word, rate, prefix) != 0)
        return false;
    static const char *const endings[] = {"bps", "b/s", "bits", "bit/s", "bits/s"};
    const char *end = word + prefix;
    bool spelt_out = strncasecmp(end, "bit", 3) == 0;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if ((spelt_out || *end == 'b') && strcasecmp(end, endings[i]) == 0)
            return true;
    return false;
}

// The unit in bytes for which the word is the one in bits; N_MEASURING_UNITS: none.
static enum measuring_unit unit_in_bytes(const char *word) {
    int i = 0;
    while (i < N_MEASURING_UNITS && !is_rate_in_bits(word, measuring_unit_rows[i].text))
        i++;
    return (enum measuring_unit)i;
}

// A unit that differs in its letters' case at most; N_MEASURING_UNITS: none.
static enum measuring_unit unit_in_any_case(const char *word) {
    int i = 0;
    while (i < N_MEASURING_UNITS && strcasecmp(measuring_unit_rows[i].text, word) != 0)
        i++;
    return (enum measuring_unit)i;
}

// That, another spelling of a rate, or one that is near otherwise and begins alike: what the prefix
// multiplies by is not for a guess.
static enum measuring_unit meant_unit(const char *word) {
    enum measuring_unit unit = unit_in_any_case(word);
    if (unit != N_MEASURING_UNITS)
        return unit;
    const char *names[N_MEASURING_UNITS];
    size_t n = 0;
    for (int i = 0; i < N_MEASURING_UNITS; i++) {
        if (is_rate_spelt(word, measuring_unit_rows[i].text))
            return (enum measuring_unit)i;
        if (tolower((unsigned char)measuring_unit_rows[i].text[0]) ==
            tolower((unsigned char)word[0]))
            names[n++] = measuring_unit_rows[i].text;
    }
    const char *nearest = nearest_name(word, names, n);
    return nearest ? (enum measuring_unit)measuring_unit_find(nearest, strlen(nearest))
                   : N_MEASURING_UNITS;
}

// The next character that is neither blank nor of a comment; 0 at the end.
static char character_behind(const struct parser *p, uint32_t at, bool *same_line) {
    *same_line = true;
    for (; at < p->length; at++) {
        if (p->text[at] == '/' && at + 1 < p->length && p->text[at + 1] == '/')
            at += (uint32_t)strcspn(p->text + at, "\n");
        else if (!strchr(" \t\r\n", p->text[at]))
            return p->text[at];
        *same_line &= p->text[at] != '\n';
    }
    return 0;
}

// Behind a number with a blank between, a word may be a keyword or, in a block, the next name: what
// stands behind it tells. In parentheses a comma may as well follow a unit. A name may lack its
// `=`: that is so before a number or a string, and before a name on its line if it is written
// small, as names of fields and axes are and units of what a device has are not.
static bool is_meant_as_unit(const struct parser *p, const char *word, bool adjacent) {
    if (adjacent || strchr(word, '/'))
        return true;
    if (keyword_find(word) && !keyword_find(word)->item)
        return false;
    const struct open_bracket *open = p->n_brackets ? &p->brackets[p->n_brackets - 1] : NULL;
    bool same_line;
    char behind = character_behind(p, p->offset, &same_line);
    if (behind == ',')
        return open && open->kind != '{';
    if (same_line && isalpha((unsigned char)behind))
        return strcspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") < strlen(word) ||
               unit_in_any_case(word) != N_MEASURING_UNITS;
    return !behind || !strchr("=:.([{*\"-0123456789", behind);
}

// A word that is no unit: the help proposes the one that was meant, which is then gone on with.
static void report_no_unit(struct parser *p, struct ast_quantity *quantity, const char *word,
                           struct span number) {
    struct span span = span_of(p->source, p->offset - (uint32_t)strlen(word), p->offset);
    struct diagnostic *d = report(p->diagnostics, E106, span, "`%s` is not a unit", word);
    enum measuring_unit bytes = unit_in_bytes(word), meant = meant_unit(word);
    if (bytes != N_MEASURING_UNITS) {
        const char *unit = measuring_unit_rows[bytes].text;
        quantity->number.value /= BITS_OF_A_BYTE;
        diagnostic_say(d, "a rate in bits, of which a byte has %d", BITS_OF_A_BYTE);
        diagnostic_help(d, "in bytes this is `%.15g %s`", quantity->number.value, unit);
        diagnostic_edit(d, number, "%.15g", quantity->number.value);
        diagnostic_edit(d, span, "%s", unit);
        quantity->unit = bytes;
    } else if (meant != N_MEASURING_UNITS) {
        diagnostic_help(d, "did you mean `%s`?", measuring_unit_rows[meant].text);
        diagnostic_edit(d, span, "%s", measuring_unit_rows[meant].text);
        quantity->unit = meant;
    } else {
        quantity->unknown = d;
    }
}

// The lexer has matched a number and, if one follows, a word. `kept` is how much of it the token
// is: the word is given back where it is not a unit.
int token_number(struct parser *p, PLACE_STYPE *value, const char *text, int length, int *kept) {
    size_t digits = number_length(text), blanks = strspn(text + digits, " \t");
    const char *word =
        arena_string(p->arena, text + digits + blanks, (size_t)length - digits - blanks);
    int unit = measuring_unit_find(word, strlen(word));
    struct ast_number number = read_number(p, text, digits);
    if (unit < 0 && (!*word || !is_meant_as_unit(p, word, blanks == 0))) {
        value->number = number;
        *kept = (int)digits;
        return NUMBER;
    }
    value->quantity = (struct ast_quantity){.number = number};
    value->quantity.unit = unit < 0 ? N_MEASURING_UNITS : (enum measuring_unit)unit;
    if (unit < 0) {
        uint32_t begin = p->offset - (uint32_t)length;
        report_no_unit(p, &value->quantity, word,
                       span_of(p->source, begin, begin + (uint32_t)digits));
    }
    *kept = length;
    return QUANTITY;
}

// ---- words and strings ------------------------------------------------------------------------

// Reserved words are told here; item keywords where brackets are known.
int token_word(struct parser *p, PLACE_STYPE *value, const char *text, struct span span) {
    value->name = (struct ast_name){arena_string(p->arena, text, strlen(text)), span};
    const struct keyword *keyword = keyword_find(text);
    if (keyword && !keyword->item)
        return keyword->token;
    if (measuring_unit_find(text, strlen(text)) >= 0)
        report(p->diagnostics, E102, span, "`%s` is a unit, and nothing may be named like one",
               text);
    return NAME; // item keywords are told apart when the brackets are known
}

// A name all the same, so that the parser has not a second mistake to tell.
int token_foreign_name(struct parser *p, PLACE_STYPE *value, const char *text, struct span span) {
    report(p->diagnostics, E102, span,
           "`%s` is no name: names are of the letters A to Z, in either case, digits and `_`",
           text);
    value->name = (struct ast_name){arena_string(p->arena, text, strlen(text)), span};
    return NAME;
}

static struct ast_name string_inside(struct parser *p, const char *text, size_t quotes,
                                     struct span span) {
    return (struct ast_name){arena_string(p->arena, text + 1, strlen(text) - quotes), span};
}

// Without quotes. There are no escapes: nothing that a path needs would need one.
int token_string(struct parser *p, PLACE_STYPE *value, const char *text, struct span span) {
    value->name = string_inside(p, text, 2, span);
    return STRING;
}

// A string token all the same, so that the parser has not a second mistake to tell.
int token_open_string(struct parser *p, PLACE_STYPE *value, const char *text, struct span span) {
    struct diagnostic *d =
        report(p->diagnostics, E102, span, "a string that does not end on its line");
    diagnostic_help(d, "close it with `\"`");
    value->name = string_inside(p, text, 1, span);
    return STRING;
}

// A comment of other languages: what it says is none of the parser's business. All are one mistake.
void token_comment(struct parser *p, struct span span) {
    struct span sign = span_of(span.source, span.begin, span.begin + 1);
    if (!p->foreign_comments) {
        p->foreign_comments = report(p->diagnostics, E102, sign, "`#` begins no comment here");
        diagnostic_help(p->foreign_comments, "comments begin with `//`");
    }
    diagnostic_edit(p->foreign_comments, sign, "//");
}

// Characters that stand together are one mistake; the parser never sees it.
void token_unknown(struct parser *p, struct span span) {
    struct diagnostic *d =
        report(p->diagnostics, E102, span, "`%.*s` has no meaning in this language",
               (int)(span.end - span.begin), p->text + span.begin);
    if (p->text[span.begin] == ';' && span.end == span.begin + 1) {
        diagnostic_help(d, "nothing stands between statements: leave it out");
        diagnostic_edit(d, span, "%s", "");
    }
}

// ---- programs in braces -----------------------------------------------------------------------

// The braces behind `step NAME` and `unit NAME.UNIT` hold another language: they are one token,
// found by counting braces, and read by ir/parse.c.
bool token_begins_program(struct parser *p) {
    if (!p->program_next || p->n_brackets)
        return false;
    p->program_depth = 1;
    p->program_begin = p->offset - 1;
    return true;
}

// Braces included, so that the span is what the program's own parser is given.
int token_program(struct parser *p, PLACE_STYPE *value, struct span *span) {
    *span = span_of(p->source, p->program_begin, p->offset);
    value->name.text = arena_string(p->arena, p->text + span->begin, span->end - span->begin);
    value->name.span = *span;
    return PROGRAM;
}

void token_open_program(struct parser *p) {
    report(p->diagnostics, E101, span_of(p->source, p->program_begin, p->program_begin + 1),
           "this `{` is never closed");
    p->stopped = true; // nothing is left to read
}
