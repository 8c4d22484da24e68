// Building programs: arrays that grow in the job's arena, attributes, statements, indices. Nothing
// here knows what an op means.
#include "ir/ir.h"

#include <string.h>

#include "ir/check.h"

// ---- names ------------------------------------------------------------------------------------

const char *name_with(struct arena *arena, const char *name, const char *suffix) {
    size_t length = strlen(name), more = strlen(suffix);
    if (more == 0)
        return name;
    char *made = arena_alloc(arena, length + more + 1);
    memcpy(made, name, length);
    memcpy(made + length, suffix, more);
    return made;
}

// Many differ in their first letter, and need no call.
static bool same_name(const char *a, const char *b) {
    return a[0] == b[0] && strcmp(a, b) == 0;
}

// ---- building ---------------------------------------------------------------------------------

void program_reserve_buffers(struct program *program, uint32_t n) {
    if (program->cap_buffers >= n)
        return;
    size_t old_bytes = program->n_buffers * sizeof *program->buffers;
    program->buffers =
        arena_grow(program->arena, program->buffers, old_bytes, n * sizeof *program->buffers);
    program->cap_buffers = n;
}

buffer_id program_add_buffer(struct program *program, struct buffer buffer) {
    ARENA_PUSH(program->arena, program->buffers, program->n_buffers, program->cap_buffers, buffer);
    return program->n_buffers - 1;
}

buffer_id program_find_buffer(const struct program *program, const char *name) {
    for (uint32_t i = 0; i < program->n_buffers; i++)
        if (same_name(program->buffers[i].name, name))
            return i;
    return NO_ID;
}

void program_remove_buffers(struct program *program, const bool *removed) {
    struct arena scratch = {0};
    buffer_id *renumbered = ARENA_ARRAY(&scratch, buffer_id, program->n_buffers + 1);
    uint32_t n = 0;
    for (uint32_t i = 0; i < program->n_buffers; i++) {
        renumbered[i] = removed[i] ? NO_ID : n;
        if (!removed[i])
            program->buffers[n++] = program->buffers[i];
    }
    program->n_buffers = n;
    for (uint32_t i = 0; i < n; i++)
        if (program->buffers[i].window_of != NO_ID)
            program->buffers[i].window_of = renumbered[program->buffers[i].window_of];
    for (uint32_t i = 0; i < program->n_frames; i++)
        if (program->frames[i] != NO_ID)
            program->frames[i] = renumbered[program->frames[i]];
    for (int kind = 0; kind < N_STEPS; kind++) {
        struct statement_walk walk = walk_statements(&program->steps[kind].body);
        struct access access;
        while (walk_next(&walk)) {
            for (uint32_t i = 0; (access = statement_access(program, walk.statement, i)).at; i++) {
                access.at->buffer = renumbered[access.at->buffer];
                CHECK(access.at->buffer != NO_ID);
            }
            message_join_ends(walk.statement);
        }
    }
    arena_free(&scratch);
}

buffer_id program_host_buffer(const struct program *program, enum host_role role) {
    CHECK(role != HOST_NONE);
    for (uint32_t i = 0; i < program->n_buffers; i++)
        if (program->buffers[i].host == role)
            return i;
    return NO_ID;
}

buffer_id program_frame(const struct program *program, uint32_t unit) {
    return unit < program->n_frames ? program->frames[unit] : NO_ID;
}

void program_set_frame(struct program *program, uint32_t unit, buffer_id frame) {
    uint32_t n = program->n_frames;
    if (unit >= n) {
        program->n_frames = unit >= program->job->n_units ? unit + 1 : program->job->n_units;
        program->frames = arena_grow(program->arena, program->frames, n * sizeof *program->frames,
                                     program->n_frames * sizeof *program->frames);
        for (uint32_t i = n; i < program->n_frames; i++)
            program->frames[i] = NO_ID;
    }
    program->frames[unit] = frame;
}

bool program_is_frame(const struct program *program, buffer_id id) {
    for (uint32_t i = 0; i < program->n_frames; i++)
        if (program->frames[i] == id)
            return true;
    return false;
}

bool *program_called_units(const struct program *program, struct arena *arena) {
    bool *called = ARENA_ARRAY(arena, bool, program->job->n_units + 1);
    for (int s = 0; s < N_STEPS; s++) {
        struct statement_walk walk = walk_statements(&program->steps[s].body);
        while (walk_next(&walk))
            if (walk.statement->kind == STATEMENT_CALL)
                called[walk.statement->call.unit] = true;
    }
    return called;
}

value_id unit_add_value(struct arena *arena, struct unit *unit, struct value value) {
    ARENA_PUSH(arena, unit->values, unit->n_values, unit->cap_values, value);
    return unit->n_values - 1;
}

value_id unit_find_value(const struct unit *unit, const char *name) {
    for (uint32_t i = 0; i < unit->n_values; i++)
        if (same_name(unit->values[i].name, name))
            return i;
    return NO_ID;
}

// Makes room for one value at `from`: everything in the unit that names a value follows.
static void unit_shift_values(struct unit *unit, value_id from) {
    for (uint32_t i = 0; i < unit->n_values; i++)
        if (unit->values[i].storage == STORAGE_IN_PLACE && unit->values[i].base >= from)
            unit->values[i].base++;
    for (uint32_t i = 0; i < unit->n_results; i++)
        unit->results[i].value += unit->results[i].value >= from;
    for (uint32_t i = 0; i < unit->n_ops; i++) {
        struct op *op = &unit->ops[i];
        for (unsigned k = 0; k < op->n_operands; k++)
            op->operands[k] += op->operands[k] >= from;
        for (unsigned k = 0; k < op->n_results; k++)
            op->results[k] += op->results[k] >= from;
    }
}

// Parameters are the first values, whenever they are added; so a value is a parameter by its
// number.
value_id unit_add_parameter(struct arena *arena, struct unit *unit, const char *name,
                            struct tensor_type type, bool consumed) {
    uint32_t at = unit->n_parameters;
    // Parameters are the first values; one that comes late moves the others up by one.
    unit_add_value(arena, unit, (struct value){0});
    memmove(unit->values + at + 1, unit->values + at,
            (unit->n_values - 1 - at) * sizeof *unit->values);
    unit->values[at] =
        (struct value){.name = name, .type = type, .storage = STORAGE_PARAMETER, .base = NO_ID};
    if (unit->n_values - 1 > at)
        unit_shift_values(unit, at);
    ARENA_PUSH(arena, unit->consumed, unit->n_parameters, unit->cap_parameters, consumed);
    return at;
}

value_id value_root(const struct unit *unit, value_id value) {
    while (unit->values[value].storage == STORAGE_IN_PLACE)
        value = unit->values[value].base;
    return value;
}

void unit_add_result(struct arena *arena, struct unit *unit, value_id value,
                     uint32_t in_parameter) {
    struct unit_result result = {.value = value, .in_parameter = in_parameter};
    ARENA_PUSH(arena, unit->results, unit->n_results, unit->cap_results, result);
}

const char *unit_fresh_name(struct arena *arena, const struct unit *unit, const char *name) {
    if (unit_find_value(unit, name) == NO_ID)
        return name;
    for (int i = 2;; i++) {
        const char *candidate = arena_format(arena, "%s.%d", name, i);
        if (unit_find_value(unit, candidate) == NO_ID)
            return candidate;
    }
}

struct op *unit_add_op(struct arena *arena, struct unit *unit, enum op_kind kind, const char *name,
                       const value_id *operands, uint32_t n_operands, struct span span) {
    CHECK(n_operands == op_operand_count(kind));
    struct op op = {.kind = kind,
                    .n_operands = (uint8_t)n_operands,
                    .n_results = (uint8_t)op_result_count(kind),
                    .span = span};
    for (uint32_t i = 0; i < n_operands; i++)
        op.operands[i] = operands[i];
    for (unsigned i = 0; i < op.n_results; i++) {
        // One result has the plain name; several are told apart by the row's names for them.
        const char *result = name;
        if (op.n_results > 1)
            result = name_with(arena, name_with(arena, name, "."), op_result_name(arena, kind, i));
        struct value value = {.name = unit_fresh_name(arena, unit, result), .base = NO_ID};
        op.results[i] = unit_add_value(arena, unit, value);
    }
    ARENA_PUSH(arena, unit->ops, unit->n_ops, unit->cap_ops, op);
    return &unit->ops[unit->n_ops - 1];
}

void unit_mark_needed(const struct unit *unit, bool *needed) {
    for (uint32_t i = unit->n_ops; i-- > 0;) {
        const struct op *op = &unit->ops[i];
        bool makes = false;
        for (unsigned k = 0; k < op->n_results; k++)
            makes |= needed[op->results[k]];
        for (unsigned k = 0; k < op->n_operands && makes; k++)
            needed[op->operands[k]] = true;
    }
}

bool unit_has_role(const struct unit *unit, enum role role) {
    for (uint32_t i = 0; i < unit->n_ops; i++)
        if (unit->ops[i].n_roles && unit->ops[i].roles[0] == role)
            return true;
    return false;
}

const struct op *unit_producer(const struct unit *unit, value_id value) {
    for (uint32_t i = 0; i < unit->n_ops; i++)
        for (unsigned k = 0; k < unit->ops[i].n_results; k++)
            if (unit->ops[i].results[k] == value)
                return &unit->ops[i];
    return NULL;
}

value_id unit_cast_parameter(const struct unit *unit, value_id value) {
    const struct op *op;
    while ((op = unit_producer(unit, value)) && op->kind == OP_CAST)
        value = op->operands[0];
    return op ? NO_ID : value;
}

// ---- attributes -------------------------------------------------------------------------------

enum rate_curve op_rate(const struct op *op) {
    const struct attribute *rate = op_attribute(op, ATTRIBUTE_RATE);
    int found = rate ? table_find(rate_names, N_RATES, rate->word) : -1;
    return found < 0 ? N_RATES : (enum rate_curve)found;
}

int64_t op_rate_decay(const struct op *op) {
    return op_integer(op, ATTRIBUTE_DECAY,
                      op_integer(op, ATTRIBUTE_STEPS, 0) - op_integer(op, ATTRIBUTE_WARMUP, 0));
}

const struct attribute *op_attribute(const struct op *op, enum attribute_name name) {
    for (unsigned i = 0; i < op->n_attributes; i++)
        if (op->attributes[i].name == name)
            return &op->attributes[i];
    return NULL;
}

// An attribute stands once; attributes are few, and in no order.
void op_set(struct arena *arena, struct op *op, struct attribute attribute) {
    struct attribute *old = (struct attribute *)op_attribute(op, attribute.name);
    if (old) {
        *old = attribute;
        return;
    }
    op->attributes = arena_grow(arena, op->attributes, op->n_attributes * sizeof *op->attributes,
                                (op->n_attributes + 1u) * sizeof *op->attributes);
    op->attributes[op->n_attributes++] = attribute;
}

void op_set_integer(struct arena *arena, struct op *op, enum attribute_name name, int64_t value) {
    op_set(arena, op, (struct attribute){.name = name, .integer = value});
}

void op_set_real(struct arena *arena, struct op *op, enum attribute_name name, double value) {
    op_set(arena, op, (struct attribute){.name = name, .real = value});
}

void op_set_word(struct arena *arena, struct op *op, enum attribute_name name, const char *value) {
    op_set(arena, op, (struct attribute){.name = name, .word = value});
}

void op_set_axes(struct arena *arena, struct op *op, enum attribute_name name,
                 struct axis_list value) {
    op_set(arena, op, (struct attribute){.name = name, .axes = value});
}

bool op_attributes_equal(const struct op *a, const struct op *b) {
    if (a->n_attributes != b->n_attributes)
        return false;
    for (unsigned i = 0; i < a->n_attributes; i++) {
        const struct attribute *x = &a->attributes[i], *y = op_attribute(b, x->name);
        if (!y || x->integer != y->integer || x->real != y->real ||
            !axis_list_equal(&x->axes, &y->axes) || !x->word != !y->word ||
            (x->word && strcmp(x->word, y->word) != 0))
            return false;
    }
    return true;
}

double op_real(const struct op *op, enum attribute_name name, double otherwise) {
    const struct attribute *attribute = op_attribute(op, name);
    return attribute ? attribute->real : otherwise;
}

int64_t op_integer(const struct op *op, enum attribute_name name, int64_t otherwise) {
    const struct attribute *attribute = op_attribute(op, name);
    return attribute ? attribute->integer : otherwise;
}

struct axis_list op_axes(const struct op *op) {
    const struct attribute *attribute = op_attribute(op, ATTRIBUTE_AXES);
    return attribute ? attribute->axes : (struct axis_list){0};
}

int op_zigzag(const struct op *op) {
    const struct attribute *attribute = op_attribute(op, ATTRIBUTE_ZIGZAG);
    return attribute && attribute->axes.n ? attribute->axes.axes[0] : -1;
}

// ---- steps ------------------------------------------------------------------------------------

_Static_assert(NOT_NAMED == NO_ID, "what is not in a table of names has no number");
uint32_t step_find_handle(const struct step *step, const char *name) {
    return names_find(&step->handle_names, name);
}

uint32_t step_add_handle(struct arena *arena, struct step *step, const char *name, int64_t slots) {
    struct handle handle = {.name = name, .slots = slots};
    ARENA_PUSH(arena, step->handles, step->n_handles, step->cap_handles, handle);
    step->handle_names.arena = arena;
    names_add(&step->handle_names, handle.name, step->n_handles - 1);
    return step->n_handles - 1;
}

struct statement *block_push(struct arena *arena, struct block *block, struct statement statement) {
    ARENA_PUSH(arena, block->statements, block->n, block->cap, statement);
    return &block->statements[block->n - 1];
}

// Statements behind it move: pointers to them, and walks over the block, do not survive.
void block_insert(struct arena *arena, struct block *block, uint32_t at,
                  struct statement statement) {
    CHECK(at <= block->n);
    block_push(arena, block, statement);
    memmove(block->statements + at + 1, block->statements + at,
            (block->n - 1 - at) * sizeof *block->statements);
    block->statements[at] = statement;
}
