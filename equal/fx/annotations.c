// Annotations: a type and sizes; strides and devices say nothing of values.
#include "equal/fx/annotations.h"

#include "equal/fx/elements.h"

static bool fail_annotation(struct reader *r, struct word text) {
    struct diagnostic *d =
        scan_report(&r->s, E902, text, "`%.*s` is no shape, as `f32[4, 8]`", WORD(text));
    if (d)
        diagnostic_help(d, "print the graph with `gm.print_readable(print_output=False)`");
    return false;
}

static bool fail_symbol(struct reader *r, struct word text) {
    struct diagnostic *d = scan_report(
        &r->s, E908, text, "`%.*s` has sizes that are known only when it runs", WORD(text));
    if (d)
        diagnostic_help(d, "trace it with the sizes of one run: without `dynamic_shapes`, or with "
                           "`torch.compile(..., dynamic=False)`");
    return false;
}

// A size; false: it is none, or beyond any array's.
static bool take_size(const char **at, const char *end, int64_t *size) {
    const char *begin = *at;
    *size = 0;
    while (*at < end && **at >= '0' && **at <= '9' && *size < INT64_C(1) << 58)
        *size = 10 * *size + (*(*at)++ - '0');
    return *at > begin && (*at == end || **at < '0' || **at > '9');
}

// `4, 8]`; what is no number is a name of a size.
static bool read_sizes(struct reader *r, struct word text, const char *at, int64_t *sizes,
                       uint32_t *rank) {
    const char *end = text.text + text.length;
    for (*rank = 0; at < end && *at != ']'; *rank += 1) {
        if (*rank == MAX_GRAPH_RANK)
            return scan_fail(&r->s, E907, text, "more than %d dimensions", MAX_GRAPH_RANK);
        if (!take_size(&at, end, &sizes[*rank]) || (at < end && *at != ',' && *at != ']'))
            return fail_symbol(r, text);
        at += at < end && *at == ',';
        at += at < end && *at == ' ';
    }
    return at < end || fail_annotation(r, text);
}

bool fx_read_annotation(struct reader *r, const struct array_shape **shape) {
    struct word text, word;
    int64_t sizes[MAX_GRAPH_RANK];
    uint32_t rank;
    enum element element;
    if (!scan_quoted(&r->s, &text))
        return false;
    word = (struct word){text.text, 0};
    while (word.length < text.length && text.text[word.length] != '[' &&
           text.text[word.length] != '(')
        word.length++;
    if (word_is(word, "Sym"))
        return fail_symbol(r, text);
    if (word.length == text.length || !fx_element_of_text(word, &element))
        return fail_annotation(r, text);
    if (!read_sizes(r, text, word.text + word.length + 1, sizes, &rank))
        return false;
    *shape = known_array(&r->shapes, element, sizes, rank);
    return *shape || scan_fail(&r->s, E907, text, "a shape of more bytes than can be counted");
}
