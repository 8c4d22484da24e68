// Devices and meshes. A mesh's axes are the atomic ones; a product is another name for a list of
// axes that are declared above it.
//
// Everything behind this speaks of atomic axes only, by number; a product's name comes back in
// messages and reports, where a list of axes has one (mesh_axes_text). Sizes are final late:
// --ranks changes one, and which is known when the strategy has said what splits the batch.
#include "frontend/resolve.h"

#include <ctype.h>
#include <string.h>

// ---- device -----------------------------------------------------------------------------------

static const struct field_row device_field_rows[] = {
#define DEVICE_FIELD(name, kind, member)                                                           \
    {#name, FIELD_##kind, offsetof(struct device_config, member)},
#define HOST_FIELD DEVICE_FIELD
#include "frontend/device_fields.def"
#undef DEVICE_FIELD
#undef HOST_FIELD
};
enum { N_DEVICE_FIELDS = sizeof device_field_rows / sizeof *device_field_rows };
static const bool is_of_host[N_DEVICE_FIELDS] = {
#define DEVICE_FIELD(name, kind, member) false,
#define HOST_FIELD(name, kind, member)   true,
#include "frontend/device_fields.def"
#undef DEVICE_FIELD
#undef HOST_FIELD
};

// `row` is -1 where the field was wrong.
static void note_host_field(struct resolver *r, int row, struct span span) {
    if (row >= 0 && is_of_host[row] && r->n_host_fields < MAX_HOST_FIELDS)
        r->host_fields[r->n_host_fields++] = (struct host_field){device_field_rows[row].name, span};
}

// NULL: no item is called so.
static const struct ast_item *item_called(const struct resolver *r, enum ast_item_kind kind,
                                          const char *name) {
    for (uint32_t i = 0; i < r->n_items; i++)
        if (r->items[i].item->kind == kind && strcmp(r->items[i].item->name.text, name) == 0)
            return r->items[i].item;
    return NULL;
}

// Strategies as they are written, since of those that are not compiled none is expanded.
struct offloading {
    const struct resolver *r;
    const struct ast_item **seen; // strategies, which may use each other in turn
    uint32_t n_seen;
};

static bool strategy_offloads(struct offloading *o, const struct ast_item *strategy);

static bool mode_offloads(const struct ast_modes *modes) {
    for (uint32_t i = 0; i < modes->n; i++)
        if (strcmp(modes->items[i].name.text, "offloaded") == 0)
            return true;
    return false;
}

static bool letter_offloads(const struct ast_letters *letters) {
    for (uint32_t i = 0; i < letters->n; i++) {
        const struct ast_letter *letter = &letters->items[i];
        bool offloads = strcmp(letter->extent.text, "O") == 0;
        for (int k = 0; k < MOST_RESIDENCIES && letter->residencies[k].text; k++)
            offloads = offloads || strcmp(letter->residencies[k].text, "O") == 0;
        if (offloads)
            return true;
    }
    return false;
}

static bool body_offloads(struct offloading *o, const struct ast_body *body) {
    bool offloads = false;
    for (uint32_t i = 0; i < body->n && !offloads; i++) {
        const struct ast_statement *s = &body->items[i];
        if (s->kind == STATEMENT_MODE)
            offloads = mode_offloads(&s->mode.modes);
        else if (s->kind == STATEMENT_STATES)
            offloads = letter_offloads(&s->states.letters);
        else if (s->kind == STATEMENT_USE)
            offloads = strategy_offloads(o, item_called(o->r, ITEM_STRATEGY, s->use.name.text));
        else if (s->kind == STATEMENT_IN)
            offloads = body_offloads(o, &s->in.body);
        else if (s->kind == STATEMENT_RELAX)
            offloads = body_offloads(o, &s->relax.body);
    }
    return offloads;
}

static bool strategy_offloads(struct offloading *o, const struct ast_item *strategy) {
    for (uint32_t i = 0; i < o->n_seen; i++)
        if (o->seen[i] == strategy)
            return false;
    if (!strategy)
        return false;
    o->seen[o->n_seen++] = strategy;
    return body_offloads(o, &strategy->strategy.body);
}

// Whether some strategy of the file keeps a state beside this device, which it may be there for.
static bool some_offloads(const struct resolver *r, const char *device) {
    struct offloading o = {.r = r,
                           .seen = ARENA_ARRAY(r->arena, const struct ast_item *, r->n_items + 1)};
    for (uint32_t i = 0; i < r->n_items; i++) {
        const struct ast_item *item = r->items[i].item;
        if (item->kind != ITEM_STRATEGY || r->items[i].file != 0)
            continue;
        const char *on = item->strategy.on.text;
        const struct ast_item *mesh = on ? item_called(r, ITEM_MESH, on) : NULL;
        bool elsewhere = mesh && strcmp(mesh->mesh.device.text, device) != 0;
        if (!elsewhere && strategy_offloads(&o, item))
            return true;
    }
    return false;
}

void check_host_fields(struct resolver *r) {
    const struct strategy_config *strategy = &r->config->strategy;
    for (uint32_t m = 0; m < strategy->n_modes; m++)
        if (strategy->modes[m].residency == RESIDENCY_OFFLOADED)
            return;
    if (r->n_host_fields && some_offloads(r, r->config->device.name))
        return;
    for (unsigned i = 0; i < r->n_host_fields; i++) {
        struct diagnostic *d = report(r->diagnostics, W830, r->host_fields[i].span,
                                      "`%s` changes nothing", r->host_fields[i].name);
        diagnostic_say(d, "nothing is kept on the host");
        diagnostic_help(d, "say which state is: `optimizer : offloaded`");
    }
}

// No field is required: what a device has not is neither checked against nor estimated.
void resolve_device(struct resolver *r, const struct found_item *found) {
    struct device_config *device = &r->config->device;
    const struct ast_block *block = &found->item->device;
    struct field_said said[N_DEVICE_FIELDS] = {0};
    device->name = found->item->name.text;
    device->origin = origin_statement(found->item->name.span);
    for (uint32_t i = 0; i < block->n; i++) {
        int row = take_field(r, device_field_rows, N_DEVICE_FIELDS, "field of a device",
                             &block->items[i], &device->origin, device, said);
        note_host_field(r, row, block->items[i].span);
    }
    struct ast_field field;
    struct origin origin;
    for (uint32_t at = 0; next_setting(r, "device", &at, &field, &origin);) {
        int row = take_field(r, device_field_rows, N_DEVICE_FIELDS, "field of a device", &field,
                             &origin, device, said);
        note_host_field(r, row, field.span);
    }
}

// ---- axes -------------------------------------------------------------------------------------

static bool is_letter_of_word(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

// An axis and a product share one space of names, since both may stand wherever an axis may.
static bool is_declared(struct resolver *r, const struct mesh *mesh, struct ast_name name) {
    int axis = mesh_find_axis(mesh, name.text);
    const struct mesh_product *product = mesh_find_product(mesh, name.text);
    if (axis >= 0)
        report_twice(r, name.span, mesh->axes[axis].span,
                     arena_format(r->arena, "axis `%s`", name.text));
    else if (product)
        report_twice(r, name.span, product->span, arena_format(r->arena, "axis `%s`", name.text));
    return axis >= 0 || product;
}

// link(50 GB/s, 10 us)
static void read_link(struct resolver *r, const struct ast_arguments *link,
                      struct mesh_axis *axis) {
    for (uint32_t i = 0; i < link->n; i++) {
        const struct ast_argument *argument = &link->items[i];
        if (argument->kind != ARGUMENT_VALUE || argument->name.text || i > 1) {
            report(r->diagnostics, E105, argument->span,
                   "a link takes a bandwidth and a latency: `link(50 GB/s, 10 us)`");
            return;
        }
        if (i == 0)
            read_quantity(r, argument->value, "the bandwidth of a link", MEASURE_BYTES_PER_S,
                          &axis->link_bytes_per_s);
        else
            read_quantity(r, argument->value, "the latency of a link", MEASURE_SECONDS,
                          &axis->link_latency_s);
    }
}

// Axis lists are fixed arrays and axis sets are bits of a word; see MAX_AXES. Microbatches are one
// axis more, in time.
static bool has_room(struct resolver *r, uint32_t n, struct span span) {
    enum { MOST_AXES = MAX_AXES - 1 };
    if (n == MOST_AXES)
        report(r->diagnostics, E107, span, "a mesh has at most %d axes", MOST_AXES);
    return n < MOST_AXES;
}

// The command line's size is read after the file's, so that a mistake in either is reported.
static void add_axis(struct resolver *r, const struct ast_axis *ast, struct mesh *mesh) {
    struct mesh_axis axis = {
        .name = ast->name.text, .size = 1, .span = ast->name.span, .size_span = ast->size->span};
    const char *what = arena_format(r->arena, "the size of axis `%s`", axis.name);
    const struct setting *setting = find_setting(r, axis.name);
    read_integer(r, ast->size, what, 1, LIMIT_DEVICES, &axis.size);
    if (setting) {
        read_integer(r, setting->field.value, what, 1, LIMIT_DEVICES, &axis.size);
        axis.size_span = span_nowhere();
    }
    if (ast->has_link)
        read_link(r, &ast->link, &axis);
    if (has_room(r, mesh->n_axes, ast->span))
        mesh->axes[mesh->n_axes++] = axis;
}

// Whether the text of an item has the word, whatever the parser made of it.
static bool stands_in(const struct resolver *r, struct span item, const char *word) {
    const char *text = r->diagnostics->sources->items[item.source].text, *at = text + item.begin;
    size_t length = strlen(word);
    for (; (at = strstr(at, word)) && at < text + item.end; at++)
        if ((at == text || !is_letter_of_word(at[-1])) && !is_letter_of_word(at[length]))
            return true;
    return false;
}

// The atomic axes that a name stands for, appended; false: reported.
static bool append_axes(struct resolver *r, const struct mesh *mesh, struct ast_name name,
                        const char *remedy, struct axis_list *list) {
    int axis = mesh_find_axis(mesh, name.text);
    const struct mesh_product *product = mesh_find_product(mesh, name.text);
    if (axis < 0 && !product && r->has_syntax_errors && stands_in(r, r->mesh_span, name.text))
        return false; // it is what could not be read
    if (axis < 0 && !product) {
        const char *names[2 * MAX_AXES];
        size_t n = mesh_names(mesh, names);
        struct diagnostic *d = report_unknown(r, E103, name, "axis of the mesh", names, n);
        if (remedy)
            diagnostic_note(d, "%s", remedy);
        return false;
    }
    struct axis_list added = {.n = 1, .axes = {(uint8_t)(axis < 0 ? 0 : axis)}};
    if (product)
        added = product->axes;
    for (uint32_t i = 0; i < added.n; i++) {
        if (axis_list_mask(list) >> added.axes[i] & 1) {
            report(r->diagnostics, E120, name.span, "axis `%s` is in this product twice",
                   mesh->axes[added.axes[i]].name);
            return false;
        }
        list->axes[list->n++] = added.axes[i];
    }
    return true;
}

// Names of the mesh alone; in a strategy, parameters may stand for axes (resolve_product).
bool resolve_axes(struct resolver *r, const struct ast_names *names, struct axis_list *list) {
    *list = (struct axis_list){0};
    for (uint32_t i = 0; i < names->n; i++)
        if (!append_axes(r, &r->config->mesh, names->items[i], NULL, list))
            return false;
    return true;
}

// Only of what is declared above it: so a product of products is a list, and no cycle is possible.
static void add_product(struct resolver *r, const struct ast_axis *ast, struct mesh *mesh) {
    struct mesh_product product = {.name = ast->name.text, .span = ast->name.span};
    for (uint32_t i = 0; i < ast->factors.n; i++)
        if (!append_axes(r, mesh, ast->factors.items[i],
                         "the factors of a product are declared above it", &product.axes))
            return;
    if (has_room(r, mesh->n_products, ast->span))
        mesh->products[mesh->n_products++] = product;
}

// ---- mesh -------------------------------------------------------------------------------------

// `devices = N` looks like an axis and is none.
static bool is_total(const struct ast_axis *axis) {
    return axis->kind == AXIS_SIZE && strcmp(axis->name.text, "devices") == 0;
}

// Ranks are numbered by the order of the axes as written, the outermost first.
void resolve_mesh(struct resolver *r, const struct found_item *found) {
    struct mesh *mesh = &r->config->mesh;
    const struct ast_axes *axes = &found->item->mesh.axes;
    const struct ast_axis *total = NULL;
    mesh->name = found->item->name.text;
    r->mesh_span = found->item->span;
    for (uint32_t i = 0; i < axes->n; i++) {
        const struct ast_axis *axis = &axes->items[i];
        if (is_total(axis)) {
            if (total)
                report_twice(r, axis->name.span, total->name.span, "`devices`");
            if (axis->has_link)
                report(r->diagnostics, E105, axis->span,
                       "`devices` is the total, no axis: it has no link");
            total = axis;
            continue;
        }
        if (is_declared(r, mesh, axis->name))
            continue;
        // `dp = shard` is a product of one.
        if (axis->kind == AXIS_SIZE && axis->size->kind != AST_NAME)
            add_axis(r, axis, mesh);
        else if (axis->kind == AXIS_PRODUCT)
            add_product(r, axis, mesh);
        else
            report_wrong_kind(r, axis->size, arena_format(r->arena, "axis `%s`", axis->name.text),
                              "a number of devices or a product of axes");
    }
    if (!mesh->n_axes && !r->has_syntax_errors)
        report(r->diagnostics, E109, found->item->name.span, "mesh `%s` has no axis", mesh->name);
}

// ---- the number of devices --------------------------------------------------------------------

// The outermost axis that some `split batch` outside of scopes names; -1: none.
static int outermost_batch_axis(const struct config *config) {
    int outermost = -1;
    for (uint32_t i = 0; i < config->strategy.n_splits; i++) {
        const struct split_statement *split = &config->strategy.splits[i];
        for (uint32_t d = 0; d < split->n_dimensions && !split->scope_depth; d++)
            for (uint32_t k = 0; k < split->axes.n && split->dimensions[d] == DIM_BATCH; k++)
                if (outermost < 0 || split->axes.axes[k] < outermost)
                    outermost = split->axes.axes[k];
    }
    return outermost;
}

// The other axes keep their sizes: tensor parallelism over 8 must not become 4 because a machine is
// smaller.
static void apply_ranks(struct resolver *r) {
    struct mesh *mesh = &r->config->mesh;
    int64_t ranks = r->options->ranks, devices = mesh_devices(mesh);
    struct span span = r->config->strategy.name_span;
    int axis = outermost_batch_axis(r->config);
    if (axis < 0) {
        report(r->diagnostics, E118, span,
               "`--ranks %lld` resizes the axis that splits the batch, and none does",
               (long long)ranks);
        return;
    }
    const struct setting *setting = find_setting(r, mesh->axes[axis].name);
    if (setting) {
        struct diagnostic *d = report(r->diagnostics, E118, setting->field.paths.span,
                                      "`%s` sets the axis that `--ranks %lld` resizes",
                                      setting->argument, (long long)ranks);
        diagnostic_help(d, "leave out one of the two");
        return;
    }
    int64_t others = devices / mesh->axes[axis].size;
    if (ranks < 1 || ranks % others != 0) {
        struct diagnostic *d =
            report(r->diagnostics, E118, mesh->axes[axis].span,
                   "`--ranks %lld` does not fit: the other axes have %lld devices",
                   (long long)ranks, (long long)others);
        diagnostic_help(d, "give a multiple of %lld", (long long)others);
        return;
    }
    mesh->axes[axis].size = ranks / others;
}

// The product of the sizes, which may be beyond counting.
static bool total_fits(const struct mesh *mesh) {
    int64_t total = 1;
    for (uint32_t i = 0; i < mesh->n_axes; i++)
        total = size_times(total, mesh->axes[i].size);
    return total <= LIMIT_DEVICES;
}

// "dp 4 * tp 2 = 8", as the command line leaves it.
static const char *product_words(struct resolver *r, const struct mesh *mesh) {
    const char *words = "";
    for (uint32_t i = 0; i < mesh->n_axes; i++)
        words = arena_format(r->arena, "%s%s%s %lld", words, i ? " * " : "", mesh->axes[i].name,
                             (long long)mesh->axes[i].size);
    return arena_format(r->arena, "%s = %lld", words, (long long)mesh_devices(mesh));
}

// --ranks overrides what the file states, as -D does.
static void check_stated_total(struct resolver *r, const struct ast_axis *stated) {
    const struct setting *setting = find_setting(r, "devices");
    const struct ast_value *value = setting ? setting->field.value : stated->size;
    int64_t devices;
    if (!read_integer(r, value, "`devices`", 1, LIMIT_DEVICES, &devices) || r->options->ranks)
        return;
    int64_t product = mesh_devices(&r->config->mesh);
    if (devices == product)
        return;
    struct diagnostic *d = report(r->diagnostics, E120, value->span,
                                  "the mesh states %lld devices, but its axes make %lld",
                                  (long long)devices, (long long)product);
    diagnostic_say(d, "%s", product_words(r, &r->config->mesh));
    diagnostic_help(d, "state %lld, or give the axes other sizes", (long long)product);
    diagnostic_edit(d, value->span, "%lld", (long long)product);
}

// After the strategy: --ranks needs to know which axis splits the batch.
void finish_mesh(struct resolver *r, const struct found_item *found) {
    const struct ast_axes *axes = &found->item->mesh.axes;
    if (!total_fits(&r->config->mesh)) {
        report(r->diagnostics, E107, found->item->name.span, "mesh `%s` has more than %d devices",
               found->item->name.text, LIMIT_DEVICES);
        return;
    }
    if (r->options->ranks)
        apply_ranks(r);
    for (uint32_t i = 0; i < axes->n; i++)
        if (is_total(&axes->items[i]))
            check_stated_total(r, &axes->items[i]);
    r->config->total_devices = (uint64_t)mesh_devices(&r->config->mesh);
}
