// The end of `check` for a file with several strategies: what each keeps of the model's states and sends, as papers
// about them print it. `compare` has the rest.
#include <string.h>

#include "driver/quantity.h"
#include "driver/report.h"
#include "driver/strategies.h"
#include "driver/trying.h"

// Room for the longest name, within what the columns behind it leave.
enum { LEAST_NAME = 12, MOST_NAME = 27 };

static int name_columns(const struct strategy_names *names) {
    size_t columns = LEAST_NAME;
    for (uint32_t i = 0; i < names->n; i++)
        if (strlen(names->items[i]) > columns)
            columns = strlen(names->items[i]);
    return columns < MOST_NAME ? (int)columns : MOST_NAME;
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

static void print_strategy(struct compilation *c, const char *name, int columns, FILE *to) {
    fprintf(to, "    %-*.*s ", columns, columns, name);
    if (!is_right_but_for_memory(c)) {
        fprintf(to, "refused, %s\n", diagnostic_rows[first_error(c)->code].text);
        return;
    }
    int64_t states = most_states(c);
    const struct account *sender = c->accounts[sends_most(c)];
    const struct account *fullest = c->accounts[holds_most(c, TIER_DEVICE)];
    fprintf(to, "%12s %9.2f B %11s %11s\n", bytes_text(&c->arena, (double)states),
            (double)states / (double)model_parameters(c),
            bytes_text(&c->arena, (double)fullest->arenas[TIER_DEVICE].peak),
            bytes_text(&c->arena, (double)bytes_sent(sender, STEP_TRAIN, NULL)));
}

void report_strategies(struct compilation *c, const struct options *options, FILE *to) {
    struct strategy_names names = lone_strategies(&c->arena, &c->file);
    if (names.n < 2 || option_given(options, OPTION_STRATEGY))
        return;
    const struct source_file *file = &c->sources.items[c->file.source];
    int columns = name_columns(&names);
    fprintf(to, "\n  strategies of this file, a device of each\n    %-*s %12s %11s %11s %11s\n",
            columns, "", "model states", "a parameter", "memory", "sent");
    for (uint32_t i = 0; i < names.n; i++) {
        if (strcmp(names.items[i], c->config.strategy.name) == 0) {
            print_strategy(c, names.items[i], columns, to);
            continue;
        }
        struct options of_other = *options;
        of_other.values[OPTION_STRATEGY] = names.items[i];
        struct compilation other;
        compile_text(&other, &of_other, c->path, file->text, file->length, STAGE_JUDGED);
        print_strategy(&other, names.items[i], columns, to);
        compilation_free(&other);
    }
}
