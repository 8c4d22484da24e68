/* Where the elements of entries lie (see segments.h). */
#include <string.h>
#include "runtime/host/segments.h"
#include "runtime/kernels/rows.h"
#include "runtime/transport/collective.h"

int64_t entry_copy(const struct place_program *program, const struct entry *entry,
                   const struct component *component, int32_t rank, int64_t *copies) {
    const struct place_part *part = component->part;
    if (part_of_rank(program, rank) != part ||
        axes_place(program, &entry->apart, rank) != entry->place ||
        !layout_has_item(program, component->buffer, component->item, rank))
        return -1;
    uint32_t apart = axes_mask(&entry->apart), parts = axes_mask(&part->axes);
    struct place_axes all = axes_of_mesh(program), alike = axes_not_cut(component->buffer, &all);
    struct place_axes over = {0};
    for (int i = 0; i < alike.n; i++)
        if (!((apart | parts) >> alike.axes[i] & 1))
            over.axes[over.n++] = alike.axes[i];
    int64_t own = axes_place(program, &part->axes, rank), before = 0, along = 0;
    for (int64_t place = part->begin; place < part->end; place++) {
        int32_t there = rank_at(program, &part->axes, place, rank);
        bool alike = axes_place(program, &entry->apart, there) == entry->place;
        before += alike && place < own;
        along += alike;
    }
    *copies = axes_parts(program, &over) * along;
    return axes_place(program, &over, rank) * along + before;
}

struct segment_walk segments_begin(const struct place_program *program, const struct entry *entry,
                                   const struct component *component, int32_t rank) {
    return (struct segment_walk){.entry = entry,
                                 .component = component,
                                 .walk = layout_walk_begin(program, component->buffer, rank)};
}

/* A component's matrix stands in its columns of the entry's; of each part all columns together. */
bool segments_next(struct segment_walk *walk, struct segment *segment) {
    const struct entry *entry = walk->entry;
    const struct component *component = walk->component;
    const struct place_tensor *tensor = component->tensor;
    if (walk->done == walk->run.length) {
        if (!layout_walk_next(&walk->walk, &walk->run))
            return false;
        walk->done = 0;
    }
    int64_t at = walk->run.global + walk->done, length = walk->run.length - walk->done;
    int64_t row = at / component->columns, column = at % component->columns;
    if (entry->transposed || component->columns != entry->columns ||
        (tensor && tensor->n_fused > 0))
        length = length < component->columns - column ? length : component->columns - column;
    if (tensor && tensor->n_fused) {
        struct layout_in_fused in = layout_in_fused(tensor, at);
        const struct place_fused *fused = &tensor->fused[in.fused];
        int64_t planes = component->columns / tensor->plane; /* of a row */
        length = length < in.length ? length : in.length;
        column = planes * fused->begin + in.index % (planes * fused->elements);
    }
    column += component->begin;
    *segment = (struct segment){.local = walk->run.local + walk->done,
                                .in_entry = entry->transposed ? column * entry->rows + row
                                                              : row * entry->columns + column,
                                .length = length,
                                .stride = entry->transposed ? entry->rows : 1};
    walk->done += length;
    return true;
}

void elements_apart(char *to, int64_t to_stride, const char *from, int64_t from_stride, int64_t n,
                    size_t element) {
    if (to_stride == 1 && from_stride == 1)
        memcpy(to, from, (size_t)n * element);
    else if (element == 4)
        for (int64_t i = 0; i < n; i++)
            memcpy(to + i * to_stride * 4, from + i * from_stride * 4, 4);
    else
        for (int64_t i = 0; i < n; i++)
            memcpy(to + i * to_stride * (int64_t)element, from + i * from_stride * (int64_t)element,
                   element);
}

void segment_take(const struct entry *entry, const struct component *component, const char *held,
                  const struct segment *segment, char *to) {
    enum { SOME = 64 };
    enum place_dtype dtype = component->buffer->dtype;
    size_t element = (size_t)dtype_size(entry->dtype);
    const char *from = held + segment->local * dtype_size(dtype);
    if (!component_is_rounded(entry, component)) {
        elements_apart(to, segment->stride, from, 1, segment->length, element);
        return;
    }
    for (int64_t i = 0, n; i < segment->length; i += n) {
        double values[SOME];
        char rounded[SOME * sizeof(double)];
        n = segment->length - i < SOME ? segment->length - i : SOME;
        widen_row_f64(dtype, values, from + i * dtype_size(dtype), n);
        round_row_f64(entry->dtype, rounded, values, n);
        elements_apart(to + i * segment->stride * (int64_t)element, segment->stride, rounded, 1, n,
                       element);
    }
}

void segments_place(const struct place_program *program, const struct entry *entry,
                    const struct component *component, int32_t rank, const char *part,
                    char *whole) {
    size_t element = (size_t)dtype_size(entry->dtype);
    struct segment_walk walk = segments_begin(program, entry, component, rank);
    struct segment s;
    while (segments_next(&walk, &s))
        segment_take(entry, component, part, &s, whole + s.in_entry * (int64_t)element);
}
