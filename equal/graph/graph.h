// A graph: a tensor program as another framework printed it. Computations of instructions, each of which reads only
// what stands before it in its computation; the last thing that a computation makes is its root. What is called is
// defined before its callers, so there is no recursion.
//
// A graph is of one device. Of a mesh it is the program that every one of its devices executes: shapes are of a
// device's part, and devices meet in collectives.
//
// Readers make graphs (hlo/read.h), and have checked what is said here beside the fields; who reads a graph need not
// look again. All of it lies in the arena that the reader was given.
#ifndef PLACE_EQUAL_GRAPH_GRAPH_H
#define PLACE_EQUAL_GRAPH_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "ir/arena.h"
#include "ir/span.h"

enum { MAX_GRAPH_RANK = 16, MAX_CALL_DEPTH = 64, MAX_GRAPH_DEVICES = 1 << 16 };

enum number_kind { NUMBER_TRUTH, NUMBER_INTEGER, NUMBER_UNSIGNED, NUMBER_REAL, NUMBER_OTHER };
enum element {
#define ELEMENT(name, text, bits, kind) ELEMENT_TYPE_##name,
#include "equal/graph/elements.def"
#undef ELEMENT
    N_ELEMENT_TYPES
};
struct element_row {
    const char *text;
    uint8_t bits;
    enum number_kind kind;
};
extern const struct element_row element_rows[N_ELEMENT_TYPES];
// Integers of fewer bits wrap around; those of as many are taken to hold whatever programs count with them.
enum { COUNTING_BITS = 32 };
bool element_is_integer(enum element);
// The least and the largest integer of a type of integers, as far as 64 bits with a sign say it.
void element_range(enum element, int64_t *least, int64_t *most);

enum primitive_class {
    PRIMITIVE_POINTWISE,
    PRIMITIVE_MOVE,
    PRIMITIVE_FOLD,
    PRIMITIVE_COLLECTIVE,
    PRIMITIVE_CONTROL,
    PRIMITIVE_GIVEN,
    PRIMITIVE_OTHER,
};
enum primitive {
#define PRIMITIVE(name, word, class, operands) PRIM_##name,
#include "equal/graph/primitives.def"
#undef PRIMITIVE
    N_PRIMITIVES
};
struct primitive_row {
    const char *word;
    enum primitive_class class;
    int operands; // -1: any number
};
extern const struct primitive_row primitive_rows[N_PRIMITIVES];

// An array's, or that of a tuple: then `members` are its parts' and `rank` is 0. Equal shapes are one pointer.
struct array_shape {
    enum element element;
    bool is_tuple;
    uint32_t rank, n_members;
    const int64_t *sizes; // not negative; their product, times the element's bytes, is below 2^62
    const struct array_shape *const *members;
    int64_t n_elements; // of an array
};

// Numbers in row-major order: of REAL elements `reals`, of others `integers` (pred: 0 or 1), the other one NULL.
// Reals are given to double: a narrower type's are those it has.
struct literal {
    const double *reals;
    const int64_t *integers;
    int64_t n; // elements of the shape, or 1: all elements are that one
};

struct number_list {
    const int64_t *of;
    uint32_t n;
};

enum direction {
    DIRECTION_EQ,
    DIRECTION_NE,
    DIRECTION_GE,
    DIRECTION_GT,
    DIRECTION_LE,
    DIRECTION_LT
};

// Which devices meet in a collective: groups of equal size, each device in one; a collective's results lie in a
// group's order. Equal ones are one pointer.
struct device_groups {
    uint32_t n_groups, size;
    const uint32_t *devices; // [n_groups][size]
};
struct device_pair {
    uint32_t from, to;
};

struct slice_range { // start, start + stride, ... below limit
    int64_t start, limit, stride;
};
struct padding_range { // low and high may be negative: then elements are cut off
    int64_t low, high, interior;
};

// HLO's dimension numbers of gather and scatter (XLA's "Operation semantics"): of gather offset, collapsed, map; of
// scatter update_window, inserted_window, scatter_dims_to_operand.
struct index_numbers {
    struct number_list offset, collapsed, map;
    struct number_list operand_batching, indices_batching;
    int64_t index_vector;
    struct number_list slice_sizes; // of gather
    bool sorted, unique;            // what the text promises of indices
};

// What instructions have beside operands; of each primitive the fields that name it, all others zero.
struct instruction_attributes {
    struct number_list
        dimensions; // broadcast (result's dimension of each of the operand's), transpose,
                    // reduce, reverse, concatenate, sort, iota, all_gather, all_to_all,
                    // reduce_scatter (one each)
    struct number_list left_batch, right_batch;             // dot
    struct number_list left_contracting, right_contracting; // dot
    struct number_list slice_sizes;                         // dynamic_slice
    const struct slice_range *slices;                       // slice: one for each dimension
    const struct padding_range *padding;                    // pad: the same
    const struct index_numbers *indices;                    // gather, scatter
    const struct literal *literal;                          // constant
    enum direction direction;                               // compare
    int64_t index;                                          // parameter, get_tuple_element: which
    const struct device_groups *groups; // collectives but collective_permute; never NULL
    bool counts_replicas; // groups are of replicas, of which there is one: no devices meet
    const struct device_pair *pairs; // collective_permute
    uint32_t n_pairs;
    const uint32_t
        *called; // computations: call, map, reduce, scatter, all_reduce, reduce_scatter, sort,
                 // conditional (branches in order); while: condition, body
    uint32_t n_called;
    const char *target; // custom_call; of what is OPAQUE, its word
    // The attributes of what is OPAQUE or of class OTHER that have no field here, as they are written, but not those
    // that say nothing of values; NULL: none. All computations that it calls are in `called`.
    const char *others;
    const char *sharding; // what stands behind `sharding=`, braces included; NULL: none
    int64_t exponent_bits, mantissa_bits; // reduce_precision
};

struct instruction {
    enum primitive primitive;
    const struct array_shape *shape;
    const uint32_t *operands; // instructions of the same computation, all of them before this one
    uint32_t n_operands;
    const struct instruction_attributes *attributes; // never NULL
    const char *name;                                // without the percent sign
    const char *path;                                // the `op_name` of its metadata; NULL: none
    uint32_t frame;                                  // of the graph's, from 1 on; 0: none
    struct span span;                                // its name, at its line
};

struct computation {
    const char *name;
    struct instruction *instructions;
    uint32_t n;
    uint32_t root;
    const uint32_t *parameters; // instructions, by their number
    uint32_t n_parameters;
};

// Where in the user's program an instruction comes from: a call, and what called that.
struct source_frame {
    const char *file, *function; // function: NULL where it is not known
    uint32_t line;
    uint32_t parent; // 0: none
};

// An axis of a mesh, the last of which varies fastest in a device's number.
struct device_axis {
    const char *name;
    int64_t size;
};

struct graph {
    const char *name;
    struct computation *computations; // those that are called before those that call them
    uint32_t n_computations;
    uint32_t entry;
    uint32_t n_devices;                // `num_partitions`, at least 1
    const struct source_frame *frames; // [0] is none
    uint32_t n_frames;
    // The mesh whose axes device groups name (`mesh['dp'=2,'tp'=3] {'tp'}`), of several the first with most axes; none:
    // no group names any.
    const struct device_axis *axes;
    uint32_t n_axes;
    const char *const *process_groups; // that collectives name
    uint32_t n_process_groups;
    bool is_partitioned; // behind the pass that partitions: shapes are of a device's part
    bool
        has_numbered_parameters; // their names only count them, and say nothing beside another program's
};

static inline bool list_has(const struct number_list *list, int64_t number) {
    for (uint32_t i = 0; i < list->n; i++)
        if (list->of[i] == number)
            return true;
    return false;
}
static inline const struct instruction *graph_operand(const struct computation *of,
                                                      const struct instruction *by, uint32_t i) {
    return &of->instructions[by->operands[i]];
}
// "f32[2,3]"; of a long tuple how many parts it has.
const char *shape_text(const struct array_shape *, struct arena *);
// "train.py:73 block": the innermost frame that is not of a library, or the innermost; NULL: none is known.
const char *graph_place(const struct graph *, const struct instruction *, struct arena *);

#endif
