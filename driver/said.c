// W830: what the strategy's own text says and the step does not show.
//
// Nobody keeps a list of what may be in vain: each option that the text says, and each place that
// it gives to something, is tried. The step is derived once more from a strategy that says
// something else there (of an amount: one less; of a choice: another one), or nothing; where the
// same step comes of it, it is told, with the reason that the passes know
// (passes/placement/heard.c).
//
// A statement that repeats what holds without it is true, and heard; only where it would place
// something otherwise, and the step is the same, it is in vain. What `use` brings is meant for
// other strategies, too, and a mesh with axes of one device is a rehearsal for a larger one; but
// along such an axis there is no pipeline, whose schedule is then told.
#include "driver/said.h"

#include <inttypes.h>
#include <string.h>

#include "ir/check.h"
#include "ir/diagnostic.h"
#include "ir/limits.h"
#include "passes/passes.h"

struct saying {
    struct compilation *c;
    struct arena scratch;       // of one trial
    const struct program *step; // what is derived from all that is said
    size_t length, tried;       // of that, and of all that was derived to be compared with it
    struct config trial;        // with statements of its own
};

// ---- another value ----------------------------------------------------------------------------
// False: the option says what holds by default, and no other value is near.

static bool vary_unit(struct mode_statement *mode) {
    if (mode->unit == UNIT_LAYERS)
        return --mode->unit_layers > 0;
    bool layer = mode->unit == UNIT_LAYER;
    mode->unit = UNIT_LAYER;
    return !layer;
}

static bool vary_prefetch(struct mode_statement *mode) {
    bool ahead = mode->prefetch != 1;
    mode->prefetch += mode->prefetch ? -1 : 1;
    return ahead;
}

// What is kept to the end of the step is kept after forward.
static bool vary_after_forward(struct mode_statement *mode) {
    bool kept = mode->kept_after_forward || mode->keeps_part;
    mode->kept_after_forward = mode->kept_after_backward = mode->keeps_part = false;
    return kept;
}

static bool vary_after_backward(struct mode_statement *mode) {
    bool kept = mode->kept_after_backward;
    mode->kept_after_backward = false;
    return kept;
}

// Shards are summed in each microbatch, and nothing else may be said of them.
static bool vary_reduce(struct mode_statement *mode) {
    mode->reduce = mode->reduce == REDUCE_LAST ? REDUCE_EACH : REDUCE_LAST;
    return mode->extent == EXTENT_REPLICATED;
}

// An upper bound, heard where a smaller one would cut: one that all goes into may be meant to be. Also where it cuts
// what would travel together without it.
static bool vary_bucket(struct mode_statement *mode) {
    mode->bucket_bytes = mode->bucket_bytes > 1 ? 1 : LIMIT_BUCKET_BYTES;
    return true;
}

static bool leave_bucket(struct mode_statement *mode) {
    mode->bucket_bytes = LIMIT_BUCKET_BYTES;
    return true;
}

static bool vary_to(struct mode_statement *mode) {
    bool disk = mode->to == TIER_DISK;
    mode->to = disk ? TIER_HOST : TIER_DISK;
    return disk;
}

static bool vary_update(struct mode_statement *mode) {
    bool host = mode->update_on == TIER_HOST;
    mode->update_on = host ? TIER_DEVICE : TIER_HOST;
    return host;
}

static bool vary_average(struct mode_statement *mode) {
    mode->average_every += mode->average_every > 1 ? -1 : 1;
    return true;
}

static bool vary_outer(struct mode_statement *mode) {
    mode->outer = (struct optimizer_config){.kind = OPTIMIZER_NONE};
    return true;
}

static bool vary_wire(struct mode_statement *mode) {
    mode->wire = (struct wire){.way = WIRE_NONE};
    return true;
}

// How many are said, of layers at once or ahead; NULL: the option says no number. What is not said
// is 1.
enum { DEFAULT_AMOUNT = 1 };

static int64_t *unit_amount(struct mode_statement *mode) {
    return mode->unit == UNIT_LAYERS ? &mode->unit_layers : NULL;
}

static int64_t *prefetch_amount(struct mode_statement *mode) {
    return &mode->prefetch;
}

// Options of what is refused until it is compiled (E199) are not among them.
static const struct variation {
    const char *option;
    bool (*vary)(struct mode_statement *);
    int64_t *(*amount)(struct mode_statement *); // with what to say instead:
    const char *say;
    // To what holds without the option, where that is another value still; NULL: it is not.
    bool (*leave)(struct mode_statement *);
} variations[] = {
    {"unit", vary_unit, unit_amount, "say `unit = layers(%" PRId64 ")`", NULL},
    {"prefetch", vary_prefetch, prefetch_amount, "say `prefetch = %" PRId64 "`", NULL},
    {"after_forward", vary_after_forward, NULL, NULL, NULL},
    {"after_backward", vary_after_backward, NULL, NULL, NULL},
    {"reduce", vary_reduce, NULL, NULL, NULL},
    {"bucket", vary_bucket, NULL, NULL, leave_bucket},
    {"to", vary_to, NULL, NULL, NULL},
    {"update", vary_update, NULL, NULL, NULL},
    {"average", vary_average, NULL, NULL, NULL},
    {"outer", vary_outer, NULL, NULL, NULL},
    {"wire", vary_wire, NULL, NULL, NULL},
};

static const struct variation *variation_of(const char *option) {
    for (size_t i = 0; i < sizeof variations / sizeof *variations; i++)
        if (strcmp(variations[i].option, option) == 0)
            return &variations[i];
    CHECK(!"an option of a mode has a variation");
}

// ---- one trial --------------------------------------------------------------------------------

static void begin_trial(struct saying *s) {
    const struct strategy_config *strategy = &s->c->config.strategy;
    s->trial = s->c->config;
    s->trial.strategy.modes =
        ARENA_ARRAY(&s->scratch, struct mode_statement, strategy->n_modes + 1);
    memcpy(s->trial.strategy.modes, strategy->modes, strategy->n_modes * sizeof *strategy->modes);
}

// A strategy that would be refused is another one; and one that is too long to be tried is as said.
// Frees, and the plan, follow from the rest of a program, and so need not be made.
static bool comes_out_alike(struct saying *s) {
    s->tried += s->length;
    if (s->tried > LIMIT_TRIED)
        return false;
    const struct pass_context context = {
        .config = &s->trial, .diagnostics = diagnostics_new(&s->scratch, &s->c->sources)};
    struct program *program = program_new(&s->scratch, s->trial.strategy.name);
    return passes_run(program->job, &context, PASS_BUILD, PASS_OVERLAP) &&
           job_is_alike(program->job, s->step->job);
}

static bool lives_alike(const struct storage *a, const struct storage *b, enum state state) {
    return stored_residency(a, state) == stored_residency(b, state) &&
           stored_tier(a, state) == stored_tier(b, state);
}

// Whether each state of each tensor is stored in the trial as it is.
static bool is_placed_alike(struct saying *s) {
    struct placement trial;
    s->tried += s->length / 4; // weighing the statements is a part of deriving
    if (s->tried > LIMIT_TRIED)
        return false;
    const struct placement *own = &s->c->placement;
    if (!placement_derive(&s->trial, s->c->reference, &s->scratch,
                          diagnostics_new(&s->scratch, &s->c->sources), &trial) ||
        trial.n_ranges != own->n_ranges)
        return false;
    for (uint32_t t = 0; t < own->n_ranges * own->n_tensors; t++)
        for (enum state state = 0; state < STATE_ACTIVATIONS; state++) {
            if (!lives_alike(own->tensors[t].storage, trial.tensors[t].storage, state))
                return false;
            for (unsigned axis = 0; axis < s->trial.mesh.n_axes; axis++)
                if (stored_extent(own->tensors[t].storage, state, axis) !=
                    stored_extent(trial.tensors[t].storage, state, axis))
                    return false;
        }
    return true;
}

// One text may say it for several selectors; then all of them are tried together: with an amount,
// or where that is NULL as `vary` has it.
static bool try_option(struct saying *s, const struct said_option *option, const int64_t *amount,
                       bool (*vary)(struct mode_statement *)) {
    const struct variation *variation = variation_of(option->name);
    bool varies = true;
    begin_trial(s);
    for (uint32_t m = 0; m < s->trial.strategy.n_modes && varies; m++) {
        struct mode_statement *mode = &s->trial.strategy.modes[m];
        for (uint32_t i = 0; i < mode->n_options; i++)
            if (!span_equal(mode->options[i].span, option->span))
                continue;
            else if (amount)
                *variation->amount(mode) = *amount;
            else
                varies = vary(mode);
    }
    bool alike = varies && comes_out_alike(s);
    arena_free(&s->scratch);
    return alike;
}

// The least amount that makes the same step, where one less than is said does. 1: also of what says
// no amount.
static int64_t most_heard(struct saying *s, const struct mode_statement *mode,
                          const struct said_option *option) {
    const struct variation *variation = variation_of(option->name);
    struct mode_statement said = *mode;
    const int64_t *amount = variation->amount ? variation->amount(&said) : NULL;
    int64_t low = DEFAULT_AMOUNT, high = amount && *amount > low ? *amount - 1 : low;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (try_option(s, option, &middle, NULL))
            high = middle;
        else
            low = middle + 1;
    }
    return high;
}

// ---- what is told -----------------------------------------------------------------------------

// Whether something else has been told of the statement already.
static bool was_told(const struct saying *s, struct span span) {
    const struct diagnostics *told = s->c->diagnostics;
    for (uint32_t i = 0; i < told->n_items; i++)
        if (told->items[i]->code == W830 && told->items[i]->span.source == span.source &&
            told->items[i]->span.begin < span.end && span.begin < told->items[i]->span.end)
            return true;
    return false;
}

static struct unheard why(struct saying *s, const struct mode_statement *mode, const char *option) {
    return why_unheard(&s->c->config, s->c->reference, &s->c->placement, &s->c->arena, mode,
                       option);
}

// What is beyond the layers has them all, so leaving it out would make another step.
static void report_beyond(struct saying *s, const struct said_option *option) {
    const struct model_config *model = &s->c->config.model;
    struct diagnostic *d = report(s->c->diagnostics, W830, option->span,
                                  "`%s` goes beyond the layers of the model", option->name);
    diagnostic_say(d, "%" PRId64 " would be the same", model->layers);
    diagnostic_label(d, origin_span(&model->origin), "it has %" PRId64 " layer%s", model->layers,
                     plural_s(model->layers));
    diagnostic_help(d, "count no more layers than there are");
}

static void report_most(struct saying *s, const struct said_option *option, int64_t most) {
    struct diagnostic *d = report(
        s->c->diagnostics, W830, option->span,
        "`%s` beyond %" PRId64 " changes nothing here: the step is the same", option->name, most);
    diagnostic_help(d, variation_of(option->name)->say, most);
}

static void report_idle(struct saying *s, const struct mode_statement *mode,
                        const struct said_option *option, const char *why) {
    struct diagnostic *d =
        report(s->c->diagnostics, W830, option->span, "`%s` changes nothing here: %s", option->name,
               why ? why : "another value makes the same step");
    if (mode->origin.kind != ORIGIN_STATEMENT)
        diagnostic_origin(d, &mode->origin);
    diagnostic_help(d, "leave `%s` out", option->name);
}

static void report_option(struct saying *s, const struct mode_statement *mode,
                          const struct said_option *option) {
    struct unheard unheard = why(s, mode, option->name);
    int64_t most = unheard.kind == UNHEARD_HERE ? most_heard(s, mode, option) : DEFAULT_AMOUNT;
    if (unheard.kind == UNHEARD_BEYOND)
        report_beyond(s, option);
    else if (most > DEFAULT_AMOUNT)
        report_most(s, option, most);
    else if (unheard.kind == UNHEARD_HERE)
        report_idle(s, mode, option, unheard.why);
}

static void report_place(struct saying *s, const struct mode_statement *mode) {
    const char *words = why(s, mode, NULL).why;
    struct diagnostic *d = report(s->c->diagnostics, W830, origin_span(&mode->origin),
                                  "this changes nothing: the step is the same without it");
    if (words)
        diagnostic_say(d, "%s", words);
    if (mode->origin.kind != ORIGIN_STATEMENT)
        diagnostic_origin(d, &mode->origin);
    diagnostic_help(d, "leave it out");
}

// ---- each thing that is said ------------------------------------------------------------------

// Where a state lives is on no axis.
static bool is_rehearsed(const struct saying *s, const struct mode_statement *mode) {
    const struct mesh *mesh = &s->c->config.mesh;
    for (unsigned axis = 0; axis < mesh->n_axes && mode->sets_extent; axis++)
        if (mesh->axes[axis].size == 1 && (!mode->axes.n || axis_list_has(&mode->axes, axis)))
            return true;
    return false;
}

static bool is_in_vain(struct saying *s, const struct said_option *option) {
    const struct variation *variation = variation_of(option->name);
    return try_option(s, option, NULL, variation->vary) &&
           (!variation->leave || try_option(s, option, NULL, variation->leave));
}

static void check_options(struct saying *s, const struct mode_statement *mode) {
    for (uint32_t i = 0; i < mode->n_options; i++)
        if (!was_told(s, mode->options[i].span) && is_in_vain(s, &mode->options[i]))
            report_option(s, mode, &mode->options[i]);
}

static bool try_without(struct saying *s, const struct mode_statement *mode) {
    begin_trial(s);
    struct strategy_config *strategy = &s->trial.strategy;
    uint32_t kept = 0;
    for (uint32_t m = 0; m < strategy->n_modes; m++)
        if (!span_equal(strategy->modes[m].origin.span, mode->origin.span))
            strategy->modes[kept++] = strategy->modes[m];
    strategy->n_modes = kept;
    bool alike = (mode->state == STATE_ACTIVATIONS || !is_placed_alike(s)) && comes_out_alike(s);
    arena_free(&s->scratch);
    return alike;
}

// `optimizer : materialized` is refused (E314) but where the optimizer keeps nothing: then it is true.
static bool places(const struct mode_statement *mode) {
    if (mode->sets_extent)
        return mode->extent != EXTENT_REPLICATED;
    return mode->residency == RESIDENCY_OFFLOADED ||
           (mode->residency == RESIDENCY_MATERIALIZED && mode->state != STATE_OPTIMIZER);
}

static void check_place(struct saying *s, const struct mode_statement *mode) {
    if (places(mode) && !was_told(s, origin_span(&mode->origin)) && try_without(s, mode))
        report_place(s, mode);
}

static bool says_something(const struct mode_statement *mode) {
    return mode->own_text && (mode->n_options || places(mode));
}

// A schedule is not heard where one device has all layers, nor is it asked whether its stages are the model's.
static void check_schedule(struct compilation *c) {
    const struct pipeline_config *said = &c->config.strategy.pipeline;
    if (!has_pipeline(said) || is_pipelined(c) || said->origin.kind != ORIGIN_STATEMENT)
        return;
    const char *axes = mesh_axes_text(&c->config.mesh, &said->axes, &c->arena);
    struct diagnostic *d =
        report(c->diagnostics, W830, said->method_span,
               "`%s` changes nothing here: there is no pipeline", pipeline_schedule_name(said));
    diagnostic_say(d, "`%s` has 1 device, which has all layers", axes);
    diagnostic_help(d, "give `%s` more devices, or leave the split of layers out", axes);
}

void check_said(struct compilation *c) {
    if (c->trial)
        return;
    check_schedule(c);
    const struct strategy_config *strategy = &c->config.strategy;
    const struct program *step = c->derived ? c->derived : c->final;
    struct saying s = {.c = c, .step = step, .length = step->job->n_ids + step->n_buffers};
    for (uint32_t m = 0; m < strategy->n_modes && s.tried <= LIMIT_TRIED; m++) {
        const struct mode_statement *mode = &strategy->modes[m];
        if (!says_something(mode) || is_rehearsed(&s, mode))
            continue;
        check_place(&s, mode);
        check_options(&s, mode);
    }
}
