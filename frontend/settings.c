// -D on the command line: `dp=8`, `train.batch=64`, `model.layers=2`, `a=dp`. Each is a field in
// the grammar's eyes, and a source of its own, so that messages point into it.
//
// A setting is not applied to anything here. Whoever reads what it may set asks for it by name and
// marks it as used; what nobody asked for is reported at the end. So the names that can be set need
// no list of their own.
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

// Which of two values was meant is not ours to guess. True: reported.
static bool report_set_twice(struct resolver *r, const struct setting *setting) {
    for (uint32_t i = 0; i < r->n_settings; i++) {
        const struct setting *before = &r->settings[i];
        if (!sets_the_same(before, setting))
            continue;
        struct diagnostic *d =
            report(r->diagnostics, E118, setting->field.paths.span, "`%s` sets what `%s` has set",
                   setting->argument, before->argument);
        diagnostic_help(d, "give it once");
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

// Names alone: an axis's size, a strategy's parameter, `devices`.
struct setting *find_setting(struct resolver *r, const char *name) {
    for (uint32_t i = 0; i < r->n_settings; i++) {
        const struct ast_path *path = &r->settings[i].field.paths.items[0];
        if (path->n == 1 && !path->items[0].has_slice &&
            strcmp(path->items[0].name.text, name) == 0) {
            r->settings[i].used = true;
            return &r->settings[i];
        }
    }
    return NULL;
}

// Only in a file that is well otherwise: a part that failed has not asked for its settings.
void report_unused_settings(struct resolver *r) {
    for (uint32_t i = 0; i < r->n_settings; i++) {
        const struct setting *setting = &r->settings[i];
        if (setting->used)
            continue;
        struct diagnostic *d = report(r->diagnostics, E118, setting->field.paths.span,
                                      "nothing in the file is set by `%s`", setting->argument);
        const char *axes[MAX_AXES], *near;
        for (unsigned a = 0; a < r->config->mesh.n_axes; a++)
            axes[a] = r->config->mesh.axes[a].name;
        near = nearest_name(setting->field.paths.items[0].items[0].name.text, axes,
                            r->config->mesh.n_axes);
        diagnostic_help(d,
                        "name a mesh axis%s%s%s, `train.FIELD`, `model.FIELD` or a parameter of "
                        "the strategy",
                        near ? ", perhaps `" : "", near ? near : "", near ? "`" : "");
    }
}
