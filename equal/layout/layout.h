// Layouts: what arrays of the many devices' program are of those of one device. Which parameter is which, and along
// which axes of the mesh each dimension is cut.
#ifndef PLACE_EQUAL_LAYOUT_LAYOUT_H
#define PLACE_EQUAL_LAYOUT_LAYOUT_H

#include <stdio.h>

#include "equal/graph/graph.h"
#include "ir/diagnostic.h"

enum { MAX_MESH_AXES = 16 };

// Devices are numbered with the last axis varying fastest.
struct device_mesh {
    struct device_axis axes[MAX_MESH_AXES];
    uint32_t n_axes;
    uint32_t n_devices; // the product of the sizes
};

// How far apart in numbers neighbours along an axis are.
static inline int64_t mesh_stride(const struct device_mesh *mesh, uint32_t axis) {
    int64_t stride = 1;
    for (uint32_t a = axis + 1; a < mesh->n_axes; a++)
        stride *= mesh->axes[a].size;
    return stride;
}

// Axes that cut a dimension, or a segment of it, outermost first.
struct cut {
    uint8_t axes[MAX_MESH_AXES];
    uint32_t n;
};
// A run of a dimension's elements that is cut on its own, as in fused weights: a device's part of the dimension is
// its parts of the segments, one behind the other.
struct segment {
    int64_t size; // of the whole array
    struct cut cut;
};
struct dimension_layout {
    const struct segment *segments; // one: the dimension; their sizes add up to it
    uint32_t n_segments;
};
struct array_layout {
    const char *name;                // as people know it; of a result without one, its number
    const struct array_shape *shape; // of one device's program
    const struct dimension_layout *dimensions; // [rank]
};

// The least certain of the ways that were needed comes last.
enum matched_by { MATCHED_BY_NAME, MATCHED_BY_ORDER };
enum laid_out_by { LAID_OUT_BY_SPEC, LAID_OUT_BY_SHARDING, LAID_OUT_BY_SHAPE };

// How the two programs' entries correspond. Results are those of the root, one or a tuple's members, in order.
struct pairing {
    struct device_mesh mesh;
    const struct array_layout *parameters; // in the order of one device's program
    const uint32_t *many_parameters;       // the parameter of the many that is its part
    uint32_t n_parameters;
    const struct array_layout *results; // in order
    uint32_t n_results;
    enum matched_by matched_by;
    enum laid_out_by laid_out_by;
};

// What people say beside the programs' texts.
struct layout_spec;
struct layout_given {
    const struct layout_spec *spec; // NULL: none
    bool has_mesh;
    struct device_mesh mesh; // the option's, else the spec's
    struct span mesh_span;
};
// `spec` is a source of the diagnostics' set, JSON or a table, or NO_SOURCE; `mesh_text` is "dp=2,tp=3", or NULL. False:
// it is none, which has been reported (E910, E911).
bool layout_given_read(struct layout_given *, uint32_t spec, const char *mesh_text, struct arena *,
                       struct diagnostics *);

struct pairing_question {
    const struct graph *one, *many;
    // Its mesh; else that whose axes the programs name; else one that has an axis for each digit of devices' numbers by
    // which groups and shardings tell them apart.
    const struct layout_given *given;
};

// NULL: it has been reported (E90x) what does not fit, or what must be said because several layouts would.
const struct pairing *pair_programs(const struct pairing_question *, struct arena *,
                                    struct diagnostics *);

// Writes the pairing as a spec's table (equal/layout/spec.h), which gives the same pairing again.
void pairing_write_spec(const struct pairing *, FILE *);

#endif
