// The end of `check` for a file with several strategies: what each keeps of the model's states and sends, as papers
// about them print it. `compare` has the rest.
#include <string.h>

#include "driver/quantity.h"
#include "driver/report.h"
#include "driver/strategies.h"
#include "driver/trying.h"

// Room for names, within what the columns behind it leave.
enum { LEAST_NAME = 12, MOST_NAME = 27 };

static int name_columns(const struct strategy_names *names) {
    size_t columns = LEAST_NAME;
    for (uint32_t i = 0; i < names->n; i++) {
        size_t length = strlen(names->items[i]);
        if (length > columns && length <= MOST_NAME)
            columns = length;
    }
    return (int)columns;
}

// Bytes of a model's states, kept from step to step by the device that keeps most, wherever it keeps them.
static int64_t most_states(const struct compilation *c) {
    int64_t most = 0;
    for (uint32_t i = 0; i < c->final->job->n_programs; i++) {
        const int64_t *held = c->accounts[i]->held;
        int64_t states = size_plus(size_plus(held[STATE_PARAMETERS], held[STATE_OPTIMIZER]),
                                   held[STATE_GRADIENTS]);
        most = states > most ? states : most;
    }
    return most;
}

// A name for which there is no room stands on a line of its own.
static void print_name(const char *name, int columns, FILE *to) {
    bool fits = (int)strlen(name) <= columns;
    if (!fits)
        fprintf(to, "    %s\n", name);
    fprintf(to, "    %-*s ", columns, fits ? name : "");
}

// A device of thousands may keep less than a byte a parameter.
static const char *of_parameter(struct compilation *c, int64_t states) {
    double bytes = (double)states / (double)model_parameters(c);
    return arena_format(&c->arena, bytes < 1 ? "%.3g B" : "%.2f B", bytes);
}

static void print_strategy(struct compilation *c, const char *name, int columns, FILE *to) {
    const struct diagnostic *error = first_error(c);
    print_name(name, columns, to);
    if (!is_right_but_for_memory(c)) {
        fprintf(to, "refused, %s\n", diagnostic_rows[error->code].text);
        return;
    }
    const struct account *sender = c->accounts[sends_most(c)];
    const struct account *fullest = c->accounts[holds_most(c, TIER_DEVICE)];
    int64_t states = most_states(c);
    fprintf(to, "%12s %11s %11s %11s\n", bytes_text(&c->arena, (double)states),
            of_parameter(c, states),
            bytes_text(&c->arena, (double)fullest->arenas[TIER_DEVICE].peak),
            bytes_text(&c->arena, (double)bytes_sent(sender, STEP_TRAIN, NULL)));
    if (error)
        fprintf(to, "    %-*s refused, %s: more than there is\n", columns, "",
                diagnostic_rows[error->code].text);
}

// What others say `use` of need not be complete.
static bool is_part_of_others(const struct compilation *c, const struct ast_file *file,
                              const char *name) {
    return !is_right_but_for_memory(c) && is_used_strategy(file, name);
}

static void report_other(const struct compilation *c, const struct options *options,
                         const char *name, int columns, FILE *to) {
    const struct source_file *file = &c->sources.items[c->file.source];
    struct options own = options_of_strategy(options, name);
    struct compilation other;
    compile_text(&other, &own, c->path, file->text, file->length, STAGE_JUDGED);
    if (!is_part_of_others(&other, &c->file, name))
        print_strategy(&other, name, columns, to);
    compilation_free(&other);
}

void report_strategies(struct compilation *c, const struct options *options, FILE *to) {
    struct strategy_names names = lone_strategies(&c->arena, &c->file);
    if (names.n < 2 || option_given(options, OPTION_STRATEGY))
        return;
    int columns = name_columns(&names);
    fprintf(to, "\n  strategies of this file, a device of each\n    %-*s %12s %11s %11s %11s\n",
            columns, "", "model states", "a parameter", "memory", "sent");
    for (uint32_t i = 0; i < names.n; i++)
        if (strcmp(names.items[i], c->config.strategy.name) == 0)
            print_strategy(c, names.items[i], columns, to);
        else
            report_other(c, options, names.items[i], columns, to);
}
