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

// ---- as others save it ------------------------------------------------------------------------

// [rows, columns], or [columns]; the elements of all.
static int64_t saved_shape(const char *entry, int64_t shape[2]) {
    static const char key[] = "\"shape\":[";
    char *at = strstr(entry, key) + sizeof key - 1;
    int rank = 0;
    for (shape[0] = shape[1] = 1; *at != ']'; at += *at == ',') {
        CHECK(rank < 2);
        shape[rank++] = strtoll(at, &at, 10);
    }
    return shape[0] * shape[1];
}

int64_t reference_elements(const struct reference_data *data, const char *what) {
    int64_t elements = 0, shape[2];
    size_t length = strlen(what);
    for (const char *at = data->header; (at = strstr(at, what)); at += length)
        if (at[-1] == '"' && at[length] == '/')
            elements += saved_shape(at, shape);
    return elements;
}

// A linear layer goes from the hidden size, or to it; a table from its rows; gains and biases from
// nothing.
static int64_t inputs_of(const struct tensor *tensor) {
    int64_t inputs = 1;
    for (unsigned d = 0; tensor->init == INIT_NORMAL && d + 1u < tensor->rank; d++) {
        inputs *= tensor->dims[d].size;
        if (tensor->dims[d].dimension == DIM_HIDDEN)
            break;
    }
    return inputs;
}

// Where an output stands among the saved ones. Of a fused tensor, [outer, part, inner], each part
// is saved by itself, one after the other.
static int64_t saved_column(const struct tensor *tensor, int64_t outputs, int64_t output) {
    if (tensor->n_parts == 0)
        return tensor->saved_columns_begin + output;
    int64_t inner = 1, places = 0, first = 0;
    for (unsigned d = tensor->rank; d-- > 0 && !places;)
        if (tensor->dims[d].dimension == DIM_PART)
            places = tensor->dims[d].size;
        else
            inner *= tensor->dims[d].size;
    int64_t outer = outputs / places / inner, place = output / inner % places;
    const struct tensor_part *part = tensor->parts;
    while (place >= first + part->size)
        first += part++->size;
    return first * outer * inner + (output / inner / places * part->size + place - first) * inner +
           output % inner;
}

static double *saved_state(struct arena *arena, const struct reference_data *data, const char *what,
                           const struct tensor *tensor) {
    struct tensor_type type = {.rank = tensor->rank};
    memcpy(type.dims, tensor->dims, sizeof type.dims);
    int64_t n = type_elements(&type), inputs = inputs_of(tensor), outputs = n / inputs;
    int64_t layers = tensor->layers ? tensor->layers : 1, shape[2];
    double *values = ARENA_ARRAY(arena, double, n *layers);
    for (int64_t layer = 0; layer < layers; layer++) {
        const char *of = strstr(tensor->saved_name, "%d"); // of one that is in layers
        const char *name =
            of ? arena_format(arena, "%s/%.*s%d%s", what, (int)(of - tensor->saved_name),
                              tensor->saved_name, (int)layer, of + 2)
               : arena_format(arena, "%s/%s", what, tensor->saved_name);
        const char *entry = strstr(data->header, arena_format(arena, "\"%s\":{", name));
        CHECK(entry);
        int64_t elements = saved_shape(entry, shape);
        const double *saved = reference_tensor(arena, data, name, elements);
        int64_t columns = elements / inputs;
        CHECK(columns == outputs || tensor->saved_columns);
        CHECK(shape[tensor->saved_transposed] == (inputs == 1 ? columns : inputs));
        for (int64_t i = 0; i < n; i++) {
            int64_t input = i / outputs, column = saved_column(tensor, outputs, i % outputs);
            values[layer * n + i] = saved[tensor->saved_transposed ? column * inputs + input
                                                                   : input * columns + column];
        }
    }
    return values;
}

double *reference_state(struct arena *arena, const struct reference_data *data, const char *what,
                        const struct tensor *tensor) {
    if (data->has_saved_names)
        return saved_state(arena, data, what, tensor);
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
    for (uint32_t i = 0; i < program->job->n_tensors; i++) {
        const struct tensor *other = &program->job->tensors[i];
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
