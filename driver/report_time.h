// Lower bounds of the time of a step (passes/account/time.c), as text and as JSON.
#ifndef PLACE_DRIVER_REPORT_TIME_H
#define PLACE_DRIVER_REPORT_TIME_H

#include <jansson.h>

#include "driver/compile.h"

// `time` of a report: of a program that is accounted. What the file does not say is null.
json_t *time_json(struct compilation *);
// Prints the time of a step, with the nearest change that helps, which is compiled with these
// options.
void report_time(struct compilation *, const struct options *, FILE *to);

#endif
