/* Removing old checkpoints. Only the files that a manifest names are removed: a step that has more
 * (somebody's notes), that is a link or that may not be written stays as it is. */
#pragma once
#include "runtime/host/folder.h"

/* Removes all but the last `keep`. What stays and should not is said in `message`, once for each
 * step; else that is empty. */
void folder_prune(struct folder *folder, int64_t keep, char *message, size_t message_bytes);
