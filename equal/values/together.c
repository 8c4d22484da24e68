// Arrays that stand one behind the other along a coordinate (KIND_JOINED). Parts that follow each other in one term are
// one part, so slices that are put together again are what they were cut from; and what is read of one part alone is
// that part.
#include "equal/values/together.h"

#include <string.h>

#include "equal/values/make.h"
#include "ir/check.h"

struct viewed value_of_term(struct calculus *c, struct scaled of, const struct view *view) {
    return (struct viewed){of, view_intern(&c->views, view)};
}
