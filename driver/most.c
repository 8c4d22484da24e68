// What is said of all ranks of a pipeline together: of the one that has most of it.
#include "driver/compile.h"

uint32_t holds_most(const struct compilation *c, enum tier tier) {
    uint32_t most = 0;
    for (uint32_t i = 1; i < c->final->job->n_programs; i++)
        if (c->accounts[i]->arenas[tier].peak > c->accounts[most]->arenas[tier].peak)
            most = i;
    return most;
}

uint32_t sends_most(const struct compilation *c) {
    uint32_t most = 0;
    for (uint32_t i = 1; i < c->final->job->n_programs; i++)
        if (c->accounts[i]->total_bytes > c->accounts[most]->total_bytes)
            most = i;
    return most;
}

static const int64_t *copied(const struct compilation *c, uint32_t program, enum step_kind step) {
    const struct account *account = c->accounts[program];
    return step == STEP_AVERAGE ? account->copied_to_average : account->copied;
}

uint32_t copies_most(const struct compilation *c, enum step_kind step) {
    uint32_t most = 0;
    int64_t most_bytes = 0;
    for (uint32_t i = 0; i < c->final->job->n_programs; i++) {
        int64_t bytes = 0;
        for (int t = 0; t < N_TIERS; t++)
            bytes = size_plus(bytes, copied(c, i, step)[t]);
        if (bytes > most_bytes) {
            most = i;
            most_bytes = bytes;
        }
    }
    return most;
}

int64_t most_copied(const struct compilation *c, enum step_kind step, enum tier tier) {
    int64_t most = 0;
    for (uint32_t i = 0; i < c->final->job->n_programs; i++)
        most = copied(c, i, step)[tier] > most ? copied(c, i, step)[tier] : most;
    return most;
}

const struct too_long *find_too_long(const struct compilation *c) {
    for (uint32_t i = 0; i < c->final->job->n_programs; i++)
        if (c->accounts[i]->too_long.statements)
            return &c->accounts[i]->too_long;
    return NULL;
}
