/* Files of tokens and their order (see data.h). */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
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
        snprintf(message, message_bytes, "%s: cannot be read: %s%s", path, file_obstacle(),
                 errno == EMFILE ? "" : "; name a file of text or tokens");
        return -1;
    }
    if (fstat(file->descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
        snprintf(message, message_bytes, "%s: not a regular file; give a file of text or tokens",
                 path);
        return -1;
    }
    file->bytes = status.st_size;
    file->device = status.st_dev;
    file->inode = status.st_ino;
    return 0;
}

static void file_close(struct data_file *file) {
    if (file->path && file->descriptor >= 0)
        close(file->descriptor);
    file->descriptor = -1;
}

static int check_length(struct data_part *part, int64_t sequence, char *message,
                        size_t message_bytes) {
    const struct data_file *file = &part->file;
    part->tokens = file->bytes / part->width;
    part->windows = part->tokens > 0 ? (part->tokens - 1) / sequence : 0;
    if (file->bytes % part->width != 0) {
        snprintf(
            message, message_bytes,
            "%s: %lld byte%s not a whole number of %d-byte tokens; the file is cut short or its "
            "name is wrong",
            file->path, (long long)file->bytes, file->bytes == 1 ? " is" : "s are", part->width);
        return -1;
    }
    if (part->windows == 0) {
        snprintf(
            message, message_bytes,
            "%s: %lld token%s fewer than one sequence of %lld and its successor; give more data "
            "or a shorter train.sequence",
            file->path, (long long)part->tokens, part->tokens == 1 ? " is" : "s are",
            (long long)sequence);
        return -1;
    }
    return 0;
}

static int open_targets(struct data_part *part, const char *path, const char *option, char *message,
                        size_t message_bytes) {
    if (file_open(&part->targets, path, message, message_bytes) != 0)
        return -1;
    if (part->targets.bytes == part->tokens)
        return 0;
    snprintf(message, message_bytes,
             "%s: it has %lld byte%s, but %s has %lld token%s; %s takes a byte for each token, 1 "
             "where it counts as a target, else 0",
             path, (long long)part->targets.bytes, plural_s(part->targets.bytes), part->file.path,
             (long long)part->tokens, plural_s(part->tokens), option);
    return -1;
}

/* The next file. What is text has other tokens than what is not. */
static int open_part(struct dataset *set, const struct place_program *program, char *message,
                     size_t message_bytes) {
    int32_t index = set->n_parts;
    struct data_part *part = &set->parts[index];
    struct data_content content;
    set->n_parts++;
    if (file_open(&part->file, set->files.paths[index], message, message_bytes) != 0 ||
        data_kind_find(part->file.path, part->file.descriptor, part->file.bytes, set->request.type,
                       program->vocab, &content, message, message_bytes) != 0)
        return -1;
    part->kind = content.kind;
    part->width = content.width;
    part->file.begin = content.begin;
    part->file.bytes = content.bytes;
    if ((part->kind == DATA_TEXT) != dataset_is_text(set)) {
        snprintf(message, message_bytes,
                 "%s and %s: one is text and one has tokens, which mean something else; train on "
                 "one kind, or say with --data-type what both are",
                 set->files.paths[0], part->file.path);
        return -1;
    }
    return check_length(part, program->sequence, message, message_bytes) != 0 ||
                   (set->target_files.n > 0 &&
                    open_targets(part, set->target_files.paths[index], set->request.targets_option,
                                 message, message_bytes) != 0)
               ? -1
               : 0;
}

static int find_files(struct dataset *set, char *message, size_t message_bytes) {
    const struct data_request *request = &set->request;
    if (data_files_find(&set->files, &request->names, request->option, message, message_bytes) !=
            0 ||
        data_files_find(&set->target_files, &request->targets, request->targets_option, message,
                        message_bytes) != 0)
        return -1;
    if (set->target_files.n == 0 || set->target_files.n == set->files.n)
        return 0;
    snprintf(
        message, message_bytes,
        "%s names %d file%s and %s %d; give one of targets for each of data, in the same order",
        request->option, set->files.n, plural_s(set->files.n), request->targets_option,
        set->target_files.n);
    return -1;
}

int dataset_open(struct dataset *set, const struct data_request *request,
                 const struct place_program *program, char *message, size_t message_bytes) {
    *set = (struct dataset){.request = *request, .sequence = program->sequence};
    if (find_files(set, message, message_bytes) != 0)
        return -1;
    set->parts = calloc((size_t)set->files.n, sizeof *set->parts);
    if (!set->parts) {
        snprintf(message, message_bytes, "%s: no memory for %d files", request->option,
                 set->files.n);
        return -1;
    }
    while (set->n_parts < set->files.n) {
        if (open_part(set, program, message, message_bytes) != 0)
            return -1;
        struct data_part *part = &set->parts[set->n_parts - 1];
        part->first_window = set->windows;
        set->windows += part->windows;
        set->tokens += part->tokens;
    }
    return 0;
}

void dataset_close(struct dataset *set) {
    for (int32_t i = 0; i < set->n_parts; i++) {
        file_close(&set->parts[i].file);
        file_close(&set->parts[i].targets);
    }
    free(set->parts);
    set->parts = NULL;
    set->n_parts = 0;
    data_files_free(&set->files);
    data_files_free(&set->target_files);
}

static struct data_name name_of(const struct data_files *files) {
    struct data_name name;
    if (files->n == 1)
        snprintf(name.text, sizeof name.text, "%s", files->paths[0]);
    else
        snprintf(name.text, sizeof name.text, "%s and %d more", files->paths[0], files->n - 1);
    return name;
}

struct data_name dataset_name(const struct dataset *set) {
    return name_of(&set->files);
}

struct data_name targets_name(const struct dataset *set) {
    return name_of(&set->target_files);
}

bool dataset_is_text(const struct dataset *set) {
    return set->n_parts > 0 && set->parts[0].kind == DATA_TEXT;
}

/* ---- hashes --------------------------------------------------------------------------------- */

/* The hash of what came before and of one more: the order counts. The hash of one alone is its own.
 * */
static uint64_t join(uint64_t before, uint64_t hash) {
    return before * UINT64_C(0xA0761D6478BD642F) + hash;
}

uint64_t dataset_tokens_hash(const struct dataset *set) {
    uint64_t hash = 0;
    for (int32_t i = 0; i < set->n_parts; i++)
        hash = join(hash, set->parts[i].file.hash);
    return hash;
}

uint64_t dataset_targets_hash(const struct dataset *set) {
    uint64_t hash = 0;
    for (int32_t i = 0; i < set->n_parts; i++)
        hash = join(hash, set->parts[i].targets.hash);
    return hash;
}

uint64_t dataset_hash(const struct dataset *set) {
    uint64_t hash = 0;
    for (int32_t i = 0; i < set->n_parts; i++) {
        const struct data_part *part = &set->parts[i];
        /* Odd, so that each of the three changes the sum whatever the others are. */
        hash = join(hash, part->file.hash + (uint64_t)part->width * UINT64_C(0xD6E8FEB86659FD93) +
                              part->targets.hash * UINT64_C(0x9E3779B97F4A7C15));
    }
    return hash;
}

/* ---- windows -------------------------------------------------------------------------------- */

int64_t dataset_window(const struct dataset *set, uint64_t seed, int64_t index) {
    uint64_t n = (uint64_t)set->windows, epoch = (uint64_t)index / n;
    uint64_t key = random_key(seed, "data") + epoch * UINT64_C(0x9E3779B97F4A7C15);
    return (int64_t)random_permute(key, (uint64_t)index % n, n);
}

/* The file that a window is in. */
static const struct data_part *part_of(const struct dataset *set, int64_t window) {
    int32_t first = 0, last = set->n_parts - 1;
    while (first < last) {
        int32_t middle = first + (last - first + 1) / 2;
        if (set->parts[middle].first_window <= window)
            first = middle;
        else
            last = middle - 1;
    }
    return &set->parts[first];
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
    const struct data_part *part = &set->parts[0];
    struct reader reader = {.file = &part->file, .width = part->width};
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
                              part->file.path);
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
    const struct place_buffer *buffer = &context->part->buffers[index];
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

/* The readers of a file: of the tokens, and of which count as targets. */
struct readers {
    const struct data_part *part;
    struct reader tokens, targets;
};

/* What was read of the same file is kept. */
static void readers_turn_to(struct readers *readers, const struct data_part *part) {
    if (readers->part == part)
        return;
    readers->part = part;
    readers->tokens.file = &part->file;
    readers->tokens.width = part->width;
    readers->targets.file = &part->targets;
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

/* Row of one sample, a window of the readers' file (-1: none): its tokens, or with `shift` 1 their
 * targets. Masked tokens are read as 0. */
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
    readers.part = NULL;
    for (int64_t item = 0; item < samples.buffer->count; item++)
        for (int64_t row = 0; row < samples.rows; row++) {
            int64_t index = first + samples.first + item * samples.step + row;
            int64_t window = order == DATA_SHUFFLED ? dataset_window(set, seed, index)
                             : index < set->windows ? index
                                                    : -1;
            readers_turn_to(&readers, part_of(set, window));
            if (window >= 0)
                window -= readers.part->first_window;
            int32_t status = fill_row(context, &readers, &samples, window, set->sequence, shift,
                                      sample_row(context, &samples, item, row));
            if (status)
                return status;
        }
    return PLACE_OK;
}

int32_t dataset_fill(struct place_context *context, const struct dataset *set,
                     enum data_order order, uint64_t seed, int64_t first) {
    const struct place_wellknown *known = &context->part->wellknown;
    int32_t status = PLACE_OK;
    if (known->tokens >= 0)
        status = fill_buffer(context, set, order, seed, first, known->tokens, 0);
    if (!status && known->targets >= 0)
        status = fill_buffer(context, set, order, seed, first, known->targets, 1);
    return status;
}

void data_number_samples(struct place_context *context) {
    const struct place_wellknown *known = &context->part->wellknown;
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
    const struct place_wellknown *known = &context->part->wellknown;
    int32_t index = known->targets >= 0 ? known->targets : known->tokens;
    int64_t count = 0;
    if (context->part != part_that_tells(program) || index < 0)
        return 0;
    struct samples samples = samples_of(context, index);
    if (!layout_is_first_copy(program, samples.buffer, context->rank))
        return 0;
    for (int64_t item = 0; item < samples.buffer->count; item++) {
        const int32_t *targets = sample_row(context, &samples, item, 0);
        for (int64_t i = 0; i < samples.rows * samples.width; i++)
            count += targets[i] >= 0;
    }
    return count;
}

static void fill_tokens_same(struct place_context *context, const int32_t *tokens, int64_t count) {
    struct samples samples = samples_of(context, context->part->wellknown.tokens);
    for (int64_t item = 0; item < samples.buffer->count; item++)
        for (int64_t row = 0; row < samples.rows; row++) {
            int32_t *at = sample_row(context, &samples, item, row);
            for (int64_t i = 0; i < samples.width; i++) {
                int64_t position = position_of(&samples, i);
                at[i] = position < count ? tokens[position] : 0;
            }
        }
}

void data_fill_same(struct place_context *context, const int32_t *tokens, int64_t count) {
    const struct place_wellknown *known = &context->part->wellknown;
    if (known->tokens >= 0)
        fill_tokens_same(context, tokens, count);
    if (known->targets < 0)
        return;
    const struct place_buffer *targets = &context->part->buffers[known->targets];
    for (int64_t item = 0; item < targets->count; item++)
        memset(layout_item(context, targets, item), 0, (size_t)targets->stride_bytes);
}
