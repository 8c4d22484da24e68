// One op on four devices, which have parts of its dimensions, in blocks or not, and add up what
// each makes of them: its program, and what every device has in the end, in an arithmetic in which
// nothing is associative. A number is how it was made: an addition is a node of two numbers, in
// whatever order; what a kernel sums in an order of its own is a node of all that it sums, and of
// the shape that it is given. So two numbers are equal if and only if their bits are sure to be.
// What kernels promise of blocks (ops.def) is written here once more, naively.
#ifndef PLACE_TESTS_CUT_OP_H
#define PLACE_TESTS_CUT_OP_H

#include "tests/trial.h"

// Axes `t`, outside, and `u`, of two devices each.
enum { CUT_AXES = 2, CUT_DEVICES = 4 };

enum op_sum { SUM_ORDERED, SUM_EXACT, SUM_GREATEST };

struct op_example {
    const char *op, *attributes;
    const char *operands[MAX_OPERANDS]; // labels; behind a `#`, of an iota
    const char *results[MAX_RESULTS];
    const char *cut;      // labels that are cut, and may be said to have blocks
    const char *blocks;   // labels that a kernel works on in blocks, if these are said
    const char *together; // labels of which a kernel computes several elements at once
    enum op_sum sum;
};

// What labels stand for.
enum { CUT_DIMENSIONS = 10 };
extern const struct cut_dimension {
    char label;
    const char *dimension; // that of queries and that of keys are one
    int size;
} cut_dimensions[CUT_DIMENSIONS];
int cut_dimension(char label); // its number

struct cut_op {
    const struct op_example *example;
    unsigned result;                      // the one that is looked at
    int cut_by[CUT_DIMENSIONS][CUT_AXES]; // axes, the outermost first; -1: none
    int block[CUT_DIMENSIONS];            // as is said; 0: none
    const char *sums[CUT_AXES];           // over which axes the result is summed, one by one
    bool one;                             // on one device
};

// Has a device a power of two of each dimension's blocks, and room to join them?
bool cut_op_fits(const struct cut_op *);
int cut_op_parts(const struct cut_op *, int dimension);            // how many there are
bool cut_op_sums(const struct cut_op *, int dimension);            // the result is a sum over it
const char *cut_op_name(struct arena *, const struct cut_op *);    // for messages
const char *cut_op_program(struct arena *, const struct cut_op *); // its text
// Has every device in the end what one device has there?
bool cut_op_has_bits_of(const struct cut_op *many, const struct cut_op *one);

#endif
