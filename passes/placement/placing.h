// Placing: what the files of this folder work on, and what the axes of a statement are there.
#ifndef PLACE_PASSES_PLACING_H
#define PLACE_PASSES_PLACING_H

#include "passes/passes.h"
#include "passes/reference/select.h"
#include "passes/routes/routes.h"

struct placing {
    const struct config *config;
    const struct program *program;
    struct arena *arena;
    struct diagnostics *diagnostics;
    struct placement *placement;
    struct modes_by_layer modes;
    // As is known: of how work is divided nothing is checked, and nothing is told of what is without
    // effect.
    bool work_is_right;
};

// The name of a list of axes as the user knows it: a product's name where there is one.
const char *axes_text(struct placing *, const struct axis_list *);
int64_t axis_size(const struct placing *, unsigned axis);
const char *axis_name(const struct placing *, unsigned axis);
// The axes of a statement that change anything: those larger than one.
struct axis_list effective_axes(const struct placing *, const struct axis_list *);
// Elements of a tensor that the splits leave a device.
int64_t divided_elements(const struct placing *, const struct tensor *,
                         const struct placed_tensor *);
// The route of gradients in a training step, where units leave them summands on these axes of the
// model, too.
struct route gradient_route(const struct placing *, const struct storage *, uint64_t left);
// Whether several units add to the gradient of the tensor of this number in one layer, as to a tied
// table's.
bool has_several_terms(const struct placing *, uint32_t tensor);
// Whether the embedding's gradients of a microbatch are added to the head's, which is the same table: where sums have
// an order, before microbatches are; and on one rank, where nothing else adds them up, of one microbatch.
bool sums_ends(const struct placing *, const struct schedule *);
// Whether a statement says of any tensor how one of its states is kept along an axis: others may hold for
// all that it selects, or that may be frozen.
bool decides_anything(const struct placing *, const struct mode_statement *);
// Whether a statement stores activations as parts over axes that change anything.
bool cuts_activations(const struct placing *, const struct mode_statement *);

#endif
