// Partition, between its files. The pass itself is declared in passes/passes.h.
//
//   partition.c          the pass; shardings; which buffer holds what
//   unit.c     types through one unit: the work of every op, local shapes
//   redistribute.c
//                        the collectives that bring a value from one type to another
//   values.c   buffers of what units hand on, and how it is divided
//   pieces.c   units cut where keys travel
//   ring.c     the schedule of keys that travel
//   storage.c  tensors' buffers, reductions of gradients
//   gathers.c  parameters that are gathered before use
//   order.c    sums over microbatches as trees
//   wire.c     gradients that travel as codes
//   islands.c  steps of several islands: the batch dealt out, the average
//   step.c     the schedule: microbatches, calls, what goes around them
#ifndef PLACE_PASSES_PARTITION_H
#define PLACE_PASSES_PARTITION_H

#include "passes/passes.h"

// What each device holds of a value: dimensions cut by axes (outermost first), the local tensor
// flattened and cut again, the axes on which it is a summand, copies elsewhere.
//
// Microbatches are an axis in time: they cut the batch inside the data axes, and a gradient is a
// summand over them until it has been accumulated. That axis has the number behind the mesh's
// (partitioner.time) and stands in shardings only, never in the program.
struct sharding {
    struct axis_list cuts[MAX_RANK];
    struct axis_list flat;
    uint64_t partial;
    uint64_t maxima; // axes on which it is one of the numbers of which the greatest is meant
    bool zero;       // nothing has been added yet: it takes the type of the first summand
};

// Where a unit leaves what one microbatch gives of a sum over all.
enum over_time {
    OVER_TIME_ADDED, // added to what earlier ones left in its place
    OVER_TIME_KEPT,  // as it is
    // The second of two is added to the first, where nothing else is to be summed before.
    OVER_TIME_PAIRED,
};

// How a result is wanted where it goes.
struct wanted_result {
    bool as_made;             // in whatever type it is made; else:
    struct sharding type;     // and on the axes of `partial` it may be a summand
    uint64_t summand;         // on these axes it must be one
    enum over_time over_time; // what becomes of a summand over microbatches
};

// One way in which a unit of the reference program is used, and the local unit made for it.
struct unit_use {
    // Given:
    uint32_t reference;        // unit of the reference program
    struct sharding *operands; // of its parameters; one that is `zero` gets the type it took
    struct wanted_result *wanted;
    int64_t layer; // for this one, and for all that are divided alike
    // Made:
    uint32_t unit;
    struct sharding *results;  // of the reference's results
    struct unit_extra *extras; // parameters behind the reference's
    uint32_t n_extras;
    struct sharding *requested; // `operands` as they were given
    struct unit_use *before;    // of the same unit of the reference
};

// A parameter that the local unit has beside the reference's.
struct unit_extra {
    enum {
        EXTRA_SUM,       // what result `of` is added to, in its place
        EXTRA_FIRST,     // the same, of every other microbatch
        EXTRA_VARIANT,   // another copy of accumulator `of`, a parameter, for summands of another
                         // type; with a result in its place
        EXTRA_MICROBATCH // its number
    } kind;
    uint32_t of;
    struct sharding type; // of a variant
};

enum { MAX_VARIANTS = 8 };

// Where a buffer of the reference program went. Tensors' parameters and gradients have more than
// one place: those stand in tensor_storage.
struct buffer_state {
    struct sharding work; // of what units hand on through it: as its writer's work is divided
    int depth;            // of the loops around that writer, plus one; 0: none
    bool kept;            // backward reads it
    buffer_id buffer;     // NO_ID: not made yet
    struct sharding type;
    // Of accumulators: one copy per type of its summands.
    uint64_t variant_partial[MAX_VARIANTS];
    buffer_id variants[MAX_VARIANTS];
    uint32_t n_variants;
    buffer_id *counter; // of a scalar that is carried over microbatches; NULL: it is not
    uint32_t zero_at;   // where in the step's outermost block the copies are zeroed
    struct span zero_span;
};

// Where a tensor lies, or a range of its layers. What is said to be of another buffer is a window
// in it, or the buffer itself where both are cut alike.
struct tensor_storage {
    buffer_id parameter; // as it is stored: whole, or a shard
    buffer_id updated;   // of `parameter`: what this device updates
    buffer_id kept;      // transient shard, coarser than `parameter`, between forward and backward
    buffer_id *gathered; // transient whole, by the reference's unit that reads it; or NO_ID
    buffer_id gradient;  // as it is stored
    buffer_id sum;       // of `gradient`: what accumulates, and is reduced after the last
    buffer_id own_gradient; // of `gradient`: what this device's update reads
    bool paired;            // `sum` is that of two microbatches after every other one
    buffer_id *counter;     // through which it is carried; NULL: not yet, or it is not
    // Of a gradient that travels as codes: what of it is compressed, and put together again there;
    // what the last code lacked; the device's code, and those of all. NO_ID: it does not.
    buffer_id sent, residual, code, codes;
    buffer_id unreduced;  // transient whole gradient of one microbatch; NO_ID: none
    buffer_id part;       // of where one microbatch's goes: what of it data axes sum
    buffer_id kept_first; // where that is kept: `part`, or the sum
    buffer_id reduced;    // transient shard of it, when shards accumulate; NO_ID: none
    struct gradient_sums sums;
    struct axis_list wire; // summed as codes, behind all these
    uint64_t summand;      // axes of all these, on which units leave a summand
};

// What makes a ring of a unit that is one op whose keys travel: further units of the reference.
struct ring {
    uint32_t begin; // counts the positions that travel beside the keys
    uint32_t round; // the op on keys that came, joined to what there is
    uint32_t add;   // adds what a round has for the gradients of its keys to those; NO_ID: none
    bool operand_travels[MAX_OPERANDS]; // of the unit's parameters
    bool result_travels[MAX_RESULTS], any_result_travels;
    struct axis_list cuts[MAX_OPERANDS][MAX_RANK]; // in which the op wants the parameters
};

// A unit cut in pieces, each a unit; its parameters and results by their values in the whole.
struct piece {
    uint32_t unit;
    value_id *parameters, *results;
    uint32_t n_parameters, n_results;
    const struct ring *ring; // NULL: an ordinary unit
};
struct cut_unit {
    uint32_t unit;
    struct piece *pieces;
    uint32_t n_pieces;
};
// A call of such a unit, and the calls that stand for it.
struct cut_call {
    const struct statement *of;
    struct statement *pieces;
    const struct ring **rings;
    uint32_t n_pieces;
};

// A unit that adds reduced gradients to their sums, and the reference's unit that makes them.
struct accumulation {
    uint32_t unit;
    int level;                         // of a counter; 0 of other units
    const struct accumulation *before; // of the same unit
};

// The units that compress what a unit of the reference makes, and put it together again.
struct coding {
    uint32_t compress, decompress;
    const struct coding *before; // of the same
};

// First and last calls of a step that touch a buffer of the reference program.
struct reach {
    const struct statement **first_reader, **last_reader, **last_writer;
};

struct partitioner {
    struct arena *arena;
    struct arena *scratch; // for one call: what is wanted of its unit, and forms of values in it
    const struct config *config;
    struct diagnostics *diagnostics;
    const struct program *reference;
    struct program *program;
    struct placement placement;
    unsigned time;           // the microbatches' axis; its size is placement.microbatches
    uint64_t token_axes;     // axes on which sums over all tokens are summands, time among them
    struct names unit_names; // of the program that is made
    // What was made of each of the reference's units, the last first:
    struct unit_use **uses;
    struct coding **codings;
    struct accumulation **accumulations; // and of none
    struct cut_unit **cut_units;
    uint32_t n_cut_units, cap_cut_units;
    struct cut_call *cut_calls;
    uint32_t n_cut_calls, cap_cut_calls;
    struct buffer_state *states;    // of the reference's buffers
    struct tensor_storage *storage; // like placement.tensors: of every tensor in every range
    // The step being made:
    struct step *step;
    struct block *block; // statements go here
    struct reach reach;
    int64_t layer; // the first of the loop over layers that is being made; 0: none
    int depth;     // of the loops around the block that is being made
    const struct statement *gather_unit; // a loop over groups of layers, inside it: what a group
                                         // reads is gathered at its front; NULL: none
    bool in_microbatch; // inside the loop over microbatches: other loops' variables move up by one
    struct reference *zeroes; // accumulators of the open loop over microbatches
    uint32_t n_zeroes, cap_zeroes;
};

// ---- shardings (partition.c) ------------------------------------------------------------------
const struct buffer *reference_buffer(const struct partitioner *, struct reference);
bool sharding_equal(const struct sharding *a, const struct sharding *b, unsigned rank);
// The local tensor of a logical one; false if an axis does not divide a dimension.
bool sharding_local(const struct partitioner *, const struct tensor_type *logical,
                    const struct sharding *, struct tensor_type *local);
// As placement_sum says.
struct axis_list axes_of_sum(const struct partitioner *, uint64_t mask);
// The span of the split that gives an axis its work.
struct span split_span(const struct partitioner *, unsigned axis);

// ---- units (partition/unit.c) -----------------------------------------------------------------
// Finds or makes the local unit of a use.
const struct unit_use *partition_unit(struct partitioner *, const struct unit_use *request);
// Adds a unit to the program that is made, with a number behind its name if another has that.
uint32_t add_local_unit(struct partitioner *, const char *name, struct span);

// ---- pieces (partition/pieces.c) --------------------------------------------------------------
// Cuts every call of the reference whose unit has an op with keys that travel; units and buffers
// that this takes are added to the reference.
void cut_at_rings(struct partitioner *, struct program *reference);
const struct cut_call *find_cut_call(const struct partitioner *, const struct statement *call);

// ---- values (partition/values.c) --------------------------------------------------------------
bool has_batch(const struct buffer *);
bool is_tensor_state(const struct buffer *); // parameters or gradients
// Finds how every value that units hand on is divided, before any buffer is made.
void divide_values(struct partitioner *);
void make_value_buffer(struct partitioner *, buffer_id of, const struct sharding *type);
// How a buffer lies that is cut so: along the ring's axis in zigzag.
void lay_out(const struct partitioner *, struct buffer *, const struct axis_list cuts[MAX_RANK]);
// Makes the buffer of what is read before it is written, unless it is there: of inputs and of the
// optimizer's states.
void ensure_buffer(struct partitioner *, buffer_id of);
struct reference value_reference(const struct partitioner *, struct reference r);

// ---- storage (partition/storage.c) ------------------------------------------------------------
void make_storage(struct partitioner *);
// The type in which a persistent buffer is stored.
struct sharding stored_sharding(const struct partitioner *, const struct buffer *);
// Of what a buffer of the reference program holds: a tensor, or some of its layers.
struct tensor_storage *storage_of(const struct partitioner *, const struct buffer *);
// The gradient as units of the backward pass see it: where one microbatch's goes.
buffer_id written_gradient(const struct tensor_storage *);
bool is_gathered(const struct partitioner *, const struct buffer *);
// Not stacked: one item that is used again by the next layer, or slots for the layers that are
// taken at once.
buffer_id add_transient(struct partitioner *, const struct buffer *reference, const char *suffix,
                        const struct axis_list *flat, int64_t slots);
// An item of a tensor's buffer at the place of a reference of the reference program: a transient
// that is not stacked has one item, or slots.
struct reference tensor_item(const struct partitioner *, buffer_id, struct reference);
// The statement that placed a state on an axis; else the split that made the collective necessary.
struct span state_span(const struct partitioner *, const struct buffer *, enum state,
                       const struct axis_list *axes);
const char *unit_name(const struct partitioner *, const struct statement *call);

// Collectives that go side by side: pieces are collected by kind and axes, then emitted as one
// start and wait each.
struct filled_transfer {
    struct transfer transfer;
    struct span span;
    uint32_t capacity; // of its pieces
    int64_t bytes;     // that they carry
};
struct transfers {
    struct filled_transfer *items;
    uint32_t n, cap;
};
void emit_transfers(struct partitioner *, struct transfers *, const char *name);

// Adds a piece to the collective of its kind and axes, which carries at most `bucket_bytes` unless
// one piece alone is larger. No axes: nothing has to move.
#define NO_BUCKET INT64_MAX
void add_piece(struct partitioner *, struct transfers *, enum collective_kind,
               const struct axis_list *axes, struct reference from, struct reference to,
               struct span, int64_t bucket_bytes);
// What is freed behind a statement, as one.
struct freed {
    struct reference *items;
    uint32_t n, cap;
};
void free_item(struct partitioner *, struct freed *, struct reference);
void emit_free(struct partitioner *, const struct statement *from, const struct freed *);

// The gradients that a call is the last to write, as results of the reference program.
struct written {
    struct reference *results;
    uint32_t n;
};
struct tensor_storage *gradient_storage(const struct partitioner *, struct reference gradient);
// Are these the types of the unit's parameters?
bool has_types(const struct partitioner *, const struct unit *, const struct reference *operands,
               uint32_t n);

// Adds a gradient, of the reference program, to the collective that sums it. Buckets: several
// smaller all_reduces overlap better with the backward pass than one of a whole unit.
void add_reduction(struct partitioner *, struct transfers *, enum collective_kind,
                   const struct axis_list *axes, struct reference gradient, buffer_id from,
                   buffer_id to);
// The axes of the model on which units left the gradient a summand.
uint64_t model_summands(const struct partitioner *, struct reference gradient);

// What goes behind a call `from` that writes gradients; then around the loop over microbatches,
// once, for the calls inside it.
void reduce_after(struct partitioner *, const struct statement *from);
void zero_gradients(struct partitioner *, const struct statement *from);
void reduce_last(struct partitioner *, const struct statement *from);

// ---- gathers (partition/gathers.c) ------------------------------------------------------------
// The gathered whole that a unit of the reference reads. One that is kept is the same for all
// units; else each has its own, so that their lifetimes are apart.
buffer_id gathered_buffer(struct partitioner *, buffer_id parameter, uint32_t unit);
// What goes around a call `from` that reads or updates parameters.
void gather_before(struct partitioner *, const struct statement *from);
void free_after(struct partitioner *, const struct statement *from);
void gather_updated(struct partitioner *, const struct statement *from);
// At the front of a loop over groups of layers, for the calls inside it: what they read of a group.
// First the parts that are kept, then what is gathered out of them.
void gather_unit_parts(struct partitioner *, const struct statement *from);
void gather_unit_wholes(struct partitioner *, const struct statement *from);
// In front of those over the layers of a turn: what `from` reads of this turn's.
void gather_turn(struct partitioner *, const struct statement *from);
// The same around the loop over microbatches: once, for the calls inside it.
void gather_kept(struct partitioner *, const struct statement *from);
void free_kept(struct partitioner *, const struct statement *from);

// The unit that adds up what a unit of the reference has made of one microbatch, for these
// operands: NO_ID, or the one that was noted.
uint32_t find_accumulation(const struct partitioner *, uint32_t of, int level,
                           const struct reference *operands, uint32_t n);
void note_accumulation(struct partitioner *, uint32_t of, int level, uint32_t unit);

// ---- order (partition/order.c) ----------------------------------------------------------------
// How many sums are kept on the way to that over all microbatches; 0: they are not carried.
int levels_of_counter(const struct partitioner *);
struct reference number_of_microbatch(struct partitioner *); // the host's, in the loop over them
// Sums over axes of the model, before any other: the devices of `keep_first` are left their parts
// of the sum over these, if they come last in it, else of a copy.
void reduce_first(struct partitioner *, const struct statement *from, const struct written *);
// What is the sum over one microbatch goes on to that over all: gradients behind `from`, which was
// the last to write them, and at the end of a microbatch its scalars.
void carry_gradients(struct partitioner *, const struct statement *from, const struct written *);
void carry_scalars(struct partitioner *, struct span);
// The squares of gradients that `from` has made of its parts are summed over them.
void sum_squares(struct partitioner *, const struct statement *from);

// ---- codes (partition/wire.c) -----------------------------------------------------------------
// What a gradient has beside `sent`, where it travels as codes.
void make_codes(struct partitioner *, const struct buffer *reference);
// Sums what `from` has written over the axes of its wire, once that is a sum over all others.
void send_codes(struct partitioner *, const struct statement *from, const struct written *);

// ---- islands (partition/islands.c) -----------------------------------------------------------
// When the step that averages begins, what is trained is a summand over the axes between islands;
// what the first call `from` has made of it is summed behind that.
void begin_average(struct partitioner *);
void sum_averaged(struct partitioner *, const struct statement *from);
// From the program of one island to that of all, once it is made.
void deal_out(struct partitioner *);

// ---- steps (partition/step.c) -----------------------------------------------------------------
void partition_step(struct partitioner *, enum step_kind kind);
struct index moved_index(const struct partitioner *, struct index index);
void push_statement(struct partitioner *, struct statement statement);
// A call of the reference, or a piece of one, with its places and the local unit that it calls.
struct making_call {
    const struct statement *from;
    const struct statement *whole; // of which `from` is a piece, or itself
    const struct unit *unit;       // of the reference
    bool per_microbatch, updates;
    struct sharding *types;     // of operands
    struct reference *operands; // of the reference's parameters, in the new program
    const struct unit_use *use;
};
void push_call(struct partitioner *, struct making_call *);
bool call_updates(const struct partitioner *, const struct call *call);
bool is_per_microbatch(const struct partitioner *, const struct statement *);

// ---- rings (partition/ring.c) -----------------------------------------------------------------
// The call of a unit that is one op whose keys travel, and all its further rounds.
void push_ring(struct partitioner *, struct making_call *, const struct ring *);

#endif
