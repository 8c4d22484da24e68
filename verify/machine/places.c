// Which places of buffers a statement names: items, whose numbers the loops around it count, of the
// buffer that has the bytes.
#include "verify/machine/machine.h"

#include <inttypes.h>

static const struct buffer *buffer_of(const struct program *program, buffer_id id) {
    return &program->buffers[id];
}

int32_t number_of(struct abstract_machine *m, struct index index) {
    int32_t variable = index.variable >= 0 ? m->cursor->variables[index.variable] : 0;
    if (!index.modulus)
        return variable + (int32_t)index.offset;
    return number_modulo(&m->world->terms->symbols,
                         variable + (int32_t)(index.offset % index.modulus), index.modulus);
}

buffer_id owner_of(const struct program *program, buffer_id id) {
    buffer_id whole = program->buffers[id].window_of;
    return whole == NO_ID ? id : whole;
}

struct place place_of(struct abstract_machine *m, struct reference reference) {
    return (struct place){owner_of(m->program, reference.buffer), number_of(m, reference.index)};
}

const char *place_name(const struct abstract_machine *m, struct place place) {
    const struct buffer *buffer = buffer_of(m->program, place.buffer);
    if (buffer->stack == STACK_NONE)
        return buffer->name;
    return arena_format(m->world->arena, "%s[%" PRId64 "]", buffer->name,
                        number_first(&m->world->terms->symbols, place.item));
}
