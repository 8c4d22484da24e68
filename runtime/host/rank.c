/* The life of one rank. All ranks take the same way through these functions; what they decide
 * together (stop after Ctrl-C, stop on a loss that is no number) they decide from records that all
 * have seen. */
#include <math.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/clock.h"
#include "runtime/host/agreement.h"
#include "runtime/host/arena.h"
#include "runtime/host/copies.h"
#include "runtime/host/interrupts.h"
#include "runtime/host/islands.h"
#include "runtime/host/layout.h"
#include "runtime/host/profiling.h"
#include "runtime/host/random.h"
#include "runtime/host/session.h"
#include "runtime/host/tensors.h"
#include "runtime/host/timeline.h"
#include "runtime/live.h"
#include "runtime/transport/transport.h"

/* What every rank tells the others after a step; `sent_bytes` has an entry for every group. */
struct report {
    struct rank_loss loss; /* the first member */
    double grad_norm, learning_rate;
    int64_t peak_bytes;
    struct live_report live;
    int64_t interrupted;
    int64_t sent_bytes[];
};

/* A rank's records of the step, allocated once. */
struct reports {
    size_t bytes;        /* of one */
    struct report *mine; /* sent_bytes: since the rank was born until it is made a difference */
    char *all;
    int64_t *sent_before;
    int64_t *sent_most; /* maximum over ranks */
};

static bool reports_allocate(struct reports *reports, const struct place_program *program) {
    size_t n = (size_t)program->n_groups + 1;
    reports->bytes = sizeof(struct report) + n * sizeof(int64_t);
    reports->mine = calloc(1, reports->bytes);
    reports->all = calloc((size_t)program->devices, reports->bytes);
    reports->sent_before = calloc(n, sizeof(int64_t));
    reports->sent_most = calloc(n, sizeof(int64_t));
    return reports->mine && reports->all && reports->sent_before && reports->sent_most;
}

static void reports_free(struct reports *reports) {
    free(reports->mine);
    free(reports->all);
    free(reports->sent_before);
    free(reports->sent_most);
}

static double scalar_of(struct place_context *context, int32_t buffer) {
    if (buffer < 0)
        return NAN;
    return *(double *)layout_item(context, &context->program->buffers[buffer], 0);
}

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

/* A whole number below 2^53, so that a double holds it, and never 0, which says that nothing is
 * drawn. */
static double draw_key(uint64_t seed, int64_t step) {
    return 1 + floor(random_uniform(random_key(seed, "draw"), (uint64_t)step) * (0x1p53 - 1));
}

/* What the step has left behind for the host; others may not yet have ended it, but have read all
 * they read from here. */
static void report_results(struct place_context *context, struct reports *reports) {
    const struct place_wellknown *known = &context->program->wellknown;
    struct report *mine = reports->mine;
    mine->loss.loss = scalar_of(context, known->loss);
    mine->grad_norm = scalar_of(context, known->grad_norm);
    mine->learning_rate = scalar_of(context, known->learning_rate);
}

static void report_measures(struct place_context *context, struct reports *reports) {
    const struct place_program *program = context->program;
    struct report *mine = reports->mine;
    mine->peak_bytes = arena_touched_bytes(context);
    mine->interrupted = interrupts_seen();
    for (int32_t i = 0; i < program->n_groups; i++) {
        int64_t sent = context->transport->sent_bytes(context, i);
        mine->sent_bytes[i] = sent - reports->sent_before[i];
        reports->sent_before[i] = sent;
    }
}

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static void merge_live(struct live_report *all, const struct live_report *one) {
    struct live_report most = one->peak.sum > all->peak.sum ? *one : *all;
    most.end = larger(all->end, one->end);
    most.overlapping = larger(all->overlapping, one->overlapping);
    most.unfreed = larger(all->unfreed, one->unfreed);
    most.unused = larger(all->unused, one->unused);
    *all = most;
}

/* Over all ranks: maxima, the loss, and whether anybody was interrupted. Norms differ between
 * islands only. */
static bool reports_merge(const struct place_program *program, struct reports *reports,
                          struct step_record *record) {
    const struct report *first = (const struct report *)reports->all;
    struct rank_loss loss = loss_of_all(program, reports->all, reports->bytes);
    bool interrupted = false;
    record->peak_bytes = 0;
    record->grad_norm = first->grad_norm;
    record->live = (struct live_report){0};
    memset(reports->sent_most, 0, (size_t)program->n_groups * sizeof(int64_t));
    for (int64_t rank = 0; rank < program->devices; rank++) {
        const struct report *report =
            (const struct report *)(reports->all + (size_t)rank * reports->bytes);
        interrupted |= report->interrupted != 0;
        if (isnan(report->grad_norm) || report->grad_norm > record->grad_norm)
            record->grad_norm = report->grad_norm;
        record->peak_bytes = larger(record->peak_bytes, report->peak_bytes);
        merge_live(&record->live, &report->live);
        for (int32_t i = 0; i < program->n_groups; i++)
            reports->sent_most[i] = larger(reports->sent_most[i], report->sent_bytes[i]);
    }
    record->loss = loss.loss;
    record->tokens = loss.targets;
    record->learning_rate = first->learning_rate;
    record->sent_bytes = reports->sent_most;
    return interrupted;
}

static int32_t show_step(struct session *session, struct place_context *context,
                         const struct step_record *record) {
    char message[512];
    progress_step(&session->progress, record);
    if (session->log.descriptor >= 0 &&
        run_log_step(&session->log, session->program, record, message, sizeof message) != 0)
        return context_fail(context, -1, PLACE_ERROR_HOST, "%s", message);
    if (ferror(stdout) && !interrupts_seen()) /* a terminal that is gone: what is done is saved */
        return context_fail(context, -1, PLACE_ERROR_HOST, "standard output cannot be written: %s",
                            strerror(errno));
    return PLACE_OK;
}

int32_t fail_not_a_number(struct place_context *context, const char *what) {
    if (context->rank != 0)
        return PLACE_ERROR_ABORTED;
    return context_fail(context, -1, PLACE_ERROR_HOST, "%s", what);
}

/* A loss that is one may leave parameters that are none, which only the next would show. */
static int32_t check_numbers(struct place_context *context, const struct step_record *record) {
    const struct place_wellknown *known = &context->program->wellknown;
    if (known->loss >= 0 && !isfinite(record->loss))
        return fail_not_a_number(context,
                                 "the loss is not a number; nothing was saved. A lower learning "
                                 "rate, a longer warmup or train.clip may help");
    if (known->grad_norm >= 0 && !isfinite(record->grad_norm))
        return fail_not_a_number(context,
                                 "the norm of the gradients is not a number; nothing was saved. A "
                                 "lower learning rate, a longer warmup or train.clip may help");
    return PLACE_OK;
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

/* The first step of rank 0 leaves its timeline where it was asked for. */
static int32_t execute_observed(struct session *session, struct place_context *context,
                                int64_t step, struct live_report *report) {
    const char *path = session->options->memory;
    double key = draw_key(session->seed, step);
    struct timeline timeline;
    if (!path || step != 1 || context->rank != 0)
        return rank_execute(context, session->program->train, key, report);
    if (timeline_begin(&timeline, context, path) != 0)
        return context_fail(context, -1, PLACE_ERROR_HOST, "%s: cannot be written: %s", path,
                            strerror(errno));
    int32_t status = rank_execute(context, session->program->train, key, report);
    if (timeline_end(&timeline, context) != 0 && !status)
        status = context_fail(context, -1, PLACE_ERROR_HOST, "%s: cannot be written: %s", path,
                              strerror(errno));
    return status;
}

static int32_t execute_step(struct session *session, struct place_context *context, int64_t step,
                            struct live_report *report) {
    struct profile *profile = context->recorder.profile;
    if (!profile || !profiling_counts_step(session, step))
        return execute_observed(session, context, step, report);
    profile_begin_step(profile);
    int32_t status = execute_observed(session, context, step, report);
    profile_end_step(profile);
    return status;
}

/* What the islands have made of parameters becomes one model; counted with the step before. */
static int32_t average(struct session *session, struct place_context *context,
                       struct live_report *step) {
    struct live_report here;
    int32_t status = rank_execute(context, session->program->average, 0, &here);
    step->unfreed = larger(step->unfreed, here.unfreed);
    step->overlapping = larger(step->overlapping, here.overlapping);
    return status;
}

/* One step; *stop says that it was the last. */
static int32_t train_step(struct session *session, struct place_context *context,
                          struct reports *reports, int64_t step, bool *stop) {
    const struct place_program *program = session->program;
    struct step_record record = {.step = step};
    atomic_store(&context->recorder.step, step);
    int32_t status = dataset_fill(context, &session->data, DATA_SHUFFLED, session->seed,
                                  (step - 1) * program->batch);
    if (status)
        return status;
    set_scalar(context, program->wellknown.step, 0, (double)step);
    reports->mine->loss.targets = data_targets(context); /* before the step uses their bytes */
    double begin = clock_seconds();
    status = execute_step(session, context, step, &reports->mine->live);
    if (!status)
        report_results(context, reports);
    if (!status && averages_after(program, step, step == session->options->steps))
        status = average(session, context, &reports->mine->live);
    if (status)
        return status;
    report_measures(context, reports);
    status = host_share(context, reports->mine, reports->all, reports->bytes);
    if (status)
        return status;
    record.seconds = clock_seconds() - begin;
    *stop = reports_merge(program, reports, &record);
    if (context->rank == 0)
        status = show_step(session, context, &record);
    return status ? status : check_numbers(context, &record);
}

static int32_t train_steps(struct session *session, struct place_context *context) {
    struct reports reports;
    int32_t status = PLACE_OK;
    bool stop = false;
    if (!reports_allocate(&reports, session->program))
        status = context_fail(context, -1, PLACE_ERROR_HOST, "no memory for reports");
    int64_t step = 0;
    while (step < session->options->steps && !status && !stop)
        status = train_step(session, context, &reports, ++step, &stop);
    if (!status && stop && step < session->options->steps &&
        !averages_after(session->program, step, false) &&
        averages_after(session->program, step, true))
        status = average(session, context, &reports.mine->live);
    reports_free(&reports);
    if (!status)
        atomic_store(&context->recorder.step, 0);
    if (stop)
        atomic_store(&session->interrupted, 1);
    if (context->rank == 0 && progress_end(&session->progress) != 0 && !status && !stop)
        status = context_fail(context, -1, PLACE_ERROR_HOST,
                              "standard output cannot be written: %s", strerror(errno));
    return status;
}

/* What comes after the last step: files first, so that nothing that follows can lose them. After
 * Ctrl-C only these. */
static int32_t finish(struct session *session, struct place_context *context) {
    const struct place_run_options *options = session->options;
    int32_t status = PLACE_OK;
    if (options->save)
        status = tensors_write(context, options->save, TENSORS_PARAMETERS);
    if (!status && options->dump)
        status = copies_compare(context);
    if (!status && options->dump)
        status = tensors_write(context, options->dump, TENSORS_ALL_STATES);
    if (!status && options->eval && !atomic_load(&session->interrupted))
        status = rank_evaluate(session, context);
    if (!status)
        status = profiling_report(session, context);
    if (!status && options->sample > 0 && !atomic_load(&session->interrupted))
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
        status = arena_initialize(context, session->seed);
    if (!status)
        status = profiling_begin(session, context);
    if (!status)
        status = train_steps(session, context);
    if (!status)
        status = finish(session, context);
    profiling_end(context);
    live_free(context->live);
    return status;
}
