/* Counter-based random numbers (see random.h). */
#define _GNU_SOURCE /* sincos */
#include <math.h>
#include "runtime/host/random.h"

void philox(const uint32_t counter[4], uint64_t key, uint32_t words[4]) {
    uint32_t c[4] = {counter[0], counter[1], counter[2], counter[3]};
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t a = UINT64_C(0xD2511F53) * c[0], b = UINT64_C(0xCD9E8D57) * c[2];
        uint32_t next[4] = {(uint32_t)(b >> 32) ^ c[1] ^ k0, (uint32_t)b,
                            (uint32_t)(a >> 32) ^ c[3] ^ k1, (uint32_t)a};
        for (int i = 0; i < 4; i++)
            c[i] = next[i];
        k0 += 0x9E3779B9;
        k1 += 0xBB67AE85;
    }
    for (int i = 0; i < 4; i++)
        words[i] = c[i];
}

uint64_t random_key(uint64_t seed, const char *name) {
    uint64_t hash = UINT64_C(14695981039346656037);
    for (int i = 0; i < 8; i++)
        hash = (hash ^ (seed >> 8 * i & 255)) * UINT64_C(1099511628211);
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * UINT64_C(1099511628211);
    return hash;
}

static double unit_interval(uint32_t high, uint32_t low) {
    return (double)(((uint64_t)high << 32 | low) >> 11) * 0x1p-53;
}

double random_uniform(uint64_t key, uint64_t index) {
    uint32_t counter[4] = {(uint32_t)index, (uint32_t)(index >> 32), 0, 0}, words[4];
    philox(counter, key, words);
    return unit_interval(words[0], words[1]);
}

static void normal_pair(uint64_t key, uint32_t layer, uint64_t pair, double values[2]) {
    uint32_t counter[4] = {(uint32_t)pair, (uint32_t)(pair >> 32), layer, 1}, words[4];
    philox(counter, key, words);
    /* 1 - u is in (0, 1]: the logarithm is finite. */
    double radius = sqrt(-2 * log(1 - unit_interval(words[0], words[1])));
    double angle = 2 * M_PI * unit_interval(words[2], words[3]);
    sincos(angle, &values[1], &values[0]);
    values[0] *= radius;
    values[1] *= radius;
}

void random_normal(uint64_t key, uint32_t layer, int64_t index, double deviation, double *dst,
                   int64_t count) {
    double values[2];
    for (int64_t i = 0; i < count; i++) {
        uint64_t at = (uint64_t)(index + i);
        if (i == 0 || at % 2 == 0)
            normal_pair(key, layer, at / 2, values);
        dst[i] = deviation * values[at % 2];
    }
}

uint64_t random_permute(uint64_t key, uint64_t index, uint64_t n) {
    unsigned half = 1;
    while (half < 32 && (UINT64_C(1) << 2 * half) < n)
        half++;
    uint64_t mask = (UINT64_C(1) << half) - 1;
    do {
        uint64_t left = index >> half, right = index & mask;
        for (uint32_t round = 0; round < 4; round++) {
            uint32_t counter[4] = {(uint32_t)right, 0, round, 2}, words[4];
            philox(counter, key, words);
            uint64_t next = left ^ (words[0] & mask);
            left = right;
            right = next;
        }
        index = left << half | right;
    } while (index >= n);
    return index;
}
