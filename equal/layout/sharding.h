// XLA's texts of shardings, in the four forms that it prints:
//
//   {replicated}   {maximal device=0}   {manual}   {unknown}
//   {devices=[2,1]0,1}                    sides of the box of tiles, then who has each
//   {devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}
//   {mesh['dp'=2,'tp'=2], [{'dp'}, {}], replicated={'tp'}}
//
// and tuples of them, {{replicated}, {devices=[2,1]0,1}}.
#ifndef PLACE_EQUAL_LAYOUT_SHARDING_H
#define PLACE_EQUAL_LAYOUT_SHARDING_H

#include "equal/layout/mesh.h"

struct sharding {
    bool is_silent;                      // it leaves open where the array lies
    uint32_t rank;                       // of dimensions beyond it none is cut
    const struct digit_list *dimensions; // what cuts each
    const struct device_axis *axes;      // that it names; of other forms none
    uint32_t n_axes;
};

// Reads what the text says of an array: of a tuple's, by its number. NULL: it has been read; else why not.
const char *sharding_read(struct sharding *, const char *text, uint32_t member, uint32_t n_devices,
                          struct arena *);

#endif
