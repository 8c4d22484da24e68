// The text of windows that instructions have.
#include "equal/graph/window.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

// No program has more; and products of two and sums of few stay numbers.
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
