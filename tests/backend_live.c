// Account and plan against what was counted (see backend_live.h).
#include "tests/backend_live.h"

#include <inttypes.h>

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

const char *live_flaw(struct arena *arena, const struct program *program,
                      const struct account *account, const struct live_report *measured) {
    const char *flaw =
        state_flaw(arena, &account->live[TIER_DEVICE], &measured->peak[PLACE_DEVICE]);
    if (!flaw)
        flaw = difference(arena, "statement of the peak", measured->peak_statement,
                          account->live[TIER_DEVICE].statement);
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
