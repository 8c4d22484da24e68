// Small programs for the backend's tests, made by ir's functions, planned by hand, jitted and run
// on one rank: one unit, one call. Numbers go in and come out as doubles, whatever their type, and
// are compared with what the interpreter makes of the same unit.
#ifndef PLACE_TESTS_BACKEND_HARNESS_H
#define PLACE_TESTS_BACKEND_HARNESS_H

#include "backend/backend.h"
#include "ir/interpreter/interpreter.h"
#include "runtime/context.h"
#include "runtime/live.h"

// A loaded code generator, once per process of tests.
struct backend *harness_backend(void);

// Ranks of a program's mesh, each with its own arena, filled with NaN. They run as threads.
enum { MAX_RANKS = 40 };
struct ranks {
    struct place_program *program;
    struct local_world *world;
    int32_t n;
    struct place_context contexts[MAX_RANKS];
    struct live_report live[MAX_RANKS]; // of the last run
};
void ranks_open(struct ranks *, struct arena *, const struct program *, int threads);
void ranks_close(struct ranks *);
// Runs an entry on all ranks and fails the test with the message of a rank that fails.
void ranks_run(struct ranks *, place_entry *);

// Compiles; fails the test when that fails.
struct backend_code *compile(struct arena *, const struct program *);

struct harness {
    struct arena arena;
    struct program *program;
    struct unit *unit;
    enum dtype dtype;
    const char *level; // of x86-64 that code is made for; NULL: of this CPU
    struct ranks ranks;
    struct backend_code *code;
    int64_t *offsets; // of parameters and results, by value
    uint64_t random;
};

void harness_open(struct harness *, enum dtype);
void harness_close(struct harness *);
// A parameter of the unit with the sizes up to the first 0, filled with random numbers in (-1, 1)
// by harness_ready.
value_id harness_input(struct harness *, enum dtype, const int64_t *sizes);
#define SIZES(...)          ((const int64_t[]){__VA_ARGS__ __VA_OPT__(, ) 0})
#define INPUT(harness, ...) harness_input(harness, (harness)->dtype, SIZES(__VA_ARGS__))
// An op with inferred types; attributes are set between the two.
struct op *harness_op(struct harness *, enum op_kind, const value_id *operands, unsigned n);
#define OP(harness, kind, ...)                                                                     \
    harness_op(harness, OP_##kind, (const value_id[]){__VA_ARGS__ __VA_OPT__(, ) 0},               \
               sizeof((const value_id[]){__VA_ARGS__ __VA_OPT__(, ) 0}) / sizeof(value_id) - 1)
value_id harness_infer(struct harness *, struct op *); // the first result
value_id harness_iota(struct harness *, int64_t size); // an index operand, inline
void harness_output(struct harness *, value_id);
void harness_update(struct harness *, value_id result, value_id parameter); // in its place
void harness_inline(struct harness *, value_id);

// Plans, compiles, allocates and fills; then run.
void harness_ready(struct harness *);
void harness_run(struct harness *);
// An element of an array of whatever type, as a double; written, it is rounded to nearest even.
double element_get(const void *elements, enum dtype, int64_t index);
void element_set(void *elements, enum dtype, int64_t index, double x);
double get(const struct harness *, value_id, int64_t index);
void set(struct harness *, value_id, int64_t index, double x);
int64_t count(const struct harness *, value_id);
// Runs the code and the interpreter on the same numbers and compares all results of the unit:
// differences up to `scale` * 1e-6 (f32) or 1e-14 (f64), relative to 1 + |reference|, and half a unit
// of a type of 16 bits.
void harness_compare(struct harness *, double scale);
// What attention of such queries, keys and values may differ by: of bf16 the CPU may round what it
// multiplies, which runtime_test_attention.c looks at closely.
double harness_attention_scale(enum dtype);

#endif
