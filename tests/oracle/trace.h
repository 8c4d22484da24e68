// What a program computed, op by op, and where another run first computes something else.
#ifndef PLACE_TESTS_ORACLE_TRACE_H
#define PLACE_TESTS_ORACLE_TRACE_H

#include "tests/oracle/devices.h"

struct trace;
// `tolerance`: what is no deviation, relative to the largest element.
struct trace *trace_new(struct arena *, double tolerance);
// Records a run; then follows others and notes the first value that was not recorded so. Statements
// and ops are known by their spans, which a clone keeps.
struct observer trace_recorder(struct trace *);
struct observer trace_follower(struct trace *);
void trace_begin(void *trace, int phase); // of an execution of a step

struct deviation {
    int phase;
    struct span
        places[3]; // the op, the call, the op that computes it; or the start, where it arrived
};
enum {
    MAX_DEVIATIONS = 8
}; // the first of each part: which of them is first depends on the order of parts
struct deviations {
    uint32_t n;
    struct deviation list[MAX_DEVIATIONS];
};
// Takes the deviations of the run that was followed, and forgets them.
struct deviations trace_take_deviations(struct trace *);

#endif
