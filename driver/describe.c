// The account's predictions in the runtime's terms, so that a run can be held against them.
#include "driver/describe.h"

#include "backend/backend.h"
#include "frontend/frontend.h"

// Bytes that one step sends over every group, but for averages.
static const int64_t *predicted_bytes(struct compilation *c) {
    const struct account *account = c->account;
    uint32_t n;
    const struct axis_list *groups = job_groups(c->final->job, &c->arena, &n);
    int64_t *bytes = ARENA_ARRAY(&c->arena, int64_t, n + 1);
    for (uint32_t i = 0; i < account->n_transfers; i++)
        for (uint32_t g = 0; g < n; g++)
            if (axis_list_equal(&groups[g], &account->transfers[i].axes) &&
                account->transfers[i].step == STEP_TRAIN)
                bytes[g] += account->transfers[i].bytes;
    return bytes;
}

// The entries are missing: a jit has their addresses, an executable its linker.
struct place_program *describe_program(struct compilation *c) {
    const struct account *account = c->account;
    const struct place_memory memory = {
        .peak = account->arenas[TIER_DEVICE].peak,
        .parameters = account->arenas[TIER_DEVICE].states[STATE_PARAMETERS],
        .optimizer = account->arenas[TIER_DEVICE].states[STATE_OPTIMIZER],
        .gradients = account->arenas[TIER_DEVICE].states[STATE_GRADIENTS],
        .activations = account->arenas[TIER_DEVICE].states[STATE_ACTIVATIONS],
        .transient = account->arenas[TIER_DEVICE].transient};
    struct config_json json = frontend_config_json(&c->arena, &c->config);
    struct descriptor_facts facts = {
        .config = &c->config,
        .sources = &c->sources,
        .config_json = json.text,
        .config_unseen = json.unseen,
        .config_lacks = json.lacks,
        .group_bytes = predicted_bytes(c),
        .memory = &memory,
    };
    return descriptor_make(&c->arena, c->final->job, &facts);
}
