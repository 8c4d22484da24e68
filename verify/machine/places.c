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
        return variable + index.offset;
    return number_modulo(&m->world->terms->symbols, variable + index.offset % index.modulus,
                         index.modulus);
}

buffer_id owner_of(const struct program *program, buffer_id id) {
    buffer_id whole = program->buffers[id].window_of;
    return whole == NO_ID ? id : whole;
}

// Where the outer index of two depends on a loop that stands for many iterations, its row has a
// number only if the row's length is the factor of the loop's multiple. Else no more is claimed than
// the first iteration, and what goes on from there is followed one by one.
int32_t item_of(struct abstract_machine *m, const struct reference *reference) {
    const struct stacks *stacks = &buffer_of(m->program, reference->buffer)->stacks;
    int32_t item = number_of(m, reference->indices[0]);
    for (unsigned i = 1; i < stacks->n; i++)
        item = number_times(&m->world->terms->symbols, item, (int32_t)stacks->list[i].count) +
               number_of(m, reference->indices[i]);
    return item;
}

struct place place_of(struct abstract_machine *m, struct reference reference) {
    return (struct place){owner_of(m->program, reference.buffer), item_of(m, &reference)};
}

const char *place_name(const struct abstract_machine *m, struct place place) {
    const struct buffer *buffer = buffer_of(m->program, place.buffer);
    const char *name = buffer->name;
    int64_t places[MAX_STACKS];
    buffer_places(buffer, number_first(&m->world->terms->symbols, place.item), places);
    for (unsigned i = 0; i < buffer->stacks.n; i++)
        name = arena_format(m->world->arena, "%s[%" PRId64 "]", name, places[i]);
    return name;
}
