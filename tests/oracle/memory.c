// See memory.h.
#include "tests/oracle/memory.h"

#include <math.h>
#include <string.h>

#include "ir/check.h"

// A NaN as f64, f32, bf16 and f16, and as an integer one that is no token.
static const uint16_t spoilt = 0x7ff8;
static const int32_t spoilt_integer = 0x7ff87ff8;

// What is spoilt already is copied behind itself.
void memory_spoil(unsigned char *place, int64_t bytes) {
    for (int64_t i = 0; i < bytes && i < 2; i++)
        place[i] = (unsigned char)(spoilt >> 8 * i);
    for (int64_t done = 2; done < bytes; done *= 2)
        memcpy(place + done, place, (size_t)(done < bytes - done ? done : bytes - done));
}

// f16: a sign, five bits of an exponent above -15, ten of a fraction.
static double value_of_f16(uint16_t half) {
    int exponent = half >> 10 & 31, fraction = half & 1023;
    double magnitude = exponent == 31 ? fraction ? (double)NAN : (double)INFINITY
                       : exponent     ? ldexp(1024 + fraction, exponent - 25)
                                      : ldexp(fraction, -24);
    return half & 0x8000 ? -magnitude : magnitude;
}

// To the nearest, halves to the even one. A leading digit adds one to the exponent below it.
static uint16_t f16_of_value(double value) {
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    if (isnan(value))
        return (uint16_t)(sign | 0x7e00);
    if (fabs(value) >= 65520) // half way from the largest to 2^16
        return (uint16_t)(sign | 0x7c00);
    int exponent = fabs(value) < 0x1p-14 ? -14 : ilogb(value);
    int digits = (int)rint(ldexp(fabs(value), 10 - exponent));
    return (uint16_t)(sign | (digits + (exponent + 14) * 1024));
}

static double load_one(const unsigned char *place, enum dtype dtype) {
    double real;
    float single;
    int32_t integer;
    uint32_t bits = 0;
    uint16_t half;
    switch (dtype) {
    case DTYPE_F64:
        memcpy(&real, place, sizeof real);
        return real;
    case DTYPE_F32:
        memcpy(&single, place, sizeof single);
        return (double)single;
    case DTYPE_BF16: // the upper half of a single
        memcpy((unsigned char *)&bits + 2, place, 2);
        memcpy(&single, &bits, sizeof single);
        return (double)single;
    case DTYPE_F16:
        memcpy(&half, place, sizeof half);
        return value_of_f16(half);
    default:
        CHECK(dtype == DTYPE_I32);
        memcpy(&integer, place, sizeof integer);
        return integer == spoilt_integer ? (double)NAN : integer; // NAN is a float, of fewer bits
    }
}

static void store_one(unsigned char *place, enum dtype dtype, double value) {
    float single = (float)value;
    int32_t integer;
    uint32_t bits;
    uint16_t half;
    switch (dtype) {
    case DTYPE_F64:
        memcpy(place, &value, sizeof value);
        break;
    case DTYPE_F32:
        memcpy(place, &single, sizeof single);
        break;
    case DTYPE_BF16: // to the nearest, halves to the even one
        memcpy(&bits, &single, sizeof bits);
        if (!isnan(single))
            bits += 0x7fff + (bits >> 16 & 1);
        memcpy(place, (unsigned char *)&bits + 2, 2);
        break;
    case DTYPE_F16:
        half = f16_of_value(value);
        memcpy(place, &half, sizeof half);
        break;
    default:
        CHECK(dtype == DTYPE_I32);
        integer = isnan(value) ? spoilt_integer : (int32_t)value;
        memcpy(place, &integer, sizeof integer);
    }
}

void memory_load(const unsigned char *place, enum dtype dtype, int64_t n, double *values) {
    if (dtype == DTYPE_F64)
        memcpy(values, place, (size_t)n * sizeof *values);
    else
        for (int64_t i = 0; i < n; i++)
            values[i] = load_one(place + i * dtype_bytes[dtype], dtype);
}

void memory_store(unsigned char *place, enum dtype dtype, int64_t n, const double *values) {
    if (dtype == DTYPE_F64)
        memcpy(place, values, (size_t)n * sizeof *values);
    else
        for (int64_t i = 0; i < n; i++)
            store_one(place + i * dtype_bytes[dtype], dtype, values[i]);
}

static bool is_spoilt(const unsigned char *place, int64_t bytes) {
    for (int64_t i = 0; i < bytes; i++)
        if (place[i] != (unsigned char)(spoilt >> 8 * (i % 2)))
            return false;
    return true;
}

void memory_store_over_spoilt(unsigned char *place, enum dtype dtype, int64_t n,
                              const double *values) {
    for (int64_t i = 0, size = dtype_bytes[dtype]; i < n; i++)
        if (is_spoilt(place + i * size, size))
            memory_store(place + i * size, dtype, 1, &values[i]);
}

int64_t arena_begin(const struct program *program, enum tier tier) {
    int64_t begin = 0;
    for (enum tier t = 0; t < tier; t++)
        begin += program->arena_bytes[t];
    return begin;
}

void memory_round(enum dtype dtype, int64_t n, double *values) {
    unsigned char place[sizeof(double)];
    for (int64_t i = 0; i < n && dtype != DTYPE_F64; i++) {
        store_one(place, dtype, values[i]);
        values[i] = load_one(place, dtype);
    }
}

unsigned char *item_place(const struct devices *d, enum timing timing, int64_t device, buffer_id id,
                          int64_t item) {
    const struct program *program = d->program;
    const struct buffer *buffer = &program->buffers[id], *whole = buffer;
    int64_t at = 0;
    if (buffer->window_of != NO_ID) {
        struct tensor_type shard = buffer_type(program, buffer);
        struct axis_list axes = buffer_window_axes(program, buffer);
        at = mesh_part_of(&program->job->mesh, device, &axes) * type_bytes(&shard);
        whole = &program->buffers[buffer->window_of];
    }
    item /= mesh_group_size(&program->job->mesh, &whole->layout.owners);
    int64_t stride = buffer_item_bytes(program, whole);
    CHECK(item >= 0 && item < buffer_items(whole) &&
          at + buffer_item_bytes(program, buffer) <= stride);
    at += whole->offset_bytes + item * stride;
    CHECK(at >= 0 && at + buffer_item_bytes(program, buffer) <= program->arena_bytes[whole->tier]);
    return d->memory[timing][device] + arena_begin(program, whole->tier) + at;
}
