// The `precision` of a `train` block: a type for all uses, or a block with a field for each, of
// everything or by selector. Here it is read; which types have a meaning together is asked when there
// are tensors and ops (passes/reference/precision_rules.c).
#include "frontend/resolve.h"

#include <string.h>

// Every type that the language has, `none`, which is for the master copy alone, and those that are not
// built.
static const char *const type_words[] = {
#define TYPE_WORD(text) text,
#include "frontend/words.def"
};
static const struct type_alias {
    const char *alias, *text;
} type_aliases[] = {
#define TYPE_ALIAS(alias, text) {alias, text},
#include "frontend/words.def"
};
static const enum dtype types[] = {DTYPE_BF16, DTYPE_F16, DTYPE_F32, DTYPE_F64, DTYPE_NONE};
enum {
    N_TYPE_WORDS = sizeof type_words / sizeof *type_words,
    N_BUILT_TYPES = sizeof types / sizeof *types,
    TYPE_NONE_WORD = N_BUILT_TYPES - 1
};

static const char *const field_names[] = {
#define PRECISION_FIELD(NAME, text) text,
#define EXPERT_FIELD(text)          text,
#include "ir/precision_fields.def"
#undef PRECISION_FIELD
#undef EXPERT_FIELD
};
enum { N_FIELD_NAMES = sizeof field_names / sizeof *field_names };

// ---- types ------------------------------------------------------------------------------------

// A sum of so few digits is not the gradient any more, which nothing but `relax` may give up.
static void report_short_sums(struct resolver *r, struct span span) {
    struct diagnostic *d =
        report(r->diagnostics, E122, span,
               "gradients that are summed in fewer than 16 bits are not those of "
               "one device");
    diagnostic_help(
        d, "say `reduce = bf16`; or send gradients as codes where that is relaxed, "
           "`relax gradient_integrity over AXES { gradients : replicated(AXES, wire = int8) }`");
}

// The name of the type that another system calls so, or that itself.
static const char *word_of(const char *name) {
    for (size_t i = 0; i < sizeof type_aliases / sizeof *type_aliases; i++)
        if (strcmp(type_aliases[i].alias, name) == 0)
            return type_aliases[i].text;
    return name;
}

static void report_alias(struct resolver *r, const struct ast_value *value) {
    const char *word = word_of(value->name);
    struct diagnostic *d =
        report(r->diagnostics, E105, value->span, "`%s` is called `%s` here", value->name, word);
    diagnostic_help(d, "say `%s`", word);
    diagnostic_edit(d, value->span, "%s", word);
}

// A type by its name; false: reported. `use`: N_PRECISION_USES: of all.
static bool read_type(struct resolver *r, const struct ast_value *value, const char *what,
                      enum precision_use use, enum dtype *out) {
    int word = value->kind == AST_NAME ? table_find(type_words, N_TYPE_WORDS, value->name) : -1;
    if (word >= N_BUILT_TYPES && use == PRECISION_REDUCE) {
        report_short_sums(r, value->span);
        return false;
    }
    if (word >= N_BUILT_TYPES) {
        report_unsupported(r, value->span, UNSUPPORTED_NARROW_TYPES);
        return false;
    }
    if (value->kind == AST_NAME && word_of(value->name) != value->name) {
        report_alias(r, value);
        return false;
    }
    // Types that are not built are not offered.
    if (!read_choice(r, value, what, type_words, TYPE_NONE_WORD + (use == PRECISION_MASTER), &word))
        return false;
    *out = types[word];
    return true;
}

// ---- fields -----------------------------------------------------------------------------------

static bool overrides(const struct origin *origin) {
    return origin->kind == ORIGIN_COMMAND_LINE;
}

static void take_of_all(struct resolver *r, struct precision_config *precision,
                        enum precision_use use, enum dtype type, const struct ast_path *path,
                        const struct origin *origin, struct span type_span) {
    const struct origin *before = &precision->origins[use];
    if (before->span.source != NO_SOURCE && !overrides(origin)) {
        report_twice(r, path->span, before->span,
                     arena_format(r->arena, "`%s`", precision_names[use]));
        return;
    }
    precision->of_all[use] = type;
    precision->origins[use] = *origin;
    precision->type_spans[use] = type_span;
}

static void take_of_part(struct resolver *r, struct precision_draft *draft, enum precision_use use,
                         enum dtype type, const struct ast_path *path, const struct origin *origin,
                         struct span type_span) {
    struct precision_config *precision = draft->config;
    struct precision_rule rule = {
        .use = use, .type = type, .origin = *origin, .type_span = type_span};
    struct selector everything = {.span = path->span};
    if (!resolve_selector(r, path, 1, &everything, &rule.selector))
        return;
    uint32_t at = 0;
    while (at < precision->n_rules &&
           (precision->rules[at].use != use ||
            !selector_equal(&precision->rules[at].selector, &rule.selector)))
        at++;
    if (at == precision->n_rules)
        ARENA_PUSH(r->arena, precision->rules, precision->n_rules, draft->cap_rules, rule);
    else if (overrides(origin))
        precision->rules[at] = rule;
    else
        report_twice(r, path->span, precision->rules[at].selector.span,
                     arena_format(r->arena, "`%s` of this part", precision_names[use]));
}

// `compute = bf16`, `compute.norm = fp32`: a path that begins with the use. `alone`: no other path has its type.
static void take_use(struct resolver *r, struct precision_draft *draft,
                     const struct ast_value *value, const struct ast_path *path,
                     const struct origin *origin, bool alone) {
    struct ast_name name = path->items[0].name;
    int use = table_find(field_names, N_FIELD_NAMES, name.text);
    enum dtype type;
    if (use < 0) {
        report_unknown(r, E104, name, "field of `precision`", field_names, N_FIELD_NAMES);
        return;
    }
    if (!read_type(r, value, arena_format(r->arena, "`%s`", name.text), (enum precision_use)use,
                   &type))
        return;
    struct origin here = *origin;
    struct span type_span = alone && !overrides(origin) ? value->span : span_nowhere();
    if (here.kind == ORIGIN_STATEMENT)
        here.span = path->span;
    if (use >= N_PRECISION_USES)
        report_unsupported(r, path->span, UNSUPPORTED_EXPERT_MODEL);
    else if (path->n > 1)
        take_of_part(r, draft, (enum precision_use)use, type, path, &here, type_span);
    else
        take_of_all(r, draft->config, (enum precision_use)use, type, path, &here, type_span);
}

static void take_block(struct resolver *r, struct precision_draft *draft,
                       const struct ast_block *block, const struct origin *origin) {
    for (uint32_t i = 0; i < block->n; i++) {
        const struct ast_field *inner = &block->items[i];
        if (!inner->value)
            report(r->diagnostics, E104, inner->span, "`precision` has no block inside");
        for (uint32_t k = 0; k < inner->paths.n && inner->value; k++)
            take_use(r, draft, inner->value, &inner->paths.items[k], origin, inner->paths.n == 1);
    }
}

// ---- the whole --------------------------------------------------------------------------------

void begin_precision(struct precision_draft *draft, struct span span) {
    *draft->config =
        (struct precision_config){.all = DTYPE_F32,
                                  .origin = {.kind = ORIGIN_DEFAULT,
                                             .span = span,
                                             .text = "without `precision` all types are fp32"}};
    for (int i = 0; i < N_PRECISION_USES; i++)
        draft->config->origins[i].span = draft->config->type_spans[i] = span_nowhere();
}

// `precision.compute = bf16` is one field, as in the block.
static void take_dotted(struct resolver *r, struct precision_draft *draft,
                        const struct ast_field *field, const struct ast_path *path,
                        const struct origin *origin) {
    struct ast_path inner = *path;
    inner.items++;
    inner.n--;
    inner.span.begin = inner.items[0].name.span.begin;
    if (field->value)
        take_use(r, draft, field->value, &inner, origin, field->paths.n == 1);
    else
        report(r->diagnostics, E104, field->span, "`precision` has no block inside");
}

void take_precision(struct resolver *r, struct precision_draft *draft,
                    const struct ast_field *field, const struct origin *origin) {
    const struct ast_path *path = &field->paths.items[0];
    if (path->n > 1) {
        for (uint32_t i = 0; i < field->paths.n; i++)
            take_dotted(r, draft, field, &field->paths.items[i], origin);
        return;
    }
    if (draft->said && !overrides(origin)) {
        report_twice(r, field->span, draft->span, "`precision`");
        return;
    }
    if (overrides(origin)) // what the file says, in all its fields
        begin_precision(draft, field->span);
    draft->said = true;
    draft->span = field->span;
    draft->config->origin = *origin;
    if (!field->value)
        take_block(r, draft, &field->block, origin);
    else
        read_type(r, field->value, "`precision`", N_PRECISION_USES, &draft->config->all);
}
