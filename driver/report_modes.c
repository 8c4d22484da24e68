// The table of modes for people: a line for each role of parameters, with a tuple of letters for
// each axis, where layers differ one for each range of them. Tensors of a role that lie otherwise
// than most of its bytes (the bias behind a row product) have a line of their own below.
#include <inttypes.h>
#include <string.h>

#include "driver/report.h"

// ---- tuples -----------------------------------------------------------------------------------

// The letter of activations says how what blocks hand on lies; it is joined with M where what the
// role makes is recomputed, and is M alone where that is whole.
static const char *activations_letter(struct compilation *c, const struct placement_table *table,
                                      bool recomputed, unsigned axis) {
    const char *letter = table->most_bytes[STATE_ACTIVATIONS][axis];
    if (!recomputed)
        return letter;
    return strcmp(letter, "R") == 0 ? "M" : arena_format(&c->arena, "%s+M", letter);
}

// A layer of a role (0: the role is in none).
struct part {
    uint32_t role;
    int64_t layer;
};

// "(S*, S, S, R)" of a tensor; a state that keeps nothing of it has no letter.
static const char *tuple_text(struct compilation *c, const struct placement_table *table,
                              struct part part, uint32_t tensor, unsigned axis) {
    const char *letters[N_STATES];
    for (enum state state = 0; state < STATE_ACTIVATIONS; state++)
        letters[state] = tensor_letter(table, part.role, state, part.layer, tensor, axis);
    bool recomputed = role_is_recomputed(table, part.role, part.layer);
    letters[STATE_ACTIVATIONS] = activations_letter(c, table, recomputed, axis);
    return arena_format(&c->arena, "(%s, %s, %s, %s)", letters[STATE_PARAMETERS],
                        letters[STATE_OPTIMIZER], letters[STATE_GRADIENTS],
                        letters[STATE_ACTIVATIONS]);
}

static const char **tuples_of(struct compilation *c, const struct placement_table *table,
                              struct part part, uint32_t tensor) {
    uint32_t n = c->final->job->mesh.n_axes;
    const char **tuples = ARENA_ARRAY(&c->arena, const char *, n + 1);
    for (uint32_t axis = 0; axis < n; axis++)
        tuples[axis] = tuple_text(c, table, part, tensor, axis);
    return tuples;
}

// ---- what lies alike --------------------------------------------------------------------------

// Tensors of a role with the same tuples.
struct alike {
    const char **tuples; // of every axis
    const char *names;   // "gain, bias"
    int64_t bytes;
};
struct alikes {
    struct alike *items;
    uint32_t n, cap;
    uint32_t n_axes;
};

static bool same_tuples(const char *const *a, const char *const *b, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(a[i], b[i]) != 0)
            return false;
    return true;
}

static bool same_alikes(const struct alikes *a, const struct alikes *b) {
    if (a->n != b->n)
        return false;
    for (uint32_t i = 0; i < a->n; i++)
        if (strcmp(a->items[i].names, b->items[i].names) != 0 ||
            !same_tuples(a->items[i].tuples, b->items[i].tuples, a->n_axes))
            return false;
    return true;
}

// The last word of a tensor's name, once: queries', keys' and values' biases are all "bias".
static const char *with_last_word(struct compilation *c, const char *names, uint32_t tensor) {
    const char *name = tensor_model_name(&c->final->job->tensors[tensor]),
               *dot = strrchr(name, '.');
    const char *word = dot ? dot + 1 : name;
    size_t length = strlen(word);
    if (!*names)
        return word;
    for (const char *at = names; at; at = strchr(at, ' '), at = at ? at + 1 : NULL)
        if (strncmp(at, word, length) == 0 && (at[length] == ',' || at[length] == 0))
            return names;
    return arena_format(&c->arena, "%s, %s", names, word);
}

static void add_tensor(struct compilation *c, const struct placement_table *table, struct part part,
                       struct alikes *all, const struct row_tensor *of) {
    const char **tuples = tuples_of(c, table, part, of->tensor);
    uint32_t at = 0;
    while (at < all->n && !same_tuples(all->items[at].tuples, tuples, all->n_axes))
        at++;
    struct alike one = {.tuples = tuples, .names = ""};
    if (at == all->n)
        ARENA_PUSH(&c->arena, all->items, all->n, all->cap, one);
    all->items[at].names = with_last_word(c, all->items[at].names, of->tensor);
    all->items[at].bytes += of->bytes;
}

// The parameters of a role in a layer, in the order of the model's tensors.
static uint32_t find_tensors(struct compilation *c, const struct placement_table *table,
                             struct part part, struct row_tensor **out) {
    struct layer_search search =
        search_layer(&table->roles[part.role].rows[STATE_PARAMETERS], part.layer);
    struct row_tensor *all = NULL;
    uint32_t n = 0, cap = 0, at;
    while (search_next(&search, &at))
        for (uint32_t i = 0; i < table->rows[at].n_tensors; i++) {
            struct row_tensor one = table->rows[at].tensors[i];
            ARENA_PUSH(&c->arena, all, n, cap, one);
            for (uint32_t k = n - 1; k && all[k - 1].tensor > one.tensor; k--) {
                all[k] = all[k - 1];
                all[k - 1] = one;
            }
        }
    *out = all;
    return n;
}

// Finds what lies alike; what has most bytes comes first.
static struct alikes find_alikes(struct compilation *c, const struct placement_table *table,
                                 struct part part) {
    struct alikes all = {.n_axes = c->final->job->mesh.n_axes};
    struct row_tensor *tensors;
    uint32_t n = find_tensors(c, table, part, &tensors), most = 0;
    for (uint32_t i = 0; i < n; i++)
        add_tensor(c, table, part, &all, &tensors[i]);
    for (uint32_t i = 1; i < all.n; i++)
        if (all.items[i].bytes > all.items[most].bytes)
            most = i;
    struct alike first = all.n ? all.items[most] : (struct alike){0};
    for (uint32_t i = most; i > 0; i--)
        all.items[i] = all.items[i - 1];
    if (all.n)
        all.items[0] = first;
    return all;
}

// ---- ranges of layers -------------------------------------------------------------------------

// The layers, from this one on, for which the same rows speak: where they end, and others may say
// something else; and after how many layers they speak again, where layers take turns. It is the
// first of a turn then.
static struct layer_range stretch_from(struct compilation *c, const struct placement_table *table,
                                       struct part part) {
    struct layer_range stretch = {part.layer, c->final->job->sizes.layers, 1};
    for (int state = 0; state < N_STATES; state++) {
        struct layer_search search = search_layer(&table->roles[part.role].rows[state], part.layer);
        uint32_t at;
        while (search_next(&search, &at)) {
            const struct layers *in = &table->rows[at].layers;
            struct layer_range own = {in->begin, in->end, in->step};
            int64_t end = in->begin + range_layers(&own) * in->step;
            if (in->end == 0) // it speaks of no layer
                continue;
            stretch.step = in->step > stretch.step ? in->step : stretch.step;
            stretch.end = end < stretch.end ? end : stretch.end;
        }
    }
    return stretch;
}

static bool turns_alike(struct compilation *c, const struct placement_table *table, uint32_t role,
                        const struct layer_range *turn, const struct alikes *as) {
    for (int64_t i = 0; i < turn->step; i++) {
        struct alikes here = find_alikes(c, table, (struct part){role, turn->begin + i});
        if (!same_alikes(&here, as))
            return false;
    }
    return true;
}

// ---- lines ------------------------------------------------------------------------------------

static void add_lines(struct compilation *c, struct mode_lines *lines, const char *role,
                      const struct alikes *all) {
    for (uint32_t i = 0; i < all->n; i++) {
        struct mode_line line = {role, i ? all->items[i].names : NULL, all->items[i].tuples};
        ARENA_PUSH(&c->arena, lines->items, lines->n, lines->cap, line);
    }
}

const char *sliced_role(struct compilation *c, const char *role, struct layer_range layers) {
    int head = (int)strcspn(role, ".");
    if (layers.begin == 0 && layers.end == c->final->job->sizes.layers && layers.step == 1)
        return role;
    const char *step = layers.step > 1 ? arena_format(&c->arena, ":%" PRId64, layers.step) : "";
    return arena_format(&c->arena, "%.*s[%" PRId64 ":%" PRId64 "%s]%s", head, role, layers.begin,
                        layers.end, step, role + head);
}

// One line for a role, or for each range of layers in which it is kept alike.
static void add_role(struct compilation *c, const struct placement_table *table,
                     const struct placement_row *row, struct mode_lines *lines) {
    uint32_t role = row->role;
    int64_t layers = row->layers.end ? c->final->job->sizes.layers : 0;
    const char *path = table->roles[role].path;
    if (layers == 0) {
        struct alikes all = find_alikes(c, table, (struct part){role, 0});
        add_lines(c, lines, path, &all);
    }
    for (struct layer_range next = {0}; next.begin < layers; next.begin = next.end) {
        next = stretch_from(c, table, (struct part){role, next.begin});
        struct alikes all = find_alikes(c, table, (struct part){role, next.begin});
        bool alike = turns_alike(c, table, role, &next, &all);
        for (int64_t i = 0; i < next.step && !alike; i++) {
            struct layer_range one = {next.begin + i, next.end, next.step};
            struct alikes own = find_alikes(c, table, (struct part){role, one.begin});
            add_lines(c, lines, sliced_role(c, path, one), &own);
        }
        if (!alike)
            continue;
        next.step = 1;
        while (next.end < layers) {
            struct layer_range behind = stretch_from(c, table, (struct part){role, next.end});
            if (!turns_alike(c, table, role, &behind, &all))
                break;
            next.end = behind.end;
        }
        add_lines(c, lines, sliced_role(c, path, next), &all);
    }
}

// Whatever else lies alike, each role of parameters has lines; the other states stand in its
// tuples.
struct mode_lines find_mode_lines(struct compilation *c, const struct placement_table *table) {
    struct mode_lines lines = {0};
    bool *shown = ARENA_ARRAY(&c->arena, bool, table->n_roles + 1);
    for (uint32_t i = 0; i < table->n; i++) {
        uint32_t role = table->rows[i].role;
        if (table->rows[i].state != STATE_PARAMETERS || shown[role])
            continue;
        add_role(c, table, &table->rows[i], &lines);
        shown[role] = true;
    }
    return lines;
}

// ---- printing ---------------------------------------------------------------------------------

enum { LEAST_NAME_COLUMNS = 24, LEAST_TUPLE_COLUMNS = 14 };

// The name of a line; below its role it stands two columns to the right.
static const char *line_name(struct arena *arena, const struct mode_line *line) {
    return line->apart ? arena_format(arena, "  %s", line->apart) : line->role;
}

static int longer(int columns, const char *text) {
    return (int)strlen(text) > columns ? (int)strlen(text) : columns;
}

static int axis_columns(const struct mesh *mesh, const struct mode_lines *lines, uint32_t axis) {
    int columns = longer(LEAST_TUPLE_COLUMNS, mesh->axes[axis].name);
    for (uint32_t i = 0; i < lines->n; i++)
        columns = longer(columns, lines->items[i].tuples[axis]);
    return columns;
}

// Columns of some axes, side by side.
struct columns {
    uint32_t first, end; // axes, before end
    int name;
    int axes[MAX_AXES];
};

// Takes as many axes as fit from the first on, at least that.
static void fit_axes(struct columns *columns, uint32_t n_axes) {
    int width = 2 + columns->name;
    columns->end = columns->first;
    do
        width += 1 + columns->axes[columns->end++];
    while (columns->end < n_axes && width + 1 + columns->axes[columns->end] <= REPORT_COLUMNS);
}

// None of the lines ends in blanks.
static void print_cell(FILE *to, const struct columns *columns, uint32_t axis, const char *text) {
    if (axis + 1 == columns->end)
        fprintf(to, " %s\n", text);
    else
        fprintf(to, " %-*s", columns->axes[axis], text);
}

static void print_lines(struct compilation *c, const struct mode_lines *lines,
                        const struct columns *columns, FILE *to) {
    const struct mesh *mesh = &c->final->job->mesh;
    fprintf(to, "  %-*s", columns->name, "");
    for (uint32_t axis = columns->first; axis < columns->end; axis++)
        print_cell(to, columns, axis, mesh->axes[axis].name);
    for (uint32_t i = 0; i < lines->n; i++) {
        fprintf(to, "  %-*s", columns->name, line_name(&c->arena, &lines->items[i]));
        for (uint32_t axis = columns->first; axis < columns->end; axis++)
            print_cell(to, columns, axis, lines->items[i].tuples[axis]);
    }
}

// Axes that do not fit side by side follow below.
void report_modes(struct compilation *c, const struct placement_table *table, FILE *to) {
    const struct mesh *mesh = &c->final->job->mesh;
    struct mode_lines lines = find_mode_lines(c, table);
    struct columns columns = {.name = LEAST_NAME_COLUMNS};
    if (mesh->n_axes == 0)
        return;
    for (uint32_t i = 0; i < lines.n; i++)
        columns.name = longer(columns.name, line_name(&c->arena, &lines.items[i]));
    for (uint32_t axis = 0; axis < mesh->n_axes; axis++)
        columns.axes[axis] = axis_columns(mesh, &lines, axis);
    fprintf(to, "\n  parameters, optimizer, gradients, activations on each axis\n");
    while (columns.first < mesh->n_axes) {
        fit_axes(&columns, mesh->n_axes);
        print_lines(c, &lines, &columns, to);
        columns.first = columns.end;
    }
}
