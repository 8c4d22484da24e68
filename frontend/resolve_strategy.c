// A strategy as a flat list of splits and modes: `use` replaced by what it brings, `in` by longer
// selectors, parameters by what they were given, with the chain of where each comes from. What the
// statements mean together is for `place` to judge.
//
// Three things travel along while bodies are expanded: the frame (whose text this is and what its
// parameters stand for), the scope (what `in` and `relax` around it limit), and the expansion (the
// lists that grow). A statement that is wrong is reported and left out; the others are still read.
#include "frontend/expand.h"

#include <string.h>

// Bounds what strategies that use each other several times can become.
static bool has_room(struct expansion *e, struct span span) {
    if (e->r->n_statements++ < LIMIT_STATEMENTS)
        return true;
    if (e->r->n_statements == LIMIT_STATEMENTS + 1)
        report(e->r->diagnostics, E123, span, "the strategy expands to more than %d statements",
               LIMIT_STATEMENTS);
    return false;
}

// ---- split ------------------------------------------------------------------------------------

// What refuses a split over this dimension; -1: nothing.
static int split_unsupported(enum dimension dimension) {
    return dimension == DIM_EXPERTS ? UNSUPPORTED_SPLIT_EXPERTS : -1;
}

static bool is_built(enum dimension dimension) {
    return dimension_splittable[dimension] && split_unsupported(dimension) < 0;
}

bool is_divisible(enum dimension dimension) {
    return is_built(dimension) && dimension != DIM_LAYERS;
}

// Known, and one that work can be divided along; then, whether that is built.
static bool resolve_dimension(struct resolver *r, struct ast_name name, enum dimension *out) {
    const char *names[N_DIMENSIONS];
    size_t n = 0;
    int found = table_find(dimension_names, N_DIMENSIONS, name.text);
    for (int i = 0; i < N_DIMENSIONS; i++)
        if (is_built((enum dimension)i))
            names[n++] = dimension_names[i];
    if (found < 0 || !dimension_splittable[found]) {
        report_unknown(r, E103, name, "dimension that can be split", names, n);
        return false;
    }
    *out = (enum dimension)found;
    int unsupported = split_unsupported(*out);
    if (unsupported >= 0)
        report_unsupported(r, name.span, (enum unsupported)unsupported);
    return unsupported < 0;
}

// A split that cannot be built is reported and left out; the rest of the strategy is still read.
static void expand_split(struct expansion *e, const struct frame *frame, const struct scope *scope,
                         const struct ast_statement *statement) {
    struct resolver *r = e->r;
    const struct ast_names *names = &statement->split.dimensions;
    struct split_statement split = {
        .dimensions = ARENA_ARRAY(r->arena, enum dimension, names->n),
        .dimension_spans = ARENA_ARRAY(r->arena, struct span, names->n),
        .scope = scope->selector,
        .scope_depth = scope->depth,
        .origin = origin_in_frame(r->arena, frame, statement->span),
    };
    bool good = true;
    for (uint32_t i = 0; i < names->n; i++) {
        enum dimension dimension;
        if (!resolve_dimension(r, names->items[i], &dimension)) {
            good = false;
            continue;
        }
        for (uint32_t k = 0; k < split.n_dimensions; k++)
            if (split.dimensions[k] == dimension)
                report_twice(r, names->items[i].span, names->items[k].span,
                             arena_format(r->arena, "`%s`", names->items[i].text));
        split.dimensions[split.n_dimensions] = dimension;
        split.dimension_spans[split.n_dimensions++] = names->items[i].span;
    }
    good &= resolve_product(r, frame, &statement->split.axes, &split.axes);
    if (expand_pipeline(e, frame, statement, &split, good))
        return;
    if (good)
        ARENA_PUSH(r->arena, e->strategy->splits, e->strategy->n_splits, e->splits_capacity, split);
}

// ---- use --------------------------------------------------------------------------------------

static void expand_body(struct expansion *e, const struct frame *frame, const struct scope *scope,
                        const struct ast_body *body);

// `strategy s(axis a, number n = 4, word w = last)`.
static const char *const parameter_kinds[] = {
#define PARAMETER_WORD(text) text,
#include "frontend/words.def"
};

// Numbers may have a unit; words may be calls, as `layers(2)` is.
static bool bind_value(struct resolver *r, const struct ast_parameter *parameter,
                       const struct ast_value *value, struct binding *binding) {
    bool number = strcmp(parameter->kind.text, "number") == 0;
    bool fits = number ? value->kind == AST_NUMBER || value->kind == AST_QUANTITY
                       : value->kind == AST_NAME || value->kind == AST_CALL;
    if (!fits) {
        report(r->diagnostics, E115, value->span, "parameter `%s` is a %s, not `%s`",
               parameter->name.text, parameter->kind.text, ast_value_text(r->arena, value));
        return false;
    }
    binding->kind = BINDING_VALUE;
    binding->value = value;
    return true;
}

// Gives a parameter what stands in the argument, read in the frame of the one who gives it.
static bool bind(struct resolver *r, const struct frame *giver,
                 const struct ast_parameter *parameter, const struct ast_argument *argument,
                 struct binding *binding) {
    *binding = (struct binding){.name = parameter->name.text};
    if (strcmp(parameter->kind.text, "axis") != 0) {
        if (argument->kind == ARGUMENT_VALUE)
            return bind_value(r, parameter, substitute(giver, argument->value), binding);
        report(r->diagnostics, E115, argument->span, "parameter `%s` is no axis",
               parameter->name.text);
        return false;
    }
    struct ast_name name = {.span = argument->span};
    struct ast_names names = {.items = &name, .n = 1, .span = argument->span};
    if (argument->kind == ARGUMENT_VALUE && argument->value->kind == AST_NAME) {
        name = (struct ast_name){argument->value->name, argument->value->span};
    } else if (argument->kind == ARGUMENT_PRODUCT) {
        names = argument->axes;
    } else {
        report(r->diagnostics, E115, argument->span, "parameter `%s` is an axis",
               parameter->name.text);
        return false;
    }
    binding->kind = BINDING_AXES;
    binding->span = product_span(giver, &names);
    return resolve_product(r, giver, &names, &binding->axes);
}

// What is wrong with a declaration is said there, by whoever needs it first.
static bool check_parameters(struct resolver *r, const struct ast_parameters *parameters) {
    for (uint32_t i = 0; i < parameters->n; i++) {
        const struct ast_parameter *parameter = &parameters->items[i];
        if (table_find(parameter_kinds, 3, parameter->kind.text) < 0) {
            report_unknown(r, E103, parameter->kind, "kind of parameter", parameter_kinds, 3);
            return false;
        }
        for (uint32_t k = 0; k < i; k++)
            if (strcmp(parameters->items[k].name.text, parameter->name.text) == 0) {
                report_twice(r, parameter->name.span, parameters->items[k].name.span,
                             arena_format(r->arena, "parameter `%s`", parameter->name.text));
                return false;
            }
    }
    return true;
}

// The argument for a parameter: named, else by its place. NULL: not given.
static const struct ast_argument *argument_for(const struct ast_arguments *arguments,
                                               const struct ast_parameters *parameters,
                                               uint32_t number) {
    for (uint32_t i = 0; i < arguments->n; i++)
        if (arguments->items[i].name.text &&
            strcmp(arguments->items[i].name.text, parameters->items[number].name.text) == 0)
            return &arguments->items[i];
    bool placed = number < arguments->n && !arguments->items[number].name.text;
    return placed ? &arguments->items[number] : NULL;
}

// Several axes for a parameter that is one: `zero3(dp, tp)`.
static void help_product(struct resolver *r, struct diagnostic *d, const struct ast_statement *use,
                         const struct ast_parameters *parameters) {
    const struct ast_arguments *arguments = &use->use.arguments;
    if (parameters->n != 1 || strcmp(parameters->items[0].kind.text, "axis") != 0)
        return;
    const char *product = "";
    for (uint32_t i = 0; i < arguments->n; i++) {
        const struct ast_argument *argument = &arguments->items[i];
        if (argument->name.text || argument->kind != ARGUMENT_VALUE ||
            argument->value->kind != AST_NAME)
            return;
        product = arena_format(r->arena, "%s%s%s", product, i ? " * " : "", argument->value->name);
    }
    struct span all = span_of(use->span.source, arguments->items[0].span.begin,
                              arguments->items[arguments->n - 1].span.end);
    diagnostic_help(d, "a product of axes is one argument: `%s`", product);
    diagnostic_edit(d, all, "%s", product);
}

// Reports arguments that are given twice: by name and by place, or by name both times.
static bool check_given_once(struct resolver *r, const struct ast_arguments *arguments,
                             const struct ast_parameters *parameters) {
    for (uint32_t i = 0; i < arguments->n; i++) {
        const struct ast_argument *argument = &arguments->items[i];
        uint32_t number = i;
        for (uint32_t k = 0; k < parameters->n && argument->name.text; k++)
            if (strcmp(parameters->items[k].name.text, argument->name.text) == 0)
                number = k;
        const struct ast_argument *taken = argument_for(arguments, parameters, number);
        if (taken == argument)
            continue;
        bool later = taken > argument;
        report_twice(r, later ? taken->span : argument->span, later ? argument->span : taken->span,
                     arena_format(r->arena, "`%s`", parameters->items[number].name.text));
        return false;
    }
    return true;
}

// Too many, by a name that is no parameter's, or one parameter twice.
static bool check_arguments(struct resolver *r, const struct ast_statement *use,
                            const struct ast_item *strategy) {
    const struct ast_arguments *arguments = &use->use.arguments;
    const struct ast_parameters *parameters = &strategy->strategy.parameters;
    if (arguments->n > parameters->n) {
        struct diagnostic *d =
            report(r->diagnostics, E115, use->span, "`%s` has %u parameter%s, but is given %u",
                   use->use.name.text, parameters->n, plural_s(parameters->n), arguments->n);
        diagnostic_label(d, strategy->name.span, "declared here");
        help_product(r, d, use, parameters);
        return false;
    }
    const char **names = ARENA_ARRAY(r->arena, const char *, parameters->n + 1);
    for (uint32_t i = 0; i < parameters->n; i++)
        names[i] = parameters->items[i].name.text;
    for (uint32_t i = 0; i < arguments->n; i++)
        if (arguments->items[i].name.text &&
            table_find(names, (int)parameters->n, arguments->items[i].name.text) < 0) {
            report_unknown(r, E115, arguments->items[i].name, "parameter", names, parameters->n);
            return false;
        }
    return check_given_once(r, arguments, parameters);
}

// Defaults are read in the frame of the one who uses: `axis b = dp` means the mesh's dp.
static bool bind_arguments(struct resolver *r, const struct frame *giver,
                           const struct ast_statement *use, struct frame *frame) {
    const struct ast_parameters *parameters = &frame->strategy->strategy.parameters;
    if (!check_parameters(r, parameters) || !check_arguments(r, use, frame->strategy))
        return false;
    frame->bindings = ARENA_ARRAY(r->arena, struct binding, parameters->n);
    for (uint32_t i = 0; i < parameters->n; i++) {
        const struct ast_parameter *parameter = &parameters->items[i];
        const struct ast_argument *given = argument_for(&use->use.arguments, parameters, i);
        struct ast_argument fallback = {.kind = ARGUMENT_VALUE, .value = parameter->value};
        if (!given && !parameter->value) {
            struct diagnostic *d =
                report(r->diagnostics, E115, use->span, "parameter `%s` of `%s` is not given",
                       parameter->name.text, use->use.name.text);
            diagnostic_label(d, parameter->name.span, "declared here");
            if (strcmp(parameter->kind.text, "axis") == 0 && r->config->mesh.n_axes)
                diagnostic_help(d, "say which axis of the mesh, as in `use %s(%s = %s)`",
                                use->use.name.text, parameter->name.text,
                                r->config->mesh.axes[0].name);
            return false;
        }
        if (parameter->value)
            fallback.span = parameter->value->span;
        if (!bind(r, giver, parameter, given ? given : &fallback, &frame->bindings[i]))
            return false;
        frame->n_bindings = i + 1;
    }
    return true;
}

static bool is_being_expanded(const struct frame *frame, const struct ast_item *strategy) {
    for (; frame; frame = frame->outer)
        if (frame->strategy == strategy)
            return true;
    return false;
}

// Expands a strategy as if its text stood here, but for the names it may use and the rank it has.
static void expand_use(struct expansion *e, const struct frame *frame, const struct scope *scope,
                       const struct ast_statement *statement) {
    struct resolver *r = e->r;
    const struct found_item *found = find_item(r, ITEM_STRATEGY, statement->use.name);
    if (!found)
        return;
    if (is_being_expanded(frame, found->item)) {
        struct diagnostic *d =
            report(r->diagnostics, E116, statement->span, "`%s` uses itself, by way of this `use`",
                   statement->use.name.text);
        diagnostic_label(d, found->item->name.span, "declared here");
        return;
    }
    if (frame->depth == LIMIT_USE_DEPTH) {
        report(r->diagnostics, E123, statement->span, "`use` is nested more than %d deep",
               LIMIT_USE_DEPTH);
        return;
    }
    struct frame inner = {
        .outer = frame,
        .scope_roles = frame->outer ? frame->scope_roles : scope->selector.n_roles,
        .strategy = found->item,
        .use = statement->span,
        .depth = frame->depth + 1,
    };
    if (bind_arguments(r, frame, statement, &inner))
        expand_body(e, &inner, scope, &found->item->strategy.body);
}

// ---- in and relax -----------------------------------------------------------------------------

// Several selectors are as many scopes: the body is read once for each.
static void expand_in(struct expansion *e, const struct frame *frame, const struct scope *scope,
                      const struct ast_statement *statement) {
    if (statement->in.body.n == 0 && !frame->outer) {
        struct diagnostic *d = report(e->r->diagnostics, W830, statement->span,
                                      "`in` changes nothing: no statement stands in it");
        diagnostic_help(d, "leave it out");
    }
    for (uint32_t i = 0; i < statement->in.selectors.n; i++) {
        struct scope inner = *scope;
        inner.depth++;
        if (resolve_selector(e->r, &statement->in.selectors.items[i], 0, &scope->selector,
                             &inner.selector))
            expand_body(e, frame, &inner, &statement->in.body);
    }
}

// False: reported.
static bool resolve_conditions(struct resolver *r, const struct ast_names *names,
                               bool conditions[N_CONDITIONS]) {
    const struct ast_name *said[N_CONDITIONS] = {0};
    bool good = true;
    for (uint32_t i = 0; i < names->n; i++) {
        int condition = table_find(condition_names, N_CONDITIONS, names->items[i].text);
        if (condition < 0)
            report_unknown(r, E103, names->items[i], "condition", condition_names, N_CONDITIONS);
        else if (said[condition])
            report_twice(r, names->items[i].span, said[condition]->span,
                         arena_format(r->arena, "`%s`", names->items[i].text));
        else
            said[condition] = &names->items[i];
        good &= condition >= 0;
    }
    for (int c = 0; c < N_CONDITIONS; c++)
        conditions[c] = said[c] != NULL;
    return good;
}

// What is inside may give the conditions up on these axes, beside what a `relax` around it gives
// up. Where the head is wrong, what is inside would be refused for no reason of its own.
static void expand_relax(struct expansion *e, const struct frame *frame, const struct scope *scope,
                         const struct ast_statement *statement) {
    struct relax_statement relax = {0};
    struct span head =
        span_of(statement->span.source, statement->span.begin, statement->relax.axes.span.end);
    relax.origin = origin_in_frame(e->r->arena, frame, head);
    bool good = resolve_conditions(e->r, &statement->relax.conditions, relax.conditions);
    if (!resolve_product(e->r, frame, &statement->relax.axes, &relax.axes) || !good)
        return;
    if (scope->selector.n_roles > 0) {
        report_unsupported(e->r, head, UNSUPPORTED_RELAXED_PART);
        return;
    }
    struct scope inner = *scope;
    for (int c = 0; c < N_CONDITIONS; c++)
        if (relax.conditions[c])
            axis_list_add_all(&inner.relaxed[c], &relax.axes);
    ARENA_PUSH(e->r->arena, e->strategy->relaxations, e->strategy->n_relaxations,
               e->relaxations_capacity, relax);
    expand_body(e, frame, &inner, &statement->relax.body);
}

// Strategies that use each other twice on every level double with each: the depth of `use` is
// bounded, and here the number of statements, which bounds the work.
static void expand_body(struct expansion *e, const struct frame *frame, const struct scope *scope,
                        const struct ast_body *body) {
    for (uint32_t i = 0; i < body->n; i++) {
        const struct ast_statement *statement = &body->items[i];
        if (!has_room(e, statement->span))
            return;
        switch (statement->kind) {
        case STATEMENT_SPLIT:
            expand_split(e, frame, scope, statement);
            break;
        case STATEMENT_MODE:
            expand_mode(e, frame, scope, statement);
            break;
        case STATEMENT_STATES:
            expand_states(e, frame, scope, statement);
            break;
        case STATEMENT_USE:
            expand_use(e, frame, scope, statement);
            break;
        case STATEMENT_IN:
            expand_in(e, frame, scope, statement);
            break;
        case STATEMENT_RELAX:
            expand_relax(e, frame, scope, statement);
            break;
        }
    }
}

// ---- the chosen strategy ----------------------------------------------------------------------

// Parameters of the chosen strategy itself come from the command line, or are their defaults.
static bool bind_settings(struct resolver *r, struct frame *frame) {
    const struct ast_parameters *parameters = &frame->strategy->strategy.parameters;
    if (!check_parameters(r, parameters))
        return false;
    struct frame nobody = {0};
    frame->bindings = ARENA_ARRAY(r->arena, struct binding, parameters->n);
    for (uint32_t i = 0; i < parameters->n; i++) {
        const struct ast_parameter *parameter = &parameters->items[i];
        const struct setting *setting = find_parameter_setting(r, parameter->name.text);
        struct ast_argument argument = {.kind = ARGUMENT_VALUE,
                                        .value = setting ? setting->field.value : parameter->value};
        if (!argument.value) {
            struct diagnostic *d =
                report(r->diagnostics, E109, parameter->name.span,
                       "parameter `%s` of the strategy is not given", parameter->name.text);
            diagnostic_help(d, "give it on the command line: `-D %s=...`", parameter->name.text);
            return false;
        }
        argument.span = argument.value->span;
        if (!bind(r, &nobody, parameter, &argument, &frame->bindings[i]))
            return false;
        frame->n_bindings = i + 1;
    }
    return true;
}

// The outermost scope selects everything and is anchored at the strategy's name.
static void expand_strategy(struct resolver *r, const struct found_item *found,
                            const struct frame *frame) {
    struct expansion e = {.r = r, .strategy = &r->config->strategy};
    struct scope scope = {.selector.span = found->item->name.span};
    e.strategy->name = found->item->name.text;
    e.strategy->name_span = found->item->name.span;
    expand_body(&e, frame, &scope, &found->item->strategy.body);
}

// Settings of the command line play the part of the `use` that nobody wrote.
void resolve_strategy(struct resolver *r, const struct found_item *found) {
    struct frame frame = {.strategy = found->item};
    r->parameters = &found->item->strategy.parameters;
    if (bind_settings(r, &frame))
        expand_strategy(r, found, &frame);
}

// Axes of size two will do: nothing that is checked here depends on sizes.
void check_strategy_alone(struct resolver *r, const struct found_item *found) {
    const struct ast_parameters *parameters = &found->item->strategy.parameters;
    struct config scratch = {.mesh.name = "parameters"}, *kept = r->config;
    struct frame frame = {.strategy = found->item};
    if (!check_parameters(r, parameters))
        return;
    r->config = &scratch; // cppcheck-suppress autoVariables ; put back below
    frame.bindings = ARENA_ARRAY(r->arena, struct binding, parameters->n);
    for (uint32_t i = 0; i < parameters->n && i < MAX_AXES; i++) {
        const struct ast_parameter *parameter = &parameters->items[i];
        if (strcmp(parameter->kind.text, "axis") != 0)
            continue; // its name stays a word
        scratch.mesh.axes[scratch.mesh.n_axes] =
            (struct mesh_axis){.name = parameter->name.text, .size = 2};
        frame.bindings[frame.n_bindings++] =
            (struct binding){.name = parameter->name.text,
                             .axes = {.n = 1, .axes = {(uint8_t)scratch.mesh.n_axes++}}};
    }
    expand_strategy(r, found, &frame);
    r->config = kept;
}
