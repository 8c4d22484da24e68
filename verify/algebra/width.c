// See width.h.
#include "verify/algebra/width.h"

_Static_assert(N_DTYPES <= 8, "a width has a bit for each type");

struct width width_of(enum dtype dtype) {
    struct width width = {1 << DTYPE_NONE};
    for (enum dtype other = 0; other < N_DTYPES; other++)
        if (dtype_is_floating(other) && dtype_holds(dtype, other))
            width.types |= (uint8_t)(1 << other);
    return width;
}

struct width width_meet(struct width a, struct width b) {
    return (struct width){a.types & b.types};
}

struct width width_join(struct width a, struct width b) {
    return (struct width){a.types | b.types};
}

bool width_holds(struct width a, struct width b) {
    return (b.types & ~a.types) == 0;
}

const char *width_text(struct width width) {
    enum dtype found = DTYPE_F64;
    for (enum dtype i = 0; i < N_DTYPES; i++)
        if (dtype_is_floating(i) && width_holds(width_of(i), width) && dtype_holds(found, i))
            found = i;
    return width.types == 1 << DTYPE_NONE ? "less than any type has" : dtype_names[found];
}
