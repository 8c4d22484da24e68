// Does a final program train as one device does? The reference program is executed once for a
// setup: random parameters and optimizer states to begin with, random tokens without repetition in
// a sequence, in every microbatch of every device another number of masked targets, a learning rate
// that differs from step to step. Final programs are executed on the same data, and everything that
// training is about is compared after every step: gradients as the updates read them, parameters,
// optimizer states, outputs, and the bits of all copies, in whatever parts. Where gradients travel as codes, what
// codes lack of the first step's must be in the residuals; of all else it is asked that it is
// there, and the bits of copies.
#ifndef PLACE_TESTS_ORACLE_TRUTH_H
#define PLACE_TESTS_ORACLE_TRUTH_H

#include "tests/oracle/devices.h"

struct setup {
    uint64_t seed;
    int steps;
    int64_t first_step;          // the number of the first, as the learning rate sees it
    int64_t sequences_per_group; // one group is a microbatch of one device
};
// What one device does with a setup: data, states before, results after every step. Serves any
// number of final programs of the same model, training and global batch.
struct expected;
struct expected *truth_expect(struct arena *, const struct program *reference,
                              const struct setup *);

// What the host gives to a step.
const double *truth_input(const struct expected *, const char *buffer, int step);

enum outcome {
    OUTCOME_RIGHT,
    OUTCOME_WRONG,
    OUTCOME_STUCK,
    OUTCOME_UNCLEAR, // too much to be rounding, too little to be a mistake
    N_OUTCOMES,
};
extern const char *const outcome_names[N_OUTCOMES];
struct finding {
    enum outcome outcome;
    double difference; // the largest, relative to the tensor's largest entry
    const char *what;  // where; why they are stuck
    struct span *at;   // STUCK: by what
    uint32_t n_at;
    bool **differ; // WRONG: buffers of every program that are, after the step that shows it
};
// Executes a final job, to the first step that shows that it is wrong. `observer` may be NULL;
// `begin` is called before each execution, with its number.
struct finding truth_judge(struct arena *, const struct expected *, const struct job *final,
                           const struct observer *, void (*begin)(void *data, int phase));

// Relative differences: up to the first it is rounding, above the second a mistake.
struct limits {
    double rounding, mistake;
};
struct limits truth_limits(const struct expected *);

#endif
