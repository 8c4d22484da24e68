// Primitives that no operand decides, and bits that are read as another type.
#include <string.h>

#include "equal/interpreter/operations.h"
#include "equal/interpreter/pointwise.h"
#include "equal/interpreter/walk.h"

void execute_constant(struct machine *machine, const struct instruction *instruction,
                      const struct array *const *in, struct array *out) {
    (void)machine, (void)in;
    const struct literal *literal = instruction->attributes->literal;
    for (int64_t i = 0; i < out->shape->n_elements; i++) {
        int64_t at = literal->n == 1 ? 0 : i;
        if (out->reals)
            out->reals[i] = literal->reals[at];
        else
            out->integers[i] = literal->integers[at];
    }
}

void execute_iota(struct machine *machine, const struct instruction *instruction,
                  const struct array *const *in, struct array *out) {
    (void)machine, (void)in;
    int64_t dimension = instruction->attributes->dimensions.of[0], strides[MAX_GRAPH_RANK];
    shape_strides(out->shape, strides);
    for (int64_t i = 0; i < out->shape->n_elements; i++) {
        int64_t index = i / strides[dimension] % out->shape->sizes[dimension];
        if (out->reals)
            out->reals[i] = (double)index;
        else
            out->integers[i] = wrap_integer(out->shape->element, index);
    }
}

static double float_of_bits(int64_t bits) {
    uint32_t word = (uint32_t)bits;
    float number;
    memcpy(&number, &word, sizeof number);
    return number;
}

static double double_of_bits(int64_t bits) {
    double number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

// Bits of reals are not those of a double, so they cannot be read; and elements must stay as many.
void execute_bitcast_convert(struct machine *machine, const struct instruction *instruction,
                             const struct array *const *in, struct array *out) {
    (void)instruction;
    enum element from = in[0]->shape->element, to = out->shape->element;
    if (in[0]->reals || in[0]->shape->n_elements != out->shape->n_elements ||
        element_rows[from].bits != element_rows[to].bits ||
        (out->reals && to != ELEMENT_TYPE_F32 && to != ELEMENT_TYPE_F64)) {
        machine_refuse(machine, arena_format(machine->answers, "bits of %s read as %s",
                                             element_rows[from].text, element_rows[to].text));
        return;
    }
    for (int64_t i = 0; i < out->shape->n_elements; i++)
        if (!out->reals)
            out->integers[i] = wrap_integer(to, in[0]->integers[i]);
        else
            out->reals[i] = to == ELEMENT_TYPE_F32 ? float_of_bits(in[0]->integers[i])
                                                   : double_of_bits(in[0]->integers[i]);
}
