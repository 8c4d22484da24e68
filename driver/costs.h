// What an accepted program pays and need not: warnings that say the price.
#ifndef PLACE_DRIVER_COSTS_H
#define PLACE_DRIVER_COSTS_H

#include "driver/compile.h"

// W811 to W817. The program is accounted, and accepted.
void check_costs(struct compilation *);
void check_pipeline_costs(struct compilation *); // costs_pipeline.c: a part of these

#endif
