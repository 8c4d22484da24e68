/* Fuzzes the reading of weights that somebody else wrote, and of what stands beside them: any bytes
 * are refused with a message that no terminal obeys, or are tensors that lie in their file. Each
 * input is a file of safetensors, the header of one, an index, and a config.json. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "runtime/host/weight_files.h"
#include "runtime/host/weights_config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { DATA_BYTES = 64 };
static char folder[64], file_path[128], index_path[128], config_path[128];
static const struct place_program program = {
    .model = "heads 4",
    .config_unseen =
        "n_head! 4; model_type llama|mistral; rms_norm_eps 1e-05; activation_function "
        "gelu_new|gelu; "
        "rope_theta 10000.0; rope.rope_theta 10000.0; rope.rope_type llama3; rope.factor 8.0"};

static void check(int holds) {
    if (!holds)
        abort();
}

static void remove_folder(void) {
    unlink(file_path);
    unlink(index_path);
    unlink(config_path);
    rmdir(folder);
}

static void make_folder(void) {
    const char *place = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%.40s/fuzz_weights.XXXXXX", place ? place : "/tmp");
    check(mkdtemp(folder) != NULL);
    snprintf(file_path, sizeof file_path, "%s/model.safetensors", folder);
    snprintf(index_path, sizeof index_path, "%s/index.json", folder);
    snprintf(config_path, sizeof config_path, "%s/config.json", folder);
    atexit(remove_folder);
}

static void write_file(const char *path, const void *first, size_t first_bytes, const uint8_t *data,
                       size_t size, size_t zeros) {
    static const char nothing[DATA_BYTES];
    FILE *file = fopen(path, "wb");
    check(file != NULL);
    check(fwrite(first, 1, first_bytes, file) == first_bytes &&
          fwrite(data, 1, size, file) == size && fwrite(nothing, 1, zeros, file) == zeros &&
          fclose(file) == 0);
}

static void check_message(int status, const char *message) {
    check(status == 0 || *message);
    for (const char *at = message; *at; at++)
        check((unsigned char)*at >= ' ' && *at != 127);
}

/* `bytes`: of the one file that all tensors are in. */
static void open_weights(const char *path, size_t bytes) {
    struct weight_files files;
    char message[2 * FILE_PATH_BYTES] = "";
    int status = weight_files_open(&files, path, message, sizeof message);
    check_message(status, message);
    for (int32_t i = 0; status == 0 && i < files.n; i++) {
        const struct weight *weight = &files.weights[i];
        check(weight_find(&files, weight->name) == weight);
        check(weight->offset >= 8 && weight->bytes >= 0 &&
              (size_t)weight->offset + (size_t)weight->bytes <= bytes);
    }
    weight_files_close(&files);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char message[2 * FILE_PATH_BYTES] = "";
    uint8_t length[8];
    if (!*folder)
        make_folder();
    unlink(config_path); /* which an index may name */
    for (int i = 0; i < 8; i++)
        length[i] = (uint8_t)((uint64_t)size >> 8 * i);
    write_file(file_path, "", 0, data, size, 0);
    open_weights(file_path, size);
    write_file(file_path, length, sizeof length, data, size, DATA_BYTES);
    open_weights(file_path, sizeof length + size + DATA_BYTES);
    write_file(index_path, "", 0, data, size, 0);
    open_weights(index_path, sizeof length + size + DATA_BYTES);
    write_file(config_path, "", 0, data, size, 0);
    check_message(weights_config_check(&program, folder, message, sizeof message), message);
    return 0;
}
