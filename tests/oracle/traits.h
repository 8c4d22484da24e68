// What a case's strategy and training have, for counts of cases by it.
#ifndef PLACE_TESTS_ORACLE_TRAITS_H
#define PLACE_TESTS_ORACLE_TRAITS_H

#include "ir/config.h"

enum trait {
#define TRAIT(NAME, text) TRAIT_##NAME,
#include "tests/oracle/traits.def"
#undef TRAIT
    N_TRAITS
};
extern const char *const trait_names[N_TRAITS];

// Bits 1 << trait. Activations that are recomputed, or cut by a dimension, do not count: most are.
unsigned traits_of(const struct config *);

#endif
