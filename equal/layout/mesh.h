// Meshes of devices: read, made of the digits by which programs part their devices, and asked for their axes.
#ifndef PLACE_EQUAL_LAYOUT_MESH_H
#define PLACE_EQUAL_LAYOUT_MESH_H

#include "equal/layout/digits.h"
#include "equal/layout/layout.h"

// Adds an axis, inside of those there are; of none a mesh is one device. NULL: it has been added; else why not.
const char *device_mesh_add(struct device_mesh *, const char *name, int64_t size);
// Reads `dp=2, tp=3` at a place of a source; the names are the arena's. False: it is no mesh, which has been reported.
bool device_mesh_read(struct device_mesh *, struct span, struct arena *, struct diagnostics *);
const char *device_mesh_text(const struct device_mesh *, struct arena *); // "dp=2,tp=3"

// Where devices' numbers are cut into digits: each but the first is a multiple of the one before.
struct stride_chain {
    int64_t of[MAX_MESH_AXES + 1];
    uint32_t n;
};
// The chain of all devices as one digit.
struct stride_chain stride_chain_of(uint32_t n_devices);
// Cuts where the digits begin and end. False: some would cut others, or there would be too many; then nothing is cut.
bool stride_chain_cut(struct stride_chain *, const struct digit_list *);
// A mesh with an axis for each digit, `axis_0` the outermost; `devices`, where there is but one.
struct device_mesh device_mesh_of_chain(const struct stride_chain *, struct arena *);

// Appends the axes of which the digits are made to the cut. False: they are no product of axes.
bool device_mesh_axes_of(const struct device_mesh *, const struct digit_list *, struct cut *);
int device_mesh_find(const struct device_mesh *, const char *axis); // -1: no such axis
int64_t cut_size(const struct device_mesh *, const struct cut *); // the product of its axes' sizes

#endif
