/* What a checkpoint says of itself (see manifest.h). */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/host/content_hash.h"
#include "runtime/host/json_reader.h"
#include "runtime/host/log.h"
#include "runtime/host/manifest.h"
#include "runtime/host/safetensors.h"

#define FORMAT "place checkpoint"
/* The last line; its digits are a sum of all that stands before it. */
#define SUM_FORMAT ",\n\"sum\": \"%016" PRIx64 "\"}\n"
enum { SUM_BYTES = sizeof ",\n\"sum\": \"0123456789abcdef\"}\n" - 1, TENSOR_TEXT_BYTES = 4096 };

/* ---- printing ------------------------------------------------------------------------------- */

struct text {
    char *bytes;
    size_t n, capacity; /* capacity 0: no memory */
};

static bool text_reserve(struct text *text, size_t more) {
    if (text->capacity - text->n > more)
        return true;
    size_t capacity = 2 * (text->capacity + more);
    char *grown = text->capacity ? realloc(text->bytes, capacity) : NULL;
    if (!grown) {
        free(text->bytes);
        *text = (struct text){0};
        return false;
    }
    text->bytes = grown;
    text->capacity = capacity;
    return true;
}

static void text_add(struct text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void text_add(struct text *text, const char *format, ...) {
    va_list arguments;
    if (!text_reserve(text, TENSOR_TEXT_BYTES))
        return;
    va_start(arguments, format);
    text->n += (size_t)vsnprintf(text->bytes + text->n, TENSOR_TEXT_BYTES, format, arguments);
    va_end(arguments);
}

static void text_quote(struct text *text, const char *string) {
    if (text_reserve(text, TENSOR_TEXT_BYTES))
        text->n += quote_json(text->bytes + text->n, TENSOR_TEXT_BYTES, string);
}

static void print_field(struct text *text, const char *name, const char *string) {
    text_add(text, ",\n\"%s\": ", name);
    text_quote(text, string);
}

static void print_carried(struct text *text, const struct carried *carried) {
    const double *values = carried->values;
    text_add(text, "{\"scale\": %.17g, \"good_steps\": %.0f, \"updates\": %.0f}",
             values[PLACE_LOSS_SCALE], values[PLACE_GOOD_STEPS], values[PLACE_UPDATES]);
}

/* A list where there are several islands, in their order. */
static void print_scaling(struct text *text, const struct manifest *manifest) {
    bool several = manifest->n_carried > 1;
    text_add(text, several ? ",\n\"loss_scales\": [" : ",\n\"loss_scale\": ");
    for (int64_t i = 0; i < manifest->n_carried; i++) {
        text_add(text, i ? ", " : "");
        print_carried(text, &manifest->carried[i]);
    }
    text_add(text, several ? "]" : "");
}

static void print_tensor(struct text *text, const struct entry *entry, content_sum sum) {
    text_add(text, "{\"name\": ");
    text_quote(text, entry->name);
    text_add(text, ", \"dtype\": \"%s\", \"shape\": [", safetensors_dtype(entry->dtype));
    for (int d = 0; d < entry->n_shape; d++)
        text_add(text, "%s%lld", d ? ", " : "", (long long)entry->shape[d]);
    text_add(text, "], \"sum\": \"%016" PRIx64 "\"}", sum);
}

static void print_files(struct text *text, const struct manifest *manifest) {
    const struct tensor_files *files = &manifest->files;
    text_add(text, ",\n\"files\": [");
    for (int32_t i = 0; i < files->n; i++) {
        text_add(text, "%s\n{\"name\": ", i ? "," : "");
        text_quote(text, files->items[i].name);
        text_add(text, ", \"bytes\": %lld, \"tensors\": [", (long long)files->items[i].bytes);
        for (int32_t e = files->items[i].first; e < files->items[i].first + files->items[i].n;
             e++) {
            text_add(text, e > files->items[i].first ? ",\n" : "\n");
            print_tensor(text, &files->entries.items[e], manifest->sums[e]);
        }
        text_add(text, "]}");
    }
    text_add(text, "]");
}

char *manifest_print(const struct manifest *manifest, const struct place_program *program,
                     size_t *bytes) {
    struct text text = {malloc(TENSOR_TEXT_BYTES), 0, TENSOR_TEXT_BYTES};
    if (!text.bytes)
        return NULL;
    text_add(&text, "{\"format\": \"" FORMAT "\",\n\"version\": %d", MANIFEST_VERSION);
    text_add(&text, ",\n\"step\": %lld,\n\"samples\": %lld", (long long)manifest->step,
             (long long)manifest->samples);
    text_add(&text, ",\n\"seed\": \"%016" PRIx64 "\"", manifest->seed);
    if (manifest->is_scaled)
        print_scaling(&text, manifest);
    text_add(&text, ",\n\"data_tokens\": %lld,\n\"data_hash\": \"%016" PRIx64 "\"",
             (long long)manifest->data_tokens, manifest->data_hash);
    text_add(&text, ",\n\"batch\": %lld,\n\"sequence\": %lld,\n\"islands\": %lld",
             (long long)manifest->batch, (long long)manifest->sequence,
             (long long)manifest->islands);
    print_field(&text, "strategy", manifest->strategy);
    print_field(&text, "plan_hash", manifest->plan_hash);
    if (*manifest->model)
        print_field(&text, "model", manifest->model);
    if (*manifest->training)
        print_field(&text, "training", manifest->training);
    text_add(&text, ",\n\"mesh\": {");
    for (int i = 0; i < program->n_axes; i++) {
        text_add(&text, i ? ", " : "");
        text_quote(&text, program->axes[i].name);
        text_add(&text, ": %lld", (long long)program->axes[i].size);
    }
    text_add(&text, "}");
    print_files(&text, manifest);
    if (text.capacity)
        text_add(&text, SUM_FORMAT,
                 content_hash((const unsigned char *)text.bytes, (int64_t)text.n));
    *bytes = text.n;
    return text.bytes;
}

/* ---- parsing -------------------------------------------------------------------------------- */

static bool parse_hex(struct json_reader *reader, uint64_t *number) {
    char digits[17];
    if (!reader_string(reader, digits, sizeof digits))
        return false;
    if (strlen(digits) != 16 || strspn(digits, "0123456789abcdef") != 16)
        return reader_fail(reader, "sixteen hexadecimal digits should stand");
    *number = strtoull(digits, NULL, 16);
    return true;
}

static bool parse_dtype(struct json_reader *reader, enum place_dtype *dtype) {
    char name[8];
    if (!reader_string(reader, name, sizeof name))
        return false;
    for (int i = PLACE_F32; i <= PLACE_F16; i++)
        if (i != PLACE_I32 && strcmp(name, safetensors_dtype((enum place_dtype)i)) == 0) {
            *dtype = (enum place_dtype)i;
            return true;
        }
    return reader_fail(reader, "this is no type of elements");
}

/* Parses a shape; the entry is a matrix of one row, since only who wrote it knows more. */
static bool parse_shape(struct json_reader *reader, struct entry *entry) {
    bool first = true;
    entry->rows = entry->columns = 1;
    if (!reader_begin(reader, '['))
        return false;
    while (reader_next(reader, '[', &first)) {
        if (entry->n_shape == PLACE_RANK_LIMIT)
            return reader_fail(reader, "a shape has too many dimensions");
        int64_t *size = &entry->shape[entry->n_shape++];
        if (!reader_integer(reader, size))
            return false;
        if (*size < 1 || __builtin_mul_overflow(entry->columns, *size, &entry->columns) ||
            entry->columns > INT64_MAX / 16)
            return reader_fail(reader, "a size is 0, or too large");
    }
    return !reader->wrong;
}

/* Keys of an object that have to be there, once each; others are skipped. */
static bool take_key(struct json_reader *reader, const char *const *names, int n, unsigned *seen,
                     int *which) {
    char key[64];
    if (!reader_key(reader, key, sizeof key))
        return false;
    for (*which = 0; *which < n && strcmp(key, names[*which]) != 0;)
        ++*which;
    if (*which < n && (*seen >> *which & 1))
        return reader_fail(reader, "a key is there twice");
    if (*which < n)
        *seen |= 1u << *which;
    return true;
}

static bool has_all(struct json_reader *reader, unsigned seen, int n) {
    return !reader->wrong && (seen == (1u << n) - 1 || reader_fail(reader, "a key is missing"));
}

static bool parse_tensor(struct json_reader *reader, struct entry *entry, content_sum *sum) {
    enum { NAME, DTYPE, SHAPE, SUM, N };
    static const char *const names[N] = {"name", "dtype", "shape", "sum"};
    unsigned seen = 0;
    int which;
    bool first = true;
    if (!reader_begin(reader, '{'))
        return false;
    while (reader_next(reader, '{', &first) && take_key(reader, names, N, &seen, &which))
        switch (which) {
        case NAME:
            reader_string(reader, entry->name, sizeof entry->name);
            break;
        case DTYPE:
            parse_dtype(reader, &entry->dtype);
            break;
        case SHAPE:
            parse_shape(reader, entry);
            break;
        case SUM:
            parse_hex(reader, sum);
            break;
        default:
            reader_skip(reader);
        }
    return has_all(reader, seen, N);
}

static bool add_tensor(struct json_reader *reader, struct manifest *manifest) {
    struct entries *entries = &manifest->files.entries;
    if (entries->n == entries->capacity) {
        int32_t capacity = entries->capacity ? 2 * entries->capacity : 64;
        struct entry *grown = realloc(entries->items, (size_t)capacity * sizeof *grown);
        entries->items = grown ? grown : entries->items;
        content_sum *sums = realloc(manifest->sums, (size_t)capacity * sizeof *sums);
        manifest->sums = sums ? sums : manifest->sums;
        if (!grown || !sums)
            return reader_fail(reader, "there is no memory for so many tensors");
        entries->capacity = capacity;
    }
    entries->items[entries->n] = (struct entry){0};
    manifest->sums[entries->n] = 0;
    entries->n++;
    return parse_tensor(reader, &entries->items[entries->n - 1], &manifest->sums[entries->n - 1]);
}

/* A name inside the folder of the checkpoint, and no other file of it. */
static bool is_file_name(const char *name) {
    size_t n = strlen(name);
    static const char suffix[] = ".safetensors";
    return n > sizeof suffix - 1 && name[0] != '.' && !strchr(name, '/') &&
           strcmp(name + n - (sizeof suffix - 1), suffix) == 0;
}

static bool parse_file(struct json_reader *reader, struct manifest *manifest, int64_t *bytes) {
    enum { NAME, BYTES, TENSORS, N };
    static const char *const names[N] = {"name", "bytes", "tensors"};
    struct tensor_files *files = &manifest->files;
    struct tensor_file *grown = realloc(files->items, (size_t)(files->n + 1) * sizeof *grown);
    if (!grown)
        return reader_fail(reader, "there is no memory for so many files");
    files->items = grown;
    struct tensor_file *file = &files->items[files->n++];
    *file = (struct tensor_file){.first = files->entries.n};
    unsigned seen = 0;
    int which;
    bool first = true, first_tensor = true;
    if (!reader_begin(reader, '{'))
        return false;
    while (reader_next(reader, '{', &first) && take_key(reader, names, N, &seen, &which))
        switch (which) {
        case NAME:
            if (reader_string(reader, file->name, sizeof file->name) && !is_file_name(file->name))
                reader_fail(reader, "this is no name of a file of a checkpoint");
            break;
        case BYTES:
            reader_integer(reader, bytes);
            break;
        case TENSORS:
            reader_begin(reader, '[');
            while (reader_next(reader, '[', &first_tensor) && add_tensor(reader, manifest))
                file->n++;
            break;
        default:
            reader_skip(reader);
        }
    return has_all(reader, seen, N);
}

/* The sizes that are said, and those that follow from the tensors, must agree. */
static bool parse_files(struct json_reader *reader, struct manifest *manifest) {
    int64_t *bytes = NULL;
    bool first = true;
    if (!reader_begin(reader, '['))
        return false;
    while (reader_next(reader, '[', &first)) {
        int64_t *grown = realloc(bytes, (size_t)(manifest->files.n + 1) * sizeof *bytes);
        if (!grown)
            reader_fail(reader, "there is no memory for so many files");
        bytes = grown ? grown : bytes;
        if (!grown || !parse_file(reader, manifest, &bytes[manifest->files.n]))
            break;
    }
    if (!reader->wrong && !tensor_files_measure(&manifest->files))
        reader_fail(reader, "its tensors are larger than any file");
    for (int32_t i = 0; i < manifest->files.n && !reader->wrong; i++)
        if (bytes[i] != manifest->files.items[i].bytes)
            reader_fail(reader, "a file has another size than its tensors");
    free(bytes);
    return !reader->wrong;
}

/* Samples of this run are counted on from there. */
static bool parse_samples(struct json_reader *reader, int64_t *samples) {
    return reader_integer(reader, samples) &&
           (*samples <= INT64_MAX / 2 || reader_fail(reader, "a number is too large"));
}

/* Parses a number that is not below zero, as print_carried prints it. */
static bool parse_carried_number(struct json_reader *reader, double *number) {
    struct json_slice slice;
    char text[32], *end;
    if (!reader_slice(reader, &slice))
        return false;
    snprintf(text, sizeof text, "%.*s", (int)(slice.n < sizeof text ? slice.n : 0), slice.text);
    *number = strtod(text, &end);
    return (end > text && !*end && isfinite(*number) && *number >= 0) ||
           reader_fail(reader, "this is no number of a loss scale");
}

static struct carried *add_carried(struct json_reader *reader, struct manifest *manifest) {
    size_t n = (size_t)manifest->n_carried + 1;
    struct carried *grown = realloc(manifest->carried, n * sizeof *grown);
    if (!grown) {
        reader_fail(reader, "no memory to read it");
        return NULL;
    }
    manifest->is_scaled = true;
    manifest->carried = grown;
    grown[manifest->n_carried] = (struct carried){0};
    return &grown[manifest->n_carried++];
}

static bool parse_carried(struct json_reader *reader, struct manifest *manifest) {
    static const char *const names[PLACE_N_CARRIED] = {[PLACE_LOSS_SCALE] = "scale",
                                                       [PLACE_GOOD_STEPS] = "good_steps",
                                                       [PLACE_UPDATES] = "updates"};
    unsigned seen = 0;
    int which;
    bool first = true;
    struct carried *carried = add_carried(reader, manifest);
    if (!carried || !reader_begin(reader, '{'))
        return false;
    while (reader_next(reader, '{', &first) &&
           take_key(reader, names, PLACE_N_CARRIED, &seen, &which))
        if (which < PLACE_N_CARRIED)
            parse_carried_number(reader, &carried->values[which]);
        else
            reader_skip(reader);
    return has_all(reader, seen, PLACE_N_CARRIED);
}

static bool parse_list_of_carried(struct json_reader *reader, struct manifest *manifest) {
    bool first = true;
    if (!reader_begin(reader, '['))
        return false;
    while (reader_next(reader, '[', &first))
        if (!parse_carried(reader, manifest))
            return false;
    return !reader->wrong;
}

/* Whether each island has a scale, if any has one. */
static bool check_carried(struct json_reader *reader, const struct manifest *manifest) {
    return reader->wrong || !manifest->is_scaled || manifest->n_carried == manifest->islands ||
           reader_fail(reader, "it has not one loss scale for each model trained apart");
}

/* Parses the version: a manifest of another one is read no further. */
static bool parse_version(struct json_reader *reader, int64_t *version) {
    char format[MANIFEST_TEXT_BYTES];
    bool first = true;
    char key[64];
    if (!reader_begin(reader, '{') || !reader_next(reader, '{', &first) ||
        !reader_key(reader, key, sizeof key) || !reader_string(reader, format, sizeof format) ||
        strcmp(key, "format") != 0 || strcmp(format, FORMAT) != 0)
        return reader_fail(reader, "it does not begin as one of a checkpoint does");
    if (!reader_next(reader, '{', &first) || !reader_key(reader, key, sizeof key) ||
        strcmp(key, "version") != 0 || !reader_integer(reader, version))
        return reader_fail(reader, "it does not say its version");
    return *version <= MANIFEST_VERSION ||
           reader_fail(reader, "it was written by a newer version of Place; go on with that one");
}

static bool parse_fields(struct json_reader *reader, struct manifest *manifest) {
    enum {
        STEP,
        SAMPLES,
        SEED,
        TOKENS,
        HASH,
        BATCH,
        SEQUENCE,
        ISLANDS,
        STRATEGY,
        PLAN,
        FILES,
        REQUIRED,
        MODEL = REQUIRED, /* of older programs these are not there */
        TRAINING,
        LOSS_SCALE, /* of runs whose loss is scaled */
        LOSS_SCALES,
        N
    };
    static const char *const names[N] = {"step",      "samples",    "seed",       "data_tokens",
                                         "data_hash", "batch",      "sequence",   "islands",
                                         "strategy",  "plan_hash",  "files",      "model",
                                         "training",  "loss_scale", "loss_scales"};
    int64_t *const integers[N] = {[STEP] = &manifest->step,
                                  [TOKENS] = &manifest->data_tokens,
                                  [BATCH] = &manifest->batch,
                                  [SEQUENCE] = &manifest->sequence,
                                  [ISLANDS] = &manifest->islands};
    unsigned seen = 0;
    int which;
    bool first = false; /* format and version were read */
    while (reader_next(reader, '{', &first) && take_key(reader, names, N, &seen, &which)) {
        if (which < N && integers[which])
            reader_integer(reader, integers[which]);
        else if (which == SAMPLES)
            parse_samples(reader, &manifest->samples);
        else if (which == SEED || which == HASH)
            parse_hex(reader, which == SEED ? &manifest->seed : &manifest->data_hash);
        else if (which == STRATEGY)
            reader_string(reader, manifest->strategy, sizeof manifest->strategy);
        else if (which == PLAN)
            reader_string(reader, manifest->plan_hash, sizeof manifest->plan_hash);
        else if (which == MODEL)
            reader_string(reader, manifest->model, sizeof manifest->model);
        else if (which == TRAINING)
            reader_string(reader, manifest->training, sizeof manifest->training);
        else if (which == FILES)
            parse_files(reader, manifest);
        else if (which == LOSS_SCALE)
            parse_carried(reader, manifest);
        else if (which == LOSS_SCALES)
            parse_list_of_carried(reader, manifest);
        else
            reader_skip(reader);
    }
    return has_all(reader, seen & ((1u << REQUIRED) - 1), REQUIRED) &&
           check_carried(reader, manifest) && reader_end(reader);
}

static size_t bytes_before_sum(size_t bytes) {
    return bytes < SUM_BYTES ? 0 : bytes - SUM_BYTES;
}

uint64_t manifest_sum(const char *text, size_t bytes) {
    return content_hash((const unsigned char *)text, (int64_t)bytes_before_sum(bytes));
}

static bool check_sum(struct json_reader *reader, uint64_t *sum) {
    char end[SUM_BYTES + 1];
    size_t n = bytes_before_sum(reader->n);
    *sum = manifest_sum(reader->text, reader->n);
    snprintf(end, sizeof end, SUM_FORMAT, *sum);
    return (reader->n - n == SUM_BYTES && memcmp(end, reader->text + n, SUM_BYTES) == 0) ||
           reader_fail(reader, "its sum is not that of its text: it is damaged or was edited");
}

int manifest_parse(struct manifest *manifest, const char *text, size_t bytes, char *message,
                   size_t message_bytes) {
    struct json_reader reader = {.text = text, .n = bytes};
    *manifest = (struct manifest){0};
    if (parse_version(&reader, &manifest->version) && check_sum(&reader, &manifest->own_sum) &&
        parse_fields(&reader, manifest))
        return 0;
    snprintf(message, message_bytes, "line %d: %s", reader_line(&reader), reader.wrong);
    return -1;
}

void manifest_free(struct manifest *manifest) {
    tensor_files_free(&manifest->files);
    free(manifest->sums);
    free(manifest->carried);
    manifest->sums = NULL;
    manifest->carried = NULL;
    manifest->n_carried = 0;
}
