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

// What a machine has of its own.
static void begin(struct abstract_machine *m, struct arena *arena, const struct program *program) {
    *m = (struct abstract_machine){
        .cursor = ARENA_NEW(arena, struct cursor), .program = program, .memo.keys.arena = arena};
    m->cursor->courses = ARENA_ARRAY(arena, struct course, LIMIT_LOOP_DEPTH);
}

static void finish(struct abstract_machine *m) {
    m->world->batch_axes |= batch_axes_of(m->program);
    abstract_machine_take_turn(m);
    initials_init(m);
    m->found = ARENA_ARRAY(m->world->arena, struct found, m->program->n_buffers + 1);
}

void abstract_machine_init(struct abstract_machine *m, const struct program *program,
                           struct terms *terms, struct arena *arena,
                           struct diagnostics *diagnostics, struct proof_kind kind) {
    begin(m, arena, program);
    m->world = ARENA_NEW(arena, struct world);
    world_init(m->world, terms, &program->job->mesh, arena);
    m->proof = ARENA_NEW(arena, struct proof);
    *m->proof = (struct proof){.world = m->world,
                               .diagnostics = diagnostics,
                               .is_reference = kind.is_reference,
                               .ordered = kind.ordered,
                               .readings = ARENA_NEW(arena, struct readings),
                               .paddings = paddings_new(arena, program->job->n_tensors)};
    readings_init(m->proof->readings, arena);
    finish(m);
}

void abstract_machine_init_beside(struct abstract_machine *m, const struct abstract_machine *first,
                                  const struct program *program) {
    begin(m, first->world->arena, program);
    m->world = first->world;
    m->proof = first->proof;
    finish(m);
}

void abstract_machine_take_turn(struct abstract_machine *m) {
    m->proof->cursor = m->cursor;
    m->proof->program = m->program;
}
