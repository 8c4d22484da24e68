// Appending typed ops to a unit, for the passes that write units from nothing (build, the gradient
// rules, update). Shapes come from the ops' signatures; one that does not fit is our bug.
#ifndef PLACE_PASSES_EMIT_H
#define PLACE_PASSES_EMIT_H

#include "ir/ir.h"
#include "ir/placement.h"

// The unit being written, and what its next ops inherit: where in the model they belong, and the
// text they come from. It grows in `arena`, the job's.
struct emitter {
    struct arena *arena;
    struct unit *unit;
    uint8_t n_roles;
    uint8_t roles[MAX_ROLES];
    struct span span;
};

#define OPERANDS(...)                                                                              \
    (value_id[]){__VA_ARGS__}, (unsigned)(sizeof((value_id[]){__VA_ARGS__}) / sizeof(value_id))

// Sets the roles of the ops that follow: ROLE_NONE ends the list.
void emit_roles(struct emitter *, enum role a, enum role b, enum role c, enum role d);

// Appends an op with `n_attributes` attributes and infers its results' types. Returns it; the
// pointer is good until the next op.
struct op *emit_with(struct emitter *, enum op_kind kind, const char *name,
                     const value_id *operands, unsigned n_operands,
                     const struct attribute *attributes, unsigned n_attributes);
// The same with the element types of its results, as far as its row leaves them free.
struct op *emit_typed(struct emitter *, enum op_kind kind, const char *name,
                      const value_id *operands, unsigned n_operands,
                      const struct attribute *attributes, unsigned n_attributes,
                      const enum dtype *types);
// The same op as one of another unit, on operands of this one, with its roles, span, types and, as
// far as they are free here, names.
const struct op *emit_copy(struct emitter *, const struct unit *from, const struct op *op,
                           const value_id *operands);
// Emits an op without attributes: returns the first result.
value_id emit(struct emitter *, enum op_kind kind, const char *name, const value_id *operands,
              unsigned n_operands);
value_id emit_as(struct emitter *, enum dtype type, enum op_kind kind, const char *name,
                 const value_id *operands, unsigned n_operands); // of this element type
// The value in an element type: itself where it has it, the unit's cast of it where there is one.
value_id emit_to(struct emitter *, value_id x, enum dtype type);
value_id emit_einsum(struct emitter *, const char *name, const char *labels, value_id a, value_id b,
                     enum dtype type);
value_id emit_sum_rows(struct emitter *, const char *name, value_id x, int keep, enum dtype type);
// A sum of squares that needs no order, since they are added in bins.
value_id emit_exact_square_sum(struct emitter *, const char *name, value_id x);
// `h.0_2`: the part of a buffer that is of a range of layers.
const char *range_name(struct arena *, const char *name, const struct layer_range *);
// `keep_hidden_0_2`, of a unit that does something with a buffer. Names of units are words, as a
// file needs; those of buffers have dots.
const char *name_of_unit(struct arena *, const char *verb, const char *buffer);
// A unit of its own that takes what a buffer holds to another place, named by `verb`; `like`: the
// op of whose roles it is, so that its work is divided alike.
uint32_t add_copying_unit(struct program *, const char *verb, const struct buffer *of,
                          const struct op *like, enum phase);
value_id emit_iota(struct emitter *, const char *name, enum dimension dimension, int64_t size);

#endif
