// The `train` block: the sizes of a step, optimizers by selector, precision.
//
// Optimizers are a list of rules, the most general first; which of them holds for a tensor is asked
// when there are tensors (optimizer_rule_of). A rule inherits what it does not say from the longest
// rule that contains it, so `optimizer.norm = adamw(weight_decay = 0)` keeps the rate of the rest.
// The microbatch may be left open until the mesh and the strategy say how far the batch is split.
#include "frontend/resolve.h"

#include <float.h>
#include <string.h>

// Fields that are plain numbers go through the table; `optimizer` and `precision` have a form of
// their own, and stand in it so that a misspelt field is compared with them too.
static const struct field_row train_field_rows[] = {
    {"batch", FIELD_SIZE, offsetof(struct train_config, batch)},
    {"sequence", FIELD_SIZE, offsetof(struct train_config, sequence)},
    {"microbatch", FIELD_SIZE, offsetof(struct train_config, microbatch)},
    {"clip", FIELD_POSITIVE, offsetof(struct train_config, clip)},
    {"seed", FIELD_COUNT, offsetof(struct train_config, seed)},
    {"reproducible", FIELD_COUNT, offsetof(struct train_config, reproducible)},
    // read by functions of their own, here for the list of names
    {"optimizer", FIELD_COUNT, 0},
    {"precision", FIELD_COUNT, 0},
};
enum {
    TRAIN_BATCH,
    TRAIN_SEQUENCE,
    TRAIN_MICROBATCH,
    TRAIN_CLIP,
    TRAIN_SEED,
    TRAIN_REPRODUCIBLE,
    TRAIN_OPTIMIZER,
    TRAIN_PRECISION,
    N_TRAIN_FIELDS
};

// The configuration while the block is read: who said which field is needed for its messages only.
struct train_draft {
    struct train_config *config;
    struct field_said said[N_TRAIN_FIELDS];
    const struct ast_value **optimizers; // what each rule is given, read when all are known
    uint32_t n_optimizers, optimizers_capacity, rules_capacity;
    bool precision_said;
    struct span precision_span;
};

// ---- arguments of calls -----------------------------------------------------------------------

// The arguments of a call by name; the first may be given without one when `positional` is its
// name. Returns the value, NULL: not given. Marks it as taken.
static const struct ast_value *take_argument(const struct ast_arguments *arguments,
                                             const char *name, bool positional, uint64_t *taken) {
    for (uint32_t i = 0; i < arguments->n && i < 64; i++) {
        const struct ast_argument *argument = &arguments->items[i];
        if (argument->kind != ARGUMENT_VALUE)
            continue;
        bool named = argument->name.text && strcmp(argument->name.text, name) == 0;
        bool first = positional && i == 0 && !argument->name.text;
        if (!named && !first)
            continue;
        *taken |= UINT64_C(1) << i;
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

// Whatever no reader took: a second time, misspelt, or without a name.
static void report_untaken(struct resolver *r, const struct ast_arguments *arguments,
                           uint64_t taken, const char *function, const char *const *names,
                           size_t n) {
    for (uint32_t i = 0; i < arguments->n; i++) {
        const struct ast_argument *argument = &arguments->items[i];
        if (i < 64 && taken >> i & 1)
            continue;
        bool known = false;
        for (size_t k = 0; k < n && argument->name.text; k++)
            known |= strcmp(names[k], argument->name.text) == 0;
        if (known)
            report(r->diagnostics, E108, argument->span, "`%s` is given twice",
                   argument->name.text);
        else if (argument->name.text)
            report_unknown(r, E104, argument->name,
                           arena_format(r->arena, "argument of `%s`", function), names, n);
        else
            report_unnamed(r, argument, function, i < n ? names[i] : NULL);
    }
}

// Not given: what is there stays, a default or what was inherited.
static void take_real(struct resolver *r, const struct ast_arguments *arguments, const char *name,
                      double minimum, double maximum, uint64_t *taken, double *out) {
    const struct ast_value *value = take_argument(arguments, name, false, taken);
    if (value)
        read_real(r, value, arena_format(r->arena, "`%s`", name), minimum, maximum, out);
}

// ---- optimizers -------------------------------------------------------------------------------

// Linear warm-up to the peak, then half a cosine down to the minimum at `steps`.
static void read_cosine(struct resolver *r, const struct ast_value *value,
                        struct learning_rate *rate) {
    static const char *const names[] = {"peak", "warmup", "steps", "minimum"};
    const struct ast_arguments *arguments = &value->call.arguments;
    uint64_t taken = 0;
    const struct ast_value *peak = take_argument(arguments, names[0], true, &taken);
    const struct ast_value *warmup = take_argument(arguments, names[1], false, &taken);
    const struct ast_value *steps = take_argument(arguments, names[2], false, &taken);
    rate->kind = RATE_COSINE;
    if (peak)
        read_real(r, peak, "the peak of `cosine`", 0, 1e6, &rate->base);
    if (warmup)
        read_integer(r, warmup, "`warmup`", 0, INT64_C(1) << 50, &rate->warmup_steps);
    if (steps)
        read_integer(r, steps, "`steps`", 1, INT64_C(1) << 50, &rate->steps);
    take_real(r, arguments, names[3], 0, 1e6, &taken, &rate->minimum);
    report_untaken(r, arguments, taken, "cosine", names, 4);
    if (!peak || !steps)
        report(r->diagnostics, E109, value->span,
               "`cosine` needs a peak and `steps`: `cosine(3e-4, warmup = 100, steps = 1000)`");
    else if (rate->steps <= rate->warmup_steps)
        report(r->diagnostics, E107, value->span, "warm-up of %lld steps leaves none of %lld",
               (long long)rate->warmup_steps, (long long)rate->steps);
}

// A constant, or a schedule over steps.
static void read_rate(struct resolver *r, const struct ast_value *value,
                      struct learning_rate *rate) {
    if (value->kind == AST_CALL && strcmp(value->call.name.text, "cosine") == 0) {
        *rate = (struct learning_rate){0};
        read_cosine(r, value, rate);
    } else if (value->kind == AST_NUMBER) {
        *rate = (struct learning_rate){.kind = RATE_CONSTANT};
        read_real(r, value, "`lr`", 0, 1e6, &rate->base);
    } else {
        static const char *const schedules[] = {"cosine"};
        struct diagnostic *d = report_wrong_kind(r, value, "`lr`", "a number or `cosine(...)`");
        if (value->kind == AST_CALL)
            diagnostic_meant(d, value->call.name.span, value->call.name.text, schedules, 1);
    }
}

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

static const char *const adamw_arguments[] = {"lr", "betas", "eps", "weight_decay"};
static const char *const sgd_arguments[] = {"lr", "momentum", "nesterov"};

// Fields that are not named keep what the rule inherited.
static void read_adamw(struct resolver *r, const struct ast_value *value,
                       struct optimizer_config *optimizer) {
    const char *const *names = adamw_arguments;
    const struct ast_arguments *arguments = &value->call.arguments;
    uint64_t taken = 0;
    if (optimizer->kind != OPTIMIZER_ADAMW) // nothing to inherit: PyTorch's defaults
        *optimizer = (struct optimizer_config){.kind = OPTIMIZER_ADAMW,
                                               .rate = optimizer->rate,
                                               .beta1 = 0.9,
                                               .beta2 = 0.999,
                                               .eps = 1e-8,
                                               .weight_decay = 0.01};
    const struct ast_value *rate = take_argument(arguments, names[0], false, &taken);
    const struct ast_value *betas = take_argument(arguments, names[1], false, &taken);
    if (rate)
        read_rate(r, rate, &optimizer->rate);
    if (betas)
        read_betas(r, betas, optimizer);
    take_real(r, arguments, names[2], DBL_MIN, 1, &taken, &optimizer->eps);
    take_real(r, arguments, names[3], 0, 1e6, &taken, &optimizer->weight_decay);
    report_untaken(r, arguments, taken, "adamw", names, 4);
}

// Another kind than what is inherited takes over its learning rate, and nothing else of it.
static void read_sgd(struct resolver *r, const struct ast_value *value,
                     struct optimizer_config *optimizer) {
    const char *const *names = sgd_arguments;
    const struct ast_arguments *arguments = &value->call.arguments;
    uint64_t taken = 0;
    if (optimizer->kind != OPTIMIZER_SGD)
        *optimizer = (struct optimizer_config){.kind = OPTIMIZER_SGD, .rate = optimizer->rate};
    const struct ast_value *rate = take_argument(arguments, names[0], false, &taken);
    const struct ast_value *nesterov = take_argument(arguments, names[2], false, &taken);
    if (rate)
        read_rate(r, rate, &optimizer->rate);
    take_real(r, arguments, names[1], 0, 1 - DBL_EPSILON, &taken, &optimizer->momentum);
    if (nesterov)
        read_flag(r, nesterov, "`nesterov`", &optimizer->nesterov);
    report_untaken(r, arguments, taken, "sgd", names, 3);
    if (optimizer->nesterov && !optimizer->momentum)
        report(r->diagnostics, E121, value->span, "`nesterov` needs a momentum above 0");
}

// `none` and `adamw` without parentheses are names, with them calls: both are read as calls.
static bool read_optimizer(struct resolver *r, const struct ast_value *value,
                           struct optimizer_config *optimizer) {
    static const char *const names[] = {"adamw", "sgd", "none", "muon", "lamb", "adafactor"};
    const char *name = value->kind == AST_CALL   ? value->call.name.text
                       : value->kind == AST_NAME ? value->name
                                                 : NULL;
    int kind = name ? table_find(names, 6, name) : -1;
    struct ast_value called = {
        .kind = AST_CALL, .span = value->span, .call.name = {name, value->span}};
    const struct ast_value *call = value->kind == AST_CALL ? value : &called;
    if (kind < 0 && name) {
        struct span span = value->kind == AST_CALL ? value->call.name.span : value->span;
        report_unknown(r, E103, (struct ast_name){name, span}, "optimizer", names, 3);
    } else if (kind < 0) {
        report_wrong_kind(r, value, "`optimizer`", "`adamw(...)`, `sgd(...)` or `none`");
    } else if (kind == 0) {
        read_adamw(r, call, optimizer);
    } else if (kind == 1) {
        read_sgd(r, call, optimizer);
    } else if (kind == 2) {
        *optimizer = (struct optimizer_config){.kind = OPTIMIZER_NONE};
    } else {
        report_unsupported(r, value->span, UNSUPPORTED_OPTIMIZER_KIND);
    }
    return kind >= 0 && kind <= 2;
}

void read_outer_optimizer(struct resolver *r, const struct ast_value *value,
                          struct optimizer_config *out) {
    struct optimizer_config outer = {.kind = OPTIMIZER_NONE};
    uint32_t errors_before = r->diagnostics->n_errors;
    if (!read_optimizer(r, value, &outer) || r->diagnostics->n_errors > errors_before)
        return;
    if (outer.kind == OPTIMIZER_NONE)
        return; // as if nothing were said
    if (outer.kind != OPTIMIZER_SGD || outer.rate.kind != RATE_CONSTANT)
        report_unsupported(r, value->span, UNSUPPORTED_OUTER_OPTIMIZER);
    else if (outer.rate.base <= 0)
        report(r->diagnostics, E109, value->span,
               "the outer optimizer's rate is not given: `sgd(lr = 0.7, ...)`");
    else
        *out = outer;
}

// True if every tensor that `inner` selects by its roles is one that `outer` does: the roles of
// `outer` stand in `inner` in their order.
static bool is_within(const struct selector *inner, const struct selector *outer) {
    uint32_t k = 0;
    for (uint32_t i = 0; i < inner->n_roles && k < outer->n_roles; i++)
        k += inner->roles[i] == outer->roles[k];
    return k == outer->n_roles && !outer->has_slice;
}

// What rule `of` inherits from: the longest one before it that contains it.
static const struct optimizer_rule *inherited_rule(const struct train_config *train, uint32_t of) {
    const struct optimizer_rule *best = NULL;
    for (uint32_t i = 0; i < of; i++) {
        const struct optimizer_rule *rule = &train->optimizers[i];
        if (is_within(&train->optimizers[of].selector, &rule->selector) &&
            (!best || rule->selector.n_roles >= best->selector.n_roles))
            best = rule;
    }
    return best;
}

// By what they select, not by how it is spelt: `[0:4]` and `[:4]` of four layers are one.
static bool same_selector(const struct selector *a, const struct selector *b) {
    return a->n_roles == b->n_roles && memcmp(a->roles, b->roles, a->n_roles) == 0 &&
           a->has_slice == b->has_slice && a->slice_begin == b->slice_begin &&
           a->slice_end == b->slice_end && a->slice_step == b->slice_step;
}

// A rule for the tensors that the selector matches. That of the command line stands in the place of
// the file's, in which nothing is looked at any more.
static void take_optimizer(struct resolver *r, struct train_draft *draft,
                           const struct ast_field *field, const struct ast_path *path,
                           const struct origin *origin) {
    struct train_config *train = draft->config;
    struct optimizer_rule rule = {.origin = *origin};
    struct selector everything = {.span = path->span};
    if (!resolve_selector(r, path, 1, &everything, &rule.selector))
        return;
    uint32_t at = 0;
    while (at < train->n_optimizers &&
           !same_selector(&train->optimizers[at].selector, &rule.selector))
        at++;
    if (at < train->n_optimizers && origin->kind != ORIGIN_COMMAND_LINE) {
        report_twice(r, path->span, train->optimizers[at].selector.span, "the optimizer");
        return;
    }
    if (at == train->n_optimizers) {
        ARENA_PUSH(r->arena, train->optimizers, train->n_optimizers, draft->rules_capacity, rule);
        ARENA_PUSH(r->arena, draft->optimizers, draft->n_optimizers, draft->optimizers_capacity,
                   field->value);
    }
    train->optimizers[at] = rule;
    draft->optimizers[at] = field->value;
}

// Each on top of what it inherits, so those that others inherit from come first: the optimizer
// without a selector, wherever it is said, then in order.
static void read_optimizers(struct resolver *r, struct train_draft *draft) {
    struct train_config *train = draft->config;
    for (uint32_t i = 1; i < train->n_optimizers; i++)
        if (train->optimizers[i].selector.n_roles == 0) {
            struct optimizer_rule base = train->optimizers[i];
            const struct ast_value *value = draft->optimizers[i];
            memmove(&train->optimizers[1], train->optimizers, i * sizeof base);
            memmove(&draft->optimizers[1], draft->optimizers, i * sizeof value);
            train->optimizers[0] = base;
            draft->optimizers[0] = value;
        }
    for (uint32_t i = 0; i < train->n_optimizers; i++) {
        const struct optimizer_rule *inherited = inherited_rule(train, i);
        struct optimizer_config *optimizer = &train->optimizers[i].optimizer;
        *optimizer =
            inherited ? inherited->optimizer : (struct optimizer_config){.kind = OPTIMIZER_NONE};
        read_optimizer(r, draft->optimizers[i], optimizer);
    }
}

// ---- precision --------------------------------------------------------------------------------

// Every type that the language has, those first that are built; `none` is for the master copy
// alone.
static const char *const type_words[] = {"fp32", "fp64",     "bf16",     "fp16",
                                         "fp8",  "fp8_e4m3", "fp8_e5m2", "none"};
enum { N_TYPE_WORDS = 8, FIRST_UNSUPPORTED_TYPE = 2, TYPE_NONE_WORD = 7 };

static const struct {
    const char *name;
    size_t offset;
} precision_rows[] = {
    {"parameters", offsetof(struct precision_config, parameters)},
    {"master", offsetof(struct precision_config, master)},
    {"moments", offsetof(struct precision_config, moments)},
    {"gradients", offsetof(struct precision_config, gradients)},
    {"activations", offsetof(struct precision_config, activations)},
    {"compute", offsetof(struct precision_config, compute)},
    {"accumulate", offsetof(struct precision_config, accumulate)},
    {"gather", offsetof(struct precision_config, gather)},
    {"reduce", offsetof(struct precision_config, reduce)},
    {"dispatch", SIZE_MAX}, // of experts
    {"combine", SIZE_MAX},
};
enum { N_PRECISION_ROWS = sizeof precision_rows / sizeof *precision_rows, MASTER_ROW = 1 };

// All uses in one type; parameters that are wide enough serve as their own master copy.
static void set_precision(struct precision_config *precision, enum dtype dtype) {
    for (int i = 0; i < N_PRECISION_ROWS; i++)
        if (precision_rows[i].offset != SIZE_MAX && i != MASTER_ROW)
            *(enum dtype *)((char *)precision + precision_rows[i].offset) = dtype;
    precision->master = DTYPE_NONE;
}

// A type by its name; false: reported.
static bool read_type(struct resolver *r, const struct ast_value *value, const char *what,
                      bool none_allowed, enum dtype *out) {
    int word;
    if (!read_choice(r, value, what, type_words, N_TYPE_WORDS - !none_allowed, &word))
        return false;
    if (word == TYPE_NONE_WORD) {
        *out = DTYPE_NONE;
        return true;
    }
    if (word >= FIRST_UNSUPPORTED_TYPE) {
        report_unsupported(r, value->span, UNSUPPORTED_MIXED_PRECISION);
        return false;
    }
    *out = word == 0 ? DTYPE_F32 : DTYPE_F64;
    return true;
}

// Types by selector are read, and refused where they stand.
static void take_precision_path(struct resolver *r, struct precision_config *precision,
                                const struct ast_field *field, const struct ast_path *path) {
    struct ast_name name = path->items[0].name;
    const char *names[N_PRECISION_ROWS];
    for (int i = 0; i < N_PRECISION_ROWS; i++)
        names[i] = precision_rows[i].name;
    int row = table_find(names, N_PRECISION_ROWS, name.text);
    if (row < 0) {
        report_unknown(r, E104, name, "field of `precision`", names, N_PRECISION_ROWS);
        return;
    }
    enum dtype type;
    if (!read_type(r, field->value, arena_format(r->arena, "`%s`", name.text), row == MASTER_ROW,
                   &type))
        return;
    if (path->n > 1)
        report_unsupported(r, path->span, UNSUPPORTED_PRECISION_SELECTOR);
    else if (precision_rows[row].offset != SIZE_MAX)
        *(enum dtype *)((char *)precision + precision_rows[row].offset) = type;
}

// All fields in one type: what is compiled today. A master copy in the parameters' own type is
// none.
static void check_uniform(struct resolver *r, struct precision_config *precision,
                          struct span span) {
    if (precision->master == precision->parameters)
        precision->master = DTYPE_NONE;
    bool uniform = precision->master == DTYPE_NONE;
    for (int i = 0; i < N_PRECISION_ROWS; i++)
        if (precision_rows[i].offset != SIZE_MAX && i != MASTER_ROW)
            uniform &= *(enum dtype *)((char *)precision + precision_rows[i].offset) ==
                       precision->parameters;
    if (!uniform)
        report_unsupported(r, span, UNSUPPORTED_MIXED_PRECISION);
}

// A word for all uses, or a block with a field for each.
static void take_precision(struct resolver *r, struct train_draft *draft,
                           const struct ast_field *field, const struct origin *origin) {
    struct precision_config *precision = &draft->config->precision;
    if (draft->precision_said && origin->kind == ORIGIN_STATEMENT) {
        report_twice(r, field->span, draft->precision_span, "`precision`");
        return;
    }
    uint32_t errors_before = r->diagnostics->n_errors;
    draft->precision_said = true;
    draft->precision_span = field->span;
    precision->origin = *origin;
    if (field->value) {
        enum dtype dtype;
        if (read_type(r, field->value, "`precision`", false, &dtype))
            set_precision(precision, dtype);
        return;
    }
    for (uint32_t i = 0; i < field->block.n; i++) {
        const struct ast_field *inner = &field->block.items[i];
        if (!inner->value)
            report(r->diagnostics, E104, inner->span, "`precision` has no block inside");
        for (uint32_t k = 0; k < inner->paths.n && inner->value; k++)
            take_precision_path(r, precision, inner, &inner->paths.items[k]);
    }
    if (r->diagnostics->n_errors == errors_before)
        check_uniform(r, precision, field->span);
}

// ---- the block --------------------------------------------------------------------------------

// A field's name is the first step of its first path: `optimizer.norm` is an `optimizer`.
static bool is_field(const struct ast_field *field, const char *name) {
    return strcmp(field->paths.items[0].items[0].name.text, name) == 0;
}

// Both parts, or neither: a number alone is of all dimensions that a strategy can divide, and 0
// promises nothing, so that the command line can take back what the file says.
static void take_reproducible(struct resolver *r, struct train_draft *draft,
                              const struct ast_field *field, const struct origin *origin) {
    struct ast_field most = *field;
    const struct ast_names *of = NULL;
    if (field->value && field->value->kind == AST_OF && field->paths.n == 1) {
        of = &field->value->of.names;
        most.value = field->value->of.value;
    }
    if (take_field(r, train_field_rows, N_TRAIN_FIELDS, "field of `train`", &most, origin,
                   draft->config, draft->said) != TRAIN_REPRODUCIBLE)
        return;
    uint32_t named = read_dimensions(r, of);
    draft->config->reproducible_of = draft->config->reproducible ? named : 0;
    draft->config->reproducible_span = most.value->span;
}

// What an optimizer takes as an argument.
static bool is_optimizers(const struct ast_field *field) {
    const char *name = field->paths.items[0].items[0].name.text;
    return table_find(adamw_arguments, 4, name) >= 0 || table_find(sgd_arguments, 3, name) >= 0 ||
           translated(name, adamw_arguments, 4);
}

// A field of the block or a `-D train.FIELD`: both come this way, with other origins.
static void take_train_field(struct resolver *r, struct train_draft *draft,
                             const struct ast_field *field, const struct origin *origin) {
    struct origin here = *origin;
    if (here.kind == ORIGIN_STATEMENT)
        here.span = field->span;
    if (is_field(field, "precision")) {
        take_precision(r, draft, field, &here);
    } else if (is_field(field, "optimizer")) {
        for (uint32_t i = 0; i < field->paths.n && field->value; i++)
            take_optimizer(r, draft, field, &field->paths.items[i], &here);
        if (!field->value)
            report(r->diagnostics, E105, field->span, "`optimizer` takes a value: `= adamw(...)`");
    } else if (is_field(field, "reproducible")) {
        take_reproducible(r, draft, field, &here);
    } else if (is_optimizers(field)) {
        const struct ast_name *name = &field->paths.items[0].items[0].name;
        struct diagnostic *d = report(r->diagnostics, E104, name->span,
                                      "no field of `train` is called `%s`", name->text);
        diagnostic_help(d, "it is the optimizer's: `optimizer = adamw(lr = 1e-3, ...)`");
    } else {
        take_field(r, train_field_rows, N_TRAIN_FIELDS, "field of `train`", field, &here,
                   draft->config, draft->said);
    }
}

static void report_no_rate(struct resolver *r, const struct optimizer_rule *rule) {
    struct diagnostic *d = report(r->diagnostics, E109, origin_span(&rule->origin),
                                  "the optimizer has no learning rate: `lr` is missing or 0");
    diagnostic_help(d, "say one, as in `%s(lr = 1e-3)`",
                    rule->optimizer.kind == OPTIMIZER_SGD ? "sgd" : "adamw");
}

// What must be said, and what later arithmetic on sizes relies on.
static void check_train(struct resolver *r, const struct found_item *found,
                        const struct train_draft *draft) {
    const struct train_config *train = draft->config;
    const char *missing = "";
    if (!draft->said[TRAIN_BATCH].said)
        missing = "`batch`";
    if (!draft->said[TRAIN_SEQUENCE].said)
        missing = arena_format(r->arena, "%s%s`sequence`", missing, *missing ? ", " : "");
    bool has_base = train->n_optimizers && train->optimizers[0].selector.n_roles == 0;
    if (!has_base)
        missing = arena_format(r->arena, "%s%s`optimizer`", missing, *missing ? ", " : "");
    if (*missing)
        report(r->diagnostics, E109, found->item->name.span, "`train` does not say %s", missing);
    for (uint32_t i = 0; i < train->n_optimizers && has_base; i++) {
        const struct optimizer_rule *rule = &train->optimizers[i];
        if (rule->optimizer.kind != OPTIMIZER_NONE && !rule->optimizer.rate.base &&
            rule->optimizer.rate.kind == RATE_CONSTANT)
            report_no_rate(r, rule);
    }
    check_reproducible(r, train);
    double tokens = (double)train->batch * (double)train->sequence;
    if (tokens > (double)LIMIT_TOKENS)
        report(r->diagnostics, E107, found->item->name.span,
               "a step of %.3g tokens; at most 2^40 can be compiled", tokens);
}

// Defaults, then the block, then the command line; what is missing is told when nothing else is
// wrong.
void resolve_train(struct resolver *r, const struct found_item *found) {
    uint32_t errors_before = r->diagnostics->n_errors;
    struct train_draft draft = {.config = &r->config->train};
    draft.config->origin = origin_statement(found->item->name.span);
    set_precision(&draft.config->precision, DTYPE_F32);
    draft.config->precision.origin =
        (struct origin){.kind = ORIGIN_DEFAULT,
                        .span = found->item->name.span,
                        .text = "without `precision` all types are fp32"};
    const struct ast_block *block = &found->item->train;
    struct origin origin = origin_statement(block->span);
    for (uint32_t i = 0; i < block->n; i++)
        take_train_field(r, &draft, &block->items[i], &origin);
    struct ast_field field;
    for (uint32_t at = 0; next_setting(r, "train", &at, &field, &origin);)
        take_train_field(r, &draft, &field, &origin);
    read_optimizers(r, &draft);
    draft.config->batch_origin = draft.said[TRAIN_BATCH].origin;
    draft.config->sequence_origin = draft.said[TRAIN_SEQUENCE].origin;
    draft.config->microbatch_origin = draft.said[TRAIN_MICROBATCH].origin;
    draft.config->reproducible_origin = draft.said[TRAIN_REPRODUCIBLE].origin;
    if (r->diagnostics->n_errors == errors_before && !r->has_syntax_errors)
        check_train(r, found, &draft);
}

// ---- what depends on the strategy -------------------------------------------------------------

// Without `microbatch` a step is one microbatch: as much as the axes that split the batch leave.
static void default_microbatch(struct config *config) {
    int64_t parts = 1;
    for (uint32_t i = 0; i < config->strategy.n_splits; i++) {
        const struct split_statement *split = &config->strategy.splits[i];
        for (uint32_t d = 0; d < split->n_dimensions && !split->scope_depth; d++)
            if (split->dimensions[d] == DIM_BATCH)
                parts = size_times(parts, mesh_group_size(&config->mesh, &split->axes));
    }
    struct train_config *train = &config->train;
    // Where it does not divide, `place` says so of the batch.
    train->microbatch = train->batch % parts == 0 ? train->batch / parts : 1;
    train->microbatch_origin = (struct origin){
        .kind = ORIGIN_DEFAULT,
        .span = config->train.origin.span,
        .text = "without `microbatch` each device takes its sequences at once",
    };
}

// After the strategy and the mesh are final: the default microbatch depends on both.
void finish_train(struct resolver *r) {
    struct train_config *train = &r->config->train;
    struct model_config *model = &r->config->model;
    if (!train->microbatch)
        default_microbatch(r->config);
    if (!model->sequence_limit) // rotary positions have no table to end
        model->sequence_limit = train->sequence;
    if (train->sequence > model->sequence_limit) {
        struct diagnostic *d = report(r->diagnostics, E114, origin_span(&train->sequence_origin),
                                      "sequences of %lld tokens, but the model has %lld positions",
                                      (long long)train->sequence, (long long)model->sequence_limit);
        diagnostic_origin(d, &train->sequence_origin);
        diagnostic_label(d, model->origin.span, "`sequence_limit` is %lld",
                         (long long)model->sequence_limit);
        diagnostic_help(d, "make train.sequence shorter, or raise the model's `sequence_limit`");
    }
}
