// See sizes.h.
#include "ir/sizes.h"

bool is_power_of_two(int64_t n) {
    return n > 0 && (n & (n - 1)) == 0;
}

int64_t power_of_two_from(int64_t n) {
    int64_t power = 1;
    while (power < n)
        power *= 2;
    return power;
}

int64_t greatest_common_divisor(int64_t a, int64_t b) {
    return b ? greatest_common_divisor(b, a % b) : a;
}

int64_t least_common_multiple(int64_t a, int64_t b) {
    return a / greatest_common_divisor(a, b) * b;
}
