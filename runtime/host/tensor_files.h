/* Which tensor stands in which file of a checkpoint, and where: all of it follows from the list of
 * tensors, so that every rank knows where its parts belong, and a reader what has to be there. */
#pragma once
#include "runtime/host/entries.h"

enum { TENSOR_FILE_NAME_BYTES = 64 };
struct tensor_file {
    char name[TENSOR_FILE_NAME_BYTES];
    int32_t first, n; /* of its entries */
    char *header;
    size_t header_bytes;
    int64_t bytes; /* in all */
};
/* What stands behind "model" or "states" in the name of the file that says which of several files
 * each tensor is in. */
#define TENSOR_INDEX_SUFFIX ".safetensors.index.json"
/* What others look for in a folder: the weights, where one file has them, and what they are of. */
#define MODEL_NAME  "model.safetensors"
#define CONFIG_NAME "config.json"

struct tensor_files {
    struct entries entries;
    struct tensor_file *items;
    int32_t n;
    int64_t *offsets; /* of every entry's bytes in its file */
};

/* Files of at most `most_bytes`, if no single tensor has more: "model.safetensors" or
 * "model-00001-of-00003.safetensors" ... for the entries of the model, "states..." for the others.
 * False: no memory. To be freed in any case. */
bool tensor_files_divide(struct tensor_files *files, int64_t most_bytes);
/* Headers, sizes and offsets of files whose names and entries are known. False: no memory, or there
 * is none so large. */
bool tensor_files_measure(struct tensor_files *files);
void tensor_files_free(struct tensor_files *files);

/* Which file an entry is in. */
int32_t tensor_files_of(const struct tensor_files *files, int32_t entry);
int64_t tensor_files_bytes(const struct tensor_files *files);
