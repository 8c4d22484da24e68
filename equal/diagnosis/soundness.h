// What is said of an array of the many devices: by terms (terms.h), or by numbers (numbers.h).
#ifndef PLACE_EQUAL_DIAGNOSIS_SOUNDNESS_H
#define PLACE_EQUAL_DIAGNOSIS_SOUNDNESS_H

#include <stdint.h>

enum soundness {
    STATE_UNSEEN,
    STATE_KNOWN,   // of the one device, whole or in part
    STATE_SUMMAND, // it would be, were it summed over axes of the mesh
    STATE_SHARE,   // the same of summands that are equal along an axis
    STATE_PART,    // the same of the largest
    STATE_TURN,    // it would be, were it summed over the turns of its loop, and over axes
    STATE_OPEN,    // nothing is said
    STATE_WRONG,   // none of its own, at least in part
};
struct seen {
    uint8_t state; // enum soundness
    uint64_t axes; // over which it is a summand, or a part
};

#endif
