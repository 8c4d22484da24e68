// Edits of a file that are tried: what its program would take and send with them.
#ifndef PLACE_DRIVER_TRYING_H
#define PLACE_DRIVER_TRYING_H

#include "driver/compile.h"

struct tried {
    int64_t peak[N_TIERS]; // of a device, in each of its arenas
    int64_t sent, copied;  // in a step
    struct step_time time;
    size_t length; // statements, ops, buffers and tasks of the program, also where it is not right
};

// Compiles the file with the edits of `d`, which may be to this file alone. True if its program is
// right, as far as the stage says: accounted, or judged; it need not fit the device.
bool try_edits(struct compilation *, const struct options *, const struct diagnostic *d, enum stage,
               struct tried *);
bool fits_memory(const struct device_config *, const struct tried *); // of the device and its host
// Is nothing wrong but that it takes too much memory?
bool is_right_but_for_memory(const struct compilation *);

// Edits that say the microbatch in place of what `train` says, or behind its batch. False: another
// place says it.
bool edit_microbatch(const struct compilation *, int64_t microbatch, struct diagnostic *d);
bool is_of_file(const struct compilation *, struct span); // and not of one that it imports

#endif
