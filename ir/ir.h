// The vocabulary of the compiler: meshes, tensors, buffers, units, steps.
//
// A *job* says what every device of a mesh holds and does in one training step, by a *program* for
// each part of the mesh. Its size does not depend on the number of layers, devices or microbatches.
//   tensor     a logical parameter of the model, one entry for all layers that have it in the same types
//   buffer     bytes of the arena that hold a tensor (or a value between units), with its layout
//   unit       a flat SSA function on device-local tensors; all arithmetic is in units
//   step       a structured schedule: loops, unit calls, collectives, frees. `train` and `evaluate`
//
// The *reference program* (after build, differentiate and update) is the same thing on one device:
// whole batch, logical shapes, no collectives. Passes turn it into the final program.
//
// Ids are indices: of tensors and units into the job's arrays, of buffers into the program's, of
// values into the unit's. Arrays and strings live in the arena the job was made with; nothing is
// freed alone. Sizes are elements unless they say bytes.
#ifndef PLACE_IR_IR_H
#define PLACE_IR_IR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "ir/arena.h"
#include "ir/limits.h"
#include "ir/names.h"
#include "ir/schedule.h"
#include "ir/sizes.h"
#include "ir/source.h"
#include "ir/span.h"
#include "ir/tables.h"

struct diagnostics; // ir/diagnostic.h
struct config;      // ir/config.h

// ---- mesh -------------------------------------------------------------------------------------

// An axis factor; types, groups and collectives are about these. Ranks are numbered row-major over
// the mesh's axes, the outermost (axis 0) most significant.
struct mesh_axis {
    const char *name;
    int64_t size;
    double link_bytes_per_s, link_latency_s; // 0: not said
    struct span span;
    struct span size_span; // where a file says the size; nowhere for what no file declares
};

// An ordered list of different axes, outermost first: a product such as `replica * shard`. A
// device's number among the parts, or the members of a group, that it makes has its coordinates in
// this order as digits.
struct axis_list {
    uint8_t n;
    uint8_t axes[MAX_AXES];
};

struct mesh_product { // `dp = replica * shard`: another name for a list of axes
    const char *name;
    struct axis_list axes;
    struct span span;
    bool factored; // the user's axis, of which the compiler made two (passes/placement/factor.c)
};

struct mesh {
    const char *name;
    struct mesh_axis axes[MAX_AXES];
    uint32_t n_axes;
    struct mesh_product products[MAX_AXES];
    uint32_t n_products;
};

int64_t mesh_devices(const struct mesh *mesh);
int64_t mesh_stride_of(const struct mesh *mesh, unsigned axis);                 // in ranks
int64_t mesh_group_size(const struct mesh *mesh, const struct axis_list *axes); // product of sizes
int64_t mesh_place(const struct mesh *mesh, int64_t rank,
                   const struct axis_list *axes);              // among them
int mesh_find_axis(const struct mesh *mesh, const char *name); // -1: none of that name
const struct mesh_product *mesh_find_product(const struct mesh *mesh,
                                             const char *name); // NULL: none
// Names of its axes, then of its products. Returns how many there are.
size_t mesh_names(const struct mesh *mesh, const char *names[2 * MAX_AXES]);
// "batch, heads", of bits 1 << dimension.
const char *dimensions_text(uint32_t dimensions, struct arena *arena);
// What a user calls the list: "dp" where a product of the mesh has that name, else as the language
// writes a product: "replica * shard".
const char *mesh_axes_text(const struct mesh *mesh, const struct axis_list *axes,
                           struct arena *arena);
static inline uint64_t axis_list_mask(const struct axis_list *axes) {
    uint64_t mask = 0;
    for (unsigned i = 0; i < axes->n; i++)
        mask |= UINT64_C(1) << axes->axes[i];
    return mask;
}
static inline bool axis_list_has(const struct axis_list *axes, unsigned axis) {
    return axis_list_mask(axes) >> axis & 1;
}
// Adds an axis at the end, unless it is in the list.
static inline void axis_list_add(struct axis_list *axes, unsigned axis) {
    if (!axis_list_has(axes, axis))
        axes->axes[axes->n++] = (uint8_t)axis;
}
bool axis_list_equal(const struct axis_list *a, const struct axis_list *b);
bool axis_list_begins(const struct axis_list *axes, const struct axis_list *with);
void axis_list_add_all(struct axis_list *axes, const struct axis_list *more); // each as with add
struct axis_list axis_list_of(const struct axis_list *axes, uint64_t mask);   // those of the mask
// The axes that `others` has not, and those that it has, in the order of `axes`.
struct axis_list axis_list_without(const struct axis_list *axes, const struct axis_list *others);
struct axis_list axis_list_within(const struct axis_list *axes, const struct axis_list *others);

// The order of a dimension that axes cut, one of them in zigzag: `outer` blocks, each of `chunks`
// chunks that are taken from both ends in turn (0, n-1, 1, n-2 ...). Chunks 0: as it is.
struct order {
    int64_t outer, chunks;
};
struct order order_of_cuts(const struct mesh *mesh, const struct axis_list *cuts, int zigzag);
bool order_fits(struct order order, int64_t size); // all chunks are of one size
// Which of `size` elements stands at a place of the order.
int64_t order_element(struct order order, int64_t size, int64_t place);

// ---- tensors and buffers ----------------------------------------------------------------------

struct dim {
    enum dimension dimension;
    int64_t size;
};
// The dimensions [begin, end) of a tensor are one of its sides.
struct side {
    unsigned begin, end;
};
// How many leading dimensions number the rows of the matrix that a tensor is: the hidden dimension, which
// stands first or last, is one side, and all others together are the other.
unsigned matrix_rows(const struct dim *dims, unsigned rank);
// Which dimensions of its tensor, which has these, a buffer of the class has.
struct side class_side(enum buffer_class, const struct dim *dims, unsigned rank);

enum init_kind { INIT_NORMAL, INIT_ONES, INIT_ZEROS, N_INITS };
extern const char *const init_names[N_INITS];

// What a fused tensor has in place of a tensor of its own: some elements of the dimension `part`.
struct tensor_part {
    const char *name; // of that tensor; its initial values are drawn by it
    int64_t size;
};
enum { MAX_TENSOR_PARTS = 3 };

// A logical parameter, without the dimension `layers`; all of its layers have the same element types.
struct tensor {
    const char *name; // "block.attention.q.weight"
    uint8_t n_roles;
    uint8_t roles[MAX_ROLES]; // outermost first: layers, attention, qkv, up
    uint8_t rank;
    struct dim dims[MAX_RANK];
    int64_t layers, first_layer; // copies, one per layer; 0: not repeated by layer
    const char *model_name;      // by which its layers are drawn and saved; NULL: its own
    uint8_t n_parts;             // 0: it is not fused
    struct tensor_part parts[MAX_TENSOR_PARTS]; // in the order of the dimension `part`
    enum init_kind init;
    double init_std; // INIT_NORMAL
    bool trainable;
    // Element types of itself as it is stored and saved, of the copy that is updated, of the optimizer's
    // states, of its gradient, of itself where it is gathered, and of its gradient where that is reduced;
    // NONE: the policy's.
    enum dtype parameters, master, moments, gradients, gather, reduce;
    const char *saved_name; // Hugging Face's, with `%d` for the layer
    int64_t saved_columns_begin,
        saved_columns;     // of the saved tensor's last dimension; columns 0: all
    bool saved_transposed; // saved as [out, in]; we hold [in, out]
    struct span span;
};

// How a logical tensor lies on the mesh. A dimension may be cut by axes, outermost first; what is
// left is the local tensor. `flat` axes then cut the local tensor flattened and padded with zeros
// to a multiple of their size. Axes that stand nowhere hold copies. Where one of the cuts is in
// zigzag, parts are taken from an order in which its device i of N has the chunks i and 2N-1-i.
struct layout {
    struct axis_list cuts[MAX_RANK];
    uint8_t zigzag[MAX_RANK]; // 1 + the axis of cuts[i] that is; 0: none
    struct axis_list flat;
    // Item i is whole on one member along these axes, its owner: that of number i modulo their size.
    // The others have nothing of it. Where such a buffer has bytes of its own, a device has room for
    // the items that it owns, one after the other.
    struct axis_list owners;
    uint8_t n_inner; // of the axes that cut a batch by microbatches: the innermost, inside these
};

typedef uint32_t buffer_id;
#define NO_ID UINT32_MAX

// What the items of a buffer stand for.
struct stack {
    enum stack_kind kind; // not NONE
    int64_t count;
    int64_t first_layer; // LAYERS: place i is of layer first_layer + i * layer_step
    int64_t layer_step;  // 0 and 1: of all layers from the first on
};
enum { MAX_STACKS = 2 };
struct stacks {
    uint8_t n;                     // 0: the buffer is one item
    struct stack list[MAX_STACKS]; // outermost first, each of another kind
};

// Bytes on every device: equal items, one after the other, item i at offset + i * stride. Where a
// buffer is stacked twice they are numbered row by row: place i of the outer stack and k of the
// inner one, of n, are item i * n + k. A tensor's layers may lie in several buffers, each with a
// range of them.
// A buffer stacked by microbatches holds one step's microbatches: of the batch, the axes that cut
// it are the outermost digits, then the microbatch, then what is local. Axes that the microbatches
// stand around (layout.n_inner) are digits between these two.
struct buffer {
    const char *name;
    enum buffer_class class;
    enum host_role host; // what it is to the host, by whatever name
    uint32_t tensor;     // the logical tensor it is about, NO_ID: none
    enum dtype dtype;
    uint8_t rank;
    struct dim dims[MAX_RANK]; // logical, of one item
    struct layout layout;      // of INPUT and persistent classes a fact, else what the pass intends
    struct stacks stacks;
    int64_t pad_elements; // an item is a multiple of so many: a shard's elements, which may be cut
                          // again, and the room of what is no shard; 0 and 1: no padding
    buffer_id window_of;  // NO_ID, or the buffer of which this is the device's own flat shard
    enum tier tier;       // a window's is its whole's
    int64_t offset_bytes; // in the tier's arena; -1: not planned, or a window
    struct span span;
};

// The device-local tensor of one item: rank and sizes; a flat shard has one dimension, DIM_FLAT.
struct tensor_type {
    enum dtype dtype;
    uint8_t rank;
    struct dim dims[MAX_RANK];
};
int64_t type_elements(const struct tensor_type *type);
int64_t type_bytes(const struct tensor_type *type);
bool type_equal(const struct tensor_type *a, const struct tensor_type *b); // dtype and sizes
// "f32[batch=4, hidden=64]"
const char *tensor_type_text(struct arena *arena, const struct tensor_type *type);

// ---- units ------------------------------------------------------------------------------------

typedef uint32_t value_id;

// Where a value's bytes are. PARAMETER: where the call says. RESULT: likewise, of the unit's result
// that is this value or is in its place. FRAME: in the unit's frame. IN_PLACE: where `base` is.
// INLINE: nowhere, its op is computed inside the ops that use it (an elementwise chain, or a
// gradient that its producer adds to the accumulator).
enum value_storage {
    STORAGE_UNPLANNED,
    STORAGE_PARAMETER,
    STORAGE_RESULT,
    STORAGE_FRAME,
    STORAGE_IN_PLACE,
    STORAGE_INLINE,
};
struct value {
    const char *name; // without the '%'; unique in the unit
    struct tensor_type type;
    enum value_storage storage;
    int64_t offset_bytes; // FRAME
    value_id base;        // IN_PLACE
};

struct attribute {
    enum attribute_name name;
    int64_t integer;       // INTEGER, DIMENSION
    double real;           // REAL
    const char *word;      // WORD
    struct axis_list axes; // AXES
};

struct op {
    enum op_kind kind;
    uint8_t n_operands, n_results, n_attributes;
    value_id operands[MAX_OPERANDS];
    value_id results[MAX_RESULTS];
    struct attribute *attributes;
    uint32_t id;     // statement id, given by job_number
    uint8_t n_roles; // what part of the model it belongs to, for selectors
    uint8_t roles[MAX_ROLES];
    struct span span;
};

// A unit may overwrite a CONSUMED parameter; it is dead after the call. Any other parameter is only
// read, unless a result has its place (`in_parameter`).
struct unit_result {
    value_id value;
    uint32_t in_parameter; // index of the parameter whose place it takes, or NO_ID
};
enum phase { PHASE_FORWARD, PHASE_BACKWARD, PHASE_UPDATE, N_PHASES }; // of a training step
extern const char *const phase_names[N_PHASES];

struct unit {
    const char *name; // one word: "block_forward"
    enum phase phase; // for reports
    struct value *values;
    uint32_t n_values, cap_values;
    uint32_t n_parameters; // the first values
    bool *consumed;        // of each parameter
    uint32_t cap_parameters;
    struct unit_result *results;
    uint32_t n_results, cap_results;
    struct op *ops;
    uint32_t n_ops, cap_ops;
    int64_t frame_bytes; // -1: not planned; where the frame lies, a program says (program_frame)
    struct span span;
};

// ---- steps ------------------------------------------------------------------------------------

// A place of a stack, or a handle's slot: loop variable + offset, modulo `modulus` if that is not 0.
// Variable -1: the constant `offset`. Loop variables are numbered by depth, outermost 0. A step is
// mostly references, so an index takes no more room than what LIMIT_COUNTED lets it hold.
struct index {
    int32_t offset;
    int32_t modulus : 24;
    int32_t variable : 8;
};
_Static_assert(LIMIT_COUNTED < 1 << 23, "a modulus is as large as what is counted");
struct reference { // an item
    buffer_id buffer;
    struct index indices[MAX_STACKS]; // one for each stack of the buffer; the rest are constants 0
};

enum statement_kind {
    STATEMENT_LOOP,
    STATEMENT_CALL,
    STATEMENT_START,
    STATEMENT_WAIT,
    STATEMENT_ZERO,
    STATEMENT_FREE,
    STATEMENT_TASK,
};
enum collective_kind {
#define COLLECTIVE(name, text, does, op) COLLECTIVE_##name,
#include "ir/collectives.def"
#undef COLLECTIVE
    N_COLLECTIVES
};
extern const char *const collective_names[N_COLLECTIVES];
bool collective_sums(enum collective_kind);    // what members have
bool collective_gathers(enum collective_kind); // what some have, for all

enum operation { OPERATION_SUM, OPERATION_MAX, N_OPERATIONS }; // by which values become one
extern const char *const operation_names[N_OPERATIONS];

// How a gradient is compressed before it travels, inside `relax` (wire.c).
enum wire_way {
    WIRE_NONE, // it is not
#define WAY(name, text, what) WIRE_##name,
#include "ir/ways.def"
#undef WAY
    N_WIRE_WAYS
};
extern const char *const wire_way_names[N_WIRE_WAYS]; // "" of NONE
enum { WIRE_BLOCK = 256 };                            // elements that are coded together
struct wire {
    enum wire_way way;
    int64_t kept; // TOPK: elements of every block that travel; else 0
};
bool wire_equal(struct wire a, struct wire b);
const char *wire_text(struct wire, struct arena *arena); // "int8", "topk 3"
// The code's length, in words of i32.
int64_t wire_words(struct wire, int64_t elements);
// The wire of a compress or a decompress; NONE where the attributes make no sense.
struct wire op_wire(const struct op *);

// The curve by which a learning rate falls, at its end.
enum rate_curve {
#define RATE(name, text, what) RATE_##name,
#include "ir/rates.def"
#undef RATE
    N_RATES
};
extern const char *const rate_names[N_RATES];
enum rate_curve op_rate(const struct op *); // N_RATES: it says none
int64_t op_rate_decay(const struct op *);   // steps that it falls; said, or all behind the warm-up

// What a collective does with the values that the members of its group give it. A copy has no group. A
// message is between two of the group: a device and the one that has the number `peer` on the axis, and
// otherwise the same numbers.
struct exchange {
    enum collective_kind kind;
    struct axis_list axes;    // COPY: none
    int dim;                  // that is gathered, scattered or split; -1: flat, or not cut
    int concat_dim;           // ALL_TO_ALL: that is joined; else -1
    int64_t shift;            // PERMUTE: member i gives to member i + shift, modulo the group
    int64_t peer;             // SEND: who receives it, RECEIVE: who sends it; else -1
    enum operation operation; // ALL_REDUCE; N_OPERATIONS: a word that is none
};

struct block {
    struct statement *statements;
    uint32_t n, cap;
};
struct loop {         // for NAME = begin .. end: begin, ..., end-1; descending: the other way
    const char *name; // "m", "l"
    int64_t begin, end;
    int64_t stride; // both go with the loop right around: so many for each step of its variable
    bool descending;
    struct block body;
};
struct call {
    uint32_t unit;
    struct reference *operands; // one per parameter
    struct reference *results;  // one per result; of an in-place result the operand's again
};
struct transfer_piece {
    struct reference from, to; // equal: in place. A message has one end here, and both are that
};
struct transfer { // one collective, message or copy, of several pieces side by side
    struct exchange exchange;
    uint32_t handle; // into the step's handles; in flight from start to wait
    struct index handle_index;
    struct transfer_piece *pieces;
    uint32_t n_pieces;
};
static inline bool is_copy(const struct transfer *transfer) {
    return transfer->exchange.kind == COLLECTIVE_COPY;
}
// A label, which does nothing: what the rank works on from here to the next one.
struct task_label {
    enum task_kind kind; // N_TASK_KINDS: on no task any more; then the rest is 0
    uint32_t stage;
    struct index microbatch;
};
struct statement {
    enum statement_kind kind;
    uint32_t id;
    struct span span;
    union {
        struct loop loop;
        struct call call;
        struct transfer start;
        struct {
            uint32_t handle;
            struct index index;
        } wait;
        struct reference zero;
        struct {
            struct reference *items;
            uint32_t n_items;
        } free;
        struct task_label task;
    };
};
struct handle {
    const char *name;
    int64_t slots; // how many may be in flight at once
};
// What the host executes: TRAIN for every step of training, EVALUATE on other data, AVERAGE now and
// then behind a step, where `relax` lets devices take steps of their own between averages.
enum step_kind { STEP_TRAIN, STEP_EVALUATE, STEP_AVERAGE, N_STEPS };
extern const char *const step_names[N_STEPS];
struct step {
    bool present;
    struct block body;
    struct handle *handles;
    uint32_t n_handles, cap_handles;
    struct names handle_names;
    struct span span;
};

// ---- program ----------------------------------------------------------------------------------

// Minimum types that the verifier holds every statement of a class to (GI-5), and what was relaxed.
struct policy {
    enum dtype parameters, master, moments, gradients, compute, accumulate, gather, reduce;
    // What is said beside these: of activations, and of parts of the model, as precision_parts_text has
    // it. NULL: nothing. The ops have these types; a file that takes a text in compares what it was said.
    const char *types;
    int64_t reproducible;     // W, or 0
    uint32_t reproducible_of; // with it: dimensions that meshes may divide, bits 1 << dimension
    int64_t microbatch;       // and sequences that a device has at a time; else 0
    // Axes over which devices take steps of their own, each on its part of the batch as if that
    // were all of it; after so many steps parameters are averaged over them. No axes: 0 steps.
    struct axis_list islands;
    int64_t average_every;
    // Axes over which what devices have of a gradient may be summed as codes of it; what a code
    // lacks stays with the device until the next step. No axes: NONE.
    struct axis_list wire_axes;
    struct wire wire;
};

struct sizes { // of the whole step, over all devices
    int64_t batch, sequence, microbatches, layers, vocab;
};

// The devices whose number along `axes` is from `begin` on, before `end`. Along no axes all have the
// number 0.
struct mesh_part {
    const char *name; // NULL: all devices are one part
    struct axis_list axes;
    int64_t begin, end;
    struct span span;
};

static inline struct mesh_part mesh_whole(void) {
    return (struct mesh_part){.end = 1, .span = span_nowhere()};
}

// What every device of a part does.
struct program {
    struct arena *arena; // the job's
    struct job *job;
    struct mesh_part part;
    struct buffer *buffers;
    uint32_t n_buffers, cap_buffers;
    buffer_id *frames; // by unit: the transient buffer that holds its frame (program_frame)
    uint32_t n_frames;
    struct step steps[N_STEPS];
    int64_t arena_bytes[N_TIERS]; // -1: not planned
};

// What all devices of a mesh do: a program for each part of them that does something different, and
// what these share. The parts number the devices along the same axes and leave none out.
struct job {
    struct arena *arena;
    const char *name; // the strategy's
    struct mesh mesh; // the reference's has no axis
    struct policy policy;
    struct sizes sizes;
    struct tensor *tensors;
    uint32_t n_tensors, cap_tensors;
    struct unit *units;
    uint32_t n_units, cap_units;
    struct program **programs; // at least one; the parts' order
    uint32_t n_programs, cap_programs;
    // Where a text said them; nowhere in a job that was derived.
    struct span sizes_span, policy_span;
    uint32_t n_ids; // statement ids are 0 .. n_ids-1 after job_number
};

// A name with a suffix, in the arena; where the suffix is empty the name itself, no copy.
const char *name_with(struct arena *, const char *name, const char *suffix);

// Building, in the job's arena. Strings are kept, not copied.
struct program *program_new(struct arena *arena, const char *name); // the one program of a new job
struct program *job_add_program(struct job *, struct mesh_part);
// The program of a job that has one, as every job that is derived has; NULL of NULL.
struct program *job_only(const struct job *);
struct job *job_clone(struct arena *arena, const struct job *from); // deep
// Makes the one program of a job, and the job, what another and its job are, which is used up.
void program_become(struct program *, struct program *made);
uint32_t job_add_tensor(struct job *, struct tensor tensor);
buffer_id program_add_buffer(struct program *, struct buffer buffer);
void program_reserve_buffers(struct program *, uint32_t n); // room for so many, so that none moves
uint32_t job_add_unit(struct job *, const char *name, struct span span);
uint32_t job_clone_unit(struct job *, uint32_t unit, const char *name);
buffer_id program_find_buffer(const struct program *, const char *name); // NO_ID: none
const char *tensor_model_name(const struct tensor *);                    // or its own
bool tensor_has_layer(const struct tensor *, int64_t layer); // so has what is not repeated by layer
enum dtype tensor_parameters(const struct job *, const struct tensor *); // its own, or the policy's
enum dtype tensor_master(const struct job *, const struct tensor *);
enum dtype tensor_moments(const struct job *, const struct tensor *);
enum dtype tensor_gradients(const struct job *, const struct tensor *);
enum dtype tensor_gather(const struct job *, const struct tensor *);
enum dtype tensor_reduce(const struct job *, const struct tensor *);
buffer_id program_host_buffer(const struct program *, enum host_role); // NO_ID: none
uint32_t job_find_tensor(const struct job *, const char *name);        // NO_ID: none
uint32_t job_find_unit(const struct job *, const char *name);          // NO_ID: none
// The buffer in which a unit that this program calls has its frame; NO_ID: it needs none, or it is
// not planned.
buffer_id program_frame(const struct program *, uint32_t unit);
void program_set_frame(struct program *, uint32_t unit, buffer_id frame);
bool program_is_frame(const struct program *, buffer_id); // of any unit
// Whether a statement calls it, for every unit.
bool *program_called_units(const struct program *, struct arena *);
bool *job_called_units(const struct job *, struct arena *); // by any of its programs
// Takes out the buffers that are marked, which no statement names any more; others are renumbered.
void program_remove_buffers(struct program *, const bool *removed);

// Whether two jobs say the same but for what can be derived again from the rest: frees, and the
// plan (job_drop_plan).
bool job_is_alike(const struct job *, const struct job *);

value_id unit_add_value(struct arena *, struct unit *, struct value value);
value_id unit_find_value(const struct unit *, const char *name); // NO_ID: none
// A name that no value of the unit has yet: `name`, else name.2, name.3 ...
const char *unit_fresh_name(struct arena *, const struct unit *, const char *name);
const struct op *unit_producer(const struct unit *, value_id); // NULL: a parameter
// Marks, of a unit's values, those of which the marked ones are made.
void unit_mark_needed(const struct unit *, bool *needed);
bool unit_has_role(const struct unit *, enum role); // some op is of this part of the model
// The parameter that the value is, or of which casts make it; NO_ID: it is made of others.
value_id unit_cast_parameter(const struct unit *, value_id);
// Parameters are the first values: one added after ops shifts the ids of all later values by one
// (operands, results and bases are adjusted; ids that the caller holds are not).
value_id unit_add_parameter(struct arena *, struct unit *, const char *name,
                            struct tensor_type type, bool consumed);
void unit_add_result(struct arena *, struct unit *, value_id value, uint32_t in_parameter);
// Appends an op with as many fresh results as its row has; types must be set by the caller with
// op_infer_types or by hand. Names of results are made from `name` and the row's result names.
struct op *unit_add_op(struct arena *, struct unit *, enum op_kind kind, const char *name,
                       const value_id *operands, uint32_t n_operands, struct span span);
void op_set_integer(struct arena *, struct op *, enum attribute_name, int64_t value);
void op_set_real(struct arena *, struct op *, enum attribute_name, double value);
void op_set_word(struct arena *, struct op *, enum attribute_name, const char *value);
void op_set_axes(struct arena *, struct op *, enum attribute_name, struct axis_list value);
void op_set(struct arena *, struct op *, struct attribute attribute); // replaces one of its name
value_id value_root(const struct unit *, value_id); // follows IN_PLACE to the value that has bytes
const struct attribute *op_attribute(const struct op *, enum attribute_name); // NULL: absent
double op_real(const struct op *, enum attribute_name, double otherwise);
int64_t op_integer(const struct op *, enum attribute_name, int64_t otherwise);
struct axis_list op_axes(const struct op *);
int op_zigzag(const struct op *); // the axis of an iota that is in zigzag; -1: none
bool op_attributes_equal(const struct op *, const struct op *); // in whatever order

uint32_t step_find_handle(const struct step *, const char *name); // NO_ID: none
uint32_t step_add_handle(struct arena *, struct step *, const char *name, int64_t slots);
struct statement *block_push(struct arena *, struct block *, struct statement statement);
void block_insert(struct arena *, struct block *, uint32_t at, struct statement statement);
// A copy whose references, and whose body's, may be changed without changing another's.
struct statement statement_clone(struct arena *, const struct program *, const struct statement *);

// Every statement of a block with those inside its loops, in the order of the text (walk.c):
//   struct statement_walk walk = walk_statements(&step->body);
//   while (walk_next(&walk)) ... walk.statement ...
// Loops come before their bodies. The block must stay as it is until the walk has ended, but for
// what stands inside its statements.
struct statement_walk {
    struct statement *statement;
    int depth; // loops around it; their variables are 0 .. depth-1
    struct open_block {
        const struct block *block;
        uint32_t next;
    } open[LIMIT_LOOP_DEPTH + 1];
};
struct statement_walk walk_statements(const struct block *);
bool walk_next(struct statement_walk *);
struct call *walk_next_call(struct statement_walk *); // moves to the next call; NULL: the end
int64_t walk_trips(const struct statement_walk *);    // how often one step executes the statement
// The loop around the statement whose variable has this number; depth - 1: the innermost. NULL:
// none.
const struct loop *walk_loop(const struct statement_walk *, int variable);
// The starts of one handle, in the order of the text. Of every handle of a step, in the arena.
struct started {
    const struct statement *start;
    const struct started *next;
};
const struct started **starts_by_handle(const struct step *, struct arena *);
// Does it call a unit of the phase, itself or in a loop?
bool statement_calls(const struct job *, const struct statement *, enum phase);
// Does it do nothing but free? A loop does not that has no statement.
bool statement_only_frees(const struct statement *);
// The value that the variable of a loop, of this number, has in an iteration: 0, 1, ...
int64_t loop_variable(const struct loop *, int variable, int64_t iteration,
                      const int64_t *variables);
// Is the loop's variable, of this number, the microbatch: does it index what is stacked so?
bool loop_counts_microbatches(const struct program *, const struct loop *, int variable);
// Does a task of a pipeline stand in it, or in a loop in it?
bool loop_has_tasks(const struct loop *);
// The places that a statement names, i = 0, 1, ... until `at` is NULL: a call reads its operands,
// then writes its results; each piece of a transfer is read, then written, of a send only read and of a
// receive only written; a zero writes, a free reads each. A wait names what its start does, and a loop
// and a label nothing: they have none. Whoever may change the statement may change what is at `at`.
struct access {
    struct reference *at;
    bool written;
};
struct access statement_access(const struct program *, const struct statement *, uint32_t i);
// Who changed what a message names there has changed one of its ends, and both are one place. Of no
// message: nothing.
void message_join_ends(struct statement *);

struct index index_constant(int64_t value);
struct index index_variable(int variable, int64_t offset, int64_t modulus);
struct index index_moved(struct index, int64_t by); // its value is so much greater
// Which of so many slots that are used in turn has what an index without a modulus counts.
struct index index_in_slots(struct index, int64_t slots);
bool index_equal(struct index a, struct index b);
int64_t index_at(struct index index, const int64_t *variables); // its value inside loops
struct reference reference_to(buffer_id);                       // of one item
struct reference reference_at(buffer_id, struct index);         // stacked once, or not at all
bool reference_equal(const struct reference *a, const struct reference *b);
// The variables that say which item it is: bits 1 << variable.
uint32_t reference_variables(const struct reference *);
// Whose item a call or a transfer works on: it is executed by the owner alone, or goes to or from it.
struct ownership {
    struct axis_list axes; // none: of nobody alone
    struct index item;     // the owner is the member of this number modulo their size
};
struct ownership statement_ownership(const struct program *, const struct statement *);
struct ownership reference_ownership(const struct program *,
                                     const struct reference *); // of one item
// How often a statement inside so many loops, outermost first, names an item of a member's, who owns those
// of its number modulo the members.
struct owner_trips {
    const struct loop *loops;
    int depth;
    struct index item;
    int64_t members;
};
int64_t owner_trips(const struct owner_trips *, int64_t member);
// The number of the item inside loops.
int64_t reference_item(const struct program *, const struct reference *, const int64_t *variables);

// A job that a person edited may lack offsets; then all of the plan is dropped and made anew.
bool job_needs_plan(const struct job *);
void job_drop_plan(struct job *);
void job_drop_places(struct job *); // keeps which values are inline

// Statement ids in the order of the text: units and their ops, then the programs' steps. Also counts
// n_ids.
void job_number(struct job *);
// The collective of a kind and group that cuts nothing, or something flat.
struct exchange exchange_flat(enum collective_kind, const struct axis_list *axes);
// The collective that an op starts. False: it starts none, and `axes` and `dim` are still the op's.
bool op_exchange(const struct op *, struct exchange *);
// The collective of an op; N_COLLECTIVES: it is none.
enum collective_kind op_collective(enum op_kind);
// Is it between all and the owner of what it carries?
static inline bool exchange_has_owner(const struct exchange *exchange) {
    return exchange->kind == COLLECTIVE_REDUCE || exchange->kind == COLLECTIVE_BROADCAST;
}
// Is it half of a message from one part to another?
static inline bool exchange_is_message(const struct exchange *exchange) {
    return exchange->kind == COLLECTIVE_SEND || exchange->kind == COLLECTIVE_RECEIVE;
}
// NULL, or what makes no sense for its kind.
const char *exchange_check(const struct exchange *, enum dtype);
// Whether what a member gives and what it gets have sizes that go together.
bool exchange_fits(const struct exchange *, const struct mesh *, const struct tensor_type *from,
                   const struct tensor_type *to);
// How the values of an exchange get to where they are needed: round a ring, straight, or in rounds
// of pairs by recursive doubling. Transports do so (runtime/transport/doubling.h), and it is
// accounted.
enum algorithm { ALGORITHM_RING, ALGORITHM_DIRECT, ALGORITHM_DOUBLING };
// `bytes`: what a member gives, all pieces together and unpadded.
enum algorithm exchange_algorithm(const struct exchange *, int64_t members, int64_t bytes);
// Recursive doubling: its rounds; the partial sums that the member at a place sends in all of them;
// the most that any sends. Where the members are a power of two, each sends one in every round.
int exchange_rounds(int64_t members);
int64_t exchange_partials_sent(int64_t members, int64_t place);
int64_t exchange_most_partials(int64_t members);
// Bytes of one partial sum of so many bytes of values: of 16 bits it is a single until it is whole.
int64_t exchange_partial_bytes(enum dtype, int64_t bytes);
// Bytes that one member sends, the one that sends most. `whole`: what is given or arrives, padded to a
// multiple of the members; `unpadded`: without.
int64_t exchange_sent_bytes(const struct exchange *, enum algorithm, enum dtype, int64_t members,
                            int64_t whole, int64_t unpadded);
// Every ordered list of axes that a collective of the job runs over, once, in the order of the
// text: units first. What runs over an equal list is in the same group.
struct axis_list *job_groups(const struct job *, struct arena *, uint32_t *n);
// The span of every statement id, allocated in `arena`.
struct span *job_spans(const struct job *, struct arena *arena);

// ---- shapes -----------------------------------------------------------------------------------

// The local tensor of one item of a buffer.
struct tensor_type buffer_type(const struct program *, const struct buffer *);
int64_t buffer_item_bytes(const struct program *, const struct buffer *); // padded: the stride
int64_t buffer_bytes(const struct program *, const struct buffer *);      // 0 for a window
// Elements of each of so many parts of a tensor that is flattened, padded to a multiple.
int64_t flat_part(int64_t elements, int64_t parts, int64_t pad_elements);
// The same on a mesh, for buffers of no program.
struct tensor_type buffer_type_on(const struct mesh *, const struct buffer *);
int64_t buffer_item_bytes_on(const struct mesh *, const struct buffer *);
// The items that a device has room for: all, or as many as the owner has that has most.
int64_t buffer_slots(const struct mesh *, const struct buffer *);
// The axes that cut a window out of its whole, which they may have cut before; of another buffer
// none.
struct axis_list buffer_window_axes(const struct program *, const struct buffer *);
// The axes that cut the batch inside the microbatches; of what has no batch none.
struct axis_list buffer_inner_axes(const struct buffer *);
// The buffer that has the bytes: a window's is the one in which it lies.
buffer_id buffer_whole(const struct program *, buffer_id);
// Whether it is this device's part of what another buffer holds: a window, or, of a gradient that the
// program has whole, too, the part of the sum that is updated with.
bool buffer_is_part(const struct program *, buffer_id);
bool buffer_is_persistent(const struct buffer *);
// Where a call runs: where the buffers are that it names. Scalars, which have no dimension, are on the
// device, and calls anywhere read and write them; a call that names nothing else runs there.
enum tier call_tier(const struct program *, const struct call *);
bool buffer_outlives_step(const struct buffer *); // it is persistent, or the host fills or reads it
// A buffer's stacks of one kind, of so many places; a buffer with one slot is not stacked.
struct stacks stacked(enum stack_kind, int64_t count);
struct stacks stacked_in_slots(int64_t count);
// So many slots of what has owners, or more: a multiple of these, so that a slot's owner is its layer's. Each
// device has those that are its own. Without owners no more than are asked for.
int64_t slots_of_owners(const struct mesh *, const struct axis_list *owners, int64_t count);
bool stacks_equal(const struct stacks *a, const struct stacks *b);
int buffer_find_stack(const struct buffer *, enum stack_kind);            // -1: not stacked so
const struct stack *buffer_stack(const struct buffer *, enum stack_kind); // NULL: the same
int64_t buffer_items(const struct buffer *);
// The microbatches by which it is stacked; 1 where it is not.
int64_t buffer_microbatches(const struct buffer *);
// The places of an item in the buffer's stacks, 0 in those that it has not, and back.
void buffer_places(const struct buffer *, int64_t item, int64_t places[MAX_STACKS]);
int64_t buffer_item_at(const struct buffer *, const int64_t places[MAX_STACKS]);
// What is stacked by layers has a first one, a number of layers from a place to the next, and a
// layer for each item. What is not has 0, 1 and 0.
int64_t buffer_first_layer(const struct buffer *);
int64_t buffer_layer_step(const struct buffer *);
int64_t buffer_layer(const struct buffer *, int64_t item);
// The item of a layer, of what is stacked by nothing else; -1: it holds none.
int64_t buffer_item_of_layer(const struct buffer *, int64_t layer);

// Labels are letters, and behind them those of the dimensions of the capitals X, Y and Z.
enum { FIRST_CAPITAL_LABEL = 128, N_LABELS = FIRST_CAPITAL_LABEL + 3 * MAX_RANK };
// Labels of operand or result `i` of an op, as one character per dimension, from its row's
// signature (or the attribute). Capitals are expanded to the characters 'A'.. of their own
// dimensions: "XY,Y->XY" of a rank-3 and a rank-1 operand gives "AB" + "C" ... so that equal labels
// are equal dimensions. False: operand ranks do not fit the signature.
struct op_labels {
    char operands[MAX_OPERANDS][MAX_RANK + 1];
    char results[MAX_RESULTS][MAX_RANK + 1];
};
bool op_labels_of(const struct unit *, const struct op *, struct op_labels *labels);
// Local result types from operand types by the signature: every label has one size. For
// LOGICAL and final programs alike. False, with a message in `why`: sizes differ.
// Dimension names come from an operand that has all the result's labels, else from the first that
// has the label. Scalars are f64.
bool op_infer_types(struct arena *, struct unit *, struct op *, const char **why);
// The type that the op computes in: f64 where a tensor among its operands or results is, else f32.
enum dtype op_computes_in(const struct unit *, const struct op *);
// Whether operands and results have the element types of the op's row. NULL, or what is wrong, behind
// the op's name.
const char *op_wrong_elements(const struct unit *, const struct op *);
// Length of the blocks in which the op works on a dimension; 0: it says none.
int64_t op_block(const struct op *, enum dimension);
// What `blocks` of an op whose types fit say is none, or more than a tree has room for; NULL: it is
// well.
const char *op_wrong_blocks(const struct unit *, const struct op *, struct arena *);
// FLOP of one execution on local shapes.
double op_flops(const struct unit *, const struct op *);

// ---- text -------------------------------------------------------------------------------------

struct print_options {
    const struct source_files *sources; // given: every statement ends in @line:column
};
// The text form (docs/program.md): `step NAME { ... }` and `unit NAME.UNIT { ... }`.
void job_print(const struct job *, FILE *to, const struct print_options *);
char *job_text(const struct job *, struct arena *arena); // the same, with its defaults
// The shortest decimal that reads back as the same double; returns `text`.
enum { REAL_TEXT_BYTES = 32 };
const char *real_text(double value, char text[REAL_TEXT_BYTES]);
// 16 digits that are equal for equal texts, on every machine: FNV-1a (Fowler, Noll, Vo).
const char *text_sum(struct arena *, const char *text);

// What is wrong with a text, and where.
struct text_error {
    struct span span;
    const char *message; // NULL: nothing
    const char *meant;   // what should perhaps stand at the span; NULL: unknown
};
// Reads what job_print prints; statements are given spans in `source`, where they stand. NULL and
// `error` set where the text is wrong. The result is not planned or checked further than job_check
// does.
struct job *job_parse(struct arena *arena, const char *text, size_t length, uint32_t source,
                      struct text_error *error);
// The same for what a `.place` file holds of a job: the braces of `step NAME {}` and of any number
// of `unit NAME.UNIT {}`, each a range of `text`. What is not given is taken from `derived`.
struct written_text {
    const char *unit;   // NULL: the step
    struct span braces; // from `{` to behind `}`
};
struct job *job_parse_written(struct arena *arena, const struct job *derived, const char *text,
                              const struct written_text *written, uint32_t n_written,
                              struct text_error *error);
// Structural invariants that hold after every pass: ids in range, operands defined before use, one
// definition, types as inferred, results bound, indices in range. NULL, or what is wrong, with the
// span of the buffer, op or statement in `at` (which may be NULL).
const char *job_check(const struct job *, struct arena *arena, struct span *at);
// What of the job is larger than can be counted. `batch`: its size depends on the batch.
struct too_large {
    const char *what; // NULL: nothing is
    struct span at;
    bool batch;
};
// Whether tensors, buffers and values, and all buffers of a device together, keep to the limits of limits.def.
// A part of job_check, which passes ask of what they derive from a file, too.
struct too_large job_too_large(const struct job *, struct arena *arena);
// The same of the policy alone, whose span is the job's policy_span.
const char *job_check_policy(const struct job *, struct arena *arena);
// The same about the plan of a job that has one (not job_needs_plan): code may be made of
// it.
const char *job_check_plan(const struct job *, struct arena *arena, struct span *at);

#endif
