/* What steps leave for the next (see carried.h). */
#include "runtime/host/carried.h"
#include "runtime/host/layout.h"

bool carries(const struct place_program *program) {
    return program->parts->wellknown.left[PLACE_UPDATES] >= 0;
}

struct carried carried_anew(int64_t step) {
    return (struct carried){.values = {[PLACE_UPDATES] = (double)step}};
}

static double *scalar(struct place_context *context, int32_t buffer) {
    return layout_item(context, &context->part->buffers[buffer], 0);
}

/* A scale that stays is the program's own, also where the steps before had another. */
void carried_write(struct place_context *context, const struct carried *carried) {
    const struct place_wellknown *known = &context->part->wellknown;
    for (int i = 0; i < PLACE_N_CARRIED; i++)
        if (known->found[i] >= 0)
            *scalar(context, known->found[i]) = known->left[i] >= 0 ? carried->values[i] : 0;
}

void carried_read(struct place_context *context, struct carried *carried) {
    const struct place_wellknown *known = &context->part->wellknown;
    for (int i = 0; i < PLACE_N_CARRIED; i++)
        carried->values[i] = known->left[i] >= 0 ? *scalar(context, known->left[i]) : 0;
}
