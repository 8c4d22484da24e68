// What the storage of buffers was found to be, for the report: it decides nothing.
#include "verify/algebra/attributes.h"
#include "verify/algebra/facts.h"
#include "verify/algebra/given.h"
#include "verify/machine/engine.h"

void note_found(struct engine *e, buffer_id id, const struct judgement *value) {
    if (!e->recording || value->fault || value->form == FORM_ANY)
        return;
    // What is written to a window lies in its whole, which is cut by fewer axes.
    struct axis_list inner = buffer_window_axes(e->program, &e->program->buffers[id]);
    const struct buffer *buffer = &e->program->buffers[owner_of(e, id)];
    struct found *found = &e->found[owner_of(e, id)];
    const struct form_info *form = form_get(&e->digits, value->form);
    found->seen = true;
    found->sharded |= form->owners & ~(uint32_t)axis_list_mask(&inner);
    for (unsigned i = 0; i < form->key->rank && i < buffer->rank; i++)
        if (buffer->dims[i].dimension == DIM_BATCH)
            found->data |= dim_get(&e->digits, form->key->dims[i])->owners;
}

// Parameters that were gathered, perhaps in strides: what the letter S* means.
void note_gather(struct engine *e, const struct transfer *start, buffer_id from,
                 const struct judgement *value) {
    const struct buffer *source = &e->program->buffers[from];
    if (!e->recording || value->fault || start->exchange.kind != COLLECTIVE_ALL_GATHER ||
        source->tensor == NO_ID)
        return;
    uint32_t axes = (uint32_t)axis_list_mask(&start->exchange.axes);
    if (source->class == CLASS_PARAMETERS)
        e->found[from].gathered |= axes;
    for (buffer_id id = 0; source->class == CLASS_TRANSIENT && id < e->program->n_buffers; id++) {
        const struct buffer *buffer = &e->program->buffers[id];
        if (buffer->class == CLASS_PARAMETERS && buffer->tensor == source->tensor &&
            buffer->first_layer == source->first_layer &&
            buffer_layer_step(buffer) == buffer_layer_step(source))
            e->found[id].gathered |= axes;
    }
}
