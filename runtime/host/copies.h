/* Whether copies are copies: what several ranks hold of a parameter or of an optimizer's state must
 * be the same to the last bit, or the model falls apart unseen. */
#pragma once
#include <stdint.h>
#include "runtime/context.h"

/* Compares all copies of all states between steps, by hashes that the ranks share. Called by all
 * ranks. A rank that holds something else than the first that holds a copy fails, and names both.
 * Residuals are a rank's own, and so is, where islands take steps of their own, what their
 * optimizers keep. */
int32_t copies_compare(struct place_context *context);
