/* Groups, chunks and sums: the arithmetic of collectives, without any wire. */
#include <string.h>
#include "runtime/transport/collective.h"

const char *collective_name(enum place_collective kind) {
    static const char *const names[] = {"all_reduce", "reduce_scatter", "all_gather"};
    return (unsigned)kind < 3 ? names[kind] : "unknown collective";
}

int64_t dtype_size(enum place_dtype dtype) {
    switch (dtype) {
    case PLACE_F32:
    case PLACE_I32:
        return 4;
    case PLACE_F64:
        return 8;
    case PLACE_BF16:
        return 2;
    }
    return 0;
}

const char *collective_check(const struct place_program *program,
                             const struct collective *collective) {
    if (collective->group < 0 || collective->group >= program->n_groups)
        return "unknown group";
    if ((unsigned)collective->kind > PLACE_ALL_GATHER)
        return "unknown kind";
    bool sums = collective->kind != PLACE_ALL_GATHER;
    if (dtype_size(collective->dtype) == 0 ||
        (sums && collective->dtype != PLACE_F32 && collective->dtype != PLACE_F64))
        return "an element type that cannot be summed";
    if (collective->n_pieces < 1)
        return "no pieces";
    for (int32_t i = 0; i < collective->n_pieces; i++) {
        const struct place_piece *piece = &collective->pieces[i];
        if (piece->outer < 1 || piece->valid < 0 || piece->chunk < 0)
            return "a negative size";
        if (collective->kind == PLACE_ALL_REDUCE && piece->outer != 1)
            return "an all_reduce along a dimension";
    }
    return NULL;
}

const char *collective_difference(const struct collective *a, const struct collective *b) {
    if (a->kind != b->kind)
        return "kind";
    if (a->group != b->group)
        return "axes";
    if (a->dtype != b->dtype)
        return "element type";
    if (a->n_pieces != b->n_pieces)
        return "number of pieces";
    for (int32_t i = 0; i < a->n_pieces; i++) {
        const struct place_piece *x = &a->pieces[i], *y = &b->pieces[i];
        if (x->outer != y->outer || x->valid != y->valid ||
            (a->kind != PLACE_ALL_REDUCE && x->chunk != y->chunk))
            return "size of a piece";
    }
    return NULL;
}

bool collective_is_small(const struct collective *collective) {
    int64_t elements = 0;
    for (int32_t i = 0; i < collective->n_pieces; i++)
        elements += collective->pieces[i].valid;
    return collective->kind == PLACE_ALL_REDUCE &&
           elements * dtype_size(collective->dtype) <= COLLECTIVE_SMALL_BYTES;
}

int64_t collective_chunk(const struct collective *collective, int32_t piece, int64_t n) {
    if (collective->kind != PLACE_ALL_REDUCE)
        return collective->pieces[piece].chunk;
    return (collective->pieces[piece].valid + n - 1) / n;
}

struct chunk_range collective_range(const struct collective *collective, int32_t piece, int64_t n,
                                    int64_t number) {
    const struct place_piece *p = &collective->pieces[piece];
    int64_t chunk = collective_chunk(collective, piece, n);
    struct chunk_range range = {
        .outer = p->outer, .row = chunk, .stride = n * chunk, .begin = number * chunk};
    if (p->outer > 1)
        return range;
    int64_t left = p->valid - range.begin;
    range.row = left < 0 ? 0 : left < chunk ? left : chunk;
    range.pad = chunk - range.row;
    return range;
}

/* Sums go through a block on the stack, so that dst may be any of the sources and stays in cache.
 */
enum { SUM_BLOCK = 512 };

#define DEFINE_SUM(type)                                                                           \
    static void sum_##type(type *dst, const type *const *sources, int64_t n, int64_t begin,        \
                           int64_t end) {                                                          \
        type block[SUM_BLOCK];                                                                     \
        for (; begin < end; begin += SUM_BLOCK) {                                                  \
            int64_t length = end - begin < SUM_BLOCK ? end - begin : SUM_BLOCK;                    \
            memcpy(block, sources[0] + begin, (size_t)length * sizeof(type));                      \
            for (int64_t j = 1; j < n; j++) {                                                      \
                const type *source = sources[j] + begin;                                           \
                for (int64_t i = 0; i < length; i++)                                               \
                    block[i] += source[i];                                                         \
            }                                                                                      \
            memcpy(dst + begin, block, (size_t)length * sizeof(type));                             \
        }                                                                                          \
    }
DEFINE_SUM(float)
DEFINE_SUM(double)

void collective_sum(enum place_dtype dtype, void *dst, const void *const *sources, int64_t n,
                    int64_t begin, int64_t end) {
    if (dtype == PLACE_F32)
        sum_float(dst, (const float *const *)sources, n, begin, end);
    else
        sum_double(dst, (const double *const *)sources, n, begin, end);
}

struct group group_of(const struct place_program *program, int32_t rank,
                      const struct place_axes *axes) {
    struct group group = {.size = 1, .base = rank, .axes = axes};
    for (int i = 0; i < axes->n; i++) {
        const struct place_axis *axis = &program->axes[axes->axes[i]];
        int32_t coordinate = (int32_t)(rank / axis->stride % axis->size);
        group.size *= (int32_t)axis->size;
        group.place = group.place * (int32_t)axis->size + coordinate;
        group.base -= coordinate * (int32_t)axis->stride;
    }
    return group;
}

int32_t group_member(const struct place_program *program, const struct group *group,
                     int32_t place) {
    int32_t rank = group->base;
    for (int i = group->axes->n; i-- > 0;) {
        const struct place_axis *axis = &program->axes[group->axes->axes[i]];
        rank += place % (int32_t)axis->size * (int32_t)axis->stride;
        place /= (int32_t)axis->size;
    }
    return rank;
}
