// How much of a number is left: the types of which it has all digits. Neither bf16 nor f16 has all
// values of the other, so what has been in both has all digits of neither.
#ifndef PLACE_VERIFY_ALGEBRA_WIDTH_H
#define PLACE_VERIFY_ALGEBRA_WIDTH_H

#include "ir/ir.h"

struct width {
    uint8_t types; // bits, 1 << dtype; that of DTYPE_NONE is set
};

#define WIDTH_NONE ((struct width){0})         // unknown: anything is as wide
#define WIDTH_ALL  ((struct width){UINT8_MAX}) // of what no floating type rounds

struct width width_of(enum dtype);
struct width width_meet(struct width, struct width); // what has been in both
struct width width_join(struct width, struct width);
bool width_holds(struct width, struct width other); // has it every digit of that?
const char *width_text(struct width);               // the narrowest type that holds it, by name

static inline bool width_equal(struct width a, struct width b) {
    return a.types == b.types;
}

#endif
