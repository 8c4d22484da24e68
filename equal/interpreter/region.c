// Regions: flattening, in which calls are inlined, tuples come apart and moves of one element are nothing; and lanes.
#include "equal/interpreter/region.h"

#include <string.h>

#include "equal/interpreter/operations.h"
#include "equal/interpreter/pointwise.h"

enum { MAX_REGION_OPERANDS = 3 };

struct region_step {
    const struct instruction *instruction;
    const struct array *in[MAX_REGION_OPERANDS];
    struct array *out;
};

// A scalar has room for all lanes. It is no array of a call's, so no scope counts it.
static struct array *lanes_new(struct machine *machine, const struct array_shape *shape) {
    struct array *lanes = ARENA_NEW(&machine->scratch, struct array);
    lanes->shape = shape;
    if (shape_is_real(shape))
        lanes->reals = ARENA_ARRAY(&machine->scratch, double, REGION_LANES);
    else
        lanes->integers = ARENA_ARRAY(&machine->scratch, int64_t, REGION_LANES);
    return lanes;
}

static struct array *lanes_constant(struct machine *machine,
                                    const struct instruction *instruction) {
    struct array *lanes = lanes_new(machine, instruction->shape);
    execute_constant(machine, instruction, NULL, lanes);
    for (int64_t lane = 1; lane < REGION_LANES; lane++)
        array_set(lanes, lane, lanes, 0);
    return lanes;
}

static struct array *add_step(struct machine *machine, struct region *region,
                              const struct instruction *instruction, struct array *const *in) {
    struct array *out = lanes_new(machine, instruction->shape);
    struct region_step step = {.instruction = instruction, .out = out};
    for (uint32_t i = 0; i < instruction->n_operands; i++)
        step.in[i] = in[i];
    ARENA_PUSH(&machine->scratch, region->steps, region->n_steps, region->cap_steps, step);
    return out;
}

static struct array *refuse(struct machine *machine, const struct instruction *instruction) {
    const char *word = primitive_rows[instruction->primitive].word;
    machine_refuse(machine, arena_format(machine->answers, "%s for single elements", word));
    return NULL;
}

static struct array *tuple_of(struct machine *machine, const struct instruction *instruction,
                              struct array *const *in) {
    struct array *tuple = ARENA_NEW(&machine->scratch, struct array);
    tuple->shape = instruction->shape;
    tuple->members = arena_copy(&machine->scratch, in, instruction->n_operands * sizeof *in);
    return tuple;
}

static struct array *flatten(struct machine *, struct region *, uint32_t computation,
                             struct array *const *arguments);

static struct array *flatten_instruction(struct machine *machine, struct region *region,
                                         const struct instruction *instruction,
                                         struct array *const *in, struct array *const *arguments) {
    switch (instruction->primitive) {
    case PRIM_PARAMETER:
        return arguments[instruction->attributes->index];
    case PRIM_TUPLE:
        return tuple_of(machine, instruction, in);
    case PRIM_GET_TUPLE_ELEMENT:
        return in[0]->members[instruction->attributes->index];
    case PRIM_CALL:
        return flatten(machine, region, instruction->attributes->called[0], in);
    default:
        break;
    }
    if (instruction->shape->is_tuple || instruction->shape->n_elements != 1)
        return refuse(machine, instruction);
    switch (instruction->primitive) {
    case PRIM_CONSTANT:
        return lanes_constant(machine, instruction);
    case PRIM_BROADCAST:
    case PRIM_RESHAPE:
    case PRIM_BITCAST:
        return in[0];
    default:
        break;
    }
    if (primitive_rows[instruction->primitive].class != PRIMITIVE_POINTWISE)
        return refuse(machine, instruction);
    return pointwise_computes(instruction, in[0]->shape)
               ? add_step(machine, region, instruction, in)
               : in[0];
}

static struct array *flatten(struct machine *machine, struct region *region, uint32_t computation,
                             struct array *const *arguments) {
    const struct computation *of = &machine->graph->computations[computation];
    struct array **values = ARENA_ARRAY(&machine->scratch, struct array *, of->n);
    for (uint32_t i = 0; i < of->n; i++) {
        const struct instruction *instruction = &of->instructions[i];
        struct array **in = ARENA_ARRAY(&machine->scratch, struct array *, instruction->n_operands);
        for (uint32_t k = 0; k < instruction->n_operands; k++)
            in[k] = values[instruction->operands[k]];
        values[i] = flatten_instruction(machine, region, instruction, in, arguments);
        if (!values[i])
            return NULL;
    }
    return values[of->root];
}

// A step that copies a result into an array of its own.
static const struct instruction copy_step = {.primitive = PRIM_COPY};

static void add_result(struct machine *machine, struct region *region, const struct array *result) {
    struct region_step step = {&copy_step, {result}, lanes_new(machine, result->shape)};
    ARENA_PUSH(&machine->scratch, region->steps, region->n_steps, region->cap_steps, step);
    region->results[region->n_results++] = step.out;
}

const struct region *region_of(struct machine *machine, uint32_t computation) {
    const struct computation *of = &machine->graph->computations[computation];
    struct region *region = ARENA_NEW(&machine->scratch, struct region);
    region->n_parameters = of->n_parameters;
    region->parameters = ARENA_ARRAY(&machine->scratch, struct array *, of->n_parameters);
    for (uint32_t i = 0; i < of->n_parameters; i++) {
        const struct instruction *parameter = &of->instructions[of->parameters[i]];
        if (parameter->shape->is_tuple || parameter->shape->rank) {
            refuse(machine, parameter);
            return NULL;
        }
        region->parameters[i] = lanes_new(machine, parameter->shape);
    }
    struct array *root = flatten(machine, region, computation, region->parameters);
    if (!root)
        return NULL;
    uint32_t n = root->members ? root->shape->n_members : 1;
    region->results = ARENA_ARRAY(&machine->scratch, struct array *, n);
    for (uint32_t i = 0; i < n; i++)
        add_result(machine, region, root->members ? root->members[i] : root);
    return region;
}

static void copy_lanes(const struct array *from, struct array *to, int64_t lanes) {
    for (int64_t lane = 0; lane < lanes; lane++)
        array_set(to, lane, from, lane);
}

void region_execute(struct machine *machine, const struct region *region, int64_t lanes) {
    machine_spend(machine, lanes * region->n_steps);
    for (uint32_t i = 0; i < region->n_steps; i++) {
        const struct region_step *step = &region->steps[i];
        if (step->instruction == &copy_step)
            copy_lanes(step->in[0], step->out, lanes);
        else
            execute_pointwise(machine, step->instruction, step->in, step->out, lanes);
    }
}
