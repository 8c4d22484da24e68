/* Token files and their order (see data.h). */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "runtime/host/data.h"
#include "runtime/host/file.h"
#include "runtime/host/layout.h"
#include "runtime/host/progress.h"
#include "runtime/host/random.h"

static int file_open(struct data_file *file, const char *path, char *message,
                     size_t message_bytes) {
    struct stat status;
    /* A pipe must not wait for its writer. */
    *file = (struct data_file){.path = path,
                               .descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
    if (file->descriptor < 0) {
        snprintf(message, message_bytes, "%s: cannot be read: %s; name a file of text or tokens",
                 path, strerror(errno));
        return -1;
    }
    if (fstat(file->descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
        snprintf(message, message_bytes, "%s: not a regular file; give a file of text or tokens",
                 path);
        return -1;
    }
    file->bytes = status.st_size;
    return 0;
}

static void file_close(struct data_file *file) {
    if (file->path && file->descriptor >= 0)
        close(file->descriptor);
    file->descriptor = -1;
}

static int check_length(struct dataset *set, char *message, size_t message_bytes) {
    const struct data_file *file = &set->file;
    set->tokens = file->bytes / set->width;
    set->windows = set->tokens > 0 ? (set->tokens - 1) / set->sequence : 0;
    if (file->bytes % set->width != 0) {
        snprintf(
            message, message_bytes,
            "%s: %lld byte%s not a whole number of %d-byte tokens; the file is cut short or its "
            "name is wrong",
            file->path, (long long)file->bytes, file->bytes == 1 ? " is" : "s are", set->width);
        return -1;
    }
    if (set->windows == 0) {
        snprintf(
            message, message_bytes,
            "%s: %lld token%s fewer than one sequence of %lld and its successor; give more data "
            "or a shorter train.sequence",
            file->path, (long long)set->tokens, set->tokens == 1 ? " is" : "s are",
            (long long)set->sequence);
        return -1;
    }
    return 0;
}

static int open_targets(struct dataset *set, const struct data_request *request, char *message,
                        size_t message_bytes) {
    if (file_open(&set->targets, request->targets, message, message_bytes) != 0)
        return -1;
    if (set->targets.bytes == set->tokens)
        return 0;
    snprintf(message, message_bytes,
             "%s: it has %lld byte%s, but %s has %lld token%s; %s takes a byte for each token, 1 "
             "where it counts as a target, else 0",
             request->targets, (long long)set->targets.bytes, plural_s(set->targets.bytes),
             request->path, (long long)set->tokens, plural_s(set->tokens), request->targets_option);
    return -1;
}

int dataset_open(struct dataset *set, const struct data_request *request,
                 const struct place_program *program, char *message, size_t message_bytes) {
    struct data_content content;
    *set = (struct dataset){.request = *request, .sequence = program->sequence};
    if (file_open(&set->file, request->path, message, message_bytes) != 0 ||
        data_kind_find(request->path, set->file.descriptor, set->file.bytes, request->type,
                       program->vocab, &content, message, message_bytes) != 0)
        return -1;
    set->kind = content.kind;
    set->width = content.width;
    set->file.begin = content.begin;
    set->file.bytes = content.bytes;
    if (check_length(set, message, message_bytes) != 0)
        return -1;
    return request->targets ? open_targets(set, request, message, message_bytes) : 0;
}

void dataset_close(struct dataset *set) {
    file_close(&set->file);
    file_close(&set->targets);
}

uint64_t dataset_hash(const struct dataset *set) {
    /* Odd, so that each of the three changes the sum whatever the others are. */
    return set->file.hash + (uint64_t)set->width * UINT64_C(0xD6E8FEB86659FD93) +
           set->targets.hash * UINT64_C(0x9E3779B97F4A7C15);
}

int64_t dataset_window(const struct dataset *set, uint64_t seed, int64_t index) {
    uint64_t n = (uint64_t)set->windows, epoch = (uint64_t)index / n;
    uint64_t key = random_key(seed, "data") + epoch * UINT64_C(0x9E3779B97F4A7C15);
    return (int64_t)random_permute(key, (uint64_t)index % n, n);
}

/* ---- reading -------------------------------------------------------------------------------- */

/* The part of a file that was read last: most tokens follow one another. */
struct reader {
    const struct data_file *file;
    int width;        /* bytes of a token, or of what is said of one */
    int64_t first, n; /* tokens */
    unsigned char bytes[4096];
};

static int32_t fail_read(struct place_context *context, const struct data_file *file,
                         int64_t position, int reason) {
    if (reason)
        return context_fail(context, -1, PLACE_ERROR_HOST, "%s: cannot be read: %s", file->path,
                            strerror(reason));
    return context_fail(context, -1, PLACE_ERROR_HOST,
                        "%s: token %lld is gone: the file was cut short while this run reads it; "
                        "give the run a file that nobody changes",
                        file->path, (long long)position);
}

/* Reads on from `position`. */
static int32_t reader_fill(struct place_context *context, struct reader *reader, int64_t position) {
    size_t n = file_read(reader->file->descriptor, reader->bytes, sizeof reader->bytes,
                         reader->file->begin + position * reader->width);
    reader->first = position;
    reader->n = (int64_t)n / reader->width;
    return reader->n > 0 ? PLACE_OK : fail_read(context, reader->file, position, errno);
}

/* Token `position` of the file, -1 for a mask. */
static int32_t read_token(struct place_context *context, struct reader *reader, int64_t position,
                          int64_t *token) {
    int32_t status = PLACE_OK;
    if (position < reader->first || position >= reader->first + reader->n)
        status = reader_fill(context, reader, position);
    if (!status)
        *token =
            data_token(reader->bytes + (position - reader->first) * reader->width, reader->width);
    return status;
}

/* A token that the model knows, or a mask. The scan has seen others, if the file is still as it
 * was. */
static int32_t read_known_token(struct place_context *context, struct reader *reader,
                                int64_t position, int64_t *token) {
    int32_t status = read_token(context, reader, position, token);
    if (!status && *token >= context->program->vocab)
        status = context_fail(context, -1, PLACE_ERROR_HOST,
                              "%s: token %lld at position %lld (byte %lld) is not below the "
                              "vocabulary's %lld; the file was changed while this run reads it",
                              reader->file->path, (long long)*token, (long long)position,
                              (long long)(reader->file->begin + position * reader->width),
                              (long long)context->program->vocab);
    return status;
}

int32_t dataset_begin(struct place_context *context, const struct dataset *set, int64_t *count,
                      int32_t *tokens) {
    struct reader reader = {.file = &set->file, .width = set->width};
    int64_t token = 0, n = 0;
    int32_t status = PLACE_OK;
    while (n < *count && !status && token >= 0) {
        status = read_known_token(context, &reader, n, &token);
        if (!status && token >= 0)
            tokens[n++] = (int32_t)token;
    }
    if (!status && n == 0)
        status = context_fail(context, -1, PLACE_ERROR_HOST,
                              "%s: it begins with the mask, so there is no token to go on from; "
                              "give data that begin with tokens, or leave out --sample",
                              set->file.path);
    *count = n;
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

/* A dataset's readers: of the tokens, and of which count as targets. */
struct readers {
    struct reader tokens, targets;
};

static void readers_begin(struct readers *readers, const struct dataset *set) {
    readers->tokens.file = &set->file;
    readers->tokens.width = set->width;
    readers->targets.file = &set->targets;
    readers->targets.width = 1;
    readers->tokens.n = readers->targets.n = 0;
    readers->tokens.first = readers->targets.first = 0;
}

/* What follows the token at a position, or -1 where it does not count. Where nothing stands there
 * is nothing to predict it from. */
static int32_t read_target(struct place_context *context, struct readers *readers, int64_t position,
                           int64_t *token) {
    int64_t counts = 1;
    int32_t status = read_token(context, &readers->tokens, position, token);
    if (!status && *token >= 0)
        status = read_known_token(context, &readers->tokens, position + 1, token);
    if (!status && readers->targets.file->path)
        status = read_token(context, &readers->targets, position + 1, &counts);
    if (!counts)
        *token = -1;
    return status;
}

/* Row of one sample: its tokens, or with `shift` 1 their targets. Masked tokens are read as 0. */
static int32_t fill_row(struct place_context *context, struct readers *readers,
                        const struct samples *samples, int64_t window, int64_t sequence, int shift,
                        int32_t *row) {
    int32_t status = PLACE_OK;
    for (int64_t i = 0; i < samples->width && !status; i++) {
        int64_t position = window * sequence + position_of(samples, i), token = -1;
        if (window >= 0)
            status = shift ? read_target(context, readers, position, &token)
                           : read_known_token(context, &readers->tokens, position, &token);
        row[i] = token < 0 && !shift ? 0 : (int32_t)token;
    }
    return status;
}

static int32_t fill_buffer(struct place_context *context, const struct dataset *set,
                           enum data_order order, uint64_t seed, int64_t first, int32_t buffer,
                           int shift) {
    struct samples samples = samples_of(context, buffer);
    struct readers readers;
    readers_begin(&readers, set);
    for (int64_t item = 0; item < samples.buffer->count; item++)
        for (int64_t row = 0; row < samples.rows; row++) {
            int64_t index = first + samples.first + item * samples.step + row;
            int64_t window = order == DATA_SHUFFLED ? dataset_window(set, seed, index)
                             : index < set->windows ? index
                                                    : -1;
            int32_t status = fill_row(context, &readers, &samples, window, set->sequence, shift,
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
