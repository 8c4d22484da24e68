// The schedule of a pipeline as text.
#ifndef PLACE_DRIVER_EMIT_PIPELINE_H
#define PLACE_DRIVER_EMIT_PIPELINE_H

#include "driver/compile.h"

// Prints it as frontend/schedule_file.c reads it, tasks alone or with what ranks send each other. Returns an exit status.
int emit_pipeline(struct compilation *, bool with_messages, FILE *to);

#endif
