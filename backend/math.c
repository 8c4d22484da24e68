// The runtime's straight-line functions (runtime/math) as LLVM instructions: the same steps in the
// same order as its C kernels take, without fast-math flags, so that both give the same bits, in
// vector bodies and in scalar tails.
#include "backend/emitter.h"

#include <string.h>

struct math {
    struct emitter *e;
    LLVMTypeRef real, integer; // the element type, and the integer type of its width
};
struct math_row {
    const char *name;
    LLVMValueRef (*build)(struct math *, LLVMValueRef x);
};

#define NAMED(name) f32_##name
#define TABLE       "runtime/math/math_f32.def"
#include "backend/math_steps.h"
#undef NAMED
#undef TABLE

#define NAMED(name) f64_##name
#define TABLE       "runtime/math/math_f64.def"
#include "backend/math_steps.h"
#undef NAMED
#undef TABLE

LLVMValueRef emit_math(struct emitter *e, const char *name, LLVMValueRef x) {
    bool is_f32 = LLVMTypeOf(x) == e->f32;
    struct math math = {e, is_f32 ? e->f32 : e->f64, is_f32 ? e->i32 : e->i64};
    const struct math_row *row = is_f32 ? f32_functions : f64_functions;
    while (row->name && strcmp(row->name, name) != 0)
        row++;
    CHECK(row->name);
    // cppcheck-suppress returnDanglingLifetime ; what is returned lives in the module
    return row->build(&math, x);
}

LLVMValueRef emit_square_root_of(struct emitter *e, LLVMValueRef x) {
    bool is_f32 = LLVMTypeOf(x) == e->f32;
    struct math math = {e, is_f32 ? e->f32 : e->f64, is_f32 ? e->i32 : e->i64};
    return is_f32 ? f32_SQRT(&math, x) : f64_SQRT(&math, x);
}
