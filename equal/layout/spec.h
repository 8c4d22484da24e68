// Specs: what a person says of where arrays lie. As a table, a line for each parameter or result:
//
//   # comment
//   mesh dp=2, tp=3
//   group 5 : tp
//   parameter layers.wq [28,32] : -, tp
//   parameter embed [50,28] : dp*tp, -
//   parameter wqkv [28,48] : -, 32/tp 8/tp 8/tp
//   result 0 [4,16,28] : dp, -, -
//
// which has the name, the shape of the whole array, and for each dimension the axes that cut it, outermost first; `-`
// cuts nothing. Segments of a dimension, each cut on its own, are SIZE/AXES. A parameter's name is its path in the
// program, or the end of it; what is the end of several is said of all of them. Results have numbers, from 0 on. Process
// groups that a text names are along axes, dp*tp, or lists of devices, {0,1} {2,3}.
//
// Or as JSON, in which a dimension is a list of axes, or of segments. `dtype` may stand there, `notes` in each table,
// and some keys that tell people of the programs (docs/equal.md); any other key is refused, as one that was misspelt:
//
//   {"mesh": {"dp": 2, "tp": 3}, "groups": {"5": ["tp"], "6": [[0, 3], [1, 4], [2, 5]]},
//    "parameters": [{"name": "wq", "shape": [28, 32], "sharding": [[], ["tp"]]},
//                   {"name": "wqkv", "shape": [48], "sharding": [[{"size": 32, "axes": ["tp"]}, ...]]}],
//    "results": [{"name": "", "shape": [4, 16, 28], "sharding": [["dp"], [], []]}]}
//
// where results are in order. Empty texts are no specs. What a spec does not say is found as where there is none.
//
//   spec_json.c    reads JSON
//   json_places.c  knows where its values stand
//   spec_table.c   reads tables
//   write_spec.c   writes a pairing as a table
//   given.c        what is given: a spec, a mesh, or both
//   process_groups.c  groups that it says the devices of
#ifndef PLACE_EQUAL_LAYOUT_SPEC_H
#define PLACE_EQUAL_LAYOUT_SPEC_H

#include "equal/layout/mesh.h"

struct spec_axis {
    const char *name;
    struct span span;
};
struct spec_segment {
    int64_t size; // 0: the dimension's
    const struct spec_axis *axes;
    uint32_t n_axes;
};
struct spec_dimension {
    const struct spec_segment *segments;
    uint32_t n_segments;
};
struct spec_entry {
    const char *name;
    uint32_t number; // of a result; of a parameter in the order of the spec
    const int64_t *sizes;
    uint32_t rank;
    const struct spec_dimension *dimensions;
    bool has_kind;
    enum number_kind kind;
    struct span span;
};
struct spec_list {
    struct spec_entry *of;
    uint32_t n, capacity;
};
// A process group, of which texts have only the name: the axes along which the devices differ that meet, the outermost
// first, or all groups, one behind the other.
struct spec_group {
    const char *name;
    const struct spec_axis *axes;
    uint32_t n_axes;
    const int64_t *devices; // [n_lists][size]; of axes NULL
    uint32_t n_lists, size;
    struct span span;
};
struct layout_spec {
    bool has_mesh;
    struct device_mesh mesh;
    struct span mesh_span;
    struct spec_list parameters, results;
    bool has_all_results; // results are in order, and there is none without a place
    struct spec_group *groups;
    uint32_t n_groups, groups_capacity;
};

// NULL: it is no spec, which has been reported (E911).
const struct layout_spec *spec_read_json(uint32_t source, struct arena *, struct diagnostics *);
const struct layout_spec *spec_read_table(uint32_t source, struct arena *, struct diagnostics *);

// A line of a table: `parameter NAME [SHAPE] : DIMENSIONS`, with a text for each dimension.
const char *spec_line(const char *name, bool is_result, const struct array_shape *,
                      const char *const *dimensions, struct arena *);

#endif
