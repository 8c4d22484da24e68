// What a text says of a value in quotes: `"f32[4, 8]"`, and with strides and device `"f32[4, 8][8, 1]cpu"`.
#ifndef PLACE_EQUAL_FX_ANNOTATIONS_H
#define PLACE_EQUAL_FX_ANNOTATIONS_H

#include "equal/fx/reader.h"

// The annotation at the place. What is no array, or of sizes that the text does not know, is an error.
bool fx_read_annotation(struct reader *, const struct array_shape **);

#endif
