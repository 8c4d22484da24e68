// From the syntax tree of a file to a configuration: which items are meant, in which order they are
// resolved (a strategy's slices need the model, its axes the mesh; --ranks needs the strategy), and
// what is refused as a whole.
#include "frontend/resolve.h"

#include <string.h>

// ---- which strategy ---------------------------------------------------------------------------

static bool is_strategy(const struct found_item *found) {
    return found->item->kind == ITEM_STRATEGY && found->file == 0;
}

// `main`, else the only strategy of the user's file without parameters. NULL with `*open` true:
// there are several.
static const struct found_item *default_strategy(const struct resolver *r, bool *open) {
    const struct found_item *only = NULL;
    *open = false;
    for (uint32_t i = 0; i < r->n_items; i++) {
        const struct found_item *found = &r->items[i];
        if (!is_strategy(found))
            continue;
        if (strcmp(found->item->name.text, "main") == 0) {
            *open = false;
            return found;
        }
        if (found->item->strategy.parameters.n)
            continue;
        *open |= only != NULL;
        only = found;
    }
    return *open ? NULL : only;
}

// A library: strategies and nothing to train. It is right without a strategy that could be
// compiled.
static bool has_only_strategies(const struct resolver *r) {
    bool some = false;
    for (uint32_t i = 0; i < r->n_items; i++) {
        if (r->items[i].file != 0)
            continue;
        if (!is_strategy(&r->items[i]))
            return false;
        some = true;
    }
    return some;
}

// One message with a label for each candidate, since none of them is more wrong than the others.
static void report_open_choice(struct resolver *r) {
    struct diagnostic *d = NULL;
    for (uint32_t i = 0; i < r->n_items; i++) {
        const struct found_item *found = &r->items[i];
        if (!is_strategy(found) || found->item->strategy.parameters.n)
            continue;
        if (!d)
            d = report(r->diagnostics, E117, found->item->name.span,
                       "which strategy? the file has several, and none is called `main`");
        else
            diagnostic_label(d, found->item->name.span, "or this one");
    }
    diagnostic_help(d, "give `--strategy NAME`, or name one of them `main`; `placec compare` shows "
                       "all side by side");
}

// Reports that there is no strategy, behind the last item, where it would be written.
static void report_no_strategy(struct resolver *r, const struct ast_file *file) {
    struct span span = file->n ? file->items[file->n - 1].span : span_of(file->source, 0, 0);
    struct diagnostic *d =
        report(r->diagnostics, E109, span_of(span.source, span.begin, span.begin),
               "the file has no strategy");
    diagnostic_help(d, "add `strategy main { ... }`");
}

// The strategy that is meant; NULL: none, which may be right (a library).
static const struct found_item *choose_strategy(struct resolver *r, const struct ast_file *file,
                                                bool *open) {
    *open = false;
    if (r->options->strategy) {
        const char *text = r->options->strategy;
        uint32_t source =
            source_add(r->diagnostics->sources, r->arena, "<command line>", text, strlen(text));
        struct ast_name name = {text, span_of(source, 0, (uint32_t)strlen(text))};
        return find_item(r, ITEM_STRATEGY, name);
    }
    const struct found_item *found = default_strategy(r, open);
    if (*open)
        report_open_choice(r);
    else if (!found && !has_only_strategies(r) && !r->has_syntax_errors)
        report_no_strategy(r, file);
    return found;
}

// ---- all parts --------------------------------------------------------------------------------

// A written-out step or unit belongs to a strategy; its text is read when the program that it
// replaces has been derived.
static void check_programs(struct resolver *r) {
    for (uint32_t i = 0; i < r->n_items; i++) {
        const struct ast_item *item = r->items[i].item;
        if (item->kind != ITEM_STEP && item->kind != ITEM_UNIT)
            continue;
        if (r->items[i].file != 0) // the driver reads the user's own file
            report_unsupported(r, item->name.span, UNSUPPORTED_IMPORTED_PROGRAM);
        else
            find_item(r, ITEM_STRATEGY, item->name);
    }
}

static const struct found_item *find_part(struct resolver *r, const struct found_item *strategy,
                                          enum ast_item_kind kind, struct ast_name named) {
    if (!named.text)
        named.span = strategy->item->name.span;
    return find_item(r, kind, named);
}

// What the strategy is about: found before anything is resolved.
struct parts {
    const struct found_item *strategy, *model, *mesh, *train, *device;
};

// All are looked up, whichever is missing: one run tells of every part that the file lacks.
static struct parts find_parts(struct resolver *r, const struct found_item *strategy) {
    struct parts parts = {.strategy = strategy};
    struct ast_name unnamed = {NULL, strategy->item->name.span};
    parts.model = find_part(r, strategy, ITEM_MODEL_FAMILY, strategy->item->strategy.of);
    parts.mesh = find_part(r, strategy, ITEM_MESH, strategy->item->strategy.on);
    parts.train = find_part(r, strategy, ITEM_TRAIN, unnamed);
    if (parts.mesh)
        parts.device = find_item(r, ITEM_DEVICE, parts.mesh->item->mesh.device);
    return parts;
}

// Resolves parts in the order of what needs what. A strategy without axes would only repeat that
// the mesh has none.
static void resolve_parts(struct resolver *r, const struct parts *parts) {
    if (parts->model)
        resolve_model(r, parts->model);
    if (parts->device)
        resolve_device(r, parts->device);
    if (parts->train)
        resolve_train(r, parts->train);
    if (parts->mesh)
        resolve_mesh(r, parts->mesh);
    if (r->config->mesh.n_axes)
        resolve_strategy(r, parts->strategy);
    help_microbatches(r);
}

// What needs several parts, when each is well.
static void finish(struct resolver *r, const struct parts *parts) {
    report_unused_settings(r);
    check_host_fields(r);
    finish_mesh(r, parts->mesh);
    if (r->config->total_devices)
        finish_train(r);
}

// A library is checked strategy by strategy, on axes that its parameters name.
static void check_library(struct resolver *r) {
    for (uint32_t i = 0; i < r->n_items; i++)
        if (is_strategy(&r->items[i]))
            check_strategy_alone(r, &r->items[i]);
}

bool frontend_resolve(struct arena *arena, struct diagnostics *diagnostics,
                      const struct ast_file *file, const struct frontend_options *options,
                      struct config *config) {
    uint32_t errors_before = diagnostics->n_errors;
    static const struct frontend_options no_options = {0};
    struct resolver r = {.arena = arena,
                         .diagnostics = diagnostics,
                         .options = options ? options : &no_options,
                         .config = config,
                         // found by the parser; nothing else reports before
                         .has_syntax_errors = diagnostics->n_errors != 0};
    *config = (struct config){0};
    load_settings(&r);
    load_items(&r, file);
    check_programs(&r);
    bool open;
    const struct found_item *strategy = choose_strategy(&r, file, &open);
    struct parts parts = {0};
    if (strategy) {
        parts = find_parts(&r, strategy);
        resolve_parts(&r, &parts);
    } else if (!open && has_only_strategies(&r)) {
        check_library(&r);
    }
    // Without an error every part was found.
    bool good = diagnostics->n_errors == errors_before && !r.has_syntax_errors;
    if (good && strategy)
        finish(&r, &parts);
    return good && diagnostics->n_errors == errors_before;
}
