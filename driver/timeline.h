// placec check --timeline: the schedule of a pipeline, drawn. Shared by timeline.c and picture.c.
#ifndef PLACE_DRIVER_TIMELINE_H
#define PLACE_DRIVER_TIMELINE_H

#include "driver/compile.h"

// Where every stage takes as long as any other: when the tasks of each rank begin, and when all have ended.
struct timeline {
    const struct schedule *of;
    uint32_t **begins; // by rank and place in its list
    uint32_t end;
};

// Draws it on stdout, or into the file that the option names. Returns an exit status; what is wrong is said on stderr.
int draw_timeline(struct compilation *, const struct options *);

// ---- picture.c --------------------------------------------------------------------------------

// Writes it as SVG. Returns an exit status, likewise.
int write_picture(struct compilation *, const struct timeline *, const char *path);

#endif
