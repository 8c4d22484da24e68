// Shapes of arrays and of tuples. Layouts are looked at only for whether they are the plain one: elsewhere a value's
// elements have numbers, not places.
#include "equal/hlo/shapes.h"

#include <string.h>

static bool find_element(struct word word, enum element *element) {
    for (int i = 0; i < N_ELEMENT_TYPES; i++)
        if (element_rows[i].text[0] == word.text[0] && word_is(word, element_rows[i].text)) {
            *element = (enum element)i;
            return true;
        }
    return false;
}

// Whether what stands in braces is the plain layout: the numbers of all dimensions, the last one first.
static bool is_plain_layout(struct word text, uint32_t rank) {
    const char *at = text.text + 1; // the brace at the end is none of what is expected before it
    for (uint32_t i = rank; i-- > 0;)
        if ((i >= 10 && *at++ != (char)('0' + i / 10)) || *at++ != (char)('0' + i % 10) ||
            (i > 0 && *at++ != ','))
            return false;
    return at + 1 == text.text + text.length;
}

// A layout in braces, directly behind a shape: `{1,0:T(8,128)}`.
static bool read_layout(struct scanner *s, uint32_t rank, bool *is_row_major) {
    const char *begin = s->at;
    if (*begin != '{')
        return true;
    if (!scan_balanced(s))
        return false;
    *is_row_major &= is_plain_layout(scan_from(s, begin), rank);
    return true;
}

static bool read_array(struct scanner *s, struct shapes *shapes, struct written_shape *written) {
    int64_t sizes[MAX_GRAPH_RANK];
    enum element element;
    uint32_t rank = 0;
    struct word word = scan_word(s);
    if (word.length == 0 || *s->at != '[') {
        s->at = s->failed ? s->end : word.text;
        return scan_expected(s, "a shape, as `f32[2,3]`");
    }
    if (!find_element(word, &element))
        return scan_fail(s, E902, word, "`%.*s` is no element type", WORD(word));
    s->at++;
    while (!scan_take(s, ']')) {
        if (rank && !scan_need(s, ','))
            return false;
        if (rank == MAX_GRAPH_RANK)
            return scan_fail(s, E907, scan_from(s, word.text), "more than %d dimensions",
                             MAX_GRAPH_RANK);
        if (scan_take(s, '<')) {
            written->is_dynamic = true;
            if (!scan_need(s, '='))
                return false;
        }
        if (!scan_number(s, &sizes[rank]))
            return false;
        if (sizes[rank++] < 0)
            return scan_fail(s, E902, scan_from(s, word.text), "a size that is negative");
    }
    written->shape = known_array(&shapes->known, element, sizes, rank);
    if (!written->shape)
        return scan_fail(s, E907, scan_from(s, word.text),
                         "a shape of more bytes than can be counted");
    return read_layout(s, rank, &written->is_row_major);
}

static bool read_nested(struct scanner *s, struct shapes *shapes, uint32_t depth,
                        struct written_shape *written) {
    if (scan_peek(s) != '(')
        return read_array(s, shapes, written);
    if (depth == MAX_NESTING)
        return scan_fail(s, E907, (struct word){s->at, 1}, "tuples nested more than %d deep",
                         MAX_NESTING);
    s->at++;
    uint32_t n = 0;
    while (!scan_take(s, ')')) {
        if (n && !scan_need(s, ','))
            return false;
        if (!read_nested(s, shapes, depth + 1, written))
            return false;
        ARENA_PUSH(s->scratch, shapes->members, shapes->n_members, shapes->members_cap,
                   written->shape);
        n++;
    }
    shapes->n_members -= n;
    written->shape = known_tuple(&shapes->known, n ? shapes->members + shapes->n_members : NULL, n);
    return *s->at != '{' || scan_balanced(s);
}

bool read_shape(struct scanner *s, struct shapes *shapes, struct written_shape *written) {
    *written = (struct written_shape){.is_row_major = true};
    return read_nested(s, shapes, 0, written);
}

bool skip_shape(struct scanner *s) {
    if (scan_peek(s) != '(') {
        struct word word = scan_word(s);
        if (word.length == 0 || *s->at != '[')
            return scan_expected(s, "a shape, as `f32[2,3]`");
    }
    return scan_balanced(s) && (*s->at != '{' || scan_balanced(s));
}
