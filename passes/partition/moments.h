// The moments of a program: the calls of its steps at which hops of routes are looked for, and how often
// a step comes there. Partition notes them while it puts in the hops of one strategy; those of any
// other that divides work alike happen at the same moments, so that who asks what it sends needs no
// program of its own.
#ifndef PLACE_PASSES_PARTITION_MOMENTS_H
#define PLACE_PASSES_PARTITION_MOMENTS_H

#include "passes/passes.h"
#include "passes/routes/routes.h"

// Copies of an accumulator, for summands of different types.
enum { MAX_VARIANTS = 8 };

// What a moment is to one state of a tensor.
struct chance {
    uint32_t way;        // 2 * its place in placement.tensors; of gradients plus one
    uint32_t unit;       // of the reference, that is called
    uint32_t buffers_of; // the unit whose buffers it has
    int64_t layers;      // that are taken at once
    struct index item;   // which layer's, inside the moment's loops
    unsigned events;     // which happen, by their bits
};

// Hops of one kind that the chances of a moment have travel side by side.
struct noted_moment {
    enum step_kind step;
    int64_t times;            // how often one step comes there
    const struct loop *loops; // so many around it, outermost first, without what is in them
    int depth;
    enum phase phase; // of the call
    uint64_t kinds;   // hops that are made there, by the bits of their kinds
    bool squares;     // no hops: squares of these gradients are summed, each over what it is cut by
    struct chance *chances;
    uint32_t n_chances, cap_chances;
};

// A state of a tensor, in a range of its layers.
struct noted_way {
    const struct buffer *reference; // NULL: there is no such state
    uint64_t left;                  // route_facts
    bool read_once[N_STEPS];        // the same
    bool paired;                    // microbatches are summed two by two where they are made
};

struct notes {
    const struct program *program;   // that was made; `reference`: of what
    const struct program *reference; // its units, by which chances are numbered
    struct noted_moment *moments;
    uint32_t n_moments, cap_moments;
    struct noted_way *ways;
    uint32_t n_ways;
    bool *works; // of the program's units: it is one of forward or backward
    // Buffers of the program through which squares are summed.
    buffer_id *sums;
    uint32_t n_sums, cap_sums;
};

// Does what the pass `partition` does, which notes nothing.
bool partition_noted(struct program *, const struct pass_context *, struct notes *);

// How far a counter of microbatches counts, where sums are carried; 0: they are not.
int levels_of_microbatches(bool reproducible, int64_t microbatches);

#endif
