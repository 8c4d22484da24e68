// The state of turning one module's worth of the program into LLVM's form, and the small steps that
// every file of the backend uses. One emitter makes one module and lives in one thread: it owns its
// LLVM context, and only reads the program.
//
// Generated functions have the shape `int32_t f(struct place_context *, ...)`: they return the
// status of the first runtime call that fails. All addresses are the base of an arena (first members
// of the context) plus a constant, plus index times a constant.
#ifndef PLACE_BACKEND_EMITTER_H
#define PLACE_BACKEND_EMITTER_H

#include <llvm-c/Core.h>

#include "backend/pieces.h"
#include "ir/check.h"
#include "ir/ir.h"

enum runtime_call {
#define CALL(name, since, effect, work, text) CALL_##name,
#include "runtime/calls.def"
    N_RUNTIME_CALLS
};

// What is known while one generated function is built.
struct function {
    LLVMValueRef llvm;
    LLVMValueRef context;        // struct place_context *
    LLVMBasicBlockRef entry;     // where stack slots go
    LLVMBasicBlockRef failure;   // returns the status that arrives there
    LLVMValueRef failure_status; // the phi of that block
};

struct emitter {
    struct arena *arena; // of this emission
    const struct job *job;
    const struct program *program; // whose step it is; of units NULL
    bool has_fma;                  // does the target have fused multiply-add?
    bool has_f16c;                 // and conversions of f16?
    struct axis_list *groups;      // of the job's collectives; calls name them by their index
    uint32_t n_groups;

    LLVMContextRef llvm;
    LLVMModuleRef module;
    LLVMBuilderRef builder;
    LLVMTypeRef void_type, i1, i8, i16, i32, i64, half, f32, f64, pointer;
    LLVMTypeRef tile_type, calls[N_RUNTIME_CALLS];
    LLVMMetadataRef access_group; // of loads and stores that no other iteration touches

    struct function function;
    const struct unit *unit; // the unit that is built
    LLVMValueRef *places;    // of its parameters and results: LLVM values, by value id
    LLVMValueRef frame;      // first byte of the unit's frame
    uint32_t *producers;     // op that makes a value, NO_ID for parameters
    uint32_t *accumulators;  // the accumulate op that takes an inline value as its term, or NO_ID
    bool *made;              // ops that another in front of them has made already
};

// ---- emitter.c --------------------------------------------------------------------------------

// An empty module for the target that `triple` and `layout` name.
void emitter_open(struct emitter *, struct arena *, const struct job *, const char *name);
void emitter_close(struct emitter *); // frees the module, too, unless it was taken

// Begins `int32_t name(context, n_pointers pointers)`; the builder stands in its body.
void function_begin(struct emitter *, LLVMValueRef function);
void function_end(struct emitter *); // returns PLACE_OK
void set_attribute(struct emitter *, LLVMValueRef function, const char *name);
LLVMTypeRef function_type(struct emitter *, unsigned n_pointers);

LLVMValueRef constant_i32(struct emitter *, int64_t value);
LLVMValueRef constant_i64(struct emitter *, int64_t value);
LLVMValueRef constant_f64(struct emitter *, double value);
LLVMValueRef null_pointer(struct emitter *);
LLVMValueRef stack_array(struct emitter *, LLVMTypeRef element, unsigned count); // in the entry
LLVMValueRef offset_pointer(struct emitter *, LLVMValueRef pointer, int64_t bytes);
LLVMValueRef element_pointer(struct emitter *, LLVMTypeRef element, LLVMValueRef pointer,
                             LLVMValueRef index);
// The coordinate of this rank along a product of axes, 0 .. size-1, as an i64.
LLVMValueRef coordinate(struct emitter *, const struct axis_list *axes);

// Calls the runtime for a statement, and leaves the function when the status is not PLACE_OK.
void call_runtime(struct emitter *, enum runtime_call, uint32_t statement,
                  const LLVMValueRef *arguments, unsigned n);
#define CALL_RUNTIME(emitter, name, statement, ...)                                                \
    call_runtime(emitter, CALL_##name, statement, (const LLVMValueRef[]){__VA_ARGS__},             \
                 sizeof((const LLVMValueRef[]){__VA_ARGS__}) / sizeof(LLVMValueRef))
// Returns `status` from the function when it is not zero.
void test_status(struct emitter *, LLVMValueRef status);
LLVMValueRef place_dtype_constant(struct emitter *, enum dtype); // enum place_dtype, an i32

// A counted loop: `for (i = begin; i < end; i++)`, or downwards over the same numbers. The builder
// stands in its body between begin and end.
struct counted_loop {
    LLVMValueRef counter; // i64
    LLVMValueRef begin, end;
    LLVMBasicBlockRef before, body, after;
    bool descending;
};
struct counted_loop loop_begin(struct emitter *, LLVMValueRef begin, LLVMValueRef end,
                               bool descending);
// `parallel`: no iteration depends on another through memory (all accesses are in access_group).
void loop_end(struct emitter *, struct counted_loop *, bool parallel);

// ---- elements.c -------------------------------------------------------------------------------

// The type of an element in memory, and of what is computed with: f32 for one of 16 bits.
LLVMTypeRef element_type(struct emitter *, enum dtype);
LLVMTypeRef register_type(struct emitter *, enum dtype);
// x, an f32, f64 or i32, as an f32 or f64, rounded where that has fewer digits.
LLVMValueRef convert(struct emitter *, LLVMValueRef x, enum dtype);
// x, likewise, rounded once to a type, as what is computed with.
LLVMValueRef round_to(struct emitter *, LLVMValueRef x, enum dtype);
// An element, as what is computed with, and the access of memory, for what is to be said of it.
LLVMValueRef load_element(struct emitter *, enum dtype, LLVMValueRef from, LLVMValueRef *access);
// Rounds x and stores it; returns the access.
LLVMValueRef store_element(struct emitter *, enum dtype, LLVMValueRef x, LLVMValueRef to);

// ---- values.c ---------------------------------------------------------------------------------

// Address of a value's first byte.
LLVMValueRef place_of(struct emitter *, value_id);
LLVMValueRef operand_place(struct emitter *, const struct op *, unsigned i);
const struct tensor_type *value_type(const struct emitter *, value_id);
bool is_inline(const struct emitter *, value_id);
bool same_place(const struct emitter *, value_id a, value_id b);
// Two values of which one may have died where the other begins, so that a plan may have given both
// the same bytes.
bool share_bytes(const struct emitter *, value_id a, value_id b);

// Where a kernel leaves a result: the value's own place; or, when the value is inline and an op
// that adds it takes it, the sum's place, to be added to. A place of NULL: nobody wants it.
struct target {
    LLVMValueRef place;
    LLVMValueRef accumulate; // i32: 0 or 1
    bool as_one;             // added when it is whole, not piece by piece
};
struct target result_target(struct emitter *, const struct op *, unsigned i);
bool is_added_by_producer(const struct emitter *, const struct op *sum);
// i32: 1 where the op adds to the sum that is its first operand, 0 where it begins it anew.
LLVMValueRef adds_to_sum(struct emitter *, const struct op *sum);

// First number of the slice of an iota that an index operand is.
LLVMValueRef iota_start(struct emitter *, value_id);

// The op that makes an inline value.
const struct op *producer_of(const struct emitter *, value_id);
int64_t operand_elements(const struct emitter *, const struct op *, unsigned operand);

// ---- unit.c -----------------------------------------------------------------------------------

void emit_unit(struct emitter *, const struct unit *);
LLVMValueRef declare_unit(struct emitter *, const struct unit *);
unsigned unit_pointer_count(const struct unit *); // parameters and results that have own places

// ---- blocks.c ---------------------------------------------------------------------------------

// Dimensions that an op works on in blocks lie as [parts][blocks][elements of one]; 0 blocks: none
// of them is in any.
struct cut {
    int64_t blocks, parts;
};
// Takes in the next dimension, outwards; false: its blocks and those inside it lie in no such way.
bool add_to_cut(struct cut *, const struct op *, const struct dim *);
// Rows that an op sums over are the first dimensions of its first operand; so many of them. 0: it
// sums over none.
unsigned row_dimensions(const struct unit *, const struct op *);
// How these lie, or the elements of a row that are summed; false: as above.
bool cut_of_rows(const struct unit *, const struct op *, struct cut *);

// ---- one file each ----------------------------------------------------------------------------

void emit_elementwise(struct emitter *, const struct op *); // elementwise.c
// Writes all of a sum but one term, which is then to be added where the target says.
struct target begin_sum(struct emitter *, const struct op *sum, value_id term); // elementwise.c
void emit_product(struct emitter *, const struct op *);                         // product.c
// The sum that the product can add itself to, in the place of the product's own; or NULL.
const struct op *sum_around(const struct emitter *, const struct op *product); // product_sum.c
void emit_kernel(struct emitter *, const struct op *);                         // kernels.c
void emit_slice(struct emitter *, const struct op *);                          // collectives.c
void emit_collective(struct emitter *, const struct op *);                     // collectives.c
void emit_steps(struct emitter *, uint32_t program);                           // step.c

// collectives.c: one tensor of a collective, and the call that starts it.
struct piece {
    LLVMValueRef from, to;
    struct piece_shape shape;
};
// `owner`: the place of the member to which it goes, or from which it comes; NULL: it has none.
void start_collective(struct emitter *, uint32_t statement, LLVMValueRef handle,
                      const struct exchange *, LLVMValueRef owner, enum dtype,
                      const struct piece *pieces, uint32_t n);
void start_message(struct emitter *, uint32_t statement, LLVMValueRef handle,
                   const struct exchange *, enum dtype, const struct piece *pieces, uint32_t n);

// copies.c: a copy between tiers.
struct copy {
    LLVMValueRef from, to, bytes;
    enum tier from_tier, to_tier;
};
void start_copy(struct emitter *, uint32_t statement, LLVMValueRef handle,
                const struct copy *copies, uint32_t n);

// math.c: the runtime's own exp, tanh, erf ... by their names in runtime/math, on f32 or f64.
LLVMValueRef emit_math(struct emitter *, const char *name, LLVMValueRef x);
LLVMValueRef emit_square_root_of(struct emitter *, LLVMValueRef x);

// draws.c: of the counter in `words`, whose place they take, the random words of a row of dropout;
// and the number that an element of the row draws. Words, column and number are i32.
void emit_row_words(struct emitter *, LLVMValueRef key, LLVMValueRef words[4]);
LLVMValueRef emit_element_number(struct emitter *, LLVMValueRef const words[4],
                                 LLVMValueRef column);

// What a program may say but no code is made for; the rest of the backend CHECKs it.
bool product_is_supported(const struct unit *, const struct op *);
bool kernel_is_supported(const struct unit *, const struct op *);

// Whether index operands may be any numbers in memory, not only an iota beside the op.
bool kernel_reads_positions(enum op_kind);

#endif
