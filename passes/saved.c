// What forward leaves behind for backward; see saved.h.
#include "passes/saved.h"

#include <inttypes.h>
#include <string.h>

#include "ir/check.h"

// Every call of the unit, in both steps, has to say where the new result goes.
static void extend_calls(struct program *program, const struct block *block, uint32_t unit,
                         struct reference result) {
    uint32_t n = program->units[unit].n_results; // with the new one
    struct statement_walk walk = walk_statements(block);
    while (walk_next(&walk)) {
        struct call *call = &walk.statement->call;
        if (walk.statement->kind != STATEMENT_CALL || call->unit != unit)
            continue;
        call->results = arena_grow(program->arena, call->results, (n - 1) * sizeof *call->results,
                                   n * sizeof *call->results);
        call->results[n - 1] = result;
    }
}

// Of a range of layers with the range behind it, as `cut_ranges` names what it cuts.
static const char *saved_name(const struct program *program, const char *value,
                              const struct loop *loop) {
    if (!loop || loop->end - loop->begin == program->sizes.layers)
        return arena_format(program->arena, "saved.%s", value);
    return arena_format(program->arena, "saved.%s.%" PRId64 "_%" PRId64, value, loop->begin,
                        loop->end);
}

struct reference save_value(struct program *program, const struct call *call, value_id value,
                            const struct loop *loop) {
    struct unit *unit = &program->units[call->unit];
    const struct tensor_type *type = &unit->values[value].type;
    struct buffer buffer = {
        .name = saved_name(program, unit->values[value].name, loop),
        .class = CLASS_ACTIVATIONS,
        .tensor = NO_ID,
        .dtype = type->dtype,
        .rank = type->rank,
        .stack = loop ? STACK_LAYERS : STACK_NONE,
        .count = loop ? loop->end - loop->begin : 1,
        .first_layer = loop ? loop->begin : 0,
        .window_of = NO_ID,
        .offset_bytes = -1,
        .span = unit->span,
    };
    memcpy(buffer.dims, type->dims, sizeof buffer.dims);
    CHECK(program_find_buffer(program, buffer.name) == NO_ID);
    struct reference reference = {
        .buffer = program_add_buffer(program, buffer),
        .index = loop ? index_variable(0, -loop->begin, 0) : index_constant(0),
    };
    unit_add_result(program, unit, value, NO_ID);
    for (int s = 0; s < N_STEPS; s++)
        extend_calls(program, &program->steps[s].body, call->unit, reference);
    return reference;
}
