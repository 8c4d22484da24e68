// What the statements of the steps make alive and free, for the runtime to count while it executes
// them. Read off the final program as it stands: nothing here knows the memory plan, or its
// lifetimes, which the count is compared with.
#include "backend/effects.h"

#include "ir/check.h"

struct effects {
    struct arena *arena;
    const struct program *program;
    struct place_effect *items;
    uint32_t n, cap;
};

// A window's bytes are its whole's. What lives from step to step, or for the host around a step, is
// always alive.
static void add(struct effects *e, const struct statement *s, enum place_effect_kind kind,
                struct reference at) {
    buffer_id id = buffer_whole(e->program, at.buffer);
    if (buffer_outlives_step(&e->program->buffers[id]))
        return;
    struct place_effect effect = {.statement = (int32_t)s->id, .kind = kind, .buffer = (int32_t)id};
    for (unsigned i = 0; i < MAX_STACKS; i++)
        effect.indices[i] = (struct place_index){at.indices[i].variable, at.indices[i].offset,
                                                 at.indices[i].modulus};
    ARENA_PUSH(e->arena, e->items, e->n, e->cap, effect);
}

static void add_statement(struct effects *e, const struct statement *s) {
    struct access access;
    for (uint32_t i = 0; (access = statement_access(e->program, s, i)).at; i++)
        if (access.written || s->kind == STATEMENT_FREE)
            add(e, s, access.written ? PLACE_ALIVE : PLACE_FREED, *access.at);
    if (s->kind != STATEMENT_CALL)
        return;
    buffer_id frame = program_frame(e->program, s->call.unit);
    if (frame != NO_ID)
        add(e, s, PLACE_BORROWED, reference_to(frame));
}

void describe_effects(struct arena *arena, const struct program *program, struct place_part *out) {
    struct effects e = {.arena = arena, .program = program};
    for (int step = 0; step < N_STEPS; step++) {
        struct statement_walk walk = walk_statements(&program->steps[step].body);
        while (walk_next(&walk)) {
            uint32_t before = e.n;
            add_statement(&e, walk.statement);
            CHECK(before == 0 || e.n == before ||
                  e.items[before - 1].statement < e.items[before].statement);
        }
    }
    out->n_effects = (int32_t)e.n;
    out->effects = e.items;
}
