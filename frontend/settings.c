// -D on the command line: `dp=8`, `train.batch=64`, `model.layers=2`, `device.memory='80 GiB'`,
// `strategy.a=dp`, `a=dp`. Each is a field in the grammar's eyes, and a source of its own, so that
// messages point into it.
//
// A setting is not applied to anything here. Whoever reads what it may set asks for it by name and
// marks it as used; what nobody asked for is reported at the end. So what can be set is decided by
// the readers alone; settable.def says where a name stands, for help and for completion.
#include "frontend/resolve.h"

#include <string.h>

static bool sets_the_same(const struct setting *a, const struct setting *b) {
    const struct ast_path *x = &a->field.paths.items[0], *y = &b->field.paths.items[0];
    bool same = x->n == y->n;
    for (uint32_t i = 0; i < x->n && same; i++)
        same = !x->items[i].has_slice && !y->items[i].has_slice &&
               strcmp(x->items[i].name.text, y->items[i].name.text) == 0;
    return same;
}

// Which of two values was meant is not ours to guess.
static void report_sets_again(struct resolver *r, const struct setting *setting,
                              const struct setting *before) {
    struct diagnostic *d =
        report(r->diagnostics, E118, setting->field.paths.span, "`%s` sets what `%s` has set",
               setting->argument, before->argument);
    diagnostic_help(d, "give it once");
}

// True: reported.
static bool report_set_twice(struct resolver *r, const struct setting *setting) {
    for (uint32_t i = 0; i < r->n_settings; i++) {
        const struct setting *before = &r->settings[i];
        if (!sets_the_same(before, setting))
            continue;
        report_sets_again(r, setting, before);
        return true;
    }
    return false;
}

// The argument is parsed by the grammar of the file, so that values look the same in both places.
static void load_setting(struct resolver *r, const char *argument) {
    struct setting *setting = &r->settings[r->n_settings];
    uint32_t source, errors_before = r->diagnostics->n_errors;
    setting->argument = arena_format(r->arena, "-D %s", argument);
    if (!frontend_read_text(r->arena, r->diagnostics, "<command line>", argument, strlen(argument),
                            &source))
        return;
    const char *equals = strchr(argument, '=');
    if (!equals || !equals[1 + strspn(equals + 1, " \t")]) {
        struct diagnostic *d =
            report(r->diagnostics, E118, span_of(source, 0, (uint32_t)strlen(argument)),
                   "`%s` has no value", setting->argument);
        diagnostic_help(d, "write a name and a value, as in `-D dp=8` or `-D train.batch=64`");
        return;
    }
    setting->field = parse_setting(r->arena, r->diagnostics, source);
    if (r->diagnostics->n_errors != errors_before)
        return;
    if (!setting->field.value || setting->field.paths.n != 1) {
        report(r->diagnostics, E118, setting->field.span, "`%s` does not set one thing",
               setting->argument);
        return;
    }
    if (!report_set_twice(r, setting))
        r->n_settings++;
}

void load_settings(struct resolver *r) {
    r->settings = ARENA_ARRAY(r->arena, struct setting, r->options->n_settings);
    for (uint32_t i = 0; i < r->options->n_settings; i++)
        load_setting(r, r->options->settings[i]);
}

// Where a fact of the command line comes from; printed as <command line>.
static struct origin setting_origin(const struct setting *setting) {
    return (struct origin){
        .kind = ORIGIN_COMMAND_LINE, .span = setting->field.span, .text = setting->argument};
}

// `train.batch=4` for the head `train` is the field `batch = 4`, with its spans.
bool next_setting(struct resolver *r, const char *head, uint32_t *at, struct ast_field *field,
                  struct origin *origin) {
    for (; *at < r->n_settings; ++*at) {
        struct setting *setting = &r->settings[*at];
        const struct ast_path *path = &setting->field.paths.items[0];
        if (path->n < 2 || strcmp(path->items[0].name.text, head) != 0)
            continue;
        setting->used = true;
        *field = setting->field;
        struct ast_path *rest = ARENA_NEW(r->arena, struct ast_path);
        *rest = *path;
        rest->items++;
        rest->n--;
        rest->span = span_join(rest->items[0].name.span, path->span);
        rest->span.begin = rest->items[0].name.span.begin;
        field->paths.items = rest;
        *origin = setting_origin(setting);
        ++*at;
        return true;
    }
    return false;
}

static bool is_named(const struct ast_step *step, const char *name) {
    return !step->has_slice && strcmp(step->name.text, name) == 0;
}

// Names alone: an axis's size, a strategy's parameter, `devices`.
struct setting *find_setting(struct resolver *r, const char *name) {
    for (uint32_t i = 0; i < r->n_settings; i++) {
        const struct ast_path *path = &r->settings[i].field.paths.items[0];
        if (path->n == 1 && is_named(&path->items[0], name)) {
            r->settings[i].used = true;
            return &r->settings[i];
        }
    }
    return NULL;
}

// Finds a parameter's setting by its own name, or by the strategy's, which no axis can have.
struct setting *find_parameter_setting(struct resolver *r, const char *name) {
    struct setting *alone = find_setting(r, name);
    for (uint32_t i = 0; i < r->n_settings; i++) {
        struct setting *setting = &r->settings[i];
        const struct ast_path *path = &setting->field.paths.items[0];
        if (path->n != 2 || !is_named(&path->items[0], "strategy") ||
            !is_named(&path->items[1], name))
            continue;
        setting->used = true;
        if (alone)
            report_sets_again(r, setting, alone);
        return setting;
    }
    return alone;
}

// ---- what nothing asked for -------------------------------------------------------------------

// A field by its last name, or by another system's word for it. False: it is none.
static bool help_head(struct resolver *r, struct diagnostic *d, const struct setting *setting) {
    const struct ast_path *path = &setting->field.paths.items[0];
    const char *name = path->items[path->n - 1].name.text;
    const char *value = ast_value_text(r->arena, setting->field.value);
    const char *instead = setting_of(r->arena, name, value);
    if (!instead)
        return help_said_here(d, name, value);
    diagnostic_help(d, "it is set by `-D %s`", instead);
    return true;
}

// All that can be: of the mesh and the strategy by their names, of the rest by where it stands.
static void help_settable(struct resolver *r, struct diagnostic *d, const char *given) {
    const struct mesh *mesh = &r->config->mesh;
    const char *names[MAX_AXES], *list = "";
    for (unsigned a = 0; a < mesh->n_axes; a++) {
        names[a] = mesh->axes[a].name;
        list = arena_format(r->arena, "%s`%s`, ", list, names[a]);
    }
    const struct ast_parameters *parameters = r->parameters;
    for (uint32_t i = 0; parameters && i < parameters->n; i++)
        list = arena_format(r->arena, "%s`strategy.%s`, ", list, parameters->items[i].name.text);
    const char *near = nearest_name(given, names, mesh->n_axes);
    if (near)
        diagnostic_help(d, "did you mean the axis `%s`?", near);
    else
        diagnostic_help(d,
                        "what can be set: %s`train.FIELD`, `train.optimizer.ARGUMENT`, "
                        "`model.FIELD` and `device.FIELD`",
                        list);
}

static bool has_parameter(const struct ast_item *item, const char *name) {
    for (uint32_t i = 0; item->kind == ITEM_STRATEGY && i < item->strategy.parameters.n; i++)
        if (strcmp(item->strategy.parameters.items[i].name.text, name) == 0)
            return true;
    return false;
}

static bool has_axis(const struct ast_item *item, const char *name) {
    for (uint32_t i = 0; item->kind == ITEM_MESH && i < item->mesh.axes.n; i++)
        if (strcmp(item->mesh.axes.items[i].name.text, name) == 0)
            return true;
    return false;
}

// Whether another strategy of the file, or a mesh that another is on, has what it sets.
static bool is_of_another(const struct resolver *r, const struct setting *setting) {
    const struct ast_path *path = &setting->field.paths.items[0];
    bool of_strategy = path->n == 2 && is_named(&path->items[0], "strategy");
    if (path->n != 1 && !of_strategy)
        return false;
    const char *name = path->items[path->n - 1].name.text;
    for (uint32_t i = 0; i < r->n_items; i++)
        if (r->items[i].file == 0 && (has_parameter(r->items[i].item, name) ||
                                      (!of_strategy && has_axis(r->items[i].item, name))))
            return true;
    return false;
}

// Only in a file that is well otherwise: a part that failed has not asked for its settings.
void report_unused_settings(struct resolver *r) {
    for (uint32_t i = 0; i < r->n_settings; i++) {
        const struct setting *setting = &r->settings[i];
        if (setting->used || (r->options->one_of_several && is_of_another(r, setting)))
            continue;
        struct diagnostic *d = report(r->diagnostics, E118, setting->field.paths.span,
                                      "nothing in the file is set by `%s`", setting->argument);
        if (!help_head(r, d, setting))
            help_settable(r, d, setting->field.paths.items[0].items[0].name.text);
    }
}
