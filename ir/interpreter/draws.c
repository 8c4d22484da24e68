// See draws.h. Written out once more for generated code in backend/draws.c; tests compare the two.
#include "ir/interpreter/draws.h"

#include <math.h>
#include <string.h>

static void philox(uint32_t counter[4], uint64_t key) {
    uint32_t low = (uint32_t)key, high = (uint32_t)(key >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t a = UINT64_C(0xD2511F53) * counter[0], b = UINT64_C(0xCD9E8D57) * counter[2];
        uint32_t next[4] = {(uint32_t)(b >> 32) ^ counter[1] ^ low, (uint32_t)b,
                            (uint32_t)(a >> 32) ^ counter[3] ^ high, (uint32_t)a};
        memcpy(counter, next, sizeof next);
        low += UINT32_C(0x9E3779B9);
        high += UINT32_C(0xBB67AE85);
    }
}

// The steps and multipliers of Wellons' lowbias32, a word of the row's before each multiplication.
uint32_t draw_number(const struct draw *draw) {
    uint32_t words[4] = {draw->sample, draw->position, draw->layer, draw->site};
    philox(words, draw->key);
    uint32_t x = draw->column ^ words[0];
    x ^= x >> 16;
    x = (x ^ words[1]) * UINT32_C(0x7FEB352D);
    x ^= x >> 15;
    x = (x ^ words[2]) * UINT32_C(0x846CA68B);
    return x ^ x >> 16 ^ words[3];
}

bool draw_drops(const struct draw *draw, double probability) {
    return draw_number(draw) < floor(probability * 0x1p32);
}
