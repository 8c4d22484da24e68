// Primitives that one device executes alone, each into a result of zeros, and those in which devices meet.
#ifndef PLACE_EQUAL_INTERPRETER_OPERATIONS_H
#define PLACE_EQUAL_INTERPRETER_OPERATIONS_H

#include "equal/interpreter/machine.h"

typedef void operation(struct machine *, const struct instruction *, const struct array *const *in,
                       struct array *out);

// given.c
operation execute_constant, execute_iota, execute_bitcast_convert;
// moves.c
operation execute_broadcast, execute_transpose, execute_reverse, execute_slice, execute_pad;
operation execute_concatenate, execute_dynamic_slice, execute_dynamic_update_slice;
// indexed.c
operation execute_gather, execute_scatter;
// folds.c
operation execute_dot, execute_reduce, execute_map;
// windowed.c, convolution.c
operation execute_reduce_window, execute_convolution;
// sort.c
operation execute_sort, execute_top_k;

// False: the value has the numbers of an operand. `operand`: the first one's shape; NULL: there is none.
bool makes_numbers(const struct instruction *, const struct array_shape *operand);
// What an instruction makes of one device's operands, in the scope; NULL, which has been refused: nothing.
const struct array *execute_alone(struct machine *, struct scope *, uint32_t device,
                                  const struct instruction *, const struct array *const *in);

// How many products of elements a dot takes.
int64_t dot_products(const struct instruction *, const struct array_shape *left);

// Copies a box of elements from where it begins in one array to where it begins in the other. Both have as many
// dimensions.
struct box {
    const int64_t *sizes, *from, *to; // NULL: index zero
};
void copy_box(const struct array *from, struct array *to, struct box);

// A collective, as the devices execute it that are here.
struct meeting {
    struct machine *machine;
    const struct instruction *instruction;
    const uint32_t *devices; // in order
    uint32_t n_devices;
    const struct array *const *const *in; // by device, then by operand
    struct array *const *out;             // by device
};
void execute_collective(const struct meeting *);

#endif
