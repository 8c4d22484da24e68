/* Rows of elements of any type as the floats or doubles that kernels compute with, and these
 * rounded to such elements, once, to nearest even. */
#pragma once
#include <stdint.h>
#include <string.h>
#include "runtime/kernels/halves.h"
#include "runtime/place.h"

/* Bytes of an element. */
static inline int64_t width_of(int32_t dtype) {
    return dtype == PLACE_F64 ? 8 : dtype == PLACE_BF16 || dtype == PLACE_F16 ? 2 : 4;
}

/* Rounds towards zero, and sets the last digit where something was lost: so what is rounded from
 * here to fewer digits is rounded as if it were from x. */
static inline float single_to_odd(double x) {
    float nearest = (float)x;
    uint32_t bits;
    if (nearest == x || x != x)
        return nearest;
    memcpy(&bits, &nearest, sizeof bits);
    if ((nearest > x) == (x > 0))
        bits--;
    bits |= 1;
    memcpy(&nearest, &bits, sizeof bits);
    return nearest;
}

/* ---- rows ---- */

typedef singles unaligned_singles __attribute__((aligned(4), may_alias));

INLINED singles load_singles(const float *from) {
    return *(const unaligned_singles *)from;
}

INLINED void store_singles(float *to, singles x) {
    *(unaligned_singles *)to = x;
}

/* The last elements of a row are made with some before them again, or elsewhere where there are
 * none. */
INLINED void widen_row_of(singles (*load)(const uint16_t *from), float *to, const uint16_t *from,
                          int64_t count) {
    int64_t i = 0;
    for (; i + WORDS <= count; i += WORDS)
        store_singles(to + i, load(from + i));
    if (i == count)
        return;
    if (count > WORDS) {
        store_singles(to + count - WORDS, load(from + count - WORDS));
    } else {
        uint16_t some[WORDS] = {0};
        memcpy(some, from, sizeof *from * (size_t)count);
        singles wide = load(some);
        memcpy(to, &wide, sizeof *to * (size_t)count);
    }
}

INLINED void round_row_of(void (*store)(uint16_t *to, singles first, singles second), uint16_t *to,
                          const float *from, int64_t count) {
    enum { AT_ONCE = 2 * WORDS };
    int64_t i = 0;
    for (; i + AT_ONCE <= count; i += AT_ONCE)
        store(to + i, load_singles(from + i), load_singles(from + i + WORDS));
    if (i == count)
        return;
    if (count > AT_ONCE) {
        i = count - AT_ONCE;
        store(to + i, load_singles(from + i), load_singles(from + i + WORDS));
    } else {
        float some[AT_ONCE] = {0};
        uint16_t halves[AT_ONCE];
        memcpy(some, from, sizeof *from * (size_t)count);
        store(halves, load_singles(some), load_singles(some + WORDS));
        memcpy(to, halves, sizeof *to * (size_t)count);
    }
}

/* A vector of elements of 16 bits, and two that are rounded to such. */
INLINED singles load_widened_f32(int32_t dtype, const void *from) {
    return dtype == PLACE_BF16 ? bf16_load(from) : f16_load(from);
}

INLINED void store_rounded_f32(int32_t dtype, void *to, singles first, singles second) {
    if (dtype == PLACE_BF16)
        bf16_store(to, first, second);
    else
        f16_store(to, first, second);
}

static inline void widen_row_f32(int32_t dtype, float *to, const void *from, int64_t count) {
    if (dtype == PLACE_F32)
        memcpy(to, from, sizeof *to * (size_t)count);
    else if (dtype == PLACE_BF16)
        widen_row_of(bf16_load, to, from, count);
    else
        widen_row_of(f16_load, to, from, count);
}

static inline void round_row_f32(int32_t dtype, void *to, const float *from, int64_t count) {
    if (dtype == PLACE_F32)
        memcpy(to, from, sizeof *from * (size_t)count);
    else if (dtype == PLACE_BF16)
        round_row_of(bf16_store, to, from, count);
    else
        round_row_of(f16_store, to, from, count);
}

enum { ROW_PART = 64 }; /* elements that are singles at a time on their way */

static inline void widen_row_f64(int32_t dtype, double *to, const void *from, int64_t count) {
    if (dtype == PLACE_F64) {
        memcpy(to, from, sizeof *to * (size_t)count);
        return;
    }
    for (int64_t i = 0, some; i < count; i += some) {
        float part[ROW_PART];
        some = count - i < ROW_PART ? count - i : ROW_PART;
        widen_row_f32(dtype, part, (const char *)from + i * width_of(dtype), some);
        for (int64_t j = 0; j < some; j++)
            to[i + j] = part[j];
    }
}

typedef double doubles __attribute__((vector_size(VECTOR_BYTES), may_alias));
enum { DOUBLES = VECTOR_BYTES / 8 };

static inline doubles load_widened_f64(int32_t dtype, const void *from) {
    double wide[DOUBLES] ALIGNED = {0};
    widen_row_f64(dtype, wide, from, DOUBLES);
    return *(const doubles *)wide;
}

static inline void round_row_f64(int32_t dtype, void *to, const double *from, int64_t count) {
    if (dtype == PLACE_F64) {
        memcpy(to, from, sizeof *from * (size_t)count);
        return;
    }
    for (int64_t i = 0, some; i < count; i += some) {
        float part[ROW_PART];
        some = count - i < ROW_PART ? count - i : ROW_PART;
        for (int64_t j = 0; j < some; j++)
            part[j] = dtype == PLACE_F32 ? (float)from[i + j] : single_to_odd(from[i + j]);
        round_row_f32(dtype, (char *)to + i * width_of(dtype), part, some);
    }
}

static inline void store_rounded_f64(int32_t dtype, void *to, doubles first, doubles second) {
    double both[2 * DOUBLES] ALIGNED;
    *(doubles *)both = first;
    *(doubles *)(both + DOUBLES) = second;
    round_row_f64(dtype, to, both, 2 * DOUBLES);
}
