// The printer of the text form of programs, between its files. The printer itself is declared in
// ir/ir.h (job_print).
//
//   print.c         whole texts: the parts in their order
//   print_pieces.c  words and lines, numbers, axes, dimensions, types
//   print_header.c  mesh, sizes, policy, tensors, buffers
//   print_unit.c    units: parameters, results, operations
//   print_step.c    schedules: loops, calls, transfers
#ifndef PLACE_IR_PRINT_H
#define PLACE_IR_PRINT_H

#include <inttypes.h>

#include "ir/ir.h"
#include "ir/limits.h"

// Lines are collected so that long lists can be broken at the column limit.
struct printer {
    FILE *to;
    const struct job *job;
    const struct program *program; // whose buffers are named
    const struct print_options *options;
    int indent, column;
    const char *variables[LIMIT_LOOP_DEPTH]; // names of the enclosing loops' variables
    int depth;
    struct arena scratch; // names and indices, until all is printed
};

// ---- pieces (print_pieces.c) ------------------------------------------------------------------
// Indents where a line begins, and counts columns for the breaking of lists.
void put(struct printer *, const char *format, ...) __attribute__((format(printf, 2, 3)));
void end_line(struct printer *);
// The line's end, with the place of its cause where spans are asked for.
void put_spanned_end(struct printer *, struct span);
// Breaks before an element of a list of `width` characters that would not fit.
void break_before(struct printer *, int width);
void put_real(struct printer *, double value);
void put_axes(struct printer *, const struct axis_list *);
// A cut stands behind the size of its dimension, where `layout` is given: `heads=4/tp`.
void put_dims(struct printer *, const struct dim *, unsigned rank, const struct layout *layout);
void put_type(struct printer *, const struct tensor_type *);
void put_roles(struct printer *, const uint8_t *roles, unsigned n);

// ---- parts ------------------------------------------------------------------------------------
// Lines of a step or of a part of one (print_header.c).
void print_mesh(struct printer *);
void print_sizes(struct printer *);
void print_policy(struct printer *);
void print_tensor(struct printer *, const struct tensor *);
void print_buffer(struct printer *, const struct buffer *);
// Prints a unit from its name to behind `}` (print_unit.c).
void print_unit(struct printer *, const struct unit *);
// A schedule of the program that is printed, from its name to behind `}` (print_step.c).
void print_step(struct printer *, enum step_kind);

#endif
