// Objects linked into this process by LLVM's ORC. Calls into the runtime are bound to the addresses
// that the caller gives, so that it does not matter whether the executable exports them.
#include "backend/compile.h"
#include "backend/generator.h"
#include "backend/symbols.h"

#include <stdlib.h>

#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>

struct backend_code {
    LLVMOrcLLJITRef jit;
    place_entry *(*entries)[N_STEPS]; // of every program
};

// Takes the error; false and a message if there is one.
static bool succeeded(struct arena *arena, LLVMErrorRef error, const char **why) {
    if (!error)
        return true;
    char *message = LLVMGetErrorMessage(error);
    *why = arena_format(arena, "%s", message);
    LLVMDisposeErrorMessage(message);
    return false;
}

// All rows of calls.def as absolute addresses, whether or not the program calls them.
static bool define_runtime(struct arena *arena, LLVMOrcLLJITRef jit,
                           const struct runtime_symbol *symbols, unsigned n, const char **why) {
    LLVMOrcCSymbolMapPair *pairs = ARENA_ARRAY(arena, LLVMOrcCSymbolMapPair, n);
    for (unsigned i = 0; i < n; i++) {
        pairs[i].Name = LLVMOrcLLJITMangleAndIntern(jit, symbols[i].name);
        pairs[i].Sym.Address = (LLVMOrcExecutorAddress)(uintptr_t)symbols[i].address;
        pairs[i].Sym.Flags.GenericFlags =
            LLVMJITSymbolGenericFlagsExported | LLVMJITSymbolGenericFlagsCallable;
    }
    LLVMOrcMaterializationUnitRef unit = LLVMOrcAbsoluteSymbols(pairs, n);
    return succeeded(arena, LLVMOrcJITDylibDefine(LLVMOrcLLJITGetMainJITDylib(jit), unit), why);
}

// memset and memcpy, which LLVM may make of loops.
static bool define_process(struct arena *arena, LLVMOrcLLJITRef jit, const char **why) {
    LLVMOrcDefinitionGeneratorRef process;
    if (!succeeded(arena,
                   LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess(
                       &process, LLVMOrcLLJITGetGlobalPrefix(jit), NULL, NULL),
                   why))
        return false;
    LLVMOrcJITDylibAddGenerator(LLVMOrcLLJITGetMainJITDylib(jit), process);
    return true;
}

// Objects belong to the JIT when they are added, so that after a failure only the rest is freed.
static bool add_objects(struct arena *arena, LLVMOrcLLJITRef jit, const struct objects *objects,
                        const char **why) {
    LLVMOrcJITDylibRef library = LLVMOrcLLJITGetMainJITDylib(jit);
    bool good = true;
    for (uint32_t i = 0; i < objects->n; i++) {
        if (good)
            good =
                succeeded(arena, LLVMOrcLLJITAddObjectFile(jit, library, objects->buffers[i]), why);
        else
            LLVMDisposeMemoryBuffer(objects->buffers[i]);
    }
    return good;
}

// Looking up the steps links them, and through them every unit that they call.
static bool find_entries(struct arena *arena, const struct job *job, struct backend_code *code,
                         const char **why) {
    code->entries = memory_given(calloc(job->n_programs, sizeof *code->entries));
    for (uint32_t i = 0; i < job->n_programs; i++)
        for (int s = 0; s < N_STEPS; s++) {
            LLVMOrcExecutorAddress address = 0;
            if (!job->programs[i]->steps[s].present)
                continue;
            if (!succeeded(arena,
                           LLVMOrcLLJITLookup(code->jit, &address, step_symbol(arena, job, i, s)),
                           why))
                return false;
            code->entries[i][s] = (place_entry *)(uintptr_t)address;
        }
    return true;
}

struct backend_code *jit_open(struct arena *arena, const struct job *job,
                              const struct backend_options *options,
                              const struct runtime_symbol *symbols, unsigned n_symbols,
                              const char **why) {
    struct objects objects;
    if (!compile_objects(arena, job, options, &objects, why))
        return NULL;
    struct backend_code *code = memory_given(calloc(1, sizeof *code));
    bool good = succeeded(arena, LLVMOrcCreateLLJIT(&code->jit, NULL), why);
    CHECK(good); // without it the objects could not be disposed of in one place
    good = define_runtime(arena, code->jit, symbols, n_symbols, why) &&
           define_process(arena, code->jit, why);
    good = add_objects(arena, code->jit, &objects, why) && good;
    if (good && find_entries(arena, job, code, why))
        return code;
    jit_free(code);
    return NULL;
}

place_entry *jit_entry(const struct backend_code *code, uint32_t program, enum step_kind kind) {
    return code->entries[program][kind];
}

void jit_free(struct backend_code *code) {
    LLVMErrorRef error = LLVMOrcDisposeLLJIT(code->jit);
    if (error)
        LLVMConsumeError(error);
    free(code->entries);
    free(code);
}
