// Units: parameters, results, ops; parse_unit.c reads them.
#include <string.h>

#include "ir/print.h"

// Nothing for what is not planned, nor for what a call's statement says already.
static void put_storage(struct printer *p, const struct unit *unit, const struct value *value) {
    switch (value->storage) {
    case STORAGE_UNPLANNED:
    case STORAGE_PARAMETER:
        break;
    case STORAGE_RESULT:
        put(p, " out");
        break;
    case STORAGE_FRAME:
        put(p, " at %" PRId64, value->offset_bytes);
        break;
    case STORAGE_IN_PLACE:
        put(p, " in %%%s", unit->values[value->base].name);
        break;
    case STORAGE_INLINE:
        put(p, " inline");
        break;
    }
}

// Prints an attribute in the form of its kind; reals as the shortest decimal that reads back.
static void put_attribute(struct printer *p, const struct attribute *attribute) {
    put(p, "%s=", attribute_names[attribute->name]);
    switch (attribute_kinds[attribute->name]) {
    case KIND_INTEGER:
        put(p, "%" PRId64, attribute->integer);
        break;
    case KIND_REAL:
        put_real(p, attribute->real);
        break;
    case KIND_WORD:
        put(p, "\"%s\"", attribute->word);
        break;
    case KIND_AXES:
        put_axes(p, &attribute->axes);
        break;
    case KIND_DIMENSION:
        put(p, "%s", dimension_names[attribute->integer]);
        break;
    }
}

static int type_width(const struct tensor_type *type) {
    return 8 + 14 * type->rank;
}

// Types are printed though they follow from the operands: a person reads sizes, not signatures.
static void print_op(struct printer *p, const struct unit *unit, const struct op *op) {
    for (unsigned i = 0; i < op->n_results; i++)
        put(p, "%s%%%s", i ? ", " : "", unit->values[op->results[i]].name);
    put(p, " = %s(", op_rows[op->kind].text);
    for (unsigned i = 0; i < op->n_operands; i++) {
        const char *name = unit->values[op->operands[i]].name;
        put(p, i ? "," : "");
        break_before(p, (int)strlen(name) + 3);
        put(p, "%s%%%s", i ? " " : "", name);
    }
    put(p, ")");
    for (unsigned i = 0; i < op->n_attributes; i++) {
        put(p, i ? ", " : " {");
        put_attribute(p, &op->attributes[i]);
    }
    put(p, op->n_attributes ? "} :" : " :");
    for (unsigned i = 0; i < op->n_results; i++) {
        const struct value *value = &unit->values[op->results[i]];
        put(p, i ? "," : "");
        break_before(p, type_width(&value->type));
        put(p, " ");
        put_type(p, &value->type);
        put_storage(p, unit, value);
    }
    put_roles(p, op->roles, op->n_roles);
    put_spanned_end(p, op->span);
}

// The name of the buffer that holds the unit's frame, the same in all programs; NULL: it needs
// none.
static const char *frame_name(const struct job *job, uint32_t unit) {
    for (uint32_t i = 0; i < job->n_programs; i++) {
        buffer_id frame = program_frame(job->programs[i], unit);
        if (frame != NO_ID)
            return job->programs[i]->buffers[frame].name;
    }
    return NULL;
}

// Parameters, results, ops: results are named before the ops that make them, as a head is.
void print_unit(struct printer *p, const struct unit *unit) {
    put(p, "unit %s.%s {", p->job->name, unit->name);
    put_spanned_end(p, unit->span);
    p->indent++;
    put(p, "phase %s", phase_names[unit->phase]);
    end_line(p);
    for (uint32_t i = 0; i < unit->n_parameters; i++) {
        put(p, "parameter %s%%%s : ", unit->consumed[i] ? "consumed " : "", unit->values[i].name);
        put_type(p, &unit->values[i].type);
        end_line(p);
    }
    for (uint32_t i = 0; i < unit->n_results; i++) {
        const struct unit_result *result = &unit->results[i];
        put(p, "result %%%s", unit->values[result->value].name);
        if (result->in_parameter != NO_ID)
            put(p, " in %%%s", unit->values[result->in_parameter].name);
        end_line(p);
    }
    if (unit->frame_bytes >= 0) {
        const char *frame = frame_name(p->job, (uint32_t)(unit - p->job->units));
        put(p, "frame %" PRId64, unit->frame_bytes);
        if (frame)
            put(p, " of %s", frame);
        end_line(p);
    }
    for (uint32_t i = 0; i < unit->n_ops; i++)
        print_op(p, unit, &unit->ops[i]);
    p->indent--;
    put(p, "}");
    end_line(p);
}
