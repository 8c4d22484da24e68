// Partition, pieces: units that are cut where keys travel. A device meets the keys of the others
// one part after the other, and between two of them others send: so the op that pairs queries with
// keys becomes a unit of its own, of which the step makes a ring (partition/ring.c), and what
// stands before and behind it become units too. What one piece makes and another one reads gets a
// buffer, unless the whole unit had one for it.
//
//   block_forward  becomes  block_forward_to_attention    norm, queries, keys, values
//                           block_forward_attention       o and lse over the device's own keys
//                           block_forward_rest            all behind it, beginning with casts of what
//                                                         was joined in more digits
//
// This is done on the reference program, in logical shapes. Storage still goes by the whole calls,
// so that the parameters of a layer are gathered and its gradients reduced at once.
#include <inttypes.h>
#include <string.h>

#include "ir/check.h"
#include "passes/layers/cut_unit.h"
#include "passes/partition/plan.h"
#include "passes/placement/work.h"

// ---- the op whose keys travel -----------------------------------------------------------------

// Its labels as work divides them.
struct pairing {
    struct op_labels of;
    char letters[MAX_LABELS + 1];
    struct axis_list cuts[MAX_LABELS];
    char travelling; // the label of what travels; 0: nothing does
};

static struct pairing pairing_of(const struct plan *plan, const struct unit *unit,
                                 const struct op *op, int64_t layer) {
    struct pairing pairing = {.travelling = 0};
    struct work_label labels[MAX_LABELS];
    const struct work_rule *by[MAX_AXES];
    if (!op_labels_of(unit, op, &pairing.of))
        return pairing;
    unsigned n = work_labels(unit, op, pairing.letters, labels);
    work_cuts(&plan->placement, (struct part){op->roles, op->n_roles, layer}, labels, n,
              pairing.cuts, by);
    uint64_t axes = paired_axes(pairing.cuts, n);
    for (unsigned i = 0; i < n && axes; i++)
        if (axis_list_mask(&pairing.cuts[i]) & axes)
            pairing.travelling = pairing.letters[i]; // the second of the two: the keys'
    return pairing;
}

static bool has_travelling(const char *labels, const struct pairing *pairing) {
    return strchr(labels, pairing->travelling) != NULL;
}

// ---- what makes a ring of a piece -------------------------------------------------------------

// The op's operands that are positions of what travels: they travel beside it.
static bool is_travelling_count(const struct unit_cutter *c, const struct op *op,
                                const struct pairing *pairing, unsigned operand) {
    return count_of(c, op->operands[operand]) &&
           has_travelling(pairing->of.operands[operand], pairing);
}

static uint32_t make_begin(struct unit_cutter *c, const struct op *op,
                           const struct pairing *pairing, const char *name) {
    begin_piece(c, arena_format(c->program->arena, "%s_begin", name));
    for (unsigned i = 0; i < op->n_operands; i++)
        if (is_travelling_count(c, op, pairing, i))
            unit_add_result(c->program->arena, c->to.unit, value_in_piece(c, op->operands[i]),
                            NO_ID);
    CHECK(c->to.unit->n_results == 1);
    return piece_unit(c);
}

// Joins what a round makes of the keys that came to what those before it have made, in its place.
static void join_round(struct unit_cutter *c, struct op round, const value_id *stays) {
    struct program *program = c->program;
    if (op_rows[round.kind].combine == MONOID_ATTENTION) {
        const struct op *merged =
            emit_with(&c->to, OP_ATTENTION_MERGE, "merged",
                      OPERANDS(stays[0], stays[1], round.results[0], round.results[1]), NULL, 0);
        for (unsigned i = 0; i < merged->n_results; i++)
            unit_add_result(program->arena, c->to.unit, merged->results[i], stays[i]);
        return;
    }
    for (unsigned i = 0; i < round.n_results; i++) {
        if (stays[i] == NO_ID)
            continue;
        const char *name = c->to.unit->values[stays[i]].name;
        value_id total =
            emit(&c->to, OP_ACCUMULATE, arena_format(c->program->arena, "%s.total", name),
                 OPERANDS(stays[i], round.results[i]));
        unit_add_result(program->arena, c->to.unit, total, stays[i]);
    }
}

// Parameters: those of the piece, the positions of the keys, what stays. Results: what stays, in
// its place, then what is to travel.
static uint32_t make_round(struct unit_cutter *c, const struct op *op,
                           const struct pairing *pairing, const char *name,
                           const struct unit_piece *own) {
    value_id operands[MAX_OPERANDS], stays[MAX_RESULTS], positions = NO_ID;
    begin_piece(c, arena_format(c->program->arena, "%s_round", name));
    for (uint32_t i = 0; i < own->n_parameters; i++) {
        value_id v = own->parameters[i];
        c->here[v] = add_piece_parameter(c, v, c->whole.values[v].name, false);
    }
    for (unsigned i = 0; i < op->n_operands && positions == NO_ID; i++)
        if (is_travelling_count(c, op, pairing, i))
            positions = add_piece_parameter(c, op->operands[i], "key_positions", false);
    for (unsigned i = 0; i < op->n_results; i++) {
        bool travels = has_travelling(pairing->of.results[i], pairing);
        const char *result = c->whole.values[op->results[i]].name;
        stays[i] = travels ? NO_ID : add_piece_parameter(c, op->results[i], result, false);
    }
    for (unsigned i = 0; i < op->n_operands; i++)
        operands[i] =
            is_travelling_count(c, op, pairing, i) ? positions : value_in_piece(c, op->operands[i]);
    struct op round = *emit_copy(&c->to, &c->whole, op, operands);
    join_round(c, round, stays);
    for (unsigned i = 0; i < op->n_results; i++)
        if (stays[i] == NO_ID)
            unit_add_result(c->program->arena, c->to.unit, round.results[i], NO_ID);
    return piece_unit(c);
}

// Adds to every gradient that has come what this device has for it; NO_ID: none travels.
static uint32_t make_add(struct unit_cutter *c, const struct op *op, const struct pairing *pairing,
                         const char *name) {
    value_id sums[MAX_RESULTS], terms[MAX_RESULTS];
    unsigned n = 0;
    begin_piece(c, arena_format(c->program->arena, "%s_add", name));
    for (unsigned i = 0; i < op->n_results; i++) {
        if (!has_travelling(pairing->of.results[i], pairing))
            continue;
        const char *result = c->whole.values[op->results[i]].name;
        sums[n] = add_piece_parameter(c, op->results[i], result, false);
        terms[n++] = add_piece_parameter(c, op->results[i],
                                         arena_format(c->program->arena, "%s.part", result), false);
    }
    c->to.n_roles = op->n_roles;
    memcpy(c->to.roles, op->roles, sizeof c->to.roles);
    c->to.span = op->span;
    for (unsigned i = 0; i < n; i++) {
        const char *sum = c->to.unit->values[sums[i]].name;
        value_id total =
            emit(&c->to, OP_ACCUMULATE, arena_format(c->program->arena, "%s.total", sum),
                 OPERANDS(sums[i], terms[i]));
        unit_add_result(c->program->arena, c->to.unit, total, sums[i]);
    }
    return piece_unit(c);
}

static const struct ring *make_ring(struct unit_cutter *c, const struct op *op,
                                    const struct pairing *pairing, const struct unit_piece *own) {
    struct ring *ring = ARENA_NEW(c->program->arena, struct ring);
    const char *name = c->program->job->units[own->unit].name;
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

// ---- digits of what is joined -----------------------------------------------------------------

// What rounds join is of as many digits as the op computes in: rounded in every round, it would lose
// more than one device does, the longer the ring the more. `result` of the op, which is the unit's last,
// becomes what a cast behind it makes of a wider one.
static void widen_result(struct program *reference, struct unit *unit, uint32_t of,
                         unsigned result) {
    struct op *op = &unit->ops[of];
    value_id narrow = op->results[result], wide;
    enum dtype computed = op_computes_in(unit, op);
    const char *name = arena_format(reference->arena, "%s.joined", unit->values[narrow].name);
    struct op *cast =
        unit_add_op(reference->arena, unit, OP_CAST, name, &narrow, 1, unit->ops[of].span);
    op = &unit->ops[of];
    wide = cast->results[0];
    unit->values[wide].type = unit->values[narrow].type;
    unit->values[wide].type.dtype = computed;
    cast->n_roles = op->n_roles;
    memcpy(cast->roles, op->roles, sizeof cast->roles);
    cast->operands[0] = op->results[result] = wide;
    cast->results[0] = narrow;
}

static void widen_joined(const struct plan *plan, struct program *reference, uint32_t id,
                         int64_t layer) {
    struct unit *unit = &reference->job->units[id];
    const struct unit whole = *unit;
    unit->ops = NULL;
    unit->n_ops = unit->cap_ops = 0;
    for (uint32_t i = 0; i < whole.n_ops; i++) {
        const struct op *op = &whole.ops[i];
        bool travels = pairing_of(plan, &whole, op, layer).travelling;
        uint32_t of = unit->n_ops;
        ARENA_PUSH(reference->arena, unit->ops, unit->n_ops, unit->cap_ops, *op);
        for (unsigned k = 0; k < op->n_results && travels; k++)
            if (whole.values[op->results[k]].type.dtype != op_computes_in(&whole, op) &&
                op_frees_result(op->kind, k))
                widen_result(reference, unit, of, k);
    }
}

// ---- pieces -----------------------------------------------------------------------------------

// A unit cut where keys travel.
struct cut_unit {
    uint32_t unit;
    struct unit_cutter cutter;
    struct unit_piece *pieces;
    const struct ring **rings; // by the pieces; NULL: an ordinary unit
    uint32_t n_pieces;
};

// The piece that is one op, with all that it makes: the next rounds read it.
static struct unit_piece make_own(struct unit_cutter *c, uint32_t number, const struct op *op) {
    struct unit_piece piece = {0};
    begin_piece(c, arena_format(c->program->arena, "%s_%s", c->whole.name, op_rows[op->kind].text));
    piece.unit = piece_unit(c);
    add_piece_parameters(c, &piece, number, true);
    copy_to_piece(c, op);
    piece.results = ARENA_ARRAY(c->program->arena, value_id, MAX_RESULTS);
    for (unsigned i = 0; i < op->n_results; i++)
        add_piece_result(c, &piece, op->results[i], NO_ID);
    return piece;
}

static struct cut_unit *cut_unit(const struct plan *plan, struct program *reference, uint32_t unit,
                                 int64_t layer) {
    struct arena *arena = plan->arena;
    const struct unit *whole = &reference->job->units[unit];
    uint32_t *piece_of = ARENA_ARRAY(arena, uint32_t, whole->n_ops + 1), n = 0;
    struct pairing *pairings = ARENA_ARRAY(arena, struct pairing, whole->n_ops + 1);
    for (uint32_t i = 0; i < whole->n_ops; i++) {
        pairings[i] = pairing_of(plan, whole, &whole->ops[i], layer);
        n += pairings[i].travelling != 0;
        piece_of[i] = n;
        n += pairings[i].travelling != 0;
    }
    struct cut_unit *cut = ARENA_NEW(arena, struct cut_unit);
    *cut = (struct cut_unit){.cutter = begin_cutting(reference, unit, piece_of),
                             .unit = unit,
                             .n_pieces = n + 1,
                             .pieces = ARENA_ARRAY(arena, struct unit_piece, n + 1),
                             .rings = ARENA_ARRAY(arena, const struct ring *, n + 1)};
    struct unit_cutter *c = &cut->cutter;
    for (uint32_t i = 0, next = 0; i < c->whole.n_ops; i++) {
        const struct op *op = &c->whole.ops[i];
        if (!pairings[i].travelling)
            continue;
        cut->pieces[next] =
            make_piece(c, next, arena_format(arena, "to_%s", op_rows[op->kind].text));
        next++;
        cut->pieces[next] = make_own(c, next, op);
        cut->rings[next] = make_ring(c, op, &pairings[i], &cut->pieces[next]);
        next++;
    }
    cut->pieces[n] = make_piece(c, n, "rest");
    return cut;
}

static bool has_ring(const struct plan *plan, const struct unit *unit, int64_t layer) {
    for (uint32_t i = 0; i < unit->n_ops; i++)
        if (pairing_of(plan, unit, &unit->ops[i], layer).travelling)
            return true;
    return false;
}

// ---- calls ------------------------------------------------------------------------------------

// What was cut so far.
struct cutting {
    const struct plan *plan;
    struct program *reference;
    const struct cut_unit **units;
    uint32_t n_units, cap_units;
    struct cut_calls calls;
};

static const struct cut_unit *find_cut_unit(struct cutting *c, uint32_t unit, int64_t layer) {
    for (uint32_t i = 0; i < c->n_units; i++)
        if (c->units[i]->unit == unit)
            return c->units[i];
    widen_joined(c->plan, c->reference, unit, layer);
    const struct cut_unit *cut = cut_unit(c->plan, c->reference, unit, layer);
    ARENA_PUSH(c->plan->arena, c->units, c->n_units, c->cap_units, cut);
    return cut;
}

static void cut_call(struct cutting *c, const struct statement *statement, int64_t layer) {
    const struct placement *placement = &c->plan->placement;
    struct arena *arena = c->plan->arena;
    uint32_t unit = statement->call.unit;
    if (!has_ring(c->plan, &c->reference->job->units[unit], layer))
        return;
    const struct layer_range *range =
        placement->n_ranges > 1 ? &placement->ranges[placement_range(placement, layer)] : NULL;
    const struct cut_unit *cut = find_cut_unit(c, unit, layer);
    struct cut_call made = {.of = statement,
                            .n_pieces = cut->n_pieces,
                            .pieces = ARENA_ARRAY(arena, struct statement, cut->n_pieces),
                            .rings = cut->rings};
    for (uint32_t i = 0; i < cut->n_pieces; i++)
        made.pieces[i] = call_of_piece(&cut->cutter, statement, &cut->pieces[i], range);
    ARENA_PUSH(arena, c->calls.items, c->calls.n, c->calls.cap, made);
}

struct cut_calls cut_at_rings(const struct plan *plan, struct program *reference) {
    struct cutting cutting = {.plan = plan, .reference = reference};
    for (int kind = 0; kind < N_STEPS && plan->placement.ring.n; kind++) {
        if (!reference->steps[kind].present)
            continue;
        struct statement_walk walk = walk_statements(&reference->steps[kind].body);
        while (walk_next(&walk)) {
            const struct loop *loop = walk_loop(&walk, walk.depth - 1);
            if (walk.statement->kind == STATEMENT_CALL)
                cut_call(&cutting, walk.statement, loop ? loop->begin : 0);
        }
    }
    return cutting.calls;
}

const struct cut_call *find_cut_call(const struct plan *plan, const struct statement *call) {
    for (uint32_t i = 0; i < plan->cut_calls.n; i++)
        if (plan->cut_calls.items[i].of == call)
            return &plan->cut_calls.items[i];
    return NULL;
}
