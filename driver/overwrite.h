// Writing into the user's file.
#ifndef PLACE_DRIVER_OVERWRITE_H
#define PLACE_DRIVER_OVERWRITE_H

#include <stddef.h>

// The file holds this text, whole, or is as it was: then that is said on stderr. Returns the exit
// status.
int overwrite(const char *path, const char *text, size_t length);

#endif
