// The stages from a file to a judged program. What goes wrong is in the diagnostics; a stage that
// reports an error ends the way. The passes' own order is passes.def.
//
// A compilation owns everything that comes of one file: the arena, the sources, what was reported.
// The verbs ask for a stage and take what they need of it; none of them knows how it was reached. A
// trial of a fix is a compilation of its own, of another text, whose reports nobody sees.
#include "driver/compile.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "driver/costs.h"
#include "driver/edited.h"
#include "driver/report.h"
#include "driver/said.h"
#include "ir/check.h"

const char *const reason_names[] = {NULL, "syntax", "rules", "refuted", "unproved", "unsupported"};

// <prefix>/share/place, which has lib/, for a command in <prefix>/bin, so that the build tree and an
// installation are found by one rule; PLACE_LIBRARY in the environment first.
static const char *library_path(struct arena *arena) {
    const char *given = getenv("PLACE_LIBRARY");
    if (given && *given)
        return given;
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length <= 0)
        return NULL;
    path[length] = 0;
    for (int i = 0; i < 2; i++) { // bin/placec
        char *slash = strrchr(path, '/');
        if (!slash)
            return NULL;
        *slash = 0;
    }
    return arena_format(arena, "%s/share/place", path);
}

// A text in memory is a fix on trial; its path is the file's, so that imports are found beside it.
static bool run_parse(struct compilation *c, const struct options *options) {
    uint32_t source;
    bool read = c->text ? frontend_read_text(&c->arena, c->diagnostics, c->path, c->text,
                                             c->text_length, &source)
                        : frontend_read(&c->arena, c->diagnostics, options->operand, &source);
    return read && frontend_parse(&c->arena, c->diagnostics, source, &c->file);
}

static bool run_resolve(struct compilation *c, const struct options *options) {
    struct frontend_options frontend = {
        .strategy = options->values[OPTION_STRATEGY],
        .settings = options->lists[OPTION_DEFINE].items,
        .n_settings = options->lists[OPTION_DEFINE].n,
        .one_of_several = options->one_of_several,
        .ranks = option_integer(options, OPTION_RANKS, 0),
        .seed = options->values[OPTION_SEED],
        .library_directory = library_path(&c->arena),
    };
    c->resolved = frontend_resolve(&c->arena, c->diagnostics, &c->file, &frontend, &c->config);
    c->library = c->resolved && !c->config.strategy.name;
    if (c->resolved)
        factor_axes(&c->config, &c->arena);
    return c->resolved;
}

static bool run_reference(struct compilation *c) {
    const struct pass_context context = {.config = &c->config, .diagnostics = c->diagnostics};
    c->reference = program_new(&c->arena, c->config.strategy.name);
    return passes_run(c->reference->job, &context, PASS_BUILD, PASS_AVERAGE);
}

// The passes behind the reference; then, where the file writes a program out, that in its place.
// What was derived is made even so: the written-out text is compared with it, and may leave parts
// to it.
static bool run_final(struct compilation *c) {
    const struct pass_context context = {.config = &c->config,
                                         .diagnostics = c->diagnostics,
                                         .placement = &c->placement,
                                         .routes = &c->routes,
                                         .unparted = &c->whole,
                                         .followed = &c->followed};
    c->final = job_only(job_clone(&c->arena, c->reference->job));
    struct job *job = c->final->job;
    if (!passes_run(job, &context, PASS_AVERAGE + 1, N_PASSES - 1))
        return false;
    c->final = job->programs[0];
    if (!edited_replace(c))
        return false;
    job_number(c->final->job);
    return true;
}

// ---- judgement --------------------------------------------------------------------------------

// What each state takes at the fullest moment of an arena.
static const char *states_text(struct compilation *c, const struct account_arena *held) {
    const char *text = "";
    for (int state = 0; state < N_STATES; state++)
        text = arena_format(&c->arena, "%s%s %s, ", text, state_names[state],
                            bytes_text(&c->arena, (double)held->states[state]));
    return arena_format(&c->arena, "%stransient %s", text,
                        bytes_text(&c->arena, (double)held->transient));
}

// E701, W801: what the plan needs against what the device has, and its host for each device.
static void check_memory(struct compilation *c, enum tier tier) {
    const struct device_config *device = &c->config.device;
    const struct account_arena *arena = &c->accounts[holds_most(c, tier)]->arenas[tier];
    int64_t limit = tier_limit(device, tier), peak = arena->peak;
    if (!limit || peak <= limit / 10 * 8)
        return;
    const char *needs = bytes_text_beside(&c->arena, peak, limit);
    const char *has = bytes_text_beside(&c->arena, limit, peak);
    const char *message =
        tier == TIER_DEVICE
            ? arena_format(&c->arena, "this strategy needs %s on every device; `%s` has %s", needs,
                           device->name, has)
            : arena_format(&c->arena,
                           "this strategy needs %s of the host for every device; `host_memory` of "
                           "`%s` is %s",
                           needs, device->name, has);
    struct diagnostic *d = report(c->diagnostics, peak > limit ? E701 : W801,
                                  c->config.strategy.name_span, "%s", message);
    diagnostic_note_at(d, device->origin.span, "the device is declared here");
    diagnostic_note(d, "%s", states_text(c, arena));
}

// E107. Whatever fits a device may be sent often. The transfer that is sent most of is shown.
static bool check_sent(struct compilation *c) {
    const struct account *account = c->accounts[sends_most(c)];
    const struct account_transfer *most = account->transfers;
    if (account->total_bytes <= (int64_t)LIMIT_DEVICE_BYTES)
        return true;
    for (uint32_t i = 1; i < account->n_transfers; i++)
        if (account->transfers[i].bytes > most->bytes)
            most = &account->transfers[i];
    struct diagnostic *d =
        report(c->diagnostics, E107, most->span,
               "a device would send more than 2^60 bytes in a step, which is as far as can be "
               "counted");
    diagnostic_help(d, "lower the batch, or the sizes of what is sent here");
    return false;
}

// An account is taken before the program is verified, since also of a refused one E701 may be worth knowing.
static bool run_account(struct compilation *c) {
    const struct job *job = c->final->job;
    c->accounts = ARENA_ARRAY(&c->arena, struct account *, job->n_programs);
    for (uint32_t i = 0; i < job->n_programs; i++) {
        c->accounts[i] =
            account_followed(job->programs[i], c->edited ? NULL : c->followed, &c->arena);
        if (i == 0 ||
            c->accounts[i]->arenas[TIER_DEVICE].peak > c->account->arenas[TIER_DEVICE].peak) {
            c->account = c->accounts[i];
            c->final = job->programs[i];
        }
    }
    followed_free(c->followed);
    c->followed = NULL;
    return true;
}

// Costs are told of accepted programs only, since the price of a wrong one means nothing.
static bool run_judge(struct compilation *c) {
    // The proof takes for granted what these ask.
    passes_check(c->reference->job, "the program of one device");
    passes_check(c->final->job, "the program to be proved");
    c->verdict = verify(c->reference, c->final->job, &c->arena, c->diagnostics);
    check_memory(c, TIER_DEVICE);
    check_memory(c, TIER_HOST);
    const struct too_long *too_long = find_too_long(c);
    if (too_long)
        report_too_long(c->diagnostics, too_long);
    else if (check_sent(c) && c->verdict.kind == VERDICT_ACCEPTED) {
        edited_check(c);
        check_said(c);
        check_costs(c);
    }
    return c->verdict.kind == VERDICT_ACCEPTED;
}

struct step_time compilation_time(const struct compilation *c) {
    const struct device_config *device = &c->config.device;
    return is_pipelined(c)
               ? account_pipeline_time(c->final->job, c->placement.pipeline.schedule, device)
               : account_time(c->final, c->account, device);
}

// ---- the way ----------------------------------------------------------------------------------

static bool run_stage(struct compilation *c, const struct options *options, enum stage stage) {
    switch (stage) {
    case STAGE_PARSED:
        return run_parse(c, options);
    case STAGE_RESOLVED:
        return run_resolve(c, options);
    case STAGE_REFERENCE:
        return run_reference(c);
    case STAGE_FINAL:
        return run_final(c);
    case STAGE_ACCOUNTED:
        return run_account(c);
    case STAGE_JUDGED:
        return run_judge(c);
    }
    return false;
}

// Goes from one stage to another, both included. A library has nothing behind STAGE_RESOLVED.
static bool go(struct compilation *c, const struct options *options, enum stage first,
               enum stage last) {
    for (enum stage next = first; next <= last && !c->library; next++) {
        bool went_well = run_stage(c, options, next);
        c->entered = next;
        // Names are looked up even in a file with syntax errors: one run says as much as it can.
        if (next == STAGE_PARSED && !went_well && c->file.n && last > STAGE_PARSED)
            run_resolve(c, options);
        if (!went_well || c->diagnostics->n_errors)
            return false;
        c->reached = next;
    }
    return true;
}

static void begin(struct compilation *c, const struct options *options, const char *path) {
    *c = (struct compilation){.path = path};
    c->diagnostics = diagnostics_new(&c->arena, &c->sources);
    c->diagnostics->limit =
        (uint32_t)option_integer(options, OPTION_ERROR_LIMIT, DEFAULT_ERROR_LIMIT);
}

bool compile(struct compilation *c, const struct options *options, enum stage stage) {
    begin(c, options, options->operand);
    return go(c, options, STAGE_PARSED, stage);
}

bool compile_text(struct compilation *c, const struct options *options, const char *path,
                  const char *text, size_t length, enum stage stage) {
    begin(c, options, path);
    c->trial = true;
    c->text = text;
    c->text_length = length;
    return go(c, options, STAGE_PARSED, stage);
}

bool compile_further(struct compilation *c, const struct options *options, enum stage stage) {
    return go(c, options, c->reached + 1, stage);
}

void compilation_free(struct compilation *c) {
    followed_free(c->followed);
    arena_free(&c->arena);
}

// Whether the error is one of the language, and not of what is said in it: sizes, combinations and
// relaxations are rules that the frontend can already hold.
static bool is_of_language(enum diagnostic_code code) {
    return diagnostic_rows[code].text[1] == '1' && code != E120 && code != E121 && code != E122 &&
           code != E199;
}

// The verifier's verdict where it came to one; else syntax if any error is of the language, and
// unsupported only if nothing else is wrong: with that mended the file would be right.
enum reason compilation_reason(const struct compilation *c) {
    if (c->diagnostics->n_errors == 0)
        return REASON_NONE;
    if (c->reached >= STAGE_FINAL && c->verdict.kind == VERDICT_REFUTED)
        return REASON_REFUTED;
    if (c->reached >= STAGE_FINAL && c->verdict.kind == VERDICT_UNPROVED)
        return REASON_UNPROVED;
    bool syntax = false, unsupported = true;
    for (uint32_t i = 0; i < c->diagnostics->n_items; i++) {
        const struct diagnostic *d = c->diagnostics->items[i];
        if (d->severity != SEVERITY_ERROR)
            continue;
        unsupported &= d->code == E199;
        syntax |= is_of_language(d->code);
    }
    return syntax ? REASON_SYNTAX : unsupported ? REASON_UNSUPPORTED : REASON_RULES;
}

const struct diagnostic *first_error(const struct compilation *c) {
    for (uint32_t i = 0; i < c->diagnostics->n_items; i++)
        if (c->diagnostics->items[i]->severity == SEVERITY_ERROR)
            return c->diagnostics->items[i];
    return NULL;
}
