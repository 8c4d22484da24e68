/* The bytes of a rank that are on disk: a sparse file, of which offsets are what the plan says. It has
 * no name: nobody finds it, and nothing is left of it however the process ends. Where the system
 * allows it is read and written past its cache; what of a range is no whole page is not. */
#pragma once
#include <stdint.h>

struct disk;

/* Opens a new file of so many bytes in a folder, all zeros. Null with errno set. */
struct disk *disk_open(const char *folder, int64_t bytes);
/* A file system, by the number that statfs gives it, whose bytes are on no disk of this machine: its
 * name, and in `where` where they are. Null: it has one, or nobody knows. */
const char *file_system_elsewhere(uint32_t number, const char **where);
void disk_close(struct disk *disk); /* or null */
/* What is left for us in the file system of a path; INT64_MAX: it does not say. */
int64_t disk_room(const char *path);
/* What to do about the errno of a write, as the beginning of "name a folder elsewhere"; "": that alone. */
const char *disk_remedy(int reason);

/* Read and write `bytes` bytes from `at` on: 0, or the errno of what failed. One thread at a time. */
int disk_read(struct disk *disk, void *to, int64_t at, int64_t bytes);
int disk_write(struct disk *disk, const void *from, int64_t at, int64_t bytes);

/* End of the last byte that was written. */
int64_t disk_written_bytes(const struct disk *disk);
