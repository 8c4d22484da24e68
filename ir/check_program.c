// The structure that every program has, after every pass and when it was read from text: ids in
// range, values defined once and before use, types that fit, indices inside their buffers. What a
// program *means* is the verifier's matter. Returns the first thing that is wrong as a sentence.
#include "ir/ir.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "ir/check.h"
#include "ir/limits.h"

struct checker {
    const struct job *job;
    const struct program *program; // that is looked at
    struct arena *arena;
    struct value *inferred; // of the unit that is looked at: values of the types that follow
    int64_t first[LIMIT_LOOP_DEPTH],
        last[LIMIT_LOOP_DEPTH]; // ranges of the enclosing loops' variables
    int depth;
    const struct step *step;
    struct span at; // of what is looked at
};

// ---- units ------------------------------------------------------------------------------------

// Those that the row names, of which one with a `?` may be absent, and no other.
static const char *check_attributes(struct checker *c, const struct unit *unit,
                                    const struct op *op) {
    const char *words = op_rows[op->kind].attributes;
    unsigned n_known = 0;
    while (*words) {
        size_t length = strcspn(words, " ");
        bool optional = words[length - 1] == '?';
        const char *name = arena_string(c->arena, words, length - optional);
        bool present = op_attribute(op, table_find(attribute_names, N_ATTRIBUTES, name)) != NULL;
        if (!present && !optional)
            return arena_format(c->arena, "unit %s: `%s` lacks the attribute `%s`", unit->name,
                                op_rows[op->kind].text, name);
        n_known += present;
        words += length + (words[length] == ' ');
    }
    if (n_known != op->n_attributes)
        return arena_format(c->arena, "unit %s: `%s` has an attribute that it does not take",
                            unit->name, op_rows[op->kind].text);
    return NULL;
}

// Of types that are equal but for what their dimensions are called: the first that is called
// otherwise; -1: none.
static int other_label(const struct tensor_type *a, const struct tensor_type *b) {
    for (unsigned i = 0; i < a->rank; i++)
        if (a->dims[i].dimension != b->dims[i].dimension)
            return (int)i;
    return -1;
}

// NULL, or what is wrong.
static const char *check_labels(struct checker *c, const struct unit *unit, const char *name,
                                const struct tensor_type *said, const struct tensor_type *made) {
    int k = other_label(said, made);
    return k < 0 ? NULL
                 : arena_format(c->arena,
                                "unit %s: `%s` of `%%%s` should be `%s`, as follows from the "
                                "op's operands",
                                unit->name, dimension_names[said->dims[k].dimension], name,
                                dimension_names[made->dims[k].dimension]);
}

// Collectives, and the slice: sizes follow from the axes.
static const char *check_exchange_types(struct checker *c, const struct unit *unit,
                                        const struct op *op) {
    const struct tensor_type *from = &unit->values[op->operands[0]].type;
    const struct tensor_type *to = &unit->values[op->results[0]].type;
    struct exchange exchange;
    bool fits = type_equal(from, to);
    if (op->kind != OP_WAIT) {
        if (!op_exchange(op, &exchange)) // a slice cuts as a reduce_scatter does
            exchange.kind = COLLECTIVE_REDUCE_SCATTER;
        const char *wrong = exchange_check(&exchange, from->dtype);
        if (op->kind != OP_SLICE && wrong)
            return arena_format(c->arena, "unit %s: %s", unit->name, wrong);
        if (exchange.dim < 0 && exchange.kind != COLLECTIVE_ALL_REDUCE &&
            exchange.kind != COLLECTIVE_PERMUTE)
            return arena_format(c->arena, "unit %s: `%s` lacks a `dim`: flat cuts are a step's",
                                unit->name, op_rows[op->kind].text);
        fits = exchange_fits(&exchange, &c->job->mesh, from, to);
    }
    if (!fits)
        return arena_format(c->arena, "unit %s: the sizes of `%s` do not fit its axes", unit->name,
                            op_rows[op->kind].text);
    return check_labels(c, unit, unit->values[op->results[0]].name, to, from);
}

static const char *check_iota(struct checker *c, const struct unit *unit, const struct op *op) {
    const struct mesh *mesh = &c->job->mesh;
    struct axis_list axes = op_axes(op);
    const struct tensor_type *type = &unit->values[op->results[0]].type;
    int zigzag = op_zigzag(op);
    int64_t counted = size_times(type->dims[0].size, mesh_group_size(mesh, &axes));
    bool fits = type->rank == 1 && type->dtype == DTYPE_I32 &&
                (zigzag < 0 || axis_list_has(&axes, (unsigned)zigzag)) &&
                counted <= (int64_t)LIMIT_TEXT_NUMBER &&
                order_fits(order_of_cuts(mesh, &axes, zigzag), counted);
    return fits ? NULL
                : arena_format(c->arena, "unit %s: `iota` does not count what its axes cut",
                               unit->name);
}

static const char *check_op_types(struct checker *c, struct unit *unit, const struct op *op) {
    if (op_rows[op->kind].kernel == KERNEL_COLLECTIVE || op->kind == OP_SLICE)
        return check_exchange_types(c, unit, op);
    if (op->kind == OP_IOTA)
        return check_iota(c, unit, op);
    // Inference on a copy: what stands in the program must be what follows from its operands.
    struct program scratch = {.arena = c->arena};
    struct unit copy = *unit;
    copy.values = c->inferred;
    struct op op_copy = *op;
    const char *why;
    if (!op_infer_types(&scratch, &copy, &op_copy, &why))
        return arena_format(c->arena, "unit %s: %s (`%%%s`)", unit->name, why,
                            unit->values[op->results[0]].name);
    for (unsigned i = 0; i < op->n_results; i++)
        if (!type_equal(&copy.values[op->results[i]].type, &unit->values[op->results[i]].type))
            return arena_format(c->arena,
                                "unit %s: `%%%s` has another type than follows from its operands",
                                unit->name, unit->values[op->results[i]].name);
    for (unsigned i = 0; i < op->n_results; i++) {
        const struct value *value = &unit->values[op->results[i]];
        const char *wrong =
            check_labels(c, unit, value->name, &value->type, &copy.values[op->results[i]].type);
        if (wrong)
            return wrong;
    }
    const char *mixed = op_mixed_elements(unit, op), *blocks = op_wrong_blocks(unit, op, c->arena);
    if (mixed)
        return arena_format(c->arena, "unit %s: `%s` %s (`%%%s`)", unit->name,
                            op_rows[op->kind].text, mixed, unit->values[op->results[0]].name);
    return blocks ? arena_format(c->arena, "unit %s: %s", unit->name, blocks) : NULL;
}

static const char *check_numbers(struct checker *c, const struct unit *unit, const struct op *op) {
    int64_t level = op_integer(op, ATTRIBUTE_LEVEL, 0);
    if (op->kind == OP_DIVIDE && op_integer(op, ATTRIBUTE_DIVISOR, 0) < 1)
        return arena_format(c->arena, "unit %s: `divide` by less than one", unit->name);
    if (op->kind == OP_CARRY && (level < 0 || level > 62))
        return arena_format(c->arena, "unit %s: a level of `carry` is one of 0 .. 62", unit->name);
    return NULL;
}

// Ops stand in the order of computation: what one uses, another has made before it.
static const char *check_op(struct checker *c, struct unit *unit, const struct op *op,
                            bool *defined) {
    if (op->kind >= N_OPS || op->n_operands != op_operand_count(op->kind) ||
        op->n_results != op_result_count(op->kind))
        return arena_format(c->arena, "unit %s: an op has the wrong number of operands",
                            unit->name);
    for (unsigned i = 0; i < op->n_operands; i++)
        if (op->operands[i] >= unit->n_values || !defined[op->operands[i]])
            return arena_format(c->arena, "unit %s: `%s` uses a value before it is defined",
                                unit->name, op_rows[op->kind].text);
    for (unsigned i = 0; i < op->n_results; i++) {
        if (op->results[i] >= unit->n_values || defined[op->results[i]])
            return arena_format(c->arena, "unit %s: a result of `%s` is defined twice", unit->name,
                                op_rows[op->kind].text);
        const struct value *value = &unit->values[op->results[i]];
        if (value->storage == STORAGE_IN_PLACE &&
            (value->base >= unit->n_values || !defined[value->base]))
            return arena_format(c->arena, "unit %s: `%%%s` is in place of a later value",
                                unit->name, value->name);
    }
    for (unsigned i = 0; i < op->n_results; i++)
        defined[op->results[i]] = true;
    const char *wrong = check_attributes(c, unit, op);
    if (!wrong)
        wrong = check_numbers(c, unit, op);
    return wrong ? wrong : check_op_types(c, unit, op);
}

// As a file needs it, where it stands behind a strategy's name and a dot.
static bool is_word(const char *name) {
    for (const char *at = name; *at; at++)
        if (!isalpha((unsigned char)*at) && *at != '_' &&
            (at == name || !isdigit((unsigned char)*at)))
            return false;
    return *name;
}

// Flat and in SSA form: one walk over the ops sees every definition before its uses.
static const char *check_unit(struct checker *c, struct unit *unit) {
    c->at = unit->span;
    if (!is_word(unit->name))
        return arena_format(c->arena, "unit %s: a name of letters, digits and `_` is wanted",
                            unit->name);
    bool *defined = ARENA_ARRAY(c->arena, bool, unit->n_values + 1);
    c->inferred = arena_copy(c->arena, unit->values, unit->n_values * sizeof *unit->values);
    for (uint32_t i = 0; i < unit->n_parameters; i++)
        defined[i] = true;
    for (uint32_t i = 0; i < unit->n_ops; i++) {
        c->at = unit->ops[i].span;
        const char *wrong = check_op(c, unit, &unit->ops[i], defined);
        if (wrong)
            return wrong;
    }
    c->at = unit->span;
    for (uint32_t i = 0; i < unit->n_results; i++) {
        const struct unit_result *result = &unit->results[i];
        if (result->value >= unit->n_values || !defined[result->value])
            return arena_format(c->arena, "unit %s: a result is never defined", unit->name);
        if (result->value < unit->n_parameters)
            return arena_format(c->arena, "unit %s: parameter `%%%s` is no result", unit->name,
                                unit->values[result->value].name);
        for (uint32_t k = 0; k < i; k++)
            if (unit->results[k].value == result->value)
                return arena_format(c->arena, "unit %s: result `%%%s` stands twice", unit->name,
                                    unit->values[result->value].name);
        if (result->in_parameter == NO_ID)
            continue;
        for (uint32_t k = 0; k < i; k++)
            if (unit->results[k].in_parameter == result->in_parameter)
                return arena_format(c->arena, "unit %s: two results take the place of `%%%s`",
                                    unit->name, unit->values[result->in_parameter].name);
        if (result->in_parameter >= unit->n_parameters ||
            !type_equal(&unit->values[result->value].type,
                        &unit->values[result->in_parameter].type))
            return arena_format(c->arena, "unit %s: `%%%s` does not fit the place of a parameter",
                                unit->name, unit->values[result->value].name);
    }
    return NULL;
}

// ---- buffers ----------------------------------------------------------------------------------

static bool same_dimensions(const struct buffer *a, const struct buffer *b) {
    bool same = a->rank == b->rank;
    for (unsigned i = 0; same && i < a->rank; i++)
        same = a->dims[i].dimension == b->dims[i].dimension && a->dims[i].size == b->dims[i].size &&
               a->layout.zigzag[i] == b->layout.zigzag[i] &&
               axis_list_equal(&a->layout.cuts[i], &b->layout.cuts[i]);
    return same;
}

// A window is about what its whole is about, in its order, and its flat cut begins with the
// whole's. The last device's shard must lie inside the item too, so the item is padded for it.
static const char *check_window(struct checker *c, const struct buffer *buffer) {
    const struct program *program = c->program;
    const struct buffer *parent = &program->buffers[buffer->window_of];
    bool fits =
        buffer->window_of < program->n_buffers && parent->window_of == NO_ID &&
        parent->layout.flat.n < buffer->layout.flat.n &&
        memcmp(parent->layout.flat.axes, buffer->layout.flat.axes, parent->layout.flat.n) == 0 &&
        parent->tensor == buffer->tensor && parent->class == buffer->class &&
        stacks_equal(&parent->stacks, &buffer->stacks) && parent->dtype == buffer->dtype &&
        same_dimensions(parent, buffer);
    if (!fits)
        return arena_format(c->arena, "buffer %s is no shard of its whole", buffer->name);
    struct tensor_type shard = buffer_type(program, buffer);
    struct axis_list axes = buffer_window_axes(program, buffer);
    int64_t parts = mesh_group_size(&c->job->mesh, &axes);
    return size_times(parts, type_bytes(&shard)) <= buffer_item_bytes(program, parent)
               ? NULL
               : arena_format(c->arena, "the last shard of buffer %s lies outside of %s",
                              buffer->name, parent->name);
}

static const char *dims_text(struct arena *arena, const enum dimension *dims, unsigned rank) {
    const char *text = "";
    for (unsigned i = 0; i < rank; i++)
        text = arena_format(arena, "%s%s%s", text, i ? ", " : "", dimension_names[dims[i]]);
    return text;
}

// Does the host know every item?
static bool host_knows_items(const struct checker *c, const struct buffer *buffer) {
    const struct stack *stack = buffer->stacks.list;
    int64_t all = stack->kind == STACK_LAYERS ? c->job->sizes.layers : c->job->sizes.microbatches;
    return buffer->stacks.n == 0 ||
           (buffer->stacks.n == 1 && stack->kind == host_role_rows[buffer->host].stack &&
            stack->count == all);
}

// The host finds a buffer by its role, so there is one, of the kind that it writes or reads.
static const char *check_host(struct checker *c, const struct buffer *buffer) {
    const struct program *program = c->program;
    const struct host_role_row *row = &host_role_rows[buffer->host];
    unsigned rank = 0;
    if (buffer->host == HOST_NONE)
        return NULL;
    while (rank < 3 && row->dims[rank] != DIM_NONE)
        rank++;
    bool floating = row->dtype == DTYPE_NONE && buffer->dtype != DTYPE_I32;
    bool fits = buffer->class == row->class && buffer->rank == rank && buffer->window_of == NO_ID &&
                buffer->layout.flat.n == 0 && (floating || buffer->dtype == row->dtype) &&
                host_knows_items(c, buffer);
    for (unsigned i = 0; fits && i < rank; i++)
        fits = buffer->dims[i].dimension == row->dims[i];
    if (!fits)
        return arena_format(c->arena, "buffer %s is not what the host knows as `%s`: %s %s[%s]",
                            buffer->name, row->text, class_names[row->class],
                            row->dtype == DTYPE_NONE ? "f32 or f64" : dtype_names[row->dtype],
                            dims_text(c->arena, row->dims, rank));
    const struct buffer *first = &program->buffers[program_host_buffer(program, buffer->host)];
    return first == buffer ? NULL
                           : arena_format(c->arena, "the host knows two buffers as `%s`: %s and %s",
                                          row->text, first->name, buffer->name);
}

static bool has_layers(const struct checker *c, const struct buffer *buffer) {
    int64_t layers = buffer->tensor == NO_ID ? 0 : c->job->tensors[buffer->tensor].layers;
    int64_t last = layers ? layers - 1 : (int64_t)LIMIT_TEXT_NUMBER;
    const struct stack *stack = buffer_stack(buffer, STACK_LAYERS);
    return !stack || (stack->first_layer >= 0 && stack->first_layer <= last &&
                      stack->count - 1 <= (last - stack->first_layer) / buffer_layer_step(buffer));
}

// What another step or the host finds is stacked once at most, a state by layers that its tensor
// has.
static const char *check_stacks(struct checker *c, const struct buffer *buffer) {
    const struct stacks *stacks = &buffer->stacks;
    if (stacks->n == 2 && stacks->list[0].kind == stacks->list[1].kind)
        return arena_format(c->arena, "buffer %s is stacked by %s twice", buffer->name,
                            stack_names[stacks->list[0].kind]);
    if (stacks->n > 1 && buffer_outlives_step(buffer))
        return arena_format(c->arena, "buffer %s outlives the step, but is stacked twice",
                            buffer->name);
    if (class_persistent[buffer->class] && stacks->n && !buffer_stack(buffer, STACK_LAYERS))
        return arena_format(c->arena, "buffer %s persists, but its items are no layers",
                            buffer->name);
    return has_layers(c, buffer)
               ? NULL
               : arena_format(c->arena, "buffer %s holds layers that its tensor does not have",
                              buffer->name);
}

// Cuts divide what they cut, of inputs the microbatches too; a state is about a tensor.
static const char *check_buffer(struct checker *c, const struct buffer *buffer) {
    if (buffer->tensor != NO_ID && buffer->tensor >= c->job->n_tensors)
        return arena_format(c->arena, "buffer %s is about no tensor", buffer->name);
    for (unsigned i = 0; i < buffer->rank; i++) {
        int64_t parts = mesh_group_size(&c->job->mesh, &buffer->layout.cuts[i]);
        if (buffer->dims[i].dimension == DIM_BATCH)
            parts = size_times(parts, buffer_microbatches(buffer));
        if (buffer->dims[i].size % parts)
            return arena_format(c->arena, "buffer %s: %s=%" PRId64 " is not divisible by %" PRId64,
                                buffer->name, dimension_names[buffer->dims[i].dimension],
                                buffer->dims[i].size, parts);
        if (buffer->layout.zigzag[i] && class_persistent[buffer->class])
            return arena_format(c->arena, "buffer %s: what persists is not kept in zigzag",
                                buffer->name);
        if (buffer->layout.zigzag[i] &&
            !order_fits(
                order_of_cuts(&c->job->mesh, &buffer->layout.cuts[i], buffer->layout.zigzag[i] - 1),
                buffer->dims[i].size))
            return arena_format(c->arena, "buffer %s: %s=%" PRId64 " has no chunks of equal size",
                                buffer->name, dimension_names[buffer->dims[i].dimension],
                                buffer->dims[i].size);
    }
    if (class_persistent[buffer->class] && buffer->tensor == NO_ID && buffer->window_of == NO_ID)
        return arena_format(c->arena, "buffer %s persists, but is about no tensor", buffer->name);
    const char *wrong = check_stacks(c, buffer);
    if (!wrong && buffer->window_of != NO_ID)
        wrong = check_window(c, buffer);
    return wrong ? wrong : check_host(c, buffer);
}

// ---- steps ------------------------------------------------------------------------------------

// For all values of the loops' variables, whose ranges are known: an index is a variable plus a
// constant, so its least and greatest value say it.
static bool index_fits(const struct checker *c, struct index index, int64_t count) {
    if (index.variable >= c->depth)
        return false;
    if (index.modulus)
        return index.modulus <= count;
    int64_t low = index.offset, high = index.offset;
    if (index.variable >= 0) {
        low += c->first[(int)index.variable];
        high += c->last[(int)index.variable];
    }
    return low > high || (low >= 0 && high < count); // low > high: the loop is empty
}

static const char *check_reference(struct checker *c, struct reference reference) {
    if (reference.buffer >= c->program->n_buffers)
        return "a statement refers to no buffer";
    const struct buffer *buffer = &c->program->buffers[reference.buffer];
    for (unsigned i = 0; i < MAX_STACKS; i++) {
        const struct stack *stack = i < buffer->stacks.n ? &buffer->stacks.list[i] : NULL;
        int64_t count = stack ? stack->count : 1;
        if (!index_fits(c, reference.indices[i], count))
            return arena_format(c->arena, "an index of buffer %s is outside its %" PRId64 " %s",
                                buffer->name, count,
                                buffer->stacks.n > 1 ? stack_names[stack->kind] : "items");
    }
    return NULL;
}

// What the step gives must be what the unit is compiled for, in type and every size.
static const char *check_argument(struct checker *c, const struct unit *unit, value_id value,
                                  struct reference reference) {
    const char *wrong = check_reference(c, reference);
    if (wrong)
        return wrong;
    const struct buffer *buffer = &c->program->buffers[reference.buffer];
    struct tensor_type type = buffer_type(c->program, buffer);
    const struct tensor_type *expected = &unit->values[value].type;
    if (type_equal(&type, expected) && other_label(&type, expected) < 0)
        return NULL;
    return arena_format(c->arena, "`%%%s` of unit %s is %s; `%s`, which the step gives it, is %s",
                        unit->values[value].name, unit->name, tensor_type_text(c->arena, expected),
                        buffer->name, tensor_type_text(c->arena, &type));
}

// Operands and results alike: a result in a parameter's place is the operand's buffer again.
static const char *check_call(struct checker *c, const struct call *call) {
    if (call->unit >= c->job->n_units)
        return "a call of no unit";
    const struct unit *unit = &c->job->units[call->unit];
    for (uint32_t i = 0; i < unit->n_parameters; i++) {
        const char *wrong = check_argument(c, unit, i, call->operands[i]);
        if (wrong)
            return wrong;
    }
    for (uint32_t i = 0; i < unit->n_results; i++) {
        const char *wrong = check_argument(c, unit, unit->results[i].value, call->results[i]);
        if (wrong)
            return wrong;
    }
    return NULL;
}

static const char *check_piece(struct checker *c, const struct transfer *start,
                               const struct transfer_piece *piece) {
    const char *wrong = check_reference(c, piece->from);
    wrong = wrong ? wrong : check_reference(c, piece->to);
    if (wrong)
        return wrong;
    const struct program *program = c->program;
    const struct buffer *from = &program->buffers[piece->from.buffer];
    const struct buffer *to = &program->buffers[piece->to.buffer];
    struct tensor_type from_type = buffer_type(program, from), to_type = buffer_type(program, to);
    wrong = exchange_check(&start->exchange, from->dtype);
    if (wrong)
        return wrong;
    // What arrives flat may be padded further than the number of parts asks for: it must have room.
    int64_t parts = mesh_group_size(&c->job->mesh, &start->exchange.axes);
    bool room = start->exchange.kind != COLLECTIVE_ALL_GATHER ||
                size_times(parts, type_bytes(&from_type)) <= buffer_item_bytes(program, to);
    return room && exchange_fits(&start->exchange, &c->job->mesh, &from_type, &to_type)
               ? NULL
               : arena_format(c->arena, "the sizes of %s and %s do not fit the axes of this %s",
                              from->name, to->name, collective_names[start->exchange.kind]);
}

// Pieces travel side by side in one collective, so they have one element type.
static const char *check_start(struct checker *c, const struct transfer *start) {
    if (start->exchange.axes.n == 0 || start->handle >= c->step->n_handles ||
        !index_fits(c, start->handle_index, c->step->handles[start->handle].slots))
        return "a collective without axes, or with a slot that its handle does not have";
    for (uint32_t i = 0; i < start->n_pieces; i++) {
        const char *wrong = check_piece(c, start, &start->pieces[i]);
        if (wrong)
            return wrong;
        if (c->program->buffers[start->pieces[i].from.buffer].dtype !=
            c->program->buffers[start->pieces[0].from.buffer].dtype)
            return "a collective of pieces of different types";
    }
    return NULL;
}

static const char *check_block(struct checker *c, const struct block *block);

static const char *check_loop(struct checker *c, const struct loop *loop) {
    if (c->depth == LIMIT_LOOP_DEPTH || loop->begin < 0 || loop->end < loop->begin)
        return "a loop that ends before it begins, or is nested too deeply";
    if (loop->end > LIMIT_COUNTED)
        return arena_format(c->arena, "a loop up to %" PRId64 "; they are followed up to %d",
                            loop->end, LIMIT_COUNTED);
    c->first[c->depth] = loop->begin;
    c->last[c->depth] = loop->end - 1;
    if (loop->stride) {
        int64_t outer = c->depth ? c->last[c->depth - 1] : -1;
        int64_t further = size_times(loop->stride, outer > 0 ? outer : 0);
        if (c->depth == 0 || loop->stride < 0 || size_plus(further, loop->end) > LIMIT_COUNTED)
            return "a loop that goes with another further than can be counted, or with none";
        c->first[c->depth] += loop->stride * c->first[c->depth - 1];
        c->last[c->depth] += loop->stride * outer;
    }
    c->depth++;
    const char *wrong = check_block(c, &loop->body);
    c->depth--;
    return wrong;
}

static const char *check_free(struct checker *c, const struct statement *statement) {
    const char *wrong = statement->free.n_items ? NULL : "a free of nothing";
    for (uint32_t i = 0; i < statement->free.n_items && !wrong; i++)
        wrong = check_reference(c, statement->free.items[i]);
    return wrong;
}

// `at` follows along, so that whatever is wrong is shown at its statement.
static const char *check_statement(struct checker *c, const struct statement *statement) {
    c->at = statement->span;
    switch (statement->kind) {
    case STATEMENT_LOOP:
        return check_loop(c, &statement->loop);
    case STATEMENT_CALL:
        return check_call(c, &statement->call);
    case STATEMENT_START:
        return check_start(c, &statement->start);
    case STATEMENT_WAIT:
        if (statement->wait.handle >= c->step->n_handles ||
            !index_fits(c, statement->wait.index, c->step->handles[statement->wait.handle].slots))
            return "a wait for a slot that its handle does not have";
        return NULL;
    case STATEMENT_ZERO:
        return check_reference(c, statement->zero);
    case STATEMENT_FREE:
        return check_free(c, statement);
    }
    return "a statement of no kind";
}

static const char *check_block(struct checker *c, const struct block *block) {
    for (uint32_t i = 0; i < block->n; i++) {
        const char *wrong = check_statement(c, &block->statements[i]);
        if (wrong)
            return wrong;
    }
    return NULL;
}

// The parts of a fused tensor fill its dimension `part`.
static const char *check_tensor(struct checker *c, const struct tensor *tensor) {
    int64_t parts = 0, size = 0;
    unsigned n = 0;
    for (unsigned d = 0; d < tensor->rank; d++)
        if (tensor->dims[d].dimension == DIM_PART) {
            size = tensor->dims[d].size;
            n++;
        }
    bool fits = n == (tensor->n_parts > 0);
    for (unsigned i = 0; i < tensor->n_parts; i++) {
        fits = fits && tensor->parts[i].size > 0 && tensor->parts[i].size <= size - parts;
        parts += fits ? tensor->parts[i].size : 0;
    }
    return fits && parts == size ? NULL
                                 : arena_format(c->arena,
                                                "tensor %s: its parts do not fill one dimension "
                                                "`part`",
                                                tensor->name);
}

// The parts number the devices along the same axes, from the first to the last, and host and
// verifier may ask any of them which steps there are.
static const char *check_part(struct checker *c, uint32_t i) {
    const struct program *first = c->job->programs[0], *program = c->job->programs[i];
    const struct mesh_part *part = &program->part;
    int64_t devices = mesh_group_size(&c->job->mesh, &part->axes);
    bool is_last = i + 1 == c->job->n_programs;
    c->at = part->span;
    if (!axis_list_equal(&part->axes, &first->part.axes))
        return arena_format(c->arena, "part %s is not over the axes of part %s", part->name,
                            first->part.name);
    if (part->begin != (i ? c->job->programs[i - 1]->part.end : 0) || part->end <= part->begin ||
        (is_last ? part->end != devices : part->end >= devices))
        return arena_format(c->arena,
                            "part %s does not go on where the one before it ends, or the last does "
                            "not end at %" PRId64,
                            part->name, devices);
    for (int s = 0; s < N_STEPS; s++)
        if (program->steps[s].present != first->steps[s].present)
            return arena_format(c->arena, "of parts %s and %s only one has a step `%s`",
                                first->part.name, part->name, step_names[s]);
    return NULL;
}

// A part has its own buffers for what it holds of a tensor, so the axes of parts number no shards.
static const char *check_cuts(struct checker *c, const struct buffer *buffer) {
    uint64_t cuts = axis_list_mask(&buffer->layout.flat);
    for (unsigned i = 0; i < buffer->rank; i++)
        cuts |= axis_list_mask(&buffer->layout.cuts[i]);
    return cuts & axis_list_mask(&c->program->part.axes)
               ? arena_format(c->arena, "buffer %s is cut over axes that parts are over",
                              buffer->name)
               : NULL;
}

static const char *check_program(struct checker *c, uint32_t i) {
    const struct program *program = c->program = c->job->programs[i];
    const char *wrong = check_part(c, i);
    for (uint32_t k = 0; k < program->n_buffers && !wrong; k++) {
        c->at = program->buffers[k].span;
        wrong = check_buffer(c, &program->buffers[k]);
        wrong = wrong ? wrong : check_cuts(c, &program->buffers[k]);
    }
    return wrong;
}

static const char *check_steps(struct checker *c) {
    const char *wrong = NULL;
    for (int s = 0; s < N_STEPS && !wrong; s++) {
        c->step = &c->program->steps[s];
        wrong = check_block(c, &c->step->body);
    }
    return wrong;
}

// What is shared by others comes before them: tensors before buffers, units before calls.
static const char *check_job(struct checker *c) {
    const struct job *job = c->job;
    struct too_large too_large = job_too_large(job, c->arena);
    c->at = too_large.at;
    if (too_large.what)
        return too_large.what;
    c->at = job->policy_span;
    const char *wrong = job_check_policy(job, c->arena);
    for (uint32_t i = 0; i < job->n_tensors && !wrong; i++) {
        c->at = job->tensors[i].span;
        wrong = check_tensor(c, &job->tensors[i]);
    }
    for (uint32_t i = 0; i < job->n_programs && !wrong; i++)
        wrong = check_program(c, i);
    for (uint32_t i = 0; i < job->n_units && !wrong; i++)
        wrong = check_unit(c, &job->units[i]);
    for (uint32_t i = 0; i < job->n_programs && !wrong; i++) {
        c->program = job->programs[i];
        wrong = check_steps(c);
    }
    return wrong;
}

const char *job_check(const struct job *job, struct arena *arena, struct span *at) {
    struct checker checker = {.job = job, .arena = arena, .at = span_nowhere()};
    const char *wrong = check_job(&checker);
    if (wrong && at)
        *at = checker.at;
    return wrong;
}
