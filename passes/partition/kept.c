// Partition, kept: what forward leaves behind for backward, and how it lies until then.
//
// As everything that is handed on, a kept value lies as its writer's work is divided. Where that is
// not how backward wants it, it is moved twice if forward has moved it already: values that Ulysses
// exchanges are made by tokens, and attention wants them by heads, in forward and in backward. So a
// value that only backward reads lies as one of its readers wants it if by that fewer bytes travel,
// in both passes together, and no device keeps more of it.
#include <string.h>

#include "ir/check.h"
#include "passes/partition/plan.h"
#include "passes/placement/work.h"

// Types of a value, each once.
struct types {
    struct sharding *items;
    uint32_t n, cap;
};

// A value that forward keeps.
struct kept {
    const struct tensor_type *type; // NULL: none of forward's calls has written it
    struct types had;               // by the unit that writes it
    struct types wanted;            // by calls in backward, those of each from its own on
    bool handed_on;                 // forward reads it, too
};

void find_kept(const struct plan *plan, struct division *divisions) {
    struct statement_walk walk = walk_statements(&plan->reference->steps[STEP_TRAIN].body);
    while (plan->reference->steps[STEP_TRAIN].present && walk_next(&walk)) {
        const struct call *call = &walk.statement->call;
        if (walk.statement->kind != STATEMENT_CALL)
            continue;
        const struct unit *unit = &plan->reference->job->units[call->unit];
        for (uint32_t i = 0; i < unit->n_parameters && unit->phase == PHASE_BACKWARD; i++)
            divisions[call->operands[i].buffer].kept |=
                reference_buffer(plan, call->operands[i])->class != CLASS_TRANSIENT;
    }
}

// ---- who has it, and who wants it -------------------------------------------------------------

static void add_type(struct arena *arena, struct types *types, uint32_t from,
                     const struct sharding *type) {
    for (uint32_t i = from; i < types->n; i++)
        if (sharding_equal(&types->items[i], type, MAX_RANK))
            return;
    ARENA_PUSH(arena, types->items, types->n, types->cap, *type);
}

static struct sharding operand_type(const struct plan *plan, const struct unit *unit,
                                    const struct op *op, unsigned operand, int64_t layer) {
    struct work_label labels[MAX_LABELS];
    struct axis_list cuts[MAX_LABELS];
    char letters[MAX_LABELS + 1];
    const struct work_rule *by[MAX_AXES];
    struct op_labels of;
    struct sharding type = {0};
    CHECK(op_labels_of(unit, op, &of));
    unsigned n = work_labels(unit, op, letters, labels);
    work_cuts(&plan->placement, (struct part){op->roles, op->n_roles, layer}, labels, n, cuts, by);
    for (unsigned d = 0; of.operands[operand][d]; d++)
        type.cuts[d] = cuts[strchr(letters, of.operands[operand][d]) - letters];
    return type;
}

// The types in which the unit's ops want a value.
static void add_types(const struct plan *plan, struct types *types, const struct unit *unit,
                      value_id value, int64_t layer) {
    uint32_t from = types->n;
    for (uint32_t i = 0; i < unit->n_ops; i++)
        for (unsigned k = 0; k < unit->ops[i].n_operands; k++) {
            if (unit->ops[i].operands[k] != value)
                continue;
            struct sharding type = operand_type(plan, unit, &unit->ops[i], k, layer);
            add_type(plan->arena, types, from, &type);
        }
}

static void note_written(const struct plan *plan, struct kept *kept, const struct unit *unit,
                         uint32_t result, int64_t layer) {
    value_id value = unit->results[result].value;
    struct sharding made = {0};
    if (!work_cuts_of_result(&plan->placement, unit, result, layer, false, made.cuts))
        return;
    kept->type = &unit->values[value].type;
    add_type(plan->arena, &kept->had, 0, &made);
    add_types(plan, &kept->had, unit, value, layer);
}

static void note_call(const struct plan *plan, struct kept *kept, const struct call *call,
                      int64_t layer) {
    const struct unit *unit = &plan->reference->job->units[call->unit];
    for (uint32_t i = 0; i < unit->n_parameters; i++) {
        struct kept *of = &kept[call->operands[i].buffer];
        of->handed_on |= unit->phase == PHASE_FORWARD;
        if (unit->phase == PHASE_BACKWARD)
            add_types(plan, &of->wanted, unit, i, layer);
    }
    for (uint32_t i = 0; i < unit->n_results && unit->phase == PHASE_FORWARD; i++)
        note_written(plan, &kept[call->results[i].buffer], unit, i, layer);
}

static struct kept *note_calls(const struct plan *plan) {
    struct kept *kept = ARENA_ARRAY(plan->arena, struct kept, plan->reference->n_buffers + 1);
    struct statement_walk walk = walk_statements(&plan->reference->steps[STEP_TRAIN].body);
    while (walk_next(&walk)) {
        const struct loop *loop = walk_loop(&walk, walk.depth - 1);
        int64_t layer = loop ? loop->begin : 0;
        if (walk.statement->kind != STATEMENT_CALL)
            continue;
        const struct cut_call *cut = find_cut_call(plan, walk.statement);
        for (uint32_t k = 0; k < (cut ? cut->n_pieces : 1); k++)
            note_call(plan, kept, cut ? &cut->pieces[k].call : &walk.statement->call, layer);
    }
    return kept;
}

// ---- how it lies ------------------------------------------------------------------------------

static int64_t elements_of(const struct plan *plan, const struct kept *kept,
                           const struct sharding *type) {
    struct tensor_type local;
    CHECK(sharding_local(plan, kept->type, type, &local));
    return type_elements(&local);
}

// What a device sends for the value in both passes if it lies so.
static int64_t cost_of(const struct plan *plan, const struct kept *kept,
                       const struct sharding *type) {
    int64_t least = redistribution_cost(plan, kept->type, kept->had.items[0], type), cost = 0;
    for (uint32_t i = 1; i < kept->had.n; i++) {
        int64_t from = redistribution_cost(plan, kept->type, kept->had.items[i], type);
        least = from < least ? from : least;
    }
    for (uint32_t i = 0; i < kept->wanted.n; i++)
        cost =
            size_plus(cost, redistribution_cost(plan, kept->type, *type, &kept->wanted.items[i]));
    return size_plus(least, cost);
}

void divide_kept(const struct plan *plan, struct division *divisions) {
    if (!plan->reference->steps[STEP_TRAIN].present)
        return;
    struct kept *kept = note_calls(plan);
    for (buffer_id b = 0; b < plan->reference->n_buffers; b++) {
        struct division *division = &divisions[b];
        if (!division->kept || kept[b].handed_on || !kept[b].type)
            continue;
        int64_t least = cost_of(plan, &kept[b], &division->type);
        for (uint32_t i = 0; i < kept[b].wanted.n; i++) {
            const struct sharding *type = &kept[b].wanted.items[i];
            if (elements_of(plan, &kept[b], type) > elements_of(plan, &kept[b], &division->type))
                continue;
            int64_t cost = cost_of(plan, &kept[b], type);
            if (cost >= least)
                continue;
            division->type = *type;
            least = cost;
        }
    }
}
