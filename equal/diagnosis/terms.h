// What terms say of arrays of the many devices.
#ifndef PLACE_EQUAL_DIAGNOSIS_TERMS_H
#define PLACE_EQUAL_DIAGNOSIS_TERMS_H

#include "equal/diagnosis/soundness.h"
#include "equal/layout/layout.h"
#include "equal/values/value.h"

struct terms_known {
    struct calculus *c;
    const struct device_mesh *mesh;
    uint32_t n_known; // terms that there were when the program of one device had been read
};

// The fewest axes over which the value's sum, or largest, is known.
struct seen terms_say(const struct terms_known *, struct viewed, const struct coordinates *);

#endif
