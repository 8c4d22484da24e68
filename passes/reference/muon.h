// The update of a matrix by Muon, as ops.
#ifndef PLACE_PASSES_MUON_H
#define PLACE_PASSES_MUON_H

#include "ir/config.h"
#include "passes/reference/emit.h"

// One tensor's values; `rate` and `clip` are scalars.
struct muon_state {
    value_id parameter, momentum, gradient, rate, clip;
    bool may_skip; // steps whose `clip` is not a number leave parameter and momentum as they are
    bool ordered;  // sums have the same bits however the matrix is cut
};

// Is it a matrix of a layer, of which all that Muon does has a meaning? Tables are rows that are looked
// up or compared, each by itself; vectors have no directions to make equally long.
bool is_muon_matrix(const struct tensor *);
// Appends the update; `name`: of what is made. Sets parameter and momentum to the updated ones.
void emit_muon(struct emitter *, const char *name, const struct optimizer_config *,
               double weight_decay, struct muon_state *);

#endif
