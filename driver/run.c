// placec run: compile in memory and train here, one rank per device of the mesh. The driver's part
// ends with place_run, which is the runtime that built executables link: both train alike.
#include <stdio.h>

#include "driver/describe.h"
#include "driver/native.h"

// Options of the command line in the runtime's terms; a value that is no number was refused before.
static struct place_run_options said_options(const struct options *options) {
    struct place_run_options run = {.has_seed = option_given(options, OPTION_SEED)};
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
    return run;
}

// In which words the command line has the seed does not matter.
static struct place_run_options run_options(struct compilation *c, const struct options *options) {
    const struct train_config *config = &c->config.train;
    struct place_run_options run = said_options(options);
    run.texts = native_texts(c);
    if (config->seed_origin.kind == ORIGIN_COMMAND_LINE) {
        run.seed = config->seed;
        run.has_seed = true;
    }
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

// What is asked for is looked at before anything is compiled: compiling takes a second.
int verb_run(const struct options *options) {
    struct place_run_options run = said_options(options);
    int status =
        option_given(options, OPTION_COMPILE_ONLY) ? -1 : place_options_check("placec", &run);
    return status >= 0 ? status : compile_then(options, STAGE_JUDGED, train);
}
