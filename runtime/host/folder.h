/* A folder of checkpoints: DIR/step-000000120 and so on. Whoever writes there holds a lock, so what
 * is unfinished in it when the lock is taken is of a run that has died, and is removed. A
 * checkpoint is made under another name and renamed when it is whole, and renamed before it is
 * removed: what has a name of this form is whole. */
#pragma once
#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include "runtime/host/file.h"

struct folder {
    char path[FILE_PATH_BYTES];
    int descriptor, lock; /* -1: not open */
    char unfinished[64];  /* name of what is being made; empty: nothing */
    int64_t told;         /* the last step that was said to stay (prune.h); -1: none */
};

/* Makes the folder, unless it is there, locks it, and sees that it can be written. 0, or -1 with
 * one line in `message`. */
int folder_open(struct folder *folder, const char *path, char *message, size_t message_bytes);
/* Whether its path still names what was opened, with its lock: it can be moved or removed. */
bool folder_is_in_place(const struct folder *folder);
/* Removes what is unfinished, and lets go. */
void folder_close(struct folder *folder);

/* The number of the last checkpoint of a folder; -1: it has none, or errno says why nobody knows.
 */
int64_t folder_last(const char *path);
/* The same of those before a step. */
int64_t folder_last_before(const char *path, int64_t before);
/* How many checkpoints it has. */
int64_t folder_count(const char *path);
/* "PATH/step-000000120" */
void folder_name(char *name, size_t bytes, const char *path, int64_t step);
/* The names in an open folder, one after another, to be closed; null: errno says why not. */
DIR *folder_list(int descriptor);
/* Whether it is a checkpoint itself: told by its manifest, since a folder can be renamed. */
bool folder_is_checkpoint(const char *path);
/* Whether a path ends with the name of a checkpoint; the folder that it is in, and its number. */
bool folder_of(const char *checkpoint, char folder[FILE_PATH_BYTES], int64_t *step);

/* The name in the folder under which a checkpoint is made. */
void folder_unfinished(char *name, size_t bytes, int64_t step);
/* Makes a place of this name for its files. 0, or -1 with errno set. */
int folder_begin(struct folder *folder, int64_t step);
/* Gives what was begun its name, when all that is in it has reached the disk. */
int folder_commit(struct folder *folder, int64_t step);
/* Removes what was begun, if anything was. */
void folder_discard(struct folder *folder);
/* The name in the folder of a checkpoint that is being removed. */
void folder_removed(char *removed, size_t bytes, const char *name);
