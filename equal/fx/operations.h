// Ops by their words: what each makes, and what is opaque.
#ifndef PLACE_EQUAL_FX_OPERATIONS_H
#define PLACE_EQUAL_FX_OPERATIONS_H

#include "equal/fx/build.h"

struct words fx_operation_words(struct arena *scratch);
// What an op gives: `word` of what is in the list, as the text names it and, if it does, says of its shape.
struct result {
    struct word name, word;
    const struct array_shape *said; // NULL: nothing
};
// False: an error has been reported.
bool fx_operate(struct reader *, const struct result *, const struct argument *list,
                struct named_value *made);
// An array whose shape is not the one that is said is an error; of the same kind of numbers it becomes this type.
bool fx_hold_shape(struct call *, uint32_t *array);

#endif
