// A machine in the making.
#include "verify/machine/machine.h"

#include "verify/machine/induction.h"

static uint32_t batch_axes_of(const struct program *program) {
    uint32_t axes = 0;
    for (buffer_id id = 0; id < program->n_buffers; id++) {
        const struct buffer *buffer = &program->buffers[id];
        for (unsigned i = 0; i < buffer->rank && buffer->class == CLASS_INPUT; i++)
            if (buffer->dims[i].dimension == DIM_BATCH)
                axes |= (uint32_t)axis_list_mask(&buffer->layout.cuts[i]);
    }
    return axes;
}

void abstract_machine_init(struct abstract_machine *m, const struct program *program,
                           struct terms *terms, struct arena *arena,
                           struct diagnostics *diagnostics, struct proof_kind kind) {
    *m = (struct abstract_machine){.world = ARENA_NEW(arena, struct world),
                                   .cursor = ARENA_NEW(arena, struct cursor),
                                   .proof = ARENA_NEW(arena, struct proof),
                                   .program = program,
                                   .memo.keys.arena = arena};
    world_init(m->world, terms, &program->job->mesh, arena);
    m->world->batch_axes = batch_axes_of(program);
    m->cursor->courses = ARENA_ARRAY(arena, struct course, LIMIT_LOOP_DEPTH);
    *m->proof = (struct proof){.world = m->world,
                               .cursor = m->cursor,
                               .program = program,
                               .diagnostics = diagnostics,
                               .is_reference = kind.is_reference,
                               .ordered = kind.ordered,
                               .readings = ARENA_NEW(arena, struct readings),
                               .paddings = paddings_new(arena, program->job->n_tensors)};
    readings_init(m->proof->readings, arena);
    initials_init(m);
    m->found = ARENA_ARRAY(arena, struct found, program->n_buffers + 1);
}
