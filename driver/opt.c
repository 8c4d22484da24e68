// placec opt: chosen passes alone, on a `.place` file (from `build` on) or on a program's text.
#include <stdio.h>
#include <string.h>

#include "driver/compile.h"
#include "driver/edited.h"
#include "driver/options.h"
#include "ir/check.h"

// A text of steps and units only is a program; anything else is a file in the language.
static bool is_program_text(const struct ast_file *file) {
    for (uint32_t i = 0; i < file->n; i++)
        if (file->items[i].kind != ITEM_STEP && file->items[i].kind != ITEM_UNIT)
            return false;
    return file->n > 0;
}

// A text is a job by itself, with mesh, sizes and tensors; no configuration stands behind it.
static struct job *read_job(struct compilation *c) {
    struct text_error error;
    const struct source_file *source = &c->sources.items[c->file.source];
    struct job *job = job_parse(&c->arena, source->text, source->length, c->file.source, &error);
    if (!job)
        report_text_error(c->diagnostics, &error);
    return job;
}

// A plan that a text writes out, and that no pass is about to make anew.
static bool keeps_sound_plan(struct compilation *c, const struct job *job, const enum pass *passes,
                             uint32_t n) {
    struct span at;
    bool anew = n > 0 && (passes[0] == PASS_FUSE || passes[0] == PASS_MEMORY);
    const char *wrong = anew || job_needs_plan(job) ? NULL : job_check_plan(job, &c->arena, &at);
    if (wrong)
        report(c->diagnostics, E600, at, "%s", wrong);
    return !wrong;
}

// The names in --passes, in order. False: a name is not a pass; said on stderr.
static bool parse_passes(struct arena *arena, const struct options *options, const char *list,
                         enum pass *passes, uint32_t *n) {
    *n = 0;
    while (*list) {
        size_t length = strcspn(list, ",");
        const char *name = arena_string(arena, list, length);
        int pass = pass_find(name);
        if (pass < 0 || *n == 64) {
            const char *names[N_PASSES], *pipeline = "the pipeline is";
            for (int i = 0; i < N_PASSES; i++) {
                names[i] = pass_rows[i].name;
                pipeline = arena_format(arena, "%s%s %s", pipeline, i ? "," : "", names[i]);
            }
            usage_unknown(options, "there is no pass", name, names, N_PASSES, pipeline);
            return false;
        }
        passes[(*n)++] = pass;
        list += length + (list[length] == ',');
    }
    return true;
}

// Checks that passes stand in an order that a `.place` file allows: every pass needs its row's
// pass, and does not know what a later one makes. False: said on stderr.
static bool check_order(const enum pass *passes, uint32_t n) {
    bool ran[N_PASSES + 1] = {[PASS_NOTHING] = true};
    for (uint32_t i = 0; i < n; i++) {
        const struct pass_row *row = &pass_rows[passes[i]];
        const struct pass_row *before = i ? &pass_rows[passes[i - 1]] : NULL;
        if (before >= row) {
            fprintf(stderr,
                    before == row
                        ? "placec: pass `%s` cannot run behind `%s`: a pass runs once\n"
                        : "placec: pass `%s` cannot run behind `%s`, which follows it in the "
                          "pipeline\n",
                    row->name, before->name);
            fprintf(stderr, "  give the passes in the pipeline's order, each once\n");
            return false;
        }
        if (!ran[row->needs]) {
            const char *needed = pass_rows[row->needs].name;
            fprintf(stderr, "placec: pass `%s` needs `%s` before it\n  add `%s` in front of `%s`\n",
                    row->name, needed, needed, row->name);
            return false;
        }
        ran[passes[i]] = true;
    }
    return true;
}

// Runs passes in the order given, which on a text need not be the pipeline's. In debug builds the
// program is checked after each.
static bool run_passes(struct compilation *c, struct job *job, const enum pass *passes, uint32_t n,
                       bool from_text) {
    const struct pass_context context = {.config = from_text ? NULL : &c->config,
                                         .diagnostics = c->diagnostics};
    for (uint32_t i = 0; i < n; i++) {
        if (from_text && pass_rows[passes[i]].reads_config) {
            fprintf(stderr,
                    "placec: pass `%s` reads the strategy, which a program's text does not hold\n"
                    "  give the .place file, and the passes from `build` on\n",
                    pass_rows[passes[i]].name);
            return false;
        }
        if (job->n_programs > 1 && passes[i] < PASS_PARTITION) {
            fprintf(stderr,
                    "placec: pass `%s` works on what one device does, and this text has parts\n"
                    "  give it the text from before `partition`\n",
                    pass_rows[passes[i]].name);
            return false;
        }
        // A text may hold a plan already, whole or in parts.
        if (from_text && passes[i] == PASS_FUSE)
            job_drop_plan(job);
        if (from_text && passes[i] == PASS_MEMORY)
            job_drop_places(job);
        if (!passes_run(job, &context, passes[i], passes[i]))
            return false;
    }
    job_number(job);
    return true;
}

// What is a program already has its strategy, its mesh and its sizes. False: said on stderr.
static bool check_text_options(const struct options *options) {
    static const enum option_id of_strategies[] = {OPTION_STRATEGY, OPTION_DEFINE, OPTION_RANKS};
    for (size_t i = 0; i < sizeof of_strategies / sizeof *of_strategies; i++)
        if (option_given(options, of_strategies[i])) {
            fprintf(stderr,
                    "placec: --%s changes nothing: %s holds a program, which is derived already\n"
                    "  leave it out, or give the .place file\n",
                    option_name(of_strategies[i]), options->operand);
            return false;
        }
    return true;
}

// Prints the program only if nothing was reported: half a pipeline's result would look like a
// program.
static int optimize(struct compilation *c, const struct options *options, const enum pass *passes,
                    uint32_t n) {
    bool from_text = is_program_text(&c->file);
    struct job *job = NULL;
    if (!from_text && n == 0) {
        fprintf(stderr,
                "placec: %s is no program yet: say which passes make it one\n"
                "  --passes=build makes the forward program; `placec emit` makes all of it\n",
                c->path);
        return STATUS_USAGE;
    }
    if (from_text ? !check_text_options(options) : !check_order(passes, n))
        return STATUS_USAGE;
    if (from_text) {
        job = read_job(c);
        if (job && !keeps_sound_plan(c, job, passes, n))
            job = NULL;
    } else if (compile_further(c, options, STAGE_RESOLVED) && compilation_has_program(c)) {
        job = program_new(&c->arena, c->config.strategy.name)->job;
    }
    bool went_well = job && run_passes(c, job, passes, n, from_text);
    int status = compilation_finish(c, options);
    if (!went_well || status != STATUS_OK)
        return STATUS_REFUSED;
    const struct print_options print = {.sources = option_given(options, OPTION_SPANS) ? &c->sources
                                                                                       : NULL};
    job_print(job, stdout, &print);
    return STATUS_OK;
}

// Which of the two forms the operand is, is known when it has been parsed.
int verb_opt(const struct options *options) {
    struct arena arena = {0};
    enum pass passes[64];
    uint32_t n;
    const char *list = options->values[OPTION_PASSES];
    if (!parse_passes(&arena, options, list ? list : "", passes, &n)) {
        arena_free(&arena);
        return STATUS_USAGE;
    }
    arena_free(&arena);
    struct compilation c;
    int status = STATUS_REFUSED;
    if (compile(&c, options, STAGE_PARSED))
        status = optimize(&c, options, passes, n);
    else
        compilation_finish(&c, options);
    compilation_free(&c);
    return status;
}
