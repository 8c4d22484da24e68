/* What a trained model says: its loss on held-out data, and tokens sampled from it. Both run the
 * program's forward-only step on the same buffers as training. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/host/interrupts.h"
#include "runtime/host/islands.h"
#include "runtime/host/layout.h"
#include "runtime/host/random.h"
#include "runtime/host/session.h"
#include "runtime/host/step.h"
#include "runtime/kernels/rows.h"
#include "runtime/live.h"
#include "runtime/transport/transport.h"

/* What every rank tells the others between two batches. */
struct evaluated {
    struct rank_loss loss; /* the first member */
    int64_t interrupted, failed;
};

/* Whether anybody was interrupted, or holds a failure, which all ranks find out together; and the
 * loss of all. */
static int32_t agree_to_stop(struct session *session, struct place_context *context, bool *stop,
                             struct rank_loss *loss) {
    int64_t n = context->program->devices;
    struct evaluated mine = {*loss, interrupts_seen(), context->held != PLACE_OK};
    struct evaluated *all = calloc((size_t)n, sizeof *all);
    int32_t status = all ? host_share(context, &mine, all, sizeof mine)
                         : context_fail(context, -1, PLACE_ERROR_HOST, "no memory to agree");
    bool interrupted = false, failed = false;
    for (int64_t i = 0; i < n && !status; i++) {
        interrupted |= all[i].interrupted != 0;
        failed |= all[i].failed != 0;
    }
    *stop = interrupted || failed;
    if (interrupted)
        atomic_store(&session->interrupted, 1);
    if (failed)
        atomic_store(&session->failed, 1);
    if (!status)
        *loss = loss_of_all(context->program, all, sizeof *all);
    free(all);
    return status;
}

/* ---- loss ----------------------------------------------------------------------------------- */

/* The batch that begins with a window, and how many of this rank's targets it has; a failure is
 * held until the ranks meet. */
static int64_t fill_batch(struct session *session, struct place_context *context, int64_t first) {
    const struct dataset *set = &session->eval;
    if (first >= set->windows)
        return 0;
    context->holds = 1;
    int32_t status = dataset_fill(context, set, DATA_SEQUENTIAL, 0, first);
    context->holds = 0;
    return status ? 0 : data_targets(context);
}

int32_t rank_evaluate(struct session *session, struct place_context *context,
                      struct evaluation *evaluation) {
    const struct place_program *program = session->program;
    const struct place_part *part = context->part;
    struct live_report unused;
    double sum = 0;
    bool stop = false;
    struct rank_loss none = {0, 0};
    *evaluation = (struct evaluation){0};
    int64_t targets = fill_batch(session, context, 0);
    int32_t status = agree_to_stop(session, context, &stop, &none);
    for (int64_t first = 0; first < session->eval.windows && !stop && !status;) {
        struct rank_loss loss = {.targets = targets};
        status = rank_execute(context, context->part->evaluate, 0, &unused);
        if (!status && part->wellknown.loss >= 0)
            loss.loss = *(double *)layout_item(context, &part->buffers[part->wellknown.loss], 0);
        first += program->batch;
        if (!status)
            targets = fill_batch(session, context, first);
        if (!status)
            status = agree_to_stop(session, context, &stop, &loss);
        if (!status && loss.targets > 0)
            sum += loss.loss * (double)loss.targets;
        evaluation->tokens += status ? 0 : loss.targets;
    }
    evaluation->is_whole = !stop && !status;
    evaluation->loss = sum / (double)evaluation->tokens;
    return status;
}

int32_t rank_report_evaluation(struct session *session, struct place_context *context) {
    struct evaluation evaluation;
    int32_t status = rank_evaluate(session, context, &evaluation);
    if (status || !evaluation.is_whole)
        return status;
    if (context->rank == 0)
        printf("eval: loss %.6f over %lld token%s of %s\n", unsigned_nan(evaluation.loss),
               (long long)evaluation.tokens, plural_s(evaluation.tokens),
               dataset_name(&session->eval).text);
    return isfinite(evaluation.loss)
               ? PLACE_OK
               : fail_not_a_number(context, "the loss of --eval is not a number: the model has "
                                            "parameters that are none, or too large");
}

/* ---- sampling ------------------------------------------------------------------------------- */

/* Logits of the first sequence at one position: what this rank holds of them; zero elsewhere. */
static void own_logits(struct place_context *context, int64_t position, double *row) {
    const struct place_program *program = context->program;
    const struct place_part *part = context->part;
    memset(row, 0, (size_t)program->vocab * sizeof *row);
    if (part != part_that_tells(program))
        return;
    const struct place_buffer *logits = &part->buffers[part->wellknown.logits];
    if (!layout_is_first_copy(program, logits, context->rank))
        return;
    const char *item = layout_item(context, logits, 0);
    int64_t begin = position * program->vocab, end = begin + program->vocab;
    struct layout_walk walk = layout_walk_begin(program, logits, context->rank);
    struct layout_run run;
    while (layout_walk_next(&walk, &run))
        for (int64_t i = 0; i < run.length; i++) {
            int64_t global = run.global + i, local = run.local + i;
            if (global >= begin && global < end)
                widen_row_f64(logits->dtype, &row[global - begin],
                              item + local * width_of(logits->dtype), 1);
        }
}

/* The token at which the cumulated softmax passes `uniform`. */
static int32_t choose(const double *logits, int64_t vocab, double uniform) {
    double highest = logits[0], sum = 0;
    for (int64_t i = 1; i < vocab; i++)
        highest = fmax(highest, logits[i]);
    for (int64_t i = 0; i < vocab; i++)
        sum += exp(logits[i] - highest);
    double left = uniform * sum;
    for (int64_t i = 0; i < vocab; i++) {
        left -= exp(logits[i] - highest);
        if (left < 0)
            return (int32_t)i;
    }
    return (int32_t)vocab - 1;
}

/* The text so far, and room for one row of logits of every rank. */
struct sampler {
    int32_t *tokens;
    int64_t n, length; /* tokens so far; most that the model sees at once */
    double *mine, *all;
};

static int32_t sample_token(struct session *session, struct place_context *context,
                            struct sampler *sampler, int64_t number) {
    const struct place_program *program = session->program;
    data_fill_same(context, sampler->tokens, sampler->n);
    struct live_report unused;
    int32_t status = rank_execute(context, context->part->evaluate, 0, &unused);
    if (status)
        return status;
    own_logits(context, sampler->n - 1, sampler->mine);
    status =
        host_share(context, sampler->mine, sampler->all, (size_t)program->vocab * sizeof(double));
    if (status)
        return status;
    double *sum = sampler->mine;
    memset(sum, 0, (size_t)program->vocab * sizeof *sum);
    for (int64_t r = 0; r < program->devices; r++)
        for (int64_t i = 0; i < program->vocab; i++)
            sum[i] += sampler->all[r * program->vocab + i];
    for (int64_t i = 0; i < program->vocab; i++)
        if (!isfinite(sum[i]))
            return fail_not_a_number(context, "what the model says is not a number, so nothing can "
                                              "be sampled");
    double uniform = random_uniform(random_key(session->seed, "sample"), (uint64_t)number);
    int32_t token = choose(sum, program->vocab, uniform);
    if (sampler->n == sampler->length) {
        sampler->n--;
        memmove(sampler->tokens, sampler->tokens + 1, (size_t)sampler->n * sizeof *sampler->tokens);
    }
    sampler->tokens[sampler->n++] = token;
    return PLACE_OK;
}

/* Bytes of text as they are, other tokens as numbers, those of a model of text that are no bytes in
 * brackets. What a terminal would obey is printed as '?'. */
static void print_token(const struct session *session, int64_t token) {
    if (!session->speaks_text)
        printf(" %lld", (long long)token);
    else if (token > UINT8_MAX)
        printf("<%lld>", (long long)token);
    else
        putchar((token < 32 && token != '\n' && token != '\t') || token == 127 ? '?' : (int)token);
}

/* The prompt: as it was given, or the beginning of the data, a quarter of a sequence or what there
 * is before a mask. */
static int32_t sampler_prompt(const struct session *session, struct place_context *context,
                              struct sampler *sampler) {
    const struct prompt *prompt = &session->prompt;
    if (prompt->tokens) {
        memcpy(sampler->tokens, prompt->tokens, (size_t)prompt->n * sizeof *prompt->tokens);
        sampler->n = prompt->n;
        return PLACE_OK;
    }
    sampler->n = sampler->length / 4 > 0 ? sampler->length / 4 : 1;
    return dataset_begin(context, &session->data, &sampler->n, sampler->tokens);
}

/* What is sampled and from what it goes on; of text both are one, of numbers the prompt ends with a
 * bar. */
static void print_prompt(const struct session *session, const struct sampler *sampler) {
    int64_t n = session->options->sample;
    printf("sample: %lld token%s behind the ", (long long)n, plural_s(n));
    if (session->prompt.tokens)
        printf("prompt of %lld\n", (long long)sampler->n);
    else
        printf("first %lld of %s\n", (long long)sampler->n, session->data.files.paths[0]);
    for (int64_t i = 0; i < sampler->n; i++)
        print_token(session, sampler->tokens[i]);
    if (!session->speaks_text)
        printf(" |");
}

static int32_t sample_all(struct session *session, struct place_context *context,
                          struct sampler *sampler) {
    bool speaks = context->rank == 0, stop = false;
    struct rank_loss loss = {0, 0}; /* a sampled text has no targets */
    int32_t status = sampler_prompt(session, context, sampler);
    if (status)
        return status;
    if (speaks)
        print_prompt(session, sampler);
    for (int64_t i = 0; i < session->options->sample && !stop; i++) {
        status = sample_token(session, context, sampler, i);
        if (!status)
            status = agree_to_stop(session, context, &stop, &loss);
        if (status)
            return status;
        if (speaks)
            print_token(session, sampler->tokens[sampler->n - 1]);
    }
    if (speaks)
        putchar('\n');
    return PLACE_OK;
}

int32_t rank_sample(struct session *session, struct place_context *context) {
    const struct place_program *program = session->program;
    struct sampler sampler = {.length = program->sequence};
    size_t row = (size_t)program->vocab * sizeof(double);
    sampler.tokens = calloc((size_t)program->sequence + 1, sizeof *sampler.tokens);
    sampler.mine = malloc(row);
    sampler.all = malloc(row * (size_t)program->devices);
    int32_t status = PLACE_OK;
    if (sampler.tokens && sampler.mine && sampler.all)
        status = sample_all(session, context, &sampler);
    else
        status = context_fail(context, -1, PLACE_ERROR_HOST, "no memory to sample");
    free(sampler.tokens);
    free(sampler.mine);
    free(sampler.all);
    return status;
}
