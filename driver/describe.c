// The account's predictions in the runtime's terms, so that a run can be held against them.
#include "driver/describe.h"

#include "backend/backend.h"
#include "driver/report.h"

// Bytes by set of axes: one entry for each set that some collective uses.
static struct place_traffic *predicted_traffic(struct compilation *c, int32_t *n) {
    const struct account *account = c->account;
    struct place_traffic *traffic =
        ARENA_ARRAY(&c->arena, struct place_traffic, account->n_transfers + 1);
    *n = 0;
    for (uint32_t i = 0; i < account->n_transfers; i++) {
        const struct account_transfer *transfer = &account->transfers[i];
        uint32_t mask = (uint32_t)axis_list_mask(&transfer->axes);
        int32_t at = 0;
        while (at < *n && traffic[at].axis_mask != mask)
            at++;
        if (at == *n)
            traffic[(*n)++] = (struct place_traffic){
                .axis_mask = mask,
                .name = mesh_axes_text(&c->final->mesh, &transfer->axes, &c->arena)};
        traffic[at].train_bytes += transfer->bytes;
    }
    return traffic;
}

struct place_program *describe_program(struct compilation *c) {
    const struct account *account = c->account;
    struct descriptor_facts facts = {
        .config = &c->config,
        .sources = &c->sources,
        .memory = {.peak = account->peak,
                   .parameters = account->states[STATE_PARAMETERS],
                   .optimizer = account->states[STATE_OPTIMIZER],
                   .gradients = account->states[STATE_GRADIENTS],
                   .activations = account->states[STATE_ACTIVATIONS],
                   .transient = account->transient},
    };
    facts.traffic = predicted_traffic(c, &facts.n_traffic);
    return descriptor_make(&c->arena, c->final, &facts);
}
