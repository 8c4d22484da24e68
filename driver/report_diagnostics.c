// Diagnostics as JSON: the same objects in every report (docs/json.md).
#include "driver/report_diagnostics.h"

#include <stdlib.h>
#include <string.h>

#include "ir/check.h"

// ---- keys -------------------------------------------------------------------------------------

// In the contract's order.
static const char *const check_keys[] = {
    "file",   "strategy",          "verdict",    "reason",        "devices",
    "mesh",   "microbatches",      "parameters", "relaxed",       "diagnostics",
    "modes",  "placement",         "memory",     "communication", "communication_total",
    "copied", "copied_to_average", "time",       "pipeline"};
static const char *const equal_keys[] = {"one",          "many",       "verdict",  "mesh",
                                         "results",      "by_order",   "by_shape", "assuming",
                                         "instructions", "diagnostics"};
static const struct report_keys {
    const char *const *of;
    size_t n;
} report_keys[N_VERBS] = {
    [VERB_CHECK] = {check_keys, sizeof check_keys / sizeof *check_keys},
    [VERB_EQUAL] = {equal_keys, sizeof equal_keys / sizeof *equal_keys},
};

bool has_report(enum verb verb) {
    return report_keys[verb].of != NULL;
}

json_t *report_new(enum verb verb) {
    json_t *report = json_object();
    json_object_set_new(report, "schema", json_integer(1));
    for (size_t i = 0; i < report_keys[verb].n; i++)
        json_object_set_new(report, report_keys[verb].of[i], json_null());
    return report;
}

// ---- what is said -----------------------------------------------------------------------------

json_t *text_json(const char *text) {
    json_t *string = json_string(text);
    if (string)
        return string;
    char *ascii = memory_given(strdup(text));
    for (char *c = ascii; *c; c++)
        if (*c & 0x80)
            *c = '?';
    string = json_string(ascii);
    free(ascii);
    return string;
}

json_t *text_or_null(const char *text) {
    return text ? text_json(text) : json_null();
}

// Lines and columns count from 1, columns in bytes; all null for what stands in no text.
static void set_place(const struct diagnostics *set, json_t *object, struct span span) {
    struct source_place place = source_place(set->sources, span);
    bool known = place.file != NULL;
    json_object_set_new(object, "file", text_or_null(place.file));
    json_object_set_new(object, "line", known ? json_integer(place.line) : json_null());
    json_object_set_new(object, "column", known ? json_integer(place.column) : json_null());
    json_object_set_new(object, "end_line", known ? json_integer(place.end_line) : json_null());
    json_object_set_new(object, "end_column", known ? json_integer(place.end_column) : json_null());
}

static json_t *note_json(const struct diagnostics *set, const struct diagnostic_label *label) {
    json_t *note = json_object();
    json_object_set_new(note, "message", text_or_null(label->text));
    set_place(set, note, label->span);
    return note;
}

// A help with edits, which were compiled before they are proposed; a help in words is no fix.
static json_t *fix_json(const struct diagnostics *set, const struct diagnostic *d) {
    if (!d->help || d->n_edits == 0)
        return json_null();
    json_t *fix = json_object(), *edits = json_array();
    json_object_set_new(fix, "message", text_json(d->help));
    for (uint32_t i = 0; i < d->n_edits; i++) {
        json_t *edit = json_object();
        set_place(set, edit, d->edits[i].span);
        json_object_set_new(edit, "text", text_json(d->edits[i].text));
        json_array_append_new(edits, edit);
    }
    json_object_set_new(fix, "edits", edits);
    return fix;
}

// Labels and notes are both notes here: beside the text or below it is a matter of printing.
static json_t *diagnostic_json(const struct diagnostics *set, const struct diagnostic *d,
                               const char *code) {
    json_t *object = json_object(), *notes = json_array();
    json_object_set_new(object, "severity",
                        json_string(d->severity == SEVERITY_ERROR ? "error" : "warning"));
    json_object_set_new(object, "code", text_or_null(code));
    json_object_set_new(object, "message", text_json(d->message));
    set_place(set, object, d->span);
    json_object_set_new(object, "origin", text_or_null(d->origin));
    for (uint32_t i = 0; i < d->n_labels; i++)
        json_array_append_new(notes, note_json(set, &d->labels[i]));
    for (uint32_t i = 0; i < d->n_notes; i++)
        json_array_append_new(notes, note_json(set, &d->notes[i]));
    json_object_set_new(object, "notes", notes);
    json_object_set_new(object, "help", d->help ? text_json(d->help) : json_null());
    json_object_set_new(object, "fix", fix_json(set, d));
    return object;
}

json_t *diagnostics_json(const struct diagnostics *set) {
    json_t *array = json_array();
    for (uint32_t i = 0; i < set->n_items; i++)
        json_array_append_new(
            array, diagnostic_json(set, set->items[i], diagnostic_rows[set->items[i]->code].text));
    return array;
}

json_t *usage_json(const char *message, const char *remedy) {
    struct source_files nothing = {.n_items = 0};
    struct diagnostics none = {.sources = &nothing};
    struct diagnostic said = {
        .severity = SEVERITY_ERROR, .span = span_nowhere(), .message = message, .help = remedy};
    return diagnostic_json(&none, &said, NULL);
}

void print_report(const json_t *report, FILE *to) {
    json_dumpf(report, to, JSON_INDENT(1) | JSON_PRESERVE_ORDER | JSON_ENSURE_ASCII);
    fputc('\n', to);
}
