/* Room on file systems, of which several things that a run writes may take some. */
#pragma once
#include <stdint.h>

enum { MOST_FILE_SYSTEMS = 8 }; /* each thing that is written may be on one of its own */
struct claims {
    struct claim {
        uint64_t device; /* the file system's number */
        int64_t bytes;   /* that the run will have written there */
    } list[MOST_FILE_SYSTEMS];
    int n;
};

/* Bytes that are left where the path is, a file or folder, without what was claimed there. What cannot be asked has as
 * many as there are numbers. */
int64_t room_left(struct claims *, const char *path);
void room_claim(struct claims *, const char *path, int64_t bytes);
/* How a message goes on that says what is left there: "", or that the run takes some. */
const char *room_beside(struct claims *, const char *path);
