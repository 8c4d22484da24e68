// Elements in memory and in registers. Types of 16 bits are computed with as f32, which holds every
// value of theirs: what is loaded is widened, what is stored or read on as such a type is rounded
// once, to nearest even. That is done on the bits, in steps that LLVM makes vectors of on every CPU,
// or for f16 by the CPU's own conversions where it has them; LLVM's conversions of these types would
// be calls of functions that executables do not link, and those of CPUs for bf16 lose what is
// subnormal. Which steps are taken changes no bit of a result.
#include "backend/emitter.h"

#include <string.h>

enum {
    SIGN_F32 = (int32_t)0x80000000,
    INFINITY_F32 = 0x7f800000,
    SIGN_16 = 0x8000,
    INFINITY_F16 = 0x7c00,
    QUIET_BF16 = 0x0040, // the bit that keeps a NaN one when its others are cut off
    QUIET_F16 = 0x7e00,
    DIGITS_BF16 = 16, // of an f32 that are cut off
    DIGITS_F16 = 13,
    BIAS_F16 = (127 - 15) << 23,  // of exponents of f32 over those of f16
    LEAST_NORMAL_F16 = 113 << 23, // as an f32
    BEYOND_F16 = 143 << 23,       // 2^16
    HALF_F32 = 126 << 23          // 0.5, whose last digit is that of subnormal f16
};

LLVMTypeRef element_type(struct emitter *e, enum dtype dtype) {
    switch (dtype) {
    case DTYPE_F32:
        return e->f32;
    case DTYPE_F64:
        return e->f64;
    case DTYPE_BF16:
    case DTYPE_F16:
        return e->i16;
    default:
        CHECK(dtype == DTYPE_I32);
        return e->i32;
    }
}

LLVMTypeRef register_type(struct emitter *e, enum dtype dtype) {
    return dtype_is_narrow(dtype) ? e->f32 : element_type(e, dtype);
}

// ---- steps on bits ----------------------------------------------------------------------------

static LLVMValueRef bits_of(struct emitter *e, LLVMValueRef x) {
    return LLVMBuildBitCast(e->builder, x, LLVMTypeOf(x) == e->f64 ? e->i64 : e->i32, "");
}

static LLVMValueRef float_of(struct emitter *e, LLVMValueRef bits) {
    return LLVMBuildBitCast(e->builder, bits, e->f32, "");
}

static LLVMValueRef and_bits(struct emitter *e, LLVMValueRef x, int64_t mask) {
    return LLVMBuildAnd(e->builder, x, constant_i32(e, mask), "");
}

static LLVMValueRef or_bits(struct emitter *e, LLVMValueRef x, int64_t mask) {
    return LLVMBuildOr(e->builder, x, constant_i32(e, mask), "");
}

static LLVMValueRef plus(struct emitter *e, LLVMValueRef x, int64_t number) {
    return LLVMBuildAdd(e->builder, x, constant_i32(e, number), "");
}

static LLVMValueRef right(struct emitter *e, LLVMValueRef x, int digits) {
    return LLVMBuildLShr(e->builder, x, constant_i32(e, digits), "");
}

static LLVMValueRef left(struct emitter *e, LLVMValueRef x, int digits) {
    return LLVMBuildShl(e->builder, x, constant_i32(e, digits), "");
}

static LLVMValueRef less(struct emitter *e, LLVMValueRef x, int64_t than) {
    return LLVMBuildICmp(e->builder, LLVMIntULT, x, constant_i32(e, than), "");
}

// Adds to bits, of which `digits` will be cut off, what makes that rounding to nearest even.
static LLVMValueRef rounded_up(struct emitter *e, LLVMValueRef bits, int digits) {
    LLVMValueRef odd = and_bits(e, right(e, bits, digits), 1);
    return LLVMBuildAdd(e->builder, plus(e, bits, (1 << (digits - 1)) - 1), odd, "");
}

// ---- bf16 -------------------------------------------------------------------------------------

static LLVMValueRef bf16_bits(struct emitter *e, LLVMValueRef x) {
    LLVMValueRef bits = bits_of(e, x);
    LLVMValueRef number = right(e, rounded_up(e, bits, DIGITS_BF16), DIGITS_BF16);
    LLVMValueRef none = or_bits(e, right(e, bits, DIGITS_BF16), QUIET_BF16);
    LLVMValueRef is_none = LLVMBuildFCmp(e->builder, LLVMRealUNO, x, x, "");
    return LLVMBuildSelect(e->builder, is_none, none, number, "");
}

// ---- f16 --------------------------------------------------------------------------------------

// Where there are no instructions. A sum with 0.5 rounds at the last digit of subnormal f16.
static LLVMValueRef f16_bits(struct emitter *e, LLVMValueRef x) {
    LLVMValueRef all = bits_of(e, x), bits = and_bits(e, all, ~(int64_t)SIGN_F32);
    LLVMValueRef normal = plus(e, rounded_up(e, bits, DIGITS_F16), -(int64_t)BIAS_F16);
    normal = right(e, normal, DIGITS_F16);
    LLVMValueRef half = LLVMConstReal(e->f32, 0.5);
    LLVMValueRef small = LLVMBuildFAdd(e->builder, float_of(e, bits), half, "");
    small = plus(e, bits_of(e, small), -(int64_t)HALF_F32);
    LLVMValueRef none = or_bits(e, and_bits(e, right(e, bits, DIGITS_F16), 0x3ff), QUIET_F16);
    LLVMValueRef is_number = less(e, bits, INFINITY_F32 + 1);
    LLVMValueRef large =
        LLVMBuildSelect(e->builder, is_number, constant_i32(e, INFINITY_F16), none, "");
    LLVMValueRef result =
        LLVMBuildSelect(e->builder, less(e, bits, LEAST_NORMAL_F16), small, normal, "");
    result = LLVMBuildSelect(e->builder, less(e, bits, BEYOND_F16), result, large, "");
    return LLVMBuildOr(e->builder, result, and_bits(e, right(e, all, DIGITS_BF16), SIGN_16), "");
}

// The digits with a shifted exponent, which a product sets right, also where they are subnormal.
static LLVMValueRef f16_widened(struct emitter *e, LLVMValueRef bits) {
    LLVMValueRef digits = left(e, and_bits(e, bits, SIGN_16 - 1), DIGITS_F16);
    LLVMValueRef factor = LLVMConstReal(e->f32, 0x1p112);
    LLVMValueRef number = bits_of(e, LLVMBuildFMul(e->builder, float_of(e, digits), factor, ""));
    LLVMValueRef is_number = less(e, and_bits(e, bits, SIGN_16 - 1), INFINITY_F16);
    number = LLVMBuildSelect(e->builder, is_number, number, or_bits(e, digits, INFINITY_F32), "");
    LLVMValueRef sign = left(e, and_bits(e, bits, SIGN_16), DIGITS_BF16);
    return float_of(e, LLVMBuildOr(e->builder, number, sign, ""));
}

// ---- both -------------------------------------------------------------------------------------

LLVMValueRef convert(struct emitter *e, LLVMValueRef x, enum dtype dtype) {
    LLVMTypeRef from = LLVMTypeOf(x), to = element_type(e, dtype);
    if (from == to)
        return x;
    if (from == e->i32)
        return LLVMBuildSIToFP(e->builder, x, to, "");
    return to == e->f32 ? LLVMBuildFPTrunc(e->builder, x, to, "")
                        : LLVMBuildFPExt(e->builder, x, to, "");
}

// The f32 before or behind an f64, if it is none: the one whose last digit is one. Rounded on to a
// type of 16 bits it gives what the f64 itself would.
static LLVMValueRef rounded_to_odd(struct emitter *e, LLVMValueRef x) {
    LLVMBuilderRef b = e->builder;
    LLVMValueRef near = LLVMBuildFPTrunc(b, x, e->f32, "");
    LLVMValueRef back = LLVMBuildFPExt(b, near, e->f64, "");
    LLVMValueRef sizes[] = {back, x};
    for (int i = 0; i < 2; i++) {
        LLVMValueRef sign = LLVMConstInt(e->i64, UINT64_MAX >> 1, false);
        sizes[i] = LLVMBuildAnd(b, bits_of(e, sizes[i]), sign, "");
    }
    LLVMValueRef beyond = LLVMBuildICmp(b, LLVMIntUGT, sizes[0], sizes[1], "");
    LLVMValueRef inexact = LLVMBuildFCmp(b, LLVMRealONE, back, x, "");
    beyond = LLVMBuildAnd(b, beyond, inexact, "");
    LLVMValueRef bits = LLVMBuildSub(b, bits_of(e, near), LLVMBuildZExt(b, beyond, e->i32, ""), "");
    return float_of(e, LLVMBuildOr(b, bits, LLVMBuildZExt(b, inexact, e->i32, ""), ""));
}

// The 16 bits of x, an f32, f64 or i32, rounded to a narrow type.
static LLVMValueRef narrowed(struct emitter *e, LLVMValueRef x, enum dtype dtype) {
    if (LLVMTypeOf(x) != e->f32)
        x = rounded_to_odd(e, convert(e, x, DTYPE_F64));
    if (dtype == DTYPE_F16 && e->has_f16c) {
        LLVMValueRef half = LLVMBuildFPTrunc(e->builder, x, e->half, "");
        return LLVMBuildBitCast(e->builder, half, e->i16, "");
    }
    LLVMValueRef bits = dtype == DTYPE_F16 ? f16_bits(e, x) : bf16_bits(e, x);
    return LLVMBuildTrunc(e->builder, bits, e->i16, "");
}

static LLVMValueRef widened(struct emitter *e, LLVMValueRef bits, enum dtype dtype) {
    if (dtype == DTYPE_F16 && e->has_f16c) {
        LLVMValueRef half = LLVMBuildBitCast(e->builder, bits, e->half, "");
        return LLVMBuildFPExt(e->builder, half, e->f32, "");
    }
    bits = LLVMBuildZExt(e->builder, bits, e->i32, "");
    return dtype == DTYPE_F16 ? f16_widened(e, bits) : float_of(e, left(e, bits, DIGITS_BF16));
}

LLVMValueRef round_to(struct emitter *e, LLVMValueRef x, enum dtype dtype) {
    if (LLVMIsNull(x))
        return LLVMConstNull(register_type(e, dtype));
    return dtype_is_narrow(dtype) ? widened(e, narrowed(e, x, dtype), dtype) : convert(e, x, dtype);
}

LLVMValueRef load_element(struct emitter *e, enum dtype dtype, LLVMValueRef from,
                          LLVMValueRef *access) {
    *access = LLVMBuildLoad2(e->builder, element_type(e, dtype), from, "");
    LLVMSetAlignment(*access, dtype_bytes[dtype]);
    return dtype_is_narrow(dtype) ? widened(e, *access, dtype) : *access;
}

LLVMValueRef store_element(struct emitter *e, enum dtype dtype, LLVMValueRef x, LLVMValueRef to) {
    x = dtype_is_narrow(dtype) ? narrowed(e, x, dtype) : convert(e, x, dtype);
    LLVMValueRef access = LLVMBuildStore(e->builder, x, to);
    LLVMSetAlignment(access, dtype_bytes[dtype]);
    return access;
}
