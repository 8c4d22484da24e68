// See world.h.
#include "verify/algebra/world.h"

void world_init(struct world *w, struct terms *terms, const struct mesh *mesh,
                struct arena *arena) {
    *w = (struct world){.arena = arena,
                        .states = arena,
                        .terms = terms,
                        .mesh = mesh,
                        .all_axes = (uint32_t)((UINT64_C(1) << mesh->n_axes) - 1)};
    digits_init(&w->digits, arena, mesh);
    w->coverages.arena = w->leaves.arena = arena;
}
