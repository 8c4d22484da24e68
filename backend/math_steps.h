// Included by math.c once per element type, with NAMED(name) giving the names of that type and
// TABLE the file of its functions. The primitive steps come first, then one builder function per
// FUNCTION of the table, then the list of these by name.

// LLVM's functions that become one instruction: fma, sqrt, fabs, copysign.
static LLVMValueRef NAMED(intrinsic)(struct math *math, const char *name, LLVMValueRef *arguments,
                                     unsigned n) {
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    LLVMValueRef function = LLVMGetIntrinsicDeclaration(math->e->module, id, &math->real, 1);
    LLVMTypeRef type = LLVMIntrinsicGetType(math->e->llvm, id, &math->real, 1);
    return LLVMBuildCall2(math->e->builder, type, function, arguments, n, "");
}

#define PRIMITIVE(name, ...)                                                                       \
    __attribute__((unused)) static LLVMValueRef NAMED(name)(struct math * math, __VA_ARGS__)
#define BINARY(name, build)                                                                        \
    PRIMITIVE(name, LLVMValueRef a, LLVMValueRef b) {                                              \
        return build(math->e->builder, a, b, "");                                                  \
    }
BINARY(ADD, LLVMBuildFAdd)
BINARY(SUB, LLVMBuildFSub)
BINARY(MUL, LLVMBuildFMul)
BINARY(DIV, LLVMBuildFDiv)
BINARY(IADD, LLVMBuildAdd)
BINARY(ISUB, LLVMBuildSub)
BINARY(AND, LLVMBuildAnd)
BINARY(XOR, LLVMBuildXor)
BINARY(SHL, LLVMBuildShl)
BINARY(SHR, LLVMBuildLShr)

// Without the instruction the steps are rounded twice, as the kernels for such machines do.
PRIMITIVE(FMA, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c) {
    if (math->e->has_fma)
        return NAMED(intrinsic)(math, "llvm.fma", (LLVMValueRef[]){a, b, c}, 3);
    return NAMED(ADD)(math, NAMED(MUL)(math, a, b), c);
}

PRIMITIVE(SQRT, LLVMValueRef a) {
    return NAMED(intrinsic)(math, "llvm.sqrt", &a, 1);
}

PRIMITIVE(ABS, LLVMValueRef a) {
    return NAMED(intrinsic)(math, "llvm.fabs", &a, 1);
}

PRIMITIVE(COPYSIGN, LLVMValueRef magnitude, LLVMValueRef sign) {
    return NAMED(intrinsic)(math, "llvm.copysign", (LLVMValueRef[]){magnitude, sign}, 2);
}

// Ordered: false when one of them is NaN.
PRIMITIVE(LESS, LLVMValueRef a, LLVMValueRef b) {
    return LLVMBuildFCmp(math->e->builder, LLVMRealOLT, a, b, "");
}

PRIMITIVE(SELECT, LLVMValueRef mask, LLVMValueRef a, LLVMValueRef b) {
    return LLVMBuildSelect(math->e->builder, mask, a, b, "");
}

// Each is one instruction, whose result is b where one is NaN.
PRIMITIVE(GREATER, LLVMValueRef a, LLVMValueRef b) {
    LLVMValueRef mask = LLVMBuildFCmp(math->e->builder, LLVMRealOGT, a, b, "");
    return NAMED(SELECT)(math, mask, a, b);
}

PRIMITIVE(LESSER, LLVMValueRef a, LLVMValueRef b) {
    return NAMED(SELECT)(math, NAMED(LESS)(math, a, b), a, b);
}

PRIMITIVE(BITS, LLVMValueRef a) {
    return LLVMBuildBitCast(math->e->builder, a, math->integer, "");
}

PRIMITIVE(FLOAT, LLVMValueRef a) {
    return LLVMBuildBitCast(math->e->builder, a, math->real, "");
}

// A step is a primitive of above or a function further up in the table: both are NAMED alike.
#define FUNCTION(name, ulp, text) PRIMITIVE(name, LLVMValueRef x) {
#define CONSTANT(r, value)        LLVMValueRef r = LLVMConstReal(math->real, value);
#define INTEGER(r, value)         LLVMValueRef r = LLVMConstInt(math->integer, (uint64_t)(value), false);
#define STEP(op, r, ...)          LLVMValueRef r = NAMED(op)(math, __VA_ARGS__);
#define RETURN(r)                                                                                  \
    return r;                                                                                      \
    }
#include TABLE
#undef FUNCTION
#undef CONSTANT
#undef INTEGER
#undef STEP
#undef RETURN

static const struct math_row NAMED(functions)[] = {
#define FUNCTION(name, ulp, text) {#name, NAMED(name)},
#define CONSTANT(r, value)
#define INTEGER(r, value)
#define STEP(op, r, ...)
#define RETURN(r)
#include TABLE
    {NULL, NULL},
};
#undef FUNCTION
#undef CONSTANT
#undef INTEGER
#undef STEP
#undef RETURN
#undef BINARY
#undef PRIMITIVE
