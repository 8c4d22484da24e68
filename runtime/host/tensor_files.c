/* The files of a checkpoint (see tensor_files.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/host/safetensors.h"
#include "runtime/host/tensor_files.h"

/* How many files `n` entries from `first` on take; the first entry of each in `firsts`, unless that
 * is null. */
static int32_t divide(const struct entries *entries, int32_t first, int32_t n, int64_t most_bytes,
                      int32_t *firsts) {
    int32_t files = 0;
    int64_t bytes = 0;
    for (int32_t i = first; i < first + n; i++) {
        int64_t own = entry_bytes(&entries->items[i]);
        if (i == first || bytes + own > most_bytes) {
            if (firsts)
                firsts[files] = i;
            files++;
            bytes = 0;
        }
        bytes += own;
    }
    return files;
}

/* Names the files of one group of entries, behind those that are there. */
static bool add_group(struct tensor_files *files, const char *stem, int32_t first, int32_t n,
                      int64_t most_bytes) {
    int32_t count = divide(&files->entries, first, n, most_bytes, NULL);
    int32_t *firsts = malloc(((size_t)count + 1) * sizeof *firsts);
    struct tensor_file *grown =
        realloc(files->items, (size_t)(files->n + count + 1) * sizeof *files->items);
    if (grown)
        files->items = grown;
    if (!firsts || !grown) {
        free(firsts);
        return false;
    }
    divide(&files->entries, first, n, most_bytes, firsts);
    firsts[count] = first + n;
    for (int32_t i = 0; i < count; i++) {
        struct tensor_file *file = &files->items[files->n++];
        *file = (struct tensor_file){.first = firsts[i], .n = firsts[i + 1] - firsts[i]};
        if (count == 1)
            snprintf(file->name, sizeof file->name, "%s.safetensors", stem);
        else
            snprintf(file->name, sizeof file->name, "%s-%05d-of-%05d.safetensors", stem, i + 1,
                     count);
    }
    free(firsts);
    return true;
}

bool tensor_files_divide(struct tensor_files *files, int64_t most_bytes) {
    int32_t model = files->entries.parameters;
    return add_group(files, "model", 0, model, most_bytes) &&
           add_group(files, "states", model, files->entries.n - model, most_bytes) &&
           tensor_files_measure(files);
}

bool tensor_files_measure(struct tensor_files *files) {
    const struct entry *entries = files->entries.items;
    files->offsets = calloc((size_t)files->entries.n + 1, sizeof *files->offsets);
    for (int32_t i = 0; i < files->n && files->offsets; i++) {
        struct tensor_file *file = &files->items[i];
        file->header = safetensors_header(entries + file->first, file->n, &file->header_bytes);
        if (!file->header)
            return false;
        file->bytes = (int64_t)file->header_bytes;
        for (int32_t e = file->first; e < file->first + file->n; e++) {
            files->offsets[e] = file->bytes;
            if (__builtin_add_overflow(file->bytes, entry_bytes(&entries[e]), &file->bytes))
                return false;
        }
    }
    return files->offsets != NULL;
}

void tensor_files_free(struct tensor_files *files) {
    for (int32_t i = 0; i < files->n; i++)
        free(files->items[i].header);
    free(files->items);
    free(files->offsets);
    entries_free(&files->entries);
    *files = (struct tensor_files){0};
}

int32_t tensor_files_of(const struct tensor_files *files, int32_t entry) {
    int32_t file = 0;
    while (entry >= files->items[file].first + files->items[file].n)
        file++;
    return file;
}

int64_t tensor_files_bytes(const struct tensor_files *files) {
    int64_t bytes = 0;
    for (int32_t i = 0; i < files->n; i++)
        bytes += files->items[i].bytes;
    return bytes;
}
