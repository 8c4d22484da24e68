// placec run: compile in memory and train here, one rank per device of the mesh. The driver's part
// ends with place_run, which is the runtime that built executables link: both train alike.
#include <stdio.h>
#include <string.h>

#include "driver/describe.h"
#include "driver/native.h"

// Options of the command line in the runtime's terms; a value that is no number was refused before.
// In which words the command line has the seed does not matter.
static struct place_run_options run_options(struct compilation *c, const struct options *options) {
    const struct train_config *config = &c->config.train;
    bool defined = config->seed_origin.kind == ORIGIN_COMMAND_LINE;
    struct place_run_options run = {.texts = native_texts(c),
                                    .has_seed = defined || option_given(options, OPTION_SEED)};
#define RUN_TEXT(ID, member, name, argument, help) run.member = options->values[OPTION_##ID];
#define RUN_LIST(ID, member, name, argument, help)                                                 \
    run.member = (struct place_list){options->lists[OPTION_##ID].items,                            \
                                     (int32_t)options->lists[OPTION_##ID].n};
#define RUN_NUMBER(ID, member, name, argument, least, most, help)                                  \
    run.member = option_integer(options, OPTION_##ID, 0);
#define RUN_FLAG(ID, member, name, letter, help) run.member = option_given(options, OPTION_##ID);
#include "runtime/options.def"
#undef RUN_TEXT
#undef RUN_LIST
#undef RUN_NUMBER
#undef RUN_FLAG
    if (defined)
        run.seed = config->seed;
    return run;
}

// What was printed is flushed first: the runtime prints in ways of its own.
static int train(struct compilation *c, const struct options *options) {
    const char *why = NULL;
    struct backend *backend = native_backend(c, &why);
    struct backend_code *code = NULL;
    const char *distrust;
    const struct backend_options jit = {.cache = backend_cache_directory(&c->arena, &distrust)};
    if (distrust)
        fprintf(stderr, "placec: note: %s\n", distrust);
    if (backend)
        code = backend_jit(backend, &c->arena, c->final->job, &jit, &why);
    if (!code)
        return native_failed(c, why);
    if (option_given(options, OPTION_COMPILE_ONLY)) {
        backend_code_free(backend, code);
        return STATUS_OK;
    }
    struct place_program *descriptor = describe_program(c);
    backend_set_entries(backend, code, descriptor);
    struct place_run_options run = run_options(c, options);
    fflush(stdout);
    int status = place_run(descriptor, &run);
    backend_code_free(backend, code);
    return status;
}

// What the options ask for must be something, and steps need data. NULL, or what is wrong.
static const char *check_request(const struct options *options) {
    static const enum option_id requests[] = {OPTION_EVAL, OPTION_SAVE, OPTION_DUMP, OPTION_SAMPLE,
                                              OPTION_COMPILE_ONLY};
    if (option_integer(options, OPTION_STEPS, 0) > 0)
        return option_given(options, OPTION_DATA) || option_given(options, OPTION_COMPILE_ONLY)
                   ? NULL
                   : "--steps needs data to train on\n"
                     "  give a file of text or tokens with --data FILE";
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++)
        if (option_given(options, requests[i]))
            return NULL;
    return "there is nothing to do: no steps, no --eval, --save or --sample\n"
           "  train with --data FILE --steps N";
}

// What is asked for is looked at before anything is compiled: compiling takes a second.
int verb_run(const struct options *options) {
    const char *wrong = check_request(options);
    if (wrong) {
        fprintf(stderr, "placec: %s\n", wrong);
        return STATUS_USAGE;
    }
    return compile_then(options, STAGE_JUDGED, train);
}
