// Collectives from their definitions: what a member of a group receives of what all members send.
#ifndef PLACE_TESTS_ORACLE_COLLECTIVE_H
#define PLACE_TESTS_ORACLE_COLLECTIVE_H

#include "tests/oracle/devices.h"

// The devices of a device's group, by their number in it; returns how many.
int64_t group_members(const struct mesh *, int64_t device, const struct axis_list *axes,
                      int64_t members[MAX_DEVICES]);
// `sources`: of the n members; `self`: the receiver's number. The result's memory overlaps none.
void exchange_receive(const struct exchange *, const struct array *sources, int64_t n, int64_t self,
                      struct array *result);
// The device's own part of a whole that it holds.
void slice_take(const struct array *whole, int dim, int64_t self, struct array *part);

#endif
