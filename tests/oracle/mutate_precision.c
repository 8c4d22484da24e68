// Mistakes of precision: a value through a narrower type and back, or made in one. Programs that are
// spoilt have values of f64 and f32, so bf16 and f16 show far above what another order of sums does.
#include <string.h>

#include "tests/oracle/mutate_parts.h"

static bool is_tensor(const struct unit *unit, value_id value) {
    const struct tensor_type *type = &unit->values[value].type;
    return type->rank > 0 && dtype_is_floating(type->dtype) && !dtype_is_narrow(type->dtype);
}

bool makes_tensors(const struct unit *unit, const struct op *op) {
    for (unsigned i = 0; i < op->n_results; i++)
        if (is_tensor(unit, op->results[i]))
            return !is_collective(unit, op);
    return false;
}

enum dtype narrow_type(struct mutant *m) {
    return coin(m) ? DTYPE_BF16 : DTYPE_F16;
}

static value_id add_value(struct mutant *m, struct unit *unit, value_id of, const char *suffix,
                          enum dtype dtype) {
    struct value value = {.name = name_with(m->program->arena, unit->values[of].name, suffix),
                          .type = unit->values[of].type,
                          .storage = STORAGE_INLINE,
                          .offset_bytes = -1};
    value.type.dtype = dtype;
    return unit_add_value(m->program->arena, unit, value);
}

struct op cast_op(value_id from, value_id to, struct span span) {
    return (struct op){.kind = OP_CAST,
                       .n_operands = 1,
                       .n_results = 1,
                       .operands = {from},
                       .results = {to},
                       .span = span};
}

static void insert_cast(struct mutant *m, struct unit *unit, uint32_t at, value_id from,
                        value_id to, struct span span) {
    insert_op(m, unit, at, cast_op(from, to, span));
}

// Inserts the casts before op `at`; what comes out lies in the value's place, or nowhere.
static value_id insert_round_trip(struct mutant *m, struct unit *unit, uint32_t at, value_id value,
                                  struct span span, bool in_place) {
    value_id narrow = add_value(m, unit, value, ".short", narrow_type(m));
    value_id wide = add_value(m, unit, value, ".long", unit->values[value].type.dtype);
    if (in_place && unit->values[value].storage != STORAGE_INLINE) {
        unit->values[wide].storage = STORAGE_IN_PLACE;
        unit->values[wide].base = value;
    }
    insert_cast(m, unit, at, narrow, wide, span);
    insert_cast(m, unit, at, value, narrow, span);
    return wide;
}

bool round_result(struct mutant *m, const struct op_site *site) {
    struct op op = *op_at(site);
    value_id result = op.results[choose(m, op.n_results)];
    if (!is_tensor(site->unit, result))
        return false;
    value_id wide =
        insert_round_trip(m, site->unit, site->at + 1, result, op.span, choose(m, 3) > 0);
    replace_value(site->unit, site->at + 3, result, wide);
    if (site->unit->values[wide].storage == STORAGE_IN_PLACE)
        site->unit->values[wide].base = result;
    return touched(m, op.span, "a value rounded");
}

static bool round_result_of(struct mutant *m,
                            bool (*fits)(const struct unit *, const struct op *)) {
    struct op_site site;
    return choose_op(m, fits, &site) && round_result(m, &site);
}

bool round_value(struct mutant *m) {
    return round_result_of(m, makes_tensors);
}

static bool is_update(const struct unit *unit, const struct op *op) {
    return unit->phase == PHASE_UPDATE && makes_tensors(unit, op);
}

bool round_state(struct mutant *m) {
    return round_result_of(m, is_update);
}

static void lay_in_place(struct unit *unit, value_id value, value_id of) {
    unit->values[value].storage = STORAGE_IN_PLACE;
    unit->values[value].base = of;
}

static void insert_made(struct mutant *m, struct unit *unit, uint32_t at, struct op op, value_id to,
                        struct span span) {
    op.n_results = 1;
    op.results[0] = to;
    op.span = span;
    insert_op(m, unit, at, op);
}

// Twice the value and half of that, before op `at`: the same bits, but made by an op that has rounded nothing.
static value_id insert_half_of_twice(struct mutant *m, struct unit *unit, uint32_t at,
                                     value_id value, struct span span) {
    enum dtype dtype = unit->values[value].type.dtype;
    value_id twice = add_value(m, unit, value, ".twice", dtype);
    value_id half = add_value(m, unit, value, ".half", dtype);
    struct op divide = {.kind = OP_DIVIDE, .n_operands = 1, .operands = {twice}};
    op_set_integer(m->program->arena, &divide, ATTRIBUTE_DIVISOR, 2);
    insert_made(m, unit, at, divide, half, span);
    struct op add = {.kind = OP_ADD, .n_operands = 2, .operands = {value, value}};
    insert_made(m, unit, at, add, twice, span);
    return half;
}

// A tensor with a place of its own that an op makes, of the update or of any unit.
static bool choose_placed(struct mutant *m, struct op_site *site, value_id *result) {
    if (!choose_op(m, coin(m) ? is_update : makes_tensors, site))
        return false;
    const struct op *op = op_at(site);
    *result = op->results[choose(m, op->n_results)];
    return is_tensor(site->unit, *result) && site->unit->values[*result].storage != STORAGE_INLINE;
}

// What was rounded is computed with, and comes out as the same number again. It is read twice, so it has a
// place.
bool round_and_compute(struct mutant *m) {
    struct op_site site;
    value_id result;
    if (!choose_placed(m, &site, &result))
        return false;
    struct op op = *op_at(&site);
    struct unit *unit = site.unit;
    value_id wide = insert_round_trip(m, unit, site.at + 1, result, op.span, true);
    value_id half = insert_half_of_twice(m, unit, site.at + 3, wide, op.span);
    replace_value(unit, site.at + 5, result, half);
    unit->values[wide].base = result;
    lay_in_place(unit, half, wide);
    return touched(m, op.span, "a value rounded, doubled and halved");
}

// A third of what was rounded, in the narrow type, and three times that.
bool round_and_scale(struct mutant *m) {
    struct op_site site;
    value_id result;
    if (!choose_placed(m, &site, &result))
        return false;
    struct op op = *op_at(&site);
    struct unit *unit = site.unit;
    enum dtype type = unit->values[result].type.dtype;
    value_id narrow = add_value(m, unit, result, ".short", narrow_type(m));
    value_id third = add_value(m, unit, result, ".third", unit->values[narrow].type.dtype);
    value_id wide = add_value(m, unit, result, ".long", type);
    value_id two = add_value(m, unit, result, ".two", type);
    value_id three = add_value(m, unit, result, ".three", type);
    struct op divide = {.kind = OP_DIVIDE, .n_operands = 1, .operands = {narrow}};
    op_set_integer(m->program->arena, &divide, ATTRIBUTE_DIVISOR, 3);
    struct op twice = {.kind = OP_ADD, .n_operands = 2, .operands = {wide, wide}};
    struct op thrice = {.kind = OP_ADD, .n_operands = 2, .operands = {wide, two}};
    insert_made(m, unit, site.at + 1, thrice, three, op.span);
    insert_made(m, unit, site.at + 1, twice, two, op.span);
    insert_cast(m, unit, site.at + 1, third, wide, op.span);
    insert_made(m, unit, site.at + 1, divide, third, op.span);
    insert_cast(m, unit, site.at + 1, result, narrow, op.span);
    replace_value(unit, site.at + 6, result, three);
    lay_in_place(unit, wide, result);
    lay_in_place(unit, three, wide);
    return touched(m, op.span, "a value rounded, divided by three and tripled");
}

// So many bytes behind those of the frame, which is laid behind everything else. -1: the unit has none.
static int64_t extend_frame(struct mutant *m, struct unit *unit, int64_t bytes) {
    struct program *program = m->program;
    buffer_id id = program_frame(program, (uint32_t)(unit - program->job->units));
    if (id == NO_ID)
        return -1;
    struct buffer *frame = &program->buffers[id];
    int64_t *arena_bytes = &program->arena_bytes[frame->tier];
    int64_t line = 64, at = (unit->frame_bytes + line - 1) / line * line;
    unit->frame_bytes = at + (bytes + line - 1) / line * line;
    frame->dims[0].size = unit->frame_bytes / dtype_bytes[frame->dtype];
    frame->offset_bytes = (*arena_bytes + line - 1) / line * line;
    *arena_bytes = frame->offset_bytes + unit->frame_bytes;
    return at;
}

static value_id add_to_frame(struct mutant *m, struct unit *unit, value_id of, const char *suffix,
                             enum dtype dtype) {
    value_id id = add_value(m, unit, of, suffix, dtype);
    struct value *value = &unit->values[id];
    value->offset_bytes = extend_frame(m, unit, type_bytes(&value->type));
    value->storage = STORAGE_FRAME;
    return id;
}

// What was rounded is sent on, or to where it is.
bool round_and_send(struct mutant *m) {
    struct op_site site;
    value_id result;
    if (!choose_placed(m, &site, &result))
        return false;
    struct op op = *op_at(&site);
    struct unit *unit = site.unit;
    if (extend_frame(m, unit, 0) < 0)
        return false;
    value_id narrow = add_to_frame(m, unit, result, ".short", narrow_type(m));
    value_id started = add_to_frame(m, unit, narrow, ".started", unit->values[narrow].type.dtype);
    value_id sent = add_value(m, unit, narrow, ".sent", unit->values[narrow].type.dtype);
    value_id wide = add_value(m, unit, result, ".long", unit->values[result].type.dtype);
    struct op permute = {.kind = OP_PERMUTE, .n_operands = 1, .operands = {narrow}};
    struct axis_list axes = {0};
    axes.axes[axes.n++] = (uint8_t)choose(m, m->program->job->mesh.n_axes);
    op_set_axes(m->program->arena, &permute, ATTRIBUTE_AXES, axes);
    op_set_integer(m->program->arena, &permute, ATTRIBUTE_SHIFT, choose(m, 3) == 0);
    struct op wait = {.kind = OP_WAIT, .n_operands = 1, .operands = {started}};
    insert_cast(m, unit, site.at + 1, sent, wide, op.span);
    insert_made(m, unit, site.at + 1, wait, sent, op.span);
    insert_made(m, unit, site.at + 1, permute, started, op.span);
    insert_cast(m, unit, site.at + 1, result, narrow, op.span);
    replace_value(unit, site.at + 5, result, wide);
    lay_in_place(unit, sent, started);
    lay_in_place(unit, wide, result);
    return touched(m, op.span, "a value rounded and sent");
}

static bool makes_statistics(const struct unit *unit, const struct op *op) {
    for (unsigned i = 0; i < op->n_results; i++)
        if (op_element(op->kind, op->n_operands + i) == ELEMENT_COMPUTED)
            return true;
    return false;
}

bool round_statistic(struct mutant *m) {
    return round_result_of(m, makes_statistics);
}

static bool makes_gradient(const struct unit *unit, const struct op *op) {
    return unit->phase == PHASE_BACKWARD && makes_tensors(unit, op) &&
           (op->kind == OP_ACCUMULATE || op->kind == OP_EINSUM || op->kind == OP_SUM_ROWS ||
            op->kind == OP_EMBEDDING_BACKWARD);
}

bool round_gradient(struct mutant *m) {
    return round_result_of(m, makes_gradient);
}

static bool is_loop(const struct unit *unit, const struct op *op) {
    return op_rows[op->kind].kernel == KERNEL_ELEMENTWISE && op->n_operands > 0;
}

// For one of those who read the value.
bool round_operand(struct mutant *m) {
    struct op_site site;
    if (!choose_op(m, is_loop, &site))
        return false;
    struct op *op = op_at(&site);
    unsigned k = choose(m, op->n_operands);
    value_id read = op->operands[k];
    struct span span = op->span;
    if (!is_tensor(site.unit, read))
        return false;
    value_id wide = insert_round_trip(m, site.unit, site.at, read, span, false);
    site.unit->ops[site.at + 2].operands[k] = wide;
    return touched(m, span, "an operand rounded");
}

// Whoever reads it takes any type, or the program is none.
bool narrow_result(struct mutant *m) {
    struct op_site site;
    if (!choose_op(m, makes_tensors, &site))
        return false;
    struct op *op = op_at(&site);
    unsigned k = choose(m, op->n_results);
    if (!is_tensor(site.unit, op->results[k]) || !op_frees_result(op->kind, k))
        return false;
    site.unit->values[op->results[k]].type.dtype = narrow_type(m);
    return touched(m, op->span, "a result in a narrower type");
}
