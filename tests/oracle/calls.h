// Calls of units, and what calls and steps share.
#ifndef PLACE_TESTS_ORACLE_CALLS_H
#define PLACE_TESTS_ORACLE_CALLS_H

#include "tests/oracle/devices.h"

// Executes a call on all devices. False: they are stuck.
bool call_execute(struct devices *, const struct statement *, const int64_t *variables, int depth);

// Nobody can go on from here. Always false.
bool devices_stuck(struct devices *, struct span at, const char *why);
// Whether members of a transfer's groups are devices of other parts.
bool devices_meet_others(const struct devices *, const struct exchange *);

#endif
