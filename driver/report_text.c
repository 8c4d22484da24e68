// The report of `check` for people: the table of modes per role and axis, memory, communication.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "driver/quantity.h"
#include "driver/report_pipeline.h"
#include "driver/report.h"
#include "driver/report_time.h"
#include "ir/placement.h"

// What became of an axis over which heads are split.
static void print_factors(const struct mesh *mesh, const struct mesh_product *product, FILE *to) {
    const char *outer = mesh->axes[product->axes.axes[0]].name;
    const char *inner = mesh->axes[product->axes.axes[product->axes.n - 1]].name;
    fprintf(to,
            "  %-14s %s * %s: key and value heads are split over %s,\n"
            "  %-14s over %s devices hold copies\n",
            product->name, outer, inner, outer, "", inner);
}

// The elements of a tensor, in all layers.
static double elements(const struct tensor *tensor) {
    double elements = tensor->layers ? (double)tensor->layers : 1;
    for (unsigned i = 0; i < tensor->rank; i++)
        elements *= (double)tensor->dims[i].size;
    return elements;
}

// How many parameters of a role the model has, and how many of them are frozen.
struct parameters {
    double all, frozen;
};

static struct parameters count_parameters(struct compilation *c, const char *role) {
    struct parameters sum = {0};
    for (uint32_t i = 0; i < c->reference->job->n_tensors; i++) {
        const struct tensor *tensor = &c->reference->job->tensors[i];
        if (role && strcmp(role_path(&c->arena, tensor->roles, tensor->n_roles), role) != 0)
            continue;
        sum.all += elements(tensor);
        sum.frozen += tensor->trainable ? 0 : elements(tensor);
    }
    return sum;
}

static const char *parameters_text(struct compilation *c, struct parameters sum, const char *noun) {
    const char *all = quantity_text(&c->arena, sum.all, COUNTS);
    const char *frozen =
        sum.frozen == sum.all ? "all" : quantity_text(&c->arena, sum.frozen, COUNTS);
    return sum.frozen == 0 ? arena_format(&c->arena, "%s%s", all, noun)
                           : arena_format(&c->arena, "%s%s (%s frozen)", all, noun, frozen);
}

int64_t model_parameters(struct compilation *c) {
    return (int64_t)count_parameters(c, NULL).all;
}

// Prints the model, with a line for each role, in the order of the model, where more is asked for.
static void print_model(struct compilation *c, bool verbose, FILE *to) {
    const struct sizes *sizes = &c->final->job->sizes;
    struct names shown = {.arena = &c->arena};
    fprintf(to, "  model          %s, %s tokens a step\n",
            parameters_text(c, count_parameters(c, NULL), " parameters"),
            quantity_text(&c->arena, (double)sizes->batch * (double)sizes->sequence, COUNTS));
    for (uint32_t i = 0; i < c->reference->job->n_tensors && verbose; i++) {
        const struct tensor *tensor = &c->reference->job->tensors[i];
        const char *role = role_path(&c->arena, tensor->roles, tensor->n_roles);
        if (names_find(&shown, role) != NOT_NAMED)
            continue;
        names_add(&shown, role, i);
        fprintf(to, "    %-26s %s\n", role, parameters_text(c, count_parameters(c, role), ""));
    }
}

// The size of the problem, so that the figures below can be judged.
static void print_mesh_line(struct compilation *c, FILE *to) {
    const struct mesh *mesh = &c->final->job->mesh;
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
            c->final->job->sizes.batch, plural_s(c->final->job->sizes.batch),
            c->final->job->sizes.sequence, plural_s(c->final->job->sizes.sequence),
            c->final->job->sizes.microbatches, c->final->job->sizes.microbatches == 1 ? "" : "es");
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

static const char *const step_words[N_STEPS] = {
    [STEP_TRAIN] = "training", [STEP_EVALUATE] = "evaluation", [STEP_AVERAGE] = "averaging"};

// What is going on at the fullest moment: the unit that is called then, or is the next one; around
// transfers between steps none.
static const char *unit_at_peak(const struct compilation *c) {
    struct statement_walk walk = walk_statements(&c->final->steps[c->account->peak_step].body);
    bool reached = false;
    while (walk_next(&walk)) {
        reached |= walk.statement->id == c->account->peak_statement;
        if (reached && walk.statement->kind == STATEMENT_CALL)
            return c->final->job->units[walk.statement->call.unit].name;
    }
    return NULL;
}

// Prints what is kept elsewhere, at its own fullest moment.
static void print_elsewhere(struct compilation *c, enum tier tier, FILE *to) {
    const struct account_arena *arena = &c->accounts[holds_most(c, tier)]->arenas[tier];
    const char *states = "";
    int64_t limit = tier_limit(&c->config.device, tier);
    if (arena->peak == 0)
        return;
    for (int state = 0; state < N_STATES; state++)
        if (arena->states[state])
            states =
                arena_format(&c->arena, "%s%s%s", states, *states ? ", " : "", state_names[state]);
    fprintf(to, "    %-12s %12s", arena_format(&c->arena, "on %s", tier_names[tier]),
            bytes_text(&c->arena, (double)arena->peak));
    if (limit)
        fprintf(to, "   of %s", bytes_text(&c->arena, (double)limit));
    fprintf(to, "%s%s\n", *states ? "   " : "", states);
}

// What each step would take alone. What all do in one arena may take more.
static void print_steps_alone(struct compilation *c, FILE *to) {
    const struct account *account = c->account;
    for (int s = 0; s < N_STEPS; s++)
        if (account->alone[s])
            fprintf(to, "    %-12s %12s   alone\n", step_words[s],
                    bytes_text(&c->arena, (double)account->alone[s]));
}

// Prints what a device holds at the fullest moment of all steps; the parts sum to the peak.
static void print_memory(struct compilation *c, FILE *to) {
    const struct account *account = c->account;
    const char *unit = unit_at_peak(c);
    int width =
        fprintf(to, "\n  memory of a device, fullest in %s", step_words[account->peak_step]);
    if (unit) { // behind a comma and a blank; the line feed is in the width
        bool one_line = (size_t)width + 1 + strlen(unit) <= REPORT_COLUMNS;
        fprintf(to, one_line ? ", %s" : ",\n    %s", unit);
    }
    fprintf(to, "\n");
    for (int state = 0; state < N_STATES; state++)
        fprintf(to, "    %-12s %12s\n", state_names[state],
                bytes_text(&c->arena, (double)account->arenas[TIER_DEVICE].states[state]));
    fprintf(to, "    %-12s %12s\n", "transient",
            bytes_text(&c->arena, (double)account->arenas[TIER_DEVICE].transient));
    fprintf(to, "    %-12s %12s", "peak",
            bytes_text(&c->arena, (double)account->arenas[TIER_DEVICE].peak));
    int64_t limit = c->config.device.memory_bytes;
    if (limit)
        fprintf(to, "   of %s", bytes_text(&c->arena, (double)limit));
    fprintf(to, "\n");
    print_steps_alone(c, to);
    for (int i = TIER_DEVICE + 1; i < N_TIERS; i++)
        print_elsewhere(c, i, to);
}

// Prints what is sent over the axes, in the order of the step.
static void print_transfers_over(struct compilation *c, const struct account *account,
                                 enum step_kind step, const struct axis_list *axes, FILE *to) {
    for (uint32_t i = 0; i < account->n_transfers; i++) {
        const struct account_transfer *t = &account->transfers[i];
        if (t->step != step || !axis_list_equal(&t->axes, axes))
            continue;
        fprintf(to, "      %-8s %-14s %-11s %-9s %7" PRId64 " times %12s\n", phase_names[t->phase],
                collective_names[t->kind], t->state == N_STATES ? "scalars" : state_names[t->state],
                t->role == ROLE_NONE ? "" : role_names[t->role], t->count,
                bytes_text(&c->arena, (double)t->bytes));
    }
}

// Axes are named where the first of their transfers stands in the step.
static bool names_axes(const struct account *account, uint32_t transfer) {
    const struct account_transfer *t = &account->transfers[transfer];
    for (uint32_t i = 0; i < transfer; i++)
        if (account->transfers[i].step == t->step &&
            axis_list_equal(&account->transfers[i].axes, &t->axes))
            return false;
    return true;
}

int64_t bytes_sent(const struct account *account, enum step_kind step,
                   const struct axis_list *axes) {
    int64_t bytes = 0;
    for (uint32_t i = 0; i < account->n_transfers; i++)
        if (account->transfers[i].step == step &&
            (!axes || axis_list_equal(&account->transfers[i].axes, axes)))
            bytes += account->transfers[i].bytes;
    return bytes;
}

static void print_sum(struct compilation *c, const char *of, int64_t bytes, FILE *to) {
    fprintf(to, "    %-60s %12s", of, bytes_text(&c->arena, (double)bytes));
}

// Prints for each product of axes what crosses it, a line for each kind of collective and what it
// carries.
static void print_transfers(struct compilation *c, const struct account *account,
                            enum step_kind step, FILE *to) {
    for (uint32_t i = 0; i < account->n_transfers; i++) {
        const struct axis_list *axes = &account->transfers[i].axes;
        if (account->transfers[i].step != step || !names_axes(account, i))
            continue;
        print_sum(c, mesh_axes_text(&c->final->job->mesh, axes, &c->arena),
                  bytes_sent(account, step, axes), to);
        fprintf(to, "\n");
        print_transfers_over(c, account, step, axes, to);
    }
    print_sum(c, "in all", bytes_sent(account, step, NULL), to);
}

static void print_communication(struct compilation *c, FILE *to) {
    const struct account *account = c->accounts[sends_most(c)];
    int64_t every = c->final->job->policy.average_every;
    if (account->n_transfers == 0) {
        fprintf(to, "\n  nothing is sent\n");
        return;
    }
    fprintf(to, "\n  sent by a device in one step%s\n",
            is_pipelined(c) ? ", of the rank that sends most" : "");
    print_transfers(c, account, STEP_TRAIN, to);
    fprintf(to, "\n");
    if (every == 0)
        return;
    fprintf(to, "\n  sent to average parameters, after every %" PRId64 " step%s\n", every,
            plural_s(every));
    print_transfers(c, account, STEP_AVERAGE, to);
    double bytes = (double)bytes_sent(account, STEP_AVERAGE, NULL);
    fprintf(to, "\n    %-60s %12s\n", "for each step",
            bytes_text(&c->arena, bytes / (double)every));
}

// Prints a line for each way between tiers and what goes there.
static void print_copies_of(struct compilation *c, enum step_kind step, const char *title,
                            FILE *to) {
    const struct account *account = c->accounts[copies_most(c, step)];
    int64_t bytes = 0;
    for (uint32_t i = 0; i < account->n_copies; i++) {
        const struct account_copy *copy = &account->copies[i];
        if (copy->step != step)
            continue;
        if (bytes == 0)
            fprintf(to, "\n  %s\n", title);
        fprintf(to, "      %-8s %-14s %-21s %7" PRId64 " times %12s\n", phase_names[copy->phase],
                arena_format(&c->arena, "%s to %s", tier_names[copy->from], tier_names[copy->to]),
                copy->state == N_STATES ? "transient" : state_names[copy->state], copy->count,
                bytes_text(&c->arena, (double)copy->bytes));
        bytes += copy->bytes;
    }
    if (bytes == 0)
        return;
    print_sum(c, "in all", bytes, to);
    fprintf(to, "\n");
}

static void print_copies(struct compilation *c, FILE *to) {
    int64_t every = c->final->job->policy.average_every;
    print_copies_of(c, STEP_TRAIN,
                    is_pipelined(c) ? "copied by a device in one step, of the rank that copies most"
                                    : "copied by a device in one step",
                    to);
    print_copies_of(c, STEP_AVERAGE,
                    arena_format(&c->arena,
                                 "copied to average parameters, after every %" PRId64 " step%s",
                                 every, plural_s(every)),
                    to);
}

void report_text(struct compilation *c, const struct options *options, FILE *to) {
    fprintf(to, "%s: ", c->path);
    if (c->library) {
        fprintf(to, "strategies with parameters only: accepted\n");
        return;
    }
    fprintf(to, "strategy %s of %s: accepted%s\n", c->config.strategy.name, c->config.model.name,
            c->edited ? " (with the file's own program)" : "");
    struct placement_table table = placement_rows(c);
    print_model(c, option_given(options, OPTION_VERBOSE), to);
    print_mesh_line(c, to);
    print_relaxed(c, to);
    report_modes(c, &table, to);
    report_pipeline(c, to);
    print_memory(c, to);
    print_communication(c, to);
    print_copies(c, to);
    report_time(c, options, to);
}
