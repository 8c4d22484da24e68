// Types of elements, and which of them an op gives that is given several.
#ifndef PLACE_EQUAL_FX_ELEMENTS_H
#define PLACE_EQUAL_FX_ELEMENTS_H

#include "equal/graph/graph.h"
#include "equal/text/scan.h"

// False: PyTorch has none of this name, or it is none here.
bool fx_element_of_text(struct word, enum element *); // f32
bool fx_element_of_word(struct word, enum element *); // torch.float32
// What an op of two arrays computes in (torch.promote_types).
enum element fx_promoted(enum element, enum element);
static inline enum number_kind fx_kind(enum element element) {
    return element_rows[element].kind;
}

#endif
