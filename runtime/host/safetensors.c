/* Headers of safetensors files (see safetensors.h). */
#include <stdio.h>
#include <stdlib.h>
#include "runtime/host/log.h"
#include "runtime/host/safetensors.h"

/* Bytes of an entry: its name, each byte of which may take six, its shape and offsets. */
enum { HEADER_ENTRY_BYTES = 6 * ENTRY_NAME_BYTES + 256 };

const char *safetensors_dtype(enum place_dtype dtype) {
    switch (dtype) {
    case PLACE_F64:
        return "F64";
    case PLACE_BF16:
        return "BF16";
    case PLACE_F16:
        return "F16";
    default:
        return "F32";
    }
}

static size_t print_entry(char *text, const struct entry *entry, int64_t offset) {
    size_t used = (size_t)sprintf(text, ", ");
    used += quote_json(text + used, 6 * ENTRY_NAME_BYTES, entry->name);
    used += (size_t)sprintf(text + used, ": {\"dtype\": \"%s\", \"shape\": [",
                            safetensors_dtype(entry->dtype));
    for (int d = 0; d < entry->n_shape; d++)
        used += (size_t)sprintf(text + used, "%s%lld", d ? ", " : "", (long long)entry->shape[d]);
    return used + (size_t)sprintf(text + used, "], \"data_offsets\": [%lld, %lld]}",
                                  (long long)offset, (long long)(offset + entry_bytes(entry)));
}

char *safetensors_header(const struct entry *entries, int32_t n, size_t *bytes) {
    size_t capacity = 2 * HEADER_ENTRY_BYTES, used = 8;
    char *text = malloc(capacity);
    if (!text)
        return NULL;
    used += (size_t)sprintf(text + used, "{\"__metadata__\": {\"format\": \"pt\"}");
    int64_t offset = 0;
    for (int32_t i = 0; i < n; i++) {
        if (capacity - used < HEADER_ENTRY_BYTES) {
            capacity *= 2;
            char *grown = realloc(text, capacity);
            if (!grown) {
                free(text);
                return NULL;
            }
            text = grown;
        }
        used += print_entry(text + used, &entries[i], offset);
        offset += entry_bytes(&entries[i]);
    }
    text[used++] = '}';
    while (used % 8)
        text[used++] = ' ';
    for (int i = 0; i < 8; i++)
        text[i] = (char)((used - 8) >> 8 * i & 255);
    *bytes = used;
    return text;
}
