/* A program written by hand as the compiler would write one: a table [vocab, vocab] of next-token
 * logits, its parameters and gradients sharded flat over `dp`, trained by SGD. It is an executable
 * like a built one, so that everything around a step can be tested without the compiler;
 * runtime_linear_test.py drives it.
 *
 * LINEAR_DEVICES sets the size of dp (1), LINEAR_COPIES of a second axis along which everything is
 * held twice (1). LINEAR_RATE the learning rate. LINEAR_FAULT plants a fault in step 3: "nan" (the
 * loss), "nan norm", "nan eval" (whenever the loss is that of held-out data),
 * "burst" (parameters become no numbers),
 * "deadlock" (rank 1 leaves out a collective), "break" (it fails while the others are about to read
 * from it), "slow" (every step takes 50 ms), "hang" (in the first step), "drift" (the last rank's
 * parameters are a bit off: of copies, one). LINEAR_ARENA adds bytes to
 * the arena. LINEAR_AHEAD makes the table's gather arrive before it is waited for, or the run fail.
 * LINEAR_PARAMETERS, "bf16" or "f16", is their type: the table is the copy that is updated then.
 * LINEAR_MODEL and LINEAR_TRAINING are what a checkpoint is held against.
 * LINEAR_MOVES makes every step exchange numbers by the collectives that training has no
 * use for here, and look at what came. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "runtime/calls.h"
#include "runtime/context.h"
#include "runtime/transport/collective.h"
#include "tests/try.h"

enum { VOCAB = 256, SEQUENCE = 16, BATCH = 16, MICROBATCHES = 2, ELEMENTS = VOCAB * VOCAB };
enum {
    W,
    G,
    WHOLE,
    GRADIENT,
    TOKENS,
    TARGETS,
    LOGITS,
    LSE,
    DLOGITS,
    STEP,
    LOSS,
    NORM,
    RATE,
    COUNT,
    SCALE,
    NARROW,
    N_BUFFERS
};

static struct place_axis axes[] = {{"dp", 1, 1}, {"copy", 1, 1}};
static const struct place_tensor tensors[] = {{.name = "table",
                                               .init = PLACE_INIT_NORMAL,
                                               .init_std = 0.02,
                                               .saved_name = "table.weight",
                                               .saved_rows = VOCAB,
                                               .saved_transposed = 1}};
static const struct place_statement statements[] = {{"linear.place", 1, 1, "all_gather dp", 0},
                                                    {"linear.place", 2, 1, "reduce_scatter dp", 0},
                                                    {"linear.place", 3, 1, "all_reduce dp", 0},
                                                    {"linear.place", 4, 1, "compute", 0}};
static struct place_group groups[] = {{{1, {0}}, "dp", 0}};
static struct place_buffer buffers[N_BUFFERS];
static struct place_part part;
static struct place_program program;
static const char *fault = "";
static double base_rate = 20;

static void *bytes_of(struct place_context *context, int buffer, int64_t item) {
    return (char *)context->head.arenas[PLACE_DEVICE] + buffers[buffer].offset_bytes +
           item * buffers[buffer].stride_bytes;
}

static void pause_ms(long ms) {
    nanosleep(&(struct timespec){0, ms * 1000000}, NULL);
}

static int breaks(struct place_context *context, int32_t statement) {
    return strcmp(fault, "break") == 0 && statement == 1 &&
           *(double *)bytes_of(context, STEP, 0) == 3;
}

static int32_t break_between(struct place_context *context, int32_t statement) {
    if (context->rank == 1)
        return context_fail(context, statement, PLACE_ERROR_ARGUMENT, "broken");
    pause_ms(100);
    return PLACE_OK;
}

static int32_t collective(struct place_context *context, int32_t statement, int32_t kind,
                          int32_t dtype, int from, int to, int64_t chunk, int64_t valid) {
    struct place_piece piece = {
        bytes_of(context, from, 0), bytes_of(context, to, 0), 1, chunk, valid, 0};
    int32_t status =
        place_collective_start(context, statement, 0, kind, 0, dtype, PLACE_SUM, 0, 1, &piece);
    if (!status && breaks(context, statement))
        status = break_between(context, statement);
    return status ? status : place_collective_wait(context, statement, 0);
}

static int64_t rows_per_microbatch(void) {
    return BATCH / MICROBATCHES / axes[0].size * SEQUENCE;
}
static int64_t chunk_elements(void) {
    return (ELEMENTS + axes[0].size - 1) / axes[0].size;
}

/* The table, of which nothing is there yet; then kernels, until all of it is. */
static int32_t gather_ahead(struct place_context *context) {
    uint32_t *whole = bytes_of(context, WHOLE, 0);
    struct place_piece piece = {bytes_of(context, W, 0), whole, 1, chunk_elements(), ELEMENTS, 0};
    time_t end = time(NULL) + 30;
    memset(whole, 0xff, ELEMENTS * sizeof *whole);
    TRY(place_collective_start(context, 0, 0, PLACE_ALL_GATHER, 0, PLACE_F32, PLACE_SUM, 0, 1,
                               &piece));
    for (int64_t i = 0; i < ELEMENTS; i++)
        while (((volatile uint32_t *)whole)[i] == UINT32_MAX) {
            if (time(NULL) > end)
                return context_fail(context, 0, PLACE_ERROR_HOST, "nothing came before the wait");
            TRY(place_fill_zero(context, 3, buffers[DLOGITS].stride_bytes,
                                bytes_of(context, DLOGITS, 0)));
        }
    return place_collective_wait(context, 0, 0);
}

static int32_t gather(struct place_context *context) {
    if (getenv("LINEAR_AHEAD"))
        return gather_ahead(context);
    return collective(context, 0, PLACE_ALL_GATHER, PLACE_F32, W, WHOLE, chunk_elements(),
                      ELEMENTS);
}

/* Gathers the table, and computes logits and summed loss of every microbatch; with gradients if
 * wanted. */
static int32_t forward(struct place_context *context, int backward) {
    int64_t rows = rows_per_microbatch();
    TRY(gather(context));
    for (int m = 0; m < MICROBATCHES; m++)
        TRY(place_count_tokens(context, 3, rows, bytes_of(context, TARGETS, m),
                               bytes_of(context, COUNT, 0), m > 0));
    TRY(collective(context, 2, PLACE_ALL_REDUCE, PLACE_F64, COUNT, COUNT, 0, 1));
    TRY(place_scalar_divide(context, 3, 1, bytes_of(context, COUNT, 0),
                            bytes_of(context, SCALE, 0)));
    for (int m = 0; m < MICROBATCHES; m++) {
        const void *tokens = bytes_of(context, TOKENS, m), *targets = bytes_of(context, TARGETS, m);
        void *logits = bytes_of(context, LOGITS, 0);
        TRY(place_embedding(context, 3, PLACE_F32, rows, VOCAB, tokens, 0, VOCAB,
                            bytes_of(context, WHOLE, 0), logits));
        TRY(place_cross_entropy(context, 3, PLACE_F32, rows, VOCAB, logits, targets,
                                bytes_of(context, LOSS, 0), m > 0, bytes_of(context, LSE, 0)));
        if (!backward)
            continue;
        void *dlogits = bytes_of(context, DLOGITS, 0);
        TRY(place_cross_entropy_backward(context, 3, PLACE_F32, rows, VOCAB, 0, logits, targets,
                                         bytes_of(context, LSE, 0), bytes_of(context, SCALE, 0),
                                         dlogits));
        TRY(place_embedding_backward(context, 3, PLACE_F32, PLACE_F32, rows, 1, 0, VOCAB, tokens, 0,
                                     VOCAB, dlogits, bytes_of(context, GRADIENT, 0), m > 0));
    }
    TRY(collective(context, 2, PLACE_ALL_REDUCE, PLACE_F64, LOSS, LOSS, 0, 1));
    *(double *)bytes_of(context, LOSS, 0) *= *(double *)bytes_of(context, SCALE, 0);
    return PLACE_OK;
}

/* Number i of member m of dp is 100 m + i. */
enum { MOVED = 8 };

static int32_t move(struct place_context *context, int32_t kind, int32_t operation, int32_t shift,
                    struct place_piece piece) {
    int32_t status =
        place_collective_start(context, 0, 0, kind, 0, PLACE_F64, operation, shift, 1, &piece);
    return status ? status : place_collective_wait(context, 0, 0);
}

static int32_t moves(struct place_context *context) {
    int n = (int)axes[0].size, me = (int)context->head.coordinates[0], count = MOVED * n;
    double src[MOVED * 8], dst[MOVED * 8];
    int wrong = 0;
    for (int i = 0; i < count; i++)
        src[i] = 100 * me + i;
    struct place_piece piece = {src, dst, 2, MOVED / 2, count, 1};
    TRY(move(context, PLACE_ALL_TO_ALL, PLACE_SUM, 0, piece)); /* [2, n * 4] to [n * 2, 4] */
    for (int i = 0; i < count; i++) {
        int row = i % MOVED / (MOVED / 2), column = i % (MOVED / 2);
        wrong += dst[i] != 100 * (i / MOVED) + row * count / 2 + me * MOVED / 2 + column;
    }
    piece = (struct place_piece){src, dst, 1, 0, count, 0};
    TRY(move(context, PLACE_PERMUTE, PLACE_SUM, 1, piece));
    for (int i = 0; i < count; i++)
        wrong += dst[i] != 100 * ((me + n - 1) % n) + i;
    TRY(move(context, PLACE_ALL_REDUCE, PLACE_MAX, 0, piece));
    for (int i = 0; i < count; i++)
        wrong += dst[i] != 100 * (n - 1) + i;
    return wrong ? context_fail(context, 0, PLACE_ERROR_HOST, "%d numbers went astray", wrong)
                 : PLACE_OK;
}

static int64_t moved_bytes(void) {
    int64_t n = axes[0].size, local = MOVED * n * 8;
    return (n - 1) * local / n + (n > 1 ? local : 0) + (n - 1) * local;
}

static int32_t evaluate(struct place_context *context) {
    TRY(forward(context, 0));
    if (strcmp(fault, "nan eval") == 0) {
        *(double *)bytes_of(context, LOSS, 0) = -NAN;
        for (int i = 0; i < SEQUENCE * VOCAB; i++)
            ((float *)bytes_of(context, LOGITS, 0))[i] = -NAN;
    }
    return PLACE_OK;
}

/* Rounds the table to parameters, where there are such. */
static void round_table(struct place_context *context) {
    if (part.n_buffers > NARROW)
        round_elements(buffers[NARROW].dtype, bytes_of(context, NARROW, 0), bytes_of(context, W, 0),
                       chunk_elements());
}

static int32_t train(struct place_context *context) {
    double step = *(double *)bytes_of(context, STEP, 0);
    double *norm = bytes_of(context, NORM, 0), *rate = bytes_of(context, RATE, 0);
    if (strcmp(fault, "slow") == 0)
        pause_ms(50);
    while (strcmp(fault, "hang") == 0)
        pause_ms(50);
    TRY(forward(context, 1));
    if (getenv("LINEAR_MOVES"))
        TRY(moves(context));
    if (step == 3 && strcmp(fault, "deadlock") == 0 && context->rank == 1)
        return PLACE_OK;
    TRY(collective(context, 1, PLACE_REDUCE_SCATTER, PLACE_F32, GRADIENT, G, chunk_elements(),
                   ELEMENTS));
    TRY(place_square_sum(context, 3, PLACE_F32, chunk_elements(), bytes_of(context, G, 0), norm,
                         0));
    TRY(collective(context, 2, PLACE_ALL_REDUCE, PLACE_F64, NORM, NORM, 0, 1));
    *norm = sqrt(*norm);
    *rate = step == 3 && strcmp(fault, "burst") == 0 ? INFINITY : base_rate;
    if (step == 3 && strcmp(fault, "nan") == 0)
        *(double *)bytes_of(context, LOSS, 0) = -NAN;
    if (step == 3 && strcmp(fault, "nan norm") == 0)
        *norm = -NAN;
    TRY(place_sgd(context, 3, PLACE_F32, PLACE_F32, PLACE_F32, chunk_elements(),
                  bytes_of(context, W, 0), bytes_of(context, G, 0), NULL, rate, NULL, 0));
    if (step == 3 && strcmp(fault, "drift") == 0 && context->rank == program.devices - 1)
        *(uint32_t *)bytes_of(context, W, 0) ^= 1;
    round_table(context);
    return PLACE_OK;
}

/* ---- the descriptor ---------------------------------------------------------------------------
 */

static const struct place_axes none = {0}, over_dp = {1, {0}};

static void add_buffer(int index, const char *name, enum place_class class, enum place_dtype dtype,
                       int64_t items, int rank, struct place_dimension a, struct place_dimension b,
                       struct place_dimension c) {
    struct place_buffer *buffer = &buffers[index];
    *buffer = (struct place_buffer){.name = name,
                                    .item_step = 1,
                                    .tensor = -1,
                                    .class = class,
                                    .dtype = dtype,
                                    .rank = rank,
                                    .dims = {a, b, c},
                                    .count = items,
                                    .slots = items,
                                    .window_of = -1};
    if (items > 1)
        buffer->stacks[0] = (struct place_stack){PLACE_STACK_MICROBATCHES, items};
    int64_t elements = 1;
    for (int i = 0; i < rank; i++)
        elements *= buffer->dims[i].size / (buffer->dims[i].cut.n ? axes[0].size : 1);
    if (index == W || index == G || index == WHOLE || index == GRADIENT || index == NARROW) {
        int flat = index == W || index == G || index == NARROW;
        buffer->tensor = flat ? 0 : -1;
        buffer->flat = flat ? over_dp : none;
        elements = chunk_elements() * (flat ? 1 : axes[0].size); /* room for the padding */
    }
    buffer->stride_bytes = elements * dtype_size(dtype);
    buffer->offset_bytes = part.arena_bytes[PLACE_DEVICE];
    part.arena_bytes[PLACE_DEVICE] += (buffer->stride_bytes * items + 63) / 64 * 64;
}

static void describe(void) {
    struct place_dimension none_dim = {0}, vocab = {.name = "vocab", .size = VOCAB, .cut = none},
                           batch = {.name = "batch", .size = BATCH / MICROBATCHES, .cut = over_dp},
                           sequence = {.name = "sequence", .size = SEQUENCE, .cut = none};
#define ADD(index, class, dtype, items, rank, ...)                                                 \
    add_buffer(index, #index, PLACE_##class, PLACE_##dtype, items, rank, __VA_ARGS__)
    ADD(W, PARAMETERS, F32, 1, 2, vocab, vocab, none_dim);
    ADD(G, GRADIENTS, F32, 1, 2, vocab, vocab, none_dim);
    ADD(WHOLE, TRANSIENT, F32, 1, 2, vocab, vocab, none_dim);
    ADD(GRADIENT, TRANSIENT, F32, 1, 2, vocab, vocab, none_dim);
    ADD(TOKENS, INPUT, I32, MICROBATCHES, 2, batch, sequence, none_dim);
    ADD(TARGETS, INPUT, I32, MICROBATCHES, 2, batch, sequence, none_dim);
    ADD(LOGITS, OUTPUT, F32, 1, 3, batch, sequence, vocab);
    ADD(LSE, TRANSIENT, F32, 1, 2, batch, sequence, none_dim);
    ADD(DLOGITS, TRANSIENT, F32, 1, 3, batch, sequence, vocab);
    for (int i = STEP; i < NARROW; i++)
        add_buffer(i, "scalar", i == STEP ? PLACE_INPUT : PLACE_OUTPUT, PLACE_F64, 1, 0, none_dim,
                   none_dim, none_dim);
    const char *narrow = getenv("LINEAR_PARAMETERS");
    part.n_buffers = narrow ? N_BUFFERS : NARROW;
    if (narrow) {
        buffers[W].class = PLACE_MASTER;
        add_buffer(NARROW, "NARROW", PLACE_PARAMETERS,
                   strcmp(narrow, "f16") == 0 ? PLACE_F16 : PLACE_BF16, 1, 2, vocab, vocab,
                   none_dim);
    }
    int64_t n = axes[0].size, padded = chunk_elements() * n;
    groups[0].train_bytes = 2 * (n - 1) * padded / n * 4 + 3 * (n - 1) * 8;
    if (getenv("LINEAR_MOVES"))
        groups[0].train_bytes += moved_bytes();
    const char *extra = getenv("LINEAR_ARENA");
    part.arena_bytes[PLACE_DEVICE] += extra ? atoll(extra) : 0;
}

int main(int argc, char **argv) {
    const char *devices = getenv("LINEAR_DEVICES"), *rate = getenv("LINEAR_RATE");
    const char *copies = getenv("LINEAR_COPIES");
    axes[0].size = devices ? atoi(devices) : 1;
    axes[1].size = axes[0].stride = copies ? atoi(copies) : 1;
    base_rate = rate ? atof(rate) : base_rate;
    fault = getenv("LINEAR_FAULT") ? getenv("LINEAR_FAULT") : "";
    program = (struct place_program){
        .abi_version = PLACE_ABI_VERSION,
        .name = "linear",
        .plan_hash = "00c0ffee",
        .model = getenv("LINEAR_MODEL"),
        .training = getenv("LINEAR_TRAINING"),
        .n_axes = copies ? 2 : 1,
        .axes = axes,
        .devices = axes[0].size * axes[1].size,
        .n_groups = 1,
        .groups = groups,
        .n_tensors = 1,
        .tensors = tensors,
        .n_parts = 1,
        .parts = &part,
        .n_handles = 1,
        .message_bytes = INT64_C(64) << 20,
        .direct_members = (int32_t)(axes[0].size * axes[1].size), /* as group_bytes has it */
        .n_statements = 4,
        .statements = statements,
        .batch = BATCH,
        .sequence = SEQUENCE,
        .microbatches = MICROBATCHES,
        .vocab = VOCAB,
        .seed = 1,
    };
    part = (struct place_part){
        .end = 1,
        .buffers = buffers,
        .wellknown = {TOKENS,
                      TARGETS,
                      STEP,
                      LOSS,
                      NORM,
                      RATE,
                      LOGITS,
                      -1,
                      -1,
                      -1,
                      -1,
                      -1,
                      {-1, -1, -1},
                      {-1, -1, -1}},
        .train = train,
        .evaluate = evaluate,
    };
    describe();
    if (getenv("LINEAR_PREDICT")) /* for the test: bytes sent per step */
        return printf("%lld %lld\n", (long long)groups[0].train_bytes,
                      (long long)part.arena_bytes[PLACE_DEVICE]) < 0;
    return place_main(argc, argv, &program);
}
