// The structure of what owners do; see checker.h. What a call, a zero or a transfer names of owners is
// one owner's, so that it is known, whatever the number of the layer, who executes it or is sent to.
#include "ir/checker.h"

static const struct buffer *buffer_at(const struct checker *c, const struct reference *at) {
    return &c->program->buffers[at->buffer];
}

static bool has_owners(const struct checker *c, const struct reference *at) {
    return buffer_at(c, at)->layout.owners.n > 0;
}

// Whether it is one index, or, of slots that are used in turn, one owner's, of so many.
static bool same_owner(struct index a, struct index b, int64_t members) {
    bool slots = a.modulus || b.modulus || members == 1;
    bool congruent = a.modulus % members == 0 && b.modulus % members == 0 &&
                     (a.offset - b.offset) % members == 0;
    return index_equal(a, b) || (slots && congruent && (a.variable == b.variable || members == 1));
}

static const char *check_one_owner(struct checker *c, const struct statement *statement,
                                   const struct ownership *owner) {
    int64_t members = mesh_group_size(&c->job->mesh, &owner->axes);
    struct access access;
    for (uint32_t i = 0; (access = statement_access(c->program, statement, i)).at; i++) {
        const struct buffer *buffer = buffer_at(c, access.at);
        if (buffer->layout.owners.n && (!axis_list_equal(&buffer->layout.owners, &owner->axes) ||
                                        !same_owner(access.at->indices[0], owner->item, members)))
            return arena_format(c->arena,
                                "`%s` is of another owner, or another layer, than what else is "
                                "named here",
                                buffer->name);
    }
    return NULL;
}

// Who is no owner does not execute the call, and so takes part in nothing that it starts.
static const char *check_unit_alone(struct checker *c, const struct unit *unit,
                                    const struct ownership *owner) {
    for (uint32_t i = 0; i < unit->n_ops; i++) {
        struct exchange exchange;
        if (op_exchange(&unit->ops[i], &exchange) &&
            axis_list_mask(&exchange.axes) & axis_list_mask(&owner->axes))
            return arena_format(c->arena,
                                "unit %s is executed by owners alone, and starts a collective over "
                                "the axes that they are on",
                                unit->name);
    }
    return NULL;
}

// What devices that own the same have each a summand of, they sum in place over other axes; so do all
// others with what has no meaning.
static bool sums_between_owners(const struct checker *c, const struct exchange *exchange,
                                const struct transfer_piece *piece) {
    const struct buffer *buffer = buffer_at(c, &piece->from);
    return exchange->kind == COLLECTIVE_ALL_REDUCE && buffer->window_of != NO_ID &&
           reference_equal(&piece->from, &piece->to) &&
           !(axis_list_mask(&buffer->layout.owners) & axis_list_mask(&exchange->axes));
}

// Each piece of a copy is its owner's alone, who has both of its ends.
static const char *check_copy(struct checker *c, const struct transfer *start) {
    for (uint32_t i = 0; i < start->n_pieces; i++) {
        const struct reference *from = &start->pieces[i].from, *to = &start->pieces[i].to;
        const struct axis_list *owners = &buffer_at(c, from)->layout.owners;
        if (!axis_list_equal(owners, &buffer_at(c, to)->layout.owners) ||
            (owners->n &&
             !same_owner(from->indices[0], to->indices[0], mesh_group_size(&c->job->mesh, owners))))
            return arena_format(
                c->arena,
                "a copy of `%s` to `%s`, which do not have the same owner: an owner "
                "copies between what it has itself",
                buffer_at(c, from)->name, buffer_at(c, to)->name);
    }
    return NULL;
}

// A sum goes to its owner; what an owner has goes to all.
static const char *check_transfer(struct checker *c, const struct transfer *start) {
    const struct exchange *exchange = &start->exchange;
    bool reduces = exchange->kind == COLLECTIVE_REDUCE;
    for (uint32_t i = 0; i < start->n_pieces; i++) {
        const struct reference *from = &start->pieces[i].from, *to = &start->pieces[i].to;
        const struct reference *owned = reduces ? to : from, *other = reduces ? from : to;
        bool fits = exchange_has_owner(exchange)
                        ? axis_list_equal(&buffer_at(c, owned)->layout.owners, &exchange->axes) &&
                              !has_owners(c, other)
                        : (!has_owners(c, from) && !has_owners(c, to)) ||
                              sums_between_owners(c, exchange, &start->pieces[i]);
        if (!fits)
            return arena_format(c->arena,
                                "a %s of `%s` to `%s`: a reduce goes to what has owners over its "
                                "axes, a broadcast comes from there, and nothing else names such",
                                collective_names[exchange->kind], buffer_at(c, from)->name,
                                buffer_at(c, to)->name);
    }
    return NULL;
}

const char *check_ownership(struct checker *c, const struct statement *statement) {
    const char *wrong = NULL;
    if (statement->kind == STATEMENT_START && is_copy(&statement->start))
        return check_copy(c, &statement->start);
    if (statement->kind == STATEMENT_START)
        wrong = check_transfer(c, &statement->start);
    if (wrong || statement->kind == STATEMENT_FREE)
        return wrong;
    struct ownership owner = statement_ownership(c->program, statement);
    if (owner.axes.n == 0)
        return NULL;
    wrong = check_one_owner(c, statement, &owner);
    if (!wrong && statement->kind == STATEMENT_CALL)
        wrong = check_unit_alone(c, &c->job->units[statement->call.unit], &owner);
    return wrong;
}
