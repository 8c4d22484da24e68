// Windows: where their elements lie.
#include "equal/interpreter/window.h"

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
