/* Reports of a step (see reports.h). */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/copier.h"
#include "runtime/host/arena.h"
#include "runtime/host/checkpoint.h"
#include "runtime/host/layout.h"
#include "runtime/host/reports.h"
#include "runtime/transport/transport.h"

bool reports_allocate(struct reports *reports, const struct place_program *program) {
    size_t n = (size_t)program->n_groups + 1;
    reports->bytes = sizeof(struct report) + n * sizeof(int64_t);
    reports->mine = calloc(1, reports->bytes);
    reports->all = calloc((size_t)program->devices, reports->bytes);
    reports->sent_before = calloc(n, sizeof(int64_t));
    reports->sent_most = calloc(n, sizeof(int64_t));
    return reports->mine && reports->all && reports->sent_before && reports->sent_most;
}

void reports_free(struct reports *reports) {
    free(reports->mine);
    free(reports->all);
    free(reports->sent_before);
    free(reports->sent_most);
}

static double scalar_of(struct place_context *context, int32_t buffer) {
    if (buffer < 0)
        return NAN;
    return *(double *)layout_item(context, &context->part->buffers[buffer], 0);
}

/* Below it the loss's own gradient would be zero in fp16. */
#define LEAST_SCALE 0x1p-24

void report_results(struct place_context *context, struct reports *reports,
                    struct carried *carried) {
    const struct place_wellknown *known = &context->part->wellknown;
    struct report *mine = reports->mine;
    mine->loss.loss = scalar_of(context, known->loss);
    mine->grad_norm = scalar_of(context, known->grad_norm);
    mine->learning_rate = scalar_of(context, known->learning_rate);
    double updates = carried->values[PLACE_UPDATES];
    carried_read(context, carried);
    mine->carried = *carried;
    mine->scale = scalar_of(context, known->scale);
    mine->next_scale = scalar_of(context, known->left[PLACE_LOSS_SCALE]);
    mine->skipped = carries(context->program) && carried->values[PLACE_UPDATES] == updates;
}

void report_measures(struct place_context *context, struct reports *reports) {
    const struct place_program *program = context->program;
    struct report *mine = reports->mine;
    for (int tier = 0; tier < PLACE_N_TIERS; tier++) {
        int64_t copied = copier_copied_bytes(context->copier, (enum place_tier)tier);
        mine->peak_bytes[tier] = arena_touched_bytes(context, (enum place_tier)tier);
        mine->copied_bytes[tier] = copied - reports->copied_before[tier];
        reports->copied_before[tier] = copied;
    }
    for (int32_t i = 0; i < program->n_groups; i++) {
        int64_t sent = context->transport->sent_bytes(context, i);
        mine->sent_bytes[i] = sent - reports->sent_before[i];
        reports->sent_before[i] = sent;
    }
}

void report_forget_sent(struct place_context *context, struct reports *reports) {
    for (int32_t i = 0; i < context->program->n_groups; i++)
        reports->sent_before[i] = context->transport->sent_bytes(context, i);
    for (int tier = 0; tier < PLACE_N_TIERS; tier++)
        reports->copied_before[tier] = copier_copied_bytes(context->copier, (enum place_tier)tier);
}

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* A device that owns less than others does not use all, so what nobody uses is at most the least. */
static void merge_live(struct live_report *all, const struct live_report *one) {
    struct live_report most =
        one->peak[PLACE_DEVICE].sum > all->peak[PLACE_DEVICE].sum ? *one : *all;
    for (int tier = 0; tier < PLACE_N_TIERS; tier++) {
        most.peak[tier] =
            one->peak[tier].sum > all->peak[tier].sum ? one->peak[tier] : all->peak[tier];
        most.end[tier] = larger(all->end[tier], one->end[tier]);
    }
    most.overlapping = larger(all->overlapping, one->overlapping);
    most.unfreed = larger(all->unfreed, one->unfreed);
    most.unused = all->unused < one->unused ? all->unused : one->unused;
    *all = most;
}

static void merge_agreed(struct agreed *agreed, const struct report *report) {
    agreed->interrupted |= report->interrupted != 0;
    agreed->failed |= report->failed != 0;
    agreed->checkpoint_waits |= report->checkpoint == CHECKPOINT_ON_ITS_WAY;
    if (report->checkpoint < agreed->checkpoint)
        agreed->checkpoint = report->checkpoint;
}

static const struct report *report_of(const struct reports *reports, int64_t rank) {
    return (const struct report *)(reports->all + (size_t)rank * reports->bytes);
}

void reports_carried(const struct place_program *program, const struct reports *reports,
                     struct carried *of_islands) {
    int64_t islands = axes_parts(program, &program->islands);
    for (int64_t i = 0; i < islands; i++)
        of_islands[i] = report_of(reports, rank_at(program, &program->islands, i, 0))->carried;
}

/* Where nothing is updated all is as it was, whatever the norm is; a loss is of no scale. An island without a target has
 * no loss. */
static void merge_results(const struct place_program *program, const struct place_wellknown *known,
                          const struct report *report, struct agreed *agreed,
                          struct step_record *record) {
    bool updated = report->skipped == 0, learns = program->islands.n == 0 || report->loss.targets;
    if (isnan(report->grad_norm) || report->grad_norm > record->grad_norm)
        record->grad_norm = report->grad_norm;
    if (report->scale < record->loss_scale)
        record->loss_scale = report->scale;
    record->skipped |= !updated;
    bool lost = learns && known->loss >= 0 && !isfinite(report->loss.loss);
    agreed->has_no_loss |= updated && lost;
    agreed->is_lost |= !updated && lost;
    agreed->has_no_norm |= updated && known->grad_norm >= 0 && !isfinite(report->grad_norm);
    agreed->has_no_scale |= !updated && report->next_scale < LEAST_SCALE;
}

/* Norms differ between islands only, and so do scales: the largest and the least are told. */
struct agreed reports_merge(const struct place_program *program, struct reports *reports,
                            struct step_record *record) {
    const struct place_part *part = part_that_tells(program);
    const struct report *first = report_of(reports, rank_at(program, &part->axes, part->begin, 0));
    struct rank_loss loss = loss_of_all(program, reports->all, reports->bytes);
    struct agreed agreed = {.checkpoint = first->checkpoint};
    memset(record->peak_bytes, 0, sizeof record->peak_bytes);
    memset(record->copied_bytes, 0, sizeof record->copied_bytes);
    record->grad_norm = first->grad_norm;
    record->loss_scale = first->scale;
    record->live = report_of(reports, 0)->live;
    memset(reports->sent_most, 0, (size_t)program->n_groups * sizeof(int64_t));
    for (int64_t rank = 0; rank < program->devices; rank++) {
        const struct report *report = report_of(reports, rank);
        merge_agreed(&agreed, report);
        if (part_of_rank(program, (int32_t)rank) == part)
            merge_results(program, &part->wellknown, report, &agreed, record);
        for (int tier = 0; tier < PLACE_N_TIERS; tier++) {
            record->peak_bytes[tier] = larger(record->peak_bytes[tier], report->peak_bytes[tier]);
            record->copied_bytes[tier] =
                larger(record->copied_bytes[tier], report->copied_bytes[tier]);
        }
        merge_live(&record->live, &report->live);
        for (int32_t i = 0; i < program->n_groups; i++)
            reports->sent_most[i] = larger(reports->sent_most[i], report->sent_bytes[i]);
    }
    record->loss = loss.loss;
    record->tokens = loss.targets;
    record->learning_rate = first->learning_rate;
    record->sent_bytes = reports->sent_most;
    record->is_scaled = carries(program);
    return agreed;
}
