/* Token files and their order (see data.h). */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "runtime/host/data.h"
#include "runtime/host/layout.h"
#include "runtime/host/random.h"

static int token_width(const char *path) {
    size_t length = strlen(path);
    const char *end = length >= 4 ? path + length - 4 : "";
    return strcmp(end, ".u16") == 0 ? 2 : strcmp(end, ".u32") == 0 ? 4 : 1;
}

static int check_file(struct dataset *set, char *message, size_t message_bytes) {
    struct stat status;
    if (fstat(set->descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
        snprintf(message, message_bytes, "%s: not a regular file; give a file of text or tokens",
                 set->path);
        return -1;
    }
    set->size_bytes = status.st_size;
    return 0;
}

static int check_length(struct dataset *set, char *message, size_t message_bytes) {
    set->tokens = set->size_bytes / set->width;
    set->windows = set->tokens > 0 ? (set->tokens - 1) / set->sequence : 0;
    if (set->size_bytes % set->width != 0) {
        snprintf(
            message, message_bytes,
            "%s: %lld bytes are not a whole number of %d-byte tokens; the file is cut short or "
            "its name is wrong",
            set->path, (long long)set->size_bytes, set->width);
        return -1;
    }
    if (set->windows == 0) {
        snprintf(message, message_bytes,
                 "%s: %lld tokens are fewer than one sequence of %lld and its successor; give more "
                 "data or a shorter train.sequence",
                 set->path, (long long)set->tokens, (long long)set->sequence);
        return -1;
    }
    return 0;
}

int dataset_open(struct dataset *set, const char *path, int64_t sequence, char *message,
                 size_t message_bytes) {
    *set = (struct dataset){.path = path, .width = token_width(path), .sequence = sequence};
    /* A pipe must not wait for its writer. */
    set->descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (set->descriptor < 0) {
        snprintf(message, message_bytes, "%s: cannot be read: %s; name a file of text or tokens",
                 path, strerror(errno));
        return -1;
    }
    int status = check_file(set, message, message_bytes);
    if (status == 0)
        status = check_length(set, message, message_bytes);
    if (status != 0)
        dataset_close(set);
    return status;
}

void dataset_close(struct dataset *set) {
    if (set->descriptor >= 0)
        close(set->descriptor);
    set->descriptor = -1;
}

int64_t dataset_window(const struct dataset *set, uint64_t seed, int64_t index) {
    uint64_t n = (uint64_t)set->windows, epoch = (uint64_t)index / n;
    uint64_t key = random_key(seed, "data") + epoch * UINT64_C(0x9E3779B97F4A7C15);
    return (int64_t)random_permute(key, (uint64_t)index % n, n);
}

/* ---- reading -------------------------------------------------------------------------------- */

/* The part of the file that was read last: most tokens follow one another. */
struct reader {
    const struct dataset *set;
    int64_t first, n; /* tokens */
    unsigned char bytes[4096];
};

static int32_t fail_read(struct place_context *context, const struct dataset *set, int64_t position,
                         int reason) {
    if (reason)
        return context_fail(context, -1, PLACE_ERROR_HOST, "%s: cannot be read: %s", set->path,
                            strerror(reason));
    return context_fail(context, -1, PLACE_ERROR_HOST,
                        "%s: token %lld is gone: the file was cut short while this run reads it; "
                        "give the run a file that nobody changes",
                        set->path, (long long)position);
}

/* Reads on from `position`. */
static int32_t reader_fill(struct place_context *context, struct reader *reader, int64_t position) {
    const struct dataset *set = reader->set;
    ssize_t n;
    do
        n = pread(set->descriptor, reader->bytes, sizeof reader->bytes, position * set->width);
    while (n < 0 && errno == EINTR);
    reader->first = position;
    reader->n = n < 0 ? 0 : n / set->width;
    return reader->n > 0 ? PLACE_OK : fail_read(context, set, position, n < 0 ? errno : 0);
}

static int64_t token_at(const unsigned char *at, int width) {
    if (width == 1)
        return at[0];
    if (width == 2) {
        uint16_t token = (uint16_t)(at[0] | at[1] << 8);
        return token == UINT16_MAX ? -1 : token;
    }
    uint32_t token = at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
    return token == UINT32_MAX ? -1 : (int64_t)token;
}

/* Token `position` of the file, -1 for a mask. */
static int32_t read_token(struct place_context *context, struct reader *reader, int64_t position,
                          int64_t *token) {
    int32_t status = PLACE_OK;
    if (position < reader->first || position >= reader->first + reader->n)
        status = reader_fill(context, reader, position);
    if (!status)
        *token = token_at(reader->bytes + (position - reader->first) * reader->set->width,
                          reader->set->width);
    return status;
}

static int32_t fail_token(struct place_context *context, const struct dataset *set,
                          int64_t position, int64_t token) {
    return context_fail(context, -1, PLACE_ERROR_HOST,
                        "%s: token %lld at position %lld (byte %lld) is not below the vocabulary's "
                        "%lld; use data made for this model or set model.vocab",
                        set->path, (long long)token, (long long)position,
                        (long long)(position * set->width), (long long)context->program->vocab);
}

/* A token that the model knows, or a mask. */
static int32_t read_known_token(struct place_context *context, struct reader *reader,
                                int64_t position, int64_t *token) {
    int32_t status = read_token(context, reader, position, token);
    if (!status && *token >= context->program->vocab)
        status = fail_token(context, reader->set, position, *token);
    return status;
}

int32_t dataset_begin(struct place_context *context, const struct dataset *set, int64_t count,
                      int32_t *tokens) {
    struct reader reader = {.set = set};
    int64_t token = 0;
    int32_t status = PLACE_OK;
    for (int64_t i = 0; i < count && !status; i++) {
        status = read_known_token(context, &reader, i, &token);
        tokens[i] = token < 0 ? 0 : (int32_t)token;
    }
    return status;
}

/* ---- a rank's samples ----------------------------------------------------------------------- */

/* The rank's part of what is by samples: of the batch, the axes that cut it are the outermost
 * digits, but for those that the microbatches stand around; then the microbatch, then these axes,
 * then what is local. */
struct samples {
    const struct place_buffer *buffer;
    int64_t first;                          /* sample of the step that row 0 of microbatch 0 is */
    int64_t step;                           /* from a microbatch to the next */
    int64_t rows;                           /* of a microbatch */
    const struct place_dimension *sequence; /* null: a sample has one number */
    int64_t begin, width;                   /* places of the sequence */
};

static struct samples samples_of(const struct place_context *context, int32_t index) {
    const struct place_program *program = context->program;
    const struct place_buffer *buffer = &program->buffers[index];
    const struct place_dimension *batch = &buffer->dims[0], *sequence = &buffer->dims[1];
    struct samples samples = {.buffer = buffer, .width = 1};
    samples.rows = batch->size / axes_parts(program, &batch->cut);
    struct place_axes outer = {.n = batch->cut.n - buffer->inner}, inner = {.n = buffer->inner};
    memcpy(outer.axes, batch->cut.axes, (size_t)outer.n);
    memcpy(inner.axes, batch->cut.axes + outer.n, (size_t)inner.n);
    samples.step = axes_parts(program, &inner) * samples.rows;
    samples.first = axes_place(program, &outer, context->rank) * buffer->count * samples.step +
                    axes_place(program, &inner, context->rank) * samples.rows;
    if (buffer->rank == 1)
        return samples;
    samples.sequence = sequence;
    samples.width = sequence->size / axes_parts(program, &sequence->cut);
    samples.begin = axes_place(program, &sequence->cut, context->rank) * samples.width;
    return samples;
}

static int64_t position_of(const struct samples *samples, int64_t i) {
    return dimension_element(samples->sequence, samples->begin + i);
}

static int32_t *sample_row(struct place_context *context, const struct samples *samples,
                           int64_t item, int64_t row) {
    return (int32_t *)layout_item(context, samples->buffer, item) + row * samples->width;
}

/* What follows the token at a position, or -1. Where nothing stands there is nothing to predict it
 * from. */
static int32_t read_target(struct place_context *context, struct reader *reader, int64_t position,
                           int64_t *token) {
    int32_t status = read_token(context, reader, position, token);
    return status || *token < 0 ? status : read_known_token(context, reader, position + 1, token);
}

/* Row of one sample: its tokens, or with `shift` 1 their targets. Masked tokens are read as 0. */
static int32_t fill_row(struct place_context *context, struct reader *reader,
                        const struct samples *samples, int64_t window, int shift, int32_t *row) {
    int32_t status = PLACE_OK;
    for (int64_t i = 0; i < samples->width && !status; i++) {
        int64_t position = window * reader->set->sequence + position_of(samples, i), token = -1;
        if (window >= 0)
            status = shift ? read_target(context, reader, position, &token)
                           : read_known_token(context, reader, position, &token);
        row[i] = token < 0 && !shift ? 0 : (int32_t)token;
    }
    return status;
}

static int32_t fill_buffer(struct place_context *context, const struct dataset *set,
                           enum data_order order, uint64_t seed, int64_t first, int32_t buffer,
                           int shift) {
    struct samples samples = samples_of(context, buffer);
    struct reader reader = {.set = set};
    for (int64_t item = 0; item < samples.buffer->count; item++)
        for (int64_t row = 0; row < samples.rows; row++) {
            int64_t index = first + samples.first + item * samples.step + row;
            int64_t window = order == DATA_SHUFFLED ? dataset_window(set, seed, index)
                             : index < set->windows ? index
                                                    : -1;
            int32_t status = fill_row(context, &reader, &samples, window, shift,
                                      sample_row(context, &samples, item, row));
            if (status)
                return status;
        }
    return PLACE_OK;
}

int32_t dataset_fill(struct place_context *context, const struct dataset *set,
                     enum data_order order, uint64_t seed, int64_t first) {
    const struct place_wellknown *known = &context->program->wellknown;
    int32_t status = fill_buffer(context, set, order, seed, first, known->tokens, 0);
    if (!status && known->targets >= 0)
        status = fill_buffer(context, set, order, seed, first, known->targets, 1);
    return status;
}

void data_number_samples(struct place_context *context) {
    const struct place_wellknown *known = &context->program->wellknown;
    if (known->samples < 0)
        return;
    struct samples samples = samples_of(context, known->samples);
    for (int64_t item = 0; item < samples.buffer->count; item++)
        for (int64_t row = 0; row < samples.rows; row++)
            *sample_row(context, &samples, item, row) =
                (int32_t)(samples.first + item * samples.step + row);
}

int64_t data_targets(struct place_context *context) {
    const struct place_program *program = context->program;
    const struct place_wellknown *known = &program->wellknown;
    int32_t index = known->targets >= 0 ? known->targets : known->tokens;
    struct samples samples = samples_of(context, index);
    int64_t count = 0;
    if (!layout_is_first_copy(program, samples.buffer, context->rank))
        return 0;
    for (int64_t item = 0; item < samples.buffer->count; item++) {
        const int32_t *targets = sample_row(context, &samples, item, 0);
        for (int64_t i = 0; i < samples.rows * samples.width; i++)
            count += targets[i] >= 0;
    }
    return count;
}

void data_fill_same(struct place_context *context, const int32_t *tokens, int64_t count) {
    const struct place_wellknown *known = &context->program->wellknown;
    struct samples samples = samples_of(context, known->tokens);
    for (int64_t item = 0; item < samples.buffer->count; item++)
        for (int64_t row = 0; row < samples.rows; row++) {
            int32_t *at = sample_row(context, &samples, item, row);
            for (int64_t i = 0; i < samples.width; i++) {
                int64_t position = position_of(&samples, i);
                at[i] = position < count ? tokens[position] : 0;
            }
        }
    if (known->targets < 0)
        return;
    const struct place_buffer *targets = &context->program->buffers[known->targets];
    for (int64_t item = 0; item < targets->count; item++)
        memset(layout_item(context, targets, item), 0, (size_t)targets->stride_bytes);
}
