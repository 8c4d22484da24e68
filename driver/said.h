// What the strategy says against what comes of it.
#ifndef PLACE_DRIVER_SAID_H
#define PLACE_DRIVER_SAID_H

#include "driver/compile.h"

// Tells what the strategy's own text says without effect on the step (W830).
void check_said(struct compilation *);

#endif
