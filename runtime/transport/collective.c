/* Groups and chunks: the arithmetic of collectives, without any wire. Sums are in reduce.c. */
#include <emmintrin.h>
#include <string.h>
#include "runtime/transport/collective.h"

const char *collective_name(enum place_collective kind) {
    static const char *const names[] = {"all_reduce", "reduce_scatter", "all_gather", "all_to_all",
                                        "permute",    "reduce",         "broadcast",  "copy",
                                        "send",       "receive"};
    return (unsigned)kind <= PLACE_RECEIVE ? names[kind] : "unknown collective";
}

int64_t dtype_size(enum place_dtype dtype) {
    switch (dtype) {
    case PLACE_F32:
    case PLACE_I32:
        return 4;
    case PLACE_F64:
        return 8;
    case PLACE_BF16:
    case PLACE_F16:
        return 2;
    }
    return 0;
}

bool collective_has_owner(const struct collective *collective) {
    return collective->kind == PLACE_REDUCE || collective->kind == PLACE_BROADCAST;
}

bool collective_is_message(const struct collective *collective) {
    return collective->kind == PLACE_SEND || collective->kind == PLACE_RECEIVE;
}

/* Whether pieces are not cut: each member that gives or gets has all of them. */
static bool is_whole(const struct collective *collective) {
    return collective->kind == PLACE_ALL_REDUCE || collective->kind == PLACE_PERMUTE ||
           collective_has_owner(collective) || collective_is_message(collective);
}

const char *collective_check(const struct place_program *program,
                             const struct collective *collective) {
    if (collective->group < 0 || collective->group >= program->n_groups)
        return "unknown group";
    if ((unsigned)collective->kind > PLACE_BROADCAST)
        return "unknown kind";
    bool reduces = collective->kind == PLACE_ALL_REDUCE ||
                   collective->kind == PLACE_REDUCE_SCATTER || collective->kind == PLACE_REDUCE;
    if (dtype_size(collective->dtype) == 0 || (reduces && collective->dtype == PLACE_I32))
        return "an element type that cannot be reduced";
    if ((unsigned)collective->operation > PLACE_MAX ||
        (collective->operation && collective->kind != PLACE_ALL_REDUCE))
        return "unknown operation";
    if (collective->shift < 0 || (collective->shift && collective->kind != PLACE_PERMUTE &&
                                  !collective_has_owner(collective)))
        return "a shift that is not one";
    if (collective_has_owner(collective) &&
        collective->shift >= group_of(program, 0, &program->groups[collective->group].axes).size)
        return "an owner that is no member";
    if (collective->n_pieces < 1)
        return "no pieces";
    for (int32_t i = 0; i < collective->n_pieces; i++) {
        const struct place_piece *piece = &collective->pieces[i];
        if (piece->outer < 1 || piece->valid < 0 || piece->chunk < 0)
            return "a negative size";
        if (is_whole(collective) && piece->outer != 1)
            return "what is not cut, along a dimension";
        if (collective->kind == PLACE_ALL_TO_ALL &&
            (piece->dst_outer < 1 || piece->outer * piece->chunk % piece->dst_outer))
            return "rows of other sizes";
    }
    return NULL;
}

const char *message_check(const struct place_program *program, int32_t rank,
                          const struct collective *message) {
    if (message->group < 0 || message->group >= program->n_groups)
        return "unknown group";
    if (!collective_is_message(message))
        return "unknown kind";
    struct group group = group_of(program, rank, &program->groups[message->group].axes);
    if (message->shift < 0 || message->shift >= group.size || message->shift == group.place)
        return "a peer that is no other member";
    if (message->n_pieces < 1 || dtype_size(message->dtype) == 0)
        return "nothing that can be sent";
    for (int32_t i = 0; i < message->n_pieces; i++)
        if (message->pieces[i].valid < 0)
            return "a negative size";
    return NULL;
}

int32_t collective_peer(const struct place_program *program, int32_t rank,
                        const struct collective *message) {
    struct group group = group_of(program, rank, &program->groups[message->group].axes);
    return group_member(program, &group, message->shift);
}

/* As its sender and its receiver say it alike. */
static struct collective seen_from_both(const struct collective *message) {
    struct collective seen = *message;
    seen.kind = PLACE_SEND;
    seen.shift = 0;
    return seen;
}

const char *message_difference(const struct collective *sent, const struct collective *received) {
    struct collective a = seen_from_both(sent), b = seen_from_both(received);
    return collective_difference(&a, &b);
}

uint64_t message_digest(const struct collective *message) {
    struct collective seen = seen_from_both(message);
    return collective_digest(&seen);
}

const char *collective_difference(const struct collective *a, const struct collective *b) {
    if (a->kind != b->kind)
        return "kind";
    if (a->group != b->group)
        return "axes";
    if (a->dtype != b->dtype)
        return "element type";
    if (a->operation != b->operation)
        return "operation";
    if (a->shift != b->shift)
        return "shift";
    if (a->n_pieces != b->n_pieces)
        return "number of pieces";
    for (int32_t i = 0; i < a->n_pieces; i++) {
        const struct place_piece *x = &a->pieces[i], *y = &b->pieces[i];
        if (x->outer != y->outer || x->valid != y->valid ||
            (!is_whole(a) && x->chunk != y->chunk) ||
            (a->kind == PLACE_ALL_TO_ALL && x->dst_outer != y->dst_outer))
            return "size of a piece";
    }
    return NULL;
}

static uint64_t mix(uint64_t digest, int64_t value) {
    digest = (digest ^ (uint64_t)value) * UINT64_C(0x9e3779b97f4a7c15); /* 2^64 / golden ratio */
    return digest ^ digest >> 32;
}

uint64_t collective_digest(const struct collective *collective) {
    uint64_t digest = mix(0, (int64_t)collective->kind << 32 | (int64_t)collective->operation);
    digest = mix(digest, (int64_t)collective->dtype << 32 | collective->group);
    digest = mix(digest, (int64_t)collective->shift << 32 | collective->n_pieces);
    for (int32_t i = 0; i < collective->n_pieces; i++) {
        const struct place_piece *piece = &collective->pieces[i];
        digest = mix(mix(digest, piece->outer), piece->valid);
        if (!is_whole(collective))
            digest = mix(digest, piece->chunk);
        if (collective->kind == PLACE_ALL_TO_ALL)
            digest = mix(digest, piece->dst_outer);
    }
    return digest;
}

bool collective_is_small(const struct collective *collective) {
    int64_t elements = 0;
    for (int32_t i = 0; i < collective->n_pieces; i++)
        elements += collective->pieces[i].valid;
    return collective->kind == PLACE_ALL_REDUCE &&
           elements * dtype_size(collective->dtype) <= COLLECTIVE_SMALL_BYTES;
}

int64_t collective_chunk(const struct collective *collective, int32_t piece, int64_t n) {
    if (collective->kind != PLACE_ALL_REDUCE && !collective_has_owner(collective))
        return collective->pieces[piece].chunk;
    return (collective->pieces[piece].valid + n - 1) / n;
}

struct chunk_range chunk_range_of(int64_t outer, int64_t row, int64_t n, int64_t number) {
    return (struct chunk_range){
        .outer = outer, .row = row, .stride = n * row, .begin = number * row};
}

struct chunk_range collective_range(const struct collective *collective, int32_t piece, int64_t n,
                                    int64_t number) {
    const struct place_piece *p = &collective->pieces[piece];
    int64_t chunk = collective_chunk(collective, piece, n);
    struct chunk_range range = chunk_range_of(p->outer, chunk, n, number);
    if (p->outer > 1)
        return range;
    int64_t left = p->valid - range.begin;
    range.row = left < 0 ? 0 : left < chunk ? left : chunk;
    range.pad = chunk - range.row;
    return range;
}

struct chunk_range collective_result_range(const struct collective *collective, int32_t piece,
                                           int64_t n, int64_t number) {
    const struct place_piece *p = &collective->pieces[piece];
    if (collective->kind != PLACE_ALL_TO_ALL)
        return collective_range(collective, piece, n, number);
    return chunk_range_of(p->dst_outer, p->outer * p->chunk / p->dst_outer, n, number);
}

static int64_t place_in(const struct chunk_range *range, int64_t i) {
    return range->begin + i / range->row * range->stride + i % range->row;
}

static int64_t left_in_row(const struct chunk_range *range, int64_t i) {
    return range->row - i % range->row;
}

/* Past the caches, which need not read what is overwritten. */
static void stream(char *dst, const char *src, int64_t bytes) {
    int64_t head = -(intptr_t)dst & 63, i = head < bytes ? head : bytes;
    memcpy(dst, src, (size_t)i);
    for (; i + 64 <= bytes; i += 64)
        for (int k = 0; k < 64; k += 16)
            _mm_stream_si128((__m128i *)(dst + i + k),
                             _mm_loadu_si128((const __m128i *)(src + i + k)));
    memcpy(dst + i, src + i, (size_t)(bytes - i));
}

void copy_run(void *dst, const void *src, int64_t bytes, bool streams) {
    if (streams)
        stream(dst, src, bytes);
    else
        memcpy(dst, src, (size_t)bytes);
}

void streams_end(void) {
    _mm_sfence();
}

void chunk_copy_part(const struct chunk_copy *copy, int64_t begin, int64_t end) {
    while (begin < end) {
        int64_t run = end - begin, from = left_in_row(&copy->from, begin),
                to = left_in_row(&copy->to, begin);
        run = from < run ? from : run;
        run = to < run ? to : run;
        copy_run(copy->dst + place_in(&copy->to, begin) * copy->element,
                 copy->src + place_in(&copy->from, begin) * copy->element, run * copy->element,
                 copy->streams);
        begin += run;
    }
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

int32_t group_before(const struct group *group, int32_t shift) {
    return (group->place + group->size - shift % group->size) % group->size;
}

int32_t group_behind(const struct group *group, int32_t shift) {
    return (group->place + shift % group->size) % group->size;
}
