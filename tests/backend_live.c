// Account and plan against what was counted (see backend_live.h).
#include "tests/backend_live.h"

#include <inttypes.h>

#include "tests/oracle/devices.h"

static const char *difference(struct arena *arena, const char *what, int64_t measured,
                              int64_t accounted) {
    return measured == accounted
               ? NULL
               : arena_format(arena, "%s: %" PRId64 " counted, %" PRId64 " accounted", what,
                              measured, accounted);
}

static const char *state_flaw(struct arena *arena, const struct account_live *account,
                              const struct live_bytes *measured) {
    _Static_assert((int)LIVE_PARAMETERS == (int)STATE_PARAMETERS &&
                       (int)LIVE_ACTIVATIONS == (int)STATE_ACTIVATIONS &&
                       (int)LIVE_TRANSIENT == (int)N_STATES,
                   "states have the same numbers");
    const char *flaw = difference(arena, "alive at most", measured->sum, account->sum);
    for (int s = 0; s < N_STATES && !flaw; s++)
        flaw = difference(arena, state_names[s], measured->states[s], account->states[s]);
    return flaw ? flaw
                : difference(arena, "transient", measured->states[LIVE_TRANSIENT],
                             account->transient);
}

// Whether the rank owns an item less than the first, which is accounted, of what is made in a step.
static bool owns_less(const struct program *program, int32_t rank) {
    const struct mesh *mesh = &program->job->mesh;
    for (buffer_id id = 0; id < program->n_buffers; id++) {
        const struct buffer *buffer = &program->buffers[id];
        const struct axis_list *owners = &buffer->layout.owners;
        int64_t left = buffer_items(buffer) % mesh_group_size(mesh, owners);
        if (buffer->window_of == NO_ID && !buffer_outlives_step(buffer) && left &&
            mesh_part_of(mesh, rank, owners) >= left)
            return true;
    }
    return false;
}

static const char *peak_flaw(struct arena *arena, const struct account_live *account,
                             const struct live_report *measured) {
    const char *flaw = state_flaw(arena, account, &measured->peak[PLACE_DEVICE]);
    return flaw ? flaw
                : difference(arena, "statement of the peak", measured->peak_statement,
                             account->statement);
}

const char *live_flaw(struct arena *arena, const struct program *program, int32_t rank,
                      const struct account *account, const struct live_report *measured) {
    const struct account_live *most = &account->live[TIER_DEVICE];
    const char *flaw = NULL;
    if (!owns_less(program, rank))
        flaw = peak_flaw(arena, most, measured);
    else if (measured->peak[PLACE_DEVICE].sum > most->sum)
        flaw = difference(arena, "alive at most", measured->peak[PLACE_DEVICE].sum, most->sum);
    if (!flaw)
        flaw = difference(arena, "end of what is alive", measured->end[PLACE_DEVICE],
                          program->arena_bytes[TIER_DEVICE]);
    if (!flaw)
        flaw = difference(arena, "end of the arena", program->arena_bytes[TIER_DEVICE],
                          account->arenas[TIER_DEVICE].peak);
    if (!flaw)
        flaw = difference(arena, "bytes alive twice", measured->overlapping, 0);
    if (!flaw)
        flaw = difference(arena, "bytes that nothing frees", measured->unfreed, 0);
    return flaw ? flaw : difference(arena, "bytes never alive", measured->unused, 0);
}
