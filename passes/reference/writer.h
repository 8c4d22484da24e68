// Writing a unit together with the call of it: what each of its parameters is given in the step,
// and where each of its results goes. Units are written one after the other, since adding one may
// move those before it.
#ifndef PLACE_PASSES_WRITER_H
#define PLACE_PASSES_WRITER_H

#include "passes/reference/emit.h"

struct writer {
    struct program *program;
    struct emitter emitter; // of the unit that is written
    struct statement call;  // of it
    uint32_t cap_operands, cap_results;
};

struct writer writer_in(struct program *, struct span);

// Begins the next unit, with the emitter's span; its ops have no roles until these are set.
void begin_unit(struct writer *, const char *name, enum phase);
// A parameter that the call takes `from` there. All are bound before the first op: one that comes
// later would move the values behind it.
value_id bind_operand(struct writer *, const char *name, struct reference from);
void bind_result(struct writer *, value_id, struct reference to);
// A result that replaces the value of a parameter.
void bind_in_place(struct writer *, value_id, value_id parameter);

// The item of the outermost loop, which is over layers, where the buffer is stacked by them; else its
// only one.
struct reference item_of_layer(const struct program *, buffer_id);
struct layer_range all_layers(const struct program *);
struct statement loop_over_layers(const struct layer_range *, struct span); // empty

#endif
