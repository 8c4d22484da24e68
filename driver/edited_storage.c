// E621: the storage that the verifier found in an accepted text, and the modes that the strategy
// declares. The verifier itself reads no declaration.
#include "driver/edited_inside.h"

#include <string.h>

#include "driver/report.h"

// The letter that the strategy declares for a state of a tensor, and what says it (NULL: nothing,
// storage follows work).
static const char *declared_letter(const struct placed_tensor *placed, const struct tensor *tensor,
                                   const struct placement_row *row, unsigned axis,
                                   const struct origin **origin) {
    static const char *const letters[] = {
        [EXTENT_REPLICATED] = "R", [EXTENT_SHARDED] = "S", [EXTENT_GATHERED] = "S*"};
    enum state state = row->state;
    *origin = stored_origin(placed->storage, state, axis);
    struct axis_list cuts[MAX_RANK];
    uint64_t cut = 0;
    placed_cuts(placed, tensor, row->buffer->class, cuts);
    for (unsigned d = 0; d < MAX_RANK; d++)
        cut |= axis_list_mask(&cuts[d]);
    if (placed->cut_by[axis] && cut >> axis & 1) {
        *origin = &placed->cut_by[axis]->origin;
        return "S";
    }
    enum extent extent = stored_extent(placed->storage, state, axis);
    bool as_shards = state == STATE_OPTIMIZER && extent == EXTENT_GATHERED; // gathered by its unit
    return letters[as_shards ? EXTENT_SHARDED : extent];
}

static const char *letter_words(const char *letter) {
    if (strcmp(letter, "R") == 0)
        return "whole on every device (R)";
    return strcmp(letter, "S") == 0 ? "as shards (S)" : "as shards that are gathered (S*)";
}

// Reports a buffer of the text that lies otherwise, with the statement that declares how.
static void report_storage(struct compilation *c, const struct placement_row *row, unsigned axis,
                           const char *found, const char *declared, const struct origin *origin) {
    const char *name = c->final->job->mesh.axes[axis].name;
    const char *tensor = tensor_model_name(&c->final->job->tensors[row->buffer->tensor]);
    struct diagnostic *d = report(
        c->diagnostics, E621, row->buffer->span, "this program keeps the %s of `%s` %s over `%s`",
        row->state == STATE_OPTIMIZER ? "optimizer's state" : state_names[row->state], tensor,
        letter_words(found), name);
    struct span at = origin ? origin_span(origin) : c->config.strategy.name_span;
    diagnostic_label(d, at, origin ? "declared here: %s" : "nothing is declared: %s",
                     letter_words(declared));
    if (origin && origin->kind != ORIGIN_STATEMENT)
        diagnostic_origin(d, origin);
    diagnostic_help(d, "declare what the program does, or keep the state as it is declared");
}

// Is all that a buffer holds, of whatever layers, declared as it was found? If not, that is
// reported.
static bool check_buffer_storage(struct compilation *c, const struct placement *placement,
                                 const struct placement_row *row, unsigned axis) {
    const struct buffer *buffer = row->buffer;
    const char *found = mode_letter(row, axis);
    int64_t layers = buffer_stack(buffer, STACK_LAYERS) ? buffer_items(buffer) : 1;
    uint32_t asked = NO_ID; // the range of the layer before: what holds of one holds of all of it
    for (int64_t item = 0; item < layers; item++) {
        uint32_t range = placement_range(placement, buffer_layer(buffer, item));
        if (range == asked)
            continue;
        asked = range;
        const struct placed_tensor *placed =
            &placement->tensors[range * placement->n_tensors + buffer->tensor];
        const struct origin *origin;
        const char *declared =
            declared_letter(placed, &c->final->job->tensors[buffer->tensor], row, axis, &origin);
        if (strcmp(found, declared) == 0)
            continue;
        report_storage(c, row, axis, found, declared, origin);
        return false;
    }
    return true;
}

// What the verifier found of the part's buffers.
static const struct found *found_in_final(const struct compilation *c) {
    uint32_t part = 0;
    while (c->final->job->programs[part] != c->final)
        part++;
    return c->verdict.buffers[part];
}

// One report for a state and axis: the tensors of a unit are mostly kept alike.
static void check_state_storage(struct compilation *c, const struct placement *placement,
                                enum state state, unsigned axis) {
    for (buffer_id id = 0; id < c->final->n_buffers; id++) {
        const struct buffer *buffer = &c->final->buffers[id];
        if (class_states[buffer->class] != state || buffer->tensor == NO_ID ||
            buffer_is_part(c->final, id) || !found_in_final(c)[id].seen ||
            buffer->class == CLASS_RESIDUAL) // nobody declares it: it lies as what is compressed
            continue;
        struct placement_row row = {
            .state = state, .buffer = buffer, .found = &found_in_final(c)[id]};
        if (!check_buffer_storage(c, placement, &row, axis))
            return;
    }
}

// `does`: what the program does with the state, where its statement says otherwise.
static void report_residency(struct compilation *c, const struct buffer *buffer,
                             const struct storage *storage, enum state state, const char *does) {
    const struct mode_statement *declared = storage->lives[state];
    struct diagnostic *d =
        report(c->diagnostics, E621, buffer->span, "this program %s the %s of `%s`", does,
               state_names[state], tensor_model_name(&c->final->job->tensors[buffer->tensor]));
    diagnostic_label(d, declared ? origin_span(&declared->origin) : c->config.strategy.name_span,
                     "%s: they are `%s`", declared ? "declared here" : "nothing is declared",
                     residency_names[stored_residency(storage, state)]);
    diagnostic_help(d, "declare what the program does, or keep the state as it is declared");
}

// Gradients that are taken one by one as they are made, or are kept until all are there. Reported once.
static void check_consumed(struct compilation *c, const struct placement *placement) {
    const bool *consumed = consumed_gradients(&c->arena, c->final);
    for (buffer_id id = 0; id < c->final->n_buffers; id++) {
        const struct buffer *buffer = &c->final->buffers[id];
        if (buffer->class != CLASS_GRADIENTS || buffer->tensor == NO_ID ||
            buffer_is_part(c->final, id) || !found_in_final(c)[id].seen)
            continue;
        const struct storage *storage = storage_of(placement, buffer);
        if (consumes_gradients(storage) == consumed[id])
            continue;
        report_residency(c, buffer, storage, STATE_GRADIENTS,
                         consumed[id] ? "does not keep" : "keeps until all are there");
        return;
    }
}

// Parameters that are kept, or made of the master copy for each use. Reported once.
static void check_made(struct compilation *c, const struct placement *placement) {
    for (buffer_id id = 0; id < c->final->n_buffers; id++) {
        const struct buffer *buffer = &c->final->buffers[id];
        bool kept = buffer->class == CLASS_PARAMETERS && buffer->window_of == NO_ID;
        if ((!kept && !is_made_of_master(c->final, id)) || !found_in_final(c)[id].seen)
            continue;
        const struct storage *storage = storage_of(placement, buffer);
        if (makes_parameters(storage) == !kept)
            continue;
        report_residency(c, buffer, storage, STATE_PARAMETERS,
                         kept ? "keeps" : "makes of the master copy");
        return;
    }
}

// The furthest tier of the buffers that a state of a tensor has: a text may keep some nearer.
static enum tier furthest_tier(const struct program *program, const struct buffer *of) {
    enum tier furthest = of->tier;
    for (buffer_id id = 0; id < program->n_buffers; id++) {
        const struct buffer *buffer = &program->buffers[id];
        if (buffer->tensor == of->tensor &&
            class_states[buffer->class] == class_states[of->class] && buffer->window_of == NO_ID &&
            buffer_first_layer(buffer) == buffer_first_layer(of) && buffer->tier > furthest)
            furthest = buffer->tier;
    }
    return furthest;
}

// What is kept on the device, on its host, or on disk. Reported once.
static void check_tiers(struct compilation *c, const struct placement *placement) {
    for (buffer_id id = 0; id < c->final->n_buffers; id++) {
        const struct buffer *buffer = &c->final->buffers[id];
        enum state state = class_states[buffer->class];
        if (state >= STATE_ACTIVATIONS || buffer->tensor == NO_ID || buffer->window_of != NO_ID ||
            !found_in_final(c)[id].seen || buffer->class == CLASS_RESIDUAL)
            continue;
        const struct storage *storage = storage_of(placement, buffer);
        enum tier declared = stored_tier(storage, state);
        if (declared == buffer->tier ||
            (buffer->tier != TIER_DEVICE && declared == furthest_tier(c->final, buffer)))
            continue;
        const struct mode_statement *mode = storage->lives[state];
        struct diagnostic *d = report(
            c->diagnostics, E621, buffer->span, "this program keeps the %s of `%s` on %s",
            state == STATE_OPTIMIZER ? "optimizer's state" : state_names[state],
            tensor_model_name(&c->final->job->tensors[buffer->tensor]), tier_names[buffer->tier]);
        diagnostic_label(d, mode ? origin_span(&mode->origin) : c->config.strategy.name_span,
                         mode ? "declared here: on %s" : "nothing is declared: on %s",
                         tier_names[declared]);
        diagnostic_help(d, "declare what the program does, or keep the state as it is declared");
        return;
    }
}

void edited_check_storage(struct compilation *c, const struct placement *placement) {
    for (int state = 0; state < STATE_ACTIVATIONS; state++)
        for (unsigned axis = 0; axis < c->final->job->mesh.n_axes; axis++)
            if (c->final->job->mesh.axes[axis].size > 1 &&
                !axis_list_has(&c->final->part.axes, axis)) // along which parts have what is theirs
                check_state_storage(c, placement, (enum state)state, axis);
    check_consumed(c, placement);
    check_made(c, placement);
    check_tiers(c, placement);
}
