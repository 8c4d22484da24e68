// placec run: compile in memory and train here, one rank per device of the mesh.
#include <stdio.h>

#include "backend/backend.h"
#include "driver/compile.h"
#include "driver/describe.h"
#include "driver/options.h"

static struct place_run_options run_options(const struct options *options) {
    return (struct place_run_options){
        .data = options->values[OPTION_DATA],
        .steps = option_integer(options, OPTION_STEPS, 0),
        .has_seed = option_given(options, OPTION_SEED),
        .seed = (uint64_t)option_integer(options, OPTION_SEED, 0),
        .eval = options->values[OPTION_EVAL],
        .save = options->values[OPTION_SAVE],
        .dump = options->values[OPTION_DUMP],
        .log = options->values[OPTION_LOG],
        .sample = option_integer(options, OPTION_SAMPLE, 0),
        .threads = (int32_t)option_integer(options, OPTION_THREADS, 0),
        .quiet = option_given(options, OPTION_QUIET),
    };
}

static int train(struct compilation *c, const struct options *options) {
    const char *why = NULL;
    struct backend *backend = backend_load(&c->arena, &why);
    struct backend_code *code = NULL;
    const struct backend_options jit = {.cache = backend_cache_directory(&c->arena)};
    if (backend)
        why = backend_refusal(backend, &c->arena, c->final);
    if (backend && !why)
        code = backend_jit(backend, &c->arena, c->final, &jit, &why);
    if (!code) {
        fprintf(stderr, "placec: %s: %s\n", c->path, why);
        return STATUS_REFUSED;
    }
    struct place_program *descriptor = describe_program(c);
    descriptor->train = backend_entry(backend, code, STEP_TRAIN);
    descriptor->evaluate = backend_entry(backend, code, STEP_EVALUATE);
    struct place_run_options run = run_options(options);
    fflush(stdout);
    int status = place_run(descriptor, &run);
    backend_code_free(backend, code);
    return status;
}

int verb_run(const struct options *options) {
    if (option_integer(options, OPTION_STEPS, 0) > 0 && !option_given(options, OPTION_DATA)) {
        fprintf(stderr, "placec: --steps needs data to train on\n"
                        "  give a text, .u16 or .u32 file with --data FILE\n");
        return STATUS_USAGE;
    }
    struct compilation c;
    compile(&c, options, STAGE_JUDGED);
    int status = compilation_finish(&c, options);
    if (status == STATUS_OK && !compilation_has_program(&c))
        status = STATUS_REFUSED;
    if (status == STATUS_OK)
        status = train(&c, options);
    compilation_free(&c);
    return status;
}
