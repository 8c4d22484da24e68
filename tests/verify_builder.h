// Whoever makes terms in a test, and wants to know nothing of it.
#ifndef PLACE_TESTS_VERIFY_BUILDER_H
#define PLACE_TESTS_VERIFY_BUILDER_H

#include "verify/algebra/term.h"

#define BUILDER(terms_) (&(struct builder){.terms = (terms_)})

#endif
