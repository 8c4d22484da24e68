// What collectives do, whether an op of a unit or a start of a step begins them: who takes part,
// and which sizes go together.
#include "ir/ir.h"

#include <string.h>

// False for an op that is no collective. An operation that the table does not have is N_OPERATIONS,
// which program_check refuses.
bool op_exchange(const struct op *op, struct exchange *exchange) {
    const struct attribute *operation = op_attribute(op, ATTRIBUTE_OPERATION);
    *exchange =
        (struct exchange){.axes = op_axes(op), .dim = (int)op_integer(op, ATTRIBUTE_DIM, -1)};
    if (operation) {
        int found = table_find(operation_names, N_OPERATIONS, operation->word);
        exchange->operation = found < 0 ? N_OPERATIONS : (enum operation)found;
    }
    switch (op->kind) {
#define COLLECTIVE(name, text)                                                                     \
    case OP_##name:                                                                                \
        exchange->kind = COLLECTIVE_##name;                                                        \
        return true;
#include "ir/collectives.def"
#undef COLLECTIVE
    default:
        return false;
    }
}

// ---- sizes ------------------------------------------------------------------------------------

// Is `part` what a device has of `whole`? Along a dimension exactly; flat, at least so much.
static bool sizes_fit(const struct tensor_type *whole, const struct tensor_type *part, int dim,
                      int64_t parts) {
    // The whole may be a flat shard itself, cut by other axes, and the parts padded for more.
    if (dim < 0)
        return part->rank == 1 && parts * type_elements(part) >= type_elements(whole);
    bool fits = dim < whole->rank && whole->rank == part->rank;
    for (int i = 0; fits && i < whole->rank; i++)
        fits = whole->dims[i].size == part->dims[i].size * (i == dim ? parts : 1);
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
    default:
        return type_equal(from, to);
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
struct axis_list *program_groups(const struct program *program, struct arena *arena, uint32_t *n) {
    struct groups groups = {.arena = arena};
    for (uint32_t u = 0; u < program->n_units; u++)
        for (uint32_t i = 0; i < program->units[u].n_ops; i++) {
            struct exchange exchange;
            if (op_exchange(&program->units[u].ops[i], &exchange))
                add_group(&groups, &exchange.axes);
        }
    for (int s = 0; s < N_STEPS; s++) {
        struct statement_walk walk = walk_statements(&program->steps[s].body);
        while (walk_next(&walk))
            if (walk.statement->kind == STATEMENT_START)
                add_group(&groups, &walk.statement->start.exchange.axes);
    }
    *n = groups.n;
    return groups.lists;
}
