// Which edits of a file make its program fit the device.
#ifndef PLACE_DRIVER_FITS_H
#define PLACE_DRIVER_FITS_H

#include "driver/compile.h"

// The help of E701 or W801: an edit that was compiled and fits, or the least that is needed.
void propose_fits(struct compilation *, const struct options *, struct diagnostic *);

#endif
