// Between the files that write compositions.
#ifndef PLACE_TESTS_ORACLE_COMPOSE_PARTS_H
#define PLACE_TESTS_ORACLE_COMPOSE_PARTS_H

#include <stdio.h>

#include "tests/oracle/compose.h"

enum axis_use { AXIS_DATA, AXIS_TENSOR, N_AXIS_USES };
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
    const char *data;  // the product of the data axes, as a strategy names it
    bool shares_heads; // fewer key and value heads than heads
};

int64_t pick(struct composer *, int64_t n); // 0 .. n-1
bool chance(struct composer *, int per_thousand);
const char *axes_of(struct composer *, enum axis_use);     // "a * b", outermost first; NULL: none
const char *one_axis_of(struct composer *, enum axis_use); // NULL: none

void write_strategy(struct composer *);

#endif
