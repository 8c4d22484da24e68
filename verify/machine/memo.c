// What calls make, remembered.
//
// A call is remembered by its operands' judgements with layers and microbatches relative to the
// first of them, so that a block is evaluated once for all microbatches and all layers but the
// first and the last. Aliases of terms hold for absolute indices; a memo keeps which it asked for
// and is used only where all answer the same.
#include "verify/machine/machine.h"

#include <string.h>

#include "verify/algebra/given.h"
#include "verify/machine/sides.h"

struct key_operand { // fields of one width: keys have no padding
    struct judgement_key value;
    uint32_t node;
    int32_t at, microbatch;
};
struct call_key {
    uint32_t unit;
    int32_t loop; // the reference's layer, relative to the base: results are named after it
    uint32_t in_time_loop;
    uint32_t caller; // the reference's: results are named after the call
    struct key_operand operands[];
};

// The number of a microbatch is no layer's: what `carry` makes of it holds for that one alone.
static bool is_of_layer(struct world *w, struct term term) {
    return term_indexed(w->terms, term) && // this saves time: others are recalled less often
           !is_given_by_host(w->terms, term, HOST_MICROBATCH);
}

// Those of the first operand that has any. What was collected from some microbatches holds their
// own numbers, and so is one thing in one microbatch only.
static struct coordinates base_of(struct abstract_machine *m, const struct judgement *operands,
                                  uint32_t n) {
    struct coordinates base = {m->cursor->depth ? m->cursor->variables[m->cursor->depth - 1] : 0,
                               0};
    bool layer = false, microbatch = false, collected = false;
    for (uint32_t i = 0; i < n; i++) {
        if (operands[i].fault)
            continue;
        struct term of = operands[i].value.of;
        if (!layer && is_of_layer(m->world, of))
            base.layer = of.at;
        layer = layer || is_of_layer(m->world, of);
        if (!microbatch && judgement_of_time(m->world, &operands[i]))
            base.microbatch = operands[i].microbatch;
        microbatch = microbatch || judgement_of_time(m->world, &operands[i]);
        collected = collected || term_is_collected(m->world->terms, of);
    }
    if (collected)
        base.microbatch = 0;
    return base;
}

static struct coordinates from_to(struct coordinates from, struct coordinates to) {
    return (struct coordinates){to.layer - from.layer, to.microbatch - from.microbatch};
}

static struct term moved_term(struct world *w, struct term term, struct coordinates by) {
    if (is_of_layer(w, term))
        term.at += by.layer;
    if (!by.microbatch)
        return term;
    struct builder builder = {.terms = w->terms};
    return sum_move_microbatches(&builder, term, by.microbatch);
}

static void move(struct world *w, struct judgement *values, uint32_t n, struct coordinates by) {
    for (uint32_t i = 0; i < n; i++) {
        if (values[i].fault)
            continue;
        values[i].value.of = moved_term(w, values[i].value.of, by);
        if (judgement_of_time(w, &values[i]))
            values[i].microbatch += by.microbatch;
    }
}

static uint32_t key_of(struct abstract_machine *m, struct memo *memo, uint32_t unit_id,
                       const struct judgement *operands, uint32_t n, struct coordinates base,
                       bool *added) {
    uint32_t size = (uint32_t)(sizeof(struct call_key) + n * sizeof(struct key_operand));
    _Alignas(8) char bytes[8192];
    struct call_key *key =
        size <= sizeof bytes ? (struct call_key *)bytes : arena_alloc(m->world->arena, size);
    memset(key, 0, sizeof *key);
    key->unit = unit_id;
    if (m->proof->is_reference && m->cursor->depth)
        key->loop = m->cursor->variables[m->cursor->depth - 1] - base.layer;
    key->caller = m->proof->is_reference ? m->cursor->statement->id : 0;
    for (int i = 0; i < m->cursor->depth; i++)
        key->in_time_loop |= m->cursor->time_loop[i];
    for (uint32_t i = 0; i < n; i++) {
        const struct judgement *from = &operands[i];
        bool indexed = !from->fault && is_of_layer(m->world, from->value.of);
        key->operands[i] = (struct key_operand){
            .value = judgement_key(from),
            .node = from->value.of.node,
            .at = from->value.of.at - (indexed ? base.layer : 0),
            .microbatch =
                from->microbatch - (judgement_of_time(m->world, from) ? base.microbatch : 0),
        };
    }
    return intern(&memo->keys, key, size, added);
}

static void recall(struct abstract_machine *m, const struct unit *unit,
                   const struct judgement *operands, struct judgement *results) {
    history_begin(m->proof, NULL, NULL, m->cursor->statement->span, operands, unit->n_parameters);
    for (uint32_t i = 0; i < unit->n_results; i++)
        history_recall(m->proof, &results[i], unit->values[unit->results[i].value].name);
    history_end(m->proof);
}

// A scale that holds a scalar of one layer cannot be moved to another. Of some microbatches none
// holds any: what multiplies must be whole (rule.c).
static bool scales_move(const struct world *w) {
    for (uint32_t i = 0; i < w->terms->scales.n; i++) {
        const struct scale *scale = scale_get(w->terms, i);
        for (uint32_t k = 0; k < scale->n_factors; k++)
            if (term_indexed(w->terms, scale->factors[k].of))
                return false;
    }
    return true;
}

// The entry's aliases, asked for again at this place. In the reference those that it made hold for
// one layer more. What was decided by comparing numbers that depend on a symbol was noted for the
// attempt in which it was asked, and would have to be asked again in another.
static bool memo_fits(struct abstract_machine *m, const struct memo_entry *entry,
                      struct coordinates by) {
    if ((!entry->movable && (by.layer || by.microbatch)) ||
        (entry->attempt && entry->attempt != m->attempt))
        return false;
    for (uint32_t i = 0; i < entry->n_uses; i++) {
        struct term of = moved_term(m->world, entry->uses[i].of, by);
        struct term as = moved_term(m->world, entry->uses[i].as, by);
        if (!term_equal(term_follow(m->world->terms, of), as))
            return false;
    }
    for (uint32_t i = 0; i < entry->n_made; i++)
        term_alias(m->world->terms, moved_term(m->world, entry->made[i].of, by),
                   moved_term(m->world, entry->made[i].as, by));
    return true;
}

static void remember(struct abstract_machine *m, const struct memo *memo, struct memo_entry *entry,
                     const struct unit *unit, const struct judgement *results,
                     const struct judgement *parameters, struct coordinates base) {
    struct arena *arena = memo->keys.arena;
    const struct memo *own = &m->memo;
    *entry = (struct memo_entry){
        .results = arena_copy(arena, results, unit->n_results * sizeof *results),
        .parameters = arena_copy(arena, parameters, unit->n_parameters * sizeof *parameters),
        .uses = arena_copy(arena, own->log.uses, own->log.n * sizeof *entry->uses),
        .n_uses = own->log.n,
        .made = arena_copy(arena, own->made, own->n_made * sizeof *entry->made),
        .n_made = own->n_made,
        .base = base,
    };
}

static bool has_collected(const struct abstract_machine *m, const struct judgement *operands,
                          uint32_t n) {
    bool collected = false;
    for (uint32_t i = 0; i < n && !collected; i++)
        collected = !operands[i].fault && term_is_collected(m->world->terms, operands[i].value.of);
    return collected;
}

enum { MOST_PASSING_BYTES = 1 << 20 };

// Where the call is remembered.
static struct memo *memo_of(struct abstract_machine *m, const struct judgement *operands,
                            uint32_t n) {
    // Parts call the same units; where a history is kept each tells of its own calls.
    bool own = !m->sides || m->proof->history;
    if (!m->between || !has_collected(m, operands, n))
        return own ? &m->memo : &m->sides->memo;
    struct memo *passing = own ? &m->passing : &m->sides->passing;
    struct arena *arena = &m->sides->passing_memory;
    if (arena_used_bytes(arena) > MOST_PASSING_BYTES)
        sides_forget(m->sides);
    passing->keys.arena = arena;
    return passing;
}

void call_evaluate(struct abstract_machine *m, const struct unit *unit, uint32_t unit_id,
                   const struct judgement *operands, struct judgement *results,
                   struct judgement *parameters) {
    struct coordinates base = base_of(m, operands, unit->n_parameters);
    bool added;
    struct memo *memo = memo_of(m, operands, unit->n_parameters);
    uint32_t key = key_of(m, memo, unit_id, operands, unit->n_parameters, base, &added);
    if (added) {
        struct memo_entry none = {0};
        ARENA_PUSH(memo->keys.arena, memo->entries, memo->n, memo->cap, none);
    }
    struct memo_entry *entry = &memo->entries[key];
    struct coordinates by = from_to(entry->base, base);
    if (!added && entry->results && !m->without_memo && memo_fits(m, entry, by)) {
        memcpy(results, entry->results, unit->n_results * sizeof *results);
        memcpy(parameters, entry->parameters, unit->n_parameters * sizeof *parameters);
        move(m->world, results, unit->n_results, by);
        move(m->world, parameters, unit->n_parameters, by);
        recall(m, unit, operands, results);
        return;
    }
    m->memo.log.n = 0;
    m->memo.n_made = 0;
    struct builder builder = statement_builder(m);
    builder.names = m->proof->is_reference ? NAMES_GIVEN : NAMES_FOLLOWED;
    builder.log = &m->memo.log;
    history_begin(m->proof, NULL, NULL, m->cursor->statement->span, operands, unit->n_parameters);
    history_end(m->proof);
    const struct terms *terms = m->world->terms;
    uint32_t serial = terms->serial, answers = terms->symbols.answers;
    unit_evaluate(m, &builder, unit, operands, results, parameters);
    if (terms->serial != serial) { // what is unknown here is another thing in the next call
        entry->results = NULL;
        return;
    }
    remember(m, memo, entry, unit, results, parameters, base);
    entry->movable = !builder.fixed && scales_move(m->world);
    entry->attempt = terms->symbols.answers != answers ? m->attempt : 0;
}
