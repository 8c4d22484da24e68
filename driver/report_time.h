// Lower bounds of the time of a step, from what the file says of its devices and links.
#ifndef PLACE_DRIVER_REPORT_TIME_H
#define PLACE_DRIVER_REPORT_TIME_H

#include <jansson.h>

#include "driver/compile.h"

// `time` of a report: of a program that is accounted. What the file does not say is null.
json_t *time_json(struct compilation *);

#endif
