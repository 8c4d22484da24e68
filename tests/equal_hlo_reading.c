// Texts of HLO, read for tests.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/equal_hlo_reading.h"

struct reading read_bytes(const char *text, size_t length) {
    struct reading r = {.graph = NULL};
    struct arena *arena = calloc(1, sizeof *arena); // does not move with the reading
    struct source_files *sources = calloc(1, sizeof *sources);
    assert_non_null(arena);
    assert_non_null(sources);
    r.diagnostics = diagnostics_new(arena, sources);
    uint32_t source = source_add(sources, arena, "input", text, length);
    r.graph = hlo_read(source, &r.arena, r.diagnostics);
    assert_int_equal(r.diagnostics->n_errors, r.graph ? 0 : 1);
    return r;
}

void forget(struct reading *r) {
    struct arena *arena = r->diagnostics->arena;
    struct source_files *sources = r->diagnostics->sources;
    arena_free(&r->arena);
    arena_free(arena);
    free(arena);
    free(sources);
}

// What was said first; "": nothing.
static const char *said(const struct reading *r) {
    return r->diagnostics->n_items ? r->diagnostics->items[0]->message : "";
}

struct reading read_right(const char *text) {
    struct reading r = read_bytes(text, strlen(text));
    if (!r.graph)
        fail_msg("%s\nrefused: %s", text, said(&r));
    return r;
}

void assert_refused(const char *text, size_t length, enum diagnostic_code code,
                    const char *message) {
    struct reading r = read_bytes(text, length);
    if (r.graph)
        fail_msg("%.200s\nwas read, and not refused: %s", text, message);
    const struct diagnostic *d = r.diagnostics->items[0];
    if (d->code != code || !strstr(d->message, message))
        fail_msg("%.200s\n%s: %s, and not %s: %s", text, diagnostic_rows[d->code].text, d->message,
                 diagnostic_rows[code].text, message);
    assert_true(d->span.begin <= length && d->span.end <= length);
    forget(&r);
}

const struct computation *entry_of(const struct reading *r) {
    return &r->graph->computations[r->graph->entry];
}

const struct instruction *named(const struct reading *r, const char *name) {
    const struct computation *entry = entry_of(r);
    for (uint32_t i = 0; i < entry->n; i++)
        if (strcmp(entry->instructions[i].name, name) == 0)
            return &entry->instructions[i];
    fail_msg("no %s", name);
    return NULL;
}

char *module_of(const char *line, int devices) {
    char *text = NULL;
    size_t length;
    FILE *to = open_memstream(&text, &length);
    assert_non_null(to);
    fprintf(to, "HloModule m, num_partitions=%d\n" STEPS "ENTRY main {\n" GIVEN "%s\n}\n", devices,
            line);
    fclose(to);
    return text;
}

struct reading read_line(const char *line, int devices) {
    char *text = module_of(line, devices);
    struct reading r = read_right(text);
    free(text);
    return r;
}

void assert_line_refused(const char *line, int devices, enum diagnostic_code code,
                         const char *message) {
    char *text = module_of(line, devices);
    assert_refused(text, strlen(text), code, message);
    free(text);
}
