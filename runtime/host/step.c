/* What a rank does around the program's own code in a step (see step.h). */
#include "runtime/host/carried.h"
#include "runtime/host/data.h"
#include "runtime/host/layout.h"
#include "runtime/host/step.h"
#include "runtime/live.h"

static void set_scalar(struct place_context *context, int32_t buffer, int64_t item, double value) {
    if (buffer >= 0)
        *(double *)layout_item(context, &context->part->buffers[buffer], item) = value;
}

/* What the host says beside data: which layer, microbatch and sample each is, and what is drawn.
 * Before every step, the same or not: a step may use the bytes of what it has read for something
 * else. */
static void write_inputs(struct place_context *context, double key) {
    const struct place_part *part = context->part;
    int32_t layer = part->wellknown.layer, microbatch = part->wellknown.microbatch;
    data_number_samples(context);
    set_scalar(context, part->wellknown.draw_key, 0, key);
    for (int64_t i = 0; microbatch >= 0 && i < part->buffers[microbatch].count; i++)
        set_scalar(context, microbatch, i, (double)i);
    for (int64_t i = 0; layer >= 0 && i < part->buffers[layer].count; i++)
        set_scalar(context, layer, i,
                   (double)(part->buffers[layer].first_item + i * part->buffers[layer].item_step));
}

int32_t fail_not_a_number(struct place_context *context, const char *what) {
    if (context->rank != 0)
        return PLACE_ERROR_ABORTED;
    return context_fail(context, -1, PLACE_ERROR_HOST, "%s", what);
}

void rank_begin_step(struct place_context *context, int64_t step, const struct carried *carried) {
    atomic_store(&context->recorder.step, step);
    carried_write(context, carried);
    set_scalar(context, context->part->wellknown.step, 0, (double)step);
}

int32_t rank_execute(struct place_context *context, place_entry *entry, double key,
                     struct live_report *report) {
    write_inputs(context, key);
    live_begin_step(context->live);
    recorder_begin_task(&context->recorder, 0);
    atomic_store(&context->recorder.in_step, 1);
    int32_t status = entry(context);
    atomic_store(&context->recorder.in_step, 0);
    *report = live_end_step(context->live);
    if (status)
        return context_fail(context, -1, (enum place_status)status, "the step failed");
    return PLACE_OK;
}
