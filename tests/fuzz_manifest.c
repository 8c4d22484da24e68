/* Fuzzes the reading of a checkpoint's manifest: any bytes are refused with a message, or are a
 * manifest that is read again from what is printed of it. The sum at the end is made right, or
 * nothing else would ever be looked at. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/host/content_hash.h"
#include "runtime/host/manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int holds) {
    if (!holds)
        abort();
}

static void check_alike(const struct manifest *a, const struct manifest *b) {
    check(a->step == b->step && a->samples == b->samples && a->seed == b->seed);
    check(a->is_scaled == b->is_scaled && a->n_carried == b->n_carried);
    for (int64_t i = 0; i < a->n_carried; i++)
        check(!memcmp(&a->carried[i], &b->carried[i], sizeof a->carried[i]));
    check(a->files.n == b->files.n && a->files.entries.n == b->files.entries.n);
    for (int32_t i = 0; i < a->files.n; i++)
        check(a->files.items[i].bytes == b->files.items[i].bytes &&
              a->files.items[i].header_bytes == b->files.items[i].header_bytes);
    for (int32_t i = 0; i < a->files.entries.n; i++)
        check(strcmp(a->files.entries.items[i].name, b->files.entries.items[i].name) == 0 &&
              a->files.offsets[i] == b->files.offsets[i] && a->sums[i] == b->sums[i]);
}

static void read_again(const struct manifest *manifest) {
    const struct place_program program = {0};
    struct manifest again;
    char message[256];
    size_t bytes;
    char *text = manifest_print(manifest, &program, &bytes);
    check(text != NULL);
    check(manifest_parse(&again, text, bytes, message, sizeof message) == 0);
    check_alike(manifest, &again);
    manifest_free(&again);
    free(text);
}

static void parse(const char *text, size_t bytes) {
    struct manifest manifest;
    char message[256] = "";
    if (manifest_parse(&manifest, text, bytes, message, sizeof message) == 0)
        read_again(&manifest);
    else
        check(*message);
    manifest_free(&manifest);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = malloc(size + 64);
    check(text != NULL);
    memcpy(text, data, size);
    parse(text, size);
    int end = snprintf(text + size, 64, ",\n\"sum\": \"%016" PRIx64 "\"}\n",
                       content_hash(data, (int64_t)size));
    parse(text, size + (size_t)end);
    free(text);
    return 0;
}
