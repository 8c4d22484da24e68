// What functions of elements are in a field.
#ifndef PLACE_EQUAL_RESIDUES_ELEMENTS_H
#define PLACE_EQUAL_RESIDUES_ELEMENTS_H

#include "equal/residues/field.h"
#include "equal/values/value.h"

// A function of elements: its kind, and what else it depends on.
struct element_kind {
    int kind;
    uint32_t attributes;
    const int64_t *words; // of KIND_POWER the exponent
    bool is_concrete;     // its operands are numbers that no parameter decides
};

uint64_t element_sum(const struct field *, uint64_t, uint64_t);
uint64_t element_product(const struct field *, uint64_t, uint64_t);
uint64_t element_power(const struct field *, uint64_t, int64_t power); // not drawn
// `values` is changed.
uint64_t element_of(const struct field *, const struct element_kind *, uint64_t *values,
                    uint32_t n);
// The largest of several, or what else folds them; `values` is changed.
uint64_t element_folded(const struct field *, int kind, uint64_t *values, int64_t n);
uint64_t element_of_real(const struct field *, double);

#endif
