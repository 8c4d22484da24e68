// The meaning of ops, units and one-device programs, executed naively in fp64.
//
// Everything is written from the semantic definitions in ir/ops.def with plain loops over whole
// tensors; nothing is shared with the kernels that generated code calls, nor with the passes. So a
// disagreement means something: kernels, gradient rules and the verifier are tested against this.
//
// All numbers are doubles, whatever the types say; integers are exact in them.
#ifndef PLACE_IR_INTERPRETER_INTERPRETER_H
#define PLACE_IR_INTERPRETER_INTERPRETER_H

#include "ir/ir.h"

struct array {
    struct tensor_type type;
    double *data; // row-major
};

struct array array_new(struct arena *arena, struct tensor_type type); // zeros

// Executes one op. Types and memory of the results are the caller's and must not overlap the
// operands. `iota` counts from 0; collectives have no meaning here (CHECK).
void interpret_op(const struct op *op, const struct array *operands, struct array *results);

// Executes a unit: values[0 .. n_parameters) are given, the others are allocated in `arena`.
void interpret_unit(const struct unit *unit, struct array *values, struct arena *arena);

// One device with all buffers of a program, zero at first. Runs programs without collectives and
// without a mesh, such as the reference program.
struct machine {
    const struct program *program;
    double **buffers; // all items of each, one after the other
};
struct machine *machine_new(struct arena *arena, const struct program *program);
double *machine_item(const struct machine *machine, buffer_id buffer, int64_t item);
int64_t machine_item_elements(const struct machine *machine, buffer_id buffer);
void machine_run(struct machine *machine, enum step_kind step);

#endif
