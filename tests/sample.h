// How much of a test is run.
#ifndef PLACE_TESTS_SAMPLE_H
#define PLACE_TESTS_SAMPLE_H

#include <stdlib.h>

// Every how many cases one is taken: PLACE_TEST_EVERY of the environment, which builds that are
// several times slower are given (dev), else 1.
static inline int sample_every(void) {
    const char *every = getenv("PLACE_TEST_EVERY");
    int n = every ? atoi(every) : 1;
    return n < 1 ? 1 : n;
}

#endif
