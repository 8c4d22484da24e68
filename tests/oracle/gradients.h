// Gradients as the updates of a final program read them, in logical form.
#ifndef PLACE_TESTS_ORACLE_GRADIENTS_H
#define PLACE_TESTS_ORACLE_GRADIENTS_H

#include "tests/oracle/devices.h"

struct gradients { // of one part
    const struct program *program;
    struct arena *arena;
    double **logical[N_TIMINGS]; // by tensor: of all its layers, NaN where none was read; or NULL
};

struct gradients *gradients_new(struct arena *, const struct program *final);
void gradients_clear(struct gradients *);
// To be told of every op (observer).
void gradients_see(struct gradients *, const struct moment *, const struct array *operands);

int64_t tensor_elements(const struct tensor *);

#endif
