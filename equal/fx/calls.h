// An op while it is read: what it is given, and what the text says of its result.
#ifndef PLACE_EQUAL_FX_CALLS_H
#define PLACE_EQUAL_FX_CALLS_H

#include "equal/fx/arguments.h"
#include "equal/fx/elements.h"

enum { NOT_BUILT = UINT32_MAX, MAX_ARGUMENTS = 16 };

// An op while it is read.
struct call {
    struct reader *r;
    struct word name; // of its result
    struct word op;
    int which; // of the ops that one function builds
    // In the order of the row's names; NULL: not given, or None.
    const struct argument *of[MAX_ARGUMENTS];
    const struct array_shape *said; // what the text says of the result; NULL: nothing
    struct array_parts parts;       // where they are the result: n > 0
};
typedef uint32_t fx_build(struct call *);

struct sizes {
    int64_t of[MAX_GRAPH_RANK];
    uint32_t rank;
};

// Reports at the result's name, and is NOT_BUILT.
uint32_t fx_fail(struct call *, const char *format, ...) __attribute__((format(printf, 2, 3)));

static inline const struct array_shape *fx_shape(const struct call *c, uint32_t array) {
    return c->r->instructions[array].shape;
}
static inline enum element fx_element(const struct call *c, uint32_t array) {
    return fx_shape(c, array)->element;
}
struct sizes fx_sizes(const struct call *, uint32_t array);

// ---- what is given ----------------------------------------------------------------------------
// The array that is argument `i`; NOT_BUILT: it is none, which has been reported.
uint32_t fx_array(struct call *, uint32_t i);
bool fx_is_array(const struct call *, uint32_t i);
// The number, or `otherwise` where none is given. False: it is none, which has been reported.
bool fx_integer(struct call *, uint32_t i, int64_t otherwise, int64_t *);
bool fx_real(struct call *, uint32_t i, double otherwise, double *);
bool fx_truth(struct call *, uint32_t i, bool otherwise, bool *);
// A list of numbers, or one number; none, where nothing is given.
bool fx_integers(struct call *, uint32_t i, struct sizes *);
// A dimension of so many, counted from either end.
bool fx_dimension(struct call *, int64_t given, uint32_t rank, uint32_t *);
// The type that argument `i` names; it is left as it is where none is given.
bool fx_element_given(struct call *, uint32_t i, enum element *);

#endif
