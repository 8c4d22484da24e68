// From the program to objects. Units are independent, so that each is a module of its own, with its
// own LLVM context, and they are compiled side by side on as many threads as there are cores.
//
// Units hold the loops over elements; their passes and code generation run at the same level (O2),
// since code generation at O2 of what did not go through the passes is quadratic in the size of a
// function. A step is calls, one after the other: O2 spends on their arguments as much time as on
// all units, and no run is faster for it.
#include "backend/compile.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include <llvm-c/Analysis.h>
#include <llvm-c/Target.h>
#include <llvm-c/Transforms/PassBuilder.h>

const struct effort effort_units = {"default<O2>", LLVMCodeGenLevelDefault};
const struct effort effort_steps = {"function(early-cse)", LLVMCodeGenLevelNone};

// ---- target -----------------------------------------------------------------------------------

// The names and features of this machine, or those of a level of x86-64.
static LLVMTargetMachineRef create_machine(struct arena *arena, LLVMTargetRef target,
                                           const char *triple, const char *level,
                                           struct effort effort) {
    char *cpu = LLVMGetHostCPUName(), *features = LLVMGetHostCPUFeatures();
    const char *name = level ? arena_format(arena, "x86-64-%s", level) : cpu;
    LLVMTargetMachineRef machine =
        LLVMCreateTargetMachine(target, triple, name, level ? "" : features, effort.code,
                                LLVMRelocPIC, LLVMCodeModelDefault);
    LLVMDisposeMessage(cpu);
    LLVMDisposeMessage(features);
    return machine;
}

LLVMTargetMachineRef machine_open(struct arena *arena, const struct backend_options *options,
                                  struct effort effort, const char **why) {
    char *triple = LLVMGetDefaultTargetTriple(), *message = NULL;
    LLVMTargetRef target;
    LLVMTargetMachineRef machine = NULL;
    if (LLVMGetTargetFromTriple(triple, &target, &message))
        *why = arena_format(arena, "LLVM cannot make code for this machine: %s", message);
    else
        machine = create_machine(arena, target, triple, options->level, effort);
    LLVMDisposeMessage(message);
    LLVMDisposeMessage(triple);
    return machine;
}

// Features are written "+fma,-fma4,..."
static bool has_feature(const char *features, const char *feature) {
    size_t length = strlen(feature);
    for (const char *at = features; (at = strstr(at, feature)) != NULL; at += length)
        if (at > features && at[-1] == '+' && (at[length] == ',' || at[length] == '\0'))
            return true;
    return false;
}

// Where fma is missing llvm.fma would be a call of libm for every step of a polynomial.
bool machine_has(LLVMTargetMachineRef machine, const char *feature) {
    char *features = LLVMGetTargetMachineFeatureString(machine);
    char *cpu = LLVMGetTargetMachineCPU(machine);
    bool has = has_feature(features, feature) || strcmp(cpu, "x86-64-v3") == 0 ||
               strcmp(cpu, "x86-64-v4") == 0;
    LLVMDisposeMessage(features);
    LLVMDisposeMessage(cpu);
    return has;
}

// LLVM's own check of its input: a module that fails it is our bug.
static void check_module(LLVMModuleRef module) {
#ifndef NDEBUG
    char *message = NULL;
    if (LLVMVerifyModule(module, LLVMPrintMessageAction, &message)) {
        LLVMDumpModule(module);
        CHECK(!"a module that LLVM accepts");
    }
    LLVMDisposeMessage(message);
#else
    (void)module;
#endif
}

// Sets the target before the passes run: they fold sizes and alignments by the data layout and ask
// the machine for costs.
static void set_target(struct emitter *e, LLVMTargetMachineRef machine) {
    char *triple = LLVMGetTargetMachineTriple(machine);
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(machine);
    LLVMSetTarget(e->module, triple);
    LLVMSetModuleDataLayout(e->module, layout);
    LLVMDisposeTargetData(layout);
    LLVMDisposeMessage(triple);
}

void module_finish(struct emitter *e, LLVMTargetMachineRef machine) {
    set_target(e, machine);
    check_module(e->module);
}

void module_optimise(struct emitter *e, LLVMTargetMachineRef machine, struct effort effort) {
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef error = LLVMRunPasses(e->module, effort.passes, machine, options);
    CHECK(!error);
    LLVMDisposePassBuilderOptions(options);
}

// ---- one piece --------------------------------------------------------------------------------

struct work {
    const struct job *job;
    const struct backend_options *options;
    struct objects *objects;
    int cache;        // open directory, or -1
    atomic_uint next; // piece that nobody has taken
    atomic_bool failed, stored;
    struct arena *arena; // for the one message of the first failure
    pthread_mutex_t message_lock;
    const char *why;
};

// The steps of a program are one module: they are small, and change together.
static void emit_piece(struct emitter *e, const struct job *job, uint32_t piece) {
    if (piece < job->n_units) {
        emit_unit(e, &job->units[piece]);
        return;
    }
    emit_steps(e, piece - job->n_units);
}

// The first message stands; threads stop taking pieces.
static void fail(struct work *work, const char *message) {
    pthread_mutex_lock(&work->message_lock);
    if (!work->why)
        work->why = arena_format(work->arena, "%s", message);
    pthread_mutex_unlock(&work->message_lock);
    atomic_store(&work->failed, true);
}

static LLVMMemoryBufferRef compile_module(struct work *work, struct emitter *e,
                                          LLVMTargetMachineRef machine, struct effort effort) {
    LLVMMemoryBufferRef object = NULL;
    char *message = NULL;
    module_optimise(e, machine, effort);
    if (LLVMTargetMachineEmitToMemoryBuffer(machine, e->module, LLVMObjectFile, &message,
                                            &object)) {
        fail(work, message);
        LLVMDisposeMessage(message);
    }
    return object;
}

// Takes the object from the cache, or compiles it and leaves it there.
static LLVMMemoryBufferRef module_object(struct work *work, struct emitter *e,
                                         LLVMTargetMachineRef machine, struct effort effort) {
    if (work->cache < 0)
        return compile_module(work, e, machine, effort);
    struct cache_key key = cache_key_of(machine, effort, e->module);
    LLVMMemoryBufferRef object = cache_find(work->cache, &key);
    if (object)
        return object;
    object = compile_module(work, e, machine, effort);
    if (object) {
        cache_store(e->arena, work->cache, &key, object);
        atomic_store(&work->stored, true);
    }
    return object;
}

static void compile_piece(struct work *work, uint32_t piece, struct arena *arena) {
    const struct job *job = work->job;
    bool is_unit = piece < job->n_units;
    const char *name = is_unit ? job->units[piece].name : "step", *why = NULL;
    struct effort effort = is_unit ? effort_units : effort_steps;
    LLVMTargetMachineRef machine = machine_open(arena, work->options, effort, &why);
    if (!machine) {
        fail(work, why);
        return;
    }
    struct emitter e;
    emitter_open(&e, arena, job, name);
    e.has_fma = machine_has(machine, "fma");
    e.has_f16c = machine_has(machine, "f16c");
    emit_piece(&e, job, piece);
    module_finish(&e, machine);
    work->objects->buffers[piece] = module_object(work, &e, machine, effort);
    emitter_close(&e);
    LLVMDisposeTargetMachine(machine);
}

static void *compile_pieces(void *argument) {
    struct work *work = argument;
    for (;;) {
        uint32_t piece = atomic_fetch_add(&work->next, 1);
        if (piece >= work->objects->n || atomic_load(&work->failed))
            return NULL;
        struct arena arena = {0};
        // Large units first would pack better; the steps' module, the last, is small.
        compile_piece(work, piece, &arena);
        arena_free(&arena);
    }
}

// ---- all pieces -------------------------------------------------------------------------------

enum { MAX_THREADS = 64 };

// Never more threads than pieces, and at least the caller's.
static unsigned thread_count(const struct backend_options *options, uint32_t pieces) {
    long cores = options->threads ? options->threads : sysconf(_SC_NPROCESSORS_ONLN);
    if (cores > MAX_THREADS)
        cores = MAX_THREADS;
    if (cores > (long)pieces)
        cores = pieces;
    return cores < 1 ? 1 : (unsigned)cores;
}

// Threads that cannot be had are done without: the caller works too.
static void run_threads(struct work *work, unsigned n) {
    pthread_t threads[MAX_THREADS];
    unsigned started = 0;
    while (started + 1 < n && pthread_create(&threads[started], NULL, compile_pieces, work) == 0)
        started++;
    compile_pieces(work);
    for (unsigned i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
}

bool compile_objects(struct arena *arena, const struct job *job,
                     const struct backend_options *options, struct objects *objects,
                     const char **why) {
    struct work work = {.job = job,
                        .options = options,
                        .objects = objects,
                        .cache = cache_open(options->cache),
                        .arena = arena};
    objects->n = job->n_units + job->n_programs;
    objects->buffers = ARENA_ARRAY(arena, LLVMMemoryBufferRef, objects->n);
    pthread_mutex_init(&work.message_lock, NULL);
    run_threads(&work, thread_count(options, objects->n));
    pthread_mutex_destroy(&work.message_lock);
    if (atomic_load(&work.stored))
        cache_trim(arena, work.cache);
    if (work.cache >= 0)
        close(work.cache);
    *why = work.why;
    for (uint32_t i = 0; work.why && i < objects->n; i++)
        if (objects->buffers[i])
            LLVMDisposeMemoryBuffer(objects->buffers[i]);
    return !work.why;
}
