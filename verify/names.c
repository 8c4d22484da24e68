// Names of results of calls in loops over layers: a name stands for the result, and what the next
// layer makes of it is said of the name. So terms do not grow with the layers, and what a layer
// makes is that of the one before, one index further.
//
// Every such result of the reference has one. What the final program makes mostly is one of these;
// what is not has to be told as it is, for it may come to a value of the reference's further on.
// But where that has not happened after some calls in a row, it would grow with every layer, and
// no invariant of the loop be found (induction.c). Then it gets a name, too: of the call, the
// layer, and which of several values it is. No name stands for two values, so nothing is taken for
// equal that is not.
#include "verify/engine.h"

#include <stdio.h>
#include <string.h>

enum {
    MAX_CALLS = 4, // in a row, of which nothing is the reference's: then what they make is named
    MAX_VALUES = 7 // of one result in one layer: in loops around they may be different
};

// The leaf for result `i` of this call in this layer; of the final program's, the `nth` value from
// 1 on.
static struct term leaf_of(struct engine *e, const struct unit *unit, uint32_t i, uint32_t nth) {
    char key[256];
    uint32_t number[2] = {e->statement->id, i << 3 | nth};
    memcpy(key, number, sizeof number);
    int length = snprintf(key + sizeof number, sizeof key - sizeof number, "%s",
                          unit->values[unit->results[i].value].name);
    size_t room = sizeof key - sizeof number - 1;
    size_t text = (size_t)length < room ? (size_t)length : room;
    uint32_t name = intern(&e->terms->attributes, key, (uint32_t)(sizeof number + text + 1), NULL);
    return term_leaf(e->terms, NODE_RESULT, name, true, e->variables[e->depth - 1]);
}

static void give_name(struct engine *e, struct judgement *value, struct term leaf) {
    struct alias_made made = {value->value.of, leaf};
    term_alias(e->terms, made.of, made.as);
    ARENA_PUSH(e->arena, e->made, e->n_made, e->cap_made, made);
    value->value.of = leaf;
}

// In loops in one another that would be one name for several values. Sums over the step keep their
// normal form instead.
void name_result(struct engine *e, const struct unit *unit, uint32_t i, struct judgement *value) {
    if (e->depth != 1 || value->fault)
        return;
    int kind = term_kind(e->terms, value->value.of);
    if (kind >= N_OPS && kind != NODE_SUM)
        return;
    give_name(e, value, leaf_of(e, unit, i, 0));
    history_made(e, value, NULL);
}

// ---- what is not the reference's --------------------------------------------------------------

static bool is_own(const struct engine *e, const struct judgement *value) {
    return !value->fault && value->value.of.node >= e->first_own_node;
}

bool name_is_of(struct engine *e, struct term leaf, struct term value) {
    struct term named = term_unnamed(e->terms, leaf);
    return term_equal(named, leaf) || term_equal(named, value);
}

// A value of one layer, whole.
static bool can_be_named(struct engine *e, const struct judgement *value) {
    struct sum parts = {0};
    int kind = term_kind(e->terms, value->value.of);
    return !e->terms->nodes[value->value.of.node].symbolic && value->form != FORM_ANY &&
           value->coverage == COVERAGE_COMPLETE &&
           (kind < N_OPS || (kind == NODE_SUM && sum_plain(e->terms, &parts, value->value)));
}

static void name_own(struct engine *e, const struct unit *unit, uint32_t i,
                     struct judgement *value) {
    for (uint32_t nth = 1; nth <= MAX_VALUES; nth++) {
        struct term leaf = leaf_of(e, unit, i, nth);
        if (!name_is_of(e, leaf, value->value.of))
            continue;
        e->terms->nodes[leaf.node].n_calls = MAX_CALLS;
        history_begin(e, NULL, NULL, e->statement->span, value, 1);
        give_name(e, value, leaf);
        history_recall(e, value, unit->values[unit->results[i].value].name);
        history_end(e);
        return;
    }
}

unsigned calls_before(const struct engine *e, const struct judgement *operands, uint32_t n) {
    unsigned most = 0;
    for (uint32_t i = 0; i < n; i++)
        if (is_own(e, &operands[i]) && e->terms->nodes[operands[i].value.of.node].n_calls > most)
            most = e->terms->nodes[operands[i].value.of.node].n_calls;
    return most;
}

void name_own_result(struct engine *e, const struct unit *unit, uint32_t i, unsigned n_before,
                     struct judgement *value) {
    if (e->is_reference || e->depth == 0 || e->time_loop[e->depth - 1] || !is_own(e, value))
        return;
    struct node *node = &e->terms->nodes[value->value.of.node];
    unsigned n_calls = n_before < MAX_CALLS ? n_before + 1 : MAX_CALLS;
    if (node->n_calls < n_calls)
        node->n_calls = (uint8_t)n_calls;
    if (node->n_calls == MAX_CALLS && can_be_named(e, value))
        name_own(e, unit, i, value);
}
