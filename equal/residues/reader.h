// Reads elements of values while their places are walked through, one after the other.
#ifndef PLACE_EQUAL_RESIDUES_READER_H
#define PLACE_EQUAL_RESIDUES_READER_H

#include "equal/residues/field.h"
#include "equal/values/value.h"

// What is walked through: dimensions, and the coordinates by which views say them.
struct walked {
    uint32_t n;
    int64_t sizes[MAX_DIMENSIONS];
    uint32_t coordinates[MAX_DIMENSIONS];
};

// A value along the places: where each is, as the sum of what each dimension adds.
struct reader {
    const uint64_t *values; // NULL: the place is the value
    int64_t n_values, base;
    int64_t *added[MAX_DIMENSIONS]; // by dimension and place there; NULL: nothing
    uint64_t scale;                 // an element of the field, or UNDEFINED
    int sign;                       // of the scale, if it is a number; else zero
};

struct places_read {
    const struct walked *of;
    const struct reader *readers;
    uint32_t n_readers;
    int64_t at[MAX_DIMENSIONS];
    int64_t *places; // of each reader, behind so many dimensions
};

// What a view reads of a term with that space, as places in row-major order.
void reader_places(struct reader *, const struct walked *, const struct space *,
                   const struct view *, struct arena *);
void places_begin(struct places_read *, const struct walked *, const struct reader *,
                  uint32_t n_readers, struct arena *);
// False: all places have been walked through.
bool places_next(struct places_read *);
int64_t places_at(const struct places_read *, uint32_t reader);
uint64_t places_value(const struct places_read *, const struct field *, uint32_t reader);
// The value at a place, times the scale.
uint64_t reader_value(const struct reader *, const struct field *, int64_t place);

#endif
