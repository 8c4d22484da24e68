// What the reader knows while it goes through a module: files from reader.c on share it.
//
//     shapes.c        shapes
//     literals.c      the numbers of constants
//     groups.c        which devices meet, in four forms, equal ones once
//     frames.c        tables of files, functions and frames
//     reader.c        what is known by name
//     attributes.c    what stands behind an instruction's operands
//     instructions.c  one instruction
//     computations.c  a computation of them
//     read.c          the module
#ifndef PLACE_EQUAL_HLO_READER_H
#define PLACE_EQUAL_HLO_READER_H

#include "equal/hlo/frames.h"
#include "equal/hlo/groups.h"
#include "equal/text/scan.h"
#include "equal/hlo/shapes.h"
#include "equal/text/words.h"

// What is to be known of an instruction beside what the graph has, for those that read it.
struct as_written {
    struct word shape;
    bool is_row_major;
    bool is_started; // its result is to be waited for
};
// Who has a name: an instruction of this computation. Names are numbered in the module, and of the number's last owner.
struct named_instruction {
    uint32_t computation, instruction;
};

// What a computation executes, with what it calls.
struct called_size {
    uint32_t depth; // calls of calls inside of it
    uint64_t n_executed;
};
// Instructions that may be executed, turns of loops aside: so many, and so many times those of the text.
enum { MAX_CALLED = 1 << 17, MAX_CALLED_TIMES = 8 };

struct reader {
    struct scanner s;
    struct shapes shapes;
    struct groups groups;
    struct frames frames;
    struct words opcodes, attributes; // those of the tables, by their numbers there
    struct words strings;             // paths, shardings, targets: equal ones are one pointer
    struct words names;               // of instructions
    struct named_instruction *named;  // by the number of the name
    uint32_t n_named, named_cap;
    struct words computation_names; // numbers are those of computations
    struct computation *computations;
    struct called_size *sizes; // by computation
    uint32_t n_computations, computations_cap, sizes_cap;
    struct word name; // of the computation that is read
    struct instruction *instructions;
    struct as_written *written;
    uint32_t n, cap, written_cap;
    struct called_size size; // so far, of the computation that is read
    uint64_t n_read;         // instructions of those before it
    const struct instruction_attributes *no_attributes;
    bool has_shardings; // or something else that is said to the pass that partitions
};

// The computation that is read is numbered as the next.
uint32_t find_computation(struct reader *,
                          struct word name); // UINT32_MAX: it has been reported that there is none
const char *hlo_string(struct reader *, struct word);
// The same of a word that stood in quotes, without the backslashes before quotes: `a[\'w\']` is a['w'].
const char *reader_quoted(struct reader *, struct word);

#endif
