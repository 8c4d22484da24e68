// Mistakes inside units.
#include <string.h>

#include "tests/oracle/mutate_parts.h"

static bool is_any(const struct unit *unit, const struct op *op) {
    return true;
}

static bool same_type(const struct unit *unit, value_id a, value_id b) {
    return type_equal(&unit->values[a].type, &unit->values[b].type);
}

// A value of its own in the place of another.
static value_id add_in_place(struct mutant *m, struct unit *unit, value_id of) {
    struct value value = {.name =
                              arena_format(m->program->arena, "%s.again", unit->values[of].name),
                          .type = unit->values[of].type,
                          .storage = STORAGE_IN_PLACE,
                          .offset_bytes = -1,
                          .base = of};
    if (unit->values[of].storage == STORAGE_INLINE)
        value.storage = STORAGE_INLINE;
    return unit_add_value(m->program->arena, unit, value);
}

// ---- drop, double, move -----------------------------------------------------------------------

static uint32_t find_wait(const struct unit *unit, value_id started) {
    for (uint32_t i = 0; i < unit->n_ops; i++)
        if (unit->ops[i].kind == OP_WAIT && unit->ops[i].operands[0] == started)
            return i;
    return NO_ID;
}

// Who reads the result reads an operand instead; of a collective, who reads what was waited for.
bool drop_op(struct mutant *m) {
    struct op_site site;
    if (!choose_op(m, coin(m) ? is_collective : is_any, &site))
        return false;
    struct op op = *op_at(&site);
    if (op.n_operands == 0 || op.kind == OP_WAIT)
        return false;
    value_id operand = op.operands[choose(m, op.n_operands)], result = op.results[0];
    if (!same_type(site.unit, operand, result))
        return false;
    uint32_t wait = is_collective(site.unit, &op) ? find_wait(site.unit, result) : NO_ID;
    touched(m, op.span, "an op dropped");
    if (wait != NO_ID) {
        touched(m, site.unit->ops[wait].span, m->what);
        replace_value(site.unit, 0, site.unit->ops[wait].results[0], operand);
        remove_op(site.unit, wait);
    }
    replace_value(site.unit, site.at + 1, result, operand);
    remove_op(site.unit, site.at);
    return true;
}

// On its own result, where that lies in the place of an operand anyway.
static bool double_in_place(struct mutant *m, const struct op_site *site) {
    struct op again = *op_at(site);
    value_id result = again.results[0];
    if (again.n_results != 1 || again.n_operands == 0)
        return false;
    unsigned k = choose(m, again.n_operands);
    if (!same_type(site->unit, again.operands[k], result))
        return false;
    value_id value = add_in_place(m, site->unit, result);
    replace_value(site->unit, site->at + 1, result, value);
    site->unit->values[value].base = result;
    again.operands[k] = result;
    again.results[0] = value;
    insert_op(m, site->unit, site->at + 1, again);
    return touched(m, again.span, "an op doubled");
}

static bool double_collective(struct mutant *m, const struct op_site *site) {
    struct unit *unit = site->unit;
    struct op start = *op_at(site);
    uint32_t at = find_wait(unit, start.results[0]);
    if (at == NO_ID || !same_type(unit, start.operands[0], start.results[0]))
        return false;
    struct op wait = unit->ops[at];
    value_id done = wait.results[0];
    value_id started = add_in_place(m, unit, done), again = add_in_place(m, unit, done);
    replace_value(unit, at + 1, done, again);
    unit->values[started].base = unit->values[again].base = done;
    start.operands[0] = done;
    start.results[0] = wait.operands[0] = started;
    wait.results[0] = again;
    unit->values[again].base = started;
    insert_op(m, unit, at + 1, wait);
    insert_op(m, unit, at + 1, start);
    return touched(m, start.span, "a collective doubled");
}

bool double_op(struct mutant *m) {
    struct op_site site;
    if (coin(m) && choose_op(m, is_collective, &site))
        return double_collective(m, &site);
    return choose_op(m, is_any, &site) && op_at(&site)->kind != OP_WAIT &&
           !is_collective(site.unit, op_at(&site)) && double_in_place(m, &site);
}

bool move_op(struct mutant *m) {
    struct op_site site;
    if (!choose_op(m, is_any, &site))
        return false;
    uint32_t to = coin(m) ? site.at + 1 : choose(m, site.unit->n_ops);
    if (to >= site.unit->n_ops || to == site.at)
        return false;
    struct op op = *op_at(&site);
    remove_op(site.unit, site.at);
    insert_op(m, site.unit, to, op);
    return touched(m, op.span, "an op moved");
}

// ---- collectives ------------------------------------------------------------------------------

static bool has_axes(const struct unit *unit, const struct op *op) {
    return op_attribute(op, ATTRIBUTE_AXES) != NULL;
}

static bool change_axes(struct mutant *m, const struct op_site *site, const char *what) {
    struct axis_list old = op_axes(op_at(site)), axes = {0};
    for (unsigned i = 0; i < m->program->job->mesh.n_axes; i++)
        if (coin(m))
            axes.axes[axes.n++] = (uint8_t)i;
    if (axes.n == 0 || axis_list_equal(&axes, &old))
        return false;
    op_set_axes(m->program->arena, op_at(site), ATTRIBUTE_AXES, axes);
    return touched(m, op_at(site)->span, what);
}

bool re_axis_op(struct mutant *m) {
    struct op_site site;
    return choose_op(m, is_collective, &site) &&
           change_axes(m, &site, "a collective over other axes");
}

static bool is_positioned(const struct unit *unit, const struct op *op) {
    return has_axes(unit, op) && !is_collective(unit, op);
}

// Gives an iota or a slice another part.
bool slice_elsewhere(struct mutant *m) {
    struct op_site site;
    return choose_op(m, is_positioned, &site) && change_axes(m, &site, "another part");
}

static bool is_wait(const struct unit *unit, const struct op *op) {
    return op->kind == OP_WAIT;
}

bool drop_wait_op(struct mutant *m) {
    struct op_site site;
    if (!choose_op(m, is_wait, &site))
        return false;
    struct op wait = *op_at(&site);
    remove_op(site.unit, site.at);
    replace_value(site.unit, site.at, wait.results[0], wait.operands[0]);
    return touched(m, wait.span, "a wait dropped");
}

// ---- numbers ----------------------------------------------------------------------------------

// x + x in the place of x, for all that read x behind.
bool rescale_value(struct mutant *m) {
    struct op_site site;
    if (!choose_op(m, is_any, &site) || is_collective(site.unit, op_at(&site)))
        return false;
    struct op op = *op_at(&site);
    value_id result = op.results[choose(m, op.n_results)];
    if (site.unit->values[result].type.dtype == DTYPE_I32 || op.kind == OP_IOTA)
        return false;
    value_id twice = add_in_place(m, site.unit, result);
    replace_value(site.unit, site.at + 1, result, twice);
    site.unit->values[twice].base = result;
    struct op sum = {.kind = OP_ADD,
                     .n_operands = 2,
                     .n_results = 1,
                     .operands = {result, result},
                     .results = {twice},
                     .span = op.span};
    insert_op(m, site.unit, site.at + 1, sum);
    return touched(m, op.span, "a value twice as large");
}

static struct attribute *choose_attribute(struct mutant *m, const struct op *op, unsigned kinds) {
    struct attribute *found = NULL;
    uint32_t n = 0;
    for (unsigned i = 0; i < op->n_attributes; i++)
        if ((kinds >> attribute_kinds[op->attributes[i].name] & 1) && choose(m, ++n) == 0)
            found = &op->attributes[i];
    return found;
}

static bool has_number(const struct unit *unit, const struct op *op) {
    for (unsigned i = 0; i < op->n_attributes; i++)
        if (attribute_kinds[op->attributes[i].name] == KIND_REAL)
            return true;
    return false;
}

// Half of an epsilon is no mistake that is told from rounding.
static const double SMALL_CONSTANT = 1e-3;

bool rescale_constant(struct mutant *m) {
    struct op_site site;
    if (!choose_op(m, has_number, &site))
        return false;
    struct attribute *attribute = choose_attribute(m, op_at(&site), 1 << KIND_REAL);
    if (attribute->real == 0)
        return false;
    attribute->real *= attribute->real < SMALL_CONSTANT ? 1000 : 0.5;
    return touched(m, op_at(&site)->span, "another constant");
}

bool rescale(struct mutant *m) {
    return choose(m, 4) ? rescale_value(m) : rescale_constant(m);
}

static bool has_word(const struct unit *unit, const struct op *op) {
    for (unsigned i = 0; i < op->n_attributes; i++)
        if ((1 << KIND_WORD | 1 << KIND_INTEGER) >> attribute_kinds[op->attributes[i].name] & 1)
            return op->kind != OP_EINSUM;
    return false;
}

static const char *other_word(const char *word) {
    static const char *const pairs[][2] = {{"tanh", "erf"}, {"constant", "cosine"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        for (int k = 0; k < 2; k++)
            if (strcmp(word, pairs[i][k]) == 0)
                return pairs[i][!k];
    return NULL;
}

bool change_word(struct mutant *m) {
    struct op_site site;
    if (!choose_op(m, has_word, &site))
        return false;
    struct attribute *attribute =
        choose_attribute(m, op_at(&site), 1 << KIND_WORD | 1 << KIND_INTEGER);
    if (attribute_kinds[attribute->name] == KIND_INTEGER)
        attribute->integer = attribute->integer > 1 ? attribute->integer - 1 : !attribute->integer;
    else if (!(attribute->word = other_word(attribute->word)))
        return false;
    return touched(m, op_at(&site)->span, "another word or integer");
}

// ---- operands ---------------------------------------------------------------------------------

static bool is_commutative(const struct unit *unit, const struct op *op) {
    return op->kind == OP_ADD || op->kind == OP_MUL || op->kind == OP_EINSUM;
}

// "ab,bc->ac" for operands in the other order.
static const char *exchanged_labels(struct arena *arena, const char *labels) {
    const char *comma = strchr(labels, ','), *arrow = strstr(labels, "->");
    return arena_format(arena, "%.*s,%.*s%s", (int)(arrow - comma - 1), comma + 1,
                        (int)(comma - labels), labels, arrow);
}

bool exchange_summands(struct mutant *m) {
    struct op_site site;
    if (!choose_op(m, is_commutative, &site))
        return false;
    struct op *op = op_at(&site);
    value_id moved = op->operands[0];
    op->operands[0] = op->operands[1];
    op->operands[1] = moved;
    if (op->kind == OP_EINSUM)
        op_set_word(m->program->arena, op, ATTRIBUTE_LABELS,
                    exchanged_labels(m->program->arena, op_attribute(op, ATTRIBUTE_LABELS)->word));
    return touched(m, op->span, "operands in another order");
}

static bool has_operands(const struct unit *unit, const struct op *op) {
    return op->n_operands > 0;
}

static bool read_other_value_of(struct mutant *m,
                                bool (*fits)(const struct unit *, const struct op *)) {
    struct op_site site;
    if (!choose_op(m, fits, &site))
        return false;
    struct op *op = op_at(&site);
    value_id *operand = &op->operands[choose(m, op->n_operands)], found = NO_ID;
    uint32_t n = 0;
    for (value_id i = 0; i < site.unit->n_values; i++)
        if (value_root(site.unit, i) != value_root(site.unit, *operand) &&
            same_type(site.unit, i, *operand) && choose(m, ++n) == 0)
            found = i;
    if (found == NO_ID)
        return false;
    *operand = found;
    return touched(m, op->span, "an op reads another value");
}

bool read_other_value(struct mutant *m) {
    return read_other_value_of(m, has_operands);
}

// One of the scalars by which a loss is scaled, gradients leave the scale, and steps are skipped.
static bool is_of_loss_scale(const struct unit *unit, const struct op *op) {
    bool scales = false;
    for (uint32_t i = 0; i < unit->n_ops; i++)
        scales |= unit->ops[i].kind == OP_LOSS_SCALE || unit->ops[i].kind == OP_UPDATE_FACTOR;
    return scales && has_operands(unit, op);
}

bool other_scale(struct mutant *m) {
    return read_other_value_of(m, is_of_loss_scale);
}

// Into the place of another value of the frame.
bool move_value(struct mutant *m) {
    struct unit *unit = &m->program->job->units[choose(m, m->program->job->n_units)];
    struct value *moved = &unit->values[choose(m, unit->n_values)];
    const struct value *to = &unit->values[choose(m, unit->n_values)];
    if (moved == to || moved->storage != STORAGE_FRAME || to->storage != STORAGE_FRAME ||
        moved->offset_bytes == to->offset_bytes)
        return false;
    moved->offset_bytes = to->offset_bytes;
    for (uint32_t i = 0; i < unit->n_ops; i++)
        for (unsigned k = 0; k < unit->ops[i].n_results; k++)
            if (&unit->values[unit->ops[i].results[k]] == moved ||
                &unit->values[unit->ops[i].results[k]] == to)
                touched(m, unit->ops[i].span, "a value where another is");
    return true;
}
