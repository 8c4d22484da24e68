// Arithmetic of sizes and counts: elements, bytes, layers, how often something runs. What a file or
// a text may say of them need not fit 63 bits once it is multiplied. Such a result is SIZE_BEYOND,
// and so is every sum and product of it, so one comparison with a limit at the end finds whatever
// went beyond on the way. No operand is negative. What is divided must have been compared before:
// a part of SIZE_BEYOND is a number like others.
#ifndef PLACE_IR_SIZES_H
#define PLACE_IR_SIZES_H

#include <stdbool.h>
#include <stdint.h>

#define SIZE_BEYOND INT64_MAX

static inline int64_t size_times(int64_t a, int64_t b) {
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) ? SIZE_BEYOND : product;
}

static inline int64_t size_plus(int64_t a, int64_t b) {
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? SIZE_BEYOND : sum;
}

// Rounds up to the next multiple; 0 and 1: the size stays as it is.
static inline int64_t round_up(int64_t size, int64_t multiple) {
    int64_t rest = multiple > 1 ? size % multiple : 0;
    return rest && size != SIZE_BEYOND ? size_plus(size, multiple - rest) : size;
}

// Whether so many terms are the leaves of a complete binary tree, and the least number from `n` on.
bool is_power_of_two(int64_t n);
int64_t power_of_two_from(int64_t n);
int64_t greatest_common_divisor(int64_t a, int64_t b); // of positive numbers
int64_t least_common_multiple(int64_t a, int64_t b);   // the same

#endif
