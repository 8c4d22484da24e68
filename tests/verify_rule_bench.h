// What the tests of the verifier's rules share: tensors spread over one or two axes of devices in
// every way that a type can say, and what devices have compared with what a judgement claims.
#ifndef PLACE_TESTS_VERIFY_RULE_BENCH_H
#define PLACE_TESTS_VERIFY_RULE_BENCH_H

#include "ir/interpreter/interpreter.h"
#include "tests/verify_builder.h"
#include "verify/rules/rules.h"

enum { SIZE = 6, MAX_DEVICES = 6, DRAWS = 3 };
enum spread { MAXIMUM = -3, COPY = -2, SUMMAND = -1 }; // else the dimension that is cut

struct spreading { // of one tensor: for each axis; never SUMMAND and MAXIMUM in one
    int of[2];
    int shift[2]; // of what is cut: the device at i has part i - shift
    bool swapped; // where both cut one dimension, the second axis is the outer one
};

struct bench {
    struct arena arena;
    struct world world;
    struct cursor cursor;
    struct proof proof;
    struct program *program;
    struct diagnostics *diagnostics;
    struct source_files sources;
    struct unit unit; // of one op, on one device
    struct op op;
    char labels[MAX_OPERANDS + MAX_RESULTS][MAX_RANK + 1];
    struct spreading spread[MAX_OPERANDS];
    struct array whole[DRAWS][MAX_OPERANDS + MAX_RESULTS];
    struct array part[DRAWS][MAX_DEVICES][MAX_OPERANDS + MAX_RESULTS];
    struct judgement judged[MAX_RESULTS];
    uint64_t random;
    int n_axes, n_devices;
    unsigned n_claimed, n_refused, n_shapes;
};

void begin_bench(struct bench *b, int first,
                 int second); // sizes of the axes; second 0: there is one
int axis_size(const struct bench *b, int axis);
int coordinate(const struct bench *b, int device, int axis);
double random_between(struct bench *b, double low, double high);

bool combines(int spread); // SUMMAND, MAXIMUM
// Devices that agree with `device` on all axes along which the value is not combined.
bool combine_with(const struct bench *b, const struct spreading *s, int device, int other);
bool takes_maximum(const struct bench *b, const struct spreading *s);

bool is_index(const struct op *op, unsigned operand); // it counts the rows of a label
// The tensor of a list of labels, and one device's part of it.
struct tensor_type whole_type(const struct bench *b, unsigned list, bool integer);
struct tensor_type part_type(const struct bench *b, const struct tensor_type *whole,
                             const struct spreading *s);
// Gives every device its share of the whole.
void spread_array(struct bench *b, unsigned draw, unsigned operand);
struct judgement judge_operand(struct bench *b, unsigned operand);

// Results stand behind the operands in `part` and `whole`. Fails the test if a judged result is not
// what the devices have (`plain`: what is judged on one device), or if one that is refused has a
// meaning, unless the rule is known to say less than is true.
void check_claim(struct bench *b, unsigned result, const struct judgement *plain);
void check_refusals(struct bench *b, bool excused);
const char *combination_text(struct bench *b);

#endif
