// The account's predictions in the runtime's terms, so that a run can be held against them.
#include "driver/describe.h"

#include "backend/backend.h"
#include "frontend/frontend.h"

static int64_t bytes_over(const struct account *account, const struct axis_list *group) {
    int64_t bytes = 0;
    for (uint32_t i = 0; i < account->n_transfers; i++)
        if (axis_list_equal(group, &account->transfers[i].axes) &&
            account->transfers[i].step == STEP_TRAIN)
            bytes += account->transfers[i].bytes;
    return bytes;
}

// Bytes that one step sends over every group, but for averages; of parts those of the one that sends most.
static const int64_t *predicted_bytes(struct compilation *c) {
    uint32_t n;
    const struct axis_list *groups = job_groups(c->final->job, &c->arena, &n);
    int64_t *bytes = ARENA_ARRAY(&c->arena, int64_t, n + 1);
    for (uint32_t g = 0; g < n; g++)
        for (uint32_t i = 0; i < c->final->job->n_programs; i++) {
            int64_t sent = bytes_over(c->accounts[i], &groups[g]);
            bytes[g] = sent > bytes[g] ? sent : bytes[g];
        }
    return bytes;
}

static struct place_memory memory_of(const struct account *account) {
    const struct account_arena *arena = &account->arenas[TIER_DEVICE];
    return (struct place_memory){.peak = arena->peak,
                                 .parameters = arena->states[STATE_PARAMETERS],
                                 .optimizer = arena->states[STATE_OPTIMIZER],
                                 .gradients = arena->states[STATE_GRADIENTS],
                                 .activations = arena->states[STATE_ACTIVATIONS],
                                 .transient = arena->transient};
}

// The entries are missing: a jit has their addresses, an executable its linker.
struct place_program *describe_program(struct compilation *c) {
    uint32_t n = c->final->job->n_programs;
    struct place_memory *memory = ARENA_ARRAY(&c->arena, struct place_memory, n);
    for (uint32_t i = 0; i < n; i++)
        memory[i] = memory_of(c->accounts[i]);
    struct config_json json = frontend_config_json(&c->arena, &c->config);
    struct descriptor_facts facts = {
        .config = &c->config,
        .sources = &c->sources,
        .config_json = json.text,
        .config_unseen = json.unseen,
        .config_lacks = json.lacks,
        .group_bytes = predicted_bytes(c),
        .memory = memory,
    };
    return descriptor_make(&c->arena, c->final->job, &facts);
}
