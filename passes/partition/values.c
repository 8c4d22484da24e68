// Partition, values: the buffers of what units hand on to each other, of inputs and of the
// optimizer's states, and the types in which they lie there.
#include <limits.h>
#include <string.h>

#include "ir/check.h"
#include "passes/partition/partition.h"
#include "passes/placement/work.h"

// ---- how values are divided -------------------------------------------------------------------

// Of several writers the one in the innermost loop says how: layers hand on to each other more
// often than they take from what stands before them.
static void divide_result(struct partitioner *p, const struct call *call, uint32_t i, int depth,
                          int64_t layer) {
    const struct unit *unit = &p->reference->job->units[call->unit];
    struct buffer_state *state = &p->states[call->results[i].buffer];
    if (state->depth < depth &&
        work_cuts_of_result(&p->placement, unit, i, layer, state->kept, state->work.cuts))
        state->depth = depth;
}

static int64_t local_elements(const struct partitioner *p, const struct tensor_type *type,
                              const struct axis_list cuts[MAX_RANK]) {
    struct sharding sharding = {0};
    struct tensor_type local;
    memcpy(sharding.cuts, cuts, sizeof sharding.cuts);
    CHECK(sharding_local(p, type, &sharding, &local));
    return type_elements(&local);
}

// What a ring reads, in every round, lies as the ring wants it, whoever writes it; but not where
// the device would have to keep, and send on, more of it than its part.
static void divide_operands(struct partitioner *p, const struct call *call,
                            const struct ring *ring) {
    const struct unit *unit = &p->reference->job->units[call->unit];
    for (uint32_t i = 0; i < unit->n_parameters; i++) {
        struct buffer_state *state = &p->states[call->operands[i].buffer];
        const struct tensor_type *type = &unit->values[i].type;
        if (local_elements(p, type, ring->cuts[i]) > local_elements(p, type, state->work.cuts))
            continue;
        memcpy(state->work.cuts, ring->cuts[i], sizeof state->work.cuts);
        state->depth = INT_MAX;
    }
}

static void divide_call(struct partitioner *p, const struct statement *statement, int depth,
                        int64_t layer) {
    const struct cut_call *cut = find_cut_call(p, statement);
    uint32_t n = cut ? cut->n_pieces : 1;
    for (uint32_t k = 0; k < n; k++) {
        const struct call *call = cut ? &cut->pieces[k].call : &statement->call;
        for (uint32_t i = 0; i < p->reference->job->units[call->unit].n_results; i++)
            divide_result(p, call, i, depth, layer);
        if (cut && cut->rings[k])
            divide_operands(p, call, cut->rings[k]);
    }
}

void divide_values(struct partitioner *p) {
    find_kept(p);
    for (int kind = 0; kind < N_STEPS; kind++) {
        if (!p->reference->steps[kind].present)
            continue;
        struct statement_walk walk = walk_statements(&p->reference->steps[kind].body);
        while (walk_next(&walk)) {
            const struct loop *loop = walk_loop(&walk, walk.depth - 1);
            if (walk.statement->kind == STATEMENT_CALL)
                divide_call(p, walk.statement, walk.depth + 1, loop ? loop->begin : 0);
        }
    }
    divide_kept(p);
}

// ---- buffers ----------------------------------------------------------------------------------

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
