/* Weights that a run starts from, in place of random ones: parameters alone, whoever wrote them.
 * The optimizer begins anew. Opened once for each process, then read by all of its ranks, each the
 * bytes that it holds. */
#pragma once
#include "runtime/host/weight_files.h"

struct weights {
    struct weight_files files;
    struct entries entries;        /* of the program: all that lives from step to step */
    const struct weight **sources; /* of each entry; null: it starts as it does without weights */
    content_sum sum; /* of the content of all files, where processes compare it; else 0 */
};

/* Finds each parameter in the files, by the name, with or without its first part (`model.`,
 * `transformer.`), and in the shape that Hugging Face's libraries have for it. 0, or -1 with one
 * line in `message`. To be closed in any case. `compares`: several processes do, each
 * of which reads all. */
int weights_open(struct weights *weights, const struct place_program *program, const char *path,
                 bool compares, char *message, size_t message_bytes);
void weights_close(struct weights *weights);

/* Fills the rank's parameters, and all copies of them that live from step to step. Called by all
 * ranks. */
int32_t weights_read(const struct weights *weights, struct place_context *context);
/* "weights: PATH; 23 tensors, BF16" */
void weights_print(const struct weights *weights, const char *path);
