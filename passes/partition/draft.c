// Partition, the draft: statements and units that are added to the new program.
#include "passes/partition/partition.h"

void push_statement(struct draft *draft, struct cursor at, struct statement statement) {
    block_push(draft->program->arena, at.block, statement);
}

void push_unit_call(struct draft *draft, struct cursor at, struct span span, uint32_t unit,
                    struct reference *operands, struct reference *results) {
    push_statement(
        draft, at,
        (struct statement){.kind = STATEMENT_CALL,
                           .span = span,
                           .call = {.unit = unit, .operands = operands, .results = results}});
}

uint32_t add_local_unit(struct draft *draft, const char *name, struct span span) {
    name = names_fresh(&draft->units.names, name, '_');
    uint32_t id = job_add_unit(draft->program->job, name, span);
    names_add(&draft->units.names, name, id);
    return id;
}

enum tier operands_tier(const struct draft *draft, const struct reference *operands, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (operands[i].buffer != NO_ID && draft->program->buffers[operands[i].buffer].rank > 0)
            return draft->program->buffers[operands[i].buffer].tier;
    return TIER_DEVICE;
}

// A part along a dimension is not one of a flat shard, though both may have as many elements.
static bool has_types(const struct draft *draft, const struct unit *unit,
                      const struct reference *operands, uint32_t n) {
    bool equal = unit->n_parameters == n;
    for (uint32_t i = 0; equal && i < n; i++) {
        struct tensor_type type =
            buffer_type(draft->program, &draft->program->buffers[operands[i].buffer]);
        equal = type_equal(&type, &unit->values[i].type);
        for (unsigned d = 0; equal && d < type.rank; d++)
            equal = type.dims[d].dimension == unit->values[i].type.dims[d].dimension;
    }
    return equal;
}

// The units that move states for one unit; those for none stand behind those for all.
static struct moving_unit **moving_units_for(const struct draft *draft, uint32_t of) {
    return &draft->units.moving[of == NO_ID ? draft->plan->reference->job->n_units : of];
}

uint32_t find_moving_unit(const struct draft *draft, uint32_t of, enum action action, int level,
                          const struct reference *operands, uint32_t n) {
    for (const struct moving_unit *made = *moving_units_for(draft, of); made; made = made->before)
        if (made->action == action && made->level == level &&
            made->tier == operands_tier(draft, operands, n) &&
            has_types(draft, &draft->program->job->units[made->unit], operands, n))
            return made->unit;
    return NO_ID;
}

void note_moving_unit(struct draft *draft, uint32_t of, enum action action, int level,
                      const struct reference *operands, uint32_t n, uint32_t unit) {
    struct moving_unit **last = moving_units_for(draft, of);
    const struct moving_unit made = {unit, action, level, operands_tier(draft, operands, n), *last};
    *last = arena_copy(draft->arena, &made, sizeof made);
}
