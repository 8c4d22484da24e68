// Process groups, which programs name, and of which they say at most how many devices meet. Which these are is in what is
// given beside the programs:
//
//     what the spec says of the group
//     the axis of the mesh that has the group's name
//     the axis of a mesh that has one; else the one set of axes that has as many devices as meet
#ifndef PLACE_EQUAL_LAYOUT_PROCESS_GROUPS_H
#define PLACE_EQUAL_LAYOUT_PROCESS_GROUPS_H

#include "equal/layout/layout.h"

struct process_group {
    const char *name;
    int64_t size; // 0: the program does not say
    struct span span;
};
// The groups of all devices of the mesh that is given: of each the one that it is in. NULL: nothing says it, or what is
// said is none of this mesh, which has been reported (E909).
const struct device_groups *process_groups_find(const struct layout_given *,
                                                const struct process_group *, struct arena *,
                                                struct diagnostics *);

#endif
