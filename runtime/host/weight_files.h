/* Tensors in safetensors files that somebody else wrote: where each lies, found from the headers
 * alone, which may be hostile. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include "runtime/host/entries.h"
#include "runtime/host/file.h"
#include "runtime/host/parts.h"

struct weight {
    char name[ENTRY_NAME_BYTES];
    char dtype[16]; /* as the file says it */
    enum stored_type type;
    int n_shape;
    int64_t shape[PLACE_RANK_LIMIT];
    int64_t offset, bytes; /* in its file */
    int32_t file;
};
struct weight_file {
    char path[FILE_PATH_BYTES];
    int descriptor;
};
struct weight_files {
    struct weight_file *files;
    int32_t n_files;
    struct weight *weights; /* sorted by name */
    int32_t n, capacity;
};

/* Opens a safetensors file, an index of several (`*.json`), or a folder with one of them under
 * Hugging Face's names. 0, or -1 with one line in `message`. To be closed in any case. */
int weight_files_open(struct weight_files *files, const char *path, char *message,
                      size_t message_bytes);
void weight_files_close(struct weight_files *files);

/* The tensor of that name; null: none. */
const struct weight *weight_find(const struct weight_files *files, const char *name);
