/* The calls that compress gradients and add up what arrives of them. */
#include "runtime/kernels/run.h"

/* A range has as many elements as other loops of a few operations each take. */
enum { BLOCKS_PER_RANGE = ELEMENTS_PER_RANGE / PLACE_WIRE_BLOCK };

/* The words of a block, which may be a shorter one, at the end. */
static int64_t words_of_block(int32_t way, int64_t kept, int64_t elements) {
    int64_t sent = smaller(kept, elements);
    switch (way) {
    case PLACE_SIGN:
        return 1 + (elements + 31) / 32;
    case PLACE_INT8:
        return 1 + (elements + 3) / 4;
    default:
        return sent + (sent + 3) / 4;
    }
}

static int32_t run_blocks(struct place_context *context, int32_t statement, enum kernel kernel,
                          int32_t dtype, struct compress *c) {
    bool known = c->way == PLACE_SIGN || c->way == PLACE_INT8 ||
                 (c->way == PLACE_TOPK && c->kept > 0 && c->kept <= PLACE_WIRE_BLOCK);
    if (!known || c->count < 0)
        return context_fail(context, statement, PLACE_ERROR_ARGUMENT,
                            "compression %d that keeps %lld of %lld elements", c->way,
                            (long long)c->kept, (long long)c->count);
    int64_t whole = c->count / PLACE_WIRE_BLOCK, last = c->count % PLACE_WIRE_BLOCK;
    c->block_words = words_of_block(c->way, c->kept, PLACE_WIRE_BLOCK);
    c->code_words = whole * c->block_words + (last ? words_of_block(c->way, c->kept, last) : 0);
    return run_kernel(context, statement, kernel, dtype, whole + (last > 0), BLOCKS_PER_RANGE, c);
}

int32_t place_compress(struct place_context *context, int32_t statement, int32_t dtype, int32_t way,
                       int64_t kept, int64_t count, const void *g, void *residual, void *code) {
    RECORD_CALL(compress);
    struct compress c = {
        .way = way, .kept = kept, .count = count, .g = g, .residual = residual, .code = code};
    return run_blocks(context, statement, KERNEL_compress, dtype, &c);
}

int32_t place_decompress(struct place_context *context, int32_t statement, int32_t dtype,
                         int32_t way, int64_t kept, int64_t count, int64_t codes, const void *code,
                         void *sum) {
    RECORD_CALL(decompress);
    struct compress c = {.way = way,
                         .kept = kept,
                         .count = count,
                         .codes = codes,
                         .code = (uint32_t *)code,
                         .sum = sum};
    return run_blocks(context, statement, KERNEL_decompress, dtype, &c);
}
