// The random numbers of dropout as LLVM instructions: ir/interpreter/draws.h says what they are.
// The words of a row are computed once, before the loop over its elements; what is left for an
// element is whole-number arithmetic of 32 bits, which vectors do as well as the arithmetic around
// it.
#include "backend/emitter.h"

static LLVMValueRef word(struct emitter *e, uint32_t value) {
    return LLVMConstInt(e->i32, value, false);
}

// The two halves of a product of 64 bits.
struct product {
    LLVMValueRef high, low;
};
static struct product multiply(struct emitter *e, LLVMValueRef a, uint32_t factor) {
    LLVMValueRef wide = LLVMBuildMul(e->builder, LLVMBuildZExt(e->builder, a, e->i64, ""),
                                     LLVMConstInt(e->i64, factor, false), "");
    LLVMValueRef high = LLVMBuildLShr(e->builder, wide, constant_i64(e, 32), "");
    return (struct product){LLVMBuildTrunc(e->builder, high, e->i32, ""),
                            LLVMBuildTrunc(e->builder, wide, e->i32, "")};
}

static LLVMValueRef both(struct emitter *e, LLVMValueRef a, LLVMValueRef b) {
    return LLVMBuildXor(e->builder, a, b, "");
}

static LLVMValueRef folded(struct emitter *e, LLVMValueRef x, unsigned bits) {
    return both(e, x, LLVMBuildLShr(e->builder, x, word(e, bits), ""));
}

// Philox 4x32-10; `words` holds the counter, then the result. The key is a whole number in an f64.
void emit_row_words(struct emitter *e, LLVMValueRef key, LLVMValueRef words[4]) {
    LLVMValueRef whole = LLVMBuildFPToUI(e->builder, key, e->i64, "");
    LLVMValueRef low = LLVMBuildTrunc(e->builder, whole, e->i32, "");
    whole = LLVMBuildLShr(e->builder, whole, constant_i64(e, 32), "");
    LLVMValueRef high = LLVMBuildTrunc(e->builder, whole, e->i32, "");
    for (int round = 0; round < 10; round++) {
        struct product a = multiply(e, words[0], UINT32_C(0xD2511F53));
        struct product b = multiply(e, words[2], UINT32_C(0xCD9E8D57));
        words[0] = both(e, both(e, b.high, words[1]), low);
        words[1] = b.low;
        words[2] = both(e, both(e, a.high, words[3]), high);
        words[3] = a.low;
        low = LLVMBuildAdd(e->builder, low, word(e, UINT32_C(0x9E3779B9)), "");
        high = LLVMBuildAdd(e->builder, high, word(e, UINT32_C(0xBB67AE85)), "");
    }
}

LLVMValueRef emit_element_number(struct emitter *e, LLVMValueRef const words[4],
                                 LLVMValueRef column) {
    LLVMValueRef x = folded(e, both(e, column, words[0]), 16);
    x = LLVMBuildMul(e->builder, both(e, x, words[1]), word(e, UINT32_C(0x7FEB352D)), "");
    x = folded(e, x, 15);
    x = LLVMBuildMul(e->builder, both(e, x, words[2]), word(e, UINT32_C(0x846CA68B)), "");
    return both(e, folded(e, x, 16), words[3]);
}
