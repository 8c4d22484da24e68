// The syntax tree as text, in one canonical layout: a field or statement per line, four blanks per
// level, one blank line between items. What is printed parses to the same tree.
//
// Messages quote values through the same functions (ast_value_text), so that a person reads of a
// value what they could have written. Comments are not in the tree and are lost.
#include "frontend/ast.h"
#include "ir/check.h"

#include <stdlib.h>

// Four blanks a level, whatever the source had.
static void print_indent(FILE *out, int level) {
    fprintf(out, "%*s", 4 * level, "");
}

static void print_names(FILE *out, const struct ast_names *names, const char *separator) {
    for (uint32_t i = 0; i < names->n; i++)
        fprintf(out, "%s%s", i ? separator : "", names->items[i].text);
}

// ---- selectors --------------------------------------------------------------------------------

// Bounds that were not said stay unsaid: `[4:]` is not `[4:8]` of some model.
static void print_slice(FILE *out, const struct ast_slice *slice) {
    fputc('[', out);
    if (slice->has_begin)
        fprintf(out, "%lld", (long long)slice->begin);
    if (!slice->is_index)
        fputc(':', out);
    if (slice->has_end)
        fprintf(out, "%lld", (long long)slice->end);
    if (slice->has_step)
        fprintf(out, ":%lld", (long long)slice->step);
    fputc(']', out);
}

// `layers[0:4].attention`: a slice belongs to its step.
static void print_path(FILE *out, const struct ast_path *path) {
    for (uint32_t i = 0; i < path->n; i++) {
        fprintf(out, "%s%s", i ? "." : "", path->items[i].name.text);
        if (path->items[i].has_slice)
            print_slice(out, &path->items[i].slice);
    }
}

static void print_paths(FILE *out, const struct ast_paths *paths) {
    for (uint32_t i = 0; i < paths->n; i++) {
        fputs(i ? ", " : "", out);
        print_path(out, &paths->items[i]);
    }
}

// ---- values -----------------------------------------------------------------------------------

static void print_value(FILE *out, const struct ast_value *value);

static void print_values(FILE *out, const struct ast_values *values, const char *separator) {
    for (uint32_t i = 0; i < values->n; i++) {
        fputs(i ? separator : "", out);
        print_value(out, values->items[i]);
    }
}

// The three shapes of an argument: a value, perhaps by name; a product; a cut by a dimension.
static void print_argument(FILE *out, const struct ast_argument *argument) {
    if (argument->kind == ARGUMENT_VALUE) {
        if (argument->name.text)
            fprintf(out, "%s = ", argument->name.text);
        print_value(out, argument->value);
        return;
    }
    print_names(out, &argument->axes, " * ");
    if (argument->kind == ARGUMENT_BY)
        fprintf(out, " by %s", argument->by.text);
}

// Parentheses always; where the grammar has none without arguments the caller leaves them out.
static void print_arguments(FILE *out, const struct ast_arguments *arguments) {
    fputc('(', out);
    for (uint32_t i = 0; i < arguments->n; i++) {
        fputs(i ? ", " : "", out);
        print_argument(out, &arguments->items[i]);
    }
    fputc(')', out);
}

// Numbers and units are printed as they were written, so that nothing is rounded by the way.
static void print_value(FILE *out, const struct ast_value *value) {
    switch (value->kind) {
    case AST_NUMBER:
        fputs(value->number.text, out);
        break;
    case AST_QUANTITY:
        fprintf(out, "%s", value->quantity.number.text);
        if (value->quantity.unit != N_MEASURING_UNITS)
            fprintf(out, " %s", measuring_unit_rows[value->quantity.unit].text);
        break;
    case AST_STRING:
        fprintf(out, "\"%s\"", value->string);
        break;
    case AST_NAME:
        fputs(value->name, out);
        break;
    case AST_CALL:
        fputs(value->call.name.text, out);
        print_arguments(out, &value->call.arguments);
        break;
    case AST_DOTTED:
        print_names(out, &value->dotted, ".");
        break;
    case AST_TUPLE:
        fputc('(', out);
        print_values(out, &value->elements, ", ");
        fputc(')', out);
        break;
    case AST_SEQUENCE:
        fputc('[', out);
        print_values(out, &value->elements, ", ");
        fputc(']', out);
        break;
    case AST_SUM:
        print_values(out, &value->elements, " + ");
        break;
    case AST_REPEAT:
        fprintf(out, "%s of ", value->repeat.count.text);
        print_value(out, value->repeat.each);
        break;
    case AST_OF:
        print_value(out, value->of.value);
        fputs(" of ", out);
        print_names(out, &value->of.names, ", ");
        break;
    }
}

// A memory stream, because the one printer serves files and messages.
char *ast_value_text(struct arena *arena, const struct ast_value *value) {
    char *text = NULL;
    size_t length = 0;
    FILE *out = memory_given(open_memstream(&text, &length));
    print_value(out, value);
    memory_written(out);
    char *kept = arena_string(arena, text, length);
    free(text);
    return kept;
}

// ---- fields -----------------------------------------------------------------------------------

// `{ name = value ... }`, a field a line. A field without a value is a block itself, which opens on
// the line of its name.
static void print_block(FILE *out, const struct ast_block *block, int level) {
    fputs("{\n", out);
    for (uint32_t i = 0; i < block->n; i++) {
        const struct ast_field *field = &block->items[i];
        print_indent(out, level + 1);
        print_paths(out, &field->paths);
        if (field->value) {
            fputs(" = ", out);
            print_value(out, field->value);
            fputc('\n', out);
        } else {
            fputc(' ', out);
            print_block(out, &field->block, level + 1);
        }
    }
    print_indent(out, level);
    fputs("}\n", out);
}

// A mesh's braces look like a block's, but an axis may have a link behind its size, and a product
// of axes in place of one.
static void print_axes(FILE *out, const struct ast_axes *axes) {
    fputs("{\n", out);
    for (uint32_t i = 0; i < axes->n; i++) {
        const struct ast_axis *axis = &axes->items[i];
        fprintf(out, "    %s = ", axis->name.text);
        if (axis->kind == AXIS_PRODUCT)
            print_names(out, &axis->factors, " * ");
        else
            print_value(out, axis->size);
        if (axis->has_link) {
            fputs(" link", out);
            print_arguments(out, &axis->link);
        }
        fputc('\n', out);
    }
    fputs("}\n", out);
}

// ---- statements -------------------------------------------------------------------------------

static void print_body(FILE *out, const struct ast_body *body, int level);

// Prints a schedule on the line of its split, however long.
static void print_schedule(FILE *out, const struct ast_schedule *schedule) {
    if (schedule->kind == SCHEDULE_NONE)
        return;
    fputs(schedule->kind == SCHEDULE_FILE ? " schedule from " : " schedule ", out);
    print_value(out, schedule->value);
    if (schedule->arguments.n)
        print_arguments(out, &schedule->arguments);
}

// `sharded()` is not in the grammar: no arguments, no parentheses.
static void print_modes(FILE *out, const struct ast_modes *modes) {
    for (uint32_t i = 0; i < modes->n; i++) {
        fprintf(out, "%s%s", i ? ", " : "", modes->items[i].name.text);
        if (modes->items[i].arguments.n)
            print_arguments(out, &modes->items[i].arguments);
    }
}

// `S*+O`: the extent, its star, the residency that is joined to it.
static void print_letters(FILE *out, const struct ast_letters *letters) {
    for (uint32_t i = 0; i < letters->n; i++) {
        const struct ast_letter *letter = &letters->items[i];
        fprintf(out, "%s%s%s", i ? ", " : "", letter->extent.text, letter->starred ? "*" : "");
        for (int k = 0; k < MOST_RESIDENCIES && letter->residencies[k].text; k++)
            fprintf(out, "+%s", letter->residencies[k].text);
    }
}

// A statement's line; those with a body end in it and have no line end of their own.
static void print_statement(FILE *out, const struct ast_statement *statement, int level) {
    print_indent(out, level);
    switch (statement->kind) {
    case STATEMENT_SPLIT:
        fputs("split ", out);
        print_names(out, &statement->split.dimensions, ", ");
        fputs(" over ", out);
        print_names(out, &statement->split.axes, " * ");
        print_schedule(out, &statement->split.schedule);
        break;
    case STATEMENT_MODE:
        print_paths(out, &statement->mode.states);
        fputs(" : ", out);
        print_modes(out, &statement->mode.modes);
        break;
    case STATEMENT_STATES:
        fputs("states : (", out);
        print_letters(out, &statement->states.letters);
        fputs(") on ", out);
        print_names(out, &statement->states.axes, " * ");
        break;
    case STATEMENT_USE:
        fprintf(out, "use %s", statement->use.name.text);
        if (statement->use.has_arguments)
            print_arguments(out, &statement->use.arguments);
        break;
    case STATEMENT_IN:
        fputs("in ", out);
        print_paths(out, &statement->in.selectors);
        fputc(' ', out);
        print_body(out, &statement->in.body, level);
        return;
    case STATEMENT_RELAX:
        fputs("relax ", out);
        print_names(out, &statement->relax.conditions, ", ");
        fputs(" over ", out);
        print_names(out, &statement->relax.axes, " * ");
        fputc(' ', out);
        print_body(out, &statement->relax.body, level);
        return;
    }
    fputc('\n', out);
}

// The closing brace stands under the first letter of what opened it.
static void print_body(FILE *out, const struct ast_body *body, int level) {
    fputs("{\n", out);
    for (uint32_t i = 0; i < body->n; i++)
        print_statement(out, &body->items[i], level + 1);
    print_indent(out, level);
    fputs("}\n", out);
}

// ---- items ------------------------------------------------------------------------------------

// `(axis dp, number n = 4)`; a strategy without parameters has no parentheses.
static void print_parameters(FILE *out, const struct ast_parameters *parameters) {
    if (!parameters->n)
        return;
    fputc('(', out);
    for (uint32_t i = 0; i < parameters->n; i++) {
        const struct ast_parameter *parameter = &parameters->items[i];
        fprintf(out, "%s%s %s", i ? ", " : "", parameter->kind.text, parameter->name.text);
        if (parameter->value) {
            fputs(" = ", out);
            print_value(out, parameter->value);
        }
    }
    fputc(')', out);
}

// Programs in braces are not laid out anew: their text is another parser's.
static void print_item(FILE *out, const struct ast_item *item) {
    switch (item->kind) {
    case ITEM_IMPORT:
        fprintf(out, "import \"%s\"\n", item->import.text);
        break;
    case ITEM_MODEL_FILE:
        fprintf(out, "model %s from \"%s\"", item->name.text, item->model.source.text);
        if (!item->model.has_block) {
            fputc('\n', out);
            break;
        }
        fputc(' ', out);
        print_block(out, &item->model.block, 0);
        break;
    case ITEM_MODEL_FAMILY:
        fprintf(out, "model %s : %s ", item->name.text, item->model.source.text);
        print_block(out, &item->model.block, 0);
        break;
    case ITEM_DEVICE:
        fprintf(out, "device %s ", item->name.text);
        print_block(out, &item->device, 0);
        break;
    case ITEM_MESH:
        fprintf(out, "mesh %s of %s ", item->name.text, item->mesh.device.text);
        print_axes(out, &item->mesh.axes);
        break;
    case ITEM_TRAIN:
        fputs("train ", out);
        print_block(out, &item->train, 0);
        break;
    case ITEM_STRATEGY:
        fprintf(out, "strategy %s", item->name.text);
        print_parameters(out, &item->strategy.parameters);
        if (item->strategy.of.text)
            fprintf(out, " of %s", item->strategy.of.text);
        if (item->strategy.on.text)
            fprintf(out, " on %s", item->strategy.on.text);
        fputc(' ', out);
        print_body(out, &item->strategy.body, 0);
        break;
    case ITEM_STEP:
        fprintf(out, "step %s %s\n", item->name.text, item->program.program.text);
        break;
    case ITEM_UNIT:
        fprintf(out, "unit %s.%s %s\n", item->name.text, item->program.unit.text,
                item->program.program.text);
        break;
    }
}

void ast_print(const struct ast_file *file, FILE *out) {
    for (uint32_t i = 0; i < file->n; i++) {
        if (i)
            fputc('\n', out);
        print_item(out, &file->items[i]);
    }
}
