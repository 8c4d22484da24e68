// Which places of buffers a statement names: items, whose numbers the loops around it count, of the
// buffer that has the bytes.
#include "verify/algebra/attributes.h"
#include "verify/algebra/facts.h"
#include "verify/algebra/given.h"
#include "verify/machine/engine.h"

#include <inttypes.h>

static const struct buffer *buffer_of(const struct engine *e, buffer_id id) {
    return &e->program->buffers[id];
}

int32_t number_of(struct engine *e, struct index index) {
    int32_t variable = index.variable >= 0 ? e->variables[index.variable] : 0;
    if (!index.modulus)
        return variable + (int32_t)index.offset;
    return number_modulo(&e->terms->symbols, variable + (int32_t)(index.offset % index.modulus),
                         index.modulus);
}

buffer_id owner_of(const struct engine *e, buffer_id id) {
    buffer_id whole = buffer_of(e, id)->window_of;
    return whole == NO_ID ? id : whole;
}

struct place place_of(struct engine *e, struct reference reference) {
    return (struct place){owner_of(e, reference.buffer), number_of(e, reference.index)};
}

const char *place_name(const struct engine *e, struct place place) {
    const struct buffer *buffer = buffer_of(e, place.buffer);
    if (buffer->stack == STACK_NONE)
        return buffer->name;
    return arena_format(e->arena, "%s[%" PRId64 "]", buffer->name,
                        number_first(&e->terms->symbols, place.item));
}
