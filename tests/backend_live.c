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

// Whether devices own what is made in a step, so that not all have as much alive at one time.
static bool owns_in_step(const struct program *program) {
    for (buffer_id id = 0; id < program->n_buffers; id++) {
        const struct buffer *buffer = &program->buffers[id];
        if (buffer->layout.owners.n && !buffer_outlives_step(buffer))
            return true;
    }
    return false;
}

static struct account_live most_of(struct arena *arena, const struct program *program,
                                   int64_t rank) {
    uint32_t n, most = 0;
    const struct account_live *moments = account_moments(program, rank, arena, &n);
    for (uint32_t i = 0; i < n; i++)
        if (moments[i].sum > moments[most].sum)
            most = i;
    return moments[most];
}

static int64_t most_of_all(struct arena *arena, const struct program *program) {
    int64_t most = 0;
    for (int64_t rank = 0; rank < mesh_devices(&program->job->mesh); rank++) {
        int64_t of = most_of(arena, program, rank).sum;
        most = of > most ? of : most;
    }
    return most;
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
    if (owns_in_step(program)) {
        const struct account_live of_rank = most_of(arena, program, rank);
        flaw = peak_flaw(arena, &of_rank, measured);
        if (!flaw)
            flaw =
                difference(arena, "alive at most, on any", most_of_all(arena, program), most->sum);
    } else {
        flaw = peak_flaw(arena, most, measured);
    }
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
