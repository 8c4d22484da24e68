// Between the files that mutate.
#ifndef PLACE_TESTS_ORACLE_MUTATE_PARTS_H
#define PLACE_TESTS_ORACLE_MUTATE_PARTS_H

#include "tests/oracle/mutate.h"

uint32_t choose(struct mutant *, uint32_t n); // 0 .. n-1
bool coin(struct mutant *);
// Gives the mutant a clone of its own, and a part of it.
void clone_job(struct mutant *, struct arena *, const struct job *);
// Notes what was changed; always true, so that a mutation can end with it.
bool touched(struct mutant *, struct span, const char *what);

// ---- schedules --------------------------------------------------------------------------------

struct site { // of a statement
    struct block *block;
    uint32_t at;
    int depth;
    enum step_kind step;
};
struct sites {
    struct site *items;
    uint32_t n, capacity;
};
static inline struct statement *statement_at(const struct site *site) {
    return &site->block->statements[site->at];
}
// All statements of the kinds in the mask, of both steps; of evaluation sometimes only.
enum {
    LOOPS = 1 << STATEMENT_LOOP,
    CALLS = 1 << STATEMENT_CALL,
    STARTS = 1 << STATEMENT_START,
    WAITS = 1 << STATEMENT_WAIT,
    ZEROS = 1 << STATEMENT_ZERO,
    FREES = 1 << STATEMENT_FREE,
    SIMPLE = CALLS | STARTS | WAITS | ZEROS | FREES,
};
struct sites find_sites(struct mutant *, unsigned kinds);
bool choose_site(struct mutant *, unsigned kinds, struct site *); // false: there is none
void remove_statement(struct block *, uint32_t at);
// Cuts a loop in two, of which the half that is executed first stands first, and chooses one. False: none can be.
bool cut_loop(struct mutant *, struct statement **half, struct span *);
// Does the statement, of that step, belong to what the mistake is planted in?
bool is_among(const struct mutant *, const struct statement *, enum step_kind);
bool find_made(struct mutant *); // before MADE; false: there is nothing
// Another buffer that holds the same type of item; NO_ID: there is none.
buffer_id other_buffer(struct mutant *, buffer_id, bool same_tensor);

// ---- units ------------------------------------------------------------------------------------

struct op_site {
    struct unit *unit;
    uint32_t at;
};
static inline struct op *op_at(const struct op_site *site) {
    return &site->unit->ops[site->at];
}
// A random op for which `fits` holds; false: there is none.
bool choose_op(struct mutant *, bool (*fits)(const struct unit *, const struct op *),
               struct op_site *);
void insert_op(struct mutant *, struct unit *, uint32_t at, struct op);
void remove_op(struct unit *, uint32_t at);
// From op `from` on, and among the results, `new` stands where `old` stood.
void replace_value(struct unit *, uint32_t from, value_id old, value_id new);
bool is_collective(const struct unit *, const struct op *);

// ---- precision --------------------------------------------------------------------------------

bool makes_tensors(const struct unit *, const struct op *); // of more than 16 bits
enum dtype narrow_type(struct mutant *);
struct op cast_op(value_id from, value_id to, struct span);
// One of the op's tensors through a narrow type, for all who read it behind.
bool round_result(struct mutant *, const struct op_site *);

// ---- what a kind of mutation does to units ----------------------------------------------------

bool drop_op(struct mutant *);
bool double_op(struct mutant *);
bool move_op(struct mutant *);
bool re_axis_op(struct mutant *);
bool rescale_value(struct mutant *);
bool rescale_constant(struct mutant *);
bool slice_elsewhere(struct mutant *);
bool drop_wait_op(struct mutant *);
bool change_word(struct mutant *);
bool exchange_summands(struct mutant *);
bool read_other_value(struct mutant *);
bool move_value(struct mutant *);

#define MUTATION(NAME, text, function) bool function(struct mutant *);
#define ROUNDING                       MUTATION
#define PIPELINE                       MUTATION
#include "tests/oracle/mutations.def"
#undef MUTATION
#undef ROUNDING
#undef PIPELINE

#endif
