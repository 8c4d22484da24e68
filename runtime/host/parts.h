/* A rank's parts of the tensors of files, written and read where they belong, without the other
 * ranks. Both go through a panel: a stretch of the tensor in the file's order, in which is marked
 * what the rank has of it; so also of a transposed tensor whole stretches are written, and no more
 * memory is taken than a panel's. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "runtime/host/entries.h"

struct panel; /* the memory; null: none can be had */
struct panel *panel_new(void);
void panel_free(struct panel *panel);

/* A sum over elements of a function of the element's bits and its number in the tensor: it does not
 * depend on who has which, and the sums of parts add up to the whole's. */
typedef uint64_t content_sum;

/* The type of elements in a file that somebody else wrote. */
enum stored_type {
    STORED_AS_HELD, /* as the entry's own */
    STORED_F16,     /* IEEE 754 binary16 */
    STORED_BF16,    /* the upper half of a single */
    STORED_F32,
    STORED_F64,
    STORED_OTHER, /* of no parameter */
};
/* The bytes of one element; `held`: where the type does not say it. */
size_t stored_bytes(enum stored_type type, size_t held);
/* Whether each of its values is one of the other type. */
bool can_be_widened(enum stored_type from, enum place_dtype to);

/* Where an entry's bytes are: from `offset` on in an open file. */
struct place_in_file {
    int descriptor;
    int64_t offset;
    enum stored_type type;
};

/* Writes what the context's rank has of a component, and adds its elements to `sum`. 0, or -1 with
 * errno set. */
int part_write(struct place_context *context, struct panel *panel, const struct entry *entry,
               const struct component *component, const struct place_in_file *file,
               content_sum *sum);
/* Whether all of `n` elements side by side are finite numbers. */
bool elements_are_finite(enum place_dtype dtype, const void *elements, int64_t n);
/* Whether all that the context's rank has of a component are finite numbers. 0, or -1 with errno set:
 * it cannot be read where it is kept. */
int part_is_finite(struct place_context *context, const struct entry *entry,
                   const struct component *component, bool *finite);
/* How reading a part ended: which of both ends could not be read or written, with errno set. */
enum part_end {
    PART_IS_READ,
    PART_FILE_FAILED, /* errno 0: it has become shorter */
    PART_ITEM_FAILED, /* what the rank keeps (fail_item) */
};
/* Reads it, and widens or rounds it where it is stored in another type; the sum is of what is held.
 */
enum part_end part_read(struct place_context *context, struct panel *panel,
                        const struct entry *entry, const struct component *component,
                        const struct place_in_file *file, content_sum *sum);
/* The sum of `n` elements of so many bytes, a whole tensor as it is stored, whoever has which part
 * of it. 0, or -1 with errno set; 0: the file has become shorter. */
int whole_sum(struct panel *panel, int64_t n, size_t element, const struct place_in_file *file,
              content_sum *sum);
