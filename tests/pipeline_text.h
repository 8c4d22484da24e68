// A job of several parts that send each other messages: the one program that is derived of a tiny
// model, cut by hand into the stages of a pipeline in the order 1F1B.
#ifndef PLACE_TESTS_PIPELINE_TEXT_H
#define PLACE_TESTS_PIPELINE_TEXT_H

#include <stdbool.h>

#include "ir/arena.h"

// `derived`: the text of a job's one program after partition, for data parallelism over `dp` with
// whole states, of this many layers and microbatches. `tied`: the table of the embedding is the
// head's, too, and so both ends of the pipeline have it and add up what each has of its gradient.
struct pipeline {
    const char *derived;
    int stages, layers, microbatches;
    bool tied;
};
char *pipeline_text(struct arena *arena, const struct pipeline *);

#endif
