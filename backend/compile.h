// Modules to machine code; shared by jit.c and generate.c of the code generator.
#ifndef PLACE_BACKEND_COMPILE_H
#define PLACE_BACKEND_COMPILE_H

#include <llvm-c/TargetMachine.h>

#include "backend/backend.h"
#include "backend/emitter.h"
#include "backend/generator.h"

// What LLVM does for a module: its passes, as in `opt -passes=`, and the level of code generation.
struct effort {
    const char *passes;
    LLVMCodeGenOptLevel code;
};
extern const struct effort effort_units, effort_steps;

// A machine to make code for. NULL: see `why`.
LLVMTargetMachineRef machine_open(struct arena *arena, const struct backend_options *,
                                  struct effort, const char **why);
// Sets the module's target and checks it (debug builds); then LLVM's passes may run.
void module_finish(struct emitter *, LLVMTargetMachineRef);
void module_optimise(struct emitter *, LLVMTargetMachineRef, struct effort);
// One of the features that x86-64-v3 has: "fma", "f16c".
bool machine_has(LLVMTargetMachineRef, const char *feature);

// The job cut into pieces that are compiled apart: one per unit, then one for each program's steps.
struct objects {
    LLVMMemoryBufferRef *buffers; // relocatable objects
    uint32_t n;
};
bool compile_objects(struct arena *arena, const struct job *, const struct backend_options *,
                     struct objects *, const char **why);

// cache.c: objects that were compiled before, in an open directory. -1: there is none, or one that
// others could write to.
int cache_open(const char *path); // NULL: none
enum { CACHE_KEY_BYTES = 32 };
struct cache_key {
    unsigned char bytes[CACHE_KEY_BYTES];
};
struct cache_key cache_key_of(LLVMTargetMachineRef, struct effort, LLVMModuleRef);
LLVMMemoryBufferRef cache_find(int directory, const struct cache_key *); // NULL: not there
void cache_store(struct arena *, int directory, const struct cache_key *, LLVMMemoryBufferRef);
void cache_trim(struct arena *, int directory);

// One module of all, and with the effort of units: what `emit --as=llvm` prints is what `build`
// links, and of the steps not what the JIT runs.
char *generate(struct arena *, const struct job *, const struct backend_options *,
               enum backend_output, size_t *size, const char **why);
struct backend_code *jit_open(struct arena *, const struct job *, const struct backend_options *,
                              const struct runtime_symbol *, unsigned n_symbols, const char **why);
place_entry *jit_entry(const struct backend_code *, uint32_t program, enum step_kind);
void jit_free(struct backend_code *);

#endif
