/* How many cores this process may run on: there may be more. What includes this defines _GNU_SOURCE
 * before any header. */
#pragma once
#include <sched.h>

static inline int available_cores(void) {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0 ? CPU_COUNT(&set) : 1;
}
