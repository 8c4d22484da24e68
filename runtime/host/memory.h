/* How much memory this process can still have. */
#pragma once
#include <stdint.h>

/* Bytes that it can fill: of the machine, and of each control group that it is in, from its own up
 * to the outermost, the least; what of a group is only copies of files is free. `root` is put
 * before the paths of the system's files: "", but in tests. INT64_MAX: nothing is known. */
int64_t machine_free_bytes(const char *root);

/* Bytes of addresses that it may still map, used or not: of `ulimit -v` and `ulimit -d`, and where
 * the machine promises no more than it has, the least. INT64_MAX: any. */
int64_t addresses_free_bytes(void);
