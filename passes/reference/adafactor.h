// The update of a tensor by Adafactor, as ops.
#ifndef PLACE_PASSES_ADAFACTOR_H
#define PLACE_PASSES_ADAFACTOR_H

#include "ir/config.h"
#include "passes/reference/emit.h"

// One tensor's values; `rate`, `clip` and `step`, the number of this update, are scalars.
struct adafactor_state {
    value_id parameter;
    value_id
        moments[2]; // of a matrix those of rows and of columns, else the first, of each element
    value_id gradient, rate, clip, step;
    bool may_skip; // steps whose `clip` is not a number leave parameter and moments as they are
    bool ordered;  // sums have one order on every mesh
};

// Is it a matrix, of which rows and columns have a moment each? All else has one for each element.
bool is_factored(const struct tensor *);
// Appends the update; `name`: of what is made. Sets parameter and moments to the updated ones.
void emit_adafactor(struct emitter *, const char *name, const struct tensor *,
                    const struct optimizer_config *, double weight_decay, struct adafactor_state *);

#endif
