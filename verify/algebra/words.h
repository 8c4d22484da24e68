// Words for axes, scales and terms in messages.
#ifndef PLACE_VERIFY_ALGEBRA_WORDS_H
#define PLACE_VERIFY_ALGEBRA_WORDS_H

#include "verify/algebra/world.h"

const char *mask_text(const struct world *, uint32_t mask);
const char *scale_text(const struct world *, scale_id scale);
const char *term_text(const struct world *, struct scaled value, int depth);
const char *microbatches_text(const struct world *, struct term collected);

#endif
