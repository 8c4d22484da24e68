/* Which elements of an entry lie where on which rank. */
#pragma once
#include <stdint.h>
#include "runtime/host/entries.h"
#include "runtime/host/layout.h"

/* Which of the copies of its piece of a component a rank has, from 0; -1: it has none, for it is of
 * another part of the mesh, or what it has is another tensor. Else `copies` is how many the part
 * has. */
int64_t entry_copy(const struct place_program *program, const struct entry *entry,
                   const struct component *component, int32_t rank, int64_t *copies);

/* Elements that lie side by side on a rank, and in the entry `stride` elements apart. */
struct segment {
    int64_t local, in_entry, length, stride;
};
struct segment_walk {
    const struct entry *entry;
    const struct component *component;
    struct layout_walk walk;
    struct layout_run run;
    int64_t done; /* of the run */
};
/* Begins a walk over what a rank has of a component. */
struct segment_walk segments_begin(const struct place_program *program, const struct entry *entry,
                                   const struct component *component, int32_t rank);
bool segments_next(struct segment_walk *walk, struct segment *segment);
/* Copies elements that are `to_stride` and `from_stride` apart. */
void elements_apart(char *to, int64_t to_stride, const char *from, int64_t from_stride, int64_t n,
                    size_t element);
/* What the segment has of an item of the component, as the entry has it: rounded, where the component
 * keeps more digits. `to`: where the first element belongs. */
void segment_take(const struct entry *entry, const struct component *component, const char *held,
                  const struct segment *segment, char *to);
/* Puts a rank's part of a component where it belongs in the whole entry. */
void segments_place(const struct place_program *program, const struct entry *entry,
                    const struct component *component, int32_t rank, const char *part, char *whole);
