// What `precision` says of a model, asked once there are tensors and ops: each selector selects some of
// them, of two that select the same the longer one wins, and the types that come of it have a meaning
// together. Of what is said in vain a warning speaks.
#include <string.h>

#include "ir/limits.h"
#include "passes/reference/select.h"

// What a type is said of: a tensor, or the ops of one part of the model, in layers of which the same is
// said: from `layer` to `end`.
struct subject {
    const struct tensor *tensor; // NULL: ops
    const char *name;
    const uint8_t *roles;
    unsigned n_roles;
    int64_t layer, end;
};

struct rules {
    const struct program *program;
    const struct config *config;
    const struct precision_config *precision;
    struct diagnostics *diagnostics;
    struct subject *tensors, *parts; // parts: those of each list of roles that some op has
    uint32_t n_tensors, cap_tensors, n_parts, cap_parts;
};

static enum dtype type_of(const struct rules *r, enum precision_use use, const struct subject *of) {
    return precision_type(r->precision, use, of->roles, of->n_roles, of->layer);
}

static const struct origin *origin_of(const struct rules *r, enum precision_use use,
                                      const struct subject *of) {
    return precision_origin(r->precision, use, of->roles, of->n_roles, of->layer);
}

static const struct precision_rule *rule_of(const struct rules *r, enum precision_use use,
                                            const struct subject *of) {
    return precision_rule_of(r->precision, use, of->roles, of->n_roles, of->layer);
}

// As it is said, whatever comes of it; NONE: it is not.
static enum dtype said_type(const struct rules *r, enum precision_use use,
                            const struct subject *of) {
    const struct precision_rule *rule = rule_of(r, use, of);
    return rule ? rule->type : r->precision->of_all[use];
}

static const char *said_text(const struct rules *r, enum precision_use use,
                             const struct subject *of) {
    return precision_said(r->program->arena, r->precision, use, of->roles, of->n_roles, of->layer);
}

// An edit that says this type in its place, if the place has it for nothing else.
static void propose_type(const struct rules *r, struct diagnostic *d, enum precision_use use,
                         const struct subject *of, const char *type) {
    struct span span = precision_type_span(r->precision, use, of->roles, of->n_roles, of->layer);
    if (span.source != NO_SOURCE)
        diagnostic_edit(d, span, "%s", type);
}

// A report at what says one type, beside what says the other. `use`: of the first.
static struct diagnostic *report_types(const struct rules *r, enum diagnostic_code code,
                                       enum precision_use use, enum precision_use beside,
                                       const struct subject *of, const char *message) {
    const struct origin *origin = origin_of(r, use, of), *other = origin_of(r, beside, of);
    const char *name = precision_names[beside], *type = dtype_word(type_of(r, beside, of));
    struct diagnostic *d = report(r->diagnostics, code, origin_span(origin), "%s", message);
    diagnostic_origin(d, origin);
    if (said_type(r, beside, of) != DTYPE_NONE)
        diagnostic_label(d, origin_span(other), "`%s` is %s", name, type);
    else
        diagnostic_note(d, "`%s` is %s where nothing is said of it", name, type);
    return d;
}

static enum precision_use work_use(const struct rules *r, const struct subject *of) {
    return precision_work_use(r->precision, of->roles, of->n_roles, of->layer);
}

// ---- what there is of a tensor ----------------------------------------------------------------

// An outer optimizer, which takes averages for steps, has a momentum of all that is trained.
static bool has_outer_momentum(const struct strategy_config *strategy) {
    for (uint32_t m = 0; m < strategy->n_modes; m++)
        if (strategy->modes[m].outer.momentum != 0)
            return true;
    return false;
}

// Whether the optimizer in some of the layers keeps moments.
static bool has_moments(const struct rules *r, const struct subject *of) {
    const struct train_config *train = &r->config->train;
    for (int64_t layer = of->layer; layer < of->end; layer = optimizer_next(train, layer))
        if (optimizer_keeps_moments(&optimizer_rule_of(train, of->tensor, layer)->optimizer,
                                    of->tensor))
            return true;
    return has_outer_momentum(&r->config->strategy);
}

// Whether the subject has what a use of it is about: of what is frozen there are only parameters.
static bool has_any(const struct rules *r, enum precision_use use, const struct subject *of) {
    switch (use) {
    case PRECISION_MASTER:
    case PRECISION_GRADIENTS:
    case PRECISION_REDUCE:
        return of->tensor->trainable;
    case PRECISION_MOMENTS:
        return of->tensor->trainable && has_moments(r, of);
    default:
        return true;
    }
}

// ---- selectors --------------------------------------------------------------------------------

static bool selects(const struct precision_rule *rule, const struct subject *of) {
    return precision_rule_selects(rule, of->roles, of->n_roles, of->layer);
}

static bool is_of_parts(enum precision_use use) {
    return use == PRECISION_COMPUTE || use == PRECISION_ACCUMULATE;
}

static const struct subject *subjects_of(const struct rules *r, enum precision_use use,
                                         uint32_t *n) {
    *n = is_of_parts(use) ? r->n_parts : r->n_tensors;
    return is_of_parts(use) ? r->parts : r->tensors;
}

// What layers hand on is of one type.
static void check_selector(const struct rules *r, const struct precision_rule *rule) {
    const char *use = precision_names[rule->use];
    if (rule->use == PRECISION_ACTIVATIONS) {
        struct diagnostic *d =
            report(r->diagnostics, E320, origin_span(&rule->origin),
                   "what layers hand on has one type: `%s` takes no selector", use);
        diagnostic_help(d, "say what a part works in by `compute`, as in `compute.norm = fp32`");
        return;
    }
    uint32_t n;
    const struct subject *subjects = subjects_of(r, rule->use, &n);
    for (uint32_t i = 0; i < n; i++)
        if (selects(rule, &subjects[i]))
            return;
    report_selects_no(is_of_parts(rule->use) ? "no part of" : "no tensor of", r->diagnostics,
                      &r->config->model, &rule->selector, rule->selector.span, use);
}

// Neither of two equally long ones wins where both select, unless a longer one does. Reported once for the
// two, however much both select.
static void check_tie(const struct rules *r, const struct precision_rule *first,
                      const struct precision_rule *second) {
    if (first->use != second->use || first->type == second->type ||
        first->selector.n_roles != second->selector.n_roles)
        return;
    uint32_t n;
    const struct subject *subjects = subjects_of(r, first->use, &n);
    for (uint32_t i = 0; i < n; i++) {
        const struct precision_rule *best = rule_of(r, first->use, &subjects[i]);
        if (!selects(first, &subjects[i]) || !selects(second, &subjects[i]) ||
            best->selector.n_roles > first->selector.n_roles)
            continue;
        struct diagnostic *d =
            report(r->diagnostics, E305, origin_span(&second->origin),
                   "two types of equal rank are given to `%s`", subjects[i].name);
        diagnostic_say(d, "the other says this, of the same");
        diagnostic_label(d, origin_span(&first->origin), "one says this");
        diagnostic_origin(d, &second->origin);
        const char *settles = settles_slices(&first->selector, &second->selector);
        diagnostic_help(d, "%s",
                        settles ? settles
                                : "keep one of them, or say which holds for what both select");
        return;
    }
}

// A type of what there is none of.
static void report_of_nothing(const struct rules *r, const struct origin *origin, bool trained) {
    struct diagnostic *d =
        report(r->diagnostics, W830, origin_span(origin), "this type holds for nothing");
    diagnostic_say(d, trained ? "the optimizer keeps no moments" : "all that it selects is frozen");
    diagnostic_origin(d, origin);
    diagnostic_help(d, "leave it out");
}

// Others hold for all that it selects, or there is nothing for which it could.
static void check_decides(const struct rules *r, const struct precision_rule *rule) {
    uint32_t n;
    const struct subject *subjects = subjects_of(r, rule->use, &n);
    const struct precision_rule *instead = NULL;
    bool trained = false;
    for (uint32_t i = 0; i < n; i++) {
        const struct precision_rule *best = rule_of(r, rule->use, &subjects[i]);
        if (!selects(rule, &subjects[i]))
            continue;
        if (best == rule && has_any(r, rule->use, &subjects[i]))
            return;
        if (best != rule)
            instead = best;
        trained |= !subjects[i].tensor || subjects[i].tensor->trainable;
    }
    if (!instead || !trained) {
        report_of_nothing(r, &rule->origin, trained);
        return;
    }
    struct diagnostic *d =
        report(r->diagnostics, W830, origin_span(&rule->origin), "this type holds for nothing");
    diagnostic_say(d, "others hold for all that it selects");
    diagnostic_label(d, origin_span(&instead->origin), "this one, among them");
    diagnostic_help(d, "leave it out, or give it a longer selector");
}

// Something is trained, so of all that is said without a selector moments alone may be missing.
static void check_any_moments(const struct rules *r) {
    for (uint32_t i = 0; i < r->n_tensors; i++)
        if (has_any(r, PRECISION_MOMENTS, &r->tensors[i]))
            return;
    if (r->precision->of_all[PRECISION_MOMENTS] != DTYPE_NONE)
        report_of_nothing(r, &r->precision->origins[PRECISION_MOMENTS], true);
}

// ---- types that have no meaning together ------------------------------------------------------

// Each check looks at one subject. True: it has spoken, and what it would say of others is the same.

static bool check_master(const struct rules *r, const struct subject *of) {
    enum dtype master = said_type(r, PRECISION_MASTER, of);
    enum dtype parameters = type_of(r, PRECISION_PARAMETERS, of);
    if (master == DTYPE_NONE || master == parameters || dtype_holds(master, parameters) ||
        !has_any(r, PRECISION_MASTER, of))
        return false;
    struct diagnostic *d = report_types(
        r, E320, PRECISION_MASTER, PRECISION_PARAMETERS, of,
        arena_format(r->program->arena, "a master in %s loses digits of parameters in %s",
                     dtype_word(master), dtype_word(parameters)));
    // Parameters of 32 bits and more serve as they are.
    const char *type =
        dtype_holds(DTYPE_F32, parameters) && parameters != DTYPE_F32 ? "fp32" : "none";
    diagnostic_help(d, "a master keeps what parameters round off: say `%s = %s`, or leave it out",
                    said_text(r, PRECISION_MASTER, of), type);
    propose_type(r, d, PRECISION_MASTER, of, type);
    return true;
}

static bool keeps_master(const struct rules *r, const struct subject *of) {
    return type_of(r, PRECISION_MASTER, of) != DTYPE_NONE && has_any(r, PRECISION_MASTER, of);
}

// Whether what says a use of the subject has an effect on another of which it says it.
static bool is_useful(const struct rules *r, enum precision_use use, const struct subject *of,
                      bool (*is_used)(const struct rules *, const struct subject *)) {
    for (uint32_t i = 0; i < r->n_tensors; i++)
        if (origin_of(r, use, &r->tensors[i]) == origin_of(r, use, of) &&
            is_used(r, &r->tensors[i]))
            return true;
    return false;
}

static bool check_useless_master(const struct rules *r, const struct subject *of) {
    enum dtype master = said_type(r, PRECISION_MASTER, of);
    if (master == DTYPE_NONE || master != type_of(r, PRECISION_PARAMETERS, of) ||
        !has_any(r, PRECISION_MASTER, of) || is_useful(r, PRECISION_MASTER, of, keeps_master))
        return false;
    struct diagnostic *d = report_types(r, W830, PRECISION_MASTER, PRECISION_PARAMETERS, of,
                                        "this master is not kept");
    diagnostic_say(d, "parameters have the same type, and serve");
    diagnostic_help(d, "leave it out");
    return true;
}

// What is gathered is computed with, so it has all the digits that either has.
static bool may_gather(const struct rules *r, enum dtype gather, const struct subject *of) {
    return dtype_holds(gather, type_of(r, PRECISION_PARAMETERS, of)) ||
           dtype_holds(gather, precision_of_work(r->precision, of->roles, of->n_roles, of->layer));
}

// Whether all that the same words are about may.
static bool may_gather_all(const struct rules *r, enum dtype gather, const struct subject *of) {
    bool may = true;
    for (uint32_t i = 0; i < r->n_tensors; i++)
        if (origin_of(r, PRECISION_GATHER, &r->tensors[i]) == origin_of(r, PRECISION_GATHER, of))
            may = may && may_gather(r, gather, &r->tensors[i]);
    return may;
}

static bool check_gather(const struct rules *r, const struct subject *of) {
    enum dtype said = said_type(r, PRECISION_GATHER, of);
    enum dtype gather = said == DTYPE_NONE ? type_of(r, PRECISION_GATHER, of) : said;
    enum dtype parameters = type_of(r, PRECISION_PARAMETERS, of);
    enum dtype work = precision_of_work(r->precision, of->roles, of->n_roles, of->layer);
    if (may_gather(r, gather, of))
        return false;
    enum dtype least = dtype_narrower(work, parameters);
    enum precision_use decides = least == work ? work_use(r, of) : PRECISION_PARAMETERS;
    struct diagnostic *d = report_types(
        r, E320, PRECISION_GATHER, decides, of,
        arena_format(r->program->arena,
                     "parameters gathered in %s are not those that one device computes with, in %s",
                     dtype_word(gather), dtype_word(least)));
    enum dtype fits = may_gather_all(r, least, of) ? least : parameters;
    diagnostic_help(d, "say `%s = %s`, or leave it out", said_text(r, PRECISION_GATHER, of),
                    dtype_word(fits));
    propose_type(r, d, PRECISION_GATHER, of, dtype_word(fits));
    return true;
}

static bool is_gathered_in_less(const struct rules *r, const struct subject *of) {
    return type_of(r, PRECISION_GATHER, of) != type_of(r, PRECISION_PARAMETERS, of);
}

static bool check_useless_gather(const struct rules *r, const struct subject *of) {
    enum dtype said = said_type(r, PRECISION_GATHER, of);
    enum dtype parameters = type_of(r, PRECISION_PARAMETERS, of);
    if (said == DTYPE_NONE || said == parameters ||
        is_useful(r, PRECISION_GATHER, of, is_gathered_in_less))
        return false;
    struct diagnostic *d =
        report_types(r, W830, PRECISION_GATHER, PRECISION_PARAMETERS, of,
                     arena_format(r->program->arena, "parameters in %s are gathered as they are",
                                  dtype_word(parameters)));
    diagnostic_say(d, "in %s they would travel %s", dtype_word(said),
                   dtype_holds(said, parameters) ? "with zeros" : "in as many bytes");
    diagnostic_help(d, "leave it out");
    return true;
}

// Kernels add up in one type for each that they work in.
static bool check_accumulate(const struct rules *r, const struct subject *of) {
    enum dtype said = said_type(r, PRECISION_ACCUMULATE, of);
    enum dtype work = precision_of_work(r->precision, of->roles, of->n_roles, of->layer);
    enum dtype added_up = dtype_added_up_in(work);
    if (said == DTYPE_NONE || said == added_up)
        return false;
    struct diagnostic *d = report_types(
        r, E320, PRECISION_ACCUMULATE, work_use(r, of), of,
        arena_format(r->program->arena, "products of %s are added up in %s, and in nothing else",
                     dtype_word(work), dtype_word(added_up)));
    diagnostic_help(d, "say `%s = %s`, or leave it out%s", said_text(r, PRECISION_ACCUMULATE, of),
                    dtype_word(added_up), said == DTYPE_F64 ? "; or say `compute = fp64`" : "");
    propose_type(r, d, PRECISION_ACCUMULATE, of, dtype_word(added_up));
    return true;
}

// Digits that no product adds up.
static bool check_gradients(const struct rules *r, const struct subject *of) {
    enum dtype work = precision_of_work(r->precision, of->roles, of->n_roles, of->layer);
    if (type_of(r, PRECISION_GRADIENTS, of) != DTYPE_F64 || work == DTYPE_F64 ||
        !has_any(r, PRECISION_GRADIENTS, of))
        return false;
    struct diagnostic *d = report_types(
        r, E320, PRECISION_GRADIENTS, work_use(r, of), of,
        arena_format(r->program->arena, "gradients in fp64 are made by nothing that computes in %s",
                     dtype_word(work)));
    diagnostic_help(d, "say `%s = fp32`, or `precision = fp64` of all",
                    said_text(r, PRECISION_GRADIENTS, of));
    propose_type(r, d, PRECISION_GRADIENTS, of, "fp32");
    return true;
}

// ---- fp16 -------------------------------------------------------------------------------------

// Where gradients come by, below 6e-8 fp16 has zeros. One use of the subject that is fp16;
// N_PRECISION_USES: none.
static enum precision_use vanishing_use(const struct rules *r, const struct subject *of) {
    const enum precision_use uses[] = {PRECISION_GRADIENTS, PRECISION_REDUCE, work_use(r, of)};
    for (unsigned i = 0; i < 3; i++)
        if (type_of(r, uses[i], of) == DTYPE_F16 && has_any(r, uses[i], of))
            return uses[i];
    return N_PRECISION_USES;
}

static bool report_unscaled(const struct rules *r, const struct subject *of,
                            enum precision_use use) {
    const struct loss_scale_config *scale = &r->config->train.loss_scale;
    if (scale->initial >= 1)
        return false;
    const struct origin *origin = origin_of(r, use, of);
    struct diagnostic *d =
        report(r->diagnostics, W831, origin_span(origin),
               "gradients below 6e-8 are zero in fp16, and no loss scale lifts them");
    diagnostic_origin(d, origin);
    if (scale->initial != 0)
        diagnostic_label(d, origin_span(&scale->origin), "this one lowers them");
    diagnostic_help(d, "say `loss_scale = dynamic`, or take `bf16`");
    return true;
}

static bool check_scale(const struct rules *r, const struct subject *of) {
    enum precision_use use = vanishing_use(r, of);
    return use != N_PRECISION_USES && report_unscaled(r, of, use);
}

// A part without parameters hands gradients on, too.
static bool check_scale_of_part(const struct rules *r, const struct subject *of) {
    enum precision_use use = work_use(r, of);
    return type_of(r, use, of) == DTYPE_F16 && report_unscaled(r, of, use);
}

// AdamW's second moment is of squares.
static bool check_moments(const struct rules *r, const struct subject *of) {
    if (type_of(r, PRECISION_MOMENTS, of) != DTYPE_F16 || !has_any(r, PRECISION_MOMENTS, of))
        return false;
    const struct origin *origin = origin_of(r, PRECISION_MOMENTS, of);
    struct diagnostic *d = report(r->diagnostics, W831, origin_span(origin),
                                  "moments in fp16: squares of gradients below 2.4e-4 are zero");
    diagnostic_origin(d, origin);
    diagnostic_help(d, "say `moments = fp32`");
    return true;
}

// Whether something was reported, of the first of which there was.
static bool check_each(const struct rules *r,
                       bool (*check)(const struct rules *, const struct subject *)) {
    bool reported = false;
    for (uint32_t i = 0; i < r->n_tensors && !reported; i++)
        reported = check(r, &r->tensors[i]);
    return reported;
}

static bool check_each_part(const struct rules *r,
                            bool (*check)(const struct rules *, const struct subject *)) {
    bool reported = false;
    for (uint32_t i = 0; i < r->n_parts && !reported; i++)
        reported = check(r, &r->parts[i]);
    return reported;
}

// ---- ranges of layers -------------------------------------------------------------------------

// The rule that says something else of a layer than of the one before it.
static const struct origin *changed_at(const struct precision_config *precision, int64_t layer) {
    for (uint32_t i = 0; i < precision->n_rules; i++)
        if (selector_next(&precision->rules[i].selector, layer - 1) == layer)
            return &precision->rules[i].origin;
    return NULL;
}

bool check_precision_ranges(struct arena *arena, const struct config *config,
                            struct diagnostics *diagnostics) {
    const struct precision_config *precision = &config->train.precision;
    int64_t ranges = 1, begin = 0, next = 0;
    while ((next = precision_next(precision, next)) < config->model.layers) {
        if (precision_alike(precision, begin, next))
            continue;
        begin = next;
        if (++ranges <= LIMIT_LAYER_RANGES)
            continue;
        report_layer_ranges(diagnostics, arena, "types", changed_at(precision, begin));
        return false;
    }
    return true;
}

// ---- the whole --------------------------------------------------------------------------------

// `attention.core`
static const char *part_name(struct arena *arena, const struct op *op) {
    const char *name = role_names[op->roles[0]];
    for (unsigned i = 1; i < op->n_roles; i++)
        name = arena_format(arena, "%s.%s", name, role_names[op->roles[i]]);
    return name;
}

static bool has_part(const struct rules *r, const struct op *op) {
    for (uint32_t i = 0; i < r->n_parts; i++)
        if (r->parts[i].n_roles == op->n_roles &&
            memcmp(r->parts[i].roles, op->roles, op->n_roles) == 0)
            return true;
    return false;
}

// Adds what has the name and the roles, in the first of these layers and each behind it from which on
// another type may be said of it.
static void add_subjects(const struct rules *r, struct subject **list, uint32_t *n, uint32_t *cap,
                         struct subject of) {
    for (int64_t end = of.end; of.layer < end; of.layer = of.end) {
        of.end = precision_next(r->precision, of.layer);
        of.end = of.end < end ? of.end : end;
        ARENA_PUSH(r->program->arena, *list, *n, *cap, of);
    }
}

static void add_tensor(struct rules *r, const struct tensor *tensor) {
    struct subject of = {tensor,
                         tensor_model_name(tensor),
                         tensor->roles,
                         tensor->n_roles,
                         tensor->first_layer,
                         tensor->first_layer + (tensor->layers ? tensor->layers : 1)};
    add_subjects(r, &r->tensors, &r->n_tensors, &r->cap_tensors, of);
}

static void add_part(struct rules *r, const struct op *op) {
    int64_t end = op->roles[0] == ROLE_LAYERS ? r->config->model.layers : 1;
    struct subject of = {NULL, part_name(r->program->arena, op), op->roles, op->n_roles, 0, end};
    add_subjects(r, &r->parts, &r->n_parts, &r->cap_parts, of);
}

static void find_subjects(struct rules *r) {
    const struct job *job = r->program->job;
    for (uint32_t t = 0; t < job->n_tensors; t++)
        add_tensor(r, &job->tensors[t]);
    for (uint32_t u = 0; u < job->n_units; u++)
        for (uint32_t i = 0; i < job->units[u].n_ops; i++) {
            const struct op *op = &job->units[u].ops[i];
            if (op->n_roles > 0 && !has_part(r, op))
                add_part(r, op);
        }
}

bool check_precision(const struct program *program, const struct config *config,
                     struct diagnostics *diagnostics) {
    struct rules r = {.program = program,
                      .config = config,
                      .precision = &config->train.precision,
                      .diagnostics = diagnostics};
    uint32_t errors = diagnostics->n_errors;
    find_subjects(&r);
    for (uint32_t i = 0; i < r.precision->n_rules; i++) {
        check_selector(&r, &r.precision->rules[i]);
        for (uint32_t k = 0; k < i; k++)
            check_tie(&r, &r.precision->rules[k], &r.precision->rules[i]);
    }
    if (diagnostics->n_errors > errors)
        return false;
    check_each(&r, check_master);
    check_each(&r, check_gather);
    check_each(&r, check_gradients);
    check_each_part(&r, check_accumulate);
    if (diagnostics->n_errors > errors)
        return false;
    if (!check_each(&r, check_scale))
        check_each_part(&r, check_scale_of_part);
    check_each(&r, check_moments);
    check_each(&r, check_useless_master);
    check_each(&r, check_useless_gather);
    for (uint32_t i = 0; i < r.precision->n_rules; i++)
        check_decides(&r, &r.precision->rules[i]);
    check_any_moments(&r);
    return true;
}
