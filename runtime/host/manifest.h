/* What a checkpoint says of itself (manifest.json): of which step it is, what has to be the same to
 * go on from it, and which tensors its files hold, each with the sum of its content. The text ends
 * with a sum of its own, so that a torn one is known. */
#pragma once
#include "runtime/host/carried.h"
#include "runtime/host/parts.h"
#include "runtime/host/tensor_files.h"

/* Raised when an older reader would misread. */
enum { MANIFEST_VERSION = 1, MANIFEST_TEXT_BYTES = 256, MANIFEST_MODEL_BYTES = 4096 };
#define MANIFEST_NAME "manifest.json"

struct manifest {
    int64_t version;
    int64_t step;    /* that was made last */
    int64_t samples; /* of the data, taken so far: the next step begins with this one */
    uint64_t seed;
    bool is_scaled; /* the run's loss was */
    int64_t n_carried;
    struct carried *carried; /* of each island */
    int64_t data_tokens;
    uint64_t data_hash;
    int64_t batch, sequence, islands;
    char strategy[MANIFEST_TEXT_BYTES], plan_hash[MANIFEST_TEXT_BYTES];
    /* What the descriptor has; empty: it does not say, as those of older programs. */
    char model[MANIFEST_MODEL_BYTES], training[MANIFEST_MODEL_BYTES];
    struct tensor_files files;
    content_sum *sums; /* of every tensor */
    uint64_t own_sum;  /* of the text that was read */
};

/* The text, to be freed; null: no memory. `program`: for the mesh, which is told and not read. */
char *manifest_print(const struct manifest *manifest, const struct place_program *program,
                     size_t *bytes);

/* The sum with which a text ends, of all that stands before it. */
uint64_t manifest_sum(const char *text, size_t bytes);

/* Reads a text of `bytes` bytes, whatever is in it. 0, or -1 with what is wrong in `message`. To be
 * freed in any case. */
int manifest_parse(struct manifest *manifest, const char *text, size_t bytes, char *message,
                   size_t message_bytes);
void manifest_free(struct manifest *manifest);
