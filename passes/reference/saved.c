// What forward leaves behind for backward; see saved.h.
#include "passes/reference/saved.h"

#include <string.h>

#include "ir/check.h"
#include "passes/reference/emit.h"

// Every call of the unit, in both steps, has to say where the new result goes.
static void extend_calls(struct program *program, const struct block *block, uint32_t unit,
                         struct reference result) {
    uint32_t n = program->job->units[unit].n_results; // with the new one
    struct statement_walk walk = walk_statements(block);
    for (struct call *call; (call = walk_next_call(&walk));) {
        if (call->unit != unit)
            continue;
        call->results = arena_grow(program->arena, call->results, (n - 1) * sizeof *call->results,
                                   n * sizeof *call->results);
        call->results[n - 1] = result;
    }
}

static const char *saved_name(const struct program *program, const char *value,
                              const struct layer_range *layers) {
    const char *name = arena_format(program->arena, "saved.%s", value);
    bool all = !layers || range_layers(layers) == program->job->sizes.layers;
    return all ? name : range_name(program->arena, name, layers);
}

struct reference save_value(struct program *program, const struct call *call, value_id value,
                            const struct layer_range *layers) {
    struct unit *unit = &program->job->units[call->unit];
    const struct tensor_type *type = &unit->values[value].type;
    struct buffer buffer = {
        .name = saved_name(program, unit->values[value].name, layers),
        .class = CLASS_ACTIVATIONS,
        .tensor = NO_ID,
        .dtype = type->dtype,
        .rank = type->rank,
        .stacks = layers ? stacked_by_layers(layers) : (struct stacks){0},
        .window_of = NO_ID,
        .offset_bytes = -1,
        .span = unit->span,
    };
    memcpy(buffer.dims, type->dims, sizeof buffer.dims);
    CHECK(program_find_buffer(program, buffer.name) == NO_ID);
    // The outermost loop counts the layers, or their turns.
    struct index index = index_constant(0);
    if (layers)
        index = index_variable(0, layers->step > 1 ? 0 : -layers->begin, 0);
    struct reference reference = reference_at(program_add_buffer(program, buffer), index);
    unit_add_result(program->arena, unit, value, NO_ID);
    for (int s = 0; s < N_STEPS; s++)
        extend_calls(program, &program->steps[s].body, call->unit, reference);
    return reference;
}
