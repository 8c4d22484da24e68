// Mistakes of who edits a text: a loop cut in two of which one half is changed, words of transfers
// and of units' headers, places that are exchanged, what is said twice, and several mistakes at
// once.
#include <string.h>

#include "tests/oracle/mutate_parts.h"

// ---- loops cut in two -------------------------------------------------------------------------

static bool drop_of_half(struct mutant *m, struct block *half) {
    uint32_t at = choose(m, half->n);
    touched(m, half->statements[at].span, "a loop cut in two, a statement dropped in one half");
    remove_statement(half, at);
    return true;
}

static bool exchange_in_half(struct mutant *m, struct block *half) {
    if (half->n < 2)
        return false;
    uint32_t at = choose(m, half->n - 1);
    struct statement moved = half->statements[at];
    touched(m, moved.span, "a loop cut in two, two statements exchanged in one half");
    half->statements[at] = half->statements[at + 1];
    half->statements[at + 1] = moved;
    return true;
}

static bool double_in_half(struct mutant *m, struct block *half) {
    uint32_t at = choose(m, half->n);
    struct statement copy = statement_clone(m->program->arena, m->program, &half->statements[at]);
    block_insert(m->program->arena, half, at, copy);
    return touched(m, copy.span, "a loop cut in two, a statement doubled in one half");
}

static bool index_in_half(struct mutant *m, struct block *half) {
    struct statement *statement = &half->statements[choose(m, half->n)];
    struct index *found = NULL;
    struct access access;
    int64_t count = 0;
    uint32_t n = 0;
    for (uint32_t i = 0; (access = statement_access(m->program, statement, i)).at; i++)
        for (unsigned k = 0; k < MAX_STACKS; k++)
            if (access.at->indices[k].variable >= 0 && choose(m, ++n) == 0) {
                found = &access.at->indices[k];
                count = m->program->buffers[access.at->buffer].stacks.list[k].count;
            }
    if (!found)
        return false;
    if (coin(m))
        found->offset += coin(m) ? 1 : -1;
    else
        found->modulus = 1 + choose(m, (uint32_t)count);
    return touched(m, statement->span, "a loop cut in two, another item in one half");
}

static bool other_direction_of_half(struct mutant *m, struct loop *half, struct span span) {
    half->descending = !half->descending;
    return touched(m, span, "a loop cut in two, one half the other way round");
}

static bool change_half(struct mutant *m, struct loop *half, struct span span) {
    switch (choose(m, 6)) {
    case 0:
        return drop_of_half(m, &half->body);
    case 1:
        return exchange_in_half(m, &half->body);
    case 2:
        return double_in_half(m, &half->body);
    case 3:
        return other_direction_of_half(m, half, span);
    default:
        return index_in_half(m, &half->body);
    }
}

bool cut_loop(struct mutant *m, struct statement **half, struct span *span) {
    struct site site;
    if (!choose_site(m, LOOPS, &site))
        return false;
    struct statement first = *statement_at(&site);
    int64_t trips = first.loop.end - first.loop.begin;
    if (first.loop.stride || trips < 2 || first.loop.body.n == 0)
        return false;
    struct statement second = statement_clone(m->program->arena, m->program, &first);
    int64_t cut = first.loop.begin + 1 + choose(m, (uint32_t)trips - 1);
    struct loop *low = first.loop.descending ? &second.loop : &first.loop;
    struct loop *high = first.loop.descending ? &first.loop : &second.loop;
    low->end = high->begin = cut;
    *statement_at(&site) = first;
    block_insert(m->program->arena, site.block, site.at + 1, second);
    *half = &site.block->statements[site.at + coin(m)];
    *span = first.span;
    return true;
}

// Cut, and nothing else, it does the same.
bool split_loop(struct mutant *m) {
    struct statement *half;
    struct span span;
    if (!cut_loop(m, &half, &span))
        return false;
    touched(m, span, "a loop cut in two");
    return choose(m, 8) == 0 || change_half(m, &half->loop, span);
}

// ---- words of transfers -----------------------------------------------------------------------

static bool change_exchange(struct mutant *m, struct exchange *exchange) {
    switch (choose(m, 6)) {
    case 0:
        exchange->operation = exchange->operation == OPERATION_SUM ? OPERATION_MAX : OPERATION_SUM;
        return true;
    case 1:
        exchange->shift += coin(m) ? 1 : -1;
        return true;
    case 2:
        exchange->dim += coin(m) ? 1 : -1;
        return exchange->dim >= -1;
    case 3:
        exchange->concat_dim += coin(m) ? 1 : -1;
        return exchange->concat_dim >= -1;
    default: {
        enum collective_kind other = (enum collective_kind)choose(m, COLLECTIVE_COPY);
        bool differs = other != exchange->kind;
        exchange->kind = other;
        return differs;
    }
    }
}

// Two transfers of a step under each other's handle: where they start, not where they are awaited.
static bool exchange_handles(struct mutant *m) {
    struct site one, two;
    if (!choose_site(m, STARTS, &one) || !choose_site(m, STARTS, &two) || one.step != two.step)
        return false;
    struct transfer *a = &statement_at(&one)->start, *b = &statement_at(&two)->start;
    uint32_t handle = a->handle;
    struct index index = a->handle_index;
    if (a->handle == b->handle)
        return false;
    a->handle = b->handle;
    a->handle_index = b->handle_index;
    b->handle = handle;
    b->handle_index = index;
    touched(m, statement_at(&one)->span, "the handles of two transfers exchanged");
    return touched(m, statement_at(&two)->span, m->what);
}

static bool change_transfer(struct mutant *m) {
    struct site site;
    return choose_site(m, STARTS, &site) &&
           change_exchange(m, &statement_at(&site)->start.exchange) &&
           touched(m, statement_at(&site)->span, "another word of a transfer");
}

static bool change_op_kind(struct mutant *m) {
    static const enum op_kind kinds[] = {OP_ALL_REDUCE, OP_REDUCE_SCATTER, OP_ALL_GATHER,
                                         OP_ALL_TO_ALL, OP_PERMUTE};
    struct op_site site;
    if (!choose_op(m, is_collective, &site))
        return false;
    struct op *op = op_at(&site);
    enum op_kind before = op->kind;
    op->kind = kinds[choose(m, sizeof kinds / sizeof *kinds)];
    if (op->kind == OP_PERMUTE && !op_attribute(op, ATTRIBUTE_SHIFT))
        op_set_integer(m->program->arena, op, ATTRIBUTE_SHIFT, 1 + choose(m, 2));
    return op->kind != before && touched(m, op->span, "another collective in a unit");
}

bool other_transfer(struct mutant *m) {
    switch (choose(m, 4)) {
    case 0:
        return exchange_handles(m);
    case 1:
        return change_op_kind(m);
    default:
        return change_transfer(m);
    }
}

// ---- headers of units -------------------------------------------------------------------------

static bool other_consumed(struct mutant *m, struct unit *unit) {
    if (unit->n_parameters == 0)
        return false;
    uint32_t i = choose(m, unit->n_parameters);
    unit->consumed[i] = !unit->consumed[i];
    return true;
}

// Another parameter's place, or none.
static bool other_in_place(struct mutant *m, struct unit *unit) {
    if (unit->n_results == 0 || unit->n_parameters == 0)
        return false;
    struct unit_result *result = &unit->results[choose(m, unit->n_results)];
    uint32_t before = result->in_parameter;
    result->in_parameter = coin(m) ? NO_ID : choose(m, unit->n_parameters);
    return result->in_parameter != before;
}

static bool other_result(struct mutant *m, struct unit *unit) {
    if (unit->n_results < 2)
        return false;
    struct unit_result *a = &unit->results[choose(m, unit->n_results)];
    struct unit_result *b = &unit->results[choose(m, unit->n_results)];
    value_id moved = a->value;
    a->value = b->value;
    b->value = moved;
    return a != b;
}

static bool other_frame(struct mutant *m, struct unit *unit) {
    uint32_t other = choose(m, m->program->job->n_units);
    uint32_t id = (uint32_t)(unit - m->program->job->units);
    const struct unit *of = &m->program->job->units[other];
    buffer_id frame = program_frame(m->program, other);
    if (frame == program_frame(m->program, id) && of->frame_bytes == unit->frame_bytes)
        return false;
    program_set_frame(m->program, id, frame);
    unit->frame_bytes = coin(m) ? of->frame_bytes : unit->frame_bytes;
    return true;
}

static bool call_other_unit(struct mutant *m) {
    struct site one, two;
    if (!choose_site(m, CALLS, &one) || !choose_site(m, CALLS, &two))
        return false;
    uint32_t *a = &statement_at(&one)->call.unit, b = statement_at(&two)->call.unit;
    const struct unit *was = &m->program->job->units[*a], *is = &m->program->job->units[b];
    if (*a == b || was->n_parameters != is->n_parameters || was->n_results != is->n_results)
        return false;
    *a = b;
    return touched(m, statement_at(&one)->span, "a call of another unit");
}

bool other_header(struct mutant *m) {
    struct unit *unit = &m->program->job->units[choose(m, m->program->job->n_units)];
    bool changed;
    switch (choose(m, 6)) {
    case 0:
        changed = other_consumed(m, unit);
        break;
    case 1:
        changed = other_in_place(m, unit);
        break;
    case 2:
        changed = other_result(m, unit);
        break;
    case 3:
        changed = other_frame(m, unit);
        break;
    default:
        return call_other_unit(m);
    }
    return changed && touched(m, unit->span, "another header of a unit");
}

// ---- places exchanged -------------------------------------------------------------------------

static bool exchange_buffers(struct mutant *m) {
    struct program *program = m->program;
    struct buffer *a = &program->buffers[choose(m, program->n_buffers)];
    struct buffer *b = &program->buffers[choose(m, program->n_buffers)];
    int64_t moved = a->offset_bytes;
    if (a->window_of != NO_ID || b->window_of != NO_ID || a->offset_bytes == b->offset_bytes)
        return false;
    a->offset_bytes = b->offset_bytes;
    b->offset_bytes = moved;
    touched(m, a->span, "the places of two buffers exchanged");
    return touched(m, b->span, m->what);
}

static bool exchange_values(struct mutant *m) {
    struct unit *unit = &m->program->job->units[choose(m, m->program->job->n_units)];
    struct value *a = &unit->values[choose(m, unit->n_values)];
    struct value *b = &unit->values[choose(m, unit->n_values)];
    int64_t moved = a->offset_bytes;
    if (a->storage != STORAGE_FRAME || b->storage != STORAGE_FRAME ||
        a->offset_bytes == b->offset_bytes)
        return false;
    a->offset_bytes = b->offset_bytes;
    b->offset_bytes = moved;
    for (uint32_t i = 0; i < unit->n_ops; i++)
        for (unsigned k = 0; k < unit->ops[i].n_results; k++)
            if (&unit->values[unit->ops[i].results[k]] == a ||
                &unit->values[unit->ops[i].results[k]] == b)
                touched(m, unit->ops[i].span, "the places of two values exchanged");
    return true;
}

bool exchange_places(struct mutant *m) {
    return choose(m, 3) ? exchange_buffers(m) : exchange_values(m);
}

// ---- said twice -------------------------------------------------------------------------------

static bool same_item(const struct mutant *m, struct reference a, struct reference b) {
    struct tensor_type one = buffer_type(m->program, &m->program->buffers[a.buffer]);
    struct tensor_type two = buffer_type(m->program, &m->program->buffers[b.buffer]);
    return type_equal(&one, &two) && !reference_equal(&a, &b);
}

static bool double_argument(struct mutant *m) {
    struct site site;
    if (!choose_site(m, CALLS, &site))
        return false;
    struct call *call = &statement_at(&site)->call;
    const struct unit *unit = &m->program->job->units[call->unit];
    bool results = unit->n_results && coin(m);
    uint32_t n = results ? unit->n_results : unit->n_parameters;
    struct reference *all = results ? call->results : call->operands;
    if (n < 2)
        return false;
    uint32_t a = choose(m, n), b = choose(m, n);
    if (!same_item(m, all[a], all[b]))
        return false;
    all[a] = all[b];
    return touched(m, statement_at(&site)->span, "an argument said twice");
}

static bool double_piece(struct mutant *m) {
    struct site site;
    if (!choose_site(m, STARTS, &site))
        return false;
    struct transfer *start = &statement_at(&site)->start;
    struct transfer_piece *a = &start->pieces[choose(m, start->n_pieces)];
    struct transfer_piece *b = &start->pieces[choose(m, start->n_pieces)];
    bool from = coin(m), to = !from || coin(m);
    if (!same_item(m, a->from, b->from) || !same_item(m, a->to, b->to))
        return false;
    a->from = from ? b->from : a->from;
    a->to = to ? b->to : a->to;
    return touched(m, statement_at(&site)->span, "a piece of a transfer said twice");
}

static bool double_free(struct mutant *m) {
    struct site site;
    if (!choose_site(m, FREES, &site))
        return false;
    struct statement *statement = statement_at(&site);
    uint32_t n = statement->free.n_items;
    struct reference *items = ARENA_ARRAY(m->program->arena, struct reference, n + 1);
    memcpy(items, statement->free.items, n * sizeof *items);
    items[n] = items[choose(m, n)];
    statement->free.items = items;
    statement->free.n_items = n + 1;
    return touched(m, statement->span, "an item freed twice at once");
}

static bool double_operand(struct mutant *m) {
    struct unit *unit = &m->program->job->units[choose(m, m->program->job->n_units)];
    struct op *op = unit->n_ops ? &unit->ops[choose(m, unit->n_ops)] : NULL;
    if (!op || op->n_operands < 2)
        return false;
    value_id *a = &op->operands[choose(m, op->n_operands)];
    value_id *b = &op->operands[choose(m, op->n_operands)];
    if (*a == *b || !type_equal(&unit->values[*a].type, &unit->values[*b].type))
        return false;
    *a = *b;
    return touched(m, op->span, "an operand said twice");
}

bool said_twice(struct mutant *m) {
    switch (choose(m, 6)) {
    case 0:
        return double_piece(m);
    case 1:
        return double_free(m);
    case 2:
        return double_operand(m);
    default:
        return double_argument(m);
    }
}

// ---- several at once --------------------------------------------------------------------------

bool several(struct mutant *m) {
    static bool (*const functions[])(struct mutant *) = {
#define MUTATION(NAME, text, function) function,
#define ROUNDING(NAME, text, function)
#define PIPELINE(NAME, text, function)
#include "tests/oracle/mutations.def"
#undef MUTATION
#undef ROUNDING
#undef PIPELINE
    };
    enum { MAX_TRIED = 30 };
    uint32_t wanted = 2 + choose(m, 4), made = 0;
    for (uint32_t i = 0; i < MAX_TRIED && made < wanted; i++) {
        enum mutation mutation = (enum mutation)choose(m, N_MUTATIONS);
        struct mutant next = *m;
        if (mutation == MUTATION_SEVERAL)
            continue;
        clone_job(&next, m->program->arena, m->job);
        bool planted = functions[mutation](&next);
        m->random = next.random;
        if (planted) {
            *m = next;
            made++;
        }
    }
    m->what = arena_format(m->program->arena, "%u mistakes at once", made);
    return made > 1;
}
