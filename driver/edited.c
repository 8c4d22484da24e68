// Programs that a file writes out, in place of the derived ones: found, read and put there.
#include "driver/edited.h"

#include <string.h>

#include "driver/edited_inside.h"

// ---- texts ------------------------------------------------------------------------------------

// The file's `step S` and `unit S.U` for the strategy that is compiled.
struct written {
    const struct ast_item **items;
    struct written_text *texts; // of each item
    uint32_t n, n_texts, items_capacity, texts_capacity;
};

// Texts of other strategies stay where they are: a file may hold several.
static struct written find_written(struct compilation *c) {
    struct written written = {0};
    for (uint32_t i = 0; i < c->file.n; i++) {
        const struct ast_item *item = &c->file.items[i];
        if ((item->kind != ITEM_STEP && item->kind != ITEM_UNIT) ||
            strcmp(item->name.text, c->config.strategy.name) != 0)
            continue;
        bool unit = item->kind == ITEM_UNIT;
        struct written_text text = {.unit = unit ? item->program.unit.text : NULL,
                                    .braces = item->program.program.span};
        ARENA_PUSH(&c->arena, written.items, written.n, written.items_capacity, item);
        ARENA_PUSH(&c->arena, written.texts, written.n_texts, written.texts_capacity, text);
    }
    return written;
}

// A unit that nothing calls would be an edit without effect: its name is most likely misspelt.
static void report_uncalled(struct compilation *c, const struct program *edited, uint32_t unit,
                            const struct ast_item *item) {
    const char *name = item->program.unit.text;
    struct diagnostic *d = report(c->diagnostics, E620, item->program.unit.span,
                                  "no statement of the step calls unit `%s`", name);
    const char **names = ARENA_ARRAY(&c->arena, const char *, edited->job->n_units);
    size_t n = 0;
    for (uint32_t i = 0; i < edited->job->n_units; i++)
        if (i != unit)
            names[n++] = edited->job->units[i].name;
    diagnostic_meant(d, item->program.unit.span, name, names, n);
}

// All are asked, so that every misspelt unit is told in one run.
static bool all_called(struct compilation *c, const struct program *edited,
                       const struct written *written) {
    const bool *called = job_called_units(edited->job, &c->arena);
    bool all = true;
    for (uint32_t i = 0; i < written->n; i++) {
        if (written->items[i]->kind != ITEM_UNIT)
            continue;
        uint32_t unit = job_find_unit(edited->job, written->items[i]->program.unit.text);
        if (called[unit])
            continue;
        report_uncalled(c, edited, unit, written->items[i]);
        all = false;
    }
    return all;
}

// ---- replacement ------------------------------------------------------------------------------

void report_text_error(struct diagnostics *diagnostics, const struct text_error *error) {
    struct diagnostic *d = report(diagnostics, E600, error->span, "%s", error->message);
    if (error->meant) {
        diagnostic_help(d, "did you mean `%s`?", error->meant);
        diagnostic_edit(d, error->span, "%s", error->meant);
    }
}

// E620. The file says how many ranks there are, and so how many parts.
static void report_parts(struct compilation *c, const struct job *job) {
    uint32_t n = c->final->job->n_programs;
    struct diagnostic *d =
        report(c->diagnostics, E620, job->programs[job->n_programs > 1]->part.span,
               "this step has %u part%s, and by the strategy there %s %u", job->n_programs,
               plural_s(job->n_programs), n == 1 ? "is" : "are", n);
    diagnostic_note_at(
        d, n > 1 ? origin_span(&c->config.strategy.pipeline.origin) : c->config.strategy.name_span,
        n > 1 ? "each rank of the pipeline is one" : "it has no pipeline");
    diagnostic_help(d,
                    "write a part for each rank: `placec emit --as=step` prints what is derived");
}

// Read, compared with what is derived, its plan settled; only then is it the program.
bool edited_replace(struct compilation *c) {
    struct written written = find_written(c);
    if (written.n == 0)
        return true;
    struct text_error error;
    const char *text = c->sources.items[c->file.source].text;
    struct job *job =
        job_parse_written(&c->arena, c->final->job, text, written.texts, written.n_texts, &error);
    if (!job) {
        report_text_error(c->diagnostics, &error);
        return false;
    }
    if (job->n_programs != c->final->job->n_programs) {
        report_parts(c, job);
        return false;
    }
    struct program *edited = job->programs[0];
    if (!edited_agrees(c, edited) || !all_called(c, edited, &written))
        return false;
    // Speeds of links and names of products are the file's: they change no result.
    edited->job->mesh = c->final->job->mesh;
    if (!edited_settle_plan(c, edited))
        return false;
    c->derived = c->final;
    c->final = edited;
    c->edited = true;
    edited_read_order(c);
    return true;
}

static void check_part(struct compilation *c) {
    edited_check_storage(c, &c->placement);
    if (c->diagnostics->n_errors)
        return;
    edited_check_travel(c, &c->placement);
    edited_check_division(c);
}

// One part after the other, until something is told: what is so of one is so of others.
void edited_check(struct compilation *c) {
    struct program *final = c->final, *derived = c->derived;
    uint32_t told = c->diagnostics->n_items;
    edited_check_order(c);
    for (uint32_t i = 0; c->edited && i < final->job->n_programs; i++) {
        c->final = final->job->programs[i];
        c->derived = derived->job->programs[i];
        if (c->diagnostics->n_items == told)
            check_part(c);
    }
    c->final = final;
    c->derived = derived;
}
