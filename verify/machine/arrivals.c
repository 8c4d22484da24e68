// Gradients as they arrive: what an update of the reference reads in place of a gradient that the
// final program sends as codes (codes.c).
#include <string.h>

#include "verify/machine/machine.h"

#include "verify/rules/rules.h"

// Whether the buffer has an item of the layer; a tensor that layers have none of is of layer 0.
static bool has_layer(struct world *w, const struct buffer *buffer, int32_t layer) {
    struct symbols *symbols = &w->terms->symbols;
    int32_t first = (int32_t)buffer_first_layer(buffer), step = (int32_t)buffer_layer_step(buffer);
    int32_t end = first + ((int32_t)buffer_items(buffer) - 1) * step + 1;
    return !number_before(symbols, layer, first) && number_before(symbols, layer, end) &&
           number_equal(symbols, number_modulo(symbols, layer - first, step), 0);
}

// Whether the final program keeps what codes of this layer's gradient of the tensor lack.
static bool is_sent(struct abstract_machine *m, const char *tensor, int32_t layer) {
    for (uint32_t k = 0; m->sends && k < m->sends->n_programs; k++) {
        const struct program *final = m->sends->programs[k];
        for (buffer_id i = 0; i < final->n_buffers; i++) {
            const struct buffer *buffer = &final->buffers[i];
            if (buffer->class == CLASS_RESIDUAL && buffer->tensor != NO_ID &&
                strcmp(final->job->tensors[buffer->tensor].name, tensor) == 0 &&
                has_layer(m->world, buffer, layer))
                return true;
        }
    }
    return false;
}

void codes_arrive(struct abstract_machine *m, struct builder *builder, struct reference from,
                  struct judgement *gradient) {
    const struct buffer *buffer = &m->program->buffers[from.buffer];
    if (buffer->class != CLASS_GRADIENTS)
        return;
    struct term residual = store_leaf(m, from, CLASS_RESIDUAL);
    if (is_sent(m, m->program->job->tensors[buffer->tensor].name, residual.at))
        gradient->value = codes_arrived(builder, gradient->value, residual);
}
