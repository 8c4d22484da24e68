// What the reader knows by name: strings that the graph has once, and computations. What one computation calls stands
// before it, so whoever calls itself, also through others, names what is not known yet.
#include "equal/hlo/reader.h"

#include <string.h>

// ---- strings ----------------------------------------------------------------------------------

const char *hlo_string(struct reader *r, struct word word) {
    return words_string(&r->strings, words_number(&r->strings, word), r->s.arena);
}

const char *reader_quoted(struct reader *r, struct word word) {
    if (!memchr(word.text, '\\', word.length))
        return hlo_string(r, word);
    char *text = arena_alloc(r->s.arena, word.length), *to = text;
    for (uint32_t i = 0; i < word.length; i++) {
        bool is_escape =
            word.text[i] == '\\' && i + 1 < word.length && strchr("'\"\\", word.text[i + 1]);
        *to++ = word.text[i += is_escape];
    }
    return hlo_string(r, (struct word){text, (uint32_t)(to - text)});
}

// ---- computations -----------------------------------------------------------------------------

// Whether the text defines a computation of this name from here on: a line that begins with it and opens a brace.
static bool is_defined_later(const struct scanner *s, const char *at, struct word name) {
    while ((at = memchr(at, '\n', (size_t)(s->end - at)))) {
        at++;
        const char *begin = strncmp(at, "ENTRY ", 6) == 0 ? at + 6 : at;
        begin += *begin == '%';
        if ((size_t)(s->end - begin) > name.length && memcmp(begin, name.text, name.length) == 0 &&
            (begin[name.length] == ' ' || begin[name.length] == '('))
            return true;
    }
    return false;
}

uint32_t find_computation(struct reader *r, struct word name) {
    uint32_t number = words_find(&r->computation_names, name);
    if (number < r->n_computations)
        return number;
    bool is_itself =
        name.length == r->name.length && memcmp(name.text, r->name.text, name.length) == 0;
    bool is_later = is_defined_later(&r->s, r->s.at, name);
    struct diagnostic *d =
        scan_report(&r->s, E904, name,
                    is_itself  ? "`%.*s` calls itself"
                    : is_later ? "computation `%.*s` is called before it is defined"
                               : "no computation is named `%.*s`",
                    WORD(name));
    if (d && is_later)
        diagnostic_help(d,
                        "XLA prints what is called before its callers, and no calls in a circle");
    return UINT32_MAX;
}
