// What the parts of the verifier share: judgements about values, faults, the store, the engine.
#ifndef PLACE_VERIFY_ENGINE_H
#define PLACE_VERIFY_ENGINE_H

#include "ir/check.h"
#include "ir/diagnostic.h"
#include "ir/ir.h"
#include "ir/limits.h"
#include "verify/digits.h"
#include "verify/term.h"
#include "verify/verify.h"

// ---- faults -----------------------------------------------------------------------------------

// Why a value has no meaning. It is not reported where it arises but when the value matters: dead
// wrong code is no error, and of all that is wrong the first cause is told.
struct fault {
    enum diagnostic_code code;
    struct span span;
    const char *message;
    const char *said;  // beside the carets; NULL: nothing
    struct span other; // a second place, where `other_said` is not NULL
    const char *other_said;
    const char *effect;           // what it spoils, where the message does not say
    const struct span *unawaited; // the start of a transfer that nothing waits for is the cause
    bool has_terms;               // the two that differ, and of what:
    const char *what;
    struct scaled found, expected;
    const struct op
        *reader; // an op that reads a part of a sum: its operands, of which `share` is it
    const struct scaled *operands;
    unsigned share;
    uint32_t order; // of creation: the smallest is the first cause
};

// ---- coverages --------------------------------------------------------------------------------

// Which parts of a contracted label a value combines on a device (coverage.c).
typedef uint32_t coverage_id;
enum { COVERAGE_COMPLETE = 0 };
#define COVERAGE_UNKNOWN UINT32_MAX // of a ring that is too long to follow
struct coverage {                   // no padding
    uint32_t axis;
    dim_id dim; // of the contracted label, not shifted
    uint32_t label, n_parts;
    uint32_t monoid, none;          // by which parts are put together
    uint64_t seen[LIMIT_RING / 64]; // bit k: on the device at i, part i + k
};

// ---- judgements -------------------------------------------------------------------------------

// What a device-local value is (VERIFIER.md 1.1). With the coordinates on the axes that own digits
// fixed, the sum over the axes of `partial` is scale * the slice of the term that the form says;
// along all other axes devices have the same.
struct judgement {
    const struct fault *fault; // NULL, or nothing else has a meaning
    struct scaled value;
    form_id form;
    int32_t microbatch;   // coordinate of the digit that time owns; 0 without one
    uint32_t partial;     // axes on which it is a summand
    uint32_t partial_max; // axes on which the greatest of the devices' numbers is meant
    uint32_t bits; // axes on which copies are equal to the bit; set where there are no copies
    coverage_id coverage; // over which parts of a contraction it is
    uint8_t dtype;
    bool clean; // bytes behind or between its elements that are padding are zeros
};

// ---- store ------------------------------------------------------------------------------------

enum item_state {
    ITEM_EMPTY, // never written in this step
    ITEM_READY,
    ITEM_IN_FLIGHT, // the target of a transfer that nobody has waited for
    ITEM_WINDOW,    // only the device's own shard is new; `value` is the shard's
    ITEM_FREED,
    ITEM_OVERWRITTEN, // in whole or part, by what stands at `by`
    ITEM_CONSUMED,    // a unit used its place
};
struct item {
    struct judgement value;
    enum item_state state;
    int32_t busy;     // transfers in flight that read or fill it
    uint32_t claim;   // the last number under which it was claimed (store_claim)
    buffer_id window; // WINDOW: the one that was written
    const struct span *by;
};
struct flight_piece {
    uint32_t from, to; // items
    bool from_window, to_window;
    struct judgement value; // what arrives
};
struct flight {
    uint32_t handle;
    int64_t slot;
    const struct statement *start;
    struct flight_piece *pieces;
    uint32_t n_pieces;
};
struct overlap_list {
    buffer_id *buffers;
    uint32_t n;
};
struct store {
    uint32_t *first; // item of every buffer
    struct item *items;
    uint32_t n_items;
    struct flight *flights;
    uint32_t n_flights, cap_flights;
    uint32_t claims; // numbers given so far
};

// ---- engine -----------------------------------------------------------------------------------

// A microbatch index that stands for any one behind the first few (loop.c).
enum { ANY_MICROBATCH = 1 << 28 };

struct memo_entry {
    struct judgement *results; // relative to the memo's base
    struct judgement *parameters;
    struct alias_use *uses; // relative too
    uint32_t n_uses;
    struct alias_made *made;
    uint32_t n_made;
    int32_t base;
    bool movable; // to other layers: nothing in it has an absolute index
};
struct alias_made {
    struct term of, as; // relative to base
};

struct engine {
    struct arena *arena;
    struct diagnostics *diagnostics;
    const struct program *program;
    bool is_reference;
    struct terms *terms; // of both programs
    struct digits digits;
    struct intern coverages;
    struct store store;
    struct found *found;
    uint32_t all_axes;
    struct judgement *initials; // of every buffer's item 0, and what else is asked often of it
    int64_t *item_bytes;
    struct overlap_list *overlaps; // buffers that share bytes
    struct tensor_type *types;
    uint32_t first_own_node; // terms before it are the reference's
    // position
    const struct step *step;
    const struct statement *statement;
    int64_t variables[LIMIT_LOOP_DEPTH];
    bool time_loop[LIMIT_LOOP_DEPTH]; // the variable is the microbatch
    int depth;
    int64_t budget; // statements that may still be executed
    bool recording; // train, not evaluate: found is filled
    void *scratch;  // of the unit that is being evaluated
    uint32_t scratch_values;
    // memo of units
    struct intern memo_keys;
    struct memo_entry *memos;
    uint32_t n_memos, cap_memos;
    struct alias_made *made;
    uint32_t n_made, cap_made;
    uint32_t n_faults;
    const struct fault **insisted; // faults of their own, that no value need carry
    uint32_t n_insisted, cap_insisted;
    struct copies_summed *sums; // every place and axis, whether of copies or of summands
    uint32_t n_sums, cap_sums;
    bool overrun;
};

// fault.c
const struct fault *fault_make(struct engine *, enum diagnostic_code, struct span, const char *said,
                               const char *format, ...) __attribute__((format(printf, 5, 6)));
void fault_also(const struct fault *, struct span other, const char *said); // a second place
// Says of the transfer that was started there and never waited for: it is told once, where it first
// does harm. Returns the fault.
const struct fault *fault_unawaited(const struct fault *, const struct span *start);
// Wrong whatever becomes of it: a transfer that nobody waits for.
void fault_insist(struct engine *, const struct fault *);
// The same at the same place, or about the same transfer that nothing waits for.
bool fault_same_cause(const struct fault *, const struct fault *);
struct diagnostic *fault_report(struct engine *, const struct fault *);
struct judgement judgement_fault(const struct fault *);
const char *mask_text(const struct engine *, uint32_t mask);
const char *scale_text(const struct engine *, scale_id scale);
const char *term_text(const struct engine *, struct scaled value, int depth);
const char *microbatches_text(const struct engine *, struct term collected);

// rule.c
struct judgement judgement_of(struct engine *, struct scaled value, form_id form, enum dtype);
bool op_reads(enum op_kind, unsigned result, unsigned operand); // reads.def
void rule_apply(struct engine *, const struct unit *, const struct op *,
                const struct judgement *operands, struct judgement *results);

// laws.c: terms of log-sum-exp, so that the loss over all of the vocabulary and the same over its
// parts have one term.
struct scaled law_log_shift(struct terms *, struct scaled sum, struct scaled shift);
struct scaled law_cross_entropy(struct terms *, struct scaled logits, struct term targets,
                                struct term rows);
// Are these o and lse of one attention?
bool law_is_statistic(const struct terms *, struct scaled o, struct scaled lse);

// coverage.c
coverage_id coverage_of(struct engine *, enum monoid, unsigned axis, unsigned char label,
                        dim_id dim);
const struct coverage *coverage_get(const struct engine *, coverage_id); // not of the two above
bool coverage_has(const struct coverage *, uint32_t part);
uint32_t coverage_axes(const struct engine *, coverage_id); // mask of the axis it is about
// Every device has what the one `by` before it on the axis had, counted round.
coverage_id coverage_shift(struct engine *, coverage_id, unsigned axis, int64_t by);
struct coverage_join {
    coverage_id both;
    int64_t twice; // a part that both have, on device 0 of the axis; -1: none
};
// False: they are not parts of one contraction, or of one by another monoid.
bool coverage_join(struct engine *, enum monoid, coverage_id, coverage_id, struct coverage_join *);
const char *coverage_part_text(const struct engine *, coverage_id,
                               int64_t part);                          // "keys of chunk 3"
const char *coverage_missing_text(const struct engine *, coverage_id); // the first of them

// collective.c: what the value is behind the collective. `chunk`: elements of the smaller side's
// local part, for flat ones.
struct judgement collective_apply(struct engine *, const struct exchange *, int64_t chunk,
                                  const struct judgement *, struct span span);
struct judgement slice_apply(struct engine *, const struct axis_list *, int dim, int64_t chunk,
                             const struct judgement *, struct span span);

// unit.c: the judgements of a unit's results, and of its parameters' places behind the call.
void unit_evaluate(struct engine *, const struct unit *, uint32_t unit_id,
                   const struct judgement *operands, struct judgement *results,
                   struct judgement *parameters);

// store.c
void store_init(struct engine *, const struct step *step);
struct judgement store_read(struct engine *, struct reference reference, struct span span);
// What an item holds behind the step; a fault is told where it was lost.
struct judgement store_at_end(struct engine *, buffer_id, int64_t item, const char *what);
void store_write(struct engine *, struct reference reference, struct judgement value,
                 struct span span);
// The bytes are used for something that has no meaning; `state` says what.
void store_clobber(struct engine *, struct reference reference, enum item_state state,
                   struct span span);
// One statement may not write the same bytes twice, nor read what it writes. After
// store_begin_claims each place that is written is claimed; false: another one has some of its
// bytes.
void store_begin_claims(struct engine *);
bool store_claim(struct engine *, struct reference);
bool store_is_claimed(const struct engine *, struct reference);
void store_start(struct engine *, const struct statement *);
void store_wait(struct engine *, const struct statement *);
// What the host or the initialisation puts into persistent and input buffers before the step.
void initials_init(struct engine *);
struct judgement initial_judgement(const struct engine *, buffer_id, int64_t item);

// step.c, loop.c
bool step_execute(struct engine *, enum step_kind); // false: gave up, said why
void block_execute(struct engine *, const struct block *);
void time_loop_execute(struct engine *, const struct statement *);
void iteration_execute(struct engine *, const struct loop *, int64_t value, bool time);

// verify.c
void engine_init(struct engine *, const struct program *, struct terms *, struct arena *,
                 struct diagnostics *);

// witness.c: a value as one device computes it from random numbers on tiny tensors. False: there is
// none.
struct array;
bool witness_value(struct engine *, const struct program *reference, uint64_t seed, struct scaled,
                   struct array *value);
// a difference between the two in numbers, in words; NULL: none was found.
const char *witness_difference(struct engine *, const struct program *reference,
                               struct scaled found, struct scaled expected);

// The same of what an op makes of a whole sum and of one device's part of it.
const char *witness_share(struct engine *, const struct program *reference, const struct fault *);

// diagnose.c: why what was found is not what is expected; NULL if it is.
struct expectation {
    struct scaled value;
    const char *what; // "parameter `block.q.weight` of layer 3"
    struct span span; // of the buffer
};
const struct fault *diagnose(struct engine *, const struct expectation *,
                             const struct judgement *found);

#endif
