/* Files that exist whole or not at all: written under another name, flushed to disk, then renamed.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>

enum { FILE_PATH_BYTES = 4096 };

/* A part is what will have a file's name when it is whole: new, with a random name beside it
 * (`NAME.RANDOM.part`), and locked while its descriptor is open. Opening one removes those of the
 * same file that a process left which has died. The descriptor, or -1 with errno set. */
enum part_kind { PART_FILE, PART_FOLDER };
int part_open(const char *path, enum part_kind kind, mode_t mode, char part[FILE_PATH_BYTES]);
/* Removes a folder of files in another; what is in folders inside it is nobody's of ours, and
 * stays. */
void part_folder_remove(int parent, const char *name);

/* Where a file that is to be written lies, through links, and whether one is there, as `old` says.
 * -1 with errno set: it may not be written over, or there may be none. */
int new_file_place(const char *path, char place[FILE_PATH_BYTES], bool *is_there, struct stat *old);
/* Gives an open file the permissions and owner of the one that it replaces, as far as the system lets
 * this process. */
void file_take_after(int descriptor, const struct stat *old);

struct new_file {
    int descriptor; /* -1: not open */
    int remembered; /* where new_file_abandon finds it; -1: nowhere */
    char path[FILE_PATH_BYTES], temporary[FILE_PATH_BYTES];
};

/* A new file is written as a part. Several may be open at once.
 *
 * All return 0, or -1 with errno set. Where a path is a link, what it leads to is written. What is
 * written over keeps its permissions, and its owner and group where this process may give files
 * away; what this process may not write to is refused, and so is what another user has put into a
 * folder like /tmp, a link or a file. */
int new_file_open(struct new_file *file, const char *path);
int new_file_write(struct new_file *file, const void *data, size_t bytes);
int new_file_commit(struct new_file *file);
/* The file for whoever prints: to be closed before the commit. Null: errno is set. */
FILE *new_file_stream(const struct new_file *file);
/* Removes what was written. Does nothing after a commit. */
void new_file_discard(struct new_file *file);

/* Removes what is unfinished of this process, whoever writes it: before _exit. */
void new_file_abandon(void);

/* All bytes, from `offset` on in an open file, whatever interrupts: 0, or -1 with errno set. */
int file_write(int descriptor, const void *data, size_t bytes, int64_t offset);
/* How many of the bytes could be read. Where it is not all, errno says why; 0: the file ends. */
size_t file_read(int descriptor, void *data, size_t bytes, int64_t offset);
/* The bytes of an open file from `offset` on, and a 0 behind them; null with errno set, which is 0
 * where the file ends before. To be freed. */
char *file_text(int descriptor, int64_t offset, int64_t bytes);
/* The same of a whole file, of which none is larger than `most`; null: `why` says why not. */
char *file_text_of(const char *path, int64_t most, size_t *bytes, const char **why);
/* The number that so many bytes of a file are, at most 8, the least significant first. */
static inline uint64_t number_at(const unsigned char *bytes, size_t width) {
    uint64_t number = 0;
    for (size_t i = 0; i < width; i++)
        number |= (uint64_t)bytes[i] << 8 * i;
    return number;
}
/* Opens a regular file to read, and says how long it is; a pipe is not waited for. -1 with errno
 * set. */
int file_open_regular(const char *path, int64_t *bytes);
/* Why, by errno, a file could not be opened so, or not be read to its end. */
const char *file_obstacle(void);
const char *file_shortfall(void);
/* What is written is on the disk: 0, or -1 with errno set. */
int file_flush(int descriptor);
/* The same of the names in a folder; where folders cannot be flushed, nothing is lost that could be
 * kept. */
int folder_flush(int descriptor);
/* Locks a file, or a folder, against other processes while it is open. False: another has it. Where
 * there are no locks nobody has. */
bool file_lock(int descriptor);

/* Takes the places of standard files that are closed (`>&-`), so that no file of the run gets the
 * number of one, and messages with it. Writing to them goes on failing. */
void standard_files_hold(void);
/* More files may be open at once than usual, if this process may ask for it. */
void files_allow_many(void);

/* Where a path leads, be there a file yet or not: 0, or -1 with errno set. */
int follow_links(const char *path, char place[FILE_PATH_BYTES]);

/* Whether two paths lead to one place, or would, once it is made. */
bool is_same_place(const char *a, const char *b);

/* Whether `path` can be written, by what would be written first, and removes it again: 0, or -1
 * with errno set. `place` is then where the path leads. */
int new_file_probe(const char *path, char place[FILE_PATH_BYTES]);
