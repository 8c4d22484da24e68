// What the reader knows while it goes through a text: files from elements.c on share it.
//
//     elements.c      types of elements: their names, and which one two of them give
//     annotations.c   "f32[4, 8]"
//     ranks.c         what texts of several ranks differ in
//     arguments.c     what ops are given: numbers, lists, arrays
//     groups.c        which devices meet in a process group
//     frames.c        comments that say where a line comes from
//     calls.c         an op while it is read
//     build.c         instructions of primitives
//     meet.c          several in one type and one shape
//     pointwise.c     ops of elements at their own places
//     given.c         arrays that are made of numbers
//     moves.c         elements at other places
//     folds.c         products, sums, softmax
//     norms.c         norms, and what they give back
//     indexed.c       lookups
//     losses.c        losses of classes
//     attention.c     scaled products of queries and keys
//     collectives.c   elements of other devices
//     operations.c    which op is whose, and those that are not followed
//     lines.c         one line
//     read.c          the text
#ifndef PLACE_EQUAL_FX_READER_H
#define PLACE_EQUAL_FX_READER_H

#include "equal/layout/layout.h"
#include "equal/text/known_shapes.h"
#include "equal/text/scan.h"
#include "equal/text/words.h"

// What a name stands for.
enum named_kind {
    NAMED_NOTHING,  // nothing has it yet
    NAMED_DECLARED, // an array that the text has said the shape of, and not yet where it comes from
    NAMED_ARRAY,
    NAMED_PARTS, // of an array, along one of its dimensions
    NAMED_OTHER, // no array: a mesh of devices, None
    NAMED_UNTOLD // made by an op that is not followed, and nothing says how large it is
};
struct array_parts {
    uint32_t array;
    uint32_t dimension;
    int64_t n;
    int64_t size;          // of each, but for a last one that is shorter
    const int64_t *starts; // [n + 1]; NULL: as the size says
    bool drops_dimension;  // parts have one element, and lack the dimension
};
struct named_value {
    enum named_kind kind;
    const struct array_shape *shape; // DECLARED
    uint32_t instruction;            // ARRAY
    struct array_parts parts;        // PARTS
    const char *op;                  // UNTOLD: its word
};

// A process group, by the name that collectives call it.
struct group_name {
    struct word name;
    int64_t size; // that a collective says; 0: none did
};
// What is not known of a collective before its group is.
struct open_collective {
    struct instruction_attributes *attributes;
    double *divisor; // becomes the number of devices that meet; NULL: nothing is divided by it
    uint32_t group;
};

// A number of the first text that is another one in texts of other ranks.
struct varying_number {
    const char *at;
    int64_t *of;   // by device
    bool is_heard; // by what it is a number of
};

struct region_key {
    enum primitive primitive;
    enum element element;
};

struct reader {
    struct scanner s;
    const struct layout_given *given; // NULL: one device executes the text
    uint32_t n_devices;
    struct varying_number *varying; // in the order of their places
    uint32_t n_varying, varying_cap;
    struct known_shapes shapes;
    struct words operations; // of the table, by their numbers there
    struct words strings;
    struct words names;
    struct named_value *named; // by the number of the name
    uint32_t n_named, named_cap;
    struct words group_words;
    struct group_name *groups;
    uint32_t n_groups, groups_cap;
    struct open_collective *open;
    uint32_t n_open, open_cap;
    struct source_frame *frames; // [0] is none
    uint32_t n_frames, frames_cap;
    uint32_t frame; // of the lines that follow; 0: none
    struct instruction *instructions;
    uint32_t n, cap;
    struct computation *computations; // that are applied, in the order of their keys
    struct region_key *regions;
    uint32_t n_computations, computations_cap, n_regions, regions_cap;
    uint32_t n_parameters;
    uint32_t root; // UINT32_MAX: nothing was returned yet
    const struct instruction_attributes *no_attributes;
};

#endif
