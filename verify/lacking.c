// What is lacking in what an op reads: layers that a loop does not go over, and what was there
// before it was cleared too early.
#include "verify/cause.h"

#include <inttypes.h>

// Of what led to the value the last op in a loop that added the node, of whatever layer.
static const struct making *last_added(struct engine *e, uint32_t made, uint32_t node) {
    struct lineage way = lineage_of(e, made, false);
    for (uint32_t id; (id = lineage_next(&way));) {
        const struct making *making = making_at(e, id);
        for (uint32_t i = 0; is_sum(making) && making->loop && i < making->n_operands; i++) {
            uint32_t operand = making_operand(e->history, making, i);
            if (operand && making_at(e, operand)->value.of.node == node)
                return making;
        }
    }
    return NULL;
}

static int64_t layers_of(const struct engine *e, struct scaled value, uint32_t node) {
    int64_t n = 0;
    for (uint32_t i = 0; i < e->terms->nodes[value.of.node].n_parts; i++) {
        struct summand summand = sum_part(e->terms, value, i);
        n += summand.node == node ? summand.end - summand.at : 0;
    }
    return n;
}

const struct statement *empty_loop(const struct block *block) {
    for (uint32_t i = 0; i < block->n; i++) {
        const struct statement *statement = &block->statements[i];
        if (statement->kind != STATEMENT_LOOP)
            continue;
        if (!statement->loop.stride && statement->loop.begin >= statement->loop.end)
            return statement;
        const struct statement *inside = empty_loop(&statement->loop.body);
        if (inside)
            return inside;
    }
    return NULL;
}

// The first summand of the whole of which the part has some layers only.
static bool find_lacking(const struct engine *e, struct scaled part, struct scaled whole,
                         struct summand *lacks) {
    for (uint32_t i = 0; i < e->terms->nodes[whole.of.node].n_parts; i++) {
        *lacks = sum_part(e->terms, whole, i);
        int64_t n = layers_of(e, part, lacks->node);
        if (n > 0 && n < layers_of(e, whole, lacks->node))
            return true;
    }
    return false;
}

// The op is given a sum that lacks layers: those that a loop does not go over.
static struct fault *loop_fault(struct engine *e, const struct making *reader) {
    for (uint32_t i = 0; i < reader->n_operands; i++) {
        uint32_t operand = making_operand(e->history, reader, i);
        struct scaled part, whole;
        struct summand lacks;
        if (!operand)
            continue;
        part = making_at(e, operand)->value;
        if (term_kind(e->terms, part.of) != NODE_SUM || !history_whole(e, part, &whole) ||
            !find_lacking(e, part, whole, &lacks))
            continue;
        const struct making *added = last_added(e, operand, lacks.node);
        const struct statement *loop = empty_loop(&e->program->steps[STEP_TRAIN].body);
        if (!loop && added)
            loop = added->loop;
        if (!loop)
            continue;
        struct fault *fault =
            fault_make(e, E412, loop->span, "it goes over some only",
                       "`%s` has %" PRId64 " of the %" PRId64 " layers' `%s` when `%s` uses it",
                       making_at(e, operand)->name, layers_of(e, part, lacks.node),
                       layers_of(e, whole, lacks.node),
                       term_text(e, (struct scaled){{lacks.node, lacks.at}, SCALE_ONE}, 1),
                       op_rows[reader->op->kind].text);
        fault_also(fault, reader->span, "here all are needed");
        return fault;
    }
    return NULL;
}

static bool is_read(const struct engine *e, uint32_t made) {
    for (uint32_t id = made + 1; id <= e->history->n; id++) {
        const struct making *making = making_at(e, id);
        for (uint32_t i = 0; i < making->n_operands; i++)
            if (making_operand(e->history, making, i) == made)
                return true;
    }
    return false;
}

static bool is_clear(const struct making *making) {
    return !making->op && making->n_operands == 0;
}

// What is cleared again and again was cleared by the first of them.
const struct making *clears_unread(const struct engine *e, const struct making *making) {
    if (!is_clear(making))
        return NULL;
    while (making->replaces && making->is_unchanged && is_clear(making_at(e, making->replaces)))
        making = making_at(e, making->replaces);
    bool unread = making->replaces && !making->is_unchanged && !is_read(e, making->replaces);
    return making->hides || unread ? making : NULL;
}

const struct making *clearing(struct engine *e, uint32_t made, bool in_time) {
    struct lineage way = lineage_of(e, made, true);
    for (uint32_t id; (id = lineage_next(&way));) {
        const struct making *making = making_at(e, id), *first = clears_unread(e, making);
        if (in_time ? is_clear(making) && making->time_loop : first != NULL)
            return in_time ? making : first;
    }
    return NULL;
}

// What led to the value and cleared what nobody had read.
static struct fault *clearing_fault(struct engine *e, const struct making *reader) {
    for (uint32_t i = 0; i < reader->n_operands; i++) {
        const struct making *cleared = clearing(e, making_operand(e->history, reader, i), false);
        if (!cleared)
            continue;
        struct fault *fault =
            fault_make(e, E412, cleared->span, NULL,
                       "`%s` is cleared before anything reads what it held", cleared->name);
        fault_also(fault, reader->span, "it is read here");
        return fault;
    }
    return NULL;
}

struct fault *lacking_fault(struct engine *e, const struct making *reader) {
    struct fault *fault = reader->op && !is_sum(reader) ? loop_fault(e, reader) : NULL;
    return fault ? fault : clearing_fault(e, reader);
}
