// Partition: from the reference program and a placement to the program of one device of the mesh.
//
// Input: what one device would do with the whole batch, and where every tensor's work and storage
// lie. Output: the same units on local tensors with the collectives that their types ask for; a
// loop over microbatches where there is more than one; around the calls the conversions between
// work and storage: gathers before use, reductions of gradients, gathers of what was updated. Every
// start is followed by its wait, which `overlap` moves apart, but for what travels round a ring:
// there every round computes while the next one's keys are on their way.
//
// Nothing is decided by a unit's or a buffer's name, but by class, tensor and type: a result that
// is a summand over microbatches is accumulated, whatever it is.
//
// Invariant: the new program is made beside the reference, which is not changed; a buffer of the
// reference has its state in partitioner.states or, if it holds a tensor's parameters or
// gradients, in partitioner.storage.
#include "passes/partition/partition.h"

#include <string.h>

#include "ir/check.h"
#include "ir/diagnostic.h"

// ---- shardings --------------------------------------------------------------------------------

const struct buffer *reference_buffer(const struct partitioner *p, struct reference r) {
    return &p->reference->buffers[r.buffer];
}

static int64_t partition_axis_size(const struct partitioner *p, unsigned axis) {
    return axis == p->time ? p->placement.microbatches : p->program->mesh.axes[axis].size;
}

bool sharding_equal(const struct sharding *a, const struct sharding *b, unsigned rank) {
    if (!axis_list_equal(&a->flat, &b->flat) || a->partial != b->partial ||
        a->maxima != b->maxima || a->zero != b->zero)
        return false;
    for (unsigned d = 0; d < rank; d++)
        if (!axis_list_equal(&a->cuts[d], &b->cuts[d]))
            return false;
    return true;
}

static int64_t parts_of(const struct partitioner *p, const struct axis_list *axes) {
    int64_t parts = 1;
    for (unsigned i = 0; i < axes->n; i++)
        parts *= partition_axis_size(p, axes->axes[i]);
    return parts;
}

bool sharding_local(const struct partitioner *p, const struct tensor_type *logical,
                    const struct sharding *sharding, struct tensor_type *local) {
    *local = *logical;
    for (unsigned d = 0; d < logical->rank; d++) {
        int64_t parts = parts_of(p, &sharding->cuts[d]);
        if (logical->dims[d].size % parts)
            return false;
        local->dims[d].size /= parts;
    }
    if (sharding->flat.n) {
        int64_t parts = parts_of(p, &sharding->flat);
        int64_t chunk = (type_elements(local) + parts - 1) / parts;
        *local =
            (struct tensor_type){.dtype = logical->dtype, .rank = 1, .dims = {{DIM_FLAT, chunk}}};
    }
    return true;
}

struct axis_list axes_of_sum(const struct partitioner *p, uint64_t mask) {
    CHECK(mask >> p->program->mesh.n_axes == 0); // microbatches are summed by accumulating
    return placement_sum(&p->placement, &p->program->mesh, mask);
}

struct span split_span(const struct partitioner *p, unsigned axis) {
    const struct split_statement *split = axis < MAX_AXES ? p->placement.split_by[axis] : NULL;
    return split ? origin_span(&split->origin) : p->config->strategy.name_span;
}

// ---- the pass ---------------------------------------------------------------------------------

static struct program *new_program(const struct partitioner *p, const struct program *reference) {
    struct program *program = program_new(p->arena, reference->name);
    program->mesh = p->config->mesh;
    program->policy = reference->policy;
    program->sizes = reference->sizes;
    program->sizes.microbatches = p->placement.microbatches;
    for (uint32_t i = 0; i < reference->n_tensors; i++)
        program_add_tensor(program, reference->tensors[i]);
    program_reserve_buffers(program, 2 * reference->n_buffers); // with transients
    return program;
}

bool partition(struct program *program, const struct pass_context *context) {
    struct program reference = *program;
    uint32_t errors = context->diagnostics->n_errors;
    struct partitioner p = {.arena = program->arena,
                            .unit_names.arena = program->arena,
                            .config = context->config,
                            .diagnostics = context->diagnostics,
                            .reference = &reference};
    if (!placement_for(&reference, context, &p.placement))
        return false;
    p.program = new_program(&p, &reference);
    // The axis in time exists only where there is more than one microbatch.
    p.time = p.program->mesh.n_axes;
    CHECK(p.time < MAX_AXES);
    p.token_axes = axis_list_mask(&p.placement.tokens) | UINT64_C(1) << p.time;
    cut_at_rings(&p, &reference);
    p.uses = ARENA_ARRAY(p.arena, struct unit_use *, reference.n_units + 1);
    p.codings = ARENA_ARRAY(p.arena, struct coding *, reference.n_units + 1);
    p.accumulations = ARENA_ARRAY(p.arena, struct accumulation *, reference.n_units + 1);
    p.states = ARENA_ARRAY(p.arena, struct buffer_state, reference.n_buffers + 1);
    for (uint32_t i = 0; i < reference.n_buffers; i++)
        p.states[i].buffer = NO_ID;
    p.program->policy.wire_axes = p.placement.wire_axes;
    p.program->policy.wire = p.placement.wire;
    divide_values(&p);
    make_storage(&p);
    for (int kind = 0; kind < N_STEPS; kind++)
        if (reference.steps[kind].present)
            partition_step(&p, (enum step_kind)kind);
    if (p.diagnostics->n_errors > errors)
        return false;
    if (p.placement.islands.n)
        deal_out(&p);
    program_number(p.program);
    *program = *p.program;
    return true;
}
