// Asks for what an elementwise loop reads and writes before it gets there. What forward kept for
// backward has left all caches by then, and hardware looks ahead no further than the end of a page
// of 4 KiB: without this, gelu_backward waited for memory two thirds of its time. LLVM makes no
// vectors of a loop that prefetches, so each block of elements, or row, first asks for the one that
// comes some KiB later, and its own loop stays as it was.
#include "backend/elementwise.h"

#include <string.h>

enum {
    CACHE_LINE_BYTES = 64,
    ELEMENTS_AHEAD = 512,    // some hundred nanoseconds of the dearest loops
    TO_FIRST_LEVEL_CACHE = 3 // of llvm.prefetch's degrees of locality
};

static void prefetch(struct emitter *e, LLVMValueRef pointer) {
    const char *name = "llvm.prefetch";
    unsigned intrinsic = LLVMLookupIntrinsicID(name, strlen(name));
    LLVMValueRef function = LLVMGetIntrinsicDeclaration(e->module, intrinsic, &e->pointer, 1);
    LLVMTypeRef type = LLVMIntrinsicGetType(e->llvm, intrinsic, &e->pointer, 1);
    const int32_t read = 0, data = 1;
    LLVMValueRef arguments[] = {pointer, constant_i32(e, read),
                                constant_i32(e, TO_FIRST_LEVEL_CACHE), constant_i32(e, data)};
    LLVMBuildCall2(e->builder, type, function, arguments, 4, "");
}

// Only what is as large as the result goes by; the rest is read again and again.
static bool goes_by(const struct tree *tree, unsigned leaf) {
    const struct emitter *e = tree->e;
    if (type_elements(value_type(e, tree->leaves[leaf])) != tree->elements)
        return false;
    for (unsigned i = 0; i < leaf; i++)
        if (same_place(e, tree->leaves[i], tree->leaves[leaf]))
            return false;
    return true;
}

void prefetch_leaves(struct tree *tree, LLVMValueRef first, int64_t count) {
    struct emitter *e = tree->e;
    int64_t ahead = (ELEMENTS_AHEAD + count - 1) / count * count;
    for (unsigned i = 0; i < tree->n_leaves; i++) {
        int64_t bytes = dtype_bytes[value_type(e, tree->leaves[i])->dtype];
        if (!goes_by(tree, i) || count * bytes < CACHE_LINE_BYTES)
            continue;
        struct counted_loop loop = loop_begin(
            e, constant_i64(e, 0), constant_i64(e, count * bytes / CACHE_LINE_BYTES), false);
        LLVMValueRef element = LLVMBuildAdd(e->builder, first, constant_i64(e, ahead), "");
        LLVMValueRef at = LLVMBuildMul(e->builder, element, constant_i64(e, bytes), "");
        LLVMValueRef line =
            LLVMBuildMul(e->builder, loop.counter, constant_i64(e, CACHE_LINE_BYTES), "");
        at = LLVMBuildAdd(e->builder, at, line, "");
        // Beyond the end of what is read, too, where nothing may be computed in bounds.
        prefetch(e, LLVMBuildGEP2(e->builder, e->i8, tree->pointers[i], &at, 1, ""));
        loop_end(e, &loop, false);
    }
}
