// Shapes, interned by their element type and sizes, or by their members. Layouts are looked at only for whether they
// are the plain one: elsewhere a value's elements have numbers, not places.
#include "equal/hlo/shapes.h"

#include <string.h>

enum { MAX_SHAPE_BITS = 62 };

struct shapes shapes_new(struct arena *scratch) {
    return (struct shapes){.keys = {.arena = scratch}};
}

static bool find_element(struct word word, enum element *element) {
    for (int i = 0; i < N_ELEMENT_TYPES; i++)
        if (element_rows[i].text[0] == word.text[0] && word_is(word, element_rows[i].text)) {
            *element = (enum element)i;
            return true;
        }
    return false;
}

// How many elements there are, if their bits can be counted.
static bool count_elements(struct array_shape *shape) {
    int64_t product = 1, bytes = (element_rows[shape->element].bits + 7) / 8;
    shape->n_elements = 1;
    for (uint32_t i = 0; i < shape->rank; i++) {
        int64_t size = shape->sizes[i];
        shape->n_elements = size == 0 ? 0 : shape->n_elements;
        if (size && __builtin_mul_overflow(product, size, &product))
            return false;
    }
    if (shape->n_elements)
        shape->n_elements = product;
    return !__builtin_mul_overflow(product, bytes ? bytes : 1, &bytes) &&
           bytes < INT64_C(1) << MAX_SHAPE_BITS;
}

static const struct array_shape *keep_array(struct scanner *s, struct shapes *shapes,
                                            struct array_shape shape) {
    int64_t key[MAX_GRAPH_RANK + 1];
    key[0] = shape.element;
    memcpy(key + 1, shape.sizes, shape.rank * sizeof *key);
    bool added;
    uint32_t number =
        intern(&shapes->keys, key, (uint32_t)((shape.rank + 1) * sizeof *key), &added);
    if (!added)
        return shapes->known[number];
    struct array_shape *kept = arena_copy(s->arena, &shape, sizeof shape);
    kept->sizes = arena_copy(s->arena, shape.sizes, shape.rank * sizeof *shape.sizes);
    ARENA_PUSH(shapes->keys.arena, shapes->known, shapes->n, shapes->cap, kept);
    return kept;
}

// A tuple of the last `n` members that were read. Its key cannot be an array's, whose first word is an element type,
// and is not a pointer.
static const struct array_shape *keep_tuple(struct scanner *s, struct shapes *shapes, uint32_t n) {
    shapes->n_members -= n;
    const struct array_shape **members = n ? shapes->members + shapes->n_members : NULL;
    static const int32_t of_nothing; // shorter than any array's
    bool added;
    uint32_t number = n ? intern(&shapes->keys, members, (uint32_t)(n * sizeof *members), &added)
                        : intern(&shapes->keys, &of_nothing, sizeof of_nothing, &added);
    if (!added)
        return shapes->known[number];
    struct array_shape *kept = ARENA_NEW(s->arena, struct array_shape);
    kept->is_tuple = true;
    kept->n_members = n;
    kept->members = arena_copy(s->arena, members, n * sizeof *members);
    ARENA_PUSH(shapes->keys.arena, shapes->known, shapes->n, shapes->cap, kept);
    return kept;
}

// A layout in braces, directly behind a shape: `{1,0:T(8,128)}`.
static bool read_layout(struct scanner *s, uint32_t rank, bool *is_row_major) {
    const char *begin = s->at;
    if (*begin != '{')
        return true;
    if (!scan_balanced(s))
        return false;
    char plain[4 * MAX_GRAPH_RANK + 2] = "{";
    size_t length = 1;
    for (uint32_t i = rank; i-- > 0;)
        length += (size_t)snprintf(plain + length, sizeof plain - length, i ? "%u," : "%u", i);
    plain[length++] = '}';
    *is_row_major &= (size_t)(s->at - begin) == length && memcmp(begin, plain, length) == 0;
    return true;
}

static bool read_array(struct scanner *s, struct shapes *shapes, struct written_shape *written) {
    int64_t sizes[MAX_GRAPH_RANK];
    struct array_shape shape = {.sizes = sizes};
    struct word word = scan_word(s);
    if (word.length == 0 || *s->at != '[') {
        s->at = s->failed ? s->end : word.text;
        return scan_expected(s, "a shape, as `f32[2,3]`");
    }
    if (!find_element(word, &shape.element))
        return scan_fail(s, E902, word, "`%.*s` is no element type", WORD(word));
    s->at++;
    while (!scan_take(s, ']')) {
        if (shape.rank && !scan_need(s, ','))
            return false;
        if (shape.rank == MAX_GRAPH_RANK)
            return scan_fail(s, E907, scan_from(s, word.text), "more than %d dimensions",
                             MAX_GRAPH_RANK);
        if (scan_take(s, '<')) {
            written->is_dynamic = true;
            if (!scan_need(s, '='))
                return false;
        }
        if (!scan_number(s, &sizes[shape.rank]))
            return false;
        if (sizes[shape.rank++] < 0)
            return scan_fail(s, E902, scan_from(s, word.text), "a size that is negative");
    }
    if (!count_elements(&shape))
        return scan_fail(s, E907, scan_from(s, word.text),
                         "a shape of more bytes than can be counted");
    written->shape = keep_array(s, shapes, shape);
    return read_layout(s, shape.rank, &written->is_row_major);
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
        ARENA_PUSH(shapes->keys.arena, shapes->members, shapes->n_members, shapes->members_cap,
                   written->shape);
        n++;
    }
    written->shape = keep_tuple(s, shapes, n);
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
