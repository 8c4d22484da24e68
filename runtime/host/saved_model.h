/* What --save writes: the parameters, and in a folder of its own the config.json that says what
 * they are parameters of, so that others can load it. */
#pragma once
#include "runtime/context.h"
#include "runtime/host/file.h"

struct saved_model {
    char weights[FILE_PATH_BYTES]; /* empty: nothing is to be written */
    char config[FILE_PATH_BYTES];  /* empty: the parameters alone */
    char made[FILE_PATH_BYTES];    /* the folder, if it was not there; else empty */
};

/* Finds where a model goes from what --save says (null: nothing). The folder is made where rank 0
 * is. 0, or -1 with one line in `message`. */
int saved_model_find(struct saved_model *saved, const struct place_program *program,
                     const char *path, bool has_first_rank, char *message, size_t message_bytes);
/* Removes the folder that was made for a run that is refused. */
void saved_model_forget(const struct saved_model *saved);
/* Called by all ranks; rank 0 writes. */
int32_t saved_model_write(const struct saved_model *saved, struct place_context *context);
