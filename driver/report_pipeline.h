// A pipeline in reports, as text and as JSON.
#ifndef PLACE_DRIVER_REPORT_PIPELINE_H
#define PLACE_DRIVER_REPORT_PIPELINE_H

#include <jansson.h>

#include "driver/report.h"

// What the order of tasks is called: the method or the file that is said, unless a written-out step has another one.
const char *pipeline_order_name(const struct compilation *);
void report_pipeline(struct compilation *, FILE *to); // nothing where there is none
json_t *pipeline_json(struct compilation *);          // null then
// Says on stderr that there is none, to whoever asks for it. Returns the exit status.
int pipeline_missing(struct compilation *);

#endif
