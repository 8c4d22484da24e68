// The machine: what it refuses to do, and where its arrays live.
#include "equal/interpreter/machine.h"

#include <string.h>

#include "ir/check.h"

bool machine_refuse(struct machine *machine, const char *why) {
    if (!machine->why)
        machine->why = why;
    return false;
}

bool machine_spend(struct machine *machine, int64_t operations) {
    if (__builtin_add_overflow(machine->operations, operations, &machine->operations) ||
        machine->operations > MAX_INTERPRETED_OPERATIONS)
        return machine_refuse(machine, "too many operations");
    return !machine->why;
}

static bool take_bytes(struct machine *machine, struct scope *scope, int64_t bytes) {
    if (bytes > MAX_INTERPRETED_BYTES - machine->bytes)
        return machine_refuse(machine, "too many bytes");
    machine->bytes += bytes;
    scope->bytes += bytes;
    return true;
}

void scope_end(struct machine *machine, struct scope *scope) {
    machine->bytes -= scope->bytes;
    scope->bytes = 0;
}

static struct array *header(struct scope *scope, const struct array_shape *shape) {
    struct array *array = ARENA_NEW(scope->arena, struct array);
    array->shape = shape;
    array->depth = scope->depth;
    return array;
}

struct array *array_tuple(struct scope *scope, const struct array_shape *shape,
                          const struct array *const *members) {
    struct array *tuple = header(scope, shape);
    tuple->members = arena_copy(scope->arena, members, shape->n_members * sizeof *members);
    return tuple;
}

static struct array *new_tuple(struct machine *machine, struct scope *scope,
                               const struct array_shape *shape) {
    const struct array **members =
        ARENA_ARRAY(&machine->scratch, const struct array *, shape->n_members);
    for (uint32_t i = 0; i < shape->n_members; i++)
        if (!(members[i] = array_zeros(machine, scope, shape->members[i])))
            return NULL;
    return array_tuple(scope, shape, members);
}

struct array *array_zeros(struct machine *machine, struct scope *scope,
                          const struct array_shape *shape) {
    if (shape->is_tuple)
        return new_tuple(machine, scope, shape);
    if (shape->element == ELEMENT_TYPE_C64 || shape->element == ELEMENT_TYPE_C128) {
        machine_refuse(machine, "complex numbers");
        return NULL;
    }
    int64_t bytes;
    if (__builtin_mul_overflow(shape->n_elements, (int64_t)sizeof(double), &bytes))
        bytes = INT64_MAX;
    if (!take_bytes(machine, scope, bytes))
        return NULL;
    struct array *array = header(scope, shape);
    void *numbers = arena_alloc(scope->arena, (size_t)bytes);
    if (shape_is_real(shape))
        array->reals = numbers;
    else
        array->integers = numbers;
    return array;
}

struct array *array_alias(struct scope *scope, const struct array *array,
                          const struct array_shape *shape) {
    struct array *alias = header(scope, shape);
    alias->reals = array->reals;
    alias->integers = array->integers;
    return alias;
}

static const struct array *leave_tuple(struct machine *machine, const struct array *tuple,
                                       uint32_t depth, struct scope *to) {
    uint32_t n = tuple->shape->n_members;
    const struct array **members = ARENA_ARRAY(to->arena, const struct array *, n);
    for (uint32_t i = 0; i < n; i++)
        if (!(members[i] = array_leave(machine, tuple->members[i], depth, to)))
            return NULL;
    return array_tuple(to, tuple->shape, members);
}

const struct array *array_leave(struct machine *machine, const struct array *array, uint32_t depth,
                                struct scope *to) {
    if (array->depth <= depth)
        return array;
    if (array->shape->is_tuple)
        return leave_tuple(machine, array, depth, to);
    struct array *copy = array_zeros(machine, to, array->shape);
    if (!copy)
        return NULL;
    size_t bytes = (size_t)array->shape->n_elements * sizeof(double);
    if (copy->reals)
        memcpy(copy->reals, array->reals, bytes);
    else
        memcpy(copy->integers, array->integers, bytes);
    return copy;
}
