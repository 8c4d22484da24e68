// Attributes of ops as a part of terms, and the terms of what counts positions.
#ifndef PLACE_VERIFY_ALGEBRA_ATTRIBUTES_H
#define PLACE_VERIFY_ALGEBRA_ATTRIBUTES_H

#include "verify/algebra/term.h"

uint32_t attributes_of(struct terms *, const struct op *); // of an op's terms
// Equal ones get equal numbers; 0: none. In the order of their table.
uint32_t attributes_pack(struct terms *, const struct attribute *, unsigned n);
// One behind the other: `at` begins at 0. False: there are no more. Not of `einsum`, whose terms have labels.
bool attributes_next(const struct terms *, uint32_t packed, uint32_t *at, struct attribute *);
bool term_attribute(const struct terms *, struct term, enum attribute_name, struct attribute *);

// The positions 0 .. count-1 of a dimension, on all devices.
struct scaled iota_term(struct builder *, int64_t dimension, int64_t count);
enum dimension iota_dimension(const struct terms *, struct term iota);
int64_t iota_count(const struct terms *, struct term iota);

#endif
