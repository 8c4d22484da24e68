/* The life of one rank: memory, states, steps, and what comes after them. */
#include "runtime/host/agreement.h"
#include "runtime/host/arena.h"
#include "runtime/host/copies.h"
#include "runtime/host/offload.h"
#include "runtime/host/profiling.h"
#include "runtime/host/session.h"
#include "runtime/host/tensors.h"
#include "runtime/host/train.h"
#include "runtime/live.h"
#include "runtime/transport/transport.h"

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
    if (!status)
        status = offload_begin(session, context);
    context->live = live_new(session->program, context->rank);
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
    offload_end(context);
    profiling_end(context);
    live_free(context->live);
    return status;
}
