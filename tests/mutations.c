// See mutations.h. Half of them touch the step, half the units; what they make need not be well
// formed.
#include "tests/mutations.h"

#include <string.h>

#include "tests/random.h"

struct mutation {
    struct program *program;
    uint64_t *random;
    const char *what; // in words
};

static uint32_t pick(struct mutation *t, uint32_t n) {
    return (uint32_t)(random_bits(t->random) % n);
}

// A random block of the train step, deeper ones as likely as the statements in them.
static struct block *pick_block(struct mutation *t) {
    struct block *block = &t->program->steps[STEP_TRAIN].body;
    for (;;) {
        struct statement *statement = &block->statements[pick(t, block->n)];
        if (statement->kind != STATEMENT_LOOP || statement->loop.body.n == 0)
            return block;
        block = &statement->loop.body;
    }
}

static struct statement *pick_statement(struct mutation *t, enum statement_kind kind) {
    for (int i = 0; i < 200; i++) {
        struct block *block = pick_block(t);
        struct statement *statement = &block->statements[pick(t, block->n)];
        if (statement->kind == kind)
            return statement;
    }
    return NULL;
}

static void delete_statement(struct mutation *t) {
    struct block *block = pick_block(t);
    uint32_t at = pick(t, block->n);
    memmove(block->statements + at, block->statements + at + 1,
            (--block->n - at) * sizeof *block->statements);
    t->what = "a statement deleted";
}

static void double_statement(struct mutation *t) {
    struct block *block = pick_block(t);
    uint32_t from = pick(t, block->n), to = pick(t, block->n + 1);
    block_insert(t->program, block, pick(t, 2) ? to : from, block->statements[from]);
    t->what = "a statement doubled";
}

static void move_statement(struct mutation *t) {
    struct block *block = pick_block(t);
    uint32_t from = pick(t, block->n), to = pick(t, block->n);
    if (pick(t, 2) && from + 1 < block->n)
        to = from + 1;
    struct statement moved = block->statements[from];
    memmove(block->statements + from, block->statements + from + 1,
            (--block->n - from) * sizeof moved);
    block_insert(t->program, block, to, moved);
    t->what = "a statement moved";
}

static void move_between_blocks(struct mutation *t) {
    struct block *from = pick_block(t), *to = pick_block(t);
    uint32_t at = pick(t, from->n);
    struct statement moved = from->statements[at];
    if (from == to || moved.kind == STATEMENT_LOOP)
        return;
    memmove(from->statements + at, from->statements + at + 1, (--from->n - at) * sizeof moved);
    block_insert(t->program, to, pick(t, to->n + 1), moved);
    t->what = "a statement moved to another block";
}

static void change_reference(struct mutation *t, struct reference *reference) {
    if (pick(t, 2)) {
        reference->index.offset += pick(t, 2) ? 1 : -1;
        t->what = "an index changed";
    } else {
        reference->buffer = pick(t, t->program->n_buffers);
        t->what = "a buffer exchanged";
    }
}

static void change_operand(struct mutation *t) {
    struct statement *statement = pick_statement(t, STATEMENT_CALL);
    if (!statement)
        return;
    struct unit *unit = &t->program->units[statement->call.unit];
    uint32_t i = pick(t, unit->n_parameters);
    change_reference(t, &statement->call.operands[i]);
    for (uint32_t r = 0; r < unit->n_results; r++) // in place stays in place
        if (unit->results[r].in_parameter == i && pick(t, 4))
            statement->call.results[r] = statement->call.operands[i];
}

static void exchange_operands(struct mutation *t) {
    struct statement *statement = pick_statement(t, STATEMENT_CALL);
    if (!statement)
        return;
    struct unit *unit = &t->program->units[statement->call.unit];
    uint32_t a = pick(t, unit->n_parameters), b = pick(t, unit->n_parameters);
    struct reference moved = statement->call.operands[a];
    statement->call.operands[a] = statement->call.operands[b];
    statement->call.operands[b] = moved;
    t->what = "operands of a call exchanged";
}

static void change_transfer(struct mutation *t) {
    struct statement *statement = pick_statement(t, STATEMENT_START);
    if (!statement)
        return;
    struct transfer *start = &statement->start;
    struct transfer_piece *piece = &start->pieces[pick(t, start->n_pieces)];
    switch (pick(t, 4)) {
    case 0:
        change_reference(t, &piece->from);
        break;
    case 1:
        change_reference(t, &piece->to);
        break;
    case 2:
        start->axes.n = 1;
        start->axes.axes[0] = (uint8_t)pick(t, t->program->mesh.n_axes);
        t->what = "the axes of a transfer changed";
        break;
    default:
        *piece = start->pieces[--start->n_pieces];
        t->what = "a piece of a transfer deleted";
    }
}

static void change_loop(struct mutation *t) {
    struct block *block = &t->program->steps[STEP_TRAIN].body;
    struct statement *statement = NULL;
    for (int i = 0; i < 200 && !statement; i++) {
        struct statement *found = &block->statements[pick(t, block->n)];
        if (found->kind == STATEMENT_LOOP)
            statement = found;
        if (statement && pick(t, 2)) {
            block = &statement->loop.body;
            statement = NULL;
        }
        if (block->n == 0)
            return;
    }
    if (!statement)
        return;
    switch (pick(t, 3)) {
    case 0:
        statement->loop.begin++;
        break;
    case 1:
        statement->loop.end--;
        break;
    default:
        statement->loop.descending = !statement->loop.descending;
    }
    t->what = "a loop changed";
}

static struct unit *pick_unit(struct mutation *t) {
    return &t->program->units[pick(t, t->program->n_units)];
}

// An op reads another value of the same type.
static void change_value(struct mutation *t) {
    struct unit *unit = pick_unit(t);
    struct op *op = &unit->ops[pick(t, unit->n_ops)];
    if (op->n_operands == 0)
        return;
    value_id *operand = &op->operands[pick(t, op->n_operands)];
    for (int i = 0; i < 50; i++) {
        value_id other = pick(t, unit->n_values);
        if (other == *operand ||
            !type_equal(&unit->values[other].type, &unit->values[*operand].type))
            continue;
        *operand = other;
        t->what = "an operand of an op exchanged";
        return;
    }
}

// What is done is left out: those who read it read what it would have read.
static void bypass_op(struct mutation *t) {
    struct unit *unit = pick_unit(t);
    uint32_t at = pick(t, unit->n_ops);
    struct op *op = &unit->ops[at];
    for (unsigned k = 0; k < op->n_operands; k++) {
        value_id from = op->results[0], to = op->operands[k];
        if (!type_equal(&unit->values[from].type, &unit->values[to].type))
            continue;
        for (uint32_t i = at + 1; i < unit->n_ops; i++)
            for (unsigned n = 0; n < unit->ops[i].n_operands; n++)
                if (unit->ops[i].operands[n] == from)
                    unit->ops[i].operands[n] = to;
        if (op->kind == OP_ALL_REDUCE) // its wait is left out with it
            for (uint32_t i = at + 1; i < unit->n_ops; i++)
                if (unit->ops[i].kind == OP_WAIT && unit->ops[i].operands[0] == to)
                    unit->ops[i].kind = OP_CAST;
        t->what = "an op left out";
        return;
    }
}

static void change_attribute(struct mutation *t) {
    struct unit *unit = pick_unit(t);
    struct op *op = &unit->ops[pick(t, unit->n_ops)];
    if (op->n_attributes == 0)
        return;
    struct attribute *attribute = &op->attributes[pick(t, op->n_attributes)];
    if (attribute_kinds[attribute->name] == KIND_REAL) {
        attribute->real *= 1.5;
    } else if (attribute_kinds[attribute->name] == KIND_AXES) {
        attribute->axes.axes[0] = (uint8_t)pick(t, t->program->mesh.n_axes);
    } else {
        return;
    }
    t->what = "an attribute changed";
}

const char *mutate(struct program *program, uint64_t *random) {
    static void (*const mutations[])(struct mutation *) = {
        delete_statement, double_statement,  move_statement,   move_between_blocks, change_operand,
        change_operand,   exchange_operands, change_transfer,  change_transfer,     change_loop,
        change_value,     bypass_op,         change_attribute,
    };
    struct mutation t = {program, random, NULL};
    mutations[pick(&t, sizeof mutations / sizeof *mutations)](&t);
    return t.what;
}

bool is_well_formed(const struct program *program, struct arena *arena) {
    for (uint32_t u = 0; u < program->n_units; u++)
        if (program->units[u].n_ops == 0)
            return false;
    return program_check(program, arena, NULL) == NULL;
}
