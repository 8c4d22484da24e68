/* The steps of a run. All ranks take the same way through these functions; what they decide
 * together (stop after Ctrl-C, or on a failure, or on a loss that is no number; name a checkpoint
 * that has reached the disk) they decide from records that all have seen.
 *
 * The data of a step are read before the ranks meet behind the step before, so that a failure to
 * read them ends the run between two steps, with states that are whole: who fails there holds it
 * (context_fail), says so in its report, and goes on with the others to the end. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/clock.h"
#include "runtime/host/interrupts.h"
#include "runtime/host/islands.h"
#include "runtime/host/layout.h"
#include "runtime/host/profiling.h"
#include "runtime/host/random.h"
#include "runtime/host/reports.h"
#include "runtime/host/session.h"
#include "runtime/host/step.h"
#include "runtime/host/timeline.h"
#include "runtime/host/train.h"
#include "runtime/transport/transport.h"

/* What a rank goes through the steps with. */
struct training {
    struct reports reports;
    struct checkpoint_writer writer;
    int64_t step;               /* the last that is whole */
    int64_t targets;            /* of the data that are there for the next */
    struct carried carried;     /* by that step, to the next */
    struct carried *of_islands; /* the same of each */
    struct agreed agreed;
    double waited;                /* seconds, for the last checkpoint */
    bool has_idled;               /* a step had no target */
    int64_t n_skipped;            /* steps without an update */
    int64_t n_lost;               /* of these the last ones, whose loss is not a number */
    struct evaluation evaluation; /* behind the last step; not whole: there was none */
};

/* A batch may overflow in fp16 where the next one does not; so many of them hardly do by chance. */
enum { MOST_LOST_STEPS = 3 };

static int64_t steps_before(const struct session *session) {
    return session->resumption.manifest.step;
}

/* How many samples of the data were taken up to a step. */
static int64_t samples_before(const struct session *session, int64_t step) {
    return session->resumption.manifest.samples +
           (step - steps_before(session)) * session->program->batch;
}

/* A whole number below 2^53, so that a double holds it, and never 0, which says that nothing is
 * drawn. */
static double draw_key(uint64_t seed, int64_t step) {
    return 1 + floor(random_uniform(random_key(seed, "draw"), (uint64_t)step) * (0x1p53 - 1));
}

/* What cannot be written is held: this step is whole, and so will be the next. */
static void show_step(struct session *session, struct place_context *context,
                      const struct step_record *record) {
    char message[512];
    context->holds = 1;
    progress_step(&session->progress, record);
    if (session->log.descriptor >= 0 &&
        run_log_step(&session->log, session->program, record, message, sizeof message) != 0)
        context_fail(context, -1, PLACE_ERROR_HOST, "%s", message);
    if (ferror(stdout) && !interrupts_seen()) /* a terminal that is gone: what is done is saved */
        context_fail(context, -1, PLACE_ERROR_HOST, "standard output cannot be written: %s",
                     strerror(errno));
    context->holds = 0;
}

static bool is_poisoned(const struct agreed *agreed) {
    return agreed->has_no_loss || agreed->has_no_norm || agreed->has_no_scale || agreed->stays_lost;
}

static int32_t fail_poisoned(struct place_context *context, const struct agreed *agreed) {
    if (agreed->has_no_scale)
        return fail_not_a_number(
            context, "gradients are not finite, and the loss scale is so small now that fp16 would "
                     "have nothing but zeros. What makes them so lies elsewhere: a lower learning "
                     "rate, a longer warmup or compute in bf16 may help");
    if (agreed->stays_lost)
        return fail_not_a_number(
            context,
            "the loss is not a number, for the third step in a row, and no loss scale changes "
            "that. A lower learning rate, a longer warmup, train.clip or compute in bf16 may help");
    return fail_not_a_number(
        context, agreed->has_no_loss
                     ? "the loss is not a number, so what this step made is not kept. A lower "
                       "learning rate, a longer warmup or train.clip may help"
                     : "the norm of the gradients is not a number, so what this step made is not "
                       "kept. A lower learning rate, a longer warmup or train.clip may help");
}

/* The first step of rank 0 leaves its timeline where it was asked for. */
static int32_t execute_observed(struct session *session, struct place_context *context,
                                int64_t step, struct live_report *report) {
    const char *path = session->options->memory;
    bool is_first = step == steps_before(session) + 1;
    double key = draw_key(session->seed, step);
    struct timeline timeline;
    if (!path || !is_first || context->rank != 0)
        return rank_execute(context, context->part->train, key, report);
    if (timeline_begin(&timeline, context, path) != 0)
        return context_fail(context, -1, PLACE_ERROR_HOST, "%s: cannot be written: %s", path,
                            strerror(errno));
    int32_t status = rank_execute(context, context->part->train, key, report);
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
    int32_t status = rank_execute(context, context->part->average, 0, &here);
    step->unfreed = here.unfreed > step->unfreed ? here.unfreed : step->unfreed;
    step->overlapping = here.overlapping > step->overlapping ? here.overlapping : step->overlapping;
    return status;
}

/* The data of the next step, and how many targets they have: before it uses their bytes. */
static int32_t fill(struct session *session, struct place_context *context,
                    struct training *training) {
    int32_t status = dataset_fill(context, &session->data, DATA_SHUFFLED, session->seed,
                                  samples_before(session, training->step));
    if (!status)
        training->targets = data_targets(context);
    return status;
}

/* A failure is held until all ranks stop. */
static void fill_ahead(struct session *session, struct place_context *context,
                       struct training *training) {
    if (training->step == session->options->steps)
        return;
    context->holds = 1;
    atomic_store(&context->recorder.step, training->step + 1);
    fill(session, context, training);
    atomic_store(&context->recorder.step, training->step);
    context->holds = 0;
}

/* ---- checkpoints ---------------------------------------------------------------------------- */

/* A run that goes on says what failed; the next checkpoint may do better. */
static void warn_of_failure(struct session *session, const struct place_context *context) {
    struct checkpoints *checkpoints = &session->checkpoints;
    if (context->rank != 0 || !*checkpoints->failure)
        return;
    progress_end(&session->progress);
    fprintf(stderr, "warning: %s; training goes on, and the next is tried as planned\n",
            checkpoints->failure);
    *checkpoints->failure = 0;
}

/* An old checkpoint that is more than that is left as it is. */
static void warn_of_old(struct session *session, const struct place_context *context) {
    struct checkpoints *checkpoints = &session->checkpoints;
    if (context->rank != 0 || !*checkpoints->stays)
        return;
    progress_end(&session->progress);
    fprintf(stderr, "warning: %s\n", checkpoints->stays);
    *checkpoints->stays = 0;
}

/* The log has those that are whole. */
static void log_checkpoint(struct session *session, struct place_context *context,
                           struct training *training, int64_t step) {
    char message[512];
    if (context->rank != 0 || step == 0 || session->checkpoints.last != step ||
        session->log.descriptor < 0)
        return;
    context->holds = 1;
    if (run_log_checkpoint(&session->log, step, training->waited,
                           tensor_files_bytes(&session->checkpoints.files), message,
                           sizeof message) != 0)
        context_fail(context, -1, PLACE_ERROR_HOST, "%s", message);
    context->holds = 0;
}

/* Ends what is on its way, by what all ranks know or by waiting for it. */
static int32_t end_checkpoint(struct session *session, struct place_context *context,
                              struct training *training, bool is_known) {
    struct checkpoint_writer *writer = &training->writer;
    bool is_any = atomic_load(&writer->state) != CHECKPOINT_NONE;
    int64_t step = is_any ? writer->step : 0;
    double begin = clock_seconds();
    int32_t status = PLACE_OK;
    if (is_any && is_known)
        status = checkpoint_settle(session, context, writer, training->agreed.checkpoint);
    else
        status = checkpoint_finish(session, context, writer);
    training->waited += clock_seconds() - begin;
    warn_of_old(session, context);
    log_checkpoint(session, context, training, step);
    return status;
}

static int32_t write_checkpoint(struct session *session, struct place_context *context,
                                struct training *training) {
    int32_t status = end_checkpoint(session, context, training, false);
    warn_of_failure(session, context);
    double begin = clock_seconds();
    if (!status)
        status = checkpoint_begin(session, context, &training->writer, training->step,
                                  samples_before(session, training->step), training->of_islands);
    training->waited = clock_seconds() - begin;
    return status;
}

/* Goes on behind a step: what has reached the disk gets its name, and what is due is begun. The
 * last step's is written at the end. What may be lost displaces nothing: such a step changes no state. */
static int32_t go_on_with_checkpoints(struct session *session, struct place_context *context,
                                      struct training *training) {
    const struct checkpoints *checkpoints = &session->checkpoints;
    const struct agreed *agreed = &training->agreed;
    int32_t status = PLACE_OK;
    if (agreed->checkpoint != CHECKPOINT_NONE && !agreed->checkpoint_waits)
        status = end_checkpoint(session, context, training, true);
    if (!status && checkpoints->is_on && checkpoints->every > 0 && training->n_lost == 0 &&
        training->step % checkpoints->every == 0 && training->step < session->options->steps)
        status = write_checkpoint(session, context, training);
    warn_of_failure(session, context);
    return status;
}

/* The last one, which has to be whole. */
static int32_t end_checkpoints(struct session *session, struct place_context *context,
                               struct training *training) {
    bool due = session->checkpoints.is_on && !is_poisoned(&training->agreed) &&
               training->step > steps_before(session) && training->writer.written != training->step;
    int32_t status = due ? write_checkpoint(session, context, training) : PLACE_OK;
    if (!status)
        status = end_checkpoint(session, context, training, false);
    if (!status && context->rank == 0 && *session->checkpoints.failure) {
        context->holds = 1; /* other files may be written yet */
        context_fail(context, -1, PLACE_ERROR_HOST, "%s", session->checkpoints.failure);
        context->holds = 0;
    }
    return status;
}

/* ---- steps ---------------------------------------------------------------------------------- */

static bool stops(const struct agreed *agreed) {
    return agreed->interrupted || agreed->failed || is_poisoned(agreed);
}

/* Evaluates on data of its own, so that the next step's are to be read behind it; the step's
 * measures are taken before. */
static int32_t evaluate(struct session *session, struct place_context *context,
                        struct training *training) {
    const struct place_run_options *options = session->options;
    training->evaluation.is_whole = false;
    if (options->eval_every == 0 || training->step % options->eval_every != 0 ||
        training->step == options->steps) /* the last is reported at the end */
        return PLACE_OK;
    int32_t status = rank_evaluate(session, context, &training->evaluation);
    if (!status)
        report_forget_sent(context, &training->reports);
    return status;
}

static void show_evaluation(struct session *session, struct place_context *context,
                            const struct training *training) {
    const struct evaluation *evaluation = &training->evaluation;
    char message[512];
    if (!evaluation->is_whole)
        return;
    context->holds = 1;
    progress_end(&session->progress);
    printf("eval: step %lld  loss %.6f over %lld token%s of %s\n", (long long)training->step,
           unsigned_nan(evaluation->loss), (long long)evaluation->tokens,
           plural_s(evaluation->tokens), dataset_name(&session->eval).text);
    if (session->log.descriptor >= 0 &&
        run_log_evaluation(&session->log, training->step, evaluation->loss, evaluation->tokens,
                           message, sizeof message) != 0)
        context_fail(context, -1, PLACE_ERROR_HOST, "%s", message);
    context->holds = 0;
}

/* Whoever sees a loss of 0 would take it for learning. The first such step is told, the log has
 * all.
 */
static void warn_of_idle_step(struct session *session, struct training *training,
                              const struct step_record *record) {
    if (record->tokens > 0 || training->has_idled)
        return;
    training->has_idled = true;
    progress_end(&session->progress);
    fprintf(stderr,
            "warning: step %lld: none of its %lld sequences has a target: loss and gradients are "
            "0, and only momentum and weight decay change the model; a larger train.batch makes "
            "such steps rare\n",
            (long long)record->step, (long long)session->program->batch);
}

/* A scale that makes gradients infinite trains nothing, however many steps it takes. Some are skipped by every scale
 * that grows until it is too large. */
static void warn_of_skipped_steps(struct session *session, const struct training *training) {
    int64_t steps = training->step - steps_before(session);
    bool all = training->n_skipped == steps;
    bool few = 2 * training->n_skipped <= steps && training->n_lost == 0;
    if (few || is_poisoned(&training->agreed))
        return;
    progress_end(&session->progress);
    if (all)
        fprintf(stderr, "warning: the model is what it was: %s %lld step%s skipped",
                steps == 1 ? "the" : "all", (long long)steps, steps == 1 ? " was" : "s were");
    else
        fprintf(stderr, "warning: %lld of %lld steps were skipped", (long long)training->n_skipped,
                (long long)steps);
    fprintf(stderr, ", since gradients were not finite at the loss scale; %s\n",
            training->n_lost ? "in the last of them the loss is not a number at any scale"
                             : "a smaller train.loss_scale may help");
}

static int32_t share_reports(struct session *session, struct place_context *context,
                             struct training *training, double begin) {
    struct reports *reports = &training->reports;
    struct step_record record = {.step = training->step};
    reports->mine->interrupted = interrupts_seen();
    reports->mine->failed = context->held != PLACE_OK;
    reports->mine->checkpoint = atomic_load(&training->writer.state);
    int32_t status = host_share_in_pace(context, reports->mine, reports->all, reports->bytes);
    if (status)
        return status;
    record.seconds = clock_seconds() - begin;
    training->agreed = reports_merge(session->program, reports, &record);
    training->n_lost = training->agreed.is_lost ? training->n_lost + 1 : 0;
    training->agreed.stays_lost = training->n_lost == MOST_LOST_STEPS;
    training->n_skipped += record.skipped;
    reports_carried(session->program, reports, training->of_islands);
    atomic_store(&session->trained, training->step);
    if (context->rank == 0) {
        show_step(session, context, &record);
        warn_of_idle_step(session, training, &record);
    }
    if (context->rank == 0)
        show_evaluation(session, context, training);
    return PLACE_OK;
}

/* Whether parameters are averaged: behind the last step all islands are one model, but a checkpoint
 * is of what goes on. */
static bool averages(const struct session *session, int64_t step) {
    bool last = step == session->options->steps && !session->checkpoints.is_on;
    return averages_after(session->program, step, last);
}

static int32_t train_step(struct session *session, struct place_context *context,
                          struct training *training) {
    int64_t step = training->step + 1;
    struct report *mine = training->reports.mine;
    rank_begin_step(context, step, &training->carried);
    mine->loss.targets = training->targets;
    double begin = clock_seconds();
    int32_t status = execute_step(session, context, step, &mine->live);
    if (!status)
        report_results(context, &training->reports, &training->carried);
    if (!status && averages(session, step))
        status = average(session, context, &mine->live);
    if (status)
        return status;
    training->step = step;
    report_measures(context, &training->reports);
    double before = clock_seconds();
    status = evaluate(session, context, training);
    if (status)
        return status;
    fill_ahead(session, context, training);
    begin += clock_seconds() - before; /* neither is part of this step */
    status = share_reports(session, context, training, begin);
    if (!status && !stops(&training->agreed))
        status = go_on_with_checkpoints(session, context, training);
    return status;
}

/* Whether the islands are one model: as this run left them, or as the checkpoint has them. */
static bool is_averaged(const struct session *session, int64_t step) {
    return step > steps_before(session) ? averages(session, step)
                                        : averages_after(session->program, step, false);
}

/* To be called once the steps are over, in whatever way but a failure in the midst of one. */
static int32_t end_steps(struct session *session, struct place_context *context,
                         struct training *training) {
    const struct agreed *agreed = &training->agreed;
    int32_t status = end_checkpoints(session, context, training);
    if (!status && is_poisoned(agreed))
        status = fail_poisoned(context, agreed);
    if (!status && training->step > 0 && !is_averaged(session, training->step) &&
        averages_after(session->program, training->step, true))
        status = average(session, context, &training->reports.mine->live);
    if (!status)
        atomic_store(&context->recorder.step, 0);
    return status;
}

/* What the first step finds, this rank's and every island's. False: no memory. */
static bool begin_carried(const struct session *session, const struct place_context *context,
                          struct training *training) {
    const struct place_program *program = session->program;
    const struct manifest *manifest = &session->resumption.manifest;
    int64_t islands = axes_parts(program, &program->islands);
    training->of_islands = malloc((size_t)islands * sizeof *training->of_islands);
    if (!training->of_islands)
        return false;
    for (int64_t i = 0; i < islands; i++)
        training->of_islands[i] =
            manifest->is_scaled ? manifest->carried[i] : carried_anew(manifest->step);
    training->carried = training->of_islands[axes_place(program, &program->islands, context->rank)];
    return true;
}

int32_t train_steps(struct session *session, struct place_context *context) {
    const struct manifest *manifest = &session->resumption.manifest;
    struct training training = {.step = manifest->step};
    int32_t status = PLACE_OK;
    if (!reports_allocate(&training.reports, session->program) ||
        !begin_carried(session, context, &training))
        status = context_fail(context, -1, PLACE_ERROR_HOST, "no memory for reports");
    if (!status && training.step < session->options->steps)
        status = fill(session, context, &training);
    while (training.step < session->options->steps && !status && !stops(&training.agreed))
        status = train_step(session, context, &training);
    if (!status)
        status = end_steps(session, context, &training);
    if (!status && context->rank == 0)
        warn_of_skipped_steps(session, &training);
    checkpoint_abandon(&training.writer);
    reports_free(&training.reports);
    free(training.of_islands);
    bool ends_early = training.agreed.interrupted || training.agreed.failed;
    if (training.agreed.interrupted)
        atomic_store(&session->interrupted, 1);
    if (training.agreed.failed)
        atomic_store(&session->failed, 1);
    if (is_poisoned(&training.agreed))
        atomic_store(&session->poisoned,
                     training.step - (training.agreed.stays_lost ? MOST_LOST_STEPS - 1 : 0));
    if (context->rank == 0 && progress_end(&session->progress) != 0 && !status && !ends_early)
        status = context_fail(context, -1, PLACE_ERROR_HOST,
                              "standard output cannot be written: %s", strerror(errno));
    return status;
}
