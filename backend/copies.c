// Copies between tiers: a start hands the runtime an array of what is copied, a wait names the start by
// its handle.
#include "backend/emitter.h"

#include "runtime/place.h"

enum { N_COPY_MEMBERS = 5 };

// struct place_copy, member by member.
static LLVMTypeRef copy_type(struct emitter *e) {
    LLVMTypeRef members[] = {e->pointer, e->pointer, e->i64, e->i32, e->i32};
    return LLVMStructTypeInContext(e->llvm, members, N_COPY_MEMBERS, false);
}

void start_copy(struct emitter *e, uint32_t statement, LLVMValueRef handle,
                const struct copy *copies, uint32_t n) {
    LLVMTypeRef type = copy_type(e);
    LLVMValueRef array = stack_array(e, type, n);
    for (uint32_t i = 0; i < n; i++) {
        LLVMValueRef members[] = {copies[i].from, copies[i].to, copies[i].bytes,
                                  constant_i32(e, copies[i].from_tier),
                                  constant_i32(e, copies[i].to_tier)};
        LLVMValueRef slot = element_pointer(e, type, array, constant_i64(e, i));
        for (unsigned k = 0; k < N_COPY_MEMBERS; k++)
            LLVMBuildStore(e->builder, members[k],
                           LLVMBuildStructGEP2(e->builder, type, slot, k, ""));
    }
    CALL_RUNTIME(e, copy_start, statement, handle, constant_i32(e, n), array);
}
