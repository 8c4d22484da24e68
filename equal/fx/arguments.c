// Python's literals, and names. What is none of them, as a call that makes a device, is kept as a word.
#include "equal/fx/arguments.h"

#include <stdlib.h>
#include <string.h>

#include "equal/fx/ranks.h"

struct named_value *fx_named(struct reader *r, struct word name) {
    uint32_t number = words_number(&r->names, name);
    while (r->n_named <= number)
        ARENA_PUSH(r->s.scratch, r->named, r->n_named, r->named_cap,
                   (struct named_value){.kind = NAMED_NOTHING});
    return &r->named[number];
}

static bool fail_unknown(struct reader *r, struct word name) {
    return scan_fail(&r->s, E904, name, "`%.*s` is not defined before this", WORD(name));
}

static bool begins_number(const char *at) {
    at += *at == '-';
    return (*at >= '0' && *at <= '9') || (*at == '.' && at[1] >= '0' && at[1] <= '9');
}

static bool read_number(struct reader *r, struct argument *a) {
    struct scanner *s = &r->s;
    const char *begin = s->at;
    char *behind;
    double real = strtod(begin, &behind);
    bool is_whole = true;
    for (const char *at = begin; at < behind; at++)
        is_whole &= *at == '-' || (*at >= '0' && *at <= '9');
    if (is_whole) {
        a->kind = ARGUMENT_INTEGER;
        if (!scan_number(s, &a->integer))
            return false;
    } else {
        a->kind = ARGUMENT_REAL;
        a->real = real;
        s->at = behind;
    }
    a->at = scan_from(s, begin);
    const int64_t *by_rank = fx_numbers_of_ranks(r, begin);
    if (by_rank && is_whole) {
        a->kind = ARGUMENT_BY_RANK;
        a->by_rank = by_rank;
    }
    return true;
}

static bool read_string(struct reader *r, struct argument *a) {
    struct scanner *s = &r->s;
    char quote = *s->at;
    const char *begin = ++s->at;
    while (*s->at && *s->at != quote && *s->at != '\n')
        s->at += *s->at == '\\' && s->at[1] ? 2 : 1;
    if (*s->at != quote)
        return scan_fail(s, E902, (struct word){begin - 1, 1}, "a quote that is not closed");
    a->kind = ARGUMENT_STRING;
    a->at = scan_from(s, begin);
    s->at++;
    return true;
}

// `inf`, `-inf`, `nan`, which the text has without quotes.
static bool take_endless(struct argument *a) {
    static const struct {
        const char *text;
        double real;
    } rows[] = {{"inf", __builtin_inf()}, {"-inf", -__builtin_inf()}, {"nan", __builtin_nan("")}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (word_is(a->at, rows[i].text)) {
            a->kind = ARGUMENT_REAL;
            a->real = rows[i].real;
            return true;
        }
    return false;
}

static bool read_word(struct reader *r, struct argument *a) {
    struct scanner *s = &r->s;
    a->at = scan_word(s);
    if (!a->at.length)
        return scan_expected(s, "what an op is given");
    if (take_endless(a))
        return true;
    if (word_is(a->at, "None")) {
        a->kind = ARGUMENT_NONE;
        return true;
    }
    if (word_is(a->at, "True") || word_is(a->at, "False")) {
        a->kind = ARGUMENT_TRUTH;
        a->integer = *a->at.text == 'T';
        return true;
    }
    a->kind = ARGUMENT_WORD;
    if (*s->at == '(') {
        if (!scan_balanced(s))
            return false;
        a->at = scan_from(s, a->at.text);
        return true;
    }
    if (memchr(a->at.text, '.', a->at.length))
        return true;
    struct named_value *named = fx_named(r, a->at);
    if (named->kind == NAMED_NOTHING || named->kind == NAMED_DECLARED)
        return fail_unknown(r, a->at);
    a->kind = ARGUMENT_NAMED;
    a->named = arena_copy(s->scratch, named, sizeof *named); // the table grows
    return true;
}

static bool read_nested(struct reader *r, struct argument *a, int depth);

static bool read_list(struct reader *r, char close, struct argument *list, int depth) {
    struct scanner *s = &r->s;
    struct argument *items = NULL;
    uint32_t n = 0, cap = 0;
    const char *begin = s->at;
    list->kind = ARGUMENT_LIST;
    while (!scan_take(s, close)) {
        struct argument item = {.kind = ARGUMENT_NONE};
        if ((n && !scan_need(s, ',')) || (n && scan_take(s, close)))
            break;
        if (s->failed)
            return false;
        scan_blanks(s);
        const char *at = s->at;
        struct word keyword = begins_number(at) ? (struct word){at, 0} : scan_word(s);
        bool is_named = keyword.length && scan_peek(s) == '=';
        s->at = is_named ? s->at + 1 : s->failed ? s->end : at;
        if (!read_nested(r, &item, depth + 1))
            return false;
        item.keyword = is_named ? keyword : (struct word){at, 0};
        ARENA_PUSH(s->scratch, items, n, cap, item);
    }
    list->list.of = items;
    list->list.n = n;
    list->at = s->failed ? (struct word){begin, 0} : scan_from(s, begin);
    return !s->failed;
}

static bool read_nested(struct reader *r, struct argument *a, int depth) {
    struct scanner *s = &r->s;
    char c = scan_peek(s);
    if (depth > MAX_NESTING)
        return scan_fail(s, E907, (struct word){s->at, 1}, "lists nested more than %d deep",
                         MAX_NESTING);
    if (c == '[' || c == '(') {
        s->at++;
        return read_list(r, c == '[' ? ']' : ')', a, depth);
    }
    if (c == '\'' || c == '"')
        return read_string(r, a);
    return begins_number(s->at) ? read_number(r, a) : read_word(r, a);
}

bool fx_read_argument(struct reader *r, struct argument *a) {
    *a = (struct argument){.kind = ARGUMENT_NONE};
    return read_nested(r, a, 0);
}

bool fx_read_arguments(struct reader *r, char close, struct argument *list) {
    *list = (struct argument){.kind = ARGUMENT_NONE};
    return read_list(r, close, list, 0);
}
