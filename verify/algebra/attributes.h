// Attributes of ops as a part of terms, and the terms of what counts positions.
#ifndef PLACE_VERIFY_ALGEBRA_ATTRIBUTES_H
#define PLACE_VERIFY_ALGEBRA_ATTRIBUTES_H

#include "verify/algebra/term.h"

uint32_t attributes_of(struct terms *, const struct op *); // of an op's terms
// A number among them; false: there is none of this name.
bool term_attribute(const struct terms *, struct term, enum attribute_name, void *value);

// The positions 0 .. count-1 of a dimension, on all devices.
struct scaled iota_term(struct builder *, int64_t dimension, int64_t count);
enum dimension iota_dimension(const struct terms *, struct term iota);
int64_t iota_count(const struct terms *, struct term iota);

#endif
