// The items of buffers that a step uses, statement by statement as they are executed: from when to
// when each holds something that is still wanted.
//
// A *life* of an item begins with a statement that writes all of it anew, or a window of it from
// which all of it is written next, and ends with the last that reads or adds to it before the next
// life begins; or, where that is in a loop of which every
// iteration uses the item, with the loop. An item that every iteration writes anew, and that is
// used when the loop is over, has one life from the first iteration on. What a transfer carries is
// in use until its wait. `free` statements are not looked at: lives are what frees are judged by.
#ifndef PLACE_PASSES_USES_H
#define PLACE_PASSES_USES_H

#include "passes/passes.h"

// One execution of a statement that is neither a loop nor a free.
struct execution {
    uint32_t place; // number of the statement, in the order of walk_statements
    const struct statement *statement;
    // The variable of each loop around it, outermost first, and which run of that loop it is.
    const int64_t *variables;
    const uint32_t *runs;
};

struct life {
    buffer_id buffer;
    int64_t item;
    uint32_t first, last; // executions
    bool left;            // to the host, which reads it after the step
};

struct uses {
    struct execution *executions;
    uint32_t n, cap;
    // Lives in buffers that do not outlive the step, buffer by buffer: those of buffer b are
    // first_life[b] to before first_life[b + 1], in the order in which they ended.
    struct life *lives;
    uint32_t n_lives, cap_lives;
    const uint32_t *first_life;
    uint32_t n_buffers;       // as many as there were
    uint32_t *runs;           // of every place: how often its statement was executed
    struct too_long too_long; // then nothing was executed
};

// Every iteration of every loop: of a step that may be long, look at a shorter one (shorten.h).
// Allocates in `arena`.
struct uses uses_of(const struct program *, enum step_kind, struct arena *);

#endif
