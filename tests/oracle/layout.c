// Where the parts of logical tensors are, by the coordinates of devices: what makes results
// comparable without the program's own gathers.
#include <math.h>
#include <string.h>

#include "ir/check.h"
#include "tests/oracle/memory.h"

int64_t mesh_part_of(const struct mesh *mesh, int64_t device, const struct axis_list *axes) {
    int64_t part = 0;
    for (unsigned i = 0; i < axes->n; i++) {
        unsigned axis = axes->axes[i];
        int64_t size = mesh->axes[axis].size;
        part = part * size + device / mesh_stride_of(mesh, axis) % size;
    }
    return part;
}

int64_t layout_logical_elements(const struct buffer *buffer) {
    int64_t n = 1;
    for (unsigned d = 0; d < buffer->rank; d++)
        n *= buffer->dims[d].size;
    return n;
}

// A device's range of one dimension, in the order in which its axes cut it. Of a batch by
// microbatches, the item is a part of what the outer axes left, which the inner ones divide.
struct range {
    int64_t begin, size;
    struct order order;
};

static struct range range_of(const struct program *program, const struct buffer *buffer, unsigned d,
                             int64_t item, int64_t device) {
    const struct axis_list *cuts = &buffer->layout.cuts[d];
    int64_t size = buffer->dims[d].size / mesh_group_size(&program->job->mesh, cuts);
    struct range range = {
        .begin = size * mesh_part_of(&program->job->mesh, device, cuts),
        .size = size,
        .order = order_of_cuts(&program->job->mesh, cuts, buffer->layout.zigzag[d] - 1)};
    const struct stack *microbatches = buffer_stack(buffer, STACK_MICROBATCHES);
    if (microbatches && buffer->dims[d].dimension == DIM_BATCH) {
        struct axis_list inner = buffer_inner_axes(buffer), outer = *cuts;
        outer.n -= inner.n;
        range.size /= microbatches->count;
        range.begin =
            mesh_part_of(&program->job->mesh, device, &outer) * microbatches->count + item;
        range.begin *= mesh_group_size(&program->job->mesh, &inner);
        range.begin += mesh_part_of(&program->job->mesh, device, &inner);
        range.begin *= range.size;
    }
    return range;
}

bool layout_has_item(const struct program *program, buffer_id id, int64_t item, int64_t device) {
    const struct axis_list *owners = &program->buffers[id].layout.owners;
    return mesh_part_of(&program->job->mesh, device, owners) ==
           item % mesh_group_size(&program->job->mesh, owners);
}

void layout_places(const struct program *program, buffer_id id, int64_t item, int64_t device,
                   int64_t *places) {
    const struct buffer *buffer = &program->buffers[id];
    struct range ranges[MAX_RANK];
    int64_t index[MAX_RANK] = {0}, elements = 1;
    for (unsigned d = 0; d < buffer->rank; d++) {
        ranges[d] = range_of(program, buffer, d, item, device);
        elements *= ranges[d].size;
    }
    struct tensor_type type = buffer_type(program, buffer);
    int64_t chunk = type_elements(&type), first = 0;
    if (buffer->layout.flat.n)
        first = chunk * mesh_part_of(&program->job->mesh, device, &buffer->layout.flat);
    for (int64_t i = 0; i < chunk; i++)
        places[i] = -1;
    if (!layout_has_item(program, id, item, device))
        return;
    for (int64_t e = 0; e < elements; e++) {
        int64_t place = 0;
        for (unsigned d = 0; d < buffer->rank; d++)
            place =
                place * buffer->dims[d].size +
                order_element(ranges[d].order, buffer->dims[d].size, ranges[d].begin + index[d]);
        if (e >= first && e < first + chunk)
            places[e - first] = place;
        for (unsigned d = buffer->rank; d-- > 0;) {
            if (++index[d] < ranges[d].size)
                break;
            index[d] = 0;
        }
    }
}

void devices_put(struct devices *d, buffer_id id, int64_t item, const double *logical) {
    const struct buffer *buffer = &d->program->buffers[id];
    struct tensor_type type = buffer_type(d->program, buffer);
    int64_t n = type_elements(&type), size = dtype_bytes[buffer->dtype];
    struct arena scratch = {0};
    int64_t *places = ARENA_ARRAY(&scratch, int64_t, n);
    for (int64_t device = devices_next(d, -1); device < d->n; device = devices_next(d, device)) {
        layout_places(d->program, id, item, device, places);
        for (int timing = 0; timing < N_TIMINGS; timing++) {
            unsigned char *to = item_place(d, timing, device, id, item);
            for (int64_t i = 0; i < n; i++)
                if (places[i] >= 0)
                    memory_store(to + i * size, buffer->dtype, 1, &logical[places[i]]);
        }
    }
    arena_free(&scratch);
}

// What one device holds joins what others held. False: a copy has other bits.
static bool join(const int64_t *places, const double *local, int64_t n, double *logical,
                 bool *seen) {
    for (int64_t i = 0; i < n; i++) {
        if (places[i] < 0)
            continue;
        double *to = &logical[places[i]];
        if (seen[places[i]] && memcmp(to, &local[i], sizeof *to) != 0)
            return false;
        seen[places[i]] = true;
        *to = local[i];
    }
    return true;
}

const char *devices_get(const struct devices *d, enum timing timing, buffer_id id, int64_t item,
                        double *logical) {
    const struct buffer *buffer = &d->program->buffers[id];
    struct tensor_type type = buffer_type(d->program, buffer);
    int64_t n = type_elements(&type), whole = layout_logical_elements(buffer);
    struct arena scratch = {0};
    int64_t *places = ARENA_ARRAY(&scratch, int64_t, n);
    double *local = ARENA_ARRAY(&scratch, double, n);
    bool *seen = ARENA_ARRAY(&scratch, bool, whole), equal = true, all = true;
    for (int64_t device = devices_next(d, -1); device < d->n && equal;
         device = devices_next(d, device)) {
        memory_load(item_place(d, timing, device, id, item), buffer->dtype, n, local);
        layout_places(d->program, id, item, device, places);
        equal = join(places, local, n, logical, seen);
    }
    for (int64_t i = 0; i < whole; i++)
        all = all && seen[i];
    arena_free(&scratch);
    return !equal ? "copies differ" : all ? NULL : "no device holds all of it";
}
