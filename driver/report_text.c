// The report of `check` for people: the table of modes per role and axis, memory, communication.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "driver/report.h"
#include "ir/placement.h"

// What became of an axis over which heads are split.
static void print_factors(const struct mesh *mesh, const struct mesh_product *product, FILE *to) {
    const char *outer = mesh->axes[product->axes.axes[0]].name;
    const char *inner = mesh->axes[product->axes.axes[product->axes.n - 1]].name;
    fprintf(to,
            "  %-14s %s * %s: key and value heads are split over %s, over %s devices hold copies\n",
            product->name, outer, inner, outer, inner);
}

// The size of the problem, so that the figures below can be judged.
static void print_mesh_line(struct compilation *c, FILE *to) {
    const struct mesh *mesh = &c->final->mesh;
    fprintf(to, "  devices        %" PRId64 " (", mesh_devices(mesh));
    for (uint32_t i = 0; i < mesh->n_axes; i++)
        fprintf(to, "%s%s = %" PRId64, i ? ", " : "", mesh->axes[i].name, mesh->axes[i].size);
    fprintf(to, "%s)\n", mesh->n_axes ? "" : "no axis");
    for (uint32_t i = 0; i < mesh->n_products; i++)
        if (mesh->products[i].factored)
            print_factors(mesh, &mesh->products[i], to);
    fprintf(to,
            "  step           %" PRId64 " sequence%s of %" PRId64 " token%s in %" PRId64
            " microbatch%s\n",
            c->final->sizes.batch, plural_s(c->final->sizes.batch), c->final->sizes.sequence,
            plural_s(c->final->sizes.sequence), c->final->sizes.microbatches,
            c->final->sizes.microbatches == 1 ? "" : "es");
}

// What does not equal training on one device, where the file says so.
static void print_relaxed(struct compilation *c, FILE *to) {
    const struct strategy_config *strategy = &c->config.strategy;
    for (uint32_t i = 0; i < strategy->n_relaxations; i++) {
        const struct relax_statement *relax = &strategy->relaxations[i];
        struct source_place place = source_place(&c->sources, origin_span(&relax->origin));
        fprintf(to, "  relaxed        ");
        for (int condition = 0, n = 0; condition < N_CONDITIONS; condition++)
            if (relax->conditions[condition])
                fprintf(to, "%s%s", n++ ? ", " : "", condition_names[condition]);
        fprintf(to, " over %s (line %d)\n",
                mesh_axes_text(&c->config.mesh, &relax->axes, &c->arena), (int)place.line);
    }
}

// A cell of a table; none of its lines ends in blanks.
static void print_cell(FILE *to, const char *text, bool last) {
    fprintf(to, last ? " %s\n" : " %-16s", text);
}

// As what blocks hand on lies; joined with M where what the role makes is recomputed, M alone where
// that is whole.
static const char *activations_letter(struct compilation *c, const struct placement_table *table,
                                      bool recomputed, unsigned axis) {
    const char *letter = table->most_bytes[STATE_ACTIVATIONS][axis];
    if (!recomputed)
        return letter;
    return strcmp(letter, "R") == 0 ? "M" : arena_format(&c->arena, "%s+M", letter);
}

// The last of the rows that have the layer; NULL: none has it.
static const struct placement_row *row_of_layer(const struct placement_table *table,
                                                const struct layer_index *rows, int64_t layer) {
    struct layer_search search = search_layer(rows, layer);
    uint32_t at, behind = 0; // the last
    while (search_next(&search, &at))
        behind = at + 1 > behind ? at + 1 : behind;
    return behind ? &table->rows[behind - 1] : NULL;
}

// "(S*, S, S, R)" of the row that each state has for a role, or for a layer of it; a state without
// one has no letter.
static const char *tuple_text(struct compilation *c, const struct placement_table *table,
                              uint32_t role, int64_t layer, bool recomputed, unsigned axis) {
    const char *letters[N_STATES];
    for (int state = 0; state < N_STATES; state++) {
        const struct placement_row *row =
            row_of_layer(table, &table->roles[role].rows[state], layer);
        letters[state] = row ? mode_letter(row, axis) : "-";
    }
    letters[STATE_ACTIVATIONS] = activations_letter(c, table, recomputed, axis);
    return arena_format(&c->arena, "(%s, %s, %s, %s)", letters[STATE_PARAMETERS],
                        letters[STATE_OPTIMIZER], letters[STATE_GRADIENTS],
                        letters[STATE_ACTIVATIONS]);
}

static const char *tuples_text(struct compilation *c, const struct placement_table *table,
                               uint32_t role, int64_t layer) {
    uint32_t n = c->final->mesh.n_axes;
    bool recomputed = role_is_recomputed(table, role, layer);
    const char *text = "";
    for (uint32_t axis = 0; axis < n; axis++)
        text = arena_format(&c->arena, axis + 1 < n ? "%s %-16s" : "%s %s", text,
                            tuple_text(c, table, role, layer, recomputed, axis));
    return text;
}

// "layers[0:16].mlp.up", or "layers[1:16:2].mlp.up"; of all layers "layers.mlp.up".
static const char *sliced_role(struct compilation *c, const char *role, struct layer_range layers) {
    int head = (int)strcspn(role, ".");
    if (layers.begin == 0 && layers.end == c->final->sizes.layers && layers.step == 1)
        return role;
    const char *step = layers.step > 1 ? arena_format(&c->arena, ":%" PRId64, layers.step) : "";
    return arena_format(&c->arena, "%.*s[%" PRId64 ":%" PRId64 "%s]%s", head, role, layers.begin,
                        layers.end, step, role + head);
}

// Of the rows that speak of a layer: where they end, and others may say something else; and after
// how many layers they speak again, where layers take turns. It is the first of a turn then.
static struct layer_range stretch_from(struct compilation *c, const struct placement_table *table,
                                       uint32_t role, int64_t layer) {
    struct layer_range stretch = {layer, c->final->sizes.layers, 1};
    for (int state = 0; state < N_STATES; state++) {
        struct layer_search search = search_layer(&table->roles[role].rows[state], layer);
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

struct mode_line {
    const char *role, *tuples;
};
struct mode_lines {
    struct mode_line *items;
    uint32_t n, cap;
};

static void add_mode_line(struct compilation *c, struct mode_lines *lines, const char *role,
                          const char *tuples) {
    struct mode_line line = {role, tuples};
    ARENA_PUSH(&c->arena, lines->items, lines->n, lines->cap, line);
}

static bool turns_alike(struct compilation *c, const struct placement_table *table, uint32_t role,
                        const struct layer_range *turn) {
    const char *first = turn->step > 1 ? tuples_text(c, table, role, turn->begin) : NULL;
    for (int64_t i = 1; i < turn->step; i++)
        if (strcmp(tuples_text(c, table, role, turn->begin + i), first) != 0)
            return false;
    return true;
}

// One line for a role, or for each range of layers in which it is kept alike.
static void add_role(struct compilation *c, const struct placement_table *table,
                     const struct placement_row *row, struct mode_lines *lines) {
    int64_t layers = row->layers.end ? c->final->sizes.layers : 0;
    const char *path = table->roles[row->role].path;
    if (layers == 0)
        add_mode_line(c, lines, path, tuples_text(c, table, row->role, 0));
    for (struct layer_range next = {0}; next.begin < layers; next.begin = next.end) {
        next = stretch_from(c, table, row->role, next.begin);
        bool alike = turns_alike(c, table, row->role, &next);
        for (int64_t i = 0; i < next.step && !alike; i++) {
            struct layer_range one = {next.begin + i, next.end, next.step};
            add_mode_line(c, lines, sliced_role(c, path, one),
                          tuples_text(c, table, row->role, one.begin));
        }
        if (!alike)
            continue;
        const char *tuples = tuples_text(c, table, row->role, next.begin);
        next.step = 1;
        while (next.end < layers) {
            struct layer_range behind = stretch_from(c, table, row->role, next.end);
            if (!turns_alike(c, table, row->role, &behind) ||
                strcmp(tuples_text(c, table, row->role, behind.begin), tuples) != 0)
                break;
            next.end = behind.end;
        }
        add_mode_line(c, lines, sliced_role(c, path, next), tuples);
    }
}

// A line for each role of parameters, whatever else lies alike; the other states stand in its
// tuple.
static void print_modes(struct compilation *c, const struct placement_table *table, FILE *to) {
    const struct mesh *mesh = &c->final->mesh;
    struct mode_lines lines = {0};
    bool *shown = ARENA_ARRAY(&c->arena, bool, table->n_roles + 1);
    int width = 24;
    if (mesh->n_axes == 0)
        return;
    for (uint32_t i = 0; i < table->n; i++) {
        uint32_t role = table->rows[i].role;
        if (table->rows[i].state != STATE_PARAMETERS || shown[role])
            continue;
        add_role(c, table, &table->rows[i], &lines);
        shown[role] = true;
    }
    for (uint32_t i = 0; i < lines.n; i++)
        if ((int)strlen(lines.items[i].role) > width)
            width = (int)strlen(lines.items[i].role);
    fprintf(to, "\n  parameters, optimizer, gradients, activations on each axis\n  %-*s", width,
            "");
    for (uint32_t axis = 0; axis < mesh->n_axes; axis++)
        print_cell(to, mesh->axes[axis].name, axis + 1 == mesh->n_axes);
    for (uint32_t i = 0; i < lines.n; i++)
        fprintf(to, "  %-*s%s\n", width, lines.items[i].role, lines.items[i].tuples);
}

// Of every device, at the fullest moment of a step; the parts sum to the peak.
static void print_memory(struct compilation *c, FILE *to) {
    const struct account *account = c->account;
    fprintf(to, "\n  memory of a device\n");
    for (int state = 0; state < N_STATES; state++)
        fprintf(to, "    %-12s %12s\n", state_names[state],
                bytes_text(&c->arena, (double)account->states[state]));
    fprintf(to, "    %-12s %12s\n", "transient", bytes_text(&c->arena, (double)account->transient));
    fprintf(to, "    %-12s %12s", "peak", bytes_text(&c->arena, (double)account->peak));
    int64_t limit = c->config.device.memory_bytes;
    if (limit)
        fprintf(to, "   of %s", bytes_text(&c->arena, (double)limit));
    fprintf(to, "\n");
}

static void print_transfer(struct compilation *c, const struct account_transfer *t, FILE *to) {
    const char *of = t->state == N_STATES ? "scalars" : state_names[t->state];
    const char *role = t->role == ROLE_NONE ? "" : role_names[t->role];
    fprintf(to, "    %-10s %-8s %-14s %-11s %-10s %6" PRId64 " times %12s\n",
            mesh_axes_text(&c->final->mesh, &t->axes, &c->arena), phase_names[t->phase],
            collective_names[t->kind], of, role, t->count, bytes_text(&c->arena, (double)t->bytes));
}

// One line for each kind of collective and what it carries, in the order of the step. Returns
// bytes.
static int64_t print_transfers(struct compilation *c, enum step_kind step, FILE *to) {
    const struct account *account = c->account;
    int64_t bytes = 0;
    for (uint32_t i = 0; i < account->n_transfers; i++)
        if (account->transfers[i].step == step) {
            print_transfer(c, &account->transfers[i], to);
            bytes += account->transfers[i].bytes;
        }
    fprintf(to, "    %-10s %s", "in all", bytes_text(&c->arena, (double)bytes));
    return bytes;
}

static void print_communication(struct compilation *c, FILE *to) {
    int64_t every = c->final->policy.average_every;
    if (c->account->n_transfers == 0) {
        fprintf(to, "\n  nothing is sent\n");
        return;
    }
    fprintf(to, "\n  sent by a device in one step\n");
    print_transfers(c, STEP_TRAIN, to);
    fprintf(to, "\n");
    if (every == 0)
        return;
    fprintf(to, "\n  sent to average parameters, after every %" PRId64 " step%s\n", every,
            plural_s(every));
    int64_t bytes = print_transfers(c, STEP_AVERAGE, to);
    fprintf(to, ", %s for each step\n", bytes_text(&c->arena, (double)bytes / (double)every));
}

void report_text(struct compilation *c, FILE *to) {
    fprintf(to, "%s: ", c->path);
    if (c->library) {
        fprintf(to, "strategies with parameters only: accepted\n");
        return;
    }
    fprintf(to, "strategy %s of %s: accepted%s\n", c->config.strategy.name, c->config.model.name,
            c->edited ? " (with the file's own program)" : "");
    struct placement_table table = placement_rows(c);
    print_mesh_line(c, to);
    print_relaxed(c, to);
    print_modes(c, &table, to);
    print_memory(c, to);
    print_communication(c, to);
}
