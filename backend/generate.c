// The code generator's face: the whole program as one module (object, assembly, LLVM's text), what
// it cannot make code for, and the table of functions that the static part of the backend loads.
#include "backend/compile.h"
#include "backend/generator.h"

#include <pthread.h>
#include <string.h>

#include <llvm-c/Target.h>

// ---- the whole ------------------------------------------------------------------------

// Emits one module, in the order of the text: what is printed reads from units to steps.
static void emit_job(struct emitter *e, const struct job *job) {
    for (uint32_t u = 0; u < job->n_units; u++)
        emit_unit(e, &job->units[u]);
    for (uint32_t i = 0; i < job->n_programs; i++)
        emit_steps(e, i);
}

static char *module_text(struct arena *arena, LLVMModuleRef module, size_t *size) {
    char *text = LLVMPrintModuleToString(module);
    *size = strlen(text);
    char *copy = arena_string(arena, text, *size);
    LLVMDisposeMessage(text);
    return copy;
}

// Object or assembly: the same code, as bytes or as text.
static char *module_code(struct arena *arena, LLVMTargetMachineRef machine, LLVMModuleRef module,
                         enum backend_output output, size_t *size, const char **why) {
    LLVMMemoryBufferRef buffer;
    char *message = NULL;
    LLVMCodeGenFileType type = output == BACKEND_OBJECT ? LLVMObjectFile : LLVMAssemblyFile;
    if (LLVMTargetMachineEmitToMemoryBuffer(machine, module, type, &message, &buffer)) {
        *why = arena_format(arena, "%s", message);
        LLVMDisposeMessage(message);
        return NULL;
    }
    *size = LLVMGetBufferSize(buffer);
    char *copy = arena_string(arena, LLVMGetBufferStart(buffer), *size);
    LLVMDisposeMemoryBuffer(buffer);
    return copy;
}

char *generate(struct arena *arena, const struct job *job, const struct backend_options *options,
               enum backend_output output, size_t *size, const char **why) {
    LLVMTargetMachineRef machine = machine_open(arena, options, effort_units, why);
    if (!machine)
        return NULL;
    struct emitter e;
    emitter_open(&e, arena, job, job->name);
    e.has_fma = machine_has(machine, "fma");
    e.has_f16c = machine_has(machine, "f16c");
    emit_job(&e, job);
    module_finish(&e, machine);
    module_optimise(&e, machine, effort_units);
    char *bytes = output == BACKEND_LLVM ? module_text(arena, e.module, size)
                                         : module_code(arena, machine, e.module, output, size, why);
    emitter_close(&e);
    LLVMDisposeTargetMachine(machine);
    return bytes;
}

// ---- what cannot be generated -----------------------------------------------------------------

// A kernel adds a term to a sum where it makes it, if both have the type that it is made in.
static bool adds_what_is_computed(const struct unit *unit, const struct op *op) {
    value_id term = op->operands[1];
    enum dtype dtype = unit->values[term].type.dtype;
    if (dtype == unit->values[op->results[0]].type.dtype && !dtype_is_narrow(dtype))
        return true;
    for (uint32_t i = 0; i < unit->n_ops; i++)
        for (unsigned k = 0; k < unit->ops[i].n_results; k++)
            if (unit->ops[i].results[k] == term)
                return unit->values[term].storage != STORAGE_INLINE ||
                       op_rows[unit->ops[i].kind].kernel == KERNEL_ELEMENTWISE;
    return true;
}

static bool has_one_wide_type(const struct unit *unit, const struct op *op) {
    enum dtype common = DTYPE_NONE;
    for (unsigned i = 0; i < op->n_operands + op->n_results; i++) {
        value_id value = i < op->n_operands ? op->operands[i] : op->results[i - op->n_operands];
        enum dtype dtype = unit->values[value].type.dtype;
        if (!dtype_is_floating(dtype))
            continue;
        if (dtype_is_narrow(dtype) || (common != DTYPE_NONE && dtype != common))
            return false;
        common = dtype;
    }
    return true;
}

// Loops and kernels widen what they read and round what they make; codes of gradients are made of
// elements of one type.
static bool elements_are_coded(const struct unit *unit, const struct op *op) {
    if (op->kind == OP_CAST)
        return dtype_is_floating(unit->values[op->results[0]].type.dtype);
    if (op_adds_term(op->kind))
        return adds_what_is_computed(unit, op);
    bool of_one_type = op->kind == OP_COMPRESS || op->kind == OP_DECOMPRESS;
    return !of_one_type || has_one_wide_type(unit, op);
}

// An iota whose numbers follow one another: its first says them all.
static bool is_slice(const struct unit *unit, value_id value) {
    for (uint32_t i = 0; i < unit->n_ops; i++)
        if (unit->ops[i].kind == OP_IOTA && unit->ops[i].results[0] == value)
            return op_zigzag(&unit->ops[i]) < 0;
    return false;
}

// Kernels are told where a slice of the vocabulary begins, they do not read it: so it must be made
// beside them; and so are positions that have no place. The column of ops.def reads
// "operand:label", one after the other.
static bool indices_are_known(const struct unit *unit, const struct op *op) {
    for (const char *at = op_rows[op->kind].index; *at; at++) {
        value_id value = at[1] == ':' ? op->operands[*at - '0'] : NO_ID;
        bool read = kernel_reads_positions(op->kind) && value != NO_ID &&
                    unit->values[value].storage != STORAGE_INLINE;
        if (value != NO_ID && !read && !is_slice(unit, value))
            return false;
    }
    return true;
}

// Reasons name the op and the unit, as the text form does.
static const char *op_refusal(struct arena *arena, const struct unit *unit, const struct op *op) {
    const char *text = op_rows[op->kind].text;
    if (!elements_are_coded(unit, op))
        return arena_format(arena,
                            "no code is generated yet for the element types of `%s` in unit `%s`",
                            text, unit->name);
    if (op->kind == OP_EINSUM && !product_is_supported(unit, op))
        return arena_format(arena,
                            "`einsum` \"%s\" in unit `%s` is not one product of matrices, as its "
                            "blocks, its rounding or the sum that it is added to ask for: "
                            "rows, columns and contracted labels must each "
                            "stand side by side, in one order",
                            op_attribute(op, ATTRIBUTE_LABELS)->word, unit->name);
    if (!indices_are_known(unit, op))
        return arena_format(arena,
                            "the positions or rows of `%s` in unit `%s` are not an `iota` of that "
                            "unit in order",
                            text, unit->name);
    enum op_kernel kernel = op_rows[op->kind].kernel;
    if (op->kind != OP_SLICE && (kernel == KERNEL_CALL || kernel == KERNEL_SCALAR) &&
        !kernel_is_supported(unit, op))
        return arena_format(arena, "no code is generated yet for `%s` as unit `%s` uses it", text,
                            unit->name);
    return NULL;
}

static const char *refusal(struct arena *arena, const struct job *job) {
    for (uint32_t u = 0; u < job->n_units; u++)
        for (uint32_t i = 0; i < job->units[u].n_ops; i++) {
            const struct unit *unit = &job->units[u];
            const char *why = op_refusal(arena, unit, &unit->ops[i]);
            if (why)
                return why;
        }
    return NULL;
}

// ---- the table --------------------------------------------------------------------------------

// The one machine there is: descriptions of all of LLVM's targets would cost milliseconds.
static void initialise_target(void) {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
}

const struct generator *place_backend_generator(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT; // LLVM registers targets in its own globals
    static const struct generator generator = {
        .refusal = refusal,
        .jit = jit_open,
        .entry = jit_entry,
        .code_free = jit_free,
        .generate = generate,
    };
    pthread_once(&once, initialise_target);
    return &generator;
}
