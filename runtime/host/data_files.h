/* The files that options such as --data name. */
#pragma once
#include <stddef.h>
#include "runtime/place.h"

struct data_files {
    char **paths;
    int32_t n;
};

/* Finds files, in the order of the names. A name that no file has and that is a pattern of the
 * shell's (`*`, `?`, `[`) stands for all that fit it, in the order of their names. 0, or -1 with
 * one line in `message`; to be freed in any case. */
int data_files_find(struct data_files *files, const struct place_list *names, const char *option,
                    char *message, size_t message_bytes);
void data_files_free(struct data_files *files);
