// Between the files that write compositions.
#ifndef PLACE_TESTS_ORACLE_COMPOSE_PARTS_H
#define PLACE_TESTS_ORACLE_COMPOSE_PARTS_H

#include <stdio.h>

#include "tests/oracle/compose.h"

// DATA axes split the batch, CONTEXT axes the sequence; states are kept on both alike.
enum axis_use {
    AXIS_DATA = 1,
    AXIS_CONTEXT = 2,
    AXIS_TENSOR = 4,
    AXIS_PIPELINE = 8,
    AXIS_TOKENS = AXIS_DATA | AXIS_CONTEXT,
    AXIS_ALL = AXIS_TOKENS | AXIS_TENSOR
};
struct composed_axis {
    const char *name;
    int64_t size;
    enum axis_use use;
};
struct composer {
    struct arena *arena;
    const struct dims *dims;
    FILE *to;
    uint64_t random; // of this composition; that of its family is used up first
    struct composed_axis axes[6];
    unsigned n_axes;
    bool has_master;    // parameters are rounded from a copy that is updated
    bool takes_at_once; // nothing needs a gradient that is not whole, or all of them
    bool has_owners;    // some tensor has
    bool keeps_nothing; // from step to step but parameters
    const char *tokens; // the product of the data and context axes, as a strategy names it
    bool by_tensor;     // what is said to be cut now has owners
    int64_t ranks;      // of the pipeline; 0: there is none
    int64_t microbatches;
};

int64_t pick(struct composer *, int64_t n); // 0 .. n-1
bool chance(struct composer *, int per_thousand);
// Axes of one of the uses: "a * b", outermost first; one of them. NULL: there is none.
const char *axes_of(struct composer *, unsigned uses);
const char *one_axis_of(struct composer *, unsigned uses);

// The path of a file with an order for a pipeline of so many stages, up to 16.
const char *compose_order(struct composer *, int64_t stages);

void write_strategy(struct composer *);

#endif
