// The machine: executes the steps of one program on an abstract store, and keeps the proof.
#ifndef PLACE_VERIFY_MACHINE_MACHINE_H
#define PLACE_VERIFY_MACHINE_MACHINE_H

#include "verify/machine/store.h"
#include "verify/proof/proof.h"

struct byte_range { // in the arena or in a unit's frame
    int64_t begin, end;
};
static inline bool byte_ranges_meet(struct byte_range a, struct byte_range b) {
    return a.begin < b.end && b.begin < a.end;
}

struct coordinates { // of a call: what the loops around it count
    int32_t layer, microbatch;
};
struct alias_made {
    struct term of, as;
};
struct memo_entry { // of the call at `base`
    struct judgement *results;
    struct judgement *parameters;
    struct alias_use *uses;
    uint32_t n_uses;
    struct alias_made *made;
    uint32_t n_made;
    struct coordinates base;
    bool movable;     // to other layers and microbatches: nothing in it has an absolute index
    uint32_t attempt; // where it holds for the iterations of one attempt only; else 0
};

struct memo { // of calls
    struct intern keys;
    struct memo_entry *entries; // of each key
    uint32_t n, cap;
    // of the call that is evaluated
    struct alias_log log;
    struct alias_made *made;
    uint32_t n_made, cap_made;
};

struct sides;      // sides.h
struct repetition; // repeat.h

struct loop_known {
    const struct statement *loop; // NULL: nothing is known
    bool is_of_time;              // it counts microbatches
};

struct abstract_machine {
    struct world *world;
    struct cursor *cursor;
    struct proof *proof;
    const struct program *program;
    struct store store;
    struct held *initials; // of every buffer's item 0, and what else is asked often of it
    int64_t *item_bytes;
    struct tensor_type *types;
    int64_t arena_begins[N_TIERS]; // bytes of the arenas are numbered one behind the other
    uint32_t *region_of;           // of every buffer: the region in which it shares bytes, or NO_ID
    buffer_id *region_first;       // of every region: the buffer that begins it
    uint32_t n_regions;
    uint32_t summands;       // axes on which states are summands when the step begins (islands.h)
    const struct job *sends; // of the reference: the job that keeps residuals; NULL: it keeps none
    bool recording;          // not evaluate: found is filled
    struct found *found;
    struct memo memo;
    struct memo passing; // of what some microbatches gave, where they are followed one by one: soon
                         // none of that is met any more
    void *scratch;       // of the unit that is being evaluated
    uint32_t scratch_values;
    bool one_by_one;   // loops are not proved by induction (tests)
    bool without_memo; // every call is evaluated (tests)
    bool every_task;   // no task of a pipeline is repeated (tests)
    uint32_t attempt;  // to prove a loop: the innermost now, 0: none
    int64_t budget;    // statements and ops that may still be executed in the step
    bool overrun;
    struct sides *sides; // of whose job it is one part; NULL: no other is executed beside it
    uint32_t side;       // which
    bool waits;          // for another part
    struct repetition *repetition; // of tasks; NULL: each is executed
    bool *between; // handles of the step whose transfers are between parts; NULL: none is
    struct loop_known *loops; // of the step's statements, by their ids from the first one's on
    uint32_t first_id, n_ids;
};

// What does not shares no bytes.
static inline bool share_region(const struct abstract_machine *m, buffer_id a, buffer_id b) {
    return m->region_of[a] != NO_ID && m->region_of[a] == m->region_of[b];
}

// Makes terms of the statement that is executed, and notes nothing.
static inline struct builder statement_builder(const struct abstract_machine *m) {
    const struct statement *statement = m->cursor->statement;
    return (struct builder){.terms = m->world->terms, .site = statement ? &statement->span : NULL};
}

// One that executes nothing yet; all that it is made of lives in the arena.
void abstract_machine_init(struct abstract_machine *, const struct program *, struct terms *,
                           struct arena *, struct diagnostics *, struct proof_kind);
// The same of another part of its job, beside the first: in its world and its proof.
void abstract_machine_init_beside(struct abstract_machine *, const struct abstract_machine *first,
                                  const struct program *);
// What is told from here on is of this part.
void abstract_machine_take_turn(struct abstract_machine *);

// memo.c: the judgements of a unit's results, and of its parameters' places behind the call.
void call_evaluate(struct abstract_machine *, const struct unit *, uint32_t unit_id,
                   const struct judgement *operands, struct judgement *results,
                   struct judgement *parameters);
// unit.c: the same without looking whether they are known.
void unit_evaluate(struct abstract_machine *, struct builder *, const struct unit *,
                   const struct judgement *operands, struct judgement *results,
                   struct judgement *parameters);

// arrivals.c: what an update of the reference reads in place of a gradient, if the final program
// sends it.
void codes_arrive(struct abstract_machine *, struct builder *, struct reference from,
                  struct judgement *gradient);

// step.c
bool step_execute(struct abstract_machine *, enum step_kind); // false: gave up, said why
// The same statement by statement: between two others may be executed.
void step_begin(struct abstract_machine *, enum step_kind);
bool step_advance(struct abstract_machine *); // false: the step has ended, or waits
void step_end(struct abstract_machine *);     // insists that nothing is under way any more
// labels.c
void come_to_label(struct abstract_machine *, const struct statement *label);
// What a statement is given, of which the first that is odd is kept (proof.h).
void note_odd(struct abstract_machine *, const char *name, const struct judgement *, struct span);
// The statements of the block come next, on the store as it stands.
void step_enter(struct abstract_machine *, const struct block *);

// budget.c
static inline bool loop_has_stride(const struct statement *statement) {
    return statement->kind == STATEMENT_LOOP && statement->loop.stride;
}
struct fault *step_overrun(struct abstract_machine *, const struct statement *, const char *why);
bool has_memory(const struct arena *); // for more of a check

#endif
