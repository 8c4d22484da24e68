// The `train` block: the sizes of a step, and optimizers by selector. Its precision is
// resolve_precision.c's.
//
// Optimizers are a list of rules, the most general first; which of them holds for a tensor is asked
// when there are tensors (optimizer_rule_of). A rule inherits what it does not say from the longest
// rule that contains it, so `optimizer.norm = adamw(weight_decay = 0)` keeps the rate of the rest.
// The microbatch may be left open until the mesh and the strategy say how far the batch is split.
#include "frontend/resolve.h"

#include <float.h>
#include <string.h>

// Fields that are plain numbers go through the table; `optimizer` and `precision` have a form of
// their own, and `reproducible` has two parts.
static const struct field_row train_field_rows[] = {
#define TRAIN_FIELD(name, kind) {#name, FIELD_##kind, offsetof(struct train_config, name)},
#define OTHER_FIELD(name)       {#name, FIELD_COUNT, 0},
#include "frontend/train_fields.def"
#undef TRAIN_FIELD
#undef OTHER_FIELD
};
enum {
#define TRAIN_FIELD(name, kind) TRAIN_##name,
#define OTHER_FIELD(name)       TRAIN_##name,
#include "frontend/train_fields.def"
#undef TRAIN_FIELD
#undef OTHER_FIELD
    N_TRAIN_FIELDS
};

// A rule with what it is given, which is read when all rules are known.
struct drafted_rule {
    struct optimizer_rule rule;
    const struct ast_value *value;
};

// The configuration while the block is read: who said which field is needed for its messages only.
struct train_draft {
    struct train_config *config;
    struct field_said said[N_TRAIN_FIELDS];
    struct drafted_rule *rules;
    uint32_t n_rules, rules_capacity;
    struct precision_draft precision;
};

static bool slice_is_within(const struct selector *inner, const struct selector *outer) {
    if (!outer->has_slice || !inner->has_slice)
        return !outer->has_slice;
    int64_t distance = inner->slice_begin - outer->slice_begin;
    bool one = inner->slice_end - inner->slice_begin <= inner->slice_step;
    return distance >= 0 && inner->slice_end <= outer->slice_end &&
           distance % outer->slice_step == 0 && (one || inner->slice_step % outer->slice_step == 0);
}

// True if every tensor that `inner` selects by its roles, and every layer of it, is one that `outer`
// does: the roles of `outer` stand in `inner` in their order.
static bool is_within(const struct selector *inner, const struct selector *outer) {
    uint32_t k = 0;
    for (uint32_t i = 0; i < inner->n_roles && k < outer->n_roles; i++)
        k += inner->roles[i] == outer->roles[k];
    return k == outer->n_roles && slice_is_within(inner, outer);
}

// A rule for the tensors that the selector matches. That of the command line stands in the place of
// the file's, in which nothing is looked at any more.
static void take_optimizer(struct resolver *r, struct train_draft *draft,
                           const struct ast_field *field, const struct ast_path *path,
                           const struct origin *origin) {
    struct drafted_rule drafted = {.rule.origin = *origin, .value = field->value};
    struct selector everything = {.span = path->span}, *selector = &drafted.rule.selector;
    if (!resolve_selector(r, path, 1, &everything, selector))
        return;
    uint32_t at = 0;
    while (at < draft->n_rules && !selector_equal(&draft->rules[at].rule.selector, selector))
        at++;
    if (at == draft->n_rules)
        ARENA_PUSH(r->arena, draft->rules, draft->n_rules, draft->rules_capacity, drafted);
    else if (origin->kind == ORIGIN_COMMAND_LINE)
        draft->rules[at] = drafted;
    else
        report_twice(r, path->span, draft->rules[at].rule.selector.span, "the optimizer");
}

// ---- an argument of the command line ----------------------------------------------------------

// The optimizer with one argument in the place of what its text says of it, or beside the others.
static const struct ast_value *with_argument(struct resolver *r, const struct ast_value *optimizer,
                                             struct ast_argument argument) {
    struct ast_value *with = ARENA_NEW(r->arena, struct ast_value);
    *with = *optimizer;
    if (optimizer->kind == AST_NAME) {
        with->kind = AST_CALL;
        with->call.name = (struct ast_name){optimizer->name, optimizer->span};
        with->call.arguments = (struct ast_arguments){0};
    }
    const struct ast_arguments *old = &with->call.arguments;
    struct ast_argument *items = ARENA_ARRAY(r->arena, struct ast_argument, old->n + 1);
    uint32_t n = 0;
    for (uint32_t i = 0; i < old->n; i++)
        if (!old->items[i].name.text || strcmp(old->items[i].name.text, argument.name.text) != 0)
            items[n++] = old->items[i];
    items[n++] = argument;
    with->call.arguments.items = items;
    with->call.arguments.n = n;
    return with;
}

// The optimizer of all that has none of its own; NULL: the file says none.
static const struct ast_value *general_optimizer(const struct train_draft *draft) {
    for (uint32_t i = 0; i < draft->n_rules; i++)
        if (draft->rules[i].rule.selector.n_roles == 0)
            return draft->rules[i].value;
    return NULL;
}

// What holds there without a rule, with the argument, as a rule.
static void report_no_rule(struct resolver *r, const struct train_draft *draft,
                           const struct ast_path *path, struct ast_argument argument) {
    struct span span = span_join(path->items[0].name.span, path->items[path->n - 2].span);
    const char *words = arena_format(r->arena, "train.%.*s", (int)(span.end - span.begin),
                                     r->diagnostics->sources->items[span.source].text + span.begin);
    const struct ast_value adamw = {.kind = AST_NAME, .name = "adamw"};
    const struct ast_value *general = general_optimizer(draft);
    struct diagnostic *d =
        report(r->diagnostics, E118, path->span, "the file has no `%s` whose `%s` could be set",
               words, argument.name.text);
    diagnostic_help(
        d, "set the whole of it: `-D '%s=%s'`", words,
        ast_value_text(r->arena, with_argument(r, general ? general : &adamw, argument)));
}

// `-D train.optimizer.norm.lr=1e-4`: one argument of what the file says. Its other arguments stay.
static void set_argument(struct resolver *r, struct train_draft *draft,
                         const struct ast_field *field, const struct ast_path *path) {
    struct ast_name name = path->items[path->n - 1].name;
    struct ast_path rule = *path;
    if (!check_optimizer_argument(r, name))
        return;
    rule.n--;
    struct selector everything = {.span = path->span}, selector;
    if (!resolve_selector(r, &rule, 1, &everything, &selector))
        return;
    struct ast_argument argument = {
        .kind = ARGUMENT_VALUE, .span = field->span, .name = name, .value = field->value};
    for (uint32_t i = 0; i < draft->n_rules; i++) {
        struct drafted_rule *drafted = &draft->rules[i];
        if (!selector_equal(&drafted->rule.selector, &selector))
            continue;
        bool takes = drafted->value->kind == AST_CALL || drafted->value->kind == AST_NAME;
        if (takes) // else what it is is reported when it is read
            drafted->value = with_argument(r, drafted->value, argument);
        return;
    }
    report_no_rule(r, draft, path, argument);
}

// What no selector can end with.
static bool names_argument(const struct ast_path *path, const struct origin *origin) {
    const struct ast_step *last = &path->items[path->n - 1];
    return origin->kind == ORIGIN_COMMAND_LINE && path->n > 1 && !last->has_slice &&
           table_find(role_names + 1, N_ROLES - 1, last->name.text) < 0;
}

// What a rule inherits from: of those before it that contain it the longest; of several the last,
// which comes to the same (check_inherits).
static struct optimizer_rule *inherited_rule(const struct train_config *train, uint32_t of) {
    for (uint32_t i = of; i > 0; i--)
        if (is_within(&train->optimizers[of].selector, &train->optimizers[i - 1].selector))
            return &train->optimizers[i - 1];
    return NULL;
}

// What would hold without a rule is not known where others of the rank of the one that it inherits
// from contain it, too: then it says itself what these say differently.
static void check_inherits(struct resolver *r, uint32_t of, const struct ast_value *value,
                           const struct optimizer_rule *from) {
    const struct optimizer_rule *rules = r->config->train.optimizers, *rule = &rules[of];
    uint32_t errors_before = r->diagnostics->n_errors;
    for (uint32_t i = 0; i < of && r->diagnostics->n_errors == errors_before; i++) {
        const struct optimizer_rule *rival = &rules[i];
        struct optimizer_config other = rival->optimizer;
        if (rival == from || rival->selector.n_roles != from->selector.n_roles ||
            !is_within(&rule->selector, &rival->selector) ||
            !read_optimizer(r, value, true, &other))
            continue;
        const char *open = optimizer_differences(r->arena, &rule->optimizer, &other);
        if (r->diagnostics->n_errors > errors_before || !*open)
            continue;
        struct diagnostic *d = report(r->diagnostics, E305, origin_span(&rule->origin),
                                      "two optimizers of equal rank say what this one leaves open");
        diagnostic_label(d, origin_span(&rival->origin), "one says this");
        diagnostic_label(d, origin_span(&from->origin), "the other says this");
        diagnostic_help(d, "say it here: %s", open);
    }
}

// Shorter selectors first, since others inherit from them; else in the order of the text.
static void sort_rules(struct train_draft *draft) {
    for (uint32_t i = 1; i < draft->n_rules; i++) {
        struct drafted_rule moved = draft->rules[i];
        uint32_t at = i;
        for (; at && draft->rules[at - 1].rule.selector.n_roles > moved.rule.selector.n_roles; at--)
            draft->rules[at] = draft->rules[at - 1];
        draft->rules[at] = moved;
    }
}

// Each on top of what it inherits.
static void read_optimizers(struct resolver *r, struct train_draft *draft) {
    struct train_config *train = draft->config;
    sort_rules(draft);
    train->optimizers = ARENA_ARRAY(r->arena, struct optimizer_rule, draft->n_rules);
    train->n_optimizers = draft->n_rules;
    for (uint32_t i = 0; i < draft->n_rules; i++) {
        const struct ast_value *value = draft->rules[i].value;
        struct optimizer_rule *rule = &train->optimizers[i];
        *rule = draft->rules[i].rule;
        struct optimizer_rule *from = inherited_rule(train, i);
        uint32_t errors_before = r->diagnostics->n_errors;
        if (from) {
            rule->optimizer = from->optimizer;
            from->is_inherited = true;
        }
        read_optimizer(r, value, rule->selector.n_roles > 0, &rule->optimizer);
        if (from && r->diagnostics->n_errors == errors_before)
            check_inherits(r, i, value, from);
    }
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
                   draft->config, draft->said) != TRAIN_reproducible)
        return;
    uint32_t named = read_dimensions(r, of);
    draft->config->reproducible_of = draft->config->reproducible ? named : 0;
    draft->config->reproducible_span = most.value->span;
}

// What the command line says takes the place of what the file does, which says it once.
static void take_loss_scale(struct resolver *r, struct train_draft *draft,
                            const struct ast_field *field, const struct origin *origin) {
    struct field_said *said = &draft->said[TRAIN_loss_scale];
    if (!field->value || field->paths.n != 1 || field->paths.items[0].n != 1) {
        report(r->diagnostics, E105, field->span, "`loss_scale` takes a value: `= 65536`");
        return;
    }
    if (said->said && origin->kind == ORIGIN_STATEMENT) {
        report_twice(r, field->span, said->origin.span, "`loss_scale`");
        return;
    }
    *said = (struct field_said){true, *origin};
    read_loss_scale(r, field->value, &draft->config->loss_scale);
    draft->config->loss_scale.origin = *origin;
}

// A field of the block or a `-D train.FIELD`: both come this way, with other origins.
static void take_train_field(struct resolver *r, struct train_draft *draft,
                             const struct ast_field *field, const struct origin *origin) {
    struct origin here = *origin;
    if (here.kind == ORIGIN_STATEMENT)
        here.span = field->span;
    if (is_field(field, "precision")) {
        take_precision(r, &draft->precision, field, &here);
    } else if (is_field(field, "loss_scale")) {
        take_loss_scale(r, draft, field, &here);
    } else if (is_field(field, "optimizer")) {
        for (uint32_t i = 0; i < field->paths.n && field->value; i++) {
            const struct ast_path *path = &field->paths.items[i];
            if (names_argument(path, &here))
                set_argument(r, draft, field, path);
            else
                take_optimizer(r, draft, field, path, &here);
        }
        if (!field->value)
            report(r->diagnostics, E105, field->span, "`optimizer` takes a value: `= adamw(...)`");
    } else if (is_field(field, "reproducible")) {
        take_reproducible(r, draft, field, &here);
    } else if (is_optimizer_argument(field->paths.items[0].items[0].name.text)) {
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
    diagnostic_help(d, "say one, as in `%s(lr = 1e-3)`", optimizer_names[rule->optimizer.kind]);
}

// What must be said, and what later arithmetic on sizes relies on.
static void check_train(struct resolver *r, const struct found_item *found,
                        const struct train_draft *draft) {
    const struct train_config *train = draft->config;
    const char *missing = "";
    if (!draft->said[TRAIN_batch].said)
        missing = "`batch`";
    if (!draft->said[TRAIN_sequence].said)
        missing = arena_format(r->arena, "%s%s`sequence`", missing, *missing ? ", " : "");
    bool has_base = train->n_optimizers && train->optimizers[0].selector.n_roles == 0;
    if (!has_base)
        missing = arena_format(r->arena, "%s%s`optimizer`", missing, *missing ? ", " : "");
    if (*missing)
        report(r->diagnostics, E109, found->item->name.span, "`train` does not say %s", missing);
    for (uint32_t i = 0; i < train->n_optimizers && has_base; i++) {
        const struct optimizer_rule *rule = &train->optimizers[i];
        if (rule->optimizer.kind != OPTIMIZER_NONE && !rule->optimizer.rate.base)
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
// Which of two seeds was meant is not ours to guess.
static void check_seed(struct resolver *r) {
    const struct origin *origin = &r->config->train.seed_origin;
    if (origin->kind != ORIGIN_COMMAND_LINE || !r->options->seed)
        return;
    struct diagnostic *d =
        report(r->diagnostics, E118, origin->span, "`%s` sets what `--seed %s` sets", origin->text,
               r->options->seed);
    diagnostic_help(d, "leave out one of the two");
}

void resolve_train(struct resolver *r, const struct found_item *found) {
    uint32_t errors_before = r->diagnostics->n_errors;
    struct train_draft draft = {.config = &r->config->train};
    draft.config->origin = origin_statement(found->item->name.span);
    draft.precision.config = &draft.config->precision;
    begin_precision(&draft.precision, found->item->name.span);
    const struct ast_block *block = &found->item->train;
    struct origin origin = origin_statement(block->span);
    for (uint32_t i = 0; i < block->n; i++)
        take_train_field(r, &draft, &block->items[i], &origin);
    struct ast_field field;
    for (uint32_t at = 0; next_setting(r, "train", &at, &field, &origin);)
        take_train_field(r, &draft, &field, &origin);
    read_optimizers(r, &draft);
    draft.config->batch_origin = draft.said[TRAIN_batch].origin;
    draft.config->sequence_origin = draft.said[TRAIN_sequence].origin;
    draft.config->microbatch_origin = draft.said[TRAIN_microbatch].origin;
    draft.config->seed_origin = draft.said[TRAIN_seed].origin;
    draft.config->clip_origin = draft.said[TRAIN_clip].origin;
    check_seed(r);
    draft.config->reproducible_origin = draft.said[TRAIN_reproducible].origin;
    if (r->diagnostics->n_errors == errors_before && !r->has_syntax_errors)
        check_train(r, found, &draft);
}

// ---- what depends on the strategy -------------------------------------------------------------

// A window that holds all of a sequence cuts nothing off.
static void report_window(struct resolver *r) {
    const struct train_config *train = &r->config->train;
    const struct model_config *model = &r->config->model;
    struct diagnostic *d =
        report_unsupported(r, origin_span(&train->sequence_origin), UNSUPPORTED_WINDOW);
    diagnostic_origin(d, &train->sequence_origin);
    diagnostic_label(d, model->origin.span, "a window of %lld tokens", (long long)model->window);
}

// After the strategy and the mesh are final: the default microbatch depends on both.
void finish_train(struct resolver *r) {
    struct train_config *train = &r->config->train;
    struct model_config *model = &r->config->model;
    if (!train->microbatch)
        default_microbatch(r->config);
    if (!model->sequence_limit) // rotary positions have no table to end
        model->sequence_limit = train->sequence;
    if (model->window && train->sequence > model->window)
        report_window(r);
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
