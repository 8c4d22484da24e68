// Windows: their text, and where their elements lie.
#include "equal/interpreter/window.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

// Beyond these nothing is executed; and products of two and sums of few stay numbers.
enum { MAX_WINDOW_NUMBER = 1 << 30 };

static const struct window_field {
    const char *name;
    size_t first, second; // offsets in struct window_dimension; the second of a pair ("3_0")
    int64_t least;
} fields[] = {
    {"size=", offsetof(struct window_dimension, size), 0, 1},
    {"stride=", offsetof(struct window_dimension, stride), 0, 1},
    {"pad=", offsetof(struct window_dimension, low), offsetof(struct window_dimension, high),
     -MAX_WINDOW_NUMBER},
    {"lhs_dilate=", offsetof(struct window_dimension, base_dilation), 0, 1},
    {"rhs_dilate=", offsetof(struct window_dimension, dilation), 0, 1},
    {"rhs_reversal=", offsetof(struct window_dimension, reversal), 0, 0},
};

static bool read_number(const char **at, int64_t least, struct window_dimension *dimension,
                        size_t offset) {
    char *end;
    int64_t number = strtoll(*at, &end, 10);
    bool is_number = end != *at && number >= least && number <= MAX_WINDOW_NUMBER;
    *at = end;
    memcpy((char *)dimension + offset, &number, sizeof number);
    return is_number;
}

// "1x4", "0_0x3_0": one for each dimension.
static bool read_list(const char **at, const struct window_field *field, struct window *window) {
    uint32_t n = 0;
    do {
        if (n == MAX_GRAPH_RANK)
            return false;
        struct window_dimension *dimension = &window->dimensions[n++];
        if (!read_number(at, field->least, dimension, field->first))
            return false;
        if (field->second &&
            (*(*at)++ != '_' || !read_number(at, field->least, dimension, field->second)))
            return false;
    } while (*(*at)++ == 'x');
    (*at)--;
    if (window->rank == 0)
        window->rank = n;
    return window->rank == n;
}

static const struct window_field *field_at(const char *at) {
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (!strncmp(at, fields[i].name, strlen(fields[i].name)))
            return &fields[i];
    return NULL;
}

bool window_read(const char *others, struct window *window) {
    window->rank = 0;
    for (uint32_t d = 0; d < MAX_GRAPH_RANK; d++)
        window->dimensions[d] =
            (struct window_dimension){.size = 1, .stride = 1, .base_dilation = 1, .dilation = 1};
    const char *at = others ? strstr(others, "window={") : NULL;
    if (!at)
        return false;
    for (at += strlen("window={"); *at != '}'; at += strspn(at, " ")) {
        const struct window_field *field = field_at(at);
        if (!field)
            return false;
        at += strlen(field->name);
        if (!read_list(&at, field, window))
            return false;
    }
    return true;
}

bool window_index(const struct window_dimension *of, int64_t place, int64_t element, int64_t size,
                  int64_t *index) {
    int64_t at = place * of->stride + element * of->dilation - of->low;
    *index = at / of->base_dilation;
    return at >= 0 && at % of->base_dilation == 0 && *index < size;
}

int64_t window_places(const struct window_dimension *of, int64_t size) {
    int64_t base = (size ? (size - 1) * of->base_dilation + 1 : 0) + of->low + of->high;
    int64_t window = (of->size - 1) * of->dilation + 1;
    return base < window ? 0 : (base - window) / of->stride + 1;
}

int64_t window_elements(const struct window *window) {
    int64_t n = 1;
    for (uint32_t d = 0; d < window->rank; d++)
        if (__builtin_mul_overflow(n, window->dimensions[d].size, &n))
            return INT64_MAX;
    return n;
}

struct walk window_walk(const struct window *window) {
    struct walk walk = {0};
    for (uint32_t d = 0; d < window->rank; d++)
        walk_add(&walk, window->dimensions[d].size, 0, 0);
    return walk;
}
