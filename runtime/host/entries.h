/* The tensors of files, and which element of one lies where on which rank: what saving, dumping,
 * checkpoints and going on from these have in common. All ranks make the same list from the
 * descriptor, in the same order. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include "runtime/context.h"
#include "runtime/host/layout.h"

/* What a list is of. */
enum entries_selection {
    ENTRIES_PARAMETERS, /* under the names and in the shapes of place_tensor.saved_* */
    ENTRIES_STATES,     /* "moment1/NAME/LAYER" ..., logical shapes */
    ENTRIES_RESUMABLE,  /* all that lives from step to step: parameters as in ENTRIES_PARAMETERS,
                           first; then "moment1/" and so on before these names. What islands have
                           each for themselves: those of the first so, of the others behind
                           "island/1/"; what devices have, as in ENTRIES_STATES, behind
                           "device/dp=1/". */
};

/* A tensor of a file. As a matrix it has `rows` rows of `columns`; what several logical tensors
 * fill side by side has one component for each, and one for each part of the mesh that has it. Of a
 * fused tensor what it is of lies side by side. */
struct component {
    const struct place_part *part;
    bool again; /* a part before has it, too: the file is not written from here */
    const struct place_buffer *buffer; /* of the part */
    int64_t item;
    int64_t begin, columns;
    const struct place_tensor *tensor; /* null: as it lies in the whole tensor */
    struct component *next;
};
enum { ENTRY_NAME_BYTES = 512 };

/* In front of the name of the copy that is updated, where parameters have the name. */
#define MASTER_PREFIX "master/"
struct entry {
    char name[ENTRY_NAME_BYTES];
    enum place_dtype dtype; /* in the file */
    int n_shape;
    int64_t shape[PLACE_RANK_LIMIT];
    int64_t rows, columns;
    bool transposed;
    /* Ranks at another place along these axes have a tensor of their own, which is not this. */
    struct place_axes apart;
    int64_t place;
    struct component *components;
};
struct entries {
    struct entry *items;
    int32_t n, capacity;
    int32_t *slots; /* by name: a hash table of the items' numbers, -1 where it is free */
    uint32_t n_slots;
    int32_t parameters; /* so many at the beginning are those of the model */
};

/* False: no memory. To be freed in any case. */
bool entries_list(const struct place_program *program, enum entries_selection selection,
                  struct entries *entries);
void entries_free(struct entries *entries);
/* The first entry of that name; -1: none. Of a list that was not made here, once it is indexed. */
int32_t entries_find(const struct entries *entries, const char *name);
/* False: no memory. */
bool entries_index(struct entries *entries);

/* Whether what the entry has is made of the component, which keeps more digits: such is written, and
 * never read. */
bool component_is_rounded(const struct entry *entry, const struct component *component);
int64_t entry_elements(const struct entry *entry);
int64_t entry_bytes(const struct entry *entry);
/* A state that lives from step to step and is in no list of ENTRIES_RESUMABLE; null: none. */
const struct place_buffer *entries_forgotten(const struct place_program *program);
