// Says whether a partitioned program computes what a program of one device does, from their texts.
//
// What is claimed: over the reals, relative to what the primitives mean and to what is assumed of inputs, every device's
// part of every result is the one that the layouts say of the one device's result.
#ifndef PLACE_EQUAL_EQUAL_H
#define PLACE_EQUAL_EQUAL_H

#include <stdbool.h>
#include <stdint.h>

#include "ir/diagnostic.h"

struct equal_question {
    uint32_t one, many;    // sources: texts of one device, and of each device of a mesh
    uint32_t spec;         // a source that says layouts; NO_SOURCE: none
    const char *mesh_text; // "dp=2,tp=3"; NULL: see equal/layout/layout.h
    const char *const *assumptions;
    uint32_t n_assumptions;
};

enum equal_verdict { EQUAL_PROVED, EQUAL_REFUTED, EQUAL_UNPROVED };

struct equal_result {
    const char *name;
    bool is_proved;
    bool is_evaluated; // it was proved by values in fields, as no normal form shows it
};
struct equal_axis {
    const char *name;
    int64_t size;
};
struct equal_answer {
    enum equal_verdict verdict;
    struct equal_result *results;
    uint32_t n_results, n_proved, n_evaluated;
    bool is_contradicted;    // it was proved, but executed, they differ: laws hold of numbers only
    uint32_t n_one, n_many;  // instructions of the texts
    struct equal_axis *axes; // of the mesh
    uint32_t n_axes;
    bool by_order;            // parameters were matched so, since no names agree
    bool by_shape;            // layouts were found so, since nothing says some of them
    const char **assumptions; // that were made, "0 <= tokens < 66"
    uint32_t n_assumptions;
};

// NULL: the texts are not understood, or do not fit together, which has been reported (E90x, E91x). What is not equal
// is reported with its first cause (E920, E921).
const struct equal_answer *equal_judge(const struct equal_question *, struct arena *,
                                       struct diagnostics *);

#endif
