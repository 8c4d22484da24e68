// Executes a graph on all devices, in fp64 and 64-bit integers: casts between types of reals change nothing. What it
// finds is the truth that verdicts are held against, and the witness of what differs.
#ifndef PLACE_EQUAL_INTERPRETER_INTERPRET_H
#define PLACE_EQUAL_INTERPRETER_INTERPRET_H

#include "equal/graph/graph.h"

// A device's array, or tuple. Of an array's REAL elements `reals`, of others `integers`, as wide as their type is
// (what is UNSIGNED and of 64 bits has their pattern); row-major.
struct array {
    const struct array_shape *shape;
    double *reals;
    int64_t *integers;
    struct array *const *members; // of a tuple
    uint32_t depth;               // the interpreter's own; zero in what it is given
};

struct execution {
    const struct array **values; // by device, then by instruction of the entry computation
    uint32_t n_devices;
};

// Is told what is executed, as it happens: instructions in order, those of a computation between `enter` and `leave`.
// The entry is called by no instruction (`by` NULL), another one as `called[which]` of one. `values`: by device of
// those that execute it, then by instruction of the computation, as far as they are made; what a call has made does
// not outlive it.
struct observer {
    void (*enter)(struct observer *, const struct instruction *by, uint32_t which,
                  const uint32_t *devices, uint32_t n_devices);
    void (*made)(struct observer *, const struct instruction *, const struct array *const *values);
    void (*leave)(struct observer *);
};

enum { MAX_INTERPRETED_BYTES = 1 << 30, MAX_INTERPRETED_ITERATIONS = 1 << 13 };
static const int64_t MAX_INTERPRETED_OPERATIONS = INT64_C(1) << 31; // on elements

// The devices that execute a graph: one alone where it is of whole arrays, as before it is partitioned.
uint32_t interpreted_devices(const struct graph *);
// False, and why and where as below: what the entry computation alone takes is too much. Needs no inputs.
bool interpreter_has_room(const struct graph *, const char **why, const struct instruction **at);
// Whether executing it takes so little that it may be done beside a proof, as far as the entry computation says.
bool interpreter_is_cheap(const struct graph *);
// Executes the entry computation on each of these devices, which meet in collectives. `inputs`: by device, then by
// parameter, of the parameters' shapes. NULL: it cannot be executed, and `*why` says why ("rng", too many bytes,
// devices that do not meet), `*at` which instruction of which computation, where there is one. `observer`: NULL: none.
struct execution *interpret(const struct graph *, const struct array *const *const *inputs,
                            struct observer *, struct arena *, const char **why,
                            const struct instruction **at);

#endif
