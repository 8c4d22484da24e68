// Codes of gradients, as ir/wire.c lays them out; see compress.h.
#include "ir/interpreter/compress.h"

#include <math.h>
#include <string.h>

// Where the block from `begin` on stands in a code, and how many elements it has.
struct coded {
    double *code;
    int64_t elements;
};

static struct coded block_at(struct wire wire, double *code, int64_t begin, int64_t count) {
    int64_t left = count - begin;
    return (struct coded){code + wire_words(wire, begin), left < WIRE_BLOCK ? left : WIRE_BLOCK};
}

// Words are i32, and so exact; bits and bytes fill them from the least significant end on.
static uint32_t word_of(double number) {
    return (uint32_t)(int32_t)number;
}

static double narrow(double word) {
    uint32_t bits = word_of(word);
    float number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

static double widen(double number) {
    float narrow = (float)number;
    int32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    return bits;
}

static void put_bits(double *words, int64_t i, int64_t width, uint32_t bits) {
    uint32_t word = word_of(words[i * width / 32]) | bits << i * width % 32;
    words[i * width / 32] = (int32_t)word;
}

static uint32_t get_bits(const double *words, int64_t i, int64_t width) {
    return word_of(words[i * width / 32]) >> i * width % 32 & (uint32_t)((1 << width) - 1);
}

// What a block's code says of each element.
static void decode(struct wire wire, struct coded block, double *elements) {
    double first = narrow(block.code[0]);
    int64_t n = block.elements, kept = wire.kept < n ? wire.kept : n;
    for (int64_t i = 0; i < n; i++)
        elements[i] = wire.way == WIRE_SIGN   ? get_bits(block.code + 1, i, 1) ? -first : first
                      : wire.way == WIRE_INT8 ? first * (int8_t)get_bits(block.code + 1, i, 8)
                                              : 0;
    for (int64_t i = 0; wire.way == WIRE_TOPK && i < kept; i++)
        elements[get_bits(block.code + kept, i, 8)] = narrow(block.code[i]);
}

static void code_signs(const double *x, struct coded block) {
    double sum = 0;
    for (int64_t i = 0; i < block.elements; i++)
        sum += fabs(x[i]);
    block.code[0] = widen(sum / (double)block.elements);
    for (int64_t i = 0; i < block.elements; i++)
        put_bits(block.code + 1, i, 1, x[i] < 0);
}

static void code_bytes(const double *x, struct coded block) {
    double largest = 0;
    for (int64_t i = 0; i < block.elements; i++)
        largest = fmax(largest, fabs(x[i]));
    block.code[0] = widen(largest / 127);
    double unit = narrow(block.code[0]);
    for (int64_t i = 0; i < block.elements && unit > 0; i++) {
        double units = fmax(-127, fmin(127, x[i] / unit));
        put_bits(block.code + 1, i, 8, (uint8_t)(int8_t)round(units));
    }
}

// The largest are those than which fewer than so many are larger, or as large and before them.
static void code_largest(const double *x, struct coded block, int64_t kept) {
    for (int64_t i = 0, sent = 0; i < block.elements; i++) {
        float size = fabsf((float)x[i]);
        int64_t before = 0;
        for (int64_t k = 0; k < block.elements; k++) {
            float other = fabsf((float)x[k]);
            before += other > size || (other == size && k < i);
        }
        if (before >= kept)
            continue;
        block.code[sent] = widen(x[i]);
        put_bits(block.code + kept, sent++, 8, (uint32_t)i);
    }
}

void interpret_compress(const struct op *op, const struct array *in, struct array *out) {
    struct wire wire = op_wire(op);
    int64_t n = type_elements(&in[0].type);
    memset(out[0].data, 0, (size_t)type_elements(&out[0].type) * sizeof(double));
    for (int64_t begin = 0; begin < n; begin += WIRE_BLOCK) {
        struct coded block = block_at(wire, out[0].data, begin, n);
        int64_t kept = wire.kept < block.elements ? wire.kept : block.elements;
        double x[WIRE_BLOCK], sent[WIRE_BLOCK];
        for (int64_t i = 0; i < block.elements; i++)
            x[i] = in[0].data[begin + i] + in[1].data[begin + i];
        if (wire.way == WIRE_SIGN)
            code_signs(x, block);
        else if (wire.way == WIRE_INT8)
            code_bytes(x, block);
        else
            code_largest(x, block, kept);
        decode(wire, block, sent);
        for (int64_t i = 0; i < block.elements; i++)
            out[1].data[begin + i] = x[i] - sent[i];
    }
}

void interpret_decompress(const struct op *op, const struct array *in, struct array *out) {
    struct wire wire = op_wire(op);
    int64_t n = type_elements(&in[1].type), words = wire_words(wire, n);
    memset(out->data, 0, (size_t)n * sizeof(double));
    for (int64_t code = 0; code < type_elements(&in[0].type); code += words)
        for (int64_t begin = 0; begin < n; begin += WIRE_BLOCK) {
            struct coded block = block_at(wire, in[0].data + code, begin, n);
            double sent[WIRE_BLOCK];
            decode(wire, block, sent);
            for (int64_t i = 0; i < block.elements; i++)
                out->data[begin + i] += sent[i];
        }
}
