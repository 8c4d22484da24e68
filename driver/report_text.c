// The report of `check` for people: the table of modes per role and axis, memory, communication.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "driver/report.h"

static void print_mesh_line(struct compilation *c, FILE *to) {
    const struct mesh *mesh = &c->final->mesh;
    fprintf(to, "  devices        %" PRId64 " (", mesh_devices(mesh));
    for (uint32_t i = 0; i < mesh->n_axes; i++)
        fprintf(to, "%s%s = %" PRId64, i ? ", " : "", mesh->axes[i].name, mesh->axes[i].size);
    fprintf(to, "%s)\n", mesh->n_axes ? "" : "no axis");
    fprintf(to,
            "  step           %" PRId64 " sequences of %" PRId64 " tokens in %" PRId64
            " microbatch%s\n",
            c->final->sizes.batch, c->final->sizes.sequence, c->final->sizes.microbatches,
            c->final->sizes.microbatches == 1 ? "" : "es");
}

// A cell of a table; none of its lines ends in blanks.
static void print_cell(FILE *to, const char *text, bool last) {
    fprintf(to, last ? " %s\n" : " %-16s", text);
}

// "(S*, S, S, R)" of the row that each state has for this role; a state without one has no letter.
static const char *tuple_text(struct arena *arena, const struct placement_table *table,
                              const char *role, unsigned axis) {
    const char *text = "(";
    for (int state = 0; state < N_STATES; state++) {
        const char *letter = "-";
        for (uint32_t i = 0; i < table->n; i++)
            if (table->rows[i].state == (enum state)state && strcmp(table->rows[i].role, role) == 0)
                letter = mode_letter(&table->rows[i], axis);
        if (state == STATE_ACTIVATIONS)
            letter = mode_of_state(table, STATE_ACTIVATIONS, axis);
        text = arena_format(arena, "%s%s%s", text, state ? ", " : "", letter);
    }
    return arena_format(arena, "%s)", text);
}

static void print_modes(struct compilation *c, const struct placement_table *table, FILE *to) {
    const struct mesh *mesh = &c->final->mesh;
    if (mesh->n_axes == 0)
        return;
    fprintf(to, "\n  parameters, optimizer, gradients, activations on each axis\n  %-24s", "");
    for (uint32_t axis = 0; axis < mesh->n_axes; axis++)
        print_cell(to, mesh->axes[axis].name, axis + 1 == mesh->n_axes);
    for (uint32_t i = 0; i < table->n; i++) {
        if (table->rows[i].state != STATE_PARAMETERS)
            continue;
        fprintf(to, "  %-24s", table->rows[i].role);
        for (uint32_t axis = 0; axis < mesh->n_axes; axis++)
            print_cell(to, tuple_text(&c->arena, table, table->rows[i].role, axis),
                       axis + 1 == mesh->n_axes);
    }
}

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

static void print_communication(struct compilation *c, FILE *to) {
    const struct account *account = c->account;
    if (account->n_transfers == 0) {
        fprintf(to, "\n  nothing is sent\n");
        return;
    }
    fprintf(to, "\n  sent by a device in one step\n");
    for (uint32_t i = 0; i < account->n_transfers; i++) {
        const struct account_transfer *t = &account->transfers[i];
        const char *of = t->state == N_STATES ? "scalars" : state_names[t->state];
        const char *role = t->role == ROLE_NONE ? "" : role_names[t->role];
        fprintf(to, "    %-10s %-8s %-14s %-11s %-10s %6" PRId64 " times %12s\n",
                mesh_axes_text(&c->final->mesh, &t->axes, &c->arena), phase_names[t->phase],
                collective_names[t->kind], of, role, t->count,
                bytes_text(&c->arena, (double)t->bytes));
    }
    fprintf(to, "    %-10s %s\n", "in all", bytes_text(&c->arena, (double)account->total_bytes));
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
    print_modes(c, &table, to);
    print_memory(c, to);
    print_communication(c, to);
}
