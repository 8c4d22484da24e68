// Where the work and the storage of every tensor lie: what `place` makes of a strategy's statements
// after it has matched selectors and weighed the statements against each other. Read by `partition`
// and by reports; the verifier never sees it.
//
// Axes of size one appear nowhere in it: modes on them change nothing.
#ifndef PLACE_IR_PLACEMENT_H
#define PLACE_IR_PLACEMENT_H

#include <string.h>

#include "ir/config.h"
#include "ir/ir.h"

// The types of a tensor's elements: of parameters where they are stored, gathered, and kept as a wider
// master copy (NONE: there is no such); of gradients where they are kept, where units write what is
// reduced in each microbatch (`written`), and summed over devices. Several units add to what the
// others have written, before it is rounded.
struct element_types {
    enum dtype parameters : 8, gathered : 8, master : 8;
    enum dtype gradients : 8, written : 8, reduced : 8;
};

// How the states of tensors of one range are stored: of those about which the same statements speak,
// which the same axes cut, and which are all trained or all frozen.
struct storage {
    uint32_t number; // among the placement's
    uint32_t first;  // of these tensors
    bool trained;
    uint64_t cut; // axes that cut them, by their bits; the rest is of what these leave whole
    // The statement that says where a state lives; NULL: none, it is stored on the device, or there is
    // none of what is frozen.
    const struct mode_statement *lives[N_STATES];
    // The statement that says how a state is kept along an axis; NULL: none, it follows work, or as above.
    const struct mode_statement *modes[N_STATES][MAX_AXES];
    // Axes that are SHARDED or GATHERED, outermost first. The optimizer's list begins with those of
    // the other states, and with those over which each microbatch's gradient is scattered; parameters
    // that are made of its master copy have all of them. What is frozen has the parameters' for it,
    // by no statement on the optimizer.
    struct axis_list shards[N_STATES];
    // 1 + the dimension of the tensors that these cut, inside of `cut`; 0: they are flat.
    uint8_t along;
    // The axes are those of owners: what is cut over them is whole in each layer, at one device.
    bool by_tensor;
    struct axis_list scattered_each;
    struct axis_list reduced_each; // gradients replicated with reduce = each
    // Their gradients have summands of both ends of a pipeline, which are added before microbatches are, where these
    // have an order (some microbatches' wait for the second one), or before they travel as codes.
    bool of_both_ends;
    // Their gradients are not kept, but made in the first part of a pipeline's backward, and the update that takes
    // them stands behind the second: until then each layer has its own.
    bool taken_later;
    // Options of gathered parameters.
    enum gather_unit gather_unit;
    // Layers that are gathered, or copied to where they are used, at once: they divide those of the range.
    int64_t gather_layers;
    // Those of each state that are copied at once to where they are updated, and from where they are
    // made or updated. It is one, or as many as of all else in the range that is one of several.
    int64_t copied_layers[STATE_ACTIVATIONS];
    int64_t prefetch;
    bool kept_after_forward, kept_after_backward;
    // The axes that cut the part that is kept between forward and backward, some of the
    // parameter's. None: nothing is kept, or all.
    struct axis_list kept_shards;
    struct axis_list wire; // over which its gradient travels compressed: the placement's, or none
    int64_t bucket_bytes;  // the most that one all_reduce of gradients carries
    struct element_types types;
    enum tier norm_tier; // where the norm of its gradients is taken
};

static inline enum residency stored_residency(const struct storage *storage, enum state state) {
    const struct mode_statement *mode = storage->lives[state];
    return mode ? mode->residency : RESIDENCY_STORED;
}

// Where a state is kept.
static inline enum tier stored_tier(const struct storage *storage, enum state state) {
    const struct mode_statement *mode = storage->lives[state];
    return mode && mode->residency == RESIDENCY_OFFLOADED ? mode->to : TIER_DEVICE;
}

// Where the update of the tensors runs.
static inline enum tier update_tier(const struct storage *storage) {
    return stored_tier(storage, STATE_OPTIMIZER) == TIER_DEVICE
               ? TIER_DEVICE
               : storage->lives[STATE_OPTIMIZER]->update_on;
}

// The statement for which a state is copied: its own, or that of the optimizer's, with which it is
// where the update runs.
static inline const struct mode_statement *copied_for(const struct storage *storage,
                                                      enum state state) {
    enum state of = stored_tier(storage, state) == TIER_DEVICE ? STATE_OPTIMIZER : state;
    return storage->lives[of];
}

// Whether the update takes each gradient as soon as it is whole, so that none is kept.
static inline bool consumes_gradients(const struct storage *storage) {
    return storage->trained && stored_residency(storage, STATE_GRADIENTS) == RESIDENCY_MATERIALIZED;
}

// The layers whose gradients are summed over devices, and taken away, together.
static inline int64_t layers_summed_at_once(const struct storage *storage) {
    bool away = stored_tier(storage, STATE_GRADIENTS) != TIER_DEVICE;
    int64_t copied = away ? storage->copied_layers[STATE_GRADIENTS] : 1;
    return copied > storage->gather_layers ? copied : storage->gather_layers;
}

// Whether parameters are not kept, but made of the optimizer's master copy for each use.
static inline bool makes_parameters(const struct storage *storage) {
    return stored_residency(storage, STATE_PARAMETERS) == RESIDENCY_MATERIALIZED;
}

// The axes along which a state's layers have owners; those that cut it flat.
static inline struct axis_list owner_axes(const struct storage *storage,
                                          const struct axis_list *cut) {
    return storage->by_tensor ? *cut : (struct axis_list){0};
}
static inline struct axis_list flat_axes(const struct storage *storage,
                                         const struct axis_list *cut) {
    return storage->by_tensor ? (struct axis_list){0} : *cut;
}

static inline enum extent stored_extent(const struct storage *storage, enum state state,
                                        unsigned axis) {
    const struct mode_statement *mode = storage->modes[state][axis];
    return mode ? mode->extent : EXTENT_REPLICATED;
}

// How a tensor is placed in a range of its layers, or as a whole.
struct placed_tensor {
    // Work: the axes that cut each dimension, and by which statement (NULL: not cut on that axis).
    struct axis_list cuts[MAX_RANK];
    const struct split_statement *cut_by[MAX_AXES];
    struct storage *storage;
};

// One way in which work is divided: what has the roles of the scope and the dimension is cut over
// the axis. Of a split (`mode` is NULL), or of where activations are stored; then the dimension may
// be NONE: the axis cuts nothing there. `copies`: what has the dimension is not cut, and the axis
// is spoken for nevertheless.
struct work_rule {
    uint8_t axis; // the number behind the mesh's axes: the microbatches, an axis in time
    enum dimension dimension;
    bool copies;
    const struct selector *scope;
    const struct split_statement *split;
    const struct mode_statement *mode;
};

// The layers begin, begin + step, ... before end.
struct layer_range {
    int64_t begin, end, step;
};

static inline int64_t range_layers(const struct layer_range *range) {
    return (range->end - range->begin + range->step - 1) / range->step;
}

static inline struct stacks stacked_by_layers(const struct layer_range *range) {
    struct stacks stacks = stacked(STACK_LAYERS, range_layers(range));
    stacks.list[0].first_layer = range->begin;
    stacks.list[0].layer_step = range->step > 1 ? range->step : 0;
    return stacks;
}

// A pipeline's stages, in the order of the model: the first has the embedding, too, the last the head.
struct placed_stage {
    int64_t begin, end; // layers
    double work;        // FLOP of forward of the whole batch
};
struct placed_pipeline {
    struct axis_list axes; // none: there is no pipeline
    struct placed_stage *stages;
    uint32_t n_stages, n_chunks; // in all, of a device
    double
        evenest; // the work of the slowest stage as a multiple of the mean, where they are as even as can be
    const struct schedule *schedule;
};

struct placement {
    struct placed_pipeline pipeline;
    struct axis_list batch;   // axes that split the batch, outermost first: the data axes
    bool ordered;             // training is reproducible: sums have one order on every mesh
    struct axis_list tokens;  // axes that split the batch or the sequence, everywhere: each device
                              // runs the whole model there, on tokens of its own. Where sums are
                              // ordered, the batch only: a microbatch has whole sequences
    struct axis_list islands; // axes of `batch`, not of `tokens`, over which devices take steps of
                              // their own: copies of everything lie on them, of different steps
    struct axis_list wire_axes; // axes of `tokens` over which gradients travel as codes
    struct wire wire;           // how; NONE: there are no such axes
    // How many layers ahead of its backward comes in what is kept elsewhere for it.
    int64_t activations_prefetch;
    struct axis_list ring; // the one of them, if any, round which keys and values travel; along it
                           // the sequence lies in zigzag
    struct work_rule *rules; // in the order in which cuts of one dimension nest, outermost first
    uint32_t n_rules, cap_rules;
    const struct split_statement *split_by[MAX_AXES]; // a statement that gives the axis its work
    int64_t microbatches;
    // With `reproducible`: the innermost axes of `batch`, over which gradients are summed in each
    // of several microbatches; the others come after the last.
    struct axis_list inner;
    // Layers fall into ranges in which every tensor is placed alike. What is not repeated by layer
    // is placed alike in all of them. Those whose layers take turns have one end and stand one
    // behind the other, in the order of their first layers.
    struct layer_range *ranges;
    uint32_t n_ranges;
    // Layers of which something is gathered or copied at once, by range: in forward and backward, in the
    // update, and of activations; and the most of these and of those that are recomputed at once, of
    // which the range is a multiple.
    int64_t *worked_at_once, *updated_at_once, *kept_at_once, *most_at_once;
    // Tensor t in range r: tensors[r * n_tensors + t]. In a range of which it has no layer it is placed as
    // where it has some.
    struct placed_tensor *tensors;
    uint32_t n_tensors;
    struct storage **storages; // in the order of the first tensors
    uint32_t n_storages;
};

// The range that a layer lies in: the last that begins at it or before, or of those that take turns
// with that one the one whose turn it is.
static inline uint32_t placement_range(const struct placement *placement, int64_t layer) {
    const struct layer_range *ranges = placement->ranges;
    uint32_t r = 0, high = placement->n_ranges;
    while (high - r > 1) {
        uint32_t middle = r + (high - r) / 2;
        if (ranges[middle].begin <= layer)
            r = middle;
        else
            high = middle;
    }
    while (r > 0 && (layer - ranges[r].begin) % ranges[r].step != 0)
        r--;
    return r;
}

// Whether the tensor of an entry of `tensors` has the layers of its range.
static inline bool placement_has(const struct placement *placement, const struct job *job,
                                 uint32_t at) {
    return tensor_has_layer(&job->tensors[at % placement->n_tensors],
                            placement->ranges[at / placement->n_tensors].begin);
}

// Where in `tensors` it stands how the tensor that a buffer holds is placed; of several layers, how
// the first one is.
static inline uint32_t placement_index(const struct placement *placement,
                                       const struct buffer *buffer) {
    return placement_range(placement, buffer_first_layer(buffer)) * placement->n_tensors +
           buffer->tensor;
}

static inline const struct placed_tensor *placement_of(const struct placement *placement,
                                                       const struct buffer *buffer) {
    return &placement->tensors[placement_index(placement, buffer)];
}

// How splits cut what a buffer holds of its tensor, which is the dimensions that its class has.
static inline void placed_cuts(const struct placed_tensor *placed, const struct tensor *tensor,
                               enum buffer_class class, struct axis_list cuts[MAX_RANK]) {
    struct side side = class_side(class, tensor->dims, tensor->rank);
    memset(cuts, 0, MAX_RANK * sizeof *cuts);
    memcpy(cuts, &placed->cuts[side.begin], (side.end - side.begin) * sizeof *cuts);
}

static inline const struct storage *storage_of(const struct placement *placement,
                                               const struct buffer *buffer) {
    return placement_of(placement, buffer)->storage;
}

// The statement behind a state's extent on an axis, or NULL.
static inline const struct origin *stored_origin(const struct storage *storage, enum state state,
                                                 unsigned axis) {
    const struct mode_statement *mode = storage->modes[state][axis];
    return mode ? &mode->origin : NULL;
}

// The statement for which it is moved along an axis: the one that gives it an extent there, or else, as
// what is made anew is made from wherever it lies, the one that says where it lives.
static inline const struct origin *moved_origin(const struct storage *storage, enum state state,
                                                unsigned axis) {
    bool cut = stored_extent(storage, state, axis) != EXTENT_REPLICATED;
    const struct mode_statement *lives = storage->lives[state];
    return cut || !lives ? stored_origin(storage, state, axis) : &lives->origin;
}

#endif
