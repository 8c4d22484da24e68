// The devices of an execution, and what it takes at least: the bytes of what the entry computation makes, and the
// operations on them. So one that would end for want of room need not begin.
#include "equal/interpreter/operations.h"

uint32_t interpreted_devices(const struct graph *graph) {
    return graph->is_partitioned ? graph->n_devices : 1;
}

// What an instruction takes at least, in operations on elements, and what executing a graph may take beside a proof: some
// hundredths of a second.
enum { LEAST_OPERATIONS = 50, CHEAP_OPERATIONS = 1 << 22 };

// The elements that an instruction makes for certain. What is called may return what it was given.
static int64_t elements_made(const struct computation *entry,
                             const struct instruction *instruction) {
    const struct array_shape *operand =
        instruction->n_operands ? graph_operand(entry, instruction, 0)->shape : NULL;
    bool is_parameter = instruction->primitive == PRIM_PARAMETER;
    bool is_called = primitive_rows[instruction->primitive].class == PRIMITIVE_CONTROL;
    bool is_made = is_parameter || (!is_called && makes_numbers(instruction, operand));
    return is_made ? instruction->shape->n_elements : 0; // of a tuple none
}

static int64_t operations_on(const struct computation *entry,
                             const struct instruction *instruction) {
    if (instruction->primitive != PRIM_DOT)
        return elements_made(entry, instruction);
    return dot_products(instruction, graph_operand(entry, instruction, 0)->shape);
}

// Adds what all devices take. False: that is more than there may be.
static bool add(int64_t *sum, int64_t each, int64_t n_devices, int64_t most) {
    int64_t all;
    return !__builtin_mul_overflow(each, n_devices, &all) &&
           !__builtin_add_overflow(*sum, all, sum) && *sum <= most;
}

bool interpreter_has_room(const struct graph *graph, const char **why,
                          const struct instruction **at) {
    const struct computation *entry = &graph->computations[graph->entry];
    int64_t n_devices = interpreted_devices(graph), elements = 0, operations = 0;
    for (uint32_t i = 0; i < entry->n; i++) {
        *at = &entry->instructions[i];
        *why = "too many bytes";
        if (!add(&elements, elements_made(entry, *at), n_devices,
                 MAX_INTERPRETED_BYTES / (int64_t)sizeof(double)))
            return false;
        *why = "too many operations";
        if (!add(&operations, operations_on(entry, *at), n_devices, MAX_INTERPRETED_OPERATIONS))
            return false;
    }
    return true;
}

bool interpreter_is_cheap(const struct graph *graph) {
    const struct computation *entry = &graph->computations[graph->entry];
    int64_t n_devices = interpreted_devices(graph), operations = 0;
    for (uint32_t i = 0; i < entry->n; i++)
        if (!add(&operations, LEAST_OPERATIONS + operations_on(entry, &entry->instructions[i]),
                 n_devices, CHEAP_OPERATIONS))
            return false;
    return true;
}
