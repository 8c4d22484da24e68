// A trace: the arrays that a program computes, each once, in the order in which they are made. What is called and the
// turns of loops stand where they are executed, and tuples are taken apart, so that of every array it is known which
// others it is made of, wherever they come from.
#ifndef PLACE_EQUAL_DIAGNOSIS_TRACE_H
#define PLACE_EQUAL_DIAGNOSIS_TRACE_H

#include "equal/interpreter/interpret.h"
#include "equal/meaning/meaning.h"

struct traced {
    const struct instruction *by;
    const uint32_t *operands; // arrays of the trace
    uint32_t n_operands;
    // By device, NULL where one has not made it. NULL: its numbers are not known, or would be too many.
    const struct array *const *values;
    const struct meaning *meaning; // NULL: its term is not known
};

struct trace_item; // an array of the trace, or a tuple of such
struct trace_frame;

struct trace {
    struct observer observer; // of the execution that is traced, which begins the trace anew
    const struct graph *graph;
    struct reading *reading; // of the program; NULL: its terms are not looked at
    struct arena *arena;     // in which what is executed lives, too
    struct traced *arrays;
    uint32_t n, cap;
    const struct trace_item *root; // of the entry computation
    struct trace_frame *frame;     // what is executed just now
    int64_t bytes;                 // of copies of what would not have stayed
    uint32_t n_read;               // instructions of what was called, each time
};

void trace_init(struct trace *, const struct graph *, struct reading *, struct arena *);
// Follows the program by its terms alone, where it cannot be executed.
void trace_read(struct trace *);
// The array that is a result: the root, or a member of it.
uint32_t trace_result(const struct trace *, uint32_t result);

#endif
