// What places of the store hold, and what messages carry, as numbers that are equal if it is the same
// but for the microbatches that it is of: those of all that is of one microbatch are counted from the
// first of it, and of sums that are being collected it is said beside from which microbatches they
// are. So what a task finds and leaves is the same numbers whatever its microbatch (repeat.c).
#ifndef PLACE_VERIFY_MACHINE_CONTENTS_H
#define PLACE_VERIFY_MACHINE_CONTENTS_H

#include "verify/machine/machine.h"

// Items that a task names together: a row of a buffer, or all of several that share bytes.
struct cell {
    const buffer_id *buffers;
    uint32_t n_buffers;
    int32_t begin, end;    // items of one buffer; all of each where they are several
    struct place from, to; // where its bytes begin, and where those behind them do
};

struct token {
    uint32_t content;   // 0: it is none that can be said so
    int32_t base;       // the microbatch that it is of; 0 where it is of none
    uint32_t collected; // a set of microbatches, from which its sums are; 0: it has no such sums
};
enum { NO_CONTENT = 0, NO_MICROBATCHES = 0 };

struct content {
    struct series *items; // of each buffer of the cell, from 0 on
    struct stretch *stretches;
    uint32_t n_stretches;
    struct held *values;     // of a message
    bool of_time;            // what is of time counts from the token's base,
    struct microbatches own; // and is of these, and of others between them
};

struct contents {
    struct arena *arena;
    struct intern keys, sets;
    struct content *list;
    uint32_t n, cap;
    uint32_t *words; // of the key that is made
    uint32_t n_words, cap_words;
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
