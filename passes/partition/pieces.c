// Partition, pieces: units that are cut where keys travel. A device meets the keys of the others
// one part after the other, and between two of them others send: so the op that pairs queries with
// keys becomes a unit of its own, of which the step makes a ring (partition/ring.c), and what
// stands before and behind it become units too. What one piece makes and another one reads gets a
// buffer, unless the whole unit had one for it.
//
//   block_forward  becomes  block_forward_to_attention    norm, queries, keys, values
//                           block_forward_attention       o and lse over the device's own keys
//                           block_forward_rest            all behind it
//
// This is done on the reference program, in logical shapes. Storage still goes by the whole calls,
// so that the parameters of a layer are gathered and its gradients reduced at once.
#include <inttypes.h>
#include <string.h>

#include "ir/check.h"
#include "passes/partition/partition.h"
#include "passes/placement/work.h"
#include "passes/reference/emit.h"

struct cutting {
    struct partitioner *p;
    struct program *reference;
    struct unit whole; // a copy: the program's units move
    // Of values: the pieces that make it, and read it last; NO_ID: none.
    uint32_t *made_in, *last_in;
    struct cut_unit *cut;
    // The unit being made:
    struct emitter to;
    value_id *here; // of values of the whole; NO_ID: not there
};

// ---- the op whose keys travel -----------------------------------------------------------------

// Its labels as work divides them.
struct pairing {
    struct op_labels of;
    char letters[MAX_LABELS + 1];
    struct axis_list cuts[MAX_LABELS];
    char travelling; // the label of what travels; 0: nothing does
};

static struct pairing pairing_of(const struct partitioner *p, const struct unit *unit,
                                 const struct op *op, int64_t layer) {
    struct pairing pairing = {.travelling = 0};
    struct work_label labels[MAX_LABELS];
    const struct work_rule *by[MAX_AXES];
    if (!op_labels_of(unit, op, &pairing.of))
        return pairing;
    unsigned n = work_labels(unit, op, pairing.letters, labels);
    work_cuts(&p->placement, (struct part){op->roles, op->n_roles, layer}, labels, n, pairing.cuts,
              by);
    uint64_t axes = paired_axes(pairing.cuts, n);
    for (unsigned i = 0; i < n && axes; i++)
        if (axis_list_mask(&pairing.cuts[i]) & axes)
            pairing.travelling = pairing.letters[i]; // the second of the two: the keys'
    return pairing;
}

static bool has_travelling(const char *labels, const struct pairing *pairing) {
    return strchr(labels, pairing->travelling) != NULL;
}

// ---- emitting ---------------------------------------------------------------------------------

static void begin_unit(struct cutting *c, const char *name) {
    struct program *program = c->reference;
    uint32_t id = program_add_unit(program, name, c->whole.span);
    c->to = (struct emitter){.program = program, .unit = &program->units[id]};
    c->to.unit->phase = c->whole.phase;
    for (value_id v = 0; v < c->whole.n_values; v++)
        c->here[v] = NO_ID;
}

static uint32_t unit_id(const struct cutting *c) {
    return (uint32_t)(c->to.unit - c->reference->units);
}

static value_id add_parameter(struct cutting *c, value_id like, const char *name, bool consumed) {
    return unit_add_parameter(c->reference, c->to.unit, name, c->whole.values[like].type, consumed);
}

// The op that counts positions, if the value is made so.
static const struct op *count_of(const struct cutting *c, value_id v) {
    const struct op *op = unit_producer(&c->whole, v);
    return op && op->kind == OP_IOTA ? op : NULL;
}

// A value in the unit being made. Positions are counted again wherever they are read.
static value_id value_here(struct cutting *c, value_id v) {
    if (c->here[v] == NO_ID)
        c->here[v] = emit_copy(&c->to, &c->whole, count_of(c, v), NULL)->results[0];
    return c->here[v];
}

static void copy_op(struct cutting *c, const struct op *op) {
    value_id operands[MAX_OPERANDS];
    for (unsigned i = 0; i < op->n_operands; i++)
        operands[i] = value_here(c, op->operands[i]);
    const struct op *copy = emit_copy(&c->to, &c->whole, op, operands);
    for (unsigned i = 0; i < op->n_results; i++)
        c->here[op->results[i]] = copy->results[i];
}

// ---- what makes a ring of a piece -------------------------------------------------------------

// The op's operands that are positions of what travels: they travel beside it.
static bool is_travelling_count(const struct cutting *c, const struct op *op,
                                const struct pairing *pairing, unsigned operand) {
    return count_of(c, op->operands[operand]) &&
           has_travelling(pairing->of.operands[operand], pairing);
}

static uint32_t make_begin(struct cutting *c, const struct op *op, const struct pairing *pairing,
                           const char *name) {
    begin_unit(c, arena_format(c->p->arena, "%s_begin", name));
    for (unsigned i = 0; i < op->n_operands; i++)
        if (is_travelling_count(c, op, pairing, i))
            unit_add_result(c->reference, c->to.unit, value_here(c, op->operands[i]), NO_ID);
    CHECK(c->to.unit->n_results == 1);
    return unit_id(c);
}

// Joins what a round makes of the keys that came to what those before it have made, in its place.
static void join_round(struct cutting *c, struct op round, const value_id *stays) {
    struct program *program = c->reference;
    if (op_rows[round.kind].combine == MONOID_ATTENTION) {
        const struct op *merged =
            emit_with(&c->to, OP_ATTENTION_MERGE, "merged",
                      OPERANDS(stays[0], stays[1], round.results[0], round.results[1]), NULL, 0);
        for (unsigned i = 0; i < merged->n_results; i++)
            unit_add_result(program, c->to.unit, merged->results[i], stays[i]);
        return;
    }
    for (unsigned i = 0; i < round.n_results; i++) {
        if (stays[i] == NO_ID)
            continue;
        const char *name = c->to.unit->values[stays[i]].name;
        value_id total = emit(&c->to, OP_ACCUMULATE, arena_format(c->p->arena, "%s.total", name),
                              OPERANDS(stays[i], round.results[i]));
        unit_add_result(program, c->to.unit, total, stays[i]);
    }
}

// Parameters: those of the piece, the positions of the keys, what stays. Results: what stays, in
// its place, then what is to travel.
static uint32_t make_round(struct cutting *c, const struct op *op, const struct pairing *pairing,
                           const char *name, const struct piece *own) {
    value_id operands[MAX_OPERANDS], stays[MAX_RESULTS], positions = NO_ID;
    begin_unit(c, arena_format(c->p->arena, "%s_round", name));
    for (uint32_t i = 0; i < own->n_parameters; i++) {
        value_id v = own->parameters[i];
        c->here[v] = add_parameter(c, v, c->whole.values[v].name, false);
    }
    for (unsigned i = 0; i < op->n_operands && positions == NO_ID; i++)
        if (is_travelling_count(c, op, pairing, i))
            positions = add_parameter(c, op->operands[i], "key_positions", false);
    for (unsigned i = 0; i < op->n_results; i++) {
        bool travels = has_travelling(pairing->of.results[i], pairing);
        const char *result = c->whole.values[op->results[i]].name;
        stays[i] = travels ? NO_ID : add_parameter(c, op->results[i], result, false);
    }
    for (unsigned i = 0; i < op->n_operands; i++)
        operands[i] =
            is_travelling_count(c, op, pairing, i) ? positions : value_here(c, op->operands[i]);
    struct op round = *emit_copy(&c->to, &c->whole, op, operands);
    join_round(c, round, stays);
    for (unsigned i = 0; i < op->n_results; i++)
        if (stays[i] == NO_ID)
            unit_add_result(c->reference, c->to.unit, round.results[i], NO_ID);
    return unit_id(c);
}

// Adds to every gradient that has come what this device has for it; NO_ID: none travels.
static uint32_t make_add(struct cutting *c, const struct op *op, const struct pairing *pairing,
                         const char *name) {
    value_id sums[MAX_RESULTS], terms[MAX_RESULTS];
    unsigned n = 0;
    begin_unit(c, arena_format(c->p->arena, "%s_add", name));
    for (unsigned i = 0; i < op->n_results; i++) {
        if (!has_travelling(pairing->of.results[i], pairing))
            continue;
        const char *result = c->whole.values[op->results[i]].name;
        sums[n] = add_parameter(c, op->results[i], result, false);
        terms[n++] =
            add_parameter(c, op->results[i], arena_format(c->p->arena, "%s.part", result), false);
    }
    c->to.n_roles = op->n_roles;
    memcpy(c->to.roles, op->roles, sizeof c->to.roles);
    c->to.span = op->span;
    for (unsigned i = 0; i < n; i++) {
        const char *sum = c->to.unit->values[sums[i]].name;
        value_id total = emit(&c->to, OP_ACCUMULATE, arena_format(c->p->arena, "%s.total", sum),
                              OPERANDS(sums[i], terms[i]));
        unit_add_result(c->reference, c->to.unit, total, sums[i]);
    }
    return unit_id(c);
}

static const struct ring *make_ring(struct cutting *c, const struct op *op,
                                    const struct pairing *pairing, const struct piece *own) {
    struct ring *ring = ARENA_NEW(c->p->arena, struct ring);
    const char *name = c->reference->units[own->unit].name;
    for (uint32_t i = 0; i < own->n_parameters; i++)
        for (unsigned k = 0; k < op->n_operands; k++)
            if (op->operands[k] == own->parameters[i]) {
                const char *labels = pairing->of.operands[k];
                ring->operand_travels[i] = has_travelling(labels, pairing);
                for (unsigned d = 0; labels[d]; d++)
                    ring->cuts[i][d] =
                        pairing->cuts[strchr(pairing->letters, labels[d]) - pairing->letters];
            }
    for (unsigned i = 0; i < op->n_results; i++) {
        ring->result_travels[i] = has_travelling(pairing->of.results[i], pairing);
        ring->any_result_travels |= ring->result_travels[i];
    }
    ring->begin = make_begin(c, op, pairing, name);
    ring->round = make_round(c, op, pairing, name, own);
    ring->add = ring->any_result_travels ? make_add(c, op, pairing, name) : NO_ID;
    return ring;
}

// ---- pieces -----------------------------------------------------------------------------------

// Which results of the whole a value is; NO_ID: none.
static uint32_t result_of(const struct unit *whole, value_id v) {
    for (uint32_t i = 0; i < whole->n_results; i++)
        if (whole->results[i].value == v)
            return i;
    return NO_ID;
}

// What others than the pieces do not know of may be overwritten by the last piece that reads it,
// and what the whole unit might have overwritten.
static bool is_consumed(const struct cutting *c, value_id v, uint32_t piece, bool ring) {
    bool mine = v < c->whole.n_parameters ? c->whole.consumed[v] : result_of(&c->whole, v) == NO_ID;
    return mine && !ring && c->last_in[v] == piece; // a ring reads all in every round
}

static bool reads(const struct op *op, value_id v) {
    for (unsigned i = 0; i < op->n_operands; i++)
        if (op->operands[i] == v)
            return true;
    return false;
}

static void add_parameters(struct cutting *c, struct piece *piece, uint32_t number,
                           const uint32_t *piece_of, bool ring) {
    piece->parameters = ARENA_ARRAY(c->p->arena, value_id, c->whole.n_values);
    for (value_id v = 0; v < c->whole.n_values; v++) {
        bool read = false;
        for (uint32_t i = 0; i < c->whole.n_ops && !read; i++)
            read = piece_of[i] == number && reads(&c->whole.ops[i], v);
        if (!read || c->made_in[v] == number || count_of(c, v))
            continue;
        c->here[v] = add_parameter(c, v, c->whole.values[v].name, is_consumed(c, v, number, ring));
        piece->parameters[piece->n_parameters++] = v;
    }
}

static void add_result(struct cutting *c, struct piece *piece, value_id v, value_id in_parameter) {
    unit_add_result(c->reference, c->to.unit, c->here[v], in_parameter);
    piece->results[piece->n_results++] = v;
}

// The whole's own, then what later pieces read.
static void add_results(struct cutting *c, struct piece *piece, uint32_t number) {
    const struct unit *whole = &c->whole;
    piece->results = ARENA_ARRAY(c->p->arena, value_id, whole->n_values);
    for (uint32_t i = 0; i < whole->n_results; i++) {
        value_id v = whole->results[i].value;
        uint32_t in = whole->results[i].in_parameter;
        if (c->made_in[v] != number)
            continue;
        add_result(c, piece, v, in == NO_ID ? NO_ID : c->here[in]);
    }
    for (value_id v = whole->n_parameters; v < whole->n_values; v++) {
        if (c->made_in[v] != number || result_of(whole, v) != NO_ID || c->last_in[v] == NO_ID ||
            c->last_in[v] == number)
            continue;
        add_result(c, piece, v, NO_ID);
    }
}

static void make_piece(struct cutting *c, uint32_t number, const uint32_t *piece_of,
                       const char *name) {
    struct piece *piece = &c->cut->pieces[number];
    begin_unit(c, arena_format(c->p->arena, "%s_%s", c->whole.name, name));
    piece->unit = unit_id(c);
    add_parameters(c, piece, number, piece_of, false);
    for (uint32_t i = 0; i < c->whole.n_ops; i++)
        if (piece_of[i] == number && c->whole.ops[i].kind != OP_IOTA)
            copy_op(c, &c->whole.ops[i]);
    add_results(c, piece, number);
}

// The piece that is one op, with all that it makes: the next rounds read it.
static void make_own(struct cutting *c, uint32_t number, const uint32_t *piece_of,
                     const struct op *op) {
    struct piece *piece = &c->cut->pieces[number];
    begin_unit(c, arena_format(c->p->arena, "%s_%s", c->whole.name, op_rows[op->kind].text));
    piece->unit = unit_id(c);
    add_parameters(c, piece, number, piece_of, true);
    copy_op(c, op);
    piece->results = ARENA_ARRAY(c->p->arena, value_id, MAX_RESULTS);
    for (unsigned i = 0; i < op->n_results; i++)
        add_result(c, piece, op->results[i], NO_ID);
}

// The pieces that make and read each value. Positions are made in all of them.
static void find_borders(struct cutting *c, const uint32_t *piece_of) {
    for (value_id v = 0; v < c->whole.n_values; v++)
        c->made_in[v] = c->last_in[v] = NO_ID;
    for (uint32_t i = 0; i < c->whole.n_ops; i++) {
        const struct op *op = &c->whole.ops[i];
        for (unsigned k = 0; k < op->n_operands; k++)
            c->last_in[op->operands[k]] = piece_of[i];
        for (unsigned k = 0; k < op->n_results && op->kind != OP_IOTA; k++)
            c->made_in[op->results[k]] = piece_of[i];
    }
}

static void cut_unit(struct cutting *c, int64_t layer) {
    struct arena *arena = c->p->arena;
    const struct unit *whole = &c->whole;
    uint32_t *piece_of = ARENA_ARRAY(arena, uint32_t, whole->n_ops + 1), n = 0;
    struct pairing *pairings = ARENA_ARRAY(arena, struct pairing, whole->n_ops + 1);
    for (uint32_t i = 0; i < whole->n_ops; i++) {
        pairings[i] = pairing_of(c->p, whole, &whole->ops[i], layer);
        n += pairings[i].travelling != 0;
        piece_of[i] = n;
        n += pairings[i].travelling != 0;
    }
    c->made_in = ARENA_ARRAY(arena, uint32_t, whole->n_values);
    c->last_in = ARENA_ARRAY(arena, uint32_t, whole->n_values);
    c->here = ARENA_ARRAY(arena, value_id, whole->n_values);
    c->cut->n_pieces = n + 1;
    c->cut->pieces = ARENA_ARRAY(arena, struct piece, n + 1);
    find_borders(c, piece_of);
    for (uint32_t i = 0, next = 0; i < whole->n_ops; i++) {
        if (!pairings[i].travelling)
            continue;
        const char *name = op_rows[whole->ops[i].kind].text;
        make_piece(c, next++, piece_of, arena_format(arena, "to_%s", name));
        make_own(c, next, piece_of, &whole->ops[i]);
        struct piece *own = &c->cut->pieces[next++];
        own->ring = make_ring(c, &whole->ops[i], &pairings[i], own);
    }
    make_piece(c, n, piece_of, "rest");
}

static bool has_ring(const struct partitioner *p, const struct unit *unit, int64_t layer) {
    for (uint32_t i = 0; i < unit->n_ops; i++)
        if (pairing_of(p, unit, &unit->ops[i], layer).travelling)
            return true;
    return false;
}

// ---- calls ------------------------------------------------------------------------------------

// Where a value that crosses from one piece to another lies. In another range of layers it may be
// cut otherwise, and lies apart.
static struct reference crossing(const struct cutting *c, value_id v, int64_t layer) {
    const struct placement *placement = &c->p->placement;
    const struct value *value = &c->whole.values[v];
    const char *name = arena_format(c->p->arena, "%s.%s", c->whole.name, value->name);
    uint32_t range = placement_range(placement, layer);
    if (placement->n_ranges > 1)
        name = range_name(c->p->arena, name, &placement->ranges[range]);
    buffer_id id = program_find_buffer(c->reference, name);
    if (id == NO_ID) {
        struct buffer buffer = {.name = name,
                                .class = CLASS_TRANSIENT,
                                .tensor = NO_ID,
                                .dtype = value->type.dtype,
                                .rank = value->type.rank,
                                .count = 1,
                                .window_of = NO_ID,
                                .offset_bytes = -1,
                                .span = c->whole.span};
        memcpy(buffer.dims, value->type.dims, sizeof buffer.dims);
        id = program_add_buffer(c->reference, buffer);
    }
    return (struct reference){id, index_constant(0)};
}

static struct reference place_of(const struct cutting *c, const struct call *call, value_id v,
                                 int64_t layer) {
    uint32_t result = result_of(&c->whole, v);
    if (v < c->whole.n_parameters)
        return call->operands[v];
    return result != NO_ID ? call->results[result] : crossing(c, v, layer);
}

static struct statement call_of_piece(const struct cutting *c, const struct statement *whole,
                                      const struct piece *piece, int64_t layer) {
    struct arena *arena = c->p->arena;
    struct statement made = *whole;
    made.call =
        (struct call){.unit = piece->unit,
                      .operands = ARENA_ARRAY(arena, struct reference, piece->n_parameters + 1),
                      .results = ARENA_ARRAY(arena, struct reference, piece->n_results + 1)};
    for (uint32_t i = 0; i < piece->n_parameters; i++)
        made.call.operands[i] = place_of(c, &whole->call, piece->parameters[i], layer);
    for (uint32_t i = 0; i < piece->n_results; i++)
        made.call.results[i] = place_of(c, &whole->call, piece->results[i], layer);
    return made;
}

static struct cut_unit *find_cut_unit(struct cutting *c, uint32_t unit, int64_t layer) {
    struct partitioner *p = c->p;
    for (uint32_t i = 0; i < p->n_cut_units; i++)
        if (p->cut_units[i]->unit == unit)
            return p->cut_units[i];
    c->cut = ARENA_NEW(p->arena, struct cut_unit);
    c->cut->unit = unit;
    cut_unit(c, layer);
    ARENA_PUSH(p->arena, p->cut_units, p->n_cut_units, p->cap_cut_units, c->cut);
    return c->cut;
}

static void cut_call(struct partitioner *p, struct program *reference,
                     const struct statement *statement, int64_t layer) {
    uint32_t unit = statement->call.unit;
    struct cutting c = {.p = p, .reference = reference, .whole = reference->units[unit]};
    if (!has_ring(p, &c.whole, layer))
        return;
    const struct cut_unit *cut = find_cut_unit(&c, unit, layer);
    struct cut_call made = {.of = statement,
                            .n_pieces = cut->n_pieces,
                            .pieces = ARENA_ARRAY(p->arena, struct statement, cut->n_pieces),
                            .rings = ARENA_ARRAY(p->arena, const struct ring *, cut->n_pieces)};
    for (uint32_t i = 0; i < cut->n_pieces; i++) {
        made.pieces[i] = call_of_piece(&c, statement, &cut->pieces[i], layer);
        made.rings[i] = cut->pieces[i].ring;
    }
    ARENA_PUSH(p->arena, p->cut_calls, p->n_cut_calls, p->cap_cut_calls, made);
}

void cut_at_rings(struct partitioner *p, struct program *reference) {
    for (int kind = 0; kind < N_STEPS && p->placement.ring.n; kind++) {
        if (!reference->steps[kind].present)
            continue;
        struct statement_walk walk = walk_statements(&reference->steps[kind].body);
        while (walk_next(&walk)) {
            const struct loop *loop = walk_loop(&walk, walk.depth - 1);
            if (walk.statement->kind == STATEMENT_CALL)
                cut_call(p, reference, walk.statement, loop ? loop->begin : 0);
        }
    }
}

const struct cut_call *find_cut_call(const struct partitioner *p, const struct statement *call) {
    for (uint32_t i = 0; i < p->n_cut_calls; i++)
        if (p->cut_calls[i].of == call)
            return &p->cut_calls[i];
    return NULL;
}
