// What the interpreter's files share: the machine, which counts and refuses; scopes, where arrays live; and arrays.
#ifndef PLACE_EQUAL_INTERPRETER_MACHINE_H
#define PLACE_EQUAL_INTERPRETER_MACHINE_H

#include "equal/interpreter/interpret.h"

struct machine {
    const struct graph *graph;
    struct observer *observer; // NULL: none
    struct arena *answers;     // the caller's
    struct arena scratch;      // of one instruction on one device, then used again
    int64_t bytes;             // of arrays that live
    int64_t operations;        // on elements, executed so far
    const char *why;           // NULL: nothing has been refused
    const struct instruction *at;
};

// Where the arrays of a call live. A deeper one ends earlier, so arrays refer to what lives as deep or less deep.
struct scope {
    struct arena *arena;
    uint32_t depth;
    int64_t bytes;
};

// Says why the program cannot be executed; the first reason stays. Returns false.
bool machine_refuse(struct machine *, const char *why);
// False, which has been refused: with so many operations more there are too many.
bool machine_spend(struct machine *, int64_t operations);

// An array of zeros, or a tuple of such; NULL, which has been refused: there are too many bytes.
struct array *array_zeros(struct machine *, struct scope *, const struct array_shape *);
// The same numbers in another shape of as many elements.
struct array *array_alias(struct scope *, const struct array *, const struct array_shape *);
struct array *array_tuple(struct scope *, const struct array_shape *,
                          const struct array *const *members);
// The array for who executes at `to`: itself if it lives at `depth` or less deep, else a copy; NULL: refused.
const struct array *array_leave(struct machine *, const struct array *, uint32_t depth,
                                struct scope *to);
// The arrays of a scope are no longer counted.
void scope_end(struct machine *, struct scope *);

static inline bool shape_is_real(const struct array_shape *shape) {
    return element_rows[shape->element].kind == NUMBER_REAL;
}
static inline bool shape_is_unsigned(const struct array_shape *shape) {
    return element_rows[shape->element].kind == NUMBER_UNSIGNED;
}

static inline void array_set(struct array *to, int64_t at, const struct array *from,
                             int64_t from_at) {
    if (to->reals)
        to->reals[at] = from->reals[from_at];
    else
        to->integers[at] = from->integers[from_at];
}

// An index, of which no more is asked than whether it is within an array: what is beyond int64 is large.
static inline int64_t array_index(const struct array *array, int64_t at) {
    int64_t index = array->integers[at];
    return index < 0 && shape_is_unsigned(array->shape) ? INT64_MAX : index;
}

#endif
