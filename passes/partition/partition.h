// Partition, between the files that make the new program: the draft, and the plan by which it is made
// (plan.h). The pass itself is declared in passes/passes.h.
//
//   draft.c        statements and units that are added to the draft
//   unit.c         types through one unit: the work of every op, local shapes
//   maker.c        ops that are added to it
//   redistribute.c collectives inside it
//   values.c       buffers of what units hand on
//   stations.c     buffers of the states of tensors, by their routes
//   transfers.c    collectives that go side by side
//   joins.c        units that add up what microbatches give
//   codes.c        gradients that travel as codes
//   load.c         hops that are made side by side
//   hops.c         what routes ask for at each event
//   notes.c        the moments at which they are looked for (moments.h)
//   sums.c         scalars that devices and microbatches add to
//   calls.c        calls of local units, with the places of what they read and make
//   ring.c         the schedule of keys that travel
//   islands.c      steps of several islands: the batch dealt out, the average
//   step.c         the schedule: microbatches, calls, loops
//   partition.c    the pass
#ifndef PLACE_PASSES_PARTITION_H
#define PLACE_PASSES_PARTITION_H

#include "passes/partition/moments.h"
#include "passes/partition/plan.h"

// Where a unit leaves what one microbatch gives of a sum over all.
enum over_time {
    OVER_TIME_ADDED, // added to what earlier ones left in its place
    OVER_TIME_KEPT,  // as it is
    // The second of two is added to the first, where nothing else is to be summed before.
    OVER_TIME_PAIRED,
};

// How a result is wanted where it goes.
struct wanted_result {
    bool dropped;             // not at all: it is made anew for each use; else
    bool as_made;             // in whatever type it is made; else:
    struct sharding type;     // and on the axes of `partial` it may be a summand
    uint64_t summand;         // on these axes it must be one
    enum over_time over_time; // what becomes of a summand over microbatches
    enum dtype summed_in;     // a type that sums which the unit makes for it have, if that is wider
};

// One way in which a unit of the reference program is used, and the local unit made for it.
struct unit_use {
    // Given:
    uint32_t reference;        // unit of the reference program
    struct sharding *operands; // of its parameters; one that is `zero` gets the type it took
    struct wanted_result *wanted;
    int64_t layer;   // for this one, and for all that are divided alike
    enum tier tier;  // where it runs: its frame is there
    uint64_t owners; // axes along which one device executes it, the owner of what it is given
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

// Where a buffer of the reference program went. Tensors' parameters and gradients have more than
// one place: those are the stations of their ways.
struct buffer_state {
    buffer_id buffer; // NO_ID: not made yet
    struct sharding type;
    // An accumulator has one copy per type of its summands.
    uint64_t variant_partial[MAX_VARIANTS];
    buffer_id variants[MAX_VARIANTS];
    uint32_t n_variants;
    buffer_id *counter; // of a scalar that is carried over microbatches; NULL: it is not
    uint32_t zero_at;   // where in the step's outermost block the copies are zeroed
    struct span zero_span;
};

// The way of a state of a tensor, in a range of its layers: its route in the step that
// is made, and the buffers of the stations.
struct way {
    struct route route;
    const struct buffer *reference;
    buffer_id buffers[MAX_STATIONS];               // NO_ID: every unit has its own
    struct station_buffers of_units[MAX_STATIONS]; // those then
    buffer_id *of_unit[MAX_STATIONS]; // which of them a unit of the reference made; NO_ID: none yet
    // The unit whose buffers one has at present: another than itself where it goes on with its use.
    uint32_t *shared;
    buffer_id *counter; // through which its sum is carried; NULL: not yet, or it is not
    bool paired;        // its sum is that of two microbatches after every other one
    buffer_id
        squares; // bins that a layer's owner makes of its gradient; NO_ID: not yet, or none does
};

// A unit that moves states, and the reference's unit for whose results it was made.
struct moving_unit {
    uint32_t unit;
    enum action action;
    int level;                        // of a counter; 0 of others
    enum tier tier;                   // where it runs
    const struct moving_unit *before; // for the same
};

// The local units that were made, of each of the reference's units the last first.
struct local_units {
    struct names names;
    struct unit_use **uses;
    struct moving_unit **moving; // and for none
};

// The program of one device as far as it is made, and where in it is what the reference has.
struct draft {
    const struct plan *plan;
    struct arena *arena; // the plan's
    struct program *program;
    struct local_units units;
    struct buffer_state *states; // of the reference's buffers
    struct way *ways;            // of placement.tensors: of each its parameters', its gradients';
                                 // behind them of the reference's buffers: the optimizer's
    struct reference *zeroes;    // accumulators of the loop over microbatches that is made
    uint32_t n_zeroes, cap_zeroes;
    struct notes *notes; // NULL: nothing is noted
};

// ---- the draft (draft.c) ----------------------------------------------------------------------
void push_statement(struct draft *, struct cursor, struct statement);
void push_unit_call(struct draft *, struct cursor, struct span, uint32_t unit,
                    struct reference *operands, struct reference *results);
// Adds a unit to the program that is made, with a number behind its name if another has that.
uint32_t add_local_unit(struct draft *, const char *name, struct span);
// Where a call of these operands runs: with the first that is no scalar, and has its place already.
enum tier operands_tier(const struct draft *, const struct reference *operands, uint32_t n);
// The unit that moves what a unit of the reference has made (NO_ID: what none has), for operands of
// these types: NO_ID, or the one that was noted.
uint32_t find_moving_unit(const struct draft *, uint32_t of, enum action, int level,
                          const struct reference *operands, uint32_t n);
void note_moving_unit(struct draft *, uint32_t of, enum action, int level,
                      const struct reference *operands, uint32_t n, uint32_t unit);

// ---- units (unit.c) ---------------------------------------------------------------------------
// Finds or makes the local unit of a use. `scratch` is free again once it is made.
const struct unit_use *partition_unit(struct draft *, struct arena *scratch,
                                      const struct unit_use *request);

// ---- values (partition/values.c) --------------------------------------------------------------
void make_value_buffer(struct draft *, buffer_id of, const struct sharding *type);
// Makes the buffer of what is read before it is written, unless it is there: of inputs and of the
// optimizer's states.
void ensure_buffer(struct draft *, buffer_id of);
struct reference value_reference(const struct draft *, struct cursor, struct reference);

// ---- stations (stations.c) --------------------------------------------------------------------
void make_stations(struct draft *);
// The way of what a buffer of the reference program holds: a state of a tensor, or of some of its
// layers. The optimizer's are made where they are first needed.
struct way *way_of(const struct draft *, const struct buffer *);
struct routed routed_way(const struct draft *, const struct buffer *);
void make_optimizer_way(struct draft *, buffer_id of);
void begin_routes(struct draft *, struct cursor); // of all ways, in the cursor's step
// The buffer of a station, for a unit of the reference; and its item that stands for one of the
// reference program: what is not stacked has one item, or slots.
struct reference item_at(const struct draft *, struct cursor, buffer_id, struct reference of);
buffer_id station_buffer(struct draft *, struct cursor, struct way *, int station,
                         struct reference of, uint32_t unit);
struct reference station_item(struct draft *, struct cursor, struct way *, int station,
                              struct reference of, uint32_t unit);

// ---- transfers (transfers.c) ------------------------------------------------------------------
// Collectives that go side by side: pieces are collected by kind, axes and type of elements, then
// emitted as one start and wait each.
struct filled_transfer {
    struct transfer transfer;
    enum dtype dtype; // of its pieces
    struct span span;
    uint32_t capacity; // of its pieces
    int64_t bytes;     // that they carry
};
struct transfers {
    struct filled_transfer *items;
    uint32_t n, cap;
};
// Adds a piece to the transfer of its kind, axes and type, which carries at most `bucket_bytes`
// unless one piece alone is larger. No axes: nothing has to move, but by a copy. Several smaller
// all_reduces of gradients overlap better with the backward pass than one of a whole unit.
// A collective goes along the dimension that only one of the two is cut by, or more.
void add_piece(struct draft *, struct transfers *, enum collective_kind,
               const struct axis_list *axes, struct reference from, struct reference to,
               struct span, int64_t bucket_bytes);
void emit_transfers(struct draft *, struct cursor, struct transfers *, const char *name);
// The dimension that two buffers of one tensor's state are cut differently by; -1: by none.
int dimension_between(const struct buffer *, const struct buffer *);

// ---- joins (joins.c) --------------------------------------------------------------------------
// How many sums are kept on the way to that over all microbatches; 0: they are not carried.
int levels_of_counter(const struct plan *);
struct reference number_of_microbatch(struct draft *); // the host's, in the loop over them
// A sum that is carried, and the buffers of its counter, from its first level on.
struct carried {
    struct reference sum;
    const buffer_id *counter;
    int first;
};
buffer_id *make_counter(struct draft *, buffer_id sum, int first);
void push_carry(struct draft *, struct cursor, uint32_t of, const char *name,
                const struct carried *, uint32_t n, struct span);

// ---- hops (hops.c) ----------------------------------------------------------------------------
// Uses that the call goes on with are found before anything is asked about it.
void continue_uses(struct draft *, struct cursor, const struct statement *call);
// The hops around a call, in this order, the call behind the first.
void before_call(struct draft *, struct cursor, const struct statement *call);
void behind_call(struct draft *, struct cursor, const struct statement *call);
void behind_update(struct draft *, struct cursor, const struct statement *call);
// Emits what happens at the front of the cursor's loop over groups of layers, for the calls inside
// it.
void before_group(struct draft *, struct cursor);
// Emits what happens once, around the loop over microbatches, for the calls inside it.
void before_microbatches(struct draft *, struct cursor, const struct statement *, uint32_t n);
void behind_microbatches(struct draft *, struct cursor, const struct statement *, uint32_t n);

// ---- notes (notes.c) --------------------------------------------------------------------------
// All without effect where nothing is noted.
void begin_notes(struct draft *);
void note_reads(struct draft *, const struct way *, enum step_kind, bool read_once);
void note_left(struct draft *, const struct way *, uint64_t left);
void note_moment(struct draft *, struct cursor, uint64_t kinds, bool squares);
// Notes a chance at the moment noted last.
void note_chance(struct draft *, const struct way *, struct chance);
// A buffer through which squares are summed.
void note_sum(struct draft *, buffer_id);
void end_notes(struct draft *);

// ---- sums (sums.c) ----------------------------------------------------------------------------
// The copy of an accumulator for summands on `partial`; the first has the accumulator's own name.
// Its `zero` goes to where the reference program zeroes, which by now lies behind us.
struct reference variant_item(struct draft *, struct cursor, buffer_id of, uint64_t partial);
// Makes one sum, before a call reads a value, of what is still a summand, or in several copies.
void finish_sum(struct draft *, struct cursor, buffer_id of);
// Scalars that a unit got an accumulating form for are zeroed before the loop over microbatches.
void note_zeroed(struct draft *, struct reference accumulator);
void push_zeroes(struct draft *, struct cursor, struct span);
// Adds a microbatch's scalars, at its end, to the sum over all.
void carry_scalars(struct draft *, struct cursor, struct span);
// The squares of gradients that the call has made of its parts are summed over them, and those that an
// owner has made are given to all.
void sum_squares(struct draft *, struct cursor, const struct statement *call);
// Where the owner makes a result that is squares, in bins.
struct making_call;
struct reference owned_squares(struct draft *, const struct making_call *, uint32_t result);

// ---- calls (calls.c) --------------------------------------------------------------------------
// A call of the reference, or a piece of one, with its places and the local unit that it calls.
struct making_call {
    const struct statement *from;
    struct cursor at;
    const struct statement *whole; // of which `from` is a piece, or itself
    struct arena *scratch;         // until the call is made
    const struct unit *unit;       // of the reference
    bool per_microbatch, updates;
    struct sharding *types;     // of operands
    struct reference *operands; // of the reference's parameters, in the new program
    const struct unit_use *use;
};
struct making_call begin_call(struct draft *, struct arena *scratch, struct cursor,
                              const struct statement *from, const struct statement *whole);
void push_call(struct draft *, struct making_call *);

// ---- rings (ring.c) ---------------------------------------------------------------------------
// The call of a unit that is one op whose keys travel, and all its further rounds.
void push_ring(struct draft *, struct making_call *, const struct ring *);

// ---- islands (islands.c) ----------------------------------------------------------------------
// When the step that averages begins, what is trained is a summand over the axes between islands.
void begin_average(struct draft *);
// Turns the program of one island, once it is made, into that of all.
void deal_out(struct draft *);

// ---- steps (step.c) ---------------------------------------------------------------------------
void partition_step(struct draft *, enum step_kind);

#endif
