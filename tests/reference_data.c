// Reading the script's safetensors files: 8 bytes of length, a JSON header, raw data. Not a reader
// for other people's files: it looks names up in the header's text.
#include "tests/reference_data.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/check.h"

struct reference_data reference_data_read(struct arena *arena, const char *path) {
    FILE *in = fopen(path, "rb");
    if (!in)
        return (struct reference_data){0};
    fseek(in, 0, SEEK_END);
    size_t length = (size_t)ftell(in);
    rewind(in);
    char *bytes = ARENA_ARRAY(arena, char, length + 1);
    CHECK(fread(bytes, 1, length, in) == length);
    fclose(in);
    uint64_t header;
    memcpy(&header, bytes, sizeof header);
    CHECK(sizeof header + header <= length);
    return (struct reference_data){
        .header = arena_string(arena, bytes + sizeof header, header),
        .data = (const unsigned char *)bytes + sizeof header + header,
    };
}

static double element(const unsigned char *at, const char *dtype) {
    if (strncmp(dtype, "F64", 3) == 0) {
        double value;
        memcpy(&value, at, sizeof value);
        return value;
    }
    if (strncmp(dtype, "F32", 3) == 0) {
        float value;
        memcpy(&value, at, sizeof value);
        return (double)value;
    }
    int32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

double *reference_tensor(struct arena *arena, const struct reference_data *data, const char *name,
                         int64_t n) {
    char *entry = strstr(data->header, arena_format(arena, "\"%s\":{", name));
    CHECK(entry);
    static const char dtype_key[] = "\"dtype\":\"", offsets_key[] = "\"data_offsets\":[";
    const char *dtype = strstr(entry, dtype_key) + sizeof dtype_key - 1;
    char *offsets = strstr(entry, offsets_key) + sizeof offsets_key - 1;
    int64_t begin = strtoll(offsets, &offsets, 10);
    int64_t end = strtoll(offsets + 1, NULL, 10);
    int64_t bytes = strncmp(dtype, "F64", 3) == 0 ? 8 : 4;
    CHECK(end - begin == n * bytes);
    double *values = ARENA_ARRAY(arena, double, n);
    for (int64_t i = 0; i < n; i++)
        values[i] = element(data->data + begin + i * bytes, dtype);
    return values;
}

// Element by element of the fused tensor: which of the part's is it?
static void read_part(struct arena *arena, const struct reference_data *data, const char *name,
                      const struct tensor *tensor, int64_t first, int64_t size, double *fused) {
    int64_t places = 1, behind = 1, all = tensor->layers ? tensor->layers : 1;
    bool seen = false;
    for (unsigned d = 0; d < tensor->rank; d++) {
        all *= tensor->dims[d].size;
        behind *= seen ? tensor->dims[d].size : 1;
        if (tensor->dims[d].dimension == DIM_PART) {
            places = tensor->dims[d].size;
            seen = true;
        }
    }
    const double *part = reference_tensor(arena, data, name, all / places * size);
    for (int64_t i = 0; i < all; i++) {
        int64_t place = i / behind % places - first;
        if (place >= 0 && place < size)
            fused[i] = part[(i / behind / places * size + place) * behind + i % behind];
    }
}

double *reference_state(struct arena *arena, const struct reference_data *data, const char *what,
                        const struct tensor *tensor) {
    struct tensor_type type = {.rank = tensor->rank};
    memcpy(type.dims, tensor->dims, sizeof type.dims);
    int64_t n = type_elements(&type) * (tensor->layers ? tensor->layers : 1), first = 0;
    if (tensor->n_parts == 0)
        return reference_tensor(arena, data, arena_format(arena, "%s/%s", what, tensor->name), n);
    double *fused = ARENA_ARRAY(arena, double, n);
    for (unsigned i = 0; i < tensor->n_parts; i++) {
        const struct tensor_part *part = &tensor->parts[i];
        read_part(arena, data, arena_format(arena, "%s/%s", what, part->name), tensor, first,
                  part->size, fused);
        first += part->size;
    }
    return fused;
}

double reference_gradient_scale(struct arena *arena, const struct reference_data *data,
                                const struct program *program, const struct tensor *tensor,
                                int64_t layer) {
    double scale = 0;
    for (uint32_t i = 0; i < program->n_tensors; i++) {
        const struct tensor *other = &program->tensors[i];
        if (other->roles[0] != tensor->roles[0])
            continue;
        struct tensor_type type = {.rank = other->rank};
        memcpy(type.dims, other->dims, sizeof type.dims);
        int64_t n = type_elements(&type);
        const double *gradient = reference_state(arena, data, "gradient", other) + layer * n;
        for (int64_t k = 0; k < n; k++)
            scale = fmax(scale, fabs(gradient[k]));
    }
    return scale;
}
