// What collectives do, whether an op of a unit or a start of a step begins them: who takes part,
// which sizes go together, and by which algorithm values travel.
#include "ir/ir.h"

#include <string.h>

#include "ir/limits.h"

struct exchange exchange_flat(enum collective_kind kind, const struct axis_list *axes) {
    return (struct exchange){.kind = kind, .axes = *axes, .dim = -1, .concat_dim = -1, .peer = -1};
}

enum collective_kind op_collective(enum op_kind kind) {
    static const enum op_kind ops[N_COLLECTIVES] = {
#define COLLECTIVE(name, text, does, op) op,
#include "ir/collectives.def"
#undef COLLECTIVE
    };
    int found = 0;
    while (found < N_COLLECTIVES && (ops[found] == N_OPS || ops[found] != kind))
        found++;
    return (enum collective_kind)found;
}

// False for an op that is no collective. An operation that the table does not have is N_OPERATIONS,
// which job_check refuses.
bool op_exchange(const struct op *op, struct exchange *exchange) {
    const struct attribute *operation = op_attribute(op, ATTRIBUTE_OPERATION);
    *exchange = (struct exchange){.axes = op_axes(op),
                                  .dim = (int)op_integer(op, ATTRIBUTE_DIM, -1),
                                  .concat_dim = (int)op_integer(op, ATTRIBUTE_CONCAT_DIM, -1),
                                  .shift = op_integer(op, ATTRIBUTE_SHIFT, 0),
                                  .peer = -1};
    if (operation) {
        int found = table_find(operation_names, N_OPERATIONS, operation->word);
        exchange->operation = found < 0 ? N_OPERATIONS : (enum operation)found;
    }
    exchange->kind = op_collective(op->kind);
    return exchange->kind != N_COLLECTIVES;
}

// ---- what makes sense -------------------------------------------------------------------------

const char *exchange_check(const struct exchange *exchange, enum dtype dtype) {
    bool of_owner = exchange_has_owner(exchange);
    bool reduces = collective_sums(exchange->kind);
    bool joins = exchange->kind == COLLECTIVE_ALL_TO_ALL;
    if (exchange->kind == COLLECTIVE_COPY && exchange->dim >= 0)
        return "a copy changes no dimension: it takes no `dim`";
    if (exchange->kind == COLLECTIVE_ALL_REDUCE && exchange->dim >= 0)
        return "an all_reduce changes no dimension: it takes no `dim`";
    if (of_owner && exchange->dim >= 0)
        return "what goes to an owner, or from it, is whole: it takes no `dim`";
    if (exchange_is_message(exchange) && exchange->dim >= 0)
        return "a message arrives as it was sent: it takes no `dim`";
    if (exchange->kind == COLLECTIVE_PERMUTE && exchange->dim >= 0)
        return "a permute changes no dimension: it takes no `dim`";
    if (joins != (exchange->concat_dim >= 0) || (joins && exchange->dim < 0))
        return "an all_to_all, and nothing else, has a `dim` that is split and a `concat_dim`";
    if (exchange->shift && exchange->kind != COLLECTIVE_PERMUTE)
        return "only a permute has a `shift`";
    if (exchange->operation && exchange->kind != COLLECTIVE_ALL_REDUCE)
        return "only an all_reduce has an `operation`";
    if (exchange->operation == N_OPERATIONS)
        return "the `operation` of an all_reduce is sum or max";
    if (reduces && dtype == DTYPE_I32)
        return "integers are not reduced over devices";
    return NULL;
}

// One dimension is cut into parts, of which each member gets one from all; another grows by as
// many.
static bool sizes_swap(const struct exchange *exchange, int64_t parts,
                       const struct tensor_type *from, const struct tensor_type *to) {
    int dim = exchange->dim, concat_dim = exchange->concat_dim;
    bool fits =
        dim < from->rank && concat_dim < from->rank && dim != concat_dim && from->rank == to->rank;
    for (int i = 0; fits && i < from->rank; i++)
        fits = size_times(to->dims[i].size, i == dim ? parts : 1) ==
               size_times(from->dims[i].size, i == concat_dim ? parts : 1);
    return fits;
}

// Is `part` what a device has of `whole`? Along a dimension exactly; flat, at least so much.
static bool sizes_fit(const struct tensor_type *whole, const struct tensor_type *part, int dim,
                      int64_t parts) {
    // The whole may be a flat shard itself, cut by other axes, and the parts padded for more.
    if (dim < 0)
        return part->rank == 1 && size_times(parts, type_elements(part)) >= type_elements(whole);
    bool fits = dim < whole->rank && whole->rank == part->rank;
    for (int i = 0; fits && i < whole->rank; i++)
        fits = whole->dims[i].size == size_times(part->dims[i].size, i == dim ? parts : 1);
    return fits;
}

bool exchange_fits(const struct exchange *exchange, const struct mesh *mesh,
                   const struct tensor_type *from, const struct tensor_type *to) {
    int64_t parts = mesh_group_size(mesh, &exchange->axes);
    if (from->dtype != to->dtype)
        return false;
    switch (exchange->kind) {
    case COLLECTIVE_REDUCE_SCATTER:
        return sizes_fit(from, to, exchange->dim, parts);
    case COLLECTIVE_ALL_GATHER:
        return sizes_fit(to, from, exchange->dim, parts);
    case COLLECTIVE_ALL_TO_ALL:
        return sizes_swap(exchange, parts, from, to);
    default:
        return type_equal(from, to);
    }
}

// ---- algorithms -----------------------------------------------------------------------------------

// A small all_reduce, be it a sum, a maximum or the bins of a sum of squares, goes to all others at
// once while these are few. An all_gather and a reduce_scatter have no such form: rounds
// would save them messages and no byte, and what they carry are parameters and gradients, of which
// one collective has many.
enum algorithm exchange_algorithm(const struct exchange *exchange, int64_t members, int64_t bytes) {
    switch (exchange->kind) {
    case COLLECTIVE_ALL_REDUCE:
        if (bytes > LIMIT_SMALL_ALL_REDUCE_BYTES)
            return ALGORITHM_RING;
        return members > LIMIT_DIRECT_MEMBERS ? ALGORITHM_DOUBLING : ALGORITHM_DIRECT;
    case COLLECTIVE_ALL_TO_ALL:
    case COLLECTIVE_PERMUTE:
    case COLLECTIVE_REDUCE:
    case COLLECTIVE_BROADCAST:
    case COLLECTIVE_SEND:
    case COLLECTIVE_RECEIVE:
        return ALGORITHM_DIRECT;
    default:
        return ALGORITHM_RING;
    }
}

int exchange_rounds(int64_t members) {
    int rounds = 0;
    while (INT64_C(1) << rounds < members)
        rounds++;
    return rounds;
}

// A member climbs the tree from the leaf of its place, and gives in every round what it has. Where
// the tree has a leaf without a member half its width further on, the member climbs from there too,
// which has something to give once its node has a member; the two meet in the last round.
int64_t exchange_partials_sent(int64_t members, int64_t place) {
    int rounds = exchange_rounds(members);
    int64_t beside = place + (INT64_C(1) << rounds) / 2;
    if (beside < members || beside >= INT64_C(1) << rounds)
        return rounds;
    int64_t sent = rounds - 1;
    for (int round = 0; round < rounds - 1; round++)
        sent += beside >> round << round < members;
    return sent;
}

// The member that sends most is, of those with two leaves, the one whose second leaf is right
// behind the last member's: its node has a member from the first round on in which the last
// member's leaf and the next are of one node. Such a leaf climbs less high if the number of members
// is divided by two often.
int64_t exchange_most_partials(int64_t members) {
    int rounds = exchange_rounds(members);
    int64_t leaves = INT64_C(1) << rounds;
    int64_t two = leaves > members ? exchange_partials_sent(members, members - leaves / 2) : 0;
    return two > rounds ? two : rounds;
}

int64_t exchange_partial_bytes(enum dtype dtype, int64_t bytes) {
    bool narrow = dtype == DTYPE_BF16 || dtype == DTYPE_F16;
    return narrow ? size_times(bytes, dtype_bytes[DTYPE_F32] / dtype_bytes[dtype]) : bytes;
}

// Counts what ring algorithms send, which is the least (Patarasuk and Yuan, 2009): (N-1)/N of the
// whole, an all_reduce twice that. One that goes straight sends all to everybody, since latency
// counts there, and one in rounds all in each of log2 N; where N is no power of two members differ
// by some rounds, and the one counts that sends most.
int64_t exchange_sent_bytes(const struct exchange *exchange, enum algorithm algorithm,
                            enum dtype dtype, int64_t members, int64_t whole, int64_t unpadded) {
    int64_t others = whole / members * (members - 1);
    switch (exchange->kind) {
    case COLLECTIVE_ALL_REDUCE:
        if (algorithm == ALGORITHM_DOUBLING)
            return size_times(exchange_partial_bytes(dtype, unpadded),
                              exchange_most_partials(members));
        return algorithm == ALGORITHM_DIRECT ? size_times(unpadded, members - 1)
                                             : size_times(2, others);
    case COLLECTIVE_PERMUTE:
        return exchange->shift % members ? unpadded : 0;
    case COLLECTIVE_REDUCE:
    case COLLECTIVE_SEND:
        return unpadded;
    case COLLECTIVE_RECEIVE:
        return 0;
    case COLLECTIVE_BROADCAST:
        return size_times(unpadded, members - 1);
    default:
        return others;
    }
}

// ---- groups -----------------------------------------------------------------------------------

struct groups {
    struct arena *arena;
    struct axis_list *lists;
    uint32_t n, capacity;
};

static void add_group(struct groups *groups, const struct axis_list *axes) {
    for (uint32_t i = 0; i < groups->n; i++)
        if (axis_list_equal(&groups->lists[i], axes))
            return;
    ARENA_PUSH(groups->arena, groups->lists, groups->n, groups->capacity, *axes);
}

// Each list of axes once, in the order of the text: the ranks of a group are found once at the
// start.
struct axis_list *job_groups(const struct job *job, struct arena *arena, uint32_t *n) {
    struct groups groups = {.arena = arena};
    for (uint32_t u = 0; u < job->n_units; u++)
        for (uint32_t i = 0; i < job->units[u].n_ops; i++) {
            struct exchange exchange;
            if (op_exchange(&job->units[u].ops[i], &exchange))
                add_group(&groups, &exchange.axes);
        }
    for (uint32_t i = 0; i < job->n_programs; i++)
        for (int s = 0; s < N_STEPS; s++) {
            struct statement_walk walk = walk_statements(&job->programs[i]->steps[s].body);
            while (walk_next(&walk))
                if (walk.statement->kind == STATEMENT_START && !is_copy(&walk.statement->start))
                    add_group(&groups, &walk.statement->start.exchange.axes);
        }
    *n = groups.n;
    return groups.lists;
}
