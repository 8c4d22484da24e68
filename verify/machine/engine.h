// What the parts of the verifier share: judgements about values, faults, the store, the engine.
#ifndef PLACE_VERIFY_MACHINE_ENGINE_H
#define PLACE_VERIFY_MACHINE_ENGINE_H

#include "ir/check.h"
#include "verify/proof/history.h"
#include "verify/machine/store.h"
#include "verify/verify.h"

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
struct expectation;
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

struct course;
struct frame { // a block that is under way
    const struct block *block;
    uint32_t next;         // statement
    struct course *course; // of the loop whose body it is (induction.c); NULL: the step's own
};

struct engine {
    struct arena *arena;
    struct diagnostics *diagnostics;
    const struct program *program;
    bool is_reference;
    struct terms *terms; // of both programs
    struct digits digits;
    struct intern coverages, leaves;
    struct store store;
    struct found *found;
    uint32_t all_axes;
    uint32_t batch_axes;   // that cut the batch, of what the host fills; others are of the model
    uint32_t summands;     // axes on which states are summands when the step begins (islands.h)
    struct held *initials; // of every buffer's item 0, and what else is asked often of it
    int64_t *item_bytes;
    struct tensor_type *types;
    uint32_t *region_of;     // of every buffer: the region in which it shares bytes, or NO_ID
    buffer_id *region_first; // of every region: the buffer that begins it
    uint32_t n_regions;
    uint32_t first_own_node; // terms before it are the reference's
    // position
    const struct step *step;
    const struct statement *statement;
    const struct statement *loops[LIMIT_LOOP_DEPTH]; // around it, the outermost first
    int32_t variables[LIMIT_LOOP_DEPTH];             // of each (number.h)
    bool time_loop[LIMIT_LOOP_DEPTH];                // the variable is the microbatch
    int depth;
    struct frame frames[LIMIT_LOOP_DEPTH + 1];
    int n_frames;
    struct course *courses;       // one for each depth
    bool one_by_one;              // loops are not proved by induction (tests)
    bool without_memo;            // every call is evaluated (tests)
    uint32_t attempt, n_attempts; // to prove a loop: the innermost now, 0: none; how many so far
    int64_t budget;               // statements and ops that may still be executed in the step
    int64_t n_statements;         // that were executed, in all steps
    bool recording;               // not evaluate: found is filled
    void *scratch;                // of the unit that is being evaluated
    uint32_t scratch_values;
    // memo of units
    struct intern memo_keys;
    struct memo_entry *memos;
    uint32_t n_memos, cap_memos;
    struct alias_made *made;
    uint32_t n_made, cap_made;
    uint32_t n_faults;
    struct history *history;       // of a program that is refused; NULL while it is judged
    const struct fault **insisted; // faults of their own, that no value need carry
    uint32_t n_insisted, cap_insisted;
    const struct program *sends; // of the reference: the program whose gradients may travel
    // bounded rewriting (rewrite.c)
    const struct engine *reference; // whose values are looked for
    bool rewrites;                  // this time
    struct term *outcomes;          // of the reference's calls outside of loops
    uint32_t n_outcomes, cap_outcomes;
    const char *given_up;       // the first value of which the budget was spent; NULL: none
    struct copies_summed *sums; // every place and axis, whether of copies or of summands
    uint32_t n_sums, cap_sums;
    bool overrun;
};

// fault.c
struct fault *fault_make(struct engine *, enum diagnostic_code, struct span, const char *said,
                         const char *format, ...) __attribute__((format(printf, 5, 6)));
void fault_also(struct fault *, struct span other, const char *said); // a second place
uint32_t next_order(struct engine *); // of faults and of what is made
// Told behind all others: about what a transfer leaves behind that nobody ever waits for. Who
// should have is missing, and that shows elsewhere.
void fault_last(struct fault *);
// Says of the transfer that was started there and never waited for: it is told once, where it first
// does harm. Returns the fault.
struct fault *fault_caused_by(struct fault *, const struct span *start);
// Wrong whatever becomes of it: a transfer that nobody waits for.
void fault_insist(struct engine *, const struct fault *);
// The same at the same place; they may be of different layers or microbatches.
bool fault_alike(const struct fault *, const struct fault *);
// That, or about the same transfer that nothing waits for.
bool fault_same_cause(const struct fault *, const struct fault *);
const struct fault *fault_first(const struct fault *, const struct fault *); // NULL: none
struct diagnostic *fault_report(struct engine *, const struct fault *);
// Which iterations of the loops around are executed, in words; NULL: the first, or there are none.
const char *iteration_text(const struct engine *);
const char *mask_text(const struct engine *, uint32_t mask);
const char *scale_text(const struct engine *, scale_id scale);
const char *term_text(const struct engine *, struct scaled value, int depth);
const char *microbatches_text(const struct engine *, struct term collected);

// rule.c
struct judgement judgement_of(struct engine *, struct scaled value, form_id form, enum dtype);
struct judgement judgement_fault(const struct fault *);
bool judgement_alike(const struct judgement *, const struct judgement *); // but for numbers, terms
void op_apply(struct engine *, const struct unit *, const struct op *,
              const struct judgement *operands, struct judgement *results);
// The same of all but carry and accumulate_pair.
void rule_apply(struct engine *, const struct unit *, const struct op *,
                const struct judgement *operands, struct judgement *results);

// compress.c: gradients that travel as codes, where `relax` lets them. Whether the op is one of
// these two; codes are operands of nothing else.
bool codes_apply(struct engine *, const struct unit *, const struct op *,
                 const struct judgement *operands, struct judgement *results);
const struct fault *codes_check_operands(struct engine *, const struct op *,
                                         const struct judgement *operands);
// The codes of all members of a group; `value` is what one gives. NULL: done.
const struct fault *codes_gather(struct engine *, const struct exchange *, struct judgement *value,
                                 struct span span);
const struct fault *codes_cut(struct engine *, struct span span); // a part of one is nothing
uint32_t wire_mask(const struct engine *);                        // axes over which codes travel
// What compress makes: result 0 is the code, 1 the new residual.
struct scaled codes_made(struct engine *, const struct op *, unsigned result,
                         struct scaled gradient, struct scaled residual);
struct scaled codes_arrived(struct engine *, struct scaled gradient, struct term residual);
// What an update of the reference reads in place of a gradient, if the final program sends it.
void codes_arrive(struct engine *, struct reference from, struct judgement *gradient);
// What a residual must be when the step has ended, if `gradient` is what it is of; NULL: it is.
const struct fault *codes_check_residual(struct engine *, buffer_id residual, int64_t item,
                                         struct scaled gradient, const char *what);
// The same of a step that sends no gradients.
const struct fault *codes_check_kept(struct engine *, buffer_id residual, int64_t item,
                                     const char *what);

// laws.c: operand `i` of the op that made the term, with the scale that it has there; and
// terms of log-sum-exp, so that the loss over all of the vocabulary and the same over its
// parts have one term.
struct scaled term_operand(const struct terms *, struct term term, unsigned i);
struct scaled law_log_shift(struct terms *, struct scaled sum, struct scaled shift);
struct scaled law_cross_entropy(struct terms *, struct scaled logits, struct term targets,
                                struct term rows);
// Are these o and lse of one attention?
bool law_is_statistic(struct terms *, struct scaled o, struct scaled lse);

// product.c: products, of which parts of operands may be put together by others or taken apart.
struct scaled law_product(struct terms *, const struct op_labels *, struct scaled a,
                          struct scaled b);
// What `take`, `put` or `move` makes of x, which has so many dimensions, between these iotas.
struct scaled law_moved(struct terms *, const struct op *, int rank, struct scaled x,
                        struct term from, struct term to);

// rewrite.c: results of a unit that the reference has under another term, by laws that would cost
// too much to be normal forms of all terms.
void rewrite_results(struct engine *, const struct unit *, struct judgement *results);
// What a unit of the reference makes outside of loops, where results have no names.
void note_outcome(struct engine *, const struct judgement *result);

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

// carry.c: the digits of a binary counter of sums. Whether the op is of one.
bool carry_apply(struct engine *, const struct unit *, const struct op *,
                 const struct judgement *operands, struct judgement *results);

// The order of sums, where terms are ordered (ordered.c).
bool leaves_of_time(const struct engine *,
                    const struct judgement *); // microbatches are to be summed
// cuts.c: whether what the host or the initialisation filled is cut into the leaves' parts. NULL:
// it is.
const struct fault *ordered_check_filled(struct engine *, const struct buffer *, form_id);
// Whether a collective or a slice leaves to ops the shapes, and to groups the members, that they
// have on every mesh. NULL: it does.
const struct fault *ordered_check_collective(struct engine *, const struct exchange *,
                                             struct span span);
const struct fault *ordered_check_slice(struct engine *, const struct axis_list *, int dim,
                                        struct span span);
// The same of what counts positions along a dimension that is cut so. NULL: it does.
const struct fault *ordered_check_positions(struct engine *, dim_id, struct span span);
// tree.c: the sum over the axes of a collective. NULL: done.
const struct fault *ordered_sum_over(struct engine *, const struct exchange *, struct judgement *,
                                     struct span span);
// `sum` becomes kept + sum, which are siblings. NULL: done.
const struct fault *ordered_join(struct engine *, const char *what, const struct judgement *kept,
                                 struct judgement *sum, struct span span);
// Why terms differ; NULL: they do not.
const struct fault *ordered_difference(struct engine *, const struct expectation *,
                                       const struct judgement *found);

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

// step.c
bool step_execute(struct engine *, enum step_kind); // false: gave up, said why
// The same statement by statement: between two others may be executed.
void step_begin(struct engine *, enum step_kind);
bool step_advance(struct engine *); // false: the step has ended
// The statements of the block come next, on the store as it stands.
void step_enter(struct engine *, const struct block *);

// budget.c
static inline bool loop_has_stride(const struct statement *statement) {
    return statement->kind == STATEMENT_LOOP && statement->loop.stride;
}
bool loop_is_gone_with(const struct loop *); // by one in it: over groups, or over turns, of layers
void step_overrun(struct engine *, const struct statement *, const char *why);
bool has_memory(const struct arena *); // for more of a check

// verify.c
void engine_init(struct engine *, const struct program *, struct terms *, struct arena *,
                 struct diagnostics *, bool is_reference);

// witness.c: a value as one device computes it from random numbers on tiny tensors. False: there is
// none.
struct array;
bool witness_value(struct engine *, const struct program *reference, uint64_t seed, struct scaled,
                   struct array *value);
// Of what one refusal is about: what has been computed for one value serves the next.
struct witness;
struct witness *witness_new(struct engine *, const struct program *reference);
// A difference between the two in numbers, in words; NULL: none was found.
const char *witness_difference(struct witness *, struct scaled found, struct scaled expected);

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

// cause.c
// The fault as it is told: where its cause is, if that is known.
const struct fault *cause_tell(struct engine *, const struct fault *);

#endif
