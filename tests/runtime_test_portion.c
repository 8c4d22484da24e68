/* Portions of collectives (runtime/transport/portion.h): whoever does their tiles, and in which
 * order, every result is what its definition says, every byte is counted, and nothing beside is
 * touched.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "runtime/transport/portion.h"

enum { MEMBERS = 5, PIECES = 3, GAP = 3 }; /* elements around each buffer */

/* What a piece takes up at each member. */
struct buffers {
    struct place_piece piece; /* of any member */
    int64_t src_elements, dst_elements;
    float *src[MEMBERS], *dst[MEMBERS];
};

static struct collective collective;
static struct buffers buffers[PIECES];
static int32_t n;

static float given(int32_t member, int32_t piece, int64_t i) {
    return (float)(1 + member) / 64 + (float)(i % 1021) + (float)(piece << 12);
}

/* A flat piece of 100,000 elements that divides among nobody, so its chunks take several tiles; a
 * small one that shares a tile; and one in rows. */
static void describe_pieces(enum place_collective kind) {
    static const int64_t valid[PIECES] = {100001, 7, 0}, rows[PIECES] = {1, 1, 3};
    for (int i = 0; i < PIECES; i++) {
        bool is_flat = kind == PLACE_ALL_REDUCE || kind == PLACE_PERMUTE || kind == PLACE_REDUCE ||
                       kind == PLACE_BROADCAST;
        int64_t outer = is_flat ? 1 : rows[i];
        int64_t chunk = valid[i] ? (valid[i] + n - 1) / n : 11;
        int64_t whole = outer * n * chunk, kept = valid[i] ? valid[i] : whole;
        if (kind == PLACE_ALL_TO_ALL)
            kept = whole;
        buffers[i].piece = (struct place_piece){
            NULL, NULL, outer, is_flat ? 0 : chunk, kept, kind == PLACE_ALL_TO_ALL ? 1 : 0};
        buffers[i].src_elements = is_flat ? kept : kind == PLACE_ALL_GATHER ? outer * chunk : whole;
        buffers[i].dst_elements = is_flat                        ? kept
                                  : kind == PLACE_REDUCE_SCATTER ? outer * chunk
                                                                 : whole;
    }
}

static float *buffer_new(int64_t elements) {
    float *all = malloc((size_t)(elements + 2 * GAP) * sizeof *all);
    for (int64_t i = 0; i < elements + 2 * GAP; i++)
        all[i] = -5;
    return all + GAP;
}

static void assert_untouched(const float *beside) {
    for (int i = 0; i < GAP; i++)
        assert_true(beside[i] == -5);
}

/* Element i of a piece's result at a member; -5: of no meaning, and not written. */
static float wanted(int32_t member, int32_t p, int64_t i) {
    const struct place_piece *piece = &buffers[p].piece;
    int64_t chunk = piece->chunk, at = i;
    float sum = 0;
    switch (collective.kind) {
    case PLACE_ALL_GATHER: {
        int64_t row = i / (n * chunk), owner = i / chunk % n;
        if (i >= piece->valid) /* a whole has no place for padding */
            return -5;
        return given((int32_t)owner, p, row * chunk + i % chunk);
    }
    case PLACE_ALL_TO_ALL: { /* chunk `member` of each member's rows, side by side */
        int64_t part = piece->outer * chunk, from = i / part, in = i % part;
        return given((int32_t)from, p, (in / chunk * n + member) * chunk + in % chunk);
    }
    case PLACE_PERMUTE:
        return given((member + n - collective.shift % n) % n, p, i);
    case PLACE_REDUCE_SCATTER:
        at = (i / chunk * n + member) * chunk + i % chunk;
        if (at >= piece->valid)
            return 0;
        break;
    case PLACE_BROADCAST:
        return given(collective.shift, p, i);
    case PLACE_REDUCE:
        if (member != collective.shift)
            return -5;
        break;
    case PLACE_ALL_REDUCE:
    case PLACE_SEND: /* no collective */
    case PLACE_RECEIVE:
        break;
    }
    for (int32_t k = 0; k < n; k++)
        sum += given(k, p, at);
    return sum;
}

/* Elements of all pieces of which a member sends this many times a chunk; what goes to an owner, or
 * comes from there, has none. */
static int64_t sent_bytes(int32_t member) {
    int64_t elements = 0;
    if (collective_has_owner(&collective)) {
        bool owns = member == collective.shift;
        for (int i = 0; i < PIECES; i++)
            elements += buffers[i].piece.valid;
        return elements * (collective.kind == PLACE_REDUCE ? !owns : owns * (n - 1)) *
               (int64_t)sizeof(float);
    }
    for (int i = 0; i < PIECES; i++)
        elements += collective.kind == PLACE_PERMUTE
                        ? buffers[i].piece.valid * (collective.shift % n != 0)
                        : (n - 1) * buffers[i].piece.outer * collective_chunk(&collective, i, n);
    return elements * (collective.kind == PLACE_ALL_REDUCE ? 2 : 1) * (int64_t)sizeof(float);
}

/* All tiles of all portions, from the middle on, members in turn. */
static void do_all(const struct portions *portions) {
    int64_t tiles = portion_tiles(&collective, n), all = tiles * n;
    for (int64_t i = 0; i < all; i++) {
        int64_t number = (i + all / 2) % all;
        portion_do_tile(portions, (int32_t)(number % n), number / n);
    }
}

static void check(enum place_collective kind, bool streams) {
    struct place_piece pieces[PIECES];
    const void *sources[PIECES * MEMBERS];
    void *results[PIECES * MEMBERS];
    _Atomic int64_t sent[MEMBERS] = {0};
    collective = (struct collective){.kind = kind,
                                     .dtype = PLACE_F32,
                                     .shift = kind == PLACE_PERMUTE  ? 2
                                              : kind > PLACE_PERMUTE ? n / 2
                                                                     : 0,
                                     .n_pieces = PIECES,
                                     .pieces = pieces};
    describe_pieces(kind);
    for (int32_t p = 0; p < PIECES; p++) {
        pieces[p] = buffers[p].piece;
        for (int32_t k = 0; k < n; k++) {
            float *src = buffer_new(buffers[p].src_elements);
            float *dst = buffer_new(buffers[p].dst_elements);
            for (int64_t i = 0; i < buffers[p].src_elements; i++)
                src[i] = given(k, p, i);
            sources[p * n + k] = buffers[p].src[k] = src;
            results[p * n + k] = buffers[p].dst[k] = dst;
        }
    }
    struct portions portions = {&collective, n, sources, results, sent, streams};
    do_all(&portions);
    for (int32_t k = 0; k < n; k++) {
        assert_int_equal(sent[k], sent_bytes(k));
        for (int32_t p = 0; p < PIECES; p++) {
            float *dst = buffers[p].dst[k];
            for (int64_t i = 0; i < buffers[p].dst_elements; i++)
                if (dst[i] != wanted(k, p, i))
                    fail_msg("%s of %d: piece %d, element %ld at member %d is %g, not %g",
                             collective_name(kind), n, p, (long)i, k, dst[i], wanted(k, p, i));
            assert_untouched(dst - GAP);
            assert_untouched(dst + buffers[p].dst_elements);
            free(dst - GAP);
            free(buffers[p].src[k] - GAP);
        }
    }
}

static void tiles_in_any_order_make_the_results(void **state) {
    for (int kind = PLACE_ALL_REDUCE; kind <= PLACE_BROADCAST; kind++)
        for (n = 1; n <= MEMBERS; n++) {
            check((enum place_collective)kind, false);
            check((enum place_collective)kind, true);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(tiles_in_any_order_make_the_results)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
