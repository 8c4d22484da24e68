// Which devices meet in a collective. Texts write it in four forms:
//
//     {{0,1},{2,3}}                      lists; {}: all
//     [2,4]<=[8]                         the numbers from 0 on, as rows
//     [4,2]<=[2,4]T(1,0)                 of an array that is transposed first
//     mesh['dp'=2,'tp'=4] {'dp'}         those that differ along these axes of a mesh; 'dp':(2)4 is a part of one
#ifndef PLACE_EQUAL_HLO_GROUPS_H
#define PLACE_EQUAL_HLO_GROUPS_H

#include "equal/graph/graph.h"
#include "equal/text/scan.h"
#include "equal/text/words.h"
#include "verify/algebra/intern.h"

// The devices of a program: so many partitions of so many replicas, of which one number is 1.
struct devices {
    uint32_t n;
    bool are_replicas;
};
// What the numbers of a group are, as other attributes say.
enum group_members {
    GROUPS_OF_DEVICES,
    GROUPS_OF_WHOLE_REPLICAS, // of replicas, of which all partitions meet
    GROUPS_OF_REPLICAS,       // of replicas, each partition on its own
};
struct groups {
    struct devices devices;
    struct words texts;                 // that were read
    const struct device_groups **known; // by the number of their text
    uint32_t n, cap;
    struct intern contents;
    const struct device_groups **distinct; // by the number of their content
    uint32_t n_distinct, distinct_cap;
    const struct device_groups
        *of_replica[2];                // its devices together, and apart; NULL: not asked for yet
    const struct device_pair *to_self; // each device to itself; NULL: not asked for yet
    uint64_t left;     // numbers that may still be made of texts that are shorter than their groups
    uint32_t *seen_in; // by device: the last check that met it
    uint32_t n_checks;
    const struct device_axis *axes; // those of the first mesh with most
    uint32_t n_axes;
};

struct groups groups_new(const struct scanner *, struct devices);
// Moves behind the groups at the place. They are read when it is known what they are of.
bool skip_groups(struct scanner *, struct word *);
// The groups of a text, which is empty where there was none. Equal ones are one pointer.
const struct device_groups *read_groups(struct scanner *, struct groups *, struct word text,
                                        enum group_members);
// "{{0,1},{1,0}}": who sends to whom.
bool read_pairs(struct scanner *, struct device_pair **, uint32_t *n);
// Each device to itself: one list, however often it is asked for.
const struct device_pair *pairs_to_self(struct scanner *, struct groups *);

#endif
