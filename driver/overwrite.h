// Writing into files that may be there: the user's, and those that options name.
#ifndef PLACE_DRIVER_OVERWRITE_H
#define PLACE_DRIVER_OVERWRITE_H

#include "driver/compile.h"

// The file holds this text, whole, or is as it was: then that is said on stderr. Returns the exit
// status.
int overwrite(const char *path, const char *text, size_t length);

// What is written into a file by an option.
struct output_kind {
    const char *name;   // "a picture"
    const char *option; // "-o"
    int form;           // as `is_like` knows it
    // Whether a file is of this kind. It is asked of regular ones alone: opening others may take forever.
    bool (*is_like)(const char *path, int form);
};

// Whether a new file may take a name. What is there goes if it is empty, or of the kind that is written; not if it is
// anybody's work, or what the program was read from. False: said on stderr.
bool can_take_name(struct compilation *, const char *path, const struct output_kind *);

#endif
