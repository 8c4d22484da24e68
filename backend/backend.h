// Turns a final, planned job into code that runs: jitted in this process, an object, assembly
// or LLVM's text, or an executable. Also describes a job to the runtime (runtime/place.h).
//
// Two libraries. `place_backend` (static) is what the driver links: this header, the descriptor,
// the system's cc. `libplace_backend.so` is the code generator with libLLVM behind it; it is loaded
// by backend_load and not before, since libLLVM costs 13 ms and 51 MB at every start: `check`,
// `opt`, `emit` and `explain` never pay for it. It is sought as ../lib/libplace_backend.so
// from the directory of the running executable, which holds in the build tree and when installed.
//
// What fails is said in `*why`, a sentence without a full stop, in the caller's arena.
#ifndef PLACE_BACKEND_BACKEND_H
#define PLACE_BACKEND_BACKEND_H

#include <stdbool.h>
#include <stddef.h>

#include "ir/ir.h"
#include "runtime/place.h"

struct config;
struct source_files;

struct backend_options {
    // "v2", "v3" or "v4": code for every machine of this level of x86-64. NULL: jit makes code for
    // this very machine, what leaves the process is for this machine's level.
    const char *level;
    int threads;       // that compile side by side; 0: as many as there are cores
    const char *cache; // directory of objects compiled before (jit only); NULL: compile everything
};
// $PLACE_CACHE (empty: none), else place in $XDG_CACHE_HOME or ~/.cache; NULL: none. `*why` is
// NULL, or why that directory is not used: what others could write there would be executed.
const char *backend_cache_directory(struct arena *arena, const char **why);

struct backend; // the loaded code generator
struct backend *backend_load(struct arena *arena, const char **why);

// NULL, or what of the job no code can be made for: those that a person wrote may hold an
// einsum that is no matrix product. Every function below expects a job that passed.
const char *backend_refusal(const struct backend *, struct arena *arena, const struct job *);

// ---- code -------------------------------------------------------------------------------------

// Machine code in this process; it lives until it is freed. The entry of a step that the job's
// program of this number has not is NULL.
struct backend_code;
struct backend_code *backend_jit(const struct backend *, struct arena *arena, const struct job *,
                                 const struct backend_options *, const char **why);
place_entry *backend_entry(const struct backend *, const struct backend_code *, uint32_t program,
                           enum step_kind);
void backend_set_entries(const struct backend *, const struct backend_code *,
                         struct place_program *descriptor); // of all its parts
void backend_code_free(const struct backend *, struct backend_code *);

enum backend_output { BACKEND_OBJECT, BACKEND_ASSEMBLY, BACKEND_LLVM };
// The whole job as one module, in the arena. NULL: see `why`.
char *backend_generate(const struct backend *, struct arena *arena, const struct job *,
                       const struct backend_options *, enum backend_output, size_t *size,
                       const char **why);

// Object, descriptor and runtime, linked by the system's cc into an executable at `path`.
bool backend_build(const struct backend *, struct arena *arena, const struct job *,
                   const struct place_program *descriptor, const struct backend_options *,
                   const char *path, const char **why);

// Writes a file under a new name beside `path`, then renames it: there is never half a file.
bool backend_write_file(struct arena *arena, const char *path, const void *bytes, size_t size,
                        const char **why);

// ---- descriptor -------------------------------------------------------------------------------

// What the runtime is told and the job does not hold.
struct descriptor_facts {
    const struct config *config;        // seed, and what the model costs; NULL: nothing known
    const struct source_files *sources; // for the lines of statements; NULL: no lines
    const char *plan_hash;              // NULL: made here from the job's text
    const char *config_json;            // NULL: no file says the model
    const char *config_lacks;           // where it is NULL: what none can say; NULL: not known
    const char *config_unseen;          // what of it shapes do not show; NULL with it
    const int64_t *group_bytes;         // predicted, of every group of job_groups; NULL: not known
    const struct place_memory *memory;  // predicted, of every program; NULL: not known
};
// The descriptor, without entries (train, evaluate and average of parts are NULL), in the arena.
struct place_program *descriptor_make(struct arena *arena, const struct job *,
                                      const struct descriptor_facts *);
// Prints the program as a C file: the descriptor, and a main that calls place_main where the CPU
// has the level that the object was made for.
void descriptor_print(const struct place_program *, const struct job *, const char *level,
                      FILE *to);

#endif
