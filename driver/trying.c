// See trying.h.
#include "driver/trying.h"

#include <inttypes.h>

bool is_right_but_for_memory(const struct compilation *c) {
    for (uint32_t i = 0; i < c->diagnostics->n_items; i++)
        if (c->diagnostics->items[i]->severity == SEVERITY_ERROR &&
            c->diagnostics->items[i]->code != E701)
            return false;
    return c->account && c->verdict.kind == VERDICT_ACCEPTED;
}

static size_t length_of(const struct compilation *trial) {
    size_t length = trial->final ? trial->final->job->n_ids + trial->final->n_buffers : 0;
    const struct schedule *schedule = trial->placement.pipeline.schedule;
    for (uint32_t rank = 0; schedule && rank < schedule->n_ranks; rank++)
        length += schedule->ranks[rank].n;
    return length;
}

static void read_account(const struct compilation *trial, struct tried *tried) {
    tried->sent = trial->accounts[sends_most(trial)]->total_bytes;
    tried->time = compilation_time(trial);
    for (int t = 0; t < N_TIERS; t++) {
        tried->peak[t] = trial->accounts[holds_most(trial, t)]->arenas[t].peak;
        tried->copied += most_copied(trial, STEP_TRAIN, t);
    }
}

bool try_edits(struct compilation *c, const struct options *options, const struct diagnostic *d,
               enum stage stage, struct tried *tried) {
    *tried = (struct tried){.length = 0};
    size_t length;
    char *text = diagnostic_apply_edits(d, &c->arena, c->file.source, &length);
    if (!text)
        return false;
    struct compilation trial;
    bool reached = compile_text(&trial, options, c->path, text, length, stage);
    bool right =
        stage == STAGE_JUDGED ? is_right_but_for_memory(&trial) : reached && !find_too_long(&trial);
    tried->length = length_of(&trial);
    if (right)
        read_account(&trial, tried);
    compilation_free(&trial);
    return right;
}

bool fits_memory(const struct device_config *device, const struct tried *tried) {
    for (int t = 0; t < N_TIERS; t++)
        if (tier_limit(device, t) && tried->peak[t] > tier_limit(device, t))
            return false;
    return true;
}

bool is_of_file(const struct compilation *c, struct span span) {
    return span.source != NO_SOURCE && span.source == c->file.source;
}

bool edit_microbatch(const struct compilation *c, int64_t microbatch, struct diagnostic *d) {
    const struct train_config *train = &c->config.train;
    bool said = train->microbatch_origin.kind == ORIGIN_STATEMENT;
    const struct origin *origin = said ? &train->microbatch_origin : &train->batch_origin;
    struct span at = origin->span;
    if ((!said && train->microbatch_origin.kind != ORIGIN_DEFAULT) ||
        origin->kind != ORIGIN_STATEMENT || !is_of_file(c, at))
        return false;
    if (!said)
        at.begin = at.end;
    diagnostic_edit(d, at, "%smicrobatch = %" PRId64, said ? "" : "  ", microbatch);
    return true;
}
