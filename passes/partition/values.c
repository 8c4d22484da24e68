// Partition, values: the buffers of what units hand on to each other, of inputs and of the
// optimizer's states, and the types in which they lie there.
#include <string.h>

#include "ir/check.h"
#include "passes/partition/partition.h"
#include "passes/placement/work.h"

void lay_out(const struct partitioner *p, struct buffer *buffer,
             const struct axis_list cuts[MAX_RANK]) {
    const struct axis_list *ring = &p->placement.ring;
    for (unsigned d = 0; d < buffer->rank; d++) {
        buffer->layout.cuts[d] = cuts[d];
        bool zigzag = ring->n && buffer->dims[d].dimension == DIM_SEQUENCE &&
                      axis_list_has(&cuts[d], ring->axes[0]);
        buffer->layout.zigzag[d] = zigzag ? ring->axes[0] + 1 : 0;
    }
}

// Makes the buffer of a value that is no tensor's state. Inputs hold the whole step's batch, by
// microbatches; everything else one microbatch at a time.
void make_value_buffer(struct partitioner *p, buffer_id of, const struct sharding *type) {
    struct buffer buffer = p->reference->buffers[of];
    struct buffer_state *state = &p->states[of];
    bool input = buffer.class == CLASS_INPUT;
    lay_out(p, &buffer, type->cuts);
    for (unsigned d = 0; d < buffer.rank; d++) {
        struct axis_list *cuts = &buffer.layout.cuts[d];
        if (cuts->n == 0 || cuts->axes[cuts->n - 1] != p->time)
            continue;
        // The axis in time is no axis of the mesh: it becomes the stack, or a smaller dimension.
        cuts->n--;
        if (!input)
            buffer.dims[d].size /= p->placement.microbatches;
    }
    if (input && p->placement.microbatches > 1 && has_batch(&buffer)) {
        CHECK(buffer.stack == STACK_NONE);
        buffer.stack = STACK_MICROBATCHES;
        buffer.count = p->placement.microbatches;
        buffer.layout.n_inner = p->placement.inner.n;
    }
    state->buffer = program_add_buffer(p->program, buffer);
    state->type = *type;
}

// The host fills inputs: every device gets its own part of the batch, [data axes][time][local]. It
// gets all that activations are only stored without.
static struct sharding input_sharding(const struct partitioner *p, const struct buffer *buffer) {
    struct sharding type = {0};
    const struct work_rule *by[MAX_AXES];
    work_cuts_of_dims(&p->placement, (struct part){0}, buffer->dims, buffer->rank, type.cuts, by);
    for (unsigned d = 0; d < buffer->rank; d++) {
        struct axis_list cuts = type.cuts[d];
        type.cuts[d].n = 0;
        for (unsigned i = 0; i < cuts.n; i++)
            if (!by[cuts.axes[i]]->mode)
                axis_list_add(&type.cuts[d], cuts.axes[i]);
    }
    return type;
}

// Optimizer states: they are touched by updates only, so their type is their storage.
static void make_persistent(struct partitioner *p, buffer_id of) {
    struct buffer buffer = p->reference->buffers[of];
    struct sharding type = stored_sharding(p, &buffer);
    memcpy(buffer.layout.cuts, type.cuts, sizeof buffer.layout.cuts);
    buffer.layout.flat = type.flat;
    p->states[of].buffer = program_add_buffer(p->program, buffer);
    p->states[of].type = type;
}

void ensure_buffer(struct partitioner *p, buffer_id of) {
    const struct buffer *buffer = &p->reference->buffers[of];
    if (p->states[of].buffer != NO_ID)
        return;
    if (class_persistent[buffer->class]) {
        make_persistent(p, of);
        return;
    }
    CHECK(buffer->class == CLASS_INPUT); // anything else is written before it is read
    struct sharding type = input_sharding(p, buffer);
    make_value_buffer(p, of, &type);
}

// Where a reference of the reference program points now. Inputs by microbatches have the loop's
// variable, the outermost, as their index.
struct reference value_reference(const struct partitioner *p, struct cursor at,
                                 struct reference r) {
    const struct buffer_state *state = &p->states[r.buffer];
    struct reference to = {.buffer = state->buffer, .index = moved_index(at, r.index)};
    if (p->program->buffers[to.buffer].stack == STACK_MICROBATCHES)
        to.index = index_variable(0, 0, 0);
    return to;
}
