/* Rows that are summed in blocks: the rows of a block one after the other, then the blocks' sums as
 * a binary tree, neighbours first. So the sum over some of the blocks is a node of that tree, which
 * depends neither on how many blocks stand beside it nor on who has them. */
#pragma once
#include <stdint.h>
#include "runtime/place.h"

/* Sums that wait for the other half of a node, as the digits of a binary counter: where block b is
 * summed, level l holds one if digit l of b is one. */
enum { WAITING_SUMS = 6 };
_Static_assert(1 << WAITING_SUMS == PLACE_BLOCKS_LIMIT, "a level for every digit");

/* [parts, blocks, length] is how rows lie: those of a block are in as many places as there are
 * parts. */
struct row_blocks {
    int64_t parts, blocks, length;
};

/* A row of a block, and how many are left in its part. */
struct block_row {
    int64_t row, left;
};

static inline int64_t rows_of_block(const struct row_blocks *rows) {
    return rows->parts * rows->length;
}

static inline struct block_row first_of_block(const struct row_blocks *rows, int64_t block) {
    return (struct block_row){block * rows->length, rows->length};
}

/* Goes on to the next row of the same block. */
static inline void next_of_block(const struct row_blocks *rows, struct block_row *at) {
    at->row++;
    if (--at->left == 0)
        *at = (struct block_row){at->row + (rows->blocks - 1) * rows->length, rows->length};
}

/* Row i of those from a block on, one block after the other. */
static inline struct block_row row_from_block(const struct row_blocks *rows, int64_t block,
                                              int64_t i) {
    int64_t own = rows_of_block(rows), part = i % own / rows->length, before = i % rows->length;
    return (struct block_row){(part * rows->blocks + block + i / own) * rows->length + before,
                              rows->length - before};
}

/* `depth` of these rows, from the one `first` on. */
struct stretch {
    int64_t block, first, depth;
};
