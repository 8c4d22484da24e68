// An optimizer as a value, `adamw(lr = cosine(...), ...)`; what it takes stands in optimizers.def.
//
// It is read on top of another one, of which it keeps what it does not say. Which one that is, is
// known to those who read rules (resolve_train.c).
#include "frontend/resolve.h"

#include <float.h>
#include <string.h>

static const struct argument_row {
    const char *of, *name;
} argument_rows[] = {
#define ARGUMENT(of, name) {of, name},
#include "frontend/optimizers.def"
};
enum { N_ARGUMENT_ROWS = sizeof argument_rows / sizeof *argument_rows };

static const char *const schedule_words[] = {
#define SCHEDULE(name, curve) name,
#include "frontend/optimizers.def"
};
enum { N_SCHEDULES = sizeof schedule_words / sizeof *schedule_words };
static const enum rate_curve schedule_curves[] = {
#define SCHEDULE(name, curve) RATE_##curve,
#include "frontend/optimizers.def"
};

static const char *const unbuilt_words[] = {
#define OTHER_OPTIMIZER(name) name,
#include "frontend/optimizers.def"
};
enum { N_UNBUILT_WORDS = sizeof unbuilt_words / sizeof *unbuilt_words };
static const struct optimizer_config defaults[N_OPTIMIZERS] = {
#define DEFAULTS(ID, ...) [OPTIMIZER_##ID] = {.kind = OPTIMIZER_##ID, __VA_ARGS__},
#include "frontend/optimizers.def"
};

// Schedules and loss scales have arguments, too.
static bool is_of_optimizer(const struct argument_row *row) {
    return table_find(optimizer_names, N_OPTIMIZERS, row->of) >= 0;
}

bool is_optimizer_argument(const char *name) {
    for (int i = 0; i < N_ARGUMENT_ROWS; i++) {
        const struct argument_row *row = &argument_rows[i];
        if (is_of_optimizer(row) &&
            (strcmp(row->name, name) == 0 || translated(name, &row->name, 1)))
            return true;
    }
    return false;
}

bool check_optimizer_argument(struct resolver *r, struct ast_name name) {
    const char *names[N_ARGUMENT_ROWS];
    size_t n = 0;
    for (int i = 0; i < N_ARGUMENT_ROWS; i++)
        if (is_of_optimizer(&argument_rows[i]) &&
            table_find(names, (int)n, argument_rows[i].name) < 0)
            names[n++] = argument_rows[i].name;
    bool known = table_find(names, (int)n, name.text) >= 0;
    if (!known)
        report_unknown(r, E104, name, "argument of an optimizer", names, n);
    return known;
}

// ---- arguments of calls -----------------------------------------------------------------------

// The arguments of one call while its readers take theirs; the rest is reported.
struct taking {
    struct resolver *r;
    const struct ast_arguments *arguments;
    const char *call;
    uint64_t taken;
};

static struct taking begin_taking(struct resolver *r, const struct ast_value *value) {
    return (struct taking){r, &value->call.arguments, value->call.name.text, 0};
}

static bool takes(const char *call, const char *argument) {
    for (int i = 0; i < N_ARGUMENT_ROWS; i++)
        if (strcmp(argument_rows[i].of, call) == 0 && strcmp(argument_rows[i].name, argument) == 0)
            return true;
    return false;
}

// The argument of a name; the first may stand without its own, where `positional`. Returns the
// value, NULL: not given, or the call has none of this name.
static const struct ast_value *take(struct taking *t, const char *name, bool positional) {
    for (uint32_t i = 0; i < t->arguments->n && i < 64 && takes(t->call, name); i++) {
        const struct ast_argument *argument = &t->arguments->items[i];
        if (argument->kind != ARGUMENT_VALUE)
            continue;
        bool named = argument->name.text && strcmp(argument->name.text, name) == 0;
        bool first = positional && i == 0 && !argument->name.text;
        if (!named && !first)
            continue;
        t->taken |= UINT64_C(1) << i;
        return argument->value;
    }
    return NULL;
}

// `name`: of what PyTorch takes in this place.
static void report_unnamed(struct resolver *r, const struct ast_argument *argument,
                           const char *function, const char *name) {
    struct diagnostic *d =
        report(r->diagnostics, E105, argument->span, "`%s` takes its arguments by name", function);
    if (!name || argument->kind != ARGUMENT_VALUE)
        return;
    const char *named =
        arena_format(r->arena, "%s = %s", name, ast_value_text(r->arena, argument->value));
    diagnostic_help(d, "did you mean `%s`?", named);
    diagnostic_edit(d, argument->span, "%s", named);
}

// The argument of this name that stands first.
static const struct ast_argument *first_named(const struct ast_arguments *arguments,
                                              const char *name) {
    uint32_t i = 0;
    while (!arguments->items[i].name.text || strcmp(arguments->items[i].name.text, name) != 0)
        i++;
    return &arguments->items[i];
}

// Whatever no reader took: a second time, misspelt, or without a name.
static void report_untaken(const struct taking *t) {
    struct resolver *r = t->r;
    const char *names[N_ARGUMENT_ROWS];
    size_t n = 0;
    for (int i = 0; i < N_ARGUMENT_ROWS; i++)
        if (strcmp(argument_rows[i].of, t->call) == 0)
            names[n++] = argument_rows[i].name;
    for (uint32_t i = 0; i < t->arguments->n; i++) {
        const struct ast_argument *argument = &t->arguments->items[i];
        if (i < 64 && t->taken >> i & 1)
            continue;
        if (argument->name.text && table_find(names, (int)n, argument->name.text) >= 0)
            report_twice(r, argument->span, first_named(t->arguments, argument->name.text)->span,
                         arena_format(r->arena, "`%s`", argument->name.text));
        else if (argument->name.text)
            report_unknown(r, E104, argument->name,
                           arena_format(r->arena, "argument of `%s`", t->call), names, n);
        else if (n)
            report_unnamed(r, argument, t->call, i < n ? names[i] : NULL);
        else
            report(r->diagnostics, E105, argument->span, "`%s` takes no argument", t->call);
    }
}

// Takes a number. False: it is not given, and what is there stays, a default or what was inherited.
static bool take_real(struct taking *t, const char *name, double minimum, double maximum,
                      double *out) {
    const struct ast_value *value = take(t, name, false);
    if (value)
        read_real(t->r, value, arena_format(t->r->arena, "`%s`", name), minimum, maximum, out);
    return value != NULL;
}

// ---- learning rates ---------------------------------------------------------------------------

// A schedule that says what it says and comes to something else.
static void check_schedule(struct resolver *r, const struct ast_value *value,
                           const struct learning_rate *rate) {
    const char *name = value->call.name.text;
    if (rate->steps <= rate->warmup_steps)
        report(r->diagnostics, E107, value->span, "warm-up of %lld steps leaves none of %lld",
               (long long)rate->warmup_steps, (long long)rate->steps);
    else if (rate->decay_steps > rate->steps - rate->warmup_steps)
        report(r->diagnostics, E107, value->span,
               "warm-up of %lld steps and decay of %lld are more than all %lld",
               (long long)rate->warmup_steps, (long long)rate->decay_steps, (long long)rate->steps);
    if (rate->minimum > rate->base) {
        struct diagnostic *d =
            report(r->diagnostics, E107, value->span, "the minimum of `%s` is above its peak, %g",
                   name, rate->base);
        diagnostic_help(d, "the rate falls from the peak to the minimum: make the minimum smaller");
    }
}

// Which way down, of those that fall.
static void read_curve(struct resolver *r, const struct ast_value *value, enum rate_curve *curve) {
    const char *const *names = rate_names + 1;
    int found = value->kind == AST_NAME ? table_find(names, N_RATES - 1, value->name) : -1;
    if (found >= 0)
        *curve = (enum rate_curve)(1 + found);
    else if (value->kind == AST_NAME)
        report_unknown(r, E104, (struct ast_name){value->name, value->span}, "curve of a rate",
                       names, N_RATES - 1);
    else
        report_wrong_kind(r, value, "`curve`", "`linear`, `cosine` or `sqrt`");
}

static bool take_steps(struct taking *t, const char *name, int64_t least, int64_t *out) {
    const struct ast_value *value = take(t, name, false);
    if (value)
        read_integer(t->r, value, arena_format(t->r->arena, "`%s`", name), least, INT64_C(1) << 50,
                     out);
    return value != NULL;
}

// Linear warm-up to the peak, then, if it falls, down to the minimum at `steps`: from the warm-up
// on, or in the last `decay` steps.
static void read_schedule(struct resolver *r, const struct ast_value *value, enum rate_curve curve,
                          struct learning_rate *rate) {
    struct taking t = begin_taking(r, value);
    uint32_t errors_before = r->diagnostics->n_errors;
    const struct ast_value *peak = take(&t, "peak", true);
    const struct ast_value *shape = take(&t, "curve", false);
    bool falls = takes(t.call, "steps"), has_decay = takes(t.call, "decay");
    *rate = (struct learning_rate){.curve = curve};
    if (peak)
        read_real(r, peak, arena_format(r->arena, "the peak of `%s`", t.call), 0, 1e6, &rate->base);
    if (shape)
        read_curve(r, shape, &rate->curve);
    take_steps(&t, "warmup", 0, &rate->warmup_steps);
    bool is_whole = take_steps(&t, "steps", 1, &rate->steps) == falls;
    is_whole &= take_steps(&t, "decay", 1, &rate->decay_steps) == has_decay;
    if (falls)
        take_real(&t, "minimum", 0, 1e6, &rate->minimum);
    report_untaken(&t);
    if (falls && !has_decay)
        rate->decay_steps = rate->steps - rate->warmup_steps;
    if (!peak || !is_whole)
        report(r->diagnostics, E109, value->span,
               "`%s` needs a peak%s%s: `%s(3e-4, warmup = 100%s%s)`", t.call,
               !falls      ? ""
               : has_decay ? ", `steps`"
                           : " and `steps`",
               has_decay ? " and `decay`" : "", t.call, falls ? ", steps = 1000" : "",
               has_decay ? ", decay = 200" : "");
    else if (falls && r->diagnostics->n_errors == errors_before)
        check_schedule(r, value, rate);
}

// A constant, or a schedule over steps.
static void read_rate(struct resolver *r, const struct ast_value *value,
                      struct learning_rate *rate) {
    int schedule = value->kind == AST_CALL
                       ? table_find(schedule_words, N_SCHEDULES, value->call.name.text)
                       : -1;
    if (schedule >= 0) {
        read_schedule(r, value, schedule_curves[schedule], rate);
    } else if (value->kind == AST_NUMBER) {
        *rate = (struct learning_rate){.curve = RATE_CONSTANT};
        read_real(r, value, "`lr`", 0, 1e6, &rate->base);
    } else {
        struct diagnostic *d =
            report_wrong_kind(r, value, "`lr`", "a number or a schedule such as `cosine(...)`");
        if (value->kind == AST_CALL)
            diagnostic_meant(d, value->call.name.span, value->call.name.text, schedule_words,
                             N_SCHEDULES);
    }
}

// ---- optimizers -------------------------------------------------------------------------------

// Decays of the two moments, as PyTorch writes them.
static void read_betas(struct resolver *r, const struct ast_value *value,
                       struct optimizer_config *optimizer) {
    if (value->kind != AST_TUPLE || value->elements.n != 2) {
        report_wrong_kind(r, value, "`betas`", "two numbers, `(0.9, 0.95)`");
        return;
    }
    double largest = 1 - DBL_EPSILON; // 1 would never forget, and divide by zero
    read_real(r, value->elements.items[0], "the first of `betas`", 0, largest, &optimizer->beta1);
    read_real(r, value->elements.items[1], "the second of `betas`", 0, largest, &optimizer->beta2);
}

// Takes the weight decay, which matrices and tables have, as PyTorch's users group parameters; a
// statement that selects means all that it selects.
static void take_decay(struct taking *t, bool selects, struct optimizer_config *optimizer) {
    if (take_real(t, "weight_decay", 0, 1e6, &optimizer->weight_decay))
        optimizer->decays_all = selects;
}

static void read_coefficients(struct resolver *r, const struct ast_value *value,
                              struct optimizer_config *optimizer) {
    if (value->kind != AST_TUPLE || value->elements.n != 3) {
        report_wrong_kind(r, value, "`ns_coefficients`",
                          "three numbers, `(3.4445, -4.775, 2.0315)`");
        return;
    }
    for (int i = 0; i < 3; i++)
        read_real(r, value->elements.items[i], "a coefficient", -100, 100,
                  &optimizer->ns_coefficients[i]);
}

static void read_muon_rate(struct resolver *r, const struct ast_value *value,
                           enum muon_rate *rate) {
    int found =
        value->kind == AST_NAME ? table_find(muon_rate_names, N_MUON_RATES, value->name) : -1;
    if (found >= 0)
        *rate = (enum muon_rate)found;
    else if (value->kind == AST_NAME)
        report_unknown(r, E103, (struct ast_name){value->name, value->span}, "way to adjust a rate",
                       muon_rate_names, N_MUON_RATES);
    else
        report_wrong_kind(r, value, "`adjust_lr_fn`",
                          "`original`, `match_rms_adamw` or `spectral_unclamped`");
}

// What Muon alone takes.
static void take_newton_schulz(struct taking *t, struct optimizer_config *optimizer) {
    const struct ast_value *coefficients = take(t, "ns_coefficients", false);
    const struct ast_value *rate = take(t, "adjust_lr_fn", false);
    if (coefficients)
        read_coefficients(t->r, coefficients, optimizer);
    if (rate)
        read_muon_rate(t->r, rate, &optimizer->muon_rate);
    const struct ast_value *steps = take(t, "ns_steps", false);
    if (steps)
        read_integer(t->r, steps, "`ns_steps`", 1, LIMIT_NS_STEPS, &optimizer->ns_steps);
}

// The square of a lesser one is zero in f32, and what has never had a gradient would be divided by it.
#define LEAST_ROOT 1e-18

// Adafactor's two: the least root of a mean square, which without one is the element type's, and the least
// scale of a parameter.
static void read_least(struct resolver *r, const struct ast_value *value,
                       struct optimizer_config *optimizer) {
    if (value->kind != AST_TUPLE || value->elements.n != 2) {
        report_wrong_kind(r, value, "`eps` of `adafactor`", "a pair, `(none, 1e-3)`");
        return;
    }
    const struct ast_value *first = value->elements.items[0];
    if (first->kind == AST_NAME && strcmp(first->name, "none") == 0)
        optimizer->eps = 0;
    else
        read_real(r, first, "the first of `eps`", LEAST_ROOT, 1, &optimizer->eps);
    read_real(r, value->elements.items[1], "the second of `eps`", 0, 1, &optimizer->least_scale);
}

static void take_eps(struct taking *t, struct optimizer_config *optimizer) {
    const struct ast_value *value =
        optimizer->kind == OPTIMIZER_ADAFACTOR ? take(t, "eps", false) : NULL;
    if (value)
        read_least(t->r, value, optimizer);
    else
        take_real(t, "eps", DBL_MIN, 1, &optimizer->eps);
}

// Fields that are not named keep what the rule inherited. An optimizer behind one of another kind
// takes over that one's learning rate, and nothing else of it.
static void read_arguments(struct resolver *r, const struct ast_value *value,
                           enum optimizer_kind kind, bool selects,
                           struct optimizer_config *optimizer) {
    struct taking t = begin_taking(r, value);
    if (optimizer->kind != kind) {
        struct learning_rate inherited = optimizer->rate;
        *optimizer = defaults[kind];
        optimizer->rate = inherited;
    }
    const struct ast_value *rate = take(&t, "lr", false);
    const struct ast_value *betas = take(&t, "betas", false);
    const struct ast_value *nesterov = take(&t, "nesterov", false);
    if (rate)
        read_rate(r, rate, &optimizer->rate);
    if (betas)
        read_betas(r, betas, optimizer);
    take_eps(&t, optimizer);
    take_real(&t, "beta2_decay", -10, 0, &optimizer->beta2_decay);
    take_real(&t, "d", 1, 1e6, &optimizer->threshold);
    take_real(&t, "momentum", 0, 1 - DBL_EPSILON, &optimizer->momentum);
    take_decay(&t, selects, optimizer);
    take_newton_schulz(&t, optimizer);
    if (nesterov)
        read_flag(r, nesterov, "`nesterov`", &optimizer->nesterov);
    report_untaken(&t);
    if (kind == OPTIMIZER_SGD && optimizer->nesterov && !optimizer->momentum)
        report(r->diagnostics, E121, value->span, "`nesterov` needs a momentum above 0");
}

// `none` and `adamw` without parentheses are names, with them calls: both are read as calls.
bool read_optimizer(struct resolver *r, const struct ast_value *value, bool selects,
                    struct optimizer_config *optimizer) {
    const char *name = value->kind == AST_CALL   ? value->call.name.text
                       : value->kind == AST_NAME ? value->name
                                                 : NULL;
    struct ast_value called = {
        .kind = AST_CALL, .span = value->span, .call.name = {name, value->span}};
    const struct ast_value *call = value->kind == AST_CALL ? value : &called;
    int kind = name ? table_find(optimizer_names, N_OPTIMIZERS, name) : -1;
    if (!name)
        report_wrong_kind(r, value, "`optimizer`", "`adamw(...)`, `sgd(...)` or `none`");
    else if (table_find(unbuilt_words, N_UNBUILT_WORDS, name) >= 0)
        report_unsupported(r, value->span, UNSUPPORTED_OPTIMIZER_KIND);
    else if (kind < 0)
        report_unknown(r, E103, call->call.name, "optimizer", optimizer_names, N_OPTIMIZERS);
    else
        read_arguments(r, call, (enum optimizer_kind)kind, selects, optimizer);
    if (kind == OPTIMIZER_NONE)
        *optimizer = defaults[OPTIMIZER_NONE];
    return kind >= 0;
}

void read_outer_optimizer(struct resolver *r, const struct ast_value *value,
                          struct optimizer_config *out) {
    struct optimizer_config outer = {.kind = OPTIMIZER_NONE};
    uint32_t errors_before = r->diagnostics->n_errors;
    if (!read_optimizer(r, value, false, &outer) || r->diagnostics->n_errors > errors_before)
        return;
    if (outer.kind == OPTIMIZER_NONE)
        return; // as if nothing were said
    bool is_plain = outer.rate.curve == RATE_CONSTANT && outer.rate.warmup_steps == 0;
    if (outer.kind != OPTIMIZER_SGD || !is_plain || outer.weight_decay != 0)
        report_unsupported(r, value->span, UNSUPPORTED_OUTER_OPTIMIZER);
    else if (outer.rate.base <= 0)
        report(r->diagnostics, E109, value->span,
               "the outer optimizer's rate is not given: `sgd(lr = 0.7, ...)`");
    else
        *out = outer;
}

// ---- the loss scale ---------------------------------------------------------------------------

// PyTorch's GradScaler, with its defaults. One over the scale is a number of fp32, so the scale is at least FLT_MIN.
static void read_dynamic_scale(struct resolver *r, const struct ast_value *value,
                               struct loss_scale_config *scale) {
    struct taking t = begin_taking(r, value);
    *scale = (struct loss_scale_config){
        .initial = 65536, .dynamic = true, .growth = 2, .backoff = 0.5, .interval = 2000};
    take_real(&t, "initial", FLT_MIN, FLT_MAX, &scale->initial);
    take_real(&t, "growth", 1, 1e6, &scale->growth);
    take_real(&t, "backoff", 1e-6, 0.999, &scale->backoff);
    take_steps(&t, "interval", 1, &scale->interval);
    report_untaken(&t);
}

void read_loss_scale(struct resolver *r, const struct ast_value *value,
                     struct loss_scale_config *scale) {
    const char *name = value->kind == AST_CALL   ? value->call.name.text
                       : value->kind == AST_NAME ? value->name
                                                 : NULL;
    struct ast_value called = {
        .kind = AST_CALL, .span = value->span, .call.name = {name, value->span}};
    if (name && strcmp(name, "dynamic") == 0) {
        read_dynamic_scale(r, value->kind == AST_CALL ? value : &called, scale);
    } else if (value->kind == AST_NUMBER) {
        *scale = (struct loss_scale_config){0};
        read_real(r, value, "`loss_scale`", FLT_MIN, FLT_MAX, &scale->initial);
    } else {
        report_wrong_kind(r, value, "`loss_scale`", "a number, or `dynamic(...)`");
    }
}
