// Elementwise chains, between their files: what is known while one loop is made.
//
//   elementwise.c          the tree, its ops, the loop over rows and columns
//   elementwise_leaves.c   elements in memory, read and written
//   elementwise_rows.c     which row of an operand an iteration reads, and whether there is one
//   elementwise_dropout.c  what is drawn for a row, and for its elements
//   elementwise_prefetch.c what is asked for before it is read
#ifndef PLACE_BACKEND_ELEMENTWISE_H
#define PLACE_BACKEND_ELEMENTWISE_H

#include "backend/emitter.h"

// The row of a value that an iteration works on, and how many elements there are around it: those
// of the tree's result, or of the value from which a part is taken.
struct spot {
    LLVMValueRef row; // NULL: of a scalar
    int64_t elements;
};

// A value at a row: once computed, whoever reads it.
struct computed {
    value_id value;
    LLVMValueRef row, result;
};

// What an op that moves elements reads for a row of its result.
struct moved {
    const struct op *op;
    LLVMValueRef row;
    struct spot from;
    LLVMValueRef inside; // whether its operand has anything there
    int known;           // in the inner loop that is being made: 0, 1; -1: it is asked there
};
enum { MAX_BRANCHES = 3 }; // inner loops are made for each answer to so many questions

// What a dropout has drawn for a row of its result.
struct drawn {
    const struct op *op;
    LLVMValueRef row, words[4];
};

struct tree {
    struct emitter *e;
    value_id *leaves; // values with places that the tree reads, then the result
    unsigned n_leaves, cap_leaves;
    value_id *counts; // positions that are not read: the tile is told where they begin
    unsigned n_counts, cap_counts;
    value_id absent;  // a term that is added later; NO_ID: none
    int64_t elements; // of the result
    int64_t columns;  // 0: nothing is broadcast or moved

    // while the tile is built
    LLVMValueRef *pointers; // of the leaves
    LLVMValueRef *begins;   // of the counts, i64
    struct computed *done;
    uint32_t n_done, cap_done, n_scalars; // scalars come first and stay
    struct moved *moved;
    uint32_t n_moved, cap_moved;
    struct drawn *drawn;
    uint32_t n_drawn, cap_drawn;
    LLVMValueRef column_index;
};

// ---- elementwise_leaves.c ---------------------------------------------------------------------

// An element of a value that has a place.
LLVMValueRef load_leaf(struct tree *, value_id value, LLVMValueRef index);
void store_leaf(struct tree *, value_id value, LLVMValueRef index, LLVMValueRef x);

// ---- elementwise_rows.c -----------------------------------------------------------------------

// Elements behind the dimension that has the places.
int64_t kept_elements(const struct emitter *, const struct op *);
// In how many rows so many elements stand.
LLVMValueRef rows_of(const struct tree *, int64_t elements);
// Where an operand that has as many elements as its reader, or a suffix of them, or one, is read.
struct spot spot_of(const struct tree *, value_id value, struct spot reader);
// Index of the element of a value that the current iteration works on.
LLVMValueRef element_at(const struct tree *, value_id value, struct spot at);
// The first of the numbers that an iota counts on this device.
LLVMValueRef start_of(const struct tree *, value_id iota);
struct moved move_spot(const struct tree *, const struct op *, struct spot at);
struct moved *find_moved(const struct tree *, const struct op *,
                         LLVMValueRef row); // NULL: none yet

// ---- elementwise_dropout.c --------------------------------------------------------------------

// Draws once, before the columns of a row, what the dropout needs for it. The layer's number and
// the step's key are the op's scalars.
void draw_row(struct tree *, const struct op *, struct spot at, LLVMValueRef layer,
              LLVMValueRef key);
// The element x of the row, or zero.
LLVMValueRef drop(struct tree *, const struct op *, struct spot at, LLVMValueRef key,
                  LLVMValueRef x);

// ---- elementwise_prefetch.c -------------------------------------------------------------------

// Asks, before the loop over `count` elements from `first` on, for what later ones will read.
void prefetch_leaves(struct tree *, LLVMValueRef first, int64_t count);

#endif
