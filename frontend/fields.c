// Blocks of plain fields, from tables: each row says what may stand there and where it goes.
//
// A table is an array of rows (name, kind, offset in the struct that is filled). Beside it a block
// keeps `said`: which rows were given, by what. So what is said twice is found whatever the order,
// what is missing can be told by the one who knows what is required, and the command line may say
// again what the file says.
#include "frontend/resolve.h"

#include <float.h>
#include <string.h>

// Tables have a dozen rows; a search from the front is as good as any.
int find_field(const struct field_row *rows, int n, const char *name) {
    for (int i = 0; i < n; i++)
        if (strcmp(rows[i].name, name) == 0)
            return i;
    return -1;
}

// One switch over the kinds, so that a table's row is all that a new field needs.
static bool read_field(struct resolver *r, const struct field_row *row,
                       const struct ast_value *value, void *target) {
    void *member = (char *)target + row->offset;
    const char *what = arena_format(r->arena, "`%s`", row->name);
    int choice;
    switch (row->kind) {
    case FIELD_SIZE:
        return read_integer(r, value, what, 1, LIMIT_SIZE, member);
    case FIELD_LAYERS:
        return read_bounded(r, value, what, 1, LIMIT_LAYERS, LAYERS_REMEDY, member);
    case FIELD_HEAD_DIM:
        return read_bounded(r, value, what, 1, LIMIT_HEAD_DIM, HEAD_DIM_REMEDY, member);
    case FIELD_COUNT:
        return read_integer(r, value, what, 0, INT64_MAX, member);
    case FIELD_REAL:
        return read_real(r, value, what, 0, DBL_MAX, member);
    case FIELD_POSITIVE:
        return read_real(r, value, what, DBL_MIN, DBL_MAX, member);
    case FIELD_SHARE:
        return read_real(r, value, what, 0, 1 - DBL_EPSILON, member);
    case FIELD_FLAG:
        return read_flag(r, value, what, member);
    case FIELD_BYTES:
        return read_bytes_quantity(r, value, what, member);
    case FIELD_BYTES_PER_S:
        return read_quantity(r, value, what, MEASURE_BYTES_PER_S, member);
    case FIELD_FLOPS_PER_S:
        return read_quantity(r, value, what, MEASURE_FLOPS_PER_S, member);
    case FIELD_BIASES:
        if (!read_choice(r, value, what, biases_words, N_BIASES_WORDS, &choice))
            return false;
        *(enum biases *)member = biases_sets[choice];
        return true;
    case FIELD_NORM:
        if (!read_choice(r, value, what, norm_words, N_NORMS, &choice))
            return false;
        *(enum norm_kind *)member = (enum norm_kind)choice;
        return true;
    case FIELD_ACTIVATION:
        if (!read_choice(r, value, what, activation_words, N_ACTIVATIONS, &choice))
            return false;
        *(enum activation_kind *)member = (enum activation_kind)choice;
        return true;
    case FIELD_POSITION:
        if (!read_choice(r, value, what, position_words, N_POSITIONS, &choice))
            return false;
        *(enum position_kind *)member = (enum position_kind)choice;
        return true;
    }
    return false;
}

// Two statements of the file contradict each other; a setting of the command line is meant to win.
static bool is_overridden(const struct field_said *said, const struct origin *origin) {
    return said->origin.kind == ORIGIN_STATEMENT && origin->kind == ORIGIN_STATEMENT;
}

static void report_no_field(struct resolver *r, const struct field_row *rows, int n,
                            const char *what, const struct ast_field *field, struct ast_name name) {
    const char *names[64];
    for (int k = 0; k < n; k++)
        names[k] = rows[k].name;
    struct diagnostic *d = report_unknown_of(r, E104, name, field->value, what, names, (size_t)n);
    note_microbatches(r, d, field);
}

// `name { ... }`, where no field of the table is a block.
static void report_block(struct resolver *r, const struct field_row *rows, int n, const char *what,
                         const struct ast_field *field) {
    struct ast_name name = field->paths.items[0].items[0].name;
    if (find_field(rows, n, name.text) < 0)
        report_no_field(r, rows, n, what, field, name);
    else
        report(r->diagnostics, E105, field->paths.span, "`%s` takes a value: `%s = ...`", name.text,
               name.text);
}

// Everything about one name of the field's list.
static int take_path(struct resolver *r, const struct field_row *rows, int n, const char *what,
                     const struct ast_field *field, const struct ast_path *path,
                     const struct origin *origin, void *target, struct field_said *said) {
    struct ast_name name = path->items[0].name;
    int i = find_field(rows, n, name.text);
    if (i < 0) {
        report_no_field(r, rows, n, what, field, name);
        return -1;
    }
    if (path->n > 1 || path->items[0].has_slice) {
        report(r->diagnostics, E105, path->span, "`%s` takes no selector", name.text);
        return -1;
    }
    // What the command line says replaces what the file says; the file says it once.
    if (said[i].said && is_overridden(&said[i], origin)) {
        report_twice(r, path->span, said[i].origin.span, arena_format(r->arena, "`%s`", name.text));
        return -1;
    }
    said[i] = (struct field_said){true, *origin};
    return read_field(r, &rows[i], field->value, target) ? i : -1;
}

// A field may name several paths: `a, b = 1`.
int take_field(struct resolver *r, const struct field_row *rows, int n, const char *what,
               const struct ast_field *field, const struct origin *origin, void *target,
               struct field_said *said) {
    if (!field->value) {
        report_block(r, rows, n, what, field);
        return -1;
    }
    int row = -1;
    for (uint32_t i = 0; i < field->paths.n; i++) {
        struct origin here = *origin;
        if (here.kind == ORIGIN_STATEMENT)
            here.span = field->span;
        row = take_path(r, rows, n, what, field, &field->paths.items[i], &here, target, said);
    }
    return row;
}
