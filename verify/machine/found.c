// What the storage of buffers was found to be, for the report: it decides nothing.
#include "verify/machine/machine.h"

void note_found(struct abstract_machine *m, buffer_id id, const struct judgement *value) {
    if (!m->recording || value->fault || value->form == FORM_ANY)
        return;
    // What is written to a window lies in its whole, which is cut by fewer axes.
    struct axis_list inner = buffer_window_axes(m->program, &m->program->buffers[id]);
    const struct buffer *buffer = &m->program->buffers[owner_of(m->program, id)];
    struct found *found = &m->found[owner_of(m->program, id)];
    const struct form_info *form = form_get(&m->world->digits, value->form);
    found->seen = true;
    found->sharded |= form->owners & ~(uint32_t)axis_list_mask(&inner);
    found->sharded |= (uint32_t)axis_list_mask(&buffer->layout.owners);
    for (unsigned i = 0; i < form->key->rank && i < buffer->rank; i++)
        if (buffer->dims[i].dimension == DIM_BATCH)
            found->data |= dim_get(&m->world->digits, form->key->dims[i])->owners;
}

// What parameters are, or are made of.
static bool is_parameter(const struct buffer *buffer) {
    return buffer->class == CLASS_PARAMETERS || buffer->class == CLASS_MASTER;
}

static bool has_layer(const struct buffer *buffer, int64_t layer) {
    int64_t ahead = layer - buffer_first_layer(buffer), step = buffer_layer_step(buffer);
    return ahead >= 0 && ahead % step == 0 && ahead / step < buffer_items(buffer);
}

// Parameters that were gathered, perhaps in strides: what the letter S* means. What was copied
// or cast before lies in a slot, so the value says which layer's it is.
void note_gather(struct abstract_machine *m, const struct transfer *start, buffer_id from,
                 const struct judgement *value) {
    const struct buffer *source = &m->program->buffers[from];
    if (!m->recording || value->fault || !collective_gathers(start->exchange.kind) ||
        source->tensor == NO_ID)
        return;
    uint32_t axes = (uint32_t)axis_list_mask(&start->exchange.axes);
    if (source->class == CLASS_PARAMETERS)
        m->found[from].gathered |= axes;
    int64_t layer = number_first(&m->world->terms->symbols, value->value.of.at);
    for (buffer_id id = 0; source->class == CLASS_TRANSIENT && id < m->program->n_buffers; id++) {
        const struct buffer *buffer = &m->program->buffers[id];
        if (is_parameter(buffer) && buffer->tensor == source->tensor && has_layer(buffer, layer))
            m->found[id].gathered |= axes;
    }
}
