// How values were made, of a program that is refused: kept so that the first of them can be found
// that is none of the reference's, nor a part of one.
#ifndef PLACE_VERIFY_PROOF_HISTORY_H
#define PLACE_VERIFY_PROOF_HISTORY_H

#include "verify/proof/judgement.h"

struct proof;

struct making {                               // of one value; numbered from 1
    const struct op *op;                      // NULL: a statement made it
    bool is_transfer;                         // that is a collective
    bool is_message;                          // from another part
    bool adds_up;                             // a collective, of either kind, that sums
    bool cuts_up;                             // and of the sum leaves each device its part
    struct span span, call;                   // of the op, and of the statement
    const char *name;                         // what it was called there
    const struct statement *loop, *time_loop; // the innermost around it, and over microbatches
    const char *when;                         // iteration_text
    const struct program *program;            // whose statement that is,
    int64_t moment;                           // and which was executed
    uint32_t order;                           // among faults
    struct scaled value; // in the first of the iterations that were executed at once
    uint32_t partial;
    uint32_t operands, n_operands; // in the history's list; 0: of unknown making
    uint32_t recalled; // of a call that was not evaluated: which of its values this is like
    // What is brought to a buffer or cleared there:
    bool is_kept;               // it has a place for every layer
    bool is_misfit;             // it lies in another way than the buffer says
    uint32_t replaces;          // what was there before; 0: unknown
    bool is_unchanged;          // that was the same
    bool hides;                 // that had no meaning, or the step began with it
    const struct fault *hidden; // why it had none; NULL: it had one
};
struct met { // a node among the reference's values
    int32_t at;
    enum { NEVER_MET, MET_ONCE, MET_OFTEN } times; // at different indices
};
struct history {
    struct arena *arena;
    struct making *makings;
    uint32_t n, cap;
    uint32_t *operands;
    uint32_t n_operands, cap_operands;
    const struct fault *const *before; // without a history
    uint32_t n_before;
    uint32_t open;                  // what is being made; 0: nothing
    struct intern values, summands; // of the reference, and of its sums: nodes with scales
    struct intern sums;             // of the reference, made by ops that add: which nodes
    struct met *met;                // of every node of the reference: at which index
    uint32_t n_met, cap_met;
    bool adds;                    // the reference's op that is open
    bool known[N_OPS];            // ops that the reference has
    unsigned char *answers;       // of every making: is it explained?
    uint32_t *reached, way, room; // by the present way back; how many there may be
};

// `before`: what was found when the program was judged without a history.
struct history *history_new(struct arena *, const struct fault *const *before, uint32_t n);
struct history *history_again(const struct history *); // of another part of the same program
bool history_unawaited(const struct proof *, struct span start); // no transfer from there is

// ---- writing; of no effect where no history is kept -------------------------------------------
// What is made from here on is made of these, by the op, the collective, or another statement.
// Faults that arise until it is made are about it.
void history_begin(struct proof *, const struct op *, const struct exchange *, struct span,
                   const struct judgement *operands, uint32_t n);
void history_made(struct proof *, struct judgement *made, const char *name);
void history_end(struct proof *);
// A call was not evaluated: the value is like one that another call made.
void history_recall(struct proof *, struct judgement *made, const char *name);
struct placed {  // what is brought to a place of a buffer, or cleared there
    bool kept;   // the buffer has a place for every layer
    bool misfit; // it lies in another way than the buffer says
};
// What was made is placed so, where `old` was; NULL: nothing.
void history_place(struct proof *, const struct judgement *made, struct placed as,
                   const struct judgement *old);

// ---- reading ----------------------------------------------------------------------------------
static inline const struct making *making_of(const struct history *history, uint32_t id) {
    return &history->makings[id - 1];
}
static inline uint32_t making_operand(const struct history *history, const struct making *making,
                                      uint32_t i) {
    return history->operands[making->operands + i];
}

// What a value is the sum of: what is no sum is that of itself alone.
uint32_t n_summands(const struct world *, struct scaled);
struct summand summand_of(const struct world *, struct scaled, uint32_t i);

// What led to a value, the last first; one way at a time.
struct lineage {
    struct history *history;
    bool sums; // by way of sums, of what hands on a value and of what has no op only
    // The buffer into which a transfer on the way brings; NULL: none is looked for. A sum that such
    // transfers go round by is made of what the one before has brought, also by a call that was not
    // evaluated.
    const char *brought;
    uint32_t number, id;
};
struct lineage lineage_of(struct proof *, uint32_t made, bool sums); // made 0: nothing
uint32_t lineage_next(struct lineage *); // a making; 0: there are no more
static inline bool lineage_has(const struct lineage *way, uint32_t id) { // where there are no more
    return way->history->reached[id] == way->number;
}

// The first value that the reference does not explain of those that led to `made`, by way of others
// like it; 0: it explains `made` itself. `*detour`: the program has its own way to the reference's
// values here, and what is found may be no mistake.
uint32_t history_first_guilty(struct proof *, uint32_t made, bool *detour);
// A sum of the reference of which the value is a part only; false: there is none.
bool history_whole(struct proof *, struct scaled part, struct scaled *whole);
// Whether an op of the reference adds up to a sum of these nodes, of whatever layers.
bool history_has_sum(struct proof *, struct scaled sum);
// Whether one adds up to that and some of what `part` lacks of `whole`.
bool history_has_more(struct proof *, struct scaled sum, struct scaled part, struct scaled whole);
// The scale with which the reference has the term, of several the nearest, of such the last; false:
// it does not have it.
bool history_scale(const struct proof *, struct scaled found, scale_id *scale);
// The only index at which the reference has the node; false: there are several, or none.
bool history_only_index(const struct proof *, uint32_t node, int32_t *at);

#endif
