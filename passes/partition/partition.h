// Partition, between its files. The pass itself is declared in passes/passes.h.
//
//   sharding.c     what a device holds of a value
//   cursor.c       statements and units that are added to the program in the making
//   reach.c        what the reference program says of its calls: who reads and writes what first and last
//   unit.c         types through one unit: the work of every op, local shapes
//   maker.c        ops that are added to it
//   redistribute.c the collectives that bring a value from one type to another
//   kept.c         how what forward keeps for backward lies
//   division.c     how all that units hand on is divided
//   values.c       its buffers
//   pieces.c       units cut where keys travel
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

#include "passes/layers/cut_unit.h"
#include "passes/partition/moments.h"

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

// How a value that units hand on through a buffer of the reference program is divided.
struct division {
    struct sharding type; // as its writer's work is, where nobody wants it otherwise
    int depth;            // of the loops around that writer, plus one; 0: none
    bool for_ring;        // as a ring reads it, whoever writes it
    bool kept;            // backward reads it
};

// Where a buffer of the reference program went. Tensors' parameters and gradients have more than
// one place: those are the stations of their ways.
struct buffer_state {
    buffer_id buffer; // NO_ID: not made yet
    struct sharding type;
    // Of accumulators: one copy per type of its summands.
    uint64_t variant_partial[MAX_VARIANTS];
    buffer_id variants[MAX_VARIANTS];
    uint32_t n_variants;
    buffer_id *counter; // of a scalar that is carried over microbatches; NULL: it is not
    uint32_t zero_at;   // where in the step's outermost block the copies are zeroed
    struct span zero_span;
};

// The way of a tensor's parameters or gradients, in a range of its layers: its route in the step that
// is made, and the buffers of the stations.
struct way {
    struct route route;
    const struct buffer *reference;
    buffer_id buffers[MAX_STATIONS];  // NO_ID: every unit has its own
    buffer_id *of_unit[MAX_STATIONS]; // those, by the reference's units; NO_ID: not made yet
    buffer_id *counter; // through which its sum is carried; NULL: not yet, or it is not
    bool paired;        // its sum is that of two microbatches after every other one
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

// A unit cut where keys travel.
struct cut_unit {
    uint32_t unit;
    struct unit_cutter cutter;
    struct unit_piece *pieces;
    const struct ring **rings; // by the pieces; NULL: an ordinary unit
    uint32_t n_pieces;
};
// A call of such a unit, and the calls that stand for it.
struct cut_call {
    const struct statement *of;
    struct statement *pieces;
    const struct ring **rings;
    uint32_t n_pieces;
};

// A unit that moves states, and the reference's unit for whose results it was made.
struct moving_unit {
    uint32_t unit;
    enum action action;
    int level;                        // of a counter; 0 of others
    const struct moving_unit *before; // for the same
};

// Of a step: the first and last calls that touch a buffer of the reference program (NULL: none does),
// and how many uses in its text read it.
struct reach {
    const struct statement **first_reader, **last_reader, **first_writer, **last_writer;
    uint32_t *uses;
};

// Where the next statement goes. Who goes into a loop makes a cursor of his own.
struct cursor {
    enum step_kind kind;
    struct step *step;
    struct block *block;
    int depth;                     // of the loops around the block
    int64_t trips;                 // how often they execute it
    int64_t layer;                 // the first of the loop over layers that is made; 0: none
    const struct statement *group; // of the reference: the loop over groups of layers around it, at
                                   // whose front is gathered what a group reads; NULL: none
    const struct statement *before, *behind; // of the reference: the calls or loops beside the
                                             // statement that is made, in its block; NULL: none
    bool in_microbatch; // inside the loop over microbatches, the outermost: other loops'
                        // variables move up by one
    const struct reach *reach;
};

struct partitioner {
    struct arena *arena;
    const struct config *config;
    struct diagnostics *diagnostics;
    const struct program *reference;
    struct program *program;
    struct placement placement;
    unsigned time;           // the microbatches' axis; its size is placement.microbatches
    uint64_t token_axes;     // axes on which sums over all tokens are summands, time among them
    struct names unit_names; // of the program that is made
    // What was made for each of the reference's units, the last first:
    struct unit_use **uses;
    struct moving_unit **moving_units; // and for none
    struct cut_unit **cut_units;
    uint32_t n_cut_units, cap_cut_units;
    struct cut_call *cut_calls;
    uint32_t n_cut_calls, cap_cut_calls;
    struct division *divisions;  // of the reference's buffers
    struct buffer_state *states; // of those, too
    struct way *ways;            // of placement.tensors: of each its parameters', its gradients'
    struct reference *zeroes;    // accumulators of the loop over microbatches that is made
    uint32_t n_zeroes, cap_zeroes;
    struct notes *notes; // NULL: nothing is noted
};

// ---- shardings (sharding.c) ------------------------------------------------------------------
bool sharding_equal(const struct sharding *a, const struct sharding *b, unsigned rank);
// The local tensor of a logical one; false if an axis does not divide a dimension.
bool sharding_local(const struct partitioner *, const struct tensor_type *logical,
                    const struct sharding *, struct tensor_type *local);
// As placement_sum says.
struct axis_list axes_of_sum(const struct partitioner *, uint64_t mask);
// The span of the split that gives an axis its work.
struct span split_span(const struct partitioner *, unsigned axis);

// ---- the cursor (cursor.c) --------------------------------------------------------------------
void push_statement(struct partitioner *, struct cursor, struct statement);
void push_unit_call(struct partitioner *, struct cursor, struct span, uint32_t unit,
                    struct reference *operands, struct reference *results);
// An index of the reference program's step.
struct index moved_index(struct cursor, struct index);
// A loop like one of the reference's, without its body; what goes into it has the cursor inside.
struct statement loop_like(const struct statement *);
struct cursor inside_loop(struct cursor, struct statement *loop);
// At statement `i` of a run of the reference's.
struct cursor at_statement(struct cursor, const struct statement *, uint32_t n, uint32_t i);
// Adds a unit to the program that is made, with a number behind its name if another has that.
uint32_t add_local_unit(struct partitioner *, const char *name, struct span);
// The unit that moves what a unit of the reference has made (NO_ID: what none has), for operands of
// these types: NO_ID, or the one that was noted.
uint32_t find_moving_unit(const struct partitioner *, uint32_t of, enum action, int level,
                          const struct reference *operands, uint32_t n);
void note_moving_unit(struct partitioner *, uint32_t of, enum action, int level, uint32_t unit);

// ---- reach (reach.c) --------------------------------------------------------------------------
const struct buffer *reference_buffer(const struct partitioner *, struct reference);
bool has_batch(const struct buffer *);
bool is_tensor_state(const struct buffer *); // parameters or gradients
// An update is what writes parameters: it works on storage as it lies, all other calls on gathered
// wholes.
bool call_updates(const struct partitioner *, const struct call *);
bool is_per_microbatch(const struct partitioner *, const struct statement *);
struct reach find_reach(const struct partitioner *, enum step_kind);
bool reads_parameter(const struct partitioner *, const struct statement *, buffer_id);

// How far one use of a parameter goes, for which it is gathered once.
enum use {
    USE_CALL, // one call, or several that stand side by side: nothing between them needs its memory
    USE_GROUP, // all calls in the loops over the layers of a group
    USE_TURN   // one call, of a layer whose turn it is in a group
};
enum use use_of(const struct partitioner *, struct cursor, struct reference parameter);
// Does the call before the cursor's read it, too, in the same use?
bool continues_use(const struct partitioner *, struct cursor, struct reference parameter);
// Is the call where such a use begins, or ends?
bool begins_use(const struct partitioner *, struct cursor, const struct statement *call,
                struct reference parameter, enum use);
bool ends_use(const struct partitioner *, struct cursor, const struct statement *call,
              struct reference parameter);

// ---- units (unit.c) ---------------------------------------------------------------------------
// Finds or makes the local unit of a use. `scratch` is free again once it is made.
const struct unit_use *partition_unit(struct partitioner *, struct arena *scratch,
                                      const struct unit_use *request);

// ---- redistribution (redistribute.c) ----------------------------------------------------------
// Elements that a device sends for a value that has one type and is wanted in another.
int64_t redistribution_cost(const struct partitioner *, const struct tensor_type *logical,
                            struct sharding have, const struct sharding *want);

// ---- pieces (pieces.c) --------------------------------------------------------------
// Cuts every call of the reference whose unit has an op with keys that travel; units and buffers
// that this takes are added to the reference.
void cut_at_rings(struct partitioner *, struct program *reference);
const struct cut_call *find_cut_call(const struct partitioner *, const struct statement *call);

// ---- kept (kept.c) ----------------------------------------------------------------------------
// Which buffers of values backward reads.
void find_kept(struct partitioner *);
// Of those that only backward reads: how they lie, once it is known how their writers would have it.
void divide_kept(struct partitioner *);

// ---- division (division.c) --------------------------------------------------------------------
// Finds how every value that units hand on is divided, before any buffer is made.
void divide_values(struct partitioner *);

// ---- values (partition/values.c) --------------------------------------------------------------
void make_value_buffer(struct partitioner *, buffer_id of, const struct sharding *type);
// How a buffer lies that is cut so: along the ring's axis in zigzag.
void lay_out(const struct partitioner *, struct buffer *, const struct axis_list cuts[MAX_RANK]);
// Makes the buffer of what is read before it is written, unless it is there: of inputs and of the
// optimizer's states.
void ensure_buffer(struct partitioner *, buffer_id of);
struct reference value_reference(const struct partitioner *, struct cursor, struct reference);

// ---- stations (stations.c) --------------------------------------------------------------------
void make_stations(struct partitioner *);
// Of what a buffer of the reference program holds: parameters or gradients of a tensor, or of some of
// its layers.
struct way *way_of(const struct partitioner *, const struct buffer *);
struct route route_in(const struct partitioner *, const struct way *, const struct route_facts *);
struct routed routed_way(const struct partitioner *, const struct buffer *);
void begin_routes(struct partitioner *, struct cursor); // of all ways, in the cursor's step
// The buffer of a station, for a unit of the reference; and its item that stands for one of the
// reference program: what is not stacked has one item, or slots.
buffer_id station_buffer(struct partitioner *, struct cursor, struct way *, int station,
                         struct reference of, uint32_t unit);
struct reference station_item(struct partitioner *, struct cursor, struct way *, int station,
                              struct reference of, uint32_t unit);
// Two units read a state in one use: the one has the other's buffers.
void share_stations(struct way *, uint32_t unit, uint32_t with);
// The type in which a persistent buffer is stored.
struct sharding stored_sharding(const struct partitioner *, const struct buffer *);
// The statement that placed a state on an axis; else the split that made the collective necessary.
struct span state_span(const struct partitioner *, const struct buffer *, enum state,
                       const struct axis_list *axes);

// ---- transfers (transfers.c) ------------------------------------------------------------------
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
// Adds a piece to the collective of its kind and axes, which carries at most `bucket_bytes` unless
// one piece alone is larger. No axes: nothing has to move. Several smaller all_reduces of gradients
// overlap better with the backward pass than one of a whole unit.
void add_piece(struct partitioner *, struct transfers *, enum collective_kind,
               const struct axis_list *axes, struct reference from, struct reference to,
               struct span, int64_t bucket_bytes);
void emit_transfers(struct partitioner *, struct cursor, struct transfers *, const char *name);

// ---- joins (joins.c) --------------------------------------------------------------------------
// How many sums are kept on the way to that over all microbatches; 0: they are not carried.
int levels_of_counter(const struct partitioner *);
struct reference number_of_microbatch(struct partitioner *); // the host's, in the loop over them
// A sum that is carried, and the buffers of its counter, from its first level on.
struct carried {
    struct reference sum;
    const buffer_id *counter;
    int first;
};
buffer_id *make_counter(struct partitioner *, buffer_id sum, int first);
void push_carry(struct partitioner *, struct cursor, uint32_t of, const char *name,
                const struct carried *, uint32_t n, struct span);

// ---- hops (hops.c) ----------------------------------------------------------------------------
// The hops around a call, in this order, the call behind the first.
void before_call(struct partitioner *, struct cursor, const struct statement *call);
void behind_call(struct partitioner *, struct cursor, const struct statement *call);
void behind_update(struct partitioner *, struct cursor, const struct statement *call);
// At the front of the cursor's loop over groups of layers, for the calls inside it.
void before_group(struct partitioner *, struct cursor);
// Around the loop over microbatches: once, for the calls inside it.
void before_microbatches(struct partitioner *, struct cursor, const struct statement *, uint32_t n);
void behind_microbatches(struct partitioner *, struct cursor, const struct statement *, uint32_t n);

// ---- notes (notes.c) --------------------------------------------------------------------------
// All without effect where nothing is noted.
void begin_notes(struct partitioner *);
void note_reads(struct partitioner *, const struct way *, enum step_kind, bool read_once);
void note_left(struct partitioner *, const struct way *, uint64_t left);
void note_moment(struct partitioner *, struct cursor, uint32_t kinds, bool squares);
// At the moment noted last.
void note_chance(struct partitioner *, const struct way *, struct chance);
// A buffer through which squares are summed.
void note_sum(struct partitioner *, buffer_id);
void end_notes(struct partitioner *);

// ---- sums (sums.c) ----------------------------------------------------------------------------
// The copy of an accumulator for summands on `partial`; the first has the accumulator's own name.
// Its `zero` goes to where the reference program zeroes, which by now lies behind us.
struct reference variant_item(struct partitioner *, struct cursor, buffer_id of, uint64_t partial);
// Before a call reads a value: what is still a summand, or in several copies, becomes one sum.
void finish_sum(struct partitioner *, struct cursor, buffer_id of);
// Scalars that a unit got an accumulating form for are zeroed before the loop over microbatches.
void note_zeroed(struct partitioner *, struct reference accumulator);
void push_zeroes(struct partitioner *, struct cursor, struct span);
// At the end of a microbatch its scalars go on to the sum over all.
void carry_scalars(struct partitioner *, struct cursor, struct span);
// The squares of gradients that the call has made of its parts are summed over them.
void sum_squares(struct partitioner *, struct cursor, const struct statement *call);

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
struct making_call begin_call(struct partitioner *, struct arena *scratch, struct cursor,
                              const struct statement *from, const struct statement *whole);
void push_call(struct partitioner *, struct making_call *);

// ---- rings (ring.c) ---------------------------------------------------------------------------
// The call of a unit that is one op whose keys travel, and all its further rounds.
void push_ring(struct partitioner *, struct making_call *, const struct ring *);

// ---- islands (islands.c) ----------------------------------------------------------------------
// When the step that averages begins, what is trained is a summand over the axes between islands.
void begin_average(struct partitioner *);
// From the program of one island to that of all, once it is made.
void deal_out(struct partitioner *);

// ---- steps (step.c) ---------------------------------------------------------------------------
void partition_step(struct partitioner *, enum step_kind);

#endif
