/* What system_faults.c tells of the system calls that it stands for. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* How many bytes this process has written at places of files by way of the system's cache. */
int64_t system_cached_bytes(void);
/* Whether files of a folder can be written past the cache: some file systems have no such flag, or take
 * it and refuse the write. */
bool system_passes_cache(const char *folder);
