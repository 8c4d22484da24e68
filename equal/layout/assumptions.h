// Assumptions: bounds of integer parameters, such as ids of tokens, that no program's text says and that proofs may
// need. `--assume '0<=tokens<66'`.
#ifndef PLACE_EQUAL_LAYOUT_ASSUMPTIONS_H
#define PLACE_EQUAL_LAYOUT_ASSUMPTIONS_H

#include "equal/layout/layout.h"

struct assumption {
    uint32_t parameter;  // of one device's program
    const char *name;    // the parameter's
    int64_t least, most; // of each element; INT64_MIN, INT64_MAX: any
};
struct assumptions { // one for each parameter of which something is assumed
    struct assumption *of;
    uint32_t n, capacity;
};

// Adds what a text assumes. It is NUMBER < NAME, NAME < NUMBER or both at once, with any of < <= > >=; nothing is
// assumed that it does not say, so that ids of tokens are 0 <= NAME < VOCABULARY. A name is a parameter's path or the
// end of it, which may be that of several, or `parameter 12`. False: it is no assumption of these programs, which has
// been reported (E919).
bool assumptions_add(struct assumptions *, const char *text, const struct pairing *, struct arena *,
                     struct diagnostics *);
const char *assumption_text(const struct assumption *, struct arena *); // "0 <= tokens < 66"

#endif
