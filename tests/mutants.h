// Mistakes that people and compilers make, to be planted one at a time into programs that the
// compiler derived, and changes that change nothing.
#ifndef PLACE_TESTS_MUTANTS_H
#define PLACE_TESTS_MUTANTS_H

#include <stddef.h>

#include "tests/program_edit.h"
#include "tests/tiny_strategies.h"

struct known_mutant {
    const char *name;
    enum model_family family;
    enum tiny_strategy strategy;
    struct edit edits[7];
    const char *code; // NULL: accepted
    const char *at;   // what the text at the first diagnostic's span begins with
};
extern const struct known_mutant wrong_mutants[], harmless_mutants[];
extern const size_t n_wrong_mutants, n_harmless_mutants;

#endif
