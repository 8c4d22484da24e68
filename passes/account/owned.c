// Statements about what has owners: how often the first of them, who owns as much as any, is the one.
#include "passes/account/account.h"

// How many values of the variable, of those that the loops around give it, the member of number 0 has:
// loops that go with the one around them are counted out, the others each by itself.
static int64_t count_owned(const struct statement_walk *walk, int variable, int64_t first,
                           const struct ownership *owner, int64_t members) {
    const struct loop *loop = walk_loop(walk, variable);
    int64_t n = 0;
    for (int64_t k = loop->begin; k < loop->end; k++) {
        int64_t value = first + k;
        if (variable == owner->item.variable)
            n += index_at(index_variable(-1, owner->item.offset + value, owner->item.modulus),
                          NULL) %
                     members ==
                 0;
        else
            n += count_owned(walk, variable + 1, walk_loop(walk, variable + 1)->stride * value,
                             owner, members);
    }
    return n;
}

static int64_t owned_trips(const struct statement_walk *walk, const struct ownership *owner,
                           int64_t members) {
    int outermost = owner->item.variable;
    int64_t trips = walk_trips(walk), counted = 1;
    if (outermost < 0)
        return index_at(owner->item, NULL) % members == 0 ? trips : 0;
    while (walk_loop(walk, outermost)->stride)
        outermost--;
    for (int i = outermost; i <= owner->item.variable; i++)
        counted *= walk_loop(walk, i)->end - walk_loop(walk, i)->begin;
    return counted ? trips / counted * count_owned(walk, outermost, 0, owner, members) : 0;
}

int64_t account_trips(const struct program *program, const struct statement_walk *walk) {
    struct ownership owner = statement_ownership(program, walk->statement);
    int64_t members = mesh_group_size(&program->job->mesh, &owner.axes), trips = walk_trips(walk);
    bool starts = walk->statement->kind == STATEMENT_START;
    const struct exchange *exchange = starts ? &walk->statement->start.exchange : NULL;
    if (members == 1 || (starts && !exchange_has_owner(exchange)))
        return trips;
    int64_t owned = owned_trips(walk, &owner, members);
    return starts && exchange->kind == COLLECTIVE_REDUCE ? trips - owned : owned;
}
