// The structure of buffers; see checker.h. Names, classes and sizes are what the text says; here it is
// held to what the mesh, the tensors and the host know.
#include <inttypes.h>
#include <string.h>

#include "ir/checker.h"

static bool same_dimensions(const struct buffer *a, const struct buffer *b) {
    bool same = a->rank == b->rank;
    for (unsigned i = 0; same && i < a->rank; i++)
        same = a->dims[i].dimension == b->dims[i].dimension && a->dims[i].size == b->dims[i].size &&
               a->layout.zigzag[i] == b->layout.zigzag[i] &&
               axis_list_equal(&a->layout.cuts[i], &b->layout.cuts[i]);
    return same;
}

// A window is about what its whole is about, in its order, and its flat cut begins with the
// whole's, or it is the owner's of each item. The last device's shard must lie inside the item too, so the item is padded for it.
static const char *check_window(struct checker *c, const struct buffer *buffer) {
    const struct program *program = c->program;
    if (buffer->window_of >= program->n_buffers)
        return arena_format(c->arena, "buffer %s has no whole", buffer->name);
    const struct buffer *parent = &program->buffers[buffer->window_of];
    bool owned = buffer->layout.owners.n && !parent->layout.owners.n;
    bool fits =
        parent->window_of == NO_ID &&
        (parent->layout.flat.n < buffer->layout.flat.n || (owned && parent->layout.flat.n == 0)) &&
        memcmp(parent->layout.flat.axes, buffer->layout.flat.axes, parent->layout.flat.n) == 0 &&
        parent->tensor == buffer->tensor && parent->class == buffer->class &&
        parent->tier == buffer->tier && stacks_equal(&parent->stacks, &buffer->stacks) &&
        parent->dtype == buffer->dtype && same_dimensions(parent, buffer);
    if (!fits)
        return arena_format(c->arena, "buffer %s is no shard of its whole", buffer->name);
    struct tensor_type shard = buffer_type(program, buffer);
    struct axis_list axes = buffer_window_axes(program, buffer);
    int64_t parts = mesh_group_size(&c->job->mesh, &axes);
    return size_times(parts, type_bytes(&shard)) <= buffer_item_bytes(program, parent)
               ? NULL
               : arena_format(c->arena, "the last shard of buffer %s lies outside of %s",
                              buffer->name, parent->name);
}

static const char *dims_text(struct arena *arena, const enum dimension *dims, unsigned rank) {
    const char *text = "";
    for (unsigned i = 0; i < rank; i++)
        text = arena_format(arena, "%s%s%s", text, i ? ", " : "", dimension_names[dims[i]]);
    return text;
}

// Does the host know every item?
static bool host_knows_items(const struct checker *c, const struct buffer *buffer) {
    const struct stack *stack = buffer->stacks.list;
    int64_t all = stack->kind == STACK_LAYERS ? c->job->sizes.layers : c->job->sizes.microbatches;
    return buffer->stacks.n == 0 ||
           (buffer->stacks.n == 1 && stack->kind == host_role_rows[buffer->host].stack &&
            stack->count == all);
}

// The host finds a buffer by its role, so there is one, of the kind that it writes or reads.
static const char *check_host(struct checker *c, const struct buffer *buffer) {
    const struct program *program = c->program;
    const struct host_role_row *row = &host_role_rows[buffer->host];
    unsigned rank = 0;
    if (buffer->host == HOST_NONE)
        return NULL;
    while (rank < 3 && row->dims[rank] != DIM_NONE)
        rank++;
    bool floating = row->dtype == DTYPE_NONE && buffer->dtype != DTYPE_I32;
    bool fits = buffer->class == row->class && buffer->rank == rank && buffer->window_of == NO_ID &&
                buffer->layout.flat.n == 0 && (floating || buffer->dtype == row->dtype) &&
                host_knows_items(c, buffer);
    for (unsigned i = 0; fits && i < rank; i++)
        fits = buffer->dims[i].dimension == row->dims[i];
    if (!fits)
        return arena_format(c->arena, "buffer %s is not what the host knows as `%s`: %s %s[%s]",
                            buffer->name, row->text, class_names[row->class],
                            row->dtype == DTYPE_NONE ? "f32 or f64" : dtype_names[row->dtype],
                            dims_text(c->arena, row->dims, rank));
    const struct buffer *first = &program->buffers[program_host_buffer(program, buffer->host)];
    return first == buffer ? NULL
                           : arena_format(c->arena, "the host knows two buffers as `%s`: %s and %s",
                                          row->text, first->name, buffer->name);
}

static bool has_layers(const struct checker *c, const struct buffer *buffer) {
    static const struct tensor none = {0};
    const struct tensor *of = buffer->tensor == NO_ID ? &none : &c->job->tensors[buffer->tensor];
    int64_t last = of->layers ? of->first_layer + of->layers - 1 : (int64_t)LIMIT_TEXT_NUMBER;
    const struct stack *stack = buffer_stack(buffer, STACK_LAYERS);
    return !stack || (stack->first_layer >= of->first_layer && stack->first_layer <= last &&
                      stack->count - 1 <= (last - stack->first_layer) / buffer_layer_step(buffer));
}

// What another step or the host finds is stacked once at most, a state by layers that its tensor
// has.
static const char *check_stacks(struct checker *c, const struct buffer *buffer) {
    const struct stacks *stacks = &buffer->stacks;
    if (stacks->n == 2 && stacks->list[0].kind == stacks->list[1].kind)
        return arena_format(c->arena, "buffer %s is stacked by %s twice", buffer->name,
                            stack_names[stacks->list[0].kind]);
    if (stacks->n > 1 && buffer_outlives_step(buffer))
        return arena_format(c->arena, "buffer %s outlives the step, but is stacked twice",
                            buffer->name);
    if (class_persistent[buffer->class] && stacks->n && !buffer_stack(buffer, STACK_LAYERS))
        return arena_format(c->arena, "buffer %s persists, but its items are no layers",
                            buffer->name);
    return has_layers(c, buffer)
               ? NULL
               : arena_format(c->arena, "buffer %s holds layers that its tensor does not have",
                              buffer->name);
}

// A part has its own buffers for what it holds of a tensor, so the axes of parts number no shards.
static const char *check_parted_cuts(struct checker *c, const struct buffer *buffer) {
    uint64_t cuts = axis_list_mask(&buffer->layout.flat) | axis_list_mask(&buffer->layout.owners);
    for (unsigned i = 0; i < buffer->rank; i++)
        cuts |= axis_list_mask(&buffer->layout.cuts[i]);
    return cuts & axis_list_mask(&c->program->part.axes)
               ? arena_format(c->arena, "buffer %s is cut over axes that parts are over",
                              buffer->name)
               : NULL;
}

// Whole tensors have owners, one in each layer, in whatever tier, and nobody else has a part of one.
static const char *check_owners(struct checker *c, const struct buffer *buffer) {
    const struct layout *layout = &buffer->layout;
    uint64_t cuts = axis_list_mask(&layout->flat) ? UINT64_MAX : 0;
    for (unsigned i = 0; i < buffer->rank; i++)
        cuts |= axis_list_mask(&layout->cuts[i]);
    bool layers = buffer->stacks.n == 0 ||
                  (buffer->stacks.n == 1 && (buffer_stack(buffer, STACK_LAYERS) != NULL ||
                                             buffer_stack(buffer, STACK_SLOTS) != NULL));
    bool fits = buffer->tensor != NO_ID && buffer->rank > 0 && layers &&
                buffer->host == HOST_NONE && !(cuts & axis_list_mask(&layout->owners));
    if (layout->owners.n == 0 || fits)
        return NULL;
    return arena_format(c->arena,
                        "buffer %s has owners, but is no whole tensor, or one in each layer",
                        buffer->name);
}

// Scalars, and what the host fills and reads around a step, are on the device alone.
static const char *check_tier(struct checker *c, const struct buffer *buffer) {
    bool elsewhere = buffer->tier != TIER_DEVICE;
    bool of_host =
        buffer->class == CLASS_INPUT || buffer->class == CLASS_OUTPUT || buffer->host != HOST_NONE;
    if (!elsewhere || (buffer->rank > 0 && !of_host))
        return NULL;
    return arena_format(c->arena, "buffer %s is on %s, where no %s may be", buffer->name,
                        tier_names[buffer->tier], of_host ? "input or output of a step" : "scalar");
}

// Cuts divide what they cut, of inputs the microbatches too; a state is about a tensor.
const char *check_buffer(struct checker *c, const struct buffer *buffer) {
    if (buffer->tensor != NO_ID && buffer->tensor >= c->job->n_tensors)
        return arena_format(c->arena, "buffer %s is about no tensor", buffer->name);
    for (unsigned i = 0; i < buffer->rank; i++) {
        int64_t parts = mesh_group_size(&c->job->mesh, &buffer->layout.cuts[i]);
        if (buffer->dims[i].dimension == DIM_BATCH)
            parts = size_times(parts, buffer_microbatches(buffer));
        if (buffer->dims[i].size % parts)
            return arena_format(c->arena, "buffer %s: %s=%" PRId64 " is not divisible by %" PRId64,
                                buffer->name, dimension_names[buffer->dims[i].dimension],
                                buffer->dims[i].size, parts);
        if (buffer->layout.zigzag[i] && class_persistent[buffer->class])
            return arena_format(c->arena, "buffer %s: what persists is not kept in zigzag",
                                buffer->name);
        if (buffer->layout.zigzag[i] &&
            !order_fits(
                order_of_cuts(&c->job->mesh, &buffer->layout.cuts[i], buffer->layout.zigzag[i] - 1),
                buffer->dims[i].size))
            return arena_format(c->arena, "buffer %s: %s=%" PRId64 " has no chunks of equal size",
                                buffer->name, dimension_names[buffer->dims[i].dimension],
                                buffer->dims[i].size);
    }
    if (class_persistent[buffer->class] && buffer->tensor == NO_ID && buffer->window_of == NO_ID)
        return arena_format(c->arena, "buffer %s persists, but is about no tensor", buffer->name);
    const char *wrong = check_stacks(c, buffer);
    if (!wrong && buffer->window_of != NO_ID)
        wrong = check_window(c, buffer);
    wrong = wrong ? wrong : check_host(c, buffer);
    wrong = wrong ? wrong : check_owners(c, buffer);
    wrong = wrong ? wrong : check_tier(c, buffer);
    return wrong ? wrong : check_parted_cuts(c, buffer);
}
