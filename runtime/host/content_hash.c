/* A hash of content (see content_hash.h). */
#include <string.h>
#include "runtime/host/content_hash.h"

/* What the two words of pair i are added to: FIRST + i * FIRST_STEP, SECOND + i * SECOND_STEP. Any
 * odd numbers with mixed bits would do, as long as none is a multiple of another: these are
 * wyhash's secret. */
#define FIRST       UINT64_C(0xA0761D6478BD642F)
#define FIRST_STEP  UINT64_C(0x8EBC6AF09C88C6E3)
#define SECOND      UINT64_C(0xE7037ED1A0B428DB)
#define SECOND_STEP UINT64_C(0x589965CC75374CC3)

static inline uint64_t fold(uint64_t a, uint64_t b) {
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t content_hash_part(const unsigned char *part, int64_t at, int64_t bytes) {
    uint64_t index = (uint64_t)(at / CONTENT_HASH_BYTES), sum = 0, pair[2];
    uint64_t first = FIRST + index * FIRST_STEP, second = SECOND + index * SECOND_STEP;
    for (; bytes >= CONTENT_HASH_BYTES; bytes -= CONTENT_HASH_BYTES) {
        memcpy(pair, part, sizeof pair);
        sum += fold(pair[0] + first, pair[1] + second);
        part += sizeof pair;
        first += FIRST_STEP;
        second += SECOND_STEP;
    }
    if (bytes == 0)
        return sum;
    memset(pair, 0, sizeof pair);
    memcpy(pair, part, (size_t)bytes);
    return sum + fold(pair[0] + first, pair[1] + second);
}

uint64_t content_hash_whole(uint64_t sum, int64_t bytes) {
    return fold(sum + FIRST, (uint64_t)bytes + SECOND);
}

uint64_t content_hash(const unsigned char *content, int64_t bytes) {
    return content_hash_whole(content_hash_part(content, 0, bytes), bytes);
}
