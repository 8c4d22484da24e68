// Units: evaluates a unit's ops in order on judgements, with the memory its values were given.
//
// Memory is part of what is proved. A result overwrites whatever shares its bytes: the value it is
// in place of, and values of the frame that overlap. Reading one of those later is a fault, and so
// is overwriting the source of a collective that is in flight. An inline value has no bytes: its
// operands must still be there where it is used. One that a kernel makes is added to a sum by that
// kernel, so the sum is written there and not where the op stands that adds it.
#include "verify/machine/machine.h"

#include <string.h>

#include "verify/rewriting/rewrite.h"
#include "verify/rules/rounds.h"
#include "verify/rules/rules.h"

struct evaluation {
    struct abstract_machine *machine;
    struct builder *builder;
    struct rounds *rounds;
    const struct unit *unit;
    struct judgement *values;
    const struct op **dead;   // the op that overwrote a value's bytes; NULL: they are there
    const struct op **made;   // the op that made a value
    value_id *root;           // the value that has the bytes, parameters included
    struct byte_range *bytes; // which those are
    value_id *source;         // of a value in flight: what its collective reads; else NO_ID
    bool *clobbered;          // parameters that were overwritten although they may only be read
    value_id n_there;         // behind the last value that was made, or given
    uint32_t n_started;       // collectives, up to the present op
};

// ---- memory -----------------------------------------------------------------------------------

static void find_roots(struct evaluation *v) {
    const struct unit *unit = v->unit;
    for (uint32_t i = 0; i < unit->n_values; i++)
        v->root[i] = value_root(unit, i);
    // What ends up in a parameter's place has been there from its root on.
    for (uint32_t i = 0; i < unit->n_results; i++) {
        const struct unit_result *result = &unit->results[i];
        value_id root = value_root(unit, result->value);
        if (result->in_parameter == NO_ID || unit->values[root].storage == STORAGE_UNPLANNED)
            continue;
        for (uint32_t k = 0; k < unit->n_values; k++)
            if (v->root[k] == root)
                v->root[k] = result->in_parameter;
    }
}

// Bytes are those of the unit's frame; below it whatever has a place of its own is a byte of its
// number.
static void find_bytes(struct evaluation *v) {
    for (uint32_t i = 0; i < v->unit->n_values; i++) {
        const struct value *root = &v->unit->values[v->root[i]];
        int64_t byte = -(int64_t)v->root[i] - 1;
        v->bytes[i] = (struct byte_range){byte, byte + 1};
        if (root->storage == STORAGE_FRAME)
            v->bytes[i] = (struct byte_range){root->offset_bytes,
                                              root->offset_bytes + type_bytes(&root->type)};
    }
}

static bool share_bytes(const struct evaluation *v, value_id a, value_id b) {
    return byte_ranges_meet(v->bytes[a], v->bytes[b]);
}

static bool may_overwrite(const struct evaluation *v, uint32_t parameter) {
    if (v->unit->consumed[parameter])
        return true;
    for (uint32_t i = 0; i < v->unit->n_results; i++)
        // This saves time: what is made in the parameter's place is written there when the call has
        // ended, over a fault that nobody has read.
        if (v->unit->results[i].in_parameter == parameter)
            return true;
    return false;
}

// An op wrote value `id`: what had its bytes before is gone. A wait moves nothing.
static void overwrite(struct evaluation *v, value_id id, const struct op *op) {
    struct abstract_machine *m = v->machine;
    for (value_id other = 0; other < v->n_there; other++) {
        bool exists = other < v->unit->n_parameters || v->made[other];
        if (other == id || !exists || !share_bytes(v, id, other))
            continue;
        if (!v->dead[other])
            v->dead[other] = op;
        if (other < v->unit->n_parameters && !may_overwrite(v, other))
            v->clobbered[other] = true;
    }
    for (value_id flying = 0; v->n_started > 0 && flying < v->unit->n_values; flying++) {
        value_id source = v->source[flying];
        if (source == NO_ID || flying == id || op->kind == OP_WAIT || !share_bytes(v, id, source))
            continue;
        v->values[flying] = judgement_fault(fault_make(
            m->proof, E610, op->span, NULL, "`%s` overwrites `%s` while a collective reads it",
            v->unit->values[id].name, v->unit->values[source].name));
    }
}

static void note_made(struct evaluation *v, value_id id, const struct op *op) {
    v->made[id] = op;
    v->n_there = id < v->n_there ? v->n_there : id + 1;
}

static bool is_added_by_kernel(const struct evaluation *v, value_id id) {
    const struct op *made = v->made[id];
    bool kernel = made && (op_rows[made->kind].kernel == KERNEL_CALL ||
                           op_rows[made->kind].kernel == KERNEL_PRODUCT);
    return kernel && v->unit->values[id].storage == STORAGE_INLINE;
}

// The place of the sum that the kernel adds to is its own from here on, and who writes there before
// the op that adds it takes it away.
static void write_sum(struct evaluation *v, const struct op *kernel, value_id term) {
    for (uint32_t i = 0; i < v->unit->n_ops; i++) {
        const struct op *op = &v->unit->ops[i];
        if (!op_adds_term(op->kind) || op->operands[1] != term)
            continue;
        note_made(v, op->results[0], kernel);
        overwrite(v, op->results[0], kernel);
    }
}

// Whether the op adds to a sum what its kernel has added by then, and nobody wrote there before.
static bool is_added_already(const struct evaluation *v, const struct op *op) {
    return op_adds_term(op->kind) && is_added_by_kernel(v, op->operands[1]) &&
           v->dead[op->operands[0]] == v->made[op->operands[1]];
}

// The number of the op that made a value; -1: it is a parameter.
static ptrdiff_t made_at(const struct evaluation *v, value_id id) {
    return v->made[id] ? v->made[id] - v->unit->ops : -1;
}

// What the kernel of an op's term reads where it runs itself, and in its place, but is not there
// yet: the sum, or the number of the microbatch. NO_ID: nothing.
static value_id missing_at_kernel(const struct evaluation *v, const struct op *op) {
    value_id term = op->operands[1];
    if (!op_adds_term(op->kind) || !is_added_by_kernel(v, term))
        return NO_ID;
    for (unsigned i = 0; i < op->n_operands; i++) {
        value_id read = op->operands[i];
        if (read != term && (made_at(v, read) >= made_at(v, term) ||
                             v->unit->values[read].storage == STORAGE_INLINE))
            return read;
    }
    return NO_ID;
}

// The judgement of a value where an op reads it; `added`: it is a sum whose place holds the new one
// already. What an inline value is made of is read where that is, and then it is no such sum: the
// kernel would add to what it multiplies.
static struct judgement read_value(struct evaluation *v, value_id id, const struct op *op,
                                   bool added) {
    struct abstract_machine *m = v->machine;
    const struct value *value = &v->unit->values[id];
    if (v->dead[id] && !added)
        return judgement_fault(fault_make(m->proof, E611, op->span, NULL,
                                          "`%s` is read after `%s` took its place", value->name,
                                          v->unit->values[v->dead[id]->results[0]].name));
    if (v->source[id] != NO_ID && op->kind != OP_WAIT)
        return judgement_fault(fault_make(m->proof, E610, op->span, NULL,
                                          "`%s` is read before anything waits for it",
                                          value->name));
    if (value->storage == STORAGE_INLINE && v->made[id])
        for (unsigned i = 0; i < v->made[id]->n_operands; i++) {
            struct judgement inner = read_value(v, v->made[id]->operands[i], op, false);
            if (inner.fault)
                return inner;
        }
    return v->values[id];
}

// ---- ops --------------------------------------------------------------------------------------

static void start_op(struct evaluation *v, const struct op *op, const struct exchange *exchange,
                     const struct judgement *from) {
    const struct tensor_type *source = &v->unit->values[op->operands[0]].type;
    const struct tensor_type *target = &v->unit->values[op->results[0]].type;
    int64_t chunk = type_elements(exchange->kind == COLLECTIVE_ALL_GATHER ? source : target);
    v->values[op->results[0]] =
        collective_apply(v->machine->proof, v->builder, exchange, chunk, from, op->span);
    v->source[op->results[0]] = op->operands[0];
    v->n_started++;
}

static void wait_op(struct evaluation *v, const struct op *op, const struct judgement *from) {
    v->values[op->results[0]] = *from;
    if (v->source[op->operands[0]] == NO_ID)
        fault_insist(v->machine->proof,
                     fault_make(v->machine->proof, E612, op->span, NULL,
                                "this waits for `%s`, of which nothing is on its way",
                                v->unit->values[op->operands[0]].name));
    v->source[op->operands[0]] = NO_ID;
}

static void check_form(struct evaluation *v, const struct op *op, value_id id) {
    struct judgement *value = &v->values[id];
    const struct tensor_type *type = &v->unit->values[id].type;
    struct abstract_machine *m = v->machine;
    if (value->fault || form_fits(&m->world->digits, value->form, type))
        return;
    *value = judgement_fault(fault_make(
        m->proof, E510, op->span, NULL, "`%s` is %s, which is not what its type says",
        v->unit->values[id].name, form_text(&m->world->digits, m->world->arena, value->form)));
}

// What is this term already, as the value of which the result is a cast, has its name: what is made of
// either is one.
static void name_alike(struct evaluation *v, value_id id, struct term named, struct term name) {
    for (value_id i = 0; i < id; i++)
        if (!v->values[i].fault && term_equal(v->values[i].value.of, named))
            v->values[i].value.of = name;
}

// A result that the reference makes in a loop over layers gets a name of its own: the call, and the
// layer. In loops in one another that would be one name for several values. Sums over the step keep
// their normal form instead.
static void name_result(struct evaluation *v, const struct op *op, value_id id) {
    struct abstract_machine *m = v->machine;
    struct judgement *value = &v->values[id];
    if (!m->proof->is_reference || m->cursor->depth != 1 || op->kind == OP_ACCUMULATE)
        return;
    int kind = term_kind(m->world->terms, value->value.of);
    if (kind >= N_OPS && kind != NODE_SUM)
        return;
    for (uint32_t i = 0; i < v->unit->n_results; i++) {
        if (v->unit->results[i].value != id)
            continue;
        char key[256];
        uint32_t number[2] = {m->cursor->statement->id, i};
        memcpy(key, number, sizeof number);
        int length = snprintf(key + sizeof number, sizeof key - sizeof number, "%s",
                              v->unit->values[id].name);
        size_t room = sizeof key - sizeof number - 1;
        size_t text = (size_t)length < room ? (size_t)length : room;
        uint32_t name =
            intern(&m->world->terms->attributes, key, (uint32_t)(sizeof number + text + 1), NULL);
        struct term leaf = term_leaf(v->builder, NODE_RESULT, name, true,
                                     m->cursor->variables[m->cursor->depth - 1]);
        term_alias(m->world->terms, value->value.of, leaf);
        readings_named(m->proof->readings, value->value.of.node,
                       in_layers_around(m->cursor, value->value.of), leaf.node,
                       in_layers_around(m->cursor, leaf));
        struct alias_made made = {value->value.of, leaf};
        ARENA_PUSH(m->world->arena, m->memo.made, m->memo.n_made, m->memo.cap_made, made);
        name_alike(v, id, value->value.of, leaf);
        value->value.of = leaf;
        history_made(m->proof, value, NULL);
        return;
    }
}

static void evaluate_op(struct evaluation *v, const struct op *op) {
    struct judgement operands[MAX_OPERANDS], results[MAX_RESULTS];
    for (unsigned i = 0; i < op->n_operands; i++)
        operands[i] = read_value(v, op->operands[i], op, i == 0 && is_added_already(v, op));
    value_id missing = missing_at_kernel(v, op);
    if (missing != NO_ID)
        operands[0] = judgement_fault(fault_make(
            v->machine->proof, E611, op->span, NULL,
            "`%s` has no place yet when what makes `%s` adds %s", v->unit->values[missing].name,
            v->unit->values[op->operands[1]].name, missing == op->operands[0] ? "to it" : "by it"));
    struct exchange exchange;
    bool exchanges = op_exchange(op, &exchange);
    history_begin(v->machine->proof, op, exchanges ? &exchange : NULL, op->span, operands,
                  op->n_operands);
    v->builder->site = exchanges ? &v->machine->cursor->statement->span : &op->span;
    if (exchanges) {
        start_op(v, op, &exchange, &operands[0]);
    } else if (op->kind == OP_WAIT) {
        wait_op(v, op, &operands[0]);
    } else if (op->kind == OP_SLICE) {
        v->values[op->results[0]] = slice_apply(
            v->machine->proof, &exchange.axes, exchange.dim,
            type_elements(&v->unit->values[op->results[0]].type), &operands[0], op->span);
        v->values[op->results[0]].padding =
            PADDING_ZEROS; // a value has nothing behind its elements
    } else {
        op_apply(v->machine->proof, v->builder, v->unit, op, operands, results);
        for (unsigned i = 0; i < op->n_results; i++)
            v->values[op->results[i]] = results[i];
    }
    rounds_behind(v->rounds, op, v->values);
    for (unsigned i = 0; i < op->n_results; i++) {
        note_made(v, op->results[i], op);
        check_form(v, op, op->results[i]);
        if (op->kind != OP_WAIT)
            history_made(v->machine->proof, &v->values[op->results[i]],
                         v->unit->values[op->results[i]].name);
        name_result(v, op, op->results[i]);
        overwrite(v, op->results[i], op);
        if (is_added_by_kernel(v, op->results[i]))
            write_sum(v, op, op->results[i]);
    }
    history_end(v->machine->proof);
}

// Looking through the unit's values, and putting sums together, takes time with their number.
enum { COMPARED_FOR_ONE_OP = 256 };

// False: the budget was spent.
static bool evaluate_ops(struct evaluation *v) {
    struct abstract_machine *m = v->machine;
    const int64_t *n_compared = &m->world->terms->n_compared;
    for (uint32_t i = 0; i < v->unit->n_ops; i++) {
        int64_t before = *n_compared;
        evaluate_op(v, &v->unit->ops[i]);
        m->budget -= 1 + (*n_compared - before + v->unit->n_values) / COMPARED_FOR_ONE_OP;
        if (m->budget < 0)
            return false;
    }
    return true;
}

static void give_up(struct abstract_machine *m, const struct unit *unit,
                    struct judgement *results) {
    struct fault *fault = step_overrun(
        m, m->cursor->statement,
        arena_format(m->world->arena,
                     "to follow unit `%s` takes too long: it has %u values, and each is compared "
                     "with all others, as are the summands of its sums",
                     unit->name, unit->n_values));
    fault->help = "make two units of it, or let it add up less in one value";
    for (uint32_t i = 0; i < unit->n_results; i++)
        results[i] = judgement_fault(fault);
}

static void check_all_waited(struct evaluation *v) {
    for (value_id id = 0; id < v->unit->n_values; id++)
        if (v->source[id] != NO_ID)
            fault_insist(v->machine->proof,
                         fault_make(v->machine->proof, E612, v->made[id]->span, NULL,
                                    "nothing waits for `%s` before the unit ends",
                                    v->unit->values[id].name));
}

static void finish_results(struct evaluation *v, struct judgement *results) {
    struct abstract_machine *m = v->machine;
    static const struct op end = {.kind = N_OPS};
    for (uint32_t i = 0; i < v->unit->n_results; i++) {
        value_id id = v->unit->results[i].value;
        const struct op *made = v->made[id] ? v->made[id] : &end;
        results[i] = read_value(v, id, made, false);
        // Bytes behind an accumulator's elements are untouched where it is added to in place, and
        // where a sum of codes takes its place.
        uint32_t place = v->unit->results[i].in_parameter;
        bool untouched = op_has(made->kind, LEAVES_PADDING);
        if (place != NO_ID && !results[i].fault && untouched &&
            !(results[i].form != FORM_ANY && form_is_flat(&m->world->digits, results[i].form)))
            results[i].padding = v->values[place].padding;
    }
}

// One value's entries of all arrays, so that one allocation serves every evaluation.
struct scratch_value {
    struct judgement value;
    const struct op *dead, *made;
    struct byte_range bytes;
    value_id root, source;
    bool clobbered;
};

static void take_scratch(struct evaluation *v, uint32_t n) {
    struct abstract_machine *m = v->machine;
    if (n > m->scratch_values) {
        m->scratch = arena_alloc(m->world->arena, n * sizeof(struct scratch_value));
        m->scratch_values = n;
    }
    memset(m->scratch, 0, n * sizeof(struct scratch_value));
    v->values = m->scratch;
    v->dead = (const struct op **)(v->values + n);
    v->made = v->dead + n;
    v->bytes = (struct byte_range *)(v->made + n);
    v->root = (value_id *)(v->bytes + n);
    v->source = v->root + n;
    v->clobbered = (bool *)(v->source + n);
}

void unit_evaluate(struct abstract_machine *m, struct builder *builder, const struct unit *unit,
                   const struct judgement *operands, struct judgement *results,
                   struct judgement *parameters) {
    uint32_t n = unit->n_values + 1;
    struct evaluation v = {.machine = m,
                           .builder = builder,
                           .unit = unit,
                           .rounds = rounds_new(m->proof, unit),
                           .n_there = unit->n_parameters};
    take_scratch(&v, n);
    memset(v.source, 0xff, n * sizeof *v.source);
    memcpy(v.values, operands, unit->n_parameters * sizeof *operands);
    find_roots(&v);
    find_bytes(&v);
    memcpy(parameters, operands, unit->n_parameters * sizeof *operands);
    if (!evaluate_ops(&v)) {
        give_up(m, unit, results);
        return;
    }
    check_all_waited(&v);
    finish_results(&v, results);
    if (m->proof->sought)
        rewrite_results(m->proof, builder, unit, results);
    for (uint32_t i = 0; m->proof->is_reference && m->cursor->depth == 0 && i < unit->n_results;
         i++)
        note_outcome(m->proof, &results[i]);
    for (uint32_t i = 0; i < unit->n_parameters; i++) {
        if (v.clobbered[i])
            parameters[i] =
                judgement_fault(fault_make(m->proof, E611, unit->span, NULL,
                                           "unit `%s` overwrites `%s`, which its caller keeps",
                                           unit->name, unit->values[i].name));
    }
}
