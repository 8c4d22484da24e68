// Whether code may be made of a plan: every buffer inside the arena, every value of a unit at a
// place that is there, and no operation that writes over what it still reads or has just written.
//
// A plan may be a person's. What it *means* that two buffers share bytes is the verifier's matter;
// here stands what generated code relies on without looking, and what would otherwise be a wild
// write.
#include "ir/ir.h"

#include <inttypes.h>
#include <string.h>

struct plan_checker {
    const struct job *job;
    const struct program *program; // whose buffers are looked at
    const bool *called;            // of its units
    struct arena *arena;
    const struct unit *unit;
    const struct op **producers; // of each value of the unit; NULL: a parameter
    // The last result, plus one, for which spoils_leaf met a value: not moved, and moved.
    value_id *seen;
    struct span at;
};

// ---- buffers ----------------------------------------------------------------------------------

static bool bytes_meet(const struct program *program, const struct buffer *a,
                       const struct buffer *b) {
    return a->tier == b->tier && a->window_of == NO_ID && b->window_of == NO_ID &&
           a->offset_bytes < b->offset_bytes + buffer_bytes(program, b) &&
           b->offset_bytes < a->offset_bytes + buffer_bytes(program, a);
}

// Which bytes an item has that has an owner depends on the number of owners, so no other buffer may
// have any of them.
static const char *check_alone(struct plan_checker *c, const struct buffer *buffer) {
    for (buffer_id i = 0; buffer->layout.owners.n && i < c->program->n_buffers; i++) {
        const struct buffer *other = &c->program->buffers[i];
        if (other != buffer && bytes_meet(c->program, buffer, other))
            return arena_format(c->arena, "buffer %s has owners, and shares bytes with %s",
                                buffer->name, other->name);
    }
    return NULL;
}

// A window lies in its whole, which is checked in its place.
static const char *check_offset(struct plan_checker *c, const struct buffer *buffer) {
    const struct program *program = c->program;
    int64_t bytes = buffer_bytes(program, buffer);
    int64_t arena_bytes = program->arena_bytes[buffer->tier];
    if (buffer->window_of != NO_ID)
        return NULL;
    if (buffer->offset_bytes < 0 || buffer->offset_bytes > arena_bytes - bytes)
        return arena_format(c->arena,
                            "buffer %s takes the bytes from %" PRId64 " to %" PRId64
                            " of an arena that has %" PRId64,
                            buffer->name, buffer->offset_bytes, buffer->offset_bytes + bytes,
                            arena_bytes);
    if (buffer->offset_bytes % dtype_bytes[buffer->dtype])
        return arena_format(
            c->arena, "buffer %s does not begin at a multiple of its elements' size", buffer->name);
    return check_alone(c, buffer);
}

// ---- units ------------------------------------------------------------------------------------

static const char *name_of(const struct plan_checker *c, value_id value) {
    return c->unit->values[value].name;
}

// A frame is bytes of a buffer, which several units may share: they run one after the other.
static const char *check_frame(struct plan_checker *c, uint32_t id) {
    const struct unit *unit = &c->job->units[id];
    buffer_id frame = program_frame(c->program, id);
    c->at = unit->span;
    if (!c->called[id]) // a buffer of the frame's name may be another's
        return NULL;
    if (frame == NO_ID)
        return unit->frame_bytes == 0
                   ? NULL
                   : arena_format(c->arena, "unit %s does not say which buffer its frame is",
                                  unit->name);
    const struct buffer *buffer = &c->program->buffers[frame];
    if (buffer->window_of != NO_ID || buffer_item_bytes(c->program, buffer) < unit->frame_bytes)
        return arena_format(c->arena, "unit %s: buffer %s is smaller than the frame's %" PRId64,
                            unit->name, buffer->name, unit->frame_bytes);
    return NULL;
}

// Is it a result whose place the call names, and not one that takes a parameter's?
static bool is_own_result(const struct unit *unit, value_id root) {
    for (uint32_t i = 0; i < unit->n_results; i++)
        if (unit->results[i].in_parameter == NO_ID &&
            value_root(unit, unit->results[i].value) == root)
            return true;
    return false;
}

// Checks that the value lies inside what its storage names: the frame, a result, the place of a
// value before it.
static const char *check_place(struct plan_checker *c, value_id id) {
    const struct unit *unit = c->unit;
    const struct value *value = &unit->values[id], *root = &unit->values[value_root(unit, id)];
    int64_t bytes = type_bytes(&value->type);
    if (value->storage == STORAGE_FRAME &&
        (value->offset_bytes < 0 || value->offset_bytes > unit->frame_bytes - bytes ||
         value->offset_bytes % dtype_bytes[value->type.dtype]))
        return arena_format(c->arena, "unit %s: `%%%s` does not lie inside the frame's %" PRId64,
                            unit->name, value->name, unit->frame_bytes);
    if (value->storage == STORAGE_RESULT && !is_own_result(unit, id))
        return arena_format(c->arena, "unit %s: `%%%s` is `out`, but no result of the unit",
                            unit->name, value->name);
    if (value->storage == STORAGE_IN_PLACE &&
        (root->storage == STORAGE_INLINE || type_bytes(&root->type) < bytes))
        return arena_format(c->arena, "unit %s: `%%%s` has no room in the place of `%%%s`",
                            unit->name, value->name, root->name);
    return NULL;
}

// A call gives each result one place; the value must end up there, in place or made there.
static const char *check_result(struct plan_checker *c, const struct unit_result *result) {
    const struct unit *unit = c->unit;
    value_id root = value_root(unit, result->value);
    for (const struct unit_result *other = unit->results; other < result; other++)
        if (result->in_parameter == NO_ID && other->in_parameter == NO_ID &&
            value_root(unit, other->value) == root)
            return arena_format(c->arena, "unit %s: results `%%%s` and `%%%s` lie in one place",
                                unit->name, name_of(c, other->value), name_of(c, result->value));
    bool there = result->in_parameter == NO_ID ? unit->values[root].storage == STORAGE_RESULT
                                               : root == result->in_parameter;
    return there ? NULL
                 : arena_format(c->arena,
                                "unit %s: result `%%%s` does not lie where the call "
                                "wants it",
                                unit->name, name_of(c, result->value));
}

// ---- ops that write over what they read -------------------------------------------------------

static bool intersect(const struct unit *unit, value_id a, value_id b) {
    const struct value *x = &unit->values[a], *y = &unit->values[b];
    return a == b || (x->storage == STORAGE_FRAME && y->storage == STORAGE_FRAME &&
                      x->offset_bytes < y->offset_bytes + type_bytes(&y->type) &&
                      y->offset_bytes < x->offset_bytes + type_bytes(&x->type));
}

// The row allows result `k` in place of operand `i`, which lies there exactly.
static bool row_allows(const struct plan_checker *c, const struct op *op, unsigned k, unsigned i) {
    if (value_root(c->unit, op->results[k]) != value_root(c->unit, op->operands[i]))
        return false;
    for (const char *at = op_rows[op->kind].in_place; *at; at++)
        if (at[1] == ':' && at[0] == (char)('0' + k) && at[2] == (char)('0' + i))
            return true;
    return false;
}

// An elementwise loop reads its leaves, through values that are computed inside it, where it
// writes: a leaf of the same size may have the result's place. Not one that is moved on the way.
static bool leaf_allows(const struct plan_checker *c, const struct op *op, value_id leaf) {
    return op_rows[op->kind].kernel == KERNEL_ELEMENTWISE && !op_moves_elements(op->kind) &&
           value_root(c->unit, leaf) == value_root(c->unit, op->results[0]) &&
           type_bytes(&c->unit->values[leaf].type) ==
               type_bytes(&c->unit->values[op->results[0]].type);
}

// An inline value is computed where it is used, so what it is computed from is read there: the loop
// that writes the result reads all leaves of the tree. A value that was looked at for this result is
// not again, but where it is moved: else each value that is used twice doubles the work.
static bool spoils_leaf(const struct plan_checker *c, const struct op *op, unsigned k,
                        value_id value, bool moved) {
    if (c->unit->values[value].storage != STORAGE_INLINE)
        return intersect(c->unit, value_root(c->unit, op->results[k]),
                         value_root(c->unit, value)) &&
               (moved || !leaf_allows(c, op, value));
    value_id *seen = &c->seen[2 * value + moved], now = op->results[k] + 1;
    if (*seen == now)
        return false;
    *seen = now;
    const struct op *producer = c->producers[value];
    for (unsigned i = 0; producer && i < producer->n_operands; i++)
        if (spoils_leaf(c, op, k, producer->operands[i],
                        moved || op_moves_elements(producer->kind)))
            return true;
    return false;
}

// The result of one op against each of its operands. Others that still want the operand are the
// verifier's to find: it follows who reads what, and when.
static const char *check_writes(struct plan_checker *c, const struct op *op, unsigned k) {
    value_id result = op->results[k];
    if (c->unit->values[result].storage == STORAGE_INLINE)
        return NULL;
    for (unsigned i = 0; i < op->n_operands; i++) {
        bool inner = c->unit->values[op->operands[i]].storage == STORAGE_INLINE;
        bool spoils = inner ? spoils_leaf(c, op, k, op->operands[i], op_moves_elements(op->kind))
                            : intersect(c->unit, value_root(c->unit, result),
                                        value_root(c->unit, op->operands[i])) &&
                                  !row_allows(c, op, k, i) && !leaf_allows(c, op, op->operands[i]);
        if (spoils)
            return arena_format(c->arena,
                                "unit %s: `%s` writes `%%%s` over its operand `%%%s`, which it "
                                "still reads",
                                c->unit->name, op_rows[op->kind].text, name_of(c, result),
                                name_of(c, op->operands[i]));
    }
    return NULL;
}

// A kernel writes its results side by side, so none of two that share bytes is there in the end.
static const char *check_apart(struct plan_checker *c, const struct op *op, unsigned k) {
    value_id result = op->results[k];
    for (unsigned i = 0; i < k; i++)
        if (intersect(c->unit, value_root(c->unit, op->results[i]), value_root(c->unit, result)))
            return arena_format(c->arena,
                                "unit %s: `%s` writes its results `%%%s` and `%%%s` to one place",
                                c->unit->name, op_rows[op->kind].text, name_of(c, op->results[i]),
                                name_of(c, result));
    return NULL;
}

// A wait moves nothing: what it gives lies where the collective has put it.
static const char *check_arrival(struct plan_checker *c, const struct op *op) {
    if (op->kind != OP_WAIT ||
        value_root(c->unit, op->results[0]) == value_root(c->unit, op->operands[0]))
        return NULL;
    return arena_format(c->arena,
                        "unit %s: `%%%s` must be in the place of `%%%s`: `wait` moves nothing",
                        c->unit->name, name_of(c, op->results[0]), name_of(c, op->operands[0]));
}

static const char *check_op(struct plan_checker *c, const struct op *op) {
    c->at = op->span;
    const char *wrong = check_arrival(c, op);
    for (unsigned k = 0; k < op->n_results && !wrong; k++) {
        wrong = check_place(c, op->results[k]);
        wrong = wrong ? wrong : check_writes(c, op, k);
        wrong = wrong ? wrong : check_apart(c, op, k);
    }
    return wrong;
}

// Producers are known first: inline values lead to the ops that they are computed by.
static const char *check_unit(struct plan_checker *c) {
    const struct unit *unit = c->unit;
    c->producers = ARENA_ARRAY(c->arena, const struct op *, unit->n_values + 1);
    c->seen = ARENA_ARRAY(c->arena, value_id, 2 * unit->n_values + 1);
    for (uint32_t i = 0; i < unit->n_ops; i++)
        for (unsigned k = 0; k < unit->ops[i].n_results; k++)
            c->producers[unit->ops[i].results[k]] = &unit->ops[i];
    c->at = unit->span;
    const char *wrong = NULL;
    for (uint32_t i = 0; i < unit->n_results && !wrong; i++)
        wrong = check_result(c, &unit->results[i]);
    for (uint32_t i = 0; i < unit->n_ops && !wrong; i++)
        wrong = check_op(c, &unit->ops[i]);
    return wrong;
}

static const char *check_program(struct plan_checker *c) {
    const char *wrong = NULL;
    for (uint32_t i = 0; i < c->program->n_buffers && !wrong; i++) {
        c->at = c->program->buffers[i].span;
        wrong = check_offset(c, &c->program->buffers[i]);
    }
    for (uint32_t i = 0; i < c->job->n_units && !wrong; i++)
        wrong = check_frame(c, i);
    return wrong;
}

const char *job_check_plan(const struct job *job, struct arena *arena, struct span *at) {
    struct plan_checker c = {.job = job, .arena = arena, .at = span_nowhere()};
    const char *wrong = NULL;
    for (uint32_t i = 0; i < job->n_programs && !wrong; i++) {
        c.program = job->programs[i];
        c.called = program_called_units(c.program, arena);
        wrong = check_program(&c);
    }
    for (uint32_t i = 0; i < job->n_units && !wrong; i++) {
        c.unit = &job->units[i];
        wrong = check_unit(&c);
    }
    if (wrong && at)
        *at = c.at;
    return wrong;
}
