// Bytes of the devices' arenas, and numbers in them.
#ifndef PLACE_TESTS_ORACLE_MEMORY_H
#define PLACE_TESTS_ORACLE_MEMORY_H

#include "tests/oracle/devices.h"

// `place` is an address in a device's arena; values are converted to and from their type there.
void memory_load(const unsigned char *place, enum dtype, int64_t n, double *values);
void memory_store(unsigned char *place, enum dtype, int64_t n, const double *values);
// The same of those elements alone that nobody has written since their memory was spoilt.
void memory_store_over_spoilt(unsigned char *place, enum dtype, int64_t n, const double *values);
// The values as they are when they have been stored and loaded.
void memory_round(enum dtype, int64_t n, double *values);
// Nobody may rely on these bytes: they read as NaN in every type, integers too.
void memory_spoil(unsigned char *place, int64_t bytes);

// Where the arena of a tier begins in a device's memory, which has all, one behind the other; of
// N_TIERS where the last ends.
int64_t arena_begin(const struct program *, enum tier);
// The address of an item, of a window the device's own part of it. CHECKs that it lies in the
// arena.
unsigned char *item_place(const struct devices *, enum timing, int64_t device, buffer_id,
                          int64_t item);

#endif
