// Layouts that follow from shapes: by how many each dimension of a part divides that of the whole, and which axes have
// so many devices.
#ifndef PLACE_EQUAL_LAYOUT_SHAPES_H
#define PLACE_EQUAL_LAYOUT_SHAPES_H

#include "equal/layout/mesh.h"

enum fit { FITS_NOT, FITS_ONCE, FITS_OFTEN };

// Finds the cuts, of different axes, that part dimensions by these quotients; only sets of axes are told apart, and in
// a set they have the order of the mesh. `cuts` is what fits once.
enum fit fit_cuts(const struct device_mesh *, const int64_t *quotients, uint32_t rank,
                  struct cut *cuts);
// The sets of axes of that many devices, "dp|tp".
const char *fitting_axes(const struct device_mesh *, int64_t quotient, struct arena *);
const char *cut_text(const struct device_mesh *, const struct cut *,
                     struct arena *); // "dp*tp", "-"

#endif
