// What places of the store hold, and what messages carry, as numbers that are equal if it is the same
// but for the microbatches that it is of: those of all that is of one microbatch are counted from the
// first of it, and of sums that are being collected it is said beside from which microbatches they
// are. So what a task finds and leaves is the same numbers whatever its microbatch (repeat.c).
#ifndef PLACE_VERIFY_MACHINE_CONTENTS_H
#define PLACE_VERIFY_MACHINE_CONTENTS_H

#include "verify/machine/machine.h"

// Buffers of which tasks name the same rows together, or always all of each.
struct table {
    const buffer_id *buffers;
    uint32_t n_buffers;
    bool whole;
    const struct bytes_shared *shared; // bytes of row 0 that other buffers may have, too
    uint32_t n_shared;
};
struct bytes_shared {
    struct place from, to; // where they begin, and where those behind them do
};
struct cell { // items that are looked at together
    const struct table *table;
    int32_t row; // 0 of what is whole
};
// How many items a row has: it is what the outer of two indices says.
static inline int32_t row_items(const struct buffer *buffer) {
    return buffer->stacks.n < 2 ? 1 : (int32_t)buffer->stacks.list[1].count;
}
// The first item of this one of its buffers, and the one behind the last.
static inline int32_t cell_begin(const struct abstract_machine *m, const struct cell *cell,
                                 buffer_id id) {
    return cell->row * row_items(&m->program->buffers[id]);
}
static inline int32_t cell_end(const struct abstract_machine *m, const struct cell *cell,
                               buffer_id id) {
    const struct buffer *buffer = &m->program->buffers[id];
    return cell->table->whole ? (int32_t)buffer_items(buffer) : (cell->row + 1) * row_items(buffer);
}

struct token {
    uint32_t content;   // 0: it is none that can be said so
    int32_t base;       // the microbatch that it is of; 0 where it is of none
    uint32_t collected; // a set of microbatches, from which its sums are; 0: it has no such sums
};
enum { NO_CONTENT = 0, NO_MICROBATCHES = 0 };

struct stretches {
    struct stretch *list;
    uint32_t n;
};
struct content {
    struct series *items;        // of each buffer of the cell, from 0 on
    struct stretches *stretches; // of each of its ranges of bytes
    struct held *values;         // of a message
    bool of_time;                // what is of time counts from the token's base,
    struct microbatches own;     // and is of these, and of others between them
};

struct contents {
    struct arena *arena;
    struct intern keys, sets;
    struct content *list;
    uint32_t n, cap;
    uint32_t *words; // of the key that is made
    uint32_t n_words, cap_words;
    struct series runs;        // of the buffer of the cell that is looked at,
    struct stretch *stretches; // and of the bytes
    uint32_t n_stretches, cap_stretches;
    bool *empty; // of each buffer of the cell: no item of it there holds anything
    uint32_t n_empty, cap_empty;
};

struct contents *contents_new(struct arena *);
// What is in the cell. No token: there are faults, or transfers under way, or numbers of no microbatch.
struct token contents_of_cell(struct contents *, struct abstract_machine *, const struct cell *);
void contents_put(const struct contents *, struct abstract_machine *, const struct cell *,
                  struct token);
// What is given: n values.
struct token contents_of_values(struct contents *, const struct world *, const struct judgement *,
                                uint32_t n);
struct judgement contents_value(const struct contents *, const struct world *, struct token,
                                uint32_t i);
static inline bool contents_of_time(const struct contents *contents, uint32_t content) {
    return contents->list[content].of_time;
}
// The set with one microbatch more, which is not in it. NO_MICROBATCHES: it is, or these are all of
// them, or they have too many gaps.
uint32_t contents_collect(struct contents *, uint32_t set, int32_t microbatch,
                          int32_t n_microbatches);
// The range, widened by what the token is of.
void contents_widen(const struct contents *, struct token, struct microbatches *range);
// How many of the set are not in the range.
int32_t contents_beyond(const struct contents *, uint32_t set, struct microbatches range);

#endif
