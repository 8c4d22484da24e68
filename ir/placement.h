// Where the work and the storage of every tensor lie: what `place` makes of a strategy's statements
// after it has matched selectors and weighed the statements against each other (LANGUAGE.md 2-4).
// Read by `partition` and by reports; the verifier never sees it.
//
// Axes of size one appear nowhere in it: modes on them change nothing.
#ifndef PLACE_IR_PLACEMENT_H
#define PLACE_IR_PLACEMENT_H

#include "ir/config.h"
#include "ir/ir.h"

// How one state of one tensor is stored along one axis, and who says so.
struct placed_extent {
    enum extent extent;
    const struct mode_statement *mode; // NULL: nobody, storage follows work
};

struct placed_tensor {
    // Work: the axes that cut each dimension, and by which statement (NULL: not cut on that axis).
    struct axis_list cuts[MAX_RANK];
    const struct split_statement *cut_by[MAX_AXES];
    // Storage of what the cuts leave whole.
    struct placed_extent extents[N_STATES][MAX_AXES];
    struct axis_list shards[N_STATES]; // axes that are SHARDED or GATHERED, outermost first
    struct axis_list reduced_each;     // gradients replicated with reduce = each
    // Options of gathered parameters.
    enum gather_unit gather_unit;
    int64_t prefetch;
    bool kept_after_forward, kept_after_backward;
};

// One way in which work is divided: what has the roles of the scope and the dimension is cut over
// the axis. Of a split (`mode` is NULL), or of where activations are stored.
struct work_rule {
    uint8_t axis; // the number behind the mesh's axes: the microbatches, an axis in time
    enum dimension dimension;
    const struct selector *scope;
    const struct split_statement *split;
    const struct mode_statement *mode;
};

struct placement {
    struct axis_list batch;  // axes that split the batch, outermost first: the data axes
    struct work_rule *rules; // in the order in which cuts of one dimension nest, outermost first
    uint32_t n_rules, cap_rules;
    const struct split_statement *split_by[MAX_AXES]; // a statement that gives the axis its work
    int64_t microbatches;
    struct placed_tensor *tensors; // one per tensor of the program
};

// The statement behind a state's extent on an axis, or NULL.
static inline const struct origin *placed_origin(const struct placed_tensor *tensor,
                                                 enum state state, unsigned axis) {
    const struct mode_statement *mode = tensor->extents[state][axis].mode;
    return mode ? &mode->origin : NULL;
}

#endif
