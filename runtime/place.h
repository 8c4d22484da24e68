/* The runtime's public header: what a compiled program looks like to the runtime, and how to run
 * it.
 *
 * The compiler describes a program in a struct place_program (the *descriptor*): mesh, tensors,
 * buffers, source lines, sizes, predictions, entry functions. `placec run` fills it in memory
 * around jitted code, `placec build` prints it as a C file whose main calls place_main. Nothing
 * else passes from compiler to runtime but the calls of runtime/calls.def. The descriptor is
 * constant, is the same on all ranks, and is never freed or written by the runtime. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* Changes whenever a row of runtime/calls.def, a structure of this header, or one that the MPI
 * transport is given, changes its meaning. */
#define PLACE_ABI_VERSION 34

enum {
    PLACE_AXES_LIMIT = 16,  /* axes of a mesh */
    PLACE_RANK_LIMIT = 6,   /* dimensions of a tensor */
    PLACE_STACKS_LIMIT = 2, /* of a buffer */
    PLACE_FUSED_LIMIT = 3,  /* tensors that are fused to one */
};

/* Result of every runtime call; generated code passes on what is not PLACE_OK. */
enum place_status {
    PLACE_OK = 0,
    PLACE_ERROR_ARGUMENT,  /* a call that the compiler should not have made */
    PLACE_ERROR_LIBRARY,   /* no product library, or a product that it could not make */
    PLACE_ERROR_TRANSPORT, /* another rank cannot be reached */
    PLACE_ERROR_ABORTED,   /* another rank failed, or Ctrl-C */
    PLACE_ERROR_MISMATCH,  /* members of a group disagree about a collective */
    PLACE_ERROR_DEADLOCK,  /* every rank waits for another */
    PLACE_ERROR_HOST,      /* a file, the data, the machine, or a loss that is not a number */
};

/* Element types; the numbers are part of the ABI. */
enum place_dtype {
    PLACE_F32 = 0,
    PLACE_F64 = 1,
    PLACE_BF16 = 2, /* the upper half of an f32; added up in f32 and rounded once */
    PLACE_I32 = 3,
    PLACE_F16 = 4, /* IEEE 754's binary16; added up in f32 and rounded once */
};

/* How gradients are compressed; the order of ir/ways.def. Elements are coded in blocks. */
enum place_way {
    PLACE_SIGN = 1,
    PLACE_INT8 = 2,
    PLACE_TOPK = 3,
};
#define PLACE_WIRE_BLOCK 256

/* Curves by which a learning rate falls; the order of ir/rates.def. */
enum place_schedule {
    PLACE_CONSTANT = 0,
    PLACE_LINEAR = 1,
    PLACE_COSINE = 2,
    PLACE_SQRT = 3,
};

/* Where bytes are, the nearest first; the order of ir/tiers.def. */
enum place_tier {
    PLACE_DEVICE,
    PLACE_HOST,
    PLACE_DISK,
    PLACE_N_TIERS,
};

/* ---- what generated code sees of a rank ----------------------------------------------------- */

/* The first members of every struct place_context; generated code reads these and nothing else. */
struct place_context_head {
    /* The arena of each tier, aligned to 4096. That of the disk is null: what is there has an offset in a file
     * in place of an address. */
    void *arenas[PLACE_N_TIERS];
    int64_t coordinates[PLACE_AXES_LIMIT]; /* of this rank along every axis; 0 beyond the mesh's */
};
/* One rank's state. Its first member is a struct place_context_head. */
struct place_context;

/* ---- collectives ---------------------------------------------------------------------------- */

enum place_collective {
    PLACE_ALL_REDUCE = 0,
    PLACE_REDUCE_SCATTER = 1,
    PLACE_ALL_GATHER = 2,
    PLACE_ALL_TO_ALL = 3,
    PLACE_PERMUTE = 4,
    PLACE_REDUCE = 5,    /* the sum of what all give, to one member: the owner */
    PLACE_BROADCAST = 6, /* what the owner gives, to all */
    /* Messages, from one member to another: each starts its own end. 7 is the compiler's for copies. */
    PLACE_SEND = 8,
    PLACE_RECEIVE = 9,
};

/* The operation by which an all_reduce makes one value of several. Not-a-number stays one. */
enum place_operation {
    PLACE_SUM = 0,
    PLACE_MAX = 1,
};

/* One tensor of a collective. N is the size of the group, "the device's" chunk the one whose number
 * is the device's place in the group. The *whole* is outer x (N x chunk) elements, a *part* outer x
 * chunk.
 *
 *   ALL_REDUCE      src, dst: `valid` elements each. outer is 1, chunk is not read. dst may be src.
 *   REDUCE_SCATTER  src: whole; dst: part. dst may be the device's own chunk of src when outer
 * is 1. ALL_GATHER      src: part; dst: whole. src may be the device's own chunk of dst when outer
 * is 1. ALL_TO_ALL      src: whole, of which chunk j goes to member j; dst: as many elements, seen
 * as dst_outer x (N x ...), whose chunk i comes from member i. PERMUTE         src, dst: `valid`
 * elements each. outer is 1, chunk is not read. REDUCE and BROADCAST likewise; dst may be src. Of a
 * REDUCE dst is written at the owner alone, of a BROADCAST src is read there alone. SEND reads src, and
 * RECEIVE writes dst: `valid` elements each, as of a PERMUTE; the other address is not looked at.
 *
 * But where it is said, src and dst share no bytes.
 *
 * A flat piece has outer 1; elements from `valid` to N x chunk are padding: never read by a
 * reduce_scatter and written as zeros, carried as they are by an all_gather. A piece along
 * dimension d has the product of the dimensions before d as outer, and valid = outer x N x chunk.
 */
struct place_piece {
    const void *src;
    void *dst;
    int64_t outer;
    int64_t chunk;     /* elements */
    int64_t valid;     /* elements of the whole that are not padding */
    int64_t dst_outer; /* of an all_to_all */
};

/* ---- copies between tiers ------------------------------------------------------------------- */

/* Bytes that go from one tier of the rank to another. */
struct place_copy {
    const void *src;
    void *dst;
    int64_t bytes;
    int32_t from, to; /* enum place_tier, not the same */
};

/* ---- the descriptor ------------------------------------------------------------------------- */

struct place_axis {
    const char *name;
    int64_t size;
    int64_t stride; /* in ranks: ranks are numbered row-major, axis 0 most significant */
};

/* An ordered list of axes, outermost first. */
struct place_axes {
    int32_t n;
    uint8_t axes[PLACE_AXES_LIMIT];
};

/* What a collective runs over: the ranks that differ only along these axes. A member's place is the
 * number whose digits are its coordinates in the order of the list, so `a b` and `b a` are two
 * groups of the same ranks. The calls name a group by its index. */
struct place_group {
    struct place_axes axes;
    const char *name;    /* "dp", "replica*shard" */
    int64_t train_bytes; /* predicted: sent over it in one step, by the device that sends most */
};

/* What of "trains as one device would" the program's file gives up on some axes, and in which line.
 */
struct place_relaxed {
    const char *condition; /* "gradient_integrity" */
    struct place_axes axes;
    int32_t line;
};

enum place_init {
    PLACE_INIT_NORMAL, /* mean 0, deviation init_std */
    PLACE_INIT_ONES,
    PLACE_INIT_ZEROS,
};

/* A tensor that is fused with others: of every `plane` elements of the whole, row-major, it has
 * those from `begin` on. They begin with the values of a tensor of this name that has them side by
 * side. */
struct place_fused {
    const char *name;
    int64_t begin, elements;
};

/* A logical parameter, the same for all layers that have it. Those that are kept in other types than the
 * rest are another, of the same name. Its initial value is a function of the
 * seed, its name, the layer and the index in the whole tensor alone. */
struct place_tensor {
    const char *name;
    int64_t layers; /* copies, one per layer; 0: not repeated by layer */
    int64_t first_layer;
    enum place_init init;
    double init_std;
    enum place_dtype dtype; /* what its parameters are rounded to where only a wider copy is kept */
    int64_t plane;          /* elements that hold each fused tensor once */
    int32_t n_fused;        /* 0: it is not fused */
    struct place_fused fused[PLACE_FUSED_LIMIT];
    /* Where --save puts it: in a tensor of this name (`%d` stands for the layer). As saved it is a
     * matrix of saved_rows rows, or a vector when saved_rows is 0; saved_transposed says that the
     * file holds the matrix's transpose. A tensor that is one of several side by side fills
     * saved_columns columns (of the vector: elements) from saved_columns_begin; saved_columns 0:
     * all of them. Fused tensors stand side by side likewise, in their order. Null: under `name`. */
    const char *saved_name;
    int64_t saved_rows;
    int64_t saved_columns_begin, saved_columns;
    int32_t saved_transposed;
};

/* What a buffer is for; the order of ir/classes.def. */
enum place_class {
    PLACE_PARAMETERS,
    PLACE_MASTER,          /* the wider copy that is updated */
    PLACE_MOMENT1,         /* Adam's m */
    PLACE_MOMENT2,         /* Adam's v */
    PLACE_MOMENT2_ROWS,    /* Adafactor's mean over each row of a matrix */
    PLACE_MOMENT2_COLUMNS, /* and over each column */
    PLACE_MOMENTUM,
    PLACE_ANCHOR,         /* parameters as the outer optimizer left them */
    PLACE_OUTER_MOMENTUM, /* the outer optimizer's */
    PLACE_RESIDUAL,       /* what compression has not sent yet of a gradient; the last of those
                             that live from step to step */
    PLACE_GRADIENTS,
    PLACE_ACTIVATIONS,
    PLACE_TRANSIENT,
    PLACE_INPUT,  /* written by the host before a step */
    PLACE_OUTPUT, /* read by the host after a step */
    PLACE_N_CLASSES,
};

/* What the items of a buffer stand for. */
enum place_stack_kind {
    PLACE_STACK_NONE,
    PLACE_STACK_LAYERS,       /* place i is layer first_item + i * item_step */
    PLACE_STACK_MICROBATCHES, /* place i is microbatch i of the device */
    PLACE_STACK_SLOTS,        /* places are used in turn */
    PLACE_STACK_IN_FLIGHT, /* the same, by microbatches of which a pipeline's stage has several */
};
struct place_stack {
    enum place_stack_kind kind;
    int64_t count;
};

/* A dimension of one item of the whole tensor (of a microbatch, not of the step); axes that cut it
 * evenly, the outermost first. */
struct place_dimension {
    const char *name;
    int64_t size;
    struct place_axes cut;
    /* Cut in zigzag: the device's part is one of an order in which the chunks of every block of
     * `chunks` are taken from both ends in turn (0, n-1, 1, n-2 ...). chunks 0: as they are. */
    int64_t chunks, chunk; /* their number, elements of each */
};

/* Bytes of the arena: `count` items, item i at offset_bytes + i * stride_bytes. An item is the
 * device's part of the tensor with these dimensions, row-major; if flat axes are given, that part
 * flattened and cut again: then an item is one chunk, of stride_bytes. Chunks may hold more than
 * the part has: what is behind it is padding. Axes that cut nothing hold copies. */
struct place_buffer {
    const char *name;
    int32_t tensor; /* index into tensors; -1: of none */
    enum place_class class;
    enum place_dtype dtype;
    enum place_tier tier;
    int32_t rank;
    struct place_dimension dims[PLACE_RANK_LIMIT];
    struct place_axes flat;
    /* Along these item i is whole at the place i modulo their size, its owner, and nowhere else. A
     * buffer that is no window has room for what a device owns of it, one item behind the other:
     * item i is where it says that item i divided by their size is. */
    struct place_axes owners;
    /* Outermost first, those that it has not NONE: of two, place i of the first and k of the second,
     * of n, are item i * n + k. What lives from step to step, or is the host's, has one at most. */
    struct place_stack stacks[PLACE_STACKS_LIMIT];
    int64_t count; /* items */
    int64_t slots; /* items that a device has room for: count, but for owners */
    int32_t
        inner; /* of the axes that cut a batch by microbatches: so many, the innermost, inside */
    int64_t first_item;
    int64_t item_step; /* of layers, at least 1 */
    int64_t stride_bytes;
    int64_t offset_bytes; /* in the arena of its tier; not read for a window */
    /* -1, or the buffer of which this is the device's own flat chunk: item i lies inside item i of
     * that buffer at the device's place along the axes of `flat` behind those that cut the buffer
     * itself, which are the first; or it is the item, at its owner. A window has no bytes of its own. */
    int32_t window_of;
};

/* A statement of a step or an op of a unit; the index is the id that runtime calls are given. */
struct place_statement {
    const char *file;
    int32_t line, column; /* from 1; 0: made by the compiler */
    const char *text;     /* short: "reduce_scatter dp" */
    int32_t depth;        /* of a statement of a step: loops around it */
};

/* An all_reduce of up to this many bytes is not cut: among up to `direct_members` it goes whole
 * from each to all others, (N-1)*n bytes in one round, among more in ceil(log2 N) rounds of pairs,
 * n bytes in each. A larger one goes as a ring would, 2(N-1)/N*n in two. The compiler accounts for
 * it so. */
#define PLACE_SMALL_ALL_REDUCE_BYTES 4096

/* A piece of a collective of which a member gives at least this much to another goes between processes as it
 * is; the rest is packed behind a header. */
#define PLACE_DIRECT_PIECE_BYTES   (16 << 10)
#define PLACE_MESSAGE_HEADER_BYTES 48

/* Most blocks that are joined as a tree. */
#define PLACE_BLOCKS_LIMIT 64

/* Bins of a sum of squares that needs no order: of units 2^940, 2^920 ... 2^-480, below the square
 * of the smallest single. */
#define PLACE_SQUARE_BINS 72

/* What executing a statement of a step does to what is alive in the arena. Buffers that live from
 * step to step and those of the host (classes up to RESIDUAL, INPUT, OUTPUT) always are. */
enum place_effect_kind {
    PLACE_ALIVE,    /* the item holds something from here on, also while the statement works */
    PLACE_BORROWED, /* only while the statement works: the frame of a unit */
    PLACE_FREED,    /* the item holds nothing any more */
};
/* A place of a stack: the value of a loop's variable (numbered by depth, outermost 0; -1: none) plus
 * `offset`, its remainder that is not negative by `modulus` if that is not 0. */
struct place_index {
    int32_t variable;
    int64_t offset, modulus;
};
struct place_effect {
    int32_t statement; /* effects are in the order of their statements' ids */
    enum place_effect_kind kind;
    int32_t buffer;                                 /* no window */
    struct place_index indices[PLACE_STACKS_LIMIT]; /* of the item, one for each stack */
};

/* Numbers that the host carries from step to step where the loss is scaled. */
enum place_carried {
    PLACE_LOSS_SCALE, /* of the next step; 0: as the program says */
    PLACE_GOOD_STEPS, /* with finite gradients, one behind the other, since it last changed */
    PLACE_UPDATES,    /* steps that were not skipped */
    PLACE_N_CARRIED
};

/* Buffers with a meaning for the host, as indices; -1: the part has none. */
struct place_wellknown {
    int32_t tokens;        /* i32 [batch, sequence] INPUT, stacked by microbatches */
    int32_t targets;       /* the same, each token's successor; negative: masked */
    int32_t step;          /* f64, 1 in the first step; INPUT */
    int32_t loss;          /* f64, mean over the step's unmasked tokens; OUTPUT */
    int32_t grad_norm;     /* f64, before clipping; OUTPUT */
    int32_t learning_rate; /* f64; OUTPUT */
    int32_t logits;        /* f32 or f64 [batch, sequence, vocab] of `evaluate`; OUTPUT */
    int32_t samples;    /* i32 [batch], the number of each in the step, stacked as tokens; INPUT */
    int32_t microbatch; /* f64, item i the number i of the microbatch; INPUT */
    int32_t layer;      /* f64, item i the number of its layer; INPUT */
    int32_t draw_key;   /* f64, for the numbers that a step draws; 0: it draws none; INPUT */
    int32_t scale;      /* f64, by which the step multiplied its loss; OUTPUT */
    int32_t found[PLACE_N_CARRIED]; /* f64, as the step before left them; INPUT */
    int32_t left[PLACE_N_CARRIED];  /* f64; OUTPUT */
};

/* Predicted bytes of the device with the highest peak, at that moment. */
struct place_memory {
    int64_t peak, parameters, optimizer, gradients, activations, transient;
};

typedef int32_t place_entry(struct place_context *context);

/* The devices whose number along `axes` is from `begin` on, before `end`, and what they do. Every
 * device is in one part; all parts are along the same axes, which cut no buffer of theirs, and have
 * the same entries. */
struct place_part {
    const char *name; /* null: all devices are one part */
    struct place_axes axes;
    int64_t begin, end;
    int64_t arena_bytes[PLACE_N_TIERS]; /* of every device */
    int32_t n_buffers;
    const struct place_buffer *buffers;
    int32_t n_effects;
    const struct place_effect *effects;
    struct place_wellknown wellknown;
    struct place_memory memory;
    place_entry
        *train; /* one step: reads tokens, targets, step; writes loss, grad_norm, learning_rate */
    place_entry
        *evaluate; /* reads tokens, targets; writes loss and logits; null: the program has none */
    place_entry *average; /* averages parameters over the islands; null: there are none */
};

struct place_program {
    int32_t abi_version; /* PLACE_ABI_VERSION of the compiler */
    const char *name;    /* the strategy's */
    const char *plan_hash;
    /* What a checkpoint of it is held against: fields and their values, "heads 4; norm rmsnorm".
     * What makes the function that is trained, which has to be the same, and how it is trained,
     * which may change. Null: nobody knows. */
    const char *model, *training;
    /* The text of a config.json with which Hugging Face's transformers make the same model of its
     * parameters. Null: none of their models is like it. */
    const char *config_json;
    /* What of it the shapes of parameters do not show, fields as above: "n_head! 4" (a file that
     * does not say it says another), "rope.factor 8.0" (of a table of rotary positions),
     * "activation_function gelu_new|gelu_pytorch_tanh" (either). Null: no such file can say it. */
    const char *config_unseen;
    const char
        *config_lacks; /* where there is no text: a field that it cannot say; null: unknown */
    int32_t n_axes;
    const struct place_axis *axes;
    int64_t devices;
    int32_t n_groups;
    const struct place_group *groups;
    int32_t n_handles; /* of collectives, which are 0 .. n_handles-1: so many may be in flight */
    int32_t direct_members; /* of a group whose small all_reduces go from each to all others */
    /* What the messages of a collective between processes take of a rank's memory beside its arena, of
     * the one that takes most, if each rank is a process of its own. */
    int64_t message_bytes;
    int32_t n_tensors;
    const struct place_tensor *tensors;
    int32_t n_statements;
    const struct place_statement *statements; /* of all parts */
    int32_t n_stages; /* of a pipeline, whose tasks are told apart by them; 0: it is none */
    int32_t n_parts;  /* at least 1 */
    const struct place_part *parts;
    /* One step, over all devices. The batch has microbatches * (axes that cut it) * local
     * sequences. */
    int64_t batch, sequence, microbatches, vocab;
    /* Axes over which devices take steps of their own; after each `average_every` steps the
     * parts' `average` makes one model of them again. None: 0. */
    struct place_axes islands;
    int64_t average_every;
    int32_t n_relaxed;
    const struct place_relaxed *relaxed;
    uint64_t seed;
    double flops_per_token; /* 0: not known */
    int64_t rate_ends; /* from this step on a learning rate is 0, by its schedule; 0: none is */
    int32_t library_products; /* 0: it needs no product library, for all its products are ours */
    int32_t
        bf16_products; /* 1: some are of bf16 in any order, so by the CPU's instruction, if any */
    /* Where the installation keeps its shared objects (the MPI transport); null: beside the
     * executable. */
    const char *library_directory;
};

/* ---- running -------------------------------------------------------------------------------- */

/* What an option says that may be given several times, in their order. */
struct place_list {
    const char **items;
    int32_t n;
};

/* What the command line says; all zero is a legal value and means what each comment says. */
struct place_run_options {
    const char *const *texts; /* files of the program's text, which nothing may be written over, and
                               * a null; null: not here */
    struct place_list data;   /* training data, each a file or a pattern; needed when steps > 0 */
    int64_t steps;            /* optimizer steps in all, those before a checkpoint included */
    int32_t has_seed;         /* 0: the program's */
    uint64_t seed;
    struct place_list eval;    /* held-out data: its loss is reported at the end */
    struct place_list targets; /* which tokens of data count as targets; none: all that are there */
    struct place_list eval_targets; /* the same of eval */
    const char *data_type;  /* what data and eval hold, a word of data_kinds.def; null: name or
                               content say */
    int64_t eval_every;     /* and after so many steps each; 0: at the end alone */
    const char *checkpoint; /* folder of checkpoints; null: that of `resume` */
    int64_t save_every;     /* steps from one checkpoint to the next; 0: at the end alone */
    int64_t keep;           /* how many stay; 0: some */
    const char *resume;  /* a checkpoint, or a folder of them, to go on from; null: from nothing */
    const char *from;    /* weights to start from in place of random ones; null: none */
    const char *save;    /* parameters are written here at the end; null: nowhere */
    const char *dump;    /* parameters and optimizer states in logical form; null: nowhere */
    const char *log;     /* JSON lines; null: none */
    const char *memory;  /* what is alive at every statement of the first step; null: nowhere */
    const char *offload; /* folder for what is kept on disk; null: one for temporary files */
    const char *trace;   /* what every thread did when, as trace viewers read it; null: nowhere */
    int64_t sample;      /* tokens to sample after the last step */
    const char *prompt;  /* behind this; null: behind the first of the data */
    int32_t threads;     /* of each rank's team; 0: cores / ranks, at least one */
    int32_t quiet;       /* no header, no progress */
    int32_t profile;     /* print where the time of a step goes */
};

/* The most that may be asked for: beyond is a slip of the hand. */
#define PLACE_MOST_STEPS (INT64_C(1) << 40)
enum { PLACE_MOST_SAMPLED = 1000000, PLACE_MOST_THREADS = 1024 };

/* A whole number, in digits alone. 0: the text is none, or one beyond INT64_MAX. */
int place_number(const char *text, int64_t *number);

/* Whether the options ask for something, and whether each changes anything for what the others say. Tells
 * what is wrong in the name of `program`; returns -1 to go on, else the exit status. */
int place_options_check(const char *program, const struct place_run_options *options);

/* Parses the command line of a built program, or of `placec run` without its own options. On an
 * error or --help prints what there is to say; returns -1 to go on, else the exit status. The texts
 * are argv's, the lists of them to be freed in any case. */
int place_options_parse(int argc, char **argv, struct place_run_options *options);
void place_options_free(struct place_run_options *options);

/* Trains: all ranks of the mesh as threads, or this process's under a launcher. Prints progress to
 * stdout, errors to stderr. Returns the exit status: 0 done, 1 failed, 130 after Ctrl-C. While it
 * runs it handles SIGINT, SIGTERM, SIGHUP, SIGXCPU, SIGUSR2, SIGALRM and SIGPWR, which end it
 * behind the step, and ignores SIGPIPE and SIGXFSZ. */
int place_run(const struct place_program *program, const struct place_run_options *options);

/* Whether this process is to print what every process of a launcher on this machine finds alike: 1
 * in the first, and where there is no launcher. In the others 0 for a warning; for a failure, upon
 * which the launcher ends them all, 0 once it does, and 1 if it has not after some seconds: then
 * the failure is this process's alone. */
int place_speaks(int failing);

/* The main function of a built executable: place_options_parse and place_run. */
int place_main(int argc, char **argv, const struct place_program *program);
