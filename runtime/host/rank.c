/* The life of one rank: memory, states, steps, and what comes after them. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/host/agreement.h"
#include "runtime/host/arena.h"
#include "runtime/host/copies.h"
#include "runtime/host/layout.h"
#include "runtime/host/profiling.h"
#include "runtime/host/session.h"
#include "runtime/host/tensors.h"
#include "runtime/host/train.h"
#include "runtime/live.h"
#include "runtime/transport/transport.h"

static void set_scalar(struct place_context *context, int32_t buffer, int64_t item, double value) {
    if (buffer >= 0)
        *(double *)layout_item(context, &context->program->buffers[buffer], item) = value;
}

/* What the host says beside data: which layer, microbatch and sample each is, and what is drawn.
 * Before every step, the same or not: a step may use the bytes of what it has read for something
 * else. */
static void write_inputs(struct place_context *context, double key) {
    const struct place_program *program = context->program;
    int32_t layer = program->wellknown.layer, microbatch = program->wellknown.microbatch;
    data_number_samples(context);
    set_scalar(context, program->wellknown.draw_key, 0, key);
    for (int64_t i = 0; microbatch >= 0 && i < program->buffers[microbatch].count; i++)
        set_scalar(context, microbatch, i, (double)i);
    for (int64_t i = 0; layer >= 0 && i < program->buffers[layer].count; i++)
        set_scalar(
            context, layer, i,
            (double)(program->buffers[layer].first_item + i * program->buffers[layer].item_step));
}

int32_t fail_not_a_number(struct place_context *context, const char *what) {
    if (context->rank != 0)
        return PLACE_ERROR_ABORTED;
    return context_fail(context, -1, PLACE_ERROR_HOST, "%s", what);
}

void rank_begin_step(struct place_context *context, int64_t step) {
    atomic_store(&context->recorder.step, step);
    set_scalar(context, context->program->wellknown.step, 0, (double)step);
}

int32_t rank_execute(struct place_context *context, place_entry *entry, double key,
                     struct live_report *report) {
    write_inputs(context, key);
    live_begin_step(context->live);
    atomic_store(&context->recorder.in_step, 1);
    int32_t status = entry(context);
    atomic_store(&context->recorder.in_step, 0);
    *report = live_end_step(context->live);
    if (status)
        return context_fail(context, -1, (enum place_status)status, "the step failed");
    return PLACE_OK;
}

/* The states that the first step finds. */
static int32_t begin_states(struct session *session, struct place_context *context) {
    if (session->weights.sources) {
        arena_clear(context);
        return weights_read(&session->weights, context);
    }
    if (!*session->resumption.path)
        return arena_initialize(context, session->seed);
    arena_clear(context);
    return resumption_read(&session->resumption, context);
}

/* What comes after the last step: files first, so that nothing that follows can lose them. After
 * Ctrl-C, or where a rank holds a failure, only these. */
static int32_t finish(struct session *session, struct place_context *context) {
    const struct place_run_options *options = session->options;
    bool ends_early = atomic_load(&session->interrupted) || atomic_load(&session->failed);
    int32_t status = PLACE_OK;
    if (options->save)
        status = saved_model_write(&session->saved, context);
    if (!status && options->dump)
        status = copies_compare(context);
    if (!status && options->dump)
        status = tensors_write(context, options->dump, ENTRIES_STATES);
    if (!status && options->eval.n > 0 && !ends_early)
        status = rank_report_evaluation(session, context);
    if (!status)
        status = profiling_report(session, context);
    if (!status && options->sample > 0 && !ends_early)
        status = rank_sample(session, context);
    return status;
}

int32_t rank_run(struct session *session, struct place_context *context) {
    int32_t status = agreement_reach(session, context);
    if (!status)
        status = arena_map(context);
    context->live = live_new(session->program);
    if (!status && !context->live)
        status = context_fail(context, -1, PLACE_ERROR_HOST, "no memory to count what is alive");
    if (!status)
        status = begin_states(session, context);
    if (!status)
        status = profiling_begin(session, context);
    if (!status)
        status = train_steps(session, context);
    if (!status)
        status = finish(session, context);
    if (!status && atomic_load(&session->failed)) /* nobody ends while others still write */
        host_share(context, NULL, NULL, 0);
    status = context_release(context);
    profiling_end(context);
    live_free(context->live);
    return status;
}
