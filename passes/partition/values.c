// Partition, values: the buffers of what units hand on to each other, of inputs and of the
// optimizer's states, and the types in which they lie there.
#include <string.h>

#include "ir/check.h"
#include "passes/partition/partition.h"
#include "passes/placement/work.h"

// Makes the buffer of a value that is no tensor's state. Inputs hold the whole step's batch, by
// microbatches; everything else one microbatch at a time.
void make_value_buffer(struct draft *draft, buffer_id of, const struct sharding *type) {
    const struct plan *plan = draft->plan;
    struct buffer buffer = plan->reference->buffers[of];
    struct buffer_state *state = &draft->states[of];
    bool input = buffer.class == CLASS_INPUT;
    if (type->dtype != DTYPE_NONE) // a summand that is not rounded before it is a sum
        buffer.dtype = type->dtype;
    lay_out(plan, &buffer, type->cuts);
    for (unsigned d = 0; d < buffer.rank; d++) {
        struct axis_list *cuts = &buffer.layout.cuts[d];
        if (cuts->n == 0 || cuts->axes[cuts->n - 1] != plan->time)
            continue;
        // The axis in time is no axis of the mesh: it becomes the stack, or a smaller dimension.
        cuts->n--;
        if (!input)
            buffer.dims[d].size /= plan->placement.microbatches;
    }
    if (input && plan->placement.microbatches > 1 && has_batch(&buffer)) {
        CHECK(buffer.stacks.n == 0);
        buffer.stacks = stacked(STACK_MICROBATCHES, plan->placement.microbatches);
        buffer.layout.n_inner = plan->placement.inner.n;
    }
    state->buffer = program_add_buffer(draft->program, buffer);
    state->type = *type;
}

// The host fills inputs: every device gets its own part of the batch, [data axes][time][local]. It
// gets all that activations are only stored without.
static struct sharding input_sharding(const struct plan *plan, const struct buffer *buffer) {
    struct sharding type = {0};
    const struct work_rule *by[MAX_AXES];
    work_cuts_of_dims(&plan->placement, (struct part){0}, buffer->dims, buffer->rank, type.cuts,
                      by);
    for (unsigned d = 0; d < buffer->rank; d++) {
        struct axis_list cuts = type.cuts[d];
        type.cuts[d].n = 0;
        for (unsigned i = 0; i < cuts.n; i++)
            if (!by[cuts.axes[i]]->mode)
                axis_list_add(&type.cuts[d], cuts.axes[i]);
    }
    return type;
}

void ensure_buffer(struct draft *draft, buffer_id of) {
    const struct buffer *buffer = &draft->plan->reference->buffers[of];
    if (draft->states[of].buffer != NO_ID)
        return;
    if (class_persistent[buffer->class]) {
        make_optimizer_way(draft, of);
        return;
    }
    CHECK(buffer->class == CLASS_INPUT); // anything else is written before it is read
    struct sharding type = input_sharding(draft->plan, buffer);
    make_value_buffer(draft, of, &type);
}

// Where a reference of the reference program points now. Inputs by microbatches have the loop's
// variable, the outermost, as their index.
struct reference value_reference(const struct draft *draft, struct cursor at, struct reference r) {
    const struct buffer_state *state = &draft->states[r.buffer];
    if (class_states[draft->plan->reference->buffers[r.buffer].class] == STATE_OPTIMIZER)
        return item_at(draft, at, state->buffer, r);
    bool by_microbatch = buffer_stack(&draft->program->buffers[state->buffer], STACK_MICROBATCHES);
    return reference_at(state->buffer,
                        by_microbatch ? index_variable(0, 0, 0) : moved_index(at, r.indices[0]));
}
