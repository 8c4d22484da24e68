// Units cut in pieces; see cut_unit.h.
#include "passes/layers/cut_unit.h"

#include <string.h>

// ---- borders ----------------------------------------------------------------------------------

// Which results of the whole a value is; NO_ID: none.
static uint32_t result_of(const struct unit *whole, value_id v) {
    for (uint32_t i = 0; i < whole->n_results; i++)
        if (whole->results[i].value == v)
            return i;
    return NO_ID;
}

// A number that is made of numbers that the unit is given, as what a rate is at this step.
static bool is_of_scalars(const struct unit *unit, const struct op *op, const bool *repeated) {
    for (unsigned k = 0; k < op->n_operands; k++) {
        const struct op *from = unit_producer(unit, op->operands[k]);
        if (unit->values[op->operands[k]].type.rank > 0 || (from && !repeated[from - unit->ops]))
            return false;
    }
    return op->n_operands > 0 && unit->values[op->results[0]].type.rank == 0;
}

static const bool *repeated_ops(struct arena *arena, const struct unit *unit) {
    bool *repeated = ARENA_ARRAY(arena, bool, unit->n_ops + 1);
    for (uint32_t i = 0; i < unit->n_ops; i++) {
        const struct op *op = &unit->ops[i];
        bool casts = op->kind == OP_CAST && op->operands[0] < unit->n_parameters;
        bool given = casts || is_of_scalars(unit, op, repeated);
        repeated[i] = op->kind == OP_IOTA || (given && result_of(unit, op->results[0]) == NO_ID);
    }
    return repeated;
}

// The op that makes a value anew in every piece that reads it; NULL: it is none of these.
static const struct op *repeated_op(const struct unit_cutter *c, value_id v) {
    const struct op *op = unit_producer(&c->whole, v);
    return op && c->is_repeated[op - c->whole.ops] ? op : NULL;
}

// Pieces follow each other by their numbers, their ops in the whole need not.
static void note_piece(struct unit_cutter *c, value_id v, uint32_t piece) {
    if (c->last_in[v] == NO_ID || c->last_in[v] < piece)
        c->last_in[v] = piece;
}

// A piece reads what it makes anew something of, too.
static void note_read(struct unit_cutter *c, value_id v, uint32_t piece) {
    const struct op *op = repeated_op(c, v);
    note_piece(c, v, piece);
    for (unsigned k = 0; op && k < op->n_operands; k++)
        note_read(c, op->operands[k], piece);
}

// The pieces that make and read each value. What is repeated is made in all of them.
static void find_borders(struct unit_cutter *c) {
    for (value_id v = 0; v < c->whole.n_values; v++)
        c->made_in[v] = c->last_in[v] = NO_ID;
    for (uint32_t i = 0; i < c->whole.n_ops; i++) {
        const struct op *op = &c->whole.ops[i];
        for (unsigned k = 0; k < op->n_operands && !c->is_repeated[i]; k++)
            note_read(c, op->operands[k], c->piece_of[i]);
        for (unsigned k = 0; k < op->n_results && !c->is_repeated[i]; k++)
            c->made_in[op->results[k]] = c->piece_of[i];
    }
}

struct unit_cutter begin_cutting(struct program *program, uint32_t unit, const uint32_t *piece_of) {
    struct unit_cutter c = {
        .program = program, .whole = program->job->units[unit], .piece_of = piece_of};
    c.is_repeated = repeated_ops(program->arena, &c.whole);
    c.made_in = ARENA_ARRAY(program->arena, uint32_t, c.whole.n_values);
    c.last_in = ARENA_ARRAY(program->arena, uint32_t, c.whole.n_values);
    c.here = ARENA_ARRAY(program->arena, value_id, c.whole.n_values);
    find_borders(&c);
    return c;
}

// ---- emitting ---------------------------------------------------------------------------------

void begin_piece(struct unit_cutter *c, const char *name) {
    uint32_t id = job_add_unit(c->program->job, name, c->whole.span);
    c->to = (struct emitter){.arena = c->program->arena, .unit = &c->program->job->units[id]};
    c->to.unit->phase = c->whole.phase;
    for (value_id v = 0; v < c->whole.n_values; v++)
        c->here[v] = NO_ID;
}

uint32_t piece_unit(const struct unit_cutter *c) {
    return (uint32_t)(c->to.unit - c->program->job->units);
}

value_id add_piece_parameter(struct unit_cutter *c, value_id like, const char *name,
                             bool consumed) {
    return unit_add_parameter(c->program->arena, c->to.unit, name, c->whole.values[like].type,
                              consumed);
}

const struct op *count_of(const struct unit_cutter *c, value_id v) {
    const struct op *op = unit_producer(&c->whole, v);
    return op && op->kind == OP_IOTA ? op : NULL;
}

value_id value_in_piece(struct unit_cutter *c, value_id v) {
    if (c->here[v] == NO_ID)
        copy_to_piece(c, repeated_op(c, v));
    return c->here[v];
}

void copy_to_piece(struct unit_cutter *c, const struct op *op) {
    value_id operands[MAX_OPERANDS];
    for (unsigned i = 0; i < op->n_operands; i++)
        operands[i] = value_in_piece(c, op->operands[i]);
    const struct op *copy = emit_copy(&c->to, &c->whole, op, operands);
    for (unsigned i = 0; i < op->n_results; i++)
        c->here[op->results[i]] = copy->results[i];
}

// ---- parameters and results -------------------------------------------------------------------

// What others than the pieces do not know of may be overwritten by the last piece that reads it,
// and what the whole unit might have overwritten.
static bool is_consumed(const struct unit_cutter *c, value_id v, uint32_t piece) {
    bool mine = v < c->whole.n_parameters ? c->whole.consumed[v] : result_of(&c->whole, v) == NO_ID;
    return mine && c->last_in[v] == piece;
}

static bool reads(const struct unit_cutter *c, const struct op *op, value_id v) {
    for (unsigned i = 0; i < op->n_operands; i++) {
        const struct op *repeated = repeated_op(c, op->operands[i]);
        if (op->operands[i] == v || (repeated && reads(c, repeated, v)))
            return true;
    }
    return false;
}

void add_piece_parameters(struct unit_cutter *c, struct unit_piece *piece, uint32_t number,
                          bool repeated) {
    piece->parameters = ARENA_ARRAY(c->program->arena, value_id, c->whole.n_values);
    for (value_id v = 0; v < c->whole.n_values; v++) {
        bool read = false;
        for (uint32_t i = 0; i < c->whole.n_ops && !read; i++)
            read = c->piece_of[i] == number && !c->is_repeated[i] && reads(c, &c->whole.ops[i], v);
        if (!read || c->made_in[v] == number || repeated_op(c, v))
            continue;
        bool consumed = !repeated && is_consumed(c, v, number);
        c->here[v] = add_piece_parameter(c, v, c->whole.values[v].name, consumed);
        piece->parameters[piece->n_parameters++] = v;
    }
}

void add_piece_result(struct unit_cutter *c, struct unit_piece *piece, value_id v,
                      value_id in_parameter) {
    unit_add_result(c->program->arena, c->to.unit, c->here[v], in_parameter);
    piece->results[piece->n_results++] = v;
}

// The whole's own, then what later pieces read.
static void add_results(struct unit_cutter *c, struct unit_piece *piece, uint32_t number) {
    const struct unit *whole = &c->whole;
    piece->results = ARENA_ARRAY(c->program->arena, value_id, whole->n_values);
    for (uint32_t i = 0; i < whole->n_results; i++) {
        value_id v = whole->results[i].value;
        uint32_t in = whole->results[i].in_parameter;
        if (c->made_in[v] != number)
            continue;
        add_piece_result(c, piece, v, in == NO_ID ? NO_ID : c->here[in]);
    }
    for (value_id v = whole->n_parameters; v < whole->n_values; v++) {
        if (c->made_in[v] != number || result_of(whole, v) != NO_ID || c->last_in[v] == NO_ID ||
            c->last_in[v] == number)
            continue;
        add_piece_result(c, piece, v, NO_ID);
    }
}

struct unit_piece make_piece(struct unit_cutter *c, uint32_t number, const char *name) {
    struct unit_piece piece = {0};
    begin_piece(c, arena_format(c->program->arena, "%s_%s", c->whole.name, name));
    piece.unit = piece_unit(c);
    add_piece_parameters(c, &piece, number, false);
    for (uint32_t i = 0; i < c->whole.n_ops; i++)
        if (c->piece_of[i] == number && !c->is_repeated[i])
            copy_to_piece(c, &c->whole.ops[i]);
    add_results(c, &piece, number);
    return piece;
}

struct unit_cut *unit_cut_by(struct unit_cuts *cuts, struct program *program, uint32_t unit,
                             const uint32_t *piece_of, uint32_t most) {
    struct arena *arena = program->arena;
    uint32_t n_ops = program->job->units[unit].n_ops;
    bool another = false;
    for (uint32_t i = 0; i < cuts->n; i++) {
        if (cuts->items[i].unit != unit)
            continue;
        if (memcmp(cuts->items[i].cutter.piece_of, piece_of, n_ops * sizeof *piece_of) == 0)
            return &cuts->items[i];
        another = true;
    }
    struct unit_cut cut = {.unit = unit,
                           .cutter = begin_cutting(program, unit, piece_of),
                           .pieces = ARENA_ARRAY(arena, struct unit_piece, most)};
    if (another)
        cut.cutter.whole.name = arena_format(arena, "%s_%u", cut.cutter.whole.name, cuts->n);
    ARENA_PUSH(arena, cuts->items, cuts->n, cuts->cap, cut);
    return &cuts->items[cuts->n - 1];
}

// ---- calls ------------------------------------------------------------------------------------

// A name that no other value of the unit has: those of other types may be named alike.
static const char *name_of(const struct unit_cutter *c, value_id v) {
    const char *name = c->whole.values[v].name;
    unsigned before = 0;
    for (value_id i = 0; i < v; i++)
        before += strcmp(c->whole.values[i].name, name) == 0;
    return before ? arena_format(c->program->arena, "%s.%u", name, before + 1) : name;
}

// Where a value that crosses from one piece to another lies. In another range of layers it may be
// cut otherwise, and lies apart.
static struct reference crossing(const struct unit_cutter *c, value_id v,
                                 const struct layer_range *range) {
    struct arena *arena = c->program->arena;
    const struct value *value = &c->whole.values[v];
    const char *name = arena_format(arena, "%s.%s", c->whole.name, name_of(c, v));
    name = range ? range_name(arena, name, range) : name;
    buffer_id id = program_find_buffer(c->program, name);
    if (id == NO_ID) {
        struct buffer buffer = {.name = name,
                                .class = CLASS_TRANSIENT,
                                .tensor = NO_ID,
                                .dtype = value->type.dtype,
                                .rank = value->type.rank,
                                .window_of = NO_ID,
                                .offset_bytes = -1,
                                .span = c->whole.span};
        memcpy(buffer.dims, value->type.dims, sizeof buffer.dims);
        id = program_add_buffer(c->program, buffer);
    }
    return reference_to(id);
}

static struct reference place_of(const struct unit_cutter *c, const struct call *call, value_id v,
                                 const struct layer_range *range) {
    uint32_t result = result_of(&c->whole, v);
    if (v < c->whole.n_parameters)
        return call->operands[v];
    return result != NO_ID ? call->results[result] : crossing(c, v, range);
}

struct statement call_of_piece(const struct unit_cutter *c, const struct statement *whole,
                               const struct unit_piece *piece, const struct layer_range *range) {
    struct arena *arena = c->program->arena;
    struct statement made = *whole;
    made.call =
        (struct call){.unit = piece->unit,
                      .operands = ARENA_ARRAY(arena, struct reference, piece->n_parameters + 1),
                      .results = ARENA_ARRAY(arena, struct reference, piece->n_results + 1)};
    for (uint32_t i = 0; i < piece->n_parameters; i++)
        made.call.operands[i] = place_of(c, &whole->call, piece->parameters[i], range);
    for (uint32_t i = 0; i < piece->n_results; i++)
        made.call.results[i] = place_of(c, &whole->call, piece->results[i], range);
    return made;
}

// `loop`: the innermost around the block; NULL: none.
static void cut_calls_of(struct program *program, const struct placement *placement,
                         struct block *block, const struct loop *loop, cut_of_call *cut,
                         void *data) {
    struct block made = {0};
    uint32_t range = placement_range(placement, loop ? loop->begin : 0);
    for (uint32_t i = 0; i < block->n; i++) {
        struct statement s = block->statements[i];
        const struct unit_cut *of = s.kind == STATEMENT_CALL ? cut(data, &s.call) : NULL;
        if (s.kind == STATEMENT_LOOP)
            cut_calls_of(program, placement, &s.loop.body, &s.loop, cut, data);
        if (!of)
            block_push(program->arena, &made, s);
        for (uint32_t k = 0; of && k < of->n_pieces; k++)
            block_push(program->arena, &made,
                       call_of_piece(&of->cutter, &s, &of->pieces[k],
                                     placement->n_ranges > 1 ? &placement->ranges[range] : NULL));
    }
    *block = made;
}

void cut_calls(struct program *program, const struct placement *placement, struct block *block,
               cut_of_call *cut, void *data) {
    cut_calls_of(program, placement, block, NULL, cut, data);
}
