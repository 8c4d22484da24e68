// The schedule of a pipeline as text.
#ifndef PLACE_DRIVER_EMIT_PIPELINE_H
#define PLACE_DRIVER_EMIT_PIPELINE_H

#include "driver/compile.h"

// Prints it as frontend/schedule_file.c reads it. Returns an exit status.
int emit_pipeline(struct compilation *, FILE *to);

#endif
