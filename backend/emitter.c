// One module: its types, functions, counted loops, and calls into the runtime with the test of
// their status. What is here knows neither ops nor statements.
#include "backend/emitter.h"

#include <string.h>

#include <llvm-c/DebugInfo.h>
#include <llvm-c/IRReader.h>

#include "runtime/place.h"

// ---- the table of runtime calls ---------------------------------------------------------------

// Kinds of a call's arguments, one letter each, so that a row becomes a string.
#define KIND_PTR "p"
#define KIND_I32 "i"
#define KIND_I64 "l"
#define KIND_F64 "d"
static const struct {
    const char *name, *kinds;
} call_rows[N_RUNTIME_CALLS] = {
// clang-format off
#define CALL(name, since, effect, work, text) {"place_" #name, ""
#define ARGUMENT(kind, name, access, text) KIND_##kind
#define END_CALL(name) },
// clang-format on
#include "runtime/calls.def"
};

// One LLVM type for each kind, so that a call that does not fit its row fails here, not at run
// time.
static LLVMTypeRef kind_type(struct emitter *e, char kind) {
    switch (kind) {
    case 'p':
        return e->pointer;
    case 'i':
        return e->i32;
    case 'l':
        return e->i64;
    default:
        return e->f64;
    }
}

// An attribute without a value, such as nounwind or noinline.
void set_attribute(struct emitter *e, LLVMValueRef function, const char *name) {
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMAddAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                            LLVMCreateEnumAttribute(e->llvm, kind, 0));
}

enum { MAX_ARGUMENTS = 32 };

// Every call begins with the context and the id of the statement it is made for.
static LLVMTypeRef call_type(struct emitter *e, enum runtime_call call) {
    LLVMTypeRef types[MAX_ARGUMENTS] = {e->pointer, e->i32};
    unsigned n = 2;
    for (const char *kind = call_rows[call].kinds; *kind; kind++)
        types[n++] = kind_type(e, *kind);
    return LLVMFunctionType(e->i32, types, n, false);
}

// A module declares the calls that it makes and no others: its text, which the cache of objects is
// keyed by, does not change when the table gets a row.
static LLVMValueRef declare_call(struct emitter *e, enum runtime_call call) {
    LLVMValueRef function = LLVMGetNamedFunction(e->module, call_rows[call].name);
    if (function)
        return function;
    e->calls[call] = call_type(e, call);
    function = LLVMAddFunction(e->module, call_rows[call].name, e->calls[call]);
    set_attribute(e, function, "nounwind");
    return function;
}

void call_runtime(struct emitter *e, enum runtime_call call, uint32_t statement,
                  const LLVMValueRef *arguments, unsigned n) {
    const char *kinds = call_rows[call].kinds;
    LLVMValueRef all[MAX_ARGUMENTS] = {e->function.context, constant_i32(e, statement)};
    CHECK(n == strlen(kinds) && n + 2 <= MAX_ARGUMENTS);
    for (unsigned i = 0; i < n; i++) {
        CHECK(LLVMTypeOf(arguments[i]) == kind_type(e, kinds[i]));
        all[i + 2] = arguments[i];
    }
    LLVMValueRef callee = declare_call(e, call);
    test_status(e, LLVMBuildCall2(e->builder, e->calls[call], callee, all, n + 2, "status"));
}

// All failures of a function meet in one block, which returns the status that came first: a test
// costs one compare and a branch that is never taken.
void test_status(struct emitter *e, LLVMValueRef status) {
    LLVMValueRef good = LLVMBuildICmp(e->builder, LLVMIntEQ, status, constant_i32(e, 0), "");
    LLVMBasicBlockRef here = LLVMGetInsertBlock(e->builder);
    LLVMBasicBlockRef next = LLVMAppendBasicBlockInContext(e->llvm, e->function.llvm, "");
    LLVMBuildCondBr(e->builder, good, next, e->function.failure);
    LLVMAddIncoming(e->function.failure_status, &status, &here, 1);
    LLVMPositionBuilderAtEnd(e->builder, next);
}

// The runtime numbers types on its own, since the numbers are part of its ABI.
LLVMValueRef place_dtype_constant(struct emitter *e, enum dtype dtype) {
    switch (dtype) {
    case DTYPE_F32:
        return constant_i32(e, PLACE_F32);
    case DTYPE_F64:
        return constant_i32(e, PLACE_F64);
    case DTYPE_BF16:
        return constant_i32(e, PLACE_BF16);
    case DTYPE_F16:
        return constant_i32(e, PLACE_F16);
    default:
        CHECK(dtype == DTYPE_I32);
        return constant_i32(e, PLACE_I32);
    }
}

// ---- module -----------------------------------------------------------------------------------

// Distinct empty metadata nodes cannot be made through the C API, so a module begins as text.
static const char skeleton[] = "!place.access = !{!0}\n!0 = distinct !{}\n";

static void open_module(struct emitter *e, const char *name) {
    LLVMMemoryBufferRef text =
        LLVMCreateMemoryBufferWithMemoryRange(skeleton, sizeof skeleton - 1, name, true);
    char *message = NULL;
    CHECK(!LLVMParseIRInContext(e->llvm, text, &e->module, &message));
    LLVMValueRef group;
    LLVMGetNamedMetadataOperands(e->module, "place.access", &group);
    e->access_group = LLVMValueAsMetadata(group);
    LLVMSetModuleIdentifier(e->module, name, strlen(name));
}

// A context per module: LLVM shares types and constants inside one without locks, so that modules
// which are built side by side must not have it in common.
void emitter_open(struct emitter *e, struct arena *arena, const struct job *job, const char *name) {
    *e = (struct emitter){.arena = arena, .job = job};
    e->groups = job_groups(job, arena, &e->n_groups);
    e->llvm = LLVMContextCreate();
    e->builder = LLVMCreateBuilderInContext(e->llvm);
    e->void_type = LLVMVoidTypeInContext(e->llvm);
    e->i1 = LLVMInt1TypeInContext(e->llvm);
    e->i8 = LLVMInt8TypeInContext(e->llvm);
    e->i16 = LLVMInt16TypeInContext(e->llvm);
    e->i32 = LLVMInt32TypeInContext(e->llvm);
    e->i64 = LLVMInt64TypeInContext(e->llvm);
    e->half = LLVMHalfTypeInContext(e->llvm);
    e->f32 = LLVMFloatTypeInContext(e->llvm);
    e->f64 = LLVMDoubleTypeInContext(e->llvm);
    e->pointer = LLVMPointerTypeInContext(e->llvm, 0);
    e->tile_type =
        LLVMFunctionType(e->void_type, (LLVMTypeRef[]){e->pointer, e->i64, e->i64}, 3, false);
    open_module(e, name);
}

void emitter_close(struct emitter *e) {
    LLVMDisposeBuilder(e->builder);
    if (e->module)
        LLVMDisposeModule(e->module);
    LLVMContextDispose(e->llvm);
}

// ---- functions --------------------------------------------------------------------------------

LLVMTypeRef function_type(struct emitter *e, unsigned n_pointers) {
    LLVMTypeRef *types = ARENA_ARRAY(e->arena, LLVMTypeRef, n_pointers + 1);
    for (unsigned i = 0; i <= n_pointers; i++)
        types[i] = e->pointer;
    return LLVMFunctionType(e->i32, types, n_pointers + 1, false);
}

void function_begin(struct emitter *e, LLVMValueRef llvm) {
    struct function *f = &e->function;
    *f = (struct function){.llvm = llvm, .context = LLVMGetParam(llvm, 0)};
    set_attribute(e, llvm, "sspstrong"); // as -fstack-protector-strong
    f->entry = LLVMAppendBasicBlockInContext(e->llvm, llvm, "entry");
    f->failure = LLVMAppendBasicBlockInContext(e->llvm, llvm, "failure");
    LLVMBasicBlockRef body = LLVMAppendBasicBlockInContext(e->llvm, llvm, "body");
    LLVMPositionBuilderAtEnd(e->builder, f->failure);
    f->failure_status = LLVMBuildPhi(e->builder, e->i32, "status");
    LLVMBuildRet(e->builder, f->failure_status);
    LLVMPositionBuilderAtEnd(e->builder, f->entry);
    LLVMBuildBr(e->builder, body);
    LLVMPositionBuilderAtEnd(e->builder, body);
}

void function_end(struct emitter *e) {
    LLVMBuildRet(e->builder, constant_i32(e, PLACE_OK));
    // A function without calls never fails; its phi would have no operands.
    if (LLVMCountIncoming(e->function.failure_status) == 0) {
        LLVMReplaceAllUsesWith(e->function.failure_status, constant_i32(e, PLACE_OK));
        LLVMInstructionEraseFromParent(e->function.failure_status);
    }
}

// Makes the array in front of everything in the entry, wherever it is needed: an alloca inside a
// loop would grow the stack with every iteration, and LLVM promotes only those of the entry.
LLVMValueRef stack_array(struct emitter *e, LLVMTypeRef element, unsigned count) {
    LLVMBasicBlockRef here = LLVMGetInsertBlock(e->builder);
    LLVMPositionBuilderBefore(e->builder, LLVMGetFirstInstruction(e->function.entry));
    LLVMValueRef array = LLVMBuildAlloca(e->builder, LLVMArrayType2(element, count), "");
    LLVMPositionBuilderAtEnd(e->builder, here);
    return array;
}

// ---- values -----------------------------------------------------------------------------------

LLVMValueRef constant_i32(struct emitter *e, int64_t value) {
    return LLVMConstInt(e->i32, (uint64_t)value, true);
}

LLVMValueRef constant_i64(struct emitter *e, int64_t value) {
    return LLVMConstInt(e->i64, (uint64_t)value, true);
}

LLVMValueRef constant_f64(struct emitter *e, double value) {
    return LLVMConstReal(e->f64, value);
}

LLVMValueRef null_pointer(struct emitter *e) {
    return LLVMConstNull(e->pointer);
}

// Pointers are typeless; a distance is in bytes or in elements of the type that is named.
LLVMValueRef offset_pointer(struct emitter *e, LLVMValueRef pointer, int64_t bytes) {
    return element_pointer(e, e->i8, pointer, constant_i64(e, bytes));
}

LLVMValueRef element_pointer(struct emitter *e, LLVMTypeRef element, LLVMValueRef pointer,
                             LLVMValueRef index) {
    return LLVMBuildInBoundsGEP2(e->builder, element, pointer, &index, 1, "");
}

// Mixed radix, the outermost axis first, as layouts are. Axes of size one have no digit. The code
// is the same for all ranks, so that this is the only thing it reads that differs between them.
LLVMValueRef coordinate(struct emitter *e, const struct axis_list *axes) {
    const struct mesh *mesh = &e->job->mesh;
    LLVMValueRef result = constant_i64(e, 0);
    for (unsigned i = 0; i < axes->n; i++) {
        unsigned axis = axes->axes[i];
        if (mesh->axes[axis].size == 1)
            continue;
        size_t at = offsetof(struct place_context_head, coordinates) + axis * sizeof(int64_t);
        LLVMValueRef digit = LLVMBuildLoad2(
            e->builder, e->i64, offset_pointer(e, e->function.context, (int64_t)at), "");
        result = LLVMBuildMul(e->builder, result, constant_i64(e, mesh->axes[axis].size), "");
        result = LLVMBuildAdd(e->builder, result, digit, "");
    }
    return result;
}

// ---- loops ------------------------------------------------------------------------------------

// Tested before the first iteration, then at the end of each: the form that LLVM rotates loops
// into, so that its passes find it as they like it.
struct counted_loop loop_begin(struct emitter *e, LLVMValueRef begin, LLVMValueRef end,
                               bool descending) {
    LLVMBuilderRef b = e->builder;
    LLVMValueRef function = LLVMGetBasicBlockParent(LLVMGetInsertBlock(b));
    struct counted_loop loop = {.begin = begin, .end = end, .descending = descending};
    loop.before = LLVMGetInsertBlock(b);
    loop.body = LLVMAppendBasicBlockInContext(e->llvm, function, "loop");
    loop.after = LLVMAppendBasicBlockInContext(e->llvm, function, "after");
    LLVMValueRef some = LLVMBuildICmp(b, LLVMIntSLT, begin, end, "");
    LLVMValueRef first = descending ? LLVMBuildSub(b, end, constant_i64(e, 1), "") : begin;
    LLVMBuildCondBr(b, some, loop.body, loop.after);
    LLVMPositionBuilderAtEnd(b, loop.body);
    loop.counter = LLVMBuildPhi(b, e->i64, "i");
    LLVMAddIncoming(loop.counter, &first, &loop.before, 1);
    return loop;
}

// Tells the optimiser that iterations are independent. A loop's metadata must refer to itself to be
// its own; in the C API that takes a placeholder.
static void mark_parallel(struct emitter *e, LLVMValueRef branch) {
    const char *text = "llvm.loop.parallel_accesses";
    LLVMMetadataRef parallel[] = {LLVMMDStringInContext2(e->llvm, text, strlen(text)),
                                  e->access_group};
    LLVMMetadataRef self = LLVMTemporaryMDNode(e->llvm, NULL, 0);
    LLVMMetadataRef parts[] = {self, LLVMMDNodeInContext2(e->llvm, parallel, 2)};
    LLVMMetadataRef node = LLVMMDNodeInContext2(e->llvm, parts, 2);
    LLVMMetadataReplaceAllUsesWith(self, node);
    unsigned kind = LLVMGetMDKindIDInContext(e->llvm, "llvm.loop", strlen("llvm.loop"));
    LLVMSetMetadata(branch, kind, LLVMMetadataAsValue(e->llvm, node));
}

void loop_end(struct emitter *e, struct counted_loop *loop, bool parallel) {
    LLVMBuilderRef b = e->builder;
    LLVMBasicBlockRef latch = LLVMGetInsertBlock(b);
    LLVMValueRef next =
        LLVMBuildNSWAdd(b, loop->counter, constant_i64(e, loop->descending ? -1 : 1), "");
    LLVMValueRef more = loop->descending ? LLVMBuildICmp(b, LLVMIntSGE, next, loop->begin, "")
                                         : LLVMBuildICmp(b, LLVMIntSLT, next, loop->end, "");
    LLVMValueRef branch = LLVMBuildCondBr(b, more, loop->body, loop->after);
    LLVMAddIncoming(loop->counter, &next, &latch, 1);
    if (parallel)
        mark_parallel(e, branch);
    LLVMPositionBuilderAtEnd(b, loop->after);
}
