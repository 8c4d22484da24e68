// What one device executes without others: the operation of each primitive, and what makes no new numbers.
#include <string.h>

#include "equal/interpreter/operations.h"
#include "equal/interpreter/pointwise.h"

// What an instruction costs beside its elements, in operations on them.
enum { INSTRUCTION_OVERHEAD = 64 };

static operation *const operations[N_PRIMITIVES] = {
    [PRIM_CONSTANT] = execute_constant,
    [PRIM_IOTA] = execute_iota,
    [PRIM_BITCAST_CONVERT] = execute_bitcast_convert,
    [PRIM_BROADCAST] = execute_broadcast,
    [PRIM_CONCATENATE] = execute_concatenate,
    [PRIM_CONVOLUTION] = execute_convolution,
    [PRIM_DYNAMIC_SLICE] = execute_dynamic_slice,
    [PRIM_DYNAMIC_UPDATE_SLICE] = execute_dynamic_update_slice,
    [PRIM_GATHER] = execute_gather,
    [PRIM_PAD] = execute_pad,
    [PRIM_REVERSE] = execute_reverse,
    [PRIM_SLICE] = execute_slice,
    [PRIM_TRANSPOSE] = execute_transpose,
    [PRIM_DOT] = execute_dot,
    [PRIM_REDUCE] = execute_reduce,
    [PRIM_REDUCE_WINDOW] = execute_reduce_window,
    [PRIM_SCATTER] = execute_scatter,
    [PRIM_SORT] = execute_sort,
    [PRIM_TOP_K] = execute_top_k,
    [PRIM_MAP] = execute_map,
};

static bool is_pointwise(const struct instruction *instruction) {
    return primitive_rows[instruction->primitive].class == PRIMITIVE_POINTWISE;
}

// An annotation of the partitioner's input changes no number.
static bool is_annotation(const struct instruction *instruction,
                          const struct array_shape *operand) {
    const char *target = instruction->attributes->target;
    return instruction->primitive == PRIM_CUSTOM_CALL && instruction->n_operands == 1 && target &&
           !strcmp(target, "Sharding") && operand == instruction->shape;
}

bool makes_numbers(const struct instruction *instruction, const struct array_shape *operand) {
    switch (instruction->primitive) {
    case PRIM_PARAMETER:
    case PRIM_TUPLE:
    case PRIM_GET_TUPLE_ELEMENT:
    case PRIM_OPTIMIZATION_BARRIER:
    case PRIM_RESHAPE:
    case PRIM_BITCAST:
        return false;
    default:
        return is_pointwise(instruction) ? pointwise_computes(instruction, operand)
                                         : !is_annotation(instruction, operand);
    }
}

// The value of what makes no new numbers.
static const struct array *pass_on(struct scope *scope, const struct instruction *instruction,
                                   const struct array *const *in) {
    switch (instruction->primitive) {
    case PRIM_TUPLE:
        return array_tuple(scope, instruction->shape, in);
    case PRIM_GET_TUPLE_ELEMENT:
        return in[0]->members[instruction->attributes->index];
    case PRIM_OPTIMIZATION_BARRIER:
        return in[0];
    default:
        return array_alias(scope, in[0], instruction->shape);
    }
}

static const char *name_of(const struct instruction *instruction, struct arena *arena) {
    const char *word = primitive_rows[instruction->primitive].word;
    const char *target = instruction->attributes->target;
    if (!target)
        return word;
    return *word ? arena_format(arena, "%s %s", word, target) : target;
}

static int64_t elements_of(const struct instruction *instruction, const struct array *const *in) {
    int64_t n = instruction->shape->n_elements;
    for (uint32_t i = 0; i < instruction->n_operands; i++)
        n = in[i]->shape->n_elements > n ? in[i]->shape->n_elements : n;
    return n;
}

static void compute(struct machine *machine, uint32_t device, const struct instruction *instruction,
                    const struct array *const *in, struct array *out) {
    switch (instruction->primitive) {
    case PRIM_PARTITION_ID:
        out->integers[0] = device;
        return;
    case PRIM_REPLICA_ID: // there is one
    case PRIM_AFTER_ALL:
        return;
    default:
        break;
    }
    if (is_pointwise(instruction))
        execute_pointwise(machine, instruction, in, out, out->shape->n_elements);
    else if (operations[instruction->primitive])
        operations[instruction->primitive](machine, instruction, in, out);
    else
        machine_refuse(machine, name_of(instruction, machine->answers));
}

const struct array *execute_alone(struct machine *machine, struct scope *scope, uint32_t device,
                                  const struct instruction *instruction,
                                  const struct array *const *in) {
    if (!machine_spend(machine, INSTRUCTION_OVERHEAD))
        return NULL;
    if (!makes_numbers(instruction, instruction->n_operands ? in[0]->shape : NULL))
        return pass_on(scope, instruction, in);
    struct array *out = array_zeros(machine, scope, instruction->shape);
    if (!out || !machine_spend(machine, elements_of(instruction, in)))
        return NULL;
    compute(machine, device, instruction, in, out);
    return machine->why ? NULL : out;
}
