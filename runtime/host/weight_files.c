/* The headers of safetensors files that somebody else wrote (see weight_files.h). A header is eight
 * bytes of its length and a JSON object of that length: a name for each tensor, with its element
 * type, its shape and where it begins and ends behind the header
 * (github.com/huggingface/safetensors). An index is a JSON object whose `weight_map` has a file for
 * each name. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "runtime/host/folder.h"
#include "runtime/host/json_reader.h"
#include "runtime/host/tensor_files.h"
#include "runtime/host/weight_files.h"

/* The largest header that the library itself reads; of so many files the largest model there is has
 * a tenth. */
enum { MOST_HEADER_BYTES = 100000000, MOST_FILES = 4096, MOST_INDEX_BYTES = 1 << 28 };

static const struct {
    const char *name;
    enum stored_type type;
    int64_t bytes;
} dtypes[] = {{"F16", STORED_F16, 2},   {"BF16", STORED_BF16, 2}, {"F32", STORED_F32, 4},
              {"F64", STORED_F64, 8},   {"I64", STORED_OTHER, 8}, {"I32", STORED_OTHER, 4},
              {"I16", STORED_OTHER, 2}, {"I8", STORED_OTHER, 1},  {"U8", STORED_OTHER, 1},
              {"BOOL", STORED_OTHER, 1}};

/* One line, and -1. */
static int complain(char *message, size_t bytes, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static int complain(char *message, size_t bytes, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, bytes, format, arguments);
    va_end(arguments);
    return -1;
}

/* A name goes into messages, and so to terminals. */
static bool check_name(struct json_reader *reader, const char *name) {
    for (; *name; name++)
        if ((unsigned char)*name < 32 || *name == 127)
            return reader_fail(reader, "a name has a control character");
    return !reader->wrong;
}

/* ---- one file ------------------------------------------------------------------------------- */

static bool read_shape(struct json_reader *reader, struct weight *weight) {
    bool first = true;
    if (!reader_begin(reader, '['))
        return false;
    while (reader_next(reader, '[', &first)) {
        if (weight->n_shape == PLACE_RANK_LIMIT)
            return reader_fail(reader, "a tensor has more dimensions than any of a model");
        if (!reader_integer(reader, &weight->shape[weight->n_shape++]))
            return false;
    }
    return !reader->wrong;
}

static bool read_offsets(struct json_reader *reader, struct weight *weight) {
    int64_t offsets[2];
    int n = 0;
    bool first = true;
    if (!reader_begin(reader, '['))
        return false;
    while (reader_next(reader, '[', &first)) {
        if (n == 2)
            return reader_fail(reader, "data_offsets are two numbers");
        if (!reader_integer(reader, &offsets[n++]))
            return false;
    }
    if (reader->wrong)
        return false;
    if (n != 2 || offsets[1] < offsets[0])
        return reader_fail(reader, "data_offsets are two numbers, the second not below the first");
    weight->offset = offsets[0];
    weight->bytes = offsets[1] - offsets[0];
    return true;
}

static bool read_dtype(struct json_reader *reader, struct weight *weight) {
    return reader_string(reader, weight->dtype, sizeof weight->dtype) &&
           check_name(reader, weight->dtype);
}

static bool read_weight(struct json_reader *reader, struct weight *weight) {
    char key[64];
    bool first = true;
    if (!reader_begin(reader, '{'))
        return false;
    while (reader_next(reader, '{', &first)) {
        if (!reader_key(reader, key, sizeof key))
            return false;
        if (strcmp(key, "dtype") == 0)
            read_dtype(reader, weight);
        else if (strcmp(key, "shape") == 0)
            read_shape(reader, weight);
        else if (strcmp(key, "data_offsets") == 0)
            read_offsets(reader, weight);
        else
            reader_fail(reader, "a tensor has what no tensor has");
        if (reader->wrong)
            return false;
    }
    return !reader->wrong;
}

/* Its bytes are those of its shape, and lie in the file. What a model is not made of (the new types
 * of eight bits, say) has a size that nobody here knows. */
static bool fits(struct json_reader *reader, struct weight *weight, int64_t data_bytes) {
    int64_t bytes = 0;
    weight->type = STORED_OTHER;
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        if (strcmp(weight->dtype, dtypes[i].name) == 0) {
            weight->type = dtypes[i].type;
            bytes = dtypes[i].bytes;
        }
    bool known = bytes != 0, counted = true;
    for (int i = 0; i < weight->n_shape; i++)
        counted &= !__builtin_mul_overflow(bytes, weight->shape[i], &bytes);
    if (known && (!counted || bytes != weight->bytes))
        return reader_fail(reader, "a tensor has not the bytes of its shape");
    return (weight->offset <= data_bytes && weight->bytes <= data_bytes - weight->offset) ||
           reader_fail(reader, "a tensor lies behind the end of the file");
}

static bool add_weight(struct weight_files *files, struct json_reader *reader,
                       const struct weight *weight) {
    if (files->n == files->capacity) {
        int32_t capacity = files->capacity ? 2 * files->capacity : 256;
        struct weight *grown = realloc(files->weights, (size_t)capacity * sizeof *files->weights);
        if (!grown)
            return reader_fail(reader, "no memory for so many tensors");
        files->weights = grown;
        files->capacity = capacity;
    }
    files->weights[files->n++] = *weight;
    return true;
}

static void read_header(struct weight_files *files, struct json_reader *reader,
                        int64_t header_bytes, int64_t data_bytes) {
    bool first = true;
    if (!reader_begin(reader, '{'))
        return;
    while (reader_next(reader, '{', &first)) {
        struct weight weight = {.file = files->n_files - 1};
        if (!reader_key(reader, weight.name, sizeof weight.name) ||
            !check_name(reader, weight.name))
            return;
        if (strcmp(weight.name, "__metadata__") == 0) {
            if (!reader_skip(reader))
                return;
            continue;
        }
        if (!read_weight(reader, &weight) || !fits(reader, &weight, data_bytes))
            return;
        weight.offset += header_bytes;
        if (!add_weight(files, reader, &weight))
            return;
    }
    reader_end(reader);
}

static int add_file(struct weight_files *files, const char *path, char *message,
                    size_t message_bytes) {
    struct weight_file *grown =
        realloc(files->files, ((size_t)files->n_files + 1) * sizeof *files->files);
    unsigned char length[8];
    int64_t bytes, header_bytes = 0;
    if (!grown)
        return complain(message, message_bytes, "%s: no memory to read it", path);
    files->files = grown;
    int descriptor = file_open_regular(path, &bytes);
    if (descriptor < 0)
        return complain(message, message_bytes, "%s: cannot be read: %s", path, file_obstacle());
    struct weight_file *file = &files->files[files->n_files++];
    *file = (struct weight_file){.descriptor = descriptor};
    snprintf(file->path, sizeof file->path, "%s", path);
    if (file_read(descriptor, length, 8, 0) == 8)
        header_bytes = (int64_t)number_at(length, 8);
    if (header_bytes < 2 || header_bytes > MOST_HEADER_BYTES || header_bytes > bytes - 8)
        return complain(message, message_bytes,
                        "%s: it is no safetensors file, or it is cut off; --from takes one, or a "
                        "folder with model.safetensors",
                        path);
    char *header = file_text(descriptor, 8, header_bytes);
    if (!header)
        return complain(message, message_bytes, "%s: cannot be read: %s", path, file_shortfall());
    struct json_reader reader = {.text = header, .n = (size_t)header_bytes};
    read_header(files, &reader, 8 + header_bytes, bytes - 8 - header_bytes);
    int status = 0;
    if (reader.wrong)
        status = complain(message, message_bytes,
                          "%s, byte %zu of its header: %s; it was cut off, or is no safetensors "
                          "file",
                          path, reader.at + 8, reader.wrong);
    free(header);
    return status;
}

/* ---- several ----------------------------------------------------------------------------------
 */

/* "DIR/NAME", for a name beside another path; false: too long, or a path of its own. */
static bool beside(char to[FILE_PATH_BYTES], const char *path, const char *name) {
    const char *slash = strrchr(path, '/');
    int folder = slash ? (int)(slash - path) + 1 : 0;
    return *name && !strchr(name, '/') &&
           snprintf(to, FILE_PATH_BYTES, "%.*s%s", folder, path, name) < FILE_PATH_BYTES;
}

static bool has_file(const struct weight_files *files, const char *path) {
    for (int32_t i = 0; i < files->n_files; i++)
        if (strcmp(files->files[i].path, path) == 0)
            return true;
    return false;
}

/* Each file once, in the order of the map. */
static int add_mapped(struct weight_files *files, struct json_reader *reader, const char *path,
                      char *message, size_t message_bytes) {
    char name[ENTRY_NAME_BYTES], file[256], mapped[FILE_PATH_BYTES];
    bool first = true;
    if (!reader_begin(reader, '{'))
        return 0;
    while (reader_next(reader, '{', &first)) {
        if (!reader_key(reader, name, sizeof name) || !reader_string(reader, file, sizeof file) ||
            !check_name(reader, file))
            return 0;
        if (!beside(mapped, path, file))
            return complain(message, message_bytes, "%s: `%s` is not the name of a file beside it",
                            path, file);
        if (has_file(files, mapped))
            continue;
        if (files->n_files == MOST_FILES)
            return complain(message, message_bytes, "%s: it has more than %d files", path,
                            MOST_FILES);
        if (add_file(files, mapped, message, message_bytes) != 0)
            return -1;
    }
    return 0;
}

static int read_index(struct weight_files *files, struct json_reader *reader, const char *path,
                      char *message, size_t message_bytes) {
    char key[64];
    bool first = true, found = false;
    if (reader_begin(reader, '{'))
        while (reader_next(reader, '{', &first)) {
            if (!reader_key(reader, key, sizeof key))
                break;
            bool is_map = strcmp(key, "weight_map") == 0;
            found |= is_map;
            if (is_map && add_mapped(files, reader, path, message, message_bytes) != 0)
                return -1;
            if (!is_map && !reader_skip(reader))
                break;
        }
    if (!reader->wrong)
        reader_end(reader);
    if (!reader->wrong && !found)
        reader_fail(reader, "it has no `weight_map`, and so is no index");
    if (reader->wrong)
        return complain(message, message_bytes, "%s, line %d: %s", path, reader_line(reader),
                        reader->wrong);
    return 0;
}

static int add_index(struct weight_files *files, const char *path, char *message,
                     size_t message_bytes) {
    size_t bytes;
    const char *why;
    char *text = file_text_of(path, MOST_INDEX_BYTES, &bytes, &why);
    if (!text)
        return complain(message, message_bytes, "%s: cannot be read: %s", path, why);
    struct json_reader reader = {.text = text, .n = bytes};
    int status = read_index(files, &reader, path, message, message_bytes);
    free(text);
    return status;
}

static bool is_there(char to[FILE_PATH_BYTES], const char *folder, const char *name) {
    return snprintf(to, FILE_PATH_BYTES, "%s/%s", folder, name) < FILE_PATH_BYTES &&
           access(to, F_OK) == 0;
}

/* Opens a folder's files by the names that Hugging Face's libraries look for, in their order. */
static int add_folder(struct weight_files *files, const char *path, char *message,
                      size_t message_bytes) {
    char file[FILE_PATH_BYTES], last[FILE_PATH_BYTES];
    if (is_there(file, path, MODEL_NAME))
        return add_file(files, file, message, message_bytes);
    if (is_there(file, path, "model" TENSOR_INDEX_SUFFIX))
        return add_index(files, file, message, message_bytes);
    int64_t step = folder_last(path);
    if (step >= 0) {
        folder_name(last, sizeof last, path, step);
        return complain(message, message_bytes,
                        "%s: it is a folder of checkpoints; name one of them, as in --from %s, or "
                        "go on with --resume",
                        path, last);
    }
    if (is_there(file, path, "pytorch_model.bin") ||
        is_there(file, path, "pytorch_model.bin.index.json"))
        return complain(message, message_bytes,
                        "%s: its weights are pickled (pytorch_model.bin), which cannot be read "
                        "safely; write them as safetensors, as transformers' save_pretrained does",
                        path);
    return complain(message, message_bytes,
                    "%s: it has no model.safetensors, and no model.safetensors.index.json", path);
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const struct weight *)a)->name, ((const struct weight *)b)->name);
}

/* Sorted, and each name once. */
static int finish(struct weight_files *files, char *message, size_t message_bytes) {
    if (files->n)
        qsort(files->weights, (size_t)files->n, sizeof *files->weights, by_name);
    for (int32_t i = 1; i < files->n; i++)
        if (by_name(&files->weights[i - 1], &files->weights[i]) == 0)
            return complain(message, message_bytes, "%s: it has `%s` twice",
                            files->files[files->weights[i].file].path, files->weights[i].name);
    return 0;
}

int weight_files_open(struct weight_files *files, const char *path, char *message,
                      size_t message_bytes) {
    struct stat status;
    size_t length = strlen(path);
    bool is_index = length > 5 && strcmp(path + length - 5, ".json") == 0;
    *files = (struct weight_files){0};
    if (length == 0)
        return complain(message, message_bytes,
                        "--from names no file; give it a name, or leave it out");
    if (length >= FILE_PATH_BYTES)
        return complain(message, message_bytes, "--from: the path is too long");
    if (stat(path, &status) != 0)
        return complain(message, message_bytes, "%s: cannot be read: %s", path, strerror(errno));
    int added = S_ISDIR(status.st_mode) ? add_folder(files, path, message, message_bytes)
                : is_index              ? add_index(files, path, message, message_bytes)
                                        : add_file(files, path, message, message_bytes);
    return added == 0 ? finish(files, message, message_bytes) : -1;
}

void weight_files_close(struct weight_files *files) {
    for (int32_t i = 0; i < files->n_files; i++)
        close(files->files[i].descriptor);
    free(files->files);
    free(files->weights);
    *files = (struct weight_files){0};
}

const struct weight *weight_find(const struct weight_files *files, const char *name) {
    struct weight wanted;
    if (files->n == 0 || strlen(name) >= sizeof wanted.name)
        return NULL;
    strcpy(wanted.name, name);
    return bsearch(&wanted, files->weights, (size_t)files->n, sizeof *files->weights, by_name);
}
