// W830: what the strategy says of how a step goes, where the step that is written out goes
// otherwise.
#include "driver/edited_inside.h"

#include <inttypes.h>

// The buffer with the most slots into which a tensor is gathered; NULL: none has several.
static const struct buffer *slots_of(const struct program *program, uint32_t tensor) {
    const struct buffer *most = NULL;
    for (buffer_id id = 0; id < program->n_buffers; id++) {
        const struct buffer *buffer = &program->buffers[id];
        if (buffer->tensor == tensor && buffer->stack == STACK_SLOTS &&
            (!most || buffer->count > most->count))
            most = buffer;
    }
    return most;
}

// How far ahead layers are gathered is the text's, and may be; but who says it in the file thinks
// that it holds. False: it was not told.
static bool warn_prefetch(struct compilation *c, const struct program *edited, uint32_t tensor,
                          const struct mode_statement *mode) {
    const struct buffer *text = slots_of(edited, tensor), *file = slots_of(c->final, tensor);
    int64_t slots = text ? text->count : 1;
    if (slots == (file ? file->count : 1))
        return false;
    struct diagnostic *d = report(c->diagnostics, W830, origin_span(&mode->origin),
                                  "`prefetch` changes nothing here: the step is written out");
    diagnostic_label(d, text ? text->span : edited->steps[STEP_TRAIN].span,
                     "this gathers `%s` into %" PRId64 " slot%s", c->final->tensors[tensor].name,
                     slots, plural_s(slots));
    diagnostic_origin(d, &mode->origin);
    diagnostic_help(d, "leave `prefetch` out, or print the step anew without the written-out one");
    return true;
}

// A default is said by nobody. Once for each statement.
void edited_check_prefetch(struct compilation *c, const struct program *edited) {
    struct placement placement;
    const struct strategy_config *strategy = &c->config.strategy;
    struct diagnostics *told_before = diagnostics_new(&c->arena, &c->sources);
    if (!placement_derive(&c->config, c->reference, &c->arena, told_before, &placement))
        return;
    for (uint32_t m = 0; m < strategy->n_modes; m++) {
        const struct mode_statement *mode = &strategy->modes[m];
        bool told = mode->state != STATE_PARAMETERS || mode->prefetch == 1;
        for (uint32_t at = 0; at < placement.n_ranges * placement.n_tensors && !told; at++)
            for (unsigned axis = 0; axis < c->final->mesh.n_axes && !told; axis++)
                told = placement.tensors[at].extents[STATE_PARAMETERS][axis].mode == mode &&
                       warn_prefetch(c, edited, at % placement.n_tensors, mode);
    }
}
