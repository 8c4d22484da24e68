// Units: evaluates a unit's ops in order on judgements, with the memory its values were given.
//
// Memory is part of what is proved. A result overwrites whatever shares its bytes: the value it is
// in place of, and values of the frame that overlap. Reading one of those later is a fault, and so
// is overwriting the source of a collective that is in flight. An inline value has no bytes: its
// operands must still be there where it is used. One that a kernel makes is added to a sum by that
// kernel, so the sum is written there and not where the op stands that adds it.
//
// A call is remembered by its operands' judgements with layers and microbatches relative to the
// first of them, so that a block is evaluated once for all microbatches and all layers but the
// first and the last. Aliases of terms hold for absolute indices; a memo keeps which it asked for
// and is used only where all answer the same.
#include "verify/algebra/attributes.h"
#include "verify/algebra/facts.h"
#include "verify/algebra/given.h"
#include "verify/machine/engine.h"
#include "verify/rules/rounds.h"

#include <string.h>

struct evaluation {
    struct engine *engine;
    struct rounds *rounds;
    const struct unit *unit;
    struct judgement *values;
    const struct op **dead;   // the op that overwrote a value's bytes; NULL: they are there
    const struct op **made;   // the op that made a value
    value_id *root;           // the value that has the bytes, parameters included
    struct byte_range *bytes; // which those are
    value_id *source;         // of a value in flight: what its collective reads; else NO_ID
    bool *clobbered;          // parameters that were overwritten although they may only be read
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

// In the unit's frame; below it whatever has a place of its own, as a byte of its number.
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
    struct engine *e = v->engine;
    for (value_id other = 0; other < v->unit->n_values; other++) {
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
        v->values[flying] = judgement_fault(
            fault_make(e, E610, op->span, NULL, "`%s` overwrites `%s` while a collective reads it",
                       v->unit->values[id].name, v->unit->values[source].name));
    }
}

static bool is_added_by_kernel(const struct evaluation *v, value_id id) {
    const struct op *made = v->made[id];
    bool kernel = made && (op_rows[made->kind].kernel == KERNEL_CALL ||
                           op_rows[made->kind].kernel == KERNEL_PRODUCT);
    return kernel && v->unit->values[id].storage == STORAGE_INLINE;
}

// From here on the place of the sum that the kernel adds to is its own, and who writes there before
// the op that adds it takes it away.
static void write_sum(struct evaluation *v, const struct op *kernel, value_id term) {
    for (uint32_t i = 0; i < v->unit->n_ops; i++) {
        const struct op *op = &v->unit->ops[i];
        if (!op_adds_term(op->kind) || op->operands[1] != term)
            continue;
        v->made[op->results[0]] = kernel;
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
    struct engine *e = v->engine;
    const struct value *value = &v->unit->values[id];
    if (v->dead[id] && !added)
        return judgement_fault(fault_make(e, E611, op->span, NULL,
                                          "`%s` is read after `%s` took its place", value->name,
                                          v->unit->values[v->dead[id]->results[0]].name));
    if (v->source[id] != NO_ID && op->kind != OP_WAIT)
        return judgement_fault(fault_make(
            e, E610, op->span, NULL, "`%s` is read before anything waits for it", value->name));
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
    v->values[op->results[0]] = collective_apply(v->engine, exchange, chunk, from, op->span);
    v->source[op->results[0]] = op->operands[0];
    v->n_started++;
}

static void wait_op(struct evaluation *v, const struct op *op, const struct judgement *from) {
    v->values[op->results[0]] = *from;
    if (v->source[op->operands[0]] == NO_ID)
        fault_insist(v->engine, fault_make(v->engine, E612, op->span, NULL,
                                           "this waits for `%s`, of which nothing is on its way",
                                           v->unit->values[op->operands[0]].name));
    v->source[op->operands[0]] = NO_ID;
}

static void check_form(struct evaluation *v, const struct op *op, value_id id) {
    struct judgement *value = &v->values[id];
    const struct tensor_type *type = &v->unit->values[id].type;
    struct engine *e = v->engine;
    if (value->fault || form_fits(&e->digits, value->form, type))
        return;
    *value = judgement_fault(
        fault_make(e, E510, op->span, NULL, "`%s` is %s, which is not what its type says",
                   v->unit->values[id].name, form_text(&e->digits, e->arena, value->form)));
}

// Where the reference makes a result in a loop over layers, the result gets a name of its own: the
// call, and the layer. In loops in one another that would be one name for several values. Sums over
// the step keep their normal form instead.
static void name_result(struct evaluation *v, const struct op *op, value_id id) {
    struct engine *e = v->engine;
    struct judgement *value = &v->values[id];
    if (!e->is_reference || e->depth != 1 || op->kind == OP_ACCUMULATE)
        return;
    int kind = term_kind(e->terms, value->value.of);
    if (kind >= N_OPS && kind != NODE_SUM)
        return;
    for (uint32_t i = 0; i < v->unit->n_results; i++) {
        if (v->unit->results[i].value != id)
            continue;
        char key[256];
        uint32_t number[2] = {e->statement->id, i};
        memcpy(key, number, sizeof number);
        int length = snprintf(key + sizeof number, sizeof key - sizeof number, "%s",
                              v->unit->values[id].name);
        size_t room = sizeof key - sizeof number - 1;
        size_t text = (size_t)length < room ? (size_t)length : room;
        uint32_t name =
            intern(&e->terms->attributes, key, (uint32_t)(sizeof number + text + 1), NULL);
        struct term leaf = term_leaf(e->terms, NODE_RESULT, name, true, e->variables[e->depth - 1]);
        term_alias(e->terms, value->value.of, leaf);
        struct alias_made made = {value->value.of, leaf};
        ARENA_PUSH(e->arena, e->made, e->n_made, e->cap_made, made);
        value->value.of = leaf;
        history_made(e, value, NULL);
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
            v->engine, E611, op->span, NULL, "`%s` has no place yet when what makes `%s` adds %s",
            v->unit->values[missing].name, v->unit->values[op->operands[1]].name,
            missing == op->operands[0] ? "to it" : "by it"));
    struct exchange exchange;
    bool exchanges = op_exchange(op, &exchange);
    history_begin(v->engine, op, exchanges ? &exchange : NULL, op->span, operands, op->n_operands);
    if (exchanges) {
        start_op(v, op, &exchange, &operands[0]);
    } else if (op->kind == OP_WAIT) {
        wait_op(v, op, &operands[0]);
    } else if (op->kind == OP_SLICE) {
        v->values[op->results[0]] = slice_apply(
            v->engine, &exchange.axes, exchange.dim,
            type_elements(&v->unit->values[op->results[0]].type), &operands[0], op->span);
    } else {
        op_apply(v->engine, v->unit, op, operands, results);
        for (unsigned i = 0; i < op->n_results; i++)
            v->values[op->results[i]] = results[i];
    }
    rounds_behind(v->rounds, op, v->values);
    for (unsigned i = 0; i < op->n_results; i++) {
        v->made[op->results[i]] = op;
        check_form(v, op, op->results[i]);
        if (op->kind != OP_WAIT)
            history_made(v->engine, &v->values[op->results[i]],
                         v->unit->values[op->results[i]].name);
        name_result(v, op, op->results[i]);
        overwrite(v, op->results[i], op);
        if (is_added_by_kernel(v, op->results[i]))
            write_sum(v, op, op->results[i]);
    }
    history_end(v->engine);
}

static void check_all_waited(struct evaluation *v) {
    for (value_id id = 0; id < v->unit->n_values; id++)
        if (v->source[id] != NO_ID)
            fault_insist(v->engine, fault_make(v->engine, E612, v->made[id]->span, NULL,
                                               "nothing waits for `%s` before the unit ends",
                                               v->unit->values[id].name));
}

static void finish_results(struct evaluation *v, struct judgement *results) {
    struct engine *e = v->engine;
    static const struct op end = {.kind = N_OPS};
    for (uint32_t i = 0; i < v->unit->n_results; i++) {
        value_id id = v->unit->results[i].value;
        const struct op *made = v->made[id] ? v->made[id] : &end;
        results[i] = read_value(v, id, made, false);
        // Bytes behind an accumulator's elements are untouched where it is added to in place, and
        // where a sum of codes takes its place.
        uint32_t place = v->unit->results[i].in_parameter;
        bool untouched =
            op_adds_term(made->kind) || made->kind == OP_CARRY || made->kind == OP_DECOMPRESS;
        if (place != NO_ID && !results[i].fault && untouched &&
            !(results[i].form != FORM_ANY && form_is_flat(&e->digits, results[i].form)))
            results[i].clean = v->values[place].clean;
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
    struct engine *e = v->engine;
    if (n > e->scratch_values) {
        e->scratch = arena_alloc(e->arena, n * sizeof(struct scratch_value));
        e->scratch_values = n;
    }
    memset(e->scratch, 0, n * sizeof(struct scratch_value));
    v->values = e->scratch;
    v->dead = (const struct op **)(v->values + n);
    v->made = v->dead + n;
    v->bytes = (struct byte_range *)(v->made + n);
    v->root = (value_id *)(v->bytes + n);
    v->source = v->root + n;
    v->clobbered = (bool *)(v->source + n);
}

static void evaluate(struct engine *e, const struct unit *unit, const struct judgement *operands,
                     struct judgement *results, struct judgement *parameters) {
    uint32_t n = unit->n_values + 1;
    struct evaluation v = {.engine = e, .unit = unit, .rounds = rounds_new(e, unit)};
    take_scratch(&v, n);
    memset(v.source, 0xff, n * sizeof *v.source);
    memcpy(v.values, operands, unit->n_parameters * sizeof *operands);
    find_roots(&v);
    find_bytes(&v);
    e->budget -= unit->n_ops;
    for (uint32_t i = 0; i < unit->n_ops; i++)
        evaluate_op(&v, &unit->ops[i]);
    check_all_waited(&v);
    finish_results(&v, results);
    if (e->rewrites)
        rewrite_results(e, unit, results);
    for (uint32_t i = 0; e->is_reference && e->depth == 0 && i < unit->n_results; i++)
        note_outcome(e, &results[i]);
    for (uint32_t i = 0; i < unit->n_parameters; i++) {
        parameters[i] = operands[i];
        if (v.clobbered[i])
            parameters[i] = judgement_fault(fault_make(
                e, E611, unit->span, NULL, "unit `%s` overwrites `%s`, which its caller keeps",
                unit->name, unit->values[i].name));
    }
}

// ---- memo -------------------------------------------------------------------------------------

struct key_operand { // fields of one width: keys have no padding
    uint32_t node, scale, form, partial, own, partial_max, bits, coverage, leaves, fault, rest;
    int32_t at, microbatch;
};
struct call_key {
    uint32_t unit;
    int32_t loop; // the reference's layer, relative to the base: results are named after it
    uint32_t in_time_loop;
    uint32_t caller; // the reference's: results are named after the call
    struct key_operand operands[];
};

static bool is_of_time(const struct engine *e, const struct judgement *value) {
    return (value->form != FORM_ANY && form_get(&e->digits, value->form)->time) ||
           leaves_of_time(e, value);
}

// The number of a microbatch is no layer's: what `carry` makes of it holds for that one alone.
static bool is_of_layer(struct engine *e, struct term term) {
    return term_indexed(e->terms, term) && // this saves time: others are recalled less often
           !is_given_by_host(e->terms, term, HOST_MICROBATCH);
}

// Those of the first operand that has any. What was collected from some microbatches holds their
// own numbers, and so is one thing in one microbatch only.
static struct coordinates base_of(struct engine *e, const struct judgement *operands, uint32_t n) {
    struct coordinates base = {e->depth ? e->variables[e->depth - 1] : 0, 0};
    bool layer = false, microbatch = false, collected = false;
    for (uint32_t i = 0; i < n; i++) {
        if (operands[i].fault)
            continue;
        struct term of = operands[i].value.of;
        if (!layer && is_of_layer(e, of))
            base.layer = of.at;
        layer = layer || is_of_layer(e, of);
        if (!microbatch && is_of_time(e, &operands[i]))
            base.microbatch = operands[i].microbatch;
        microbatch = microbatch || is_of_time(e, &operands[i]);
        collected = collected || term_is_collected(e->terms, of);
    }
    if (collected)
        base.microbatch = 0;
    return base;
}

static struct coordinates from_to(struct coordinates from, struct coordinates to) {
    return (struct coordinates){to.layer - from.layer, to.microbatch - from.microbatch};
}

static struct term moved_term(struct engine *e, struct term term, struct coordinates by) {
    if (is_of_layer(e, term))
        term.at += by.layer;
    return by.microbatch ? sum_move_microbatches(e->terms, term, by.microbatch) : term;
}

static void move(struct engine *e, struct judgement *values, uint32_t n, struct coordinates by) {
    for (uint32_t i = 0; i < n; i++) {
        if (values[i].fault)
            continue;
        values[i].value.of = moved_term(e, values[i].value.of, by);
        if (is_of_time(e, &values[i]))
            values[i].microbatch += by.microbatch;
    }
}

static uint32_t key_of(struct engine *e, uint32_t unit_id, const struct judgement *operands,
                       uint32_t n, struct coordinates base, bool *added) {
    uint32_t size = (uint32_t)(sizeof(struct call_key) + n * sizeof(struct key_operand));
    _Alignas(8) char bytes[8192];
    struct call_key *key =
        size <= sizeof bytes ? (struct call_key *)bytes : arena_alloc(e->arena, size);
    memset(key, 0, sizeof *key);
    key->unit = unit_id;
    if (e->is_reference && e->depth)
        key->loop = e->variables[e->depth - 1] - base.layer;
    key->caller = e->is_reference ? e->statement->id : 0;
    for (int i = 0; i < e->depth; i++)
        key->in_time_loop |= e->time_loop[i];
    for (uint32_t i = 0; i < n; i++) {
        const struct judgement *from = &operands[i];
        bool indexed = !from->fault && is_of_layer(e, from->value.of);
        key->operands[i] = (struct key_operand){
            .node = from->value.of.node,
            .scale = from->value.scale,
            .form = from->form,
            .partial = from->partial,
            .own = from->own,
            .partial_max = from->partial_max,
            .bits = from->bits,
            .coverage = from->coverage,
            .leaves = from->leaves,
            .fault = from->fault ? from->fault->order : 0,
            .rest = from->dtype | (uint32_t)from->clean << 8,
            .at = from->value.of.at - (indexed ? base.layer : 0),
            .microbatch = from->microbatch - (is_of_time(e, from) ? base.microbatch : 0),
        };
    }
    return intern(&e->memo_keys, key, size, added);
}

static void recall(struct engine *e, const struct unit *unit, const struct judgement *operands,
                   struct judgement *results) {
    history_begin(e, NULL, NULL, e->statement->span, operands, unit->n_parameters);
    for (uint32_t i = 0; i < unit->n_results; i++)
        history_recall(e, &results[i], unit->values[unit->results[i].value].name);
    history_end(e);
}

// A scale that holds a scalar of one layer cannot be moved to another. Of some microbatches none
// holds any: what multiplies must be whole (rule.c).
static bool scales_move(const struct engine *e) {
    for (uint32_t i = 0; i < e->terms->scales.n; i++) {
        const struct scale *scale = scale_get(e->terms, i);
        for (uint32_t k = 0; k < scale->n_factors; k++)
            if (term_indexed(e->terms, scale->factors[k].of))
                return false;
    }
    return true;
}

// The entry's aliases, asked for again at this place. In the reference those that it made hold for
// one layer more. What was decided by comparing numbers that depend on a symbol was noted for the
// attempt in which it was asked, and would have to be asked again in another.
static bool memo_fits(struct engine *e, const struct memo_entry *entry, struct coordinates by) {
    if ((!entry->movable && (by.layer || by.microbatch)) ||
        (entry->attempt && entry->attempt != e->attempt))
        return false;
    for (uint32_t i = 0; i < entry->n_uses; i++) {
        struct term of = moved_term(e, entry->uses[i].of, by);
        struct term as = moved_term(e, entry->uses[i].as, by);
        if (!term_equal(term_follow(e->terms, of), as))
            return false;
    }
    for (uint32_t i = 0; i < entry->n_made; i++)
        term_alias(e->terms, moved_term(e, entry->made[i].of, by),
                   moved_term(e, entry->made[i].as, by));
    return true;
}

static void remember(struct engine *e, struct memo_entry *entry, const struct unit *unit,
                     const struct judgement *results, const struct judgement *parameters,
                     struct coordinates base, bool decided) {
    *entry = (struct memo_entry){
        .results = arena_copy(e->arena, results, unit->n_results * sizeof *results),
        .parameters = arena_copy(e->arena, parameters, unit->n_parameters * sizeof *parameters),
        .uses = arena_copy(e->arena, e->terms->uses, e->terms->n_uses * sizeof *entry->uses),
        .n_uses = e->terms->n_uses,
        .made = arena_copy(e->arena, e->made, e->n_made * sizeof *entry->made),
        .n_made = e->n_made,
        .base = base,
        .movable = !e->terms->fixed && scales_move(e),
        .attempt = decided ? e->attempt : 0,
    };
}

void unit_evaluate(struct engine *e, const struct unit *unit, uint32_t unit_id,
                   const struct judgement *operands, struct judgement *results,
                   struct judgement *parameters) {
    struct coordinates base = base_of(e, operands, unit->n_parameters);
    bool added;
    uint32_t key = key_of(e, unit_id, operands, unit->n_parameters, base, &added);
    if (added) {
        struct memo_entry none = {0};
        ARENA_PUSH(e->arena, e->memos, e->n_memos, e->cap_memos, none);
    }
    struct memo_entry *entry = &e->memos[key];
    struct coordinates by = from_to(entry->base, base);
    if (!added && entry->results && !e->without_memo && memo_fits(e, entry, by)) {
        memcpy(results, entry->results, unit->n_results * sizeof *results);
        memcpy(parameters, entry->parameters, unit->n_parameters * sizeof *parameters);
        move(e, results, unit->n_results, by);
        move(e, parameters, unit->n_parameters, by);
        recall(e, unit, operands, results);
        return;
    }
    e->terms->n_uses = 0;
    e->n_made = 0;
    e->terms->fixed = false;
    e->terms->logging = true;
    e->terms->naming = e->is_reference;
    history_begin(e, NULL, NULL, e->statement->span, operands, unit->n_parameters);
    history_end(e);
    uint32_t serial = e->terms->serial, answers = e->terms->symbols.answers;
    evaluate(e, unit, operands, results, parameters);
    e->terms->logging = false;
    if (e->terms->serial != serial) // what is unknown here is another thing in the next call
        entry->results = NULL;
    else
        remember(e, entry, unit, results, parameters, base, e->terms->symbols.answers != answers);
}
