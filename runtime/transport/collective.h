/* What all transports share about collectives: groups, chunks, the order of sums. A transport moves
 * bytes; which bytes, and what is added to what in which order, is decided here, so that two
 * transports give the same bits. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "runtime/place.h"

/* All-reduces up to this many bytes are not cut into chunks: each member gives all of them, to
 * every other, or in rounds of pairs (doubling.h). */
enum { COLLECTIVE_SMALL_BYTES = PLACE_SMALL_ALL_REDUCE_BYTES };

struct collective {
    int32_t statement; /* that started it */
    enum place_collective kind;
    int32_t group; /* index into place_program.groups */
    enum place_dtype dtype;
    enum place_operation operation;
    int32_t shift; /* of a permute; of a message the place of the other end; else the owner's */
    int32_t n_pieces;
    const struct place_piece *pieces;
};

const char *collective_name(enum place_collective kind);
int64_t dtype_size(enum place_dtype dtype);

/* Messages have the same description, but one end alone, and no member but the two takes part. */
bool collective_is_message(const struct collective *collective);
const char *message_check(const struct place_program *program, int32_t rank,
                          const struct collective *message);
/* The rank at the other end. */
int32_t collective_peer(const struct place_program *program, int32_t rank,
                        const struct collective *message);
/* Null, or what is not the same at both ends; and what stands for all that has to be. */
const char *message_difference(const struct collective *sent, const struct collective *received);
uint64_t message_digest(const struct collective *message);

/* Whether it is between all members and one. */
bool collective_has_owner(const struct collective *collective);

/* Null, or what makes the description meaningless. */
const char *collective_check(const struct place_program *program,
                             const struct collective *collective);

/* Null, or the first thing in which two members' descriptions differ: "kind", "element type" ... */
const char *collective_difference(const struct collective *a, const struct collective *b);

/* Stands for all in which descriptions may differ. */
uint64_t collective_digest(const struct collective *collective);

/* An all-reduce whose pieces together have at most COLLECTIVE_SMALL_BYTES. */
bool collective_is_small(const struct collective *collective);
/* Elements of one chunk of a piece in a group of n; of what has no chunks it is ceil(valid / n). */
int64_t collective_chunk(const struct collective *collective, int32_t piece, int64_t n);

/* Part of a whole that one chunk is: `outer` rows of `row` elements, `stride` elements apart, the
 * first at `begin`; the last row may be followed by `pad` elements of padding. */
struct chunk_range {
    int64_t outer, row, stride, begin, pad;
};
struct chunk_range collective_range(const struct collective *collective, int32_t piece, int64_t n,
                                    int64_t number);
/* Where in a result what comes from member `number` lies: a whole has no place for padding. */
struct chunk_range collective_result_range(const struct collective *collective, int32_t piece,
                                           int64_t n, int64_t number);
/* Chunk `number` of n, where each has `outer` rows of `row` elements and none has padding. */
struct chunk_range chunk_range_of(int64_t outer, int64_t row, int64_t n, int64_t number);

/* Bytes that lie side by side. Here and below, what is stored past the caches is seen by others
 * only behind the next streams_end. */
void copy_run(void *dst, const void *src, int64_t bytes, bool streams);
void streams_end(void);

/* Elements of one range that go, in their order, to the places of another: all of them, or those
 * from the begin-th to before the end-th. */
struct chunk_copy {
    char *dst;
    const char *src;
    struct chunk_range to, from;
    int64_t element; /* bytes */
    bool streams;    /* past the caches */
};
void chunk_copy_part(const struct chunk_copy *copy, int64_t begin, int64_t end);

/* dst[i - begin] = sources[0][i] + sources[1][i] + ... (or their maximum) for begin <= i < end, in
 * a binary tree: of n sources, the first 2^k < n are summed by themselves, and so are the others,
 * and then both sums are added. Where groups are cut out of one another at powers of two, sums over
 * the inner and then over the outer group so have the bits of the sum over all. dst may be where
 * one of the sources is read. F32, F64, or BF16 and F16, which are added as F32 and rounded once,
 * at the root. `streams`: what is written goes past the caches. */
void collective_reduce(const struct collective *collective, void *dst, const void *const *sources,
                       int64_t n, int64_t begin, int64_t end, bool streams);
/* The type of inner nodes, in which sums of elements of a type are partial. */
enum place_dtype dtype_added_as(enum place_dtype dtype);
/* Elements of 16 bits as the singles that inner nodes are; and these rounded, as the root is. No
 * alignment is needed. */
void widen_elements(enum place_dtype dtype, void *to, const void *from, int64_t elements);
void round_elements(enum place_dtype dtype, void *to, const void *from, int64_t elements);

/* One of the sets of ranks that a list of axes makes, and a rank's place in it. */
struct group {
    int32_t size, place;
    int32_t base; /* the member with coordinate 0 along all axes of the list */
    const struct place_axes *axes;
};
struct group group_of(const struct place_program *program, int32_t rank,
                      const struct place_axes *axes);
int32_t group_member(const struct place_program *program, const struct group *group, int32_t place);
/* The places `shift` before and behind this rank's. */
int32_t group_before(const struct group *group, int32_t shift);
int32_t group_behind(const struct group *group, int32_t shift);
