// The pipeline as a list, and running a part of it.
#include "passes/passes.h"

#include <stdio.h>
#include <string.h>

#include "ir/check.h"
#include "ir/diagnostic.h"

const struct pass_row pass_rows[N_PASSES] = {
#define CONFIG                                         true
#define PROGRAM                                        false
#define PASS(NAME, name, function, input, needs, help) {name, function, input, PASS_##needs, help},
#include "passes/passes.def"
#undef PASS
#undef CONFIG
#undef PROGRAM
};

int pass_find(const char *name) {
    for (int i = 0; i < N_PASSES; i++)
        if (strcmp(pass_rows[i].name, name) == 0)
            return i;
    return -1;
}

void passes_check(const struct job *job, const char *when) {
    struct arena scratch = {0};
    const char *wrong = job_check(job, &scratch, NULL);
    if (!wrong && !job_needs_plan(job))
        wrong = job_check_plan(job, &scratch, NULL);
    if (wrong)
        fprintf(stderr, "%s: %s\n", when, wrong);
    CHECK(!wrong);
    arena_free(&scratch);
}

// A program that a pass broke is our bug: it ends here, where the pass is known, and not three
// passes later.
static void check_after(const struct job *job, const struct pass_row *pass) {
#ifndef NDEBUG
    struct arena scratch = {0};
    passes_check(job, arena_format(&scratch, "after pass `%s`", pass->name));
    arena_free(&scratch);
#endif
}

// What a pass derives may be larger than whatever a file says by itself. The size is the product of
// several fields, of which the batch is the one that a person is free to lower.
static bool check_sizes(const struct job *job, const struct pass_context *context) {
    struct arena scratch = {0};
    struct too_large found = job_too_large(job, &scratch);
    if (found.what) {
        const struct train_config *train = context->config ? &context->config->train : NULL;
        bool batch = found.batch && train;
        struct diagnostic *d =
            report(context->diagnostics, E107, batch ? origin_span(&train->batch_origin) : found.at,
                   "%s", found.what);
        if (batch)
            diagnostic_origin(d, &train->batch_origin);
        diagnostic_help(d, batch ? "lower `batch` or `sequence`, or the sizes of the model"
                                 : "lower the sizes of the model");
    }
    arena_free(&scratch);
    return !found.what;
}

// The first that refuses ends it; what it has reported says why.
bool passes_run(struct job *job, const struct pass_context *context, enum pass first,
                enum pass last) {
    struct placement placement = {0};
    struct pass_context run = *context;
    if (!run.placement)
        run.placement = &placement;
    for (enum pass i = first; i <= last; i++) {
        if (!pass_rows[i].run(job, &run) || !check_sizes(job, &run))
            return false;
        check_after(job, &pass_rows[i]);
    }
    return true;
}
