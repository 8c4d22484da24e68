/* The files of --save (see saved_model.h). */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "runtime/host/saved_model.h"
#include "runtime/host/tensor_files.h"
#include "runtime/host/tensors.h"

/* Said by a slash, or there already. */
static bool is_folder(const char *path) {
    struct stat status;
    size_t length = strlen(path);
    return (length > 0 && path[length - 1] == '/') ||
           (stat(path, &status) == 0 && S_ISDIR(status.st_mode));
}

static int make_folder(struct saved_model *saved, const char *path,
                       const struct place_program *program, bool has_first_rank, char *message,
                       size_t message_bytes) {
    struct stat status;
    if (!program->config_json) {
        const char *lacks = program->config_lacks;
        snprintf(message, message_bytes,
                 "%s: no config.json says this model, for none of transformers' is like it%s%s%s; "
                 "name a file for its parameters alone",
                 path, lacks ? " in its `" : "", lacks ? lacks : "", lacks ? "`" : "");
        return -1;
    }
    if (!has_first_rank)
        return 0;
    if (mkdir(path, 0777) == 0) {
        snprintf(saved->made, sizeof saved->made, "%s", path);
        return 0;
    }
    int reason = errno;
    if (stat(path, &status) == 0 && S_ISDIR(status.st_mode))
        return 0;
    snprintf(message, message_bytes,
             "%s: it cannot be made: %s; name a folder in one that exists and may be written", path,
             reason == EEXIST || reason == ENOTDIR ? "it names a file" : strerror(reason));
    return -1;
}

int saved_model_find(struct saved_model *saved, const struct place_program *program,
                     const char *path, bool has_first_rank, char *message, size_t message_bytes) {
    size_t length = path ? strlen(path) : 0;
    *saved = (struct saved_model){.weights = ""};
    if (length + sizeof "/" MODEL_NAME > sizeof saved->weights) {
        snprintf(message, message_bytes, "%s: %s", path, strerror(ENAMETOOLONG));
        return -1;
    }
    if (length == 0 || !is_folder(path)) {
        memcpy(saved->weights, length ? path : "", length + 1);
        return 0;
    }
    const char *slash = path[length - 1] == '/' ? "" : "/";
    snprintf(saved->weights, sizeof saved->weights, "%s%s" MODEL_NAME, path, slash);
    snprintf(saved->config, sizeof saved->config, "%s%s" CONFIG_NAME, path, slash);
    return make_folder(saved, path, program, has_first_rank, message, message_bytes);
}

void saved_model_forget(const struct saved_model *saved) {
    if (*saved->made)
        rmdir(saved->made);
}

static int32_t write_config(const struct saved_model *saved, struct place_context *context) {
    const char *text = context->program->config_json;
    struct new_file file = {.descriptor = -1};
    if (new_file_open(&file, saved->config) == 0 &&
        new_file_write(&file, text, strlen(text)) == 0 && new_file_commit(&file) == 0)
        return PLACE_OK;
    int reason = errno;
    new_file_discard(&file);
    return context_fail(context, -1, PLACE_ERROR_HOST,
                        "%s: cannot be written: %s; the parameters are in %s", saved->config,
                        strerror(reason), saved->weights);
}

int32_t saved_model_write(const struct saved_model *saved, struct place_context *context) {
    int32_t status = tensors_write(context, saved->weights, ENTRIES_PARAMETERS);
    return !status && *saved->config && context->rank == 0 ? write_config(saved, context) : status;
}
