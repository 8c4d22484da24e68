// Partition inside units, between its files: the unit being made, and the forms in which it has the
// values of the reference's unit.
//
//   maker.c         ops and forms that are added to it
//   unit.c          which work an op does, and in which types it wants its operands
//   parts.c         ops in a form that can be cut along a dimension that they need whole
//   redistribute.c  brings a value from the type it has to the one that is wanted
#ifndef PLACE_PASSES_PARTITION_UNIT_H
#define PLACE_PASSES_PARTITION_UNIT_H

#include "passes/partition/partition.h"

// A reference value as the local unit has it: first as its op made it, then as others wanted it.
// Each form is made once.
struct form {
    struct sharding type;
    value_id value;
};
struct forms {
    struct form *items;
    uint32_t n, cap;
    const struct op *counts; // an iota, of which every part can be made anew; else NULL
};

struct maker {
    const struct plan *plan;
    struct draft *draft;
    struct arena *scratch; // of what is forgotten once the unit is made
    const struct unit *from;
    struct unit *to;
    struct unit_use *use;
    struct forms *forms; // of reference values
    // The accumulator that starts as zero: its copies by the type of their summands.
    bool *chained; // of reference values: a partial sum of it
    uint32_t n_heads;
    uint64_t head_partial[MAX_VARIANTS];
    value_id heads[MAX_VARIANTS];
    uint32_t zero_parameter; // NO_ID: none
};

// Appends an op of one result, whose type the caller sets.
value_id add_op(struct maker *, enum op_kind kind, const char *name, const value_id *operands,
                uint32_t n, struct span span);
struct op *last_op(struct maker *);

void add_form(struct maker *, value_id v, struct form form);
// The local value of reference value `v` in the wanted type. A copy that is wanted as a summand is
// kept by one device. `reader`: the op that wants it, NULL for a result; what is moved belongs
// to the part of the model that made it, a parameter to its reader's.
value_id bring(struct maker *, value_id v, const struct sharding *want, const struct op *reader);
// The same, where summands on their way, and their sums, are to have all digits of a type.
value_id bring_summed_in(struct maker *, value_id v, const struct sharding *want,
                         enum dtype summed_in, const struct op *reader);

// The unit with its losses by parts, where the vocabulary is cut at this layer; else itself.
const struct unit *unit_by_parts(struct draft *, const struct unit *, int64_t layer);

// Every axis that cuts a dimension, or what is left of them.
uint64_t cut_mask(const struct sharding *);

#endif
