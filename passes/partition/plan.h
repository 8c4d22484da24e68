// The plan of partition: the reference program and its placement, and what follows from them alone,
// before the first statement of the new program is made. It stays as it is; what changes is in
// drafts (partition.h).
//
//   partition.c    the pass
//   sharding.c     what a device holds of a value
//   storage.c      how the states of tensors are stored, and by which routes
//   cursor.c       where the next statement goes
//   reach.c        what the reference program says of its calls: who reads and writes what first and last
//   redistribute.c the collectives that bring a value from one type to another
//   pieces.c       units cut where keys travel
//   kept.c         how what forward keeps for backward lies
//   division.c     how all that units hand on is divided
#ifndef PLACE_PASSES_PARTITION_PLAN_H
#define PLACE_PASSES_PARTITION_PLAN_H

#include "passes/layers/cut_unit.h"
#include "passes/passes.h"
#include "passes/routes/routes.h"

// What each device holds of a value: dimensions cut by axes (outermost first), the local tensor
// flattened, or along one of them, cut again as storage is, the axes on which it is a summand, copies elsewhere.
//
// Microbatches are an axis in time: they cut the batch inside the data axes, and a gradient is a
// summand over them until it has been accumulated. That axis has the number behind the mesh's
// (plan.time) and stands in shardings only, never in the program.
struct sharding {
    struct axis_list cuts[MAX_RANK];
    struct axis_list flat;
    uint8_t
        along; // with `flat`: 1 + the dimension that it cuts, inside of `cuts`, in place of flattening
    uint64_t partial;
    uint64_t maxima;      // axes on which it is one of the numbers of which the greatest is meant
    bool zero;            // nothing has been added yet: it takes the type of the first summand
    enum dtype dtype : 8; // of its elements here; NONE: as the reference program has them
};

// How a value that units hand on through a buffer of the reference program is divided.
struct division {
    struct sharding type; // as its writer's work is, where nobody wants it otherwise
    int depth;            // of the loops around that writer, plus one; 0: none
    bool for_ring;        // as a ring reads it, whoever writes it
    bool kept;            // backward reads it
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

// A call of a unit that is cut where keys travel, and the calls that stand for it.
struct cut_call {
    const struct statement *of;
    struct statement *pieces;
    const struct ring **rings; // by the pieces; NULL: an ordinary unit
    uint32_t n_pieces;
};
struct cut_calls {
    struct cut_call *items;
    uint32_t n, cap;
};

// What nothing changes while a program is made by it.
struct plan {
    struct arena *arena; // of the program
    const struct config *config;
    const struct program *reference;
    struct placement placement;
    unsigned time;          // the microbatches' axis; its size is placement.microbatches
    uint64_t token_axes;    // axes on which sums over all tokens are summands, time among them
    uint64_t pipeline_axes; // axes along which devices have different layers
    bool pairs;             // of microbatches, each after the other: units may add them up
    struct cut_calls cut_calls;
    const struct division *divisions; // of the reference's buffers
};

// The devices of a pipeline's first rank and of its last one, where these are apart: each end has copies of its own of
// a tied table.
enum pipeline_end { END_EMBEDDING, END_HEAD, N_ENDS };

// The first and last calls of a step that touch each buffer of the reference program (NULL: none
// does), of readers those at each end, too, and how many uses in the step's text read it.
struct reach {
    const struct statement **first_reader, **last_reader, **first_writer, **last_writer;
    const struct statement **first_reader_at[N_ENDS], **last_reader_at[N_ENDS];
    uint32_t *uses;
};

// Where the next statement goes. Who goes into a loop makes a cursor of his own.
struct cursor {
    enum step_kind kind;
    struct step *step;
    struct block *block;
    int depth;                                  // of the loops around the block
    int64_t trips;                              // how often they execute it
    const struct loop *loops[LIMIT_LOOP_DEPTH]; // these, outermost first
    int64_t layer;             // the first of the loop over layers that is made; 0: none
    const struct block *group; // of the reference: what is done with the layers of a group, at
                               // whose front is gathered what they read; NULL: none
    const struct statement *before, *behind; // of the reference: the calls or loops beside the
                                             // statement that is made, in its block; NULL: none
    bool in_microbatch; // inside the loop over microbatches, the outermost: other loops'
                        // variables move up by one
    const struct reach *reach;
};

// ---- shardings (sharding.c) -------------------------------------------------------------------
bool sharding_equal(const struct sharding *a, const struct sharding *b, unsigned rank);
// The local tensor of a logical one; false if an axis does not divide a dimension.
bool sharding_local(const struct plan *, const struct tensor_type *logical, const struct sharding *,
                    struct tensor_type *local);
// The axes that placement_sum says.
struct axis_list axes_of_sum(const struct plan *, uint64_t mask);
// The span of the split that gives an axis its work.
struct span split_span(const struct plan *, unsigned axis);
// How a buffer lies that is cut so: along the ring's axis in zigzag.
void lay_out(const struct plan *, struct buffer *, const struct axis_list cuts[MAX_RANK]);

// ---- storage (storage.c) ----------------------------------------------------------------------
// A state of a tensor, or of some of its layers, by the buffer of the reference program that holds it.
struct route route_in(const struct plan *, const struct buffer *, const struct route_facts *);
bool is_trained(const struct plan *, const struct buffer *);
// The type in which a persistent buffer is stored.
struct sharding stored_sharding(const struct plan *, const struct buffer *);
// The statement that keeps a state elsewhere, or that of the optimizer's, where the update runs.
struct span offload_span(const struct plan *, const struct buffer *);
// The statement that placed a state on an axis; else the split that made the collective necessary.
struct span state_span(const struct plan *, const struct buffer *, enum state,
                       const struct axis_list *axes);

// ---- the cursor (cursor.c) --------------------------------------------------------------------
// An index of the reference program's step.
struct index moved_index(struct cursor, struct index);
// A loop like one of the reference's, without its body; what goes into it has the cursor inside.
struct statement loop_like(const struct statement *);
struct cursor inside_loop(struct cursor, struct statement *loop);
// The cursor at statement `i` of a run of the reference's.
struct cursor at_statement(struct cursor, const struct statement *, uint32_t n, uint32_t i);

// ---- reach (reach.c) --------------------------------------------------------------------------
const struct buffer *reference_buffer(const struct plan *, struct reference);
bool has_batch(const struct buffer *);
bool is_tensor_state(const struct buffer *); // parameters or gradients
bool has_way(const struct buffer *);         // these, or the optimizer's
// An update is what writes parameters: it works on storage as it lies, all other calls on gathered
// wholes.
bool call_updates(const struct plan *, const struct call *);
bool is_per_microbatch(const struct plan *, const struct statement *);
struct reach find_reach(const struct plan *, enum step_kind);
bool reads_parameter(const struct plan *, const struct statement *, buffer_id);
// Do both stand for one call, in loops that were one before layers were cut in units?
bool is_same_call(const struct statement *, const struct statement *);
// At which end of the pipeline a call is; of layers, and where there is one device only, the first.
enum pipeline_end end_of_call(const struct plan *, const struct call *);

// How far one use of a parameter goes, for which it is gathered once.
enum use {
    USE_CALL, // one call, or several that stand side by side: nothing between them needs its memory
    USE_GROUP, // all calls in the loops over the layers of a group
    USE_TURN   // one call, of a layer whose turn it is in a group
};
enum use use_of(const struct plan *, struct cursor, struct reference parameter);
int64_t layers_of_use(const struct plan *, struct cursor, enum use); // all at once
// The same of what is copied to where it is updated, or its norm is taken: USE_GROUP or USE_CALL.
enum use update_use_of(const struct plan *, struct cursor, struct reference state);
// Does the call before the cursor's read it, too, in the same use?
bool continues_use(const struct plan *, struct cursor, struct reference parameter);
// Is the call where such a use begins, or ends?
bool begins_use(const struct plan *, struct cursor, const struct statement *call,
                struct reference parameter, enum use);
bool ends_use(const struct plan *, struct cursor, const struct statement *call,
              struct reference parameter);

// ---- redistribution (redistribute.c) ----------------------------------------------------------
// Elements that a device sends for a value that has one type and is wanted in another.
int64_t redistribution_cost(const struct plan *, const struct tensor_type *logical,
                            struct sharding have, const struct sharding *want);

// ---- pieces (pieces.c) ------------------------------------------------------------------------
// Cuts every call of the reference whose unit has an op with keys that travel; units and buffers
// that this takes are added to the reference.
struct cut_calls cut_at_rings(const struct plan *, struct program *reference);
const struct cut_call *find_cut_call(const struct plan *, const struct statement *call);

// ---- kept (kept.c) ----------------------------------------------------------------------------
// Which buffers of values backward reads.
void find_kept(const struct plan *, struct division *divisions);
// Decides how values that only backward reads lie, once it is known how their writers would have
// it.
void divide_kept(const struct plan *, struct division *divisions);

// ---- division (division.c) --------------------------------------------------------------------
// How every value that units hand on is divided.
const struct division *divide_values(const struct plan *);

#endif
