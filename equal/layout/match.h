// Which parameter of the many's program is which of one device's.
#ifndef PLACE_EQUAL_LAYOUT_MATCH_H
#define PLACE_EQUAL_LAYOUT_MATCH_H

#include "equal/layout/layout.h"

struct matching {
    uint32_t *many; // by the parameter of one's program
    enum matched_by by;
};
// False: they do not correspond, which has been reported (E915).
bool match_parameters(const struct graph *one, const struct graph *many, struct matching *,
                      struct arena *, struct diagnostics *);

const struct instruction *entry_parameter(const struct graph *, uint32_t number);
// As people know it: its path, or its instruction's name without the number that XLA put behind it.
const char *entry_parameter_name(const struct instruction *, struct arena *);
// A name by which paths that are written differently compare: words and numbers with `_` between them. Of
// `a[0]['wq']`, and of the instruction `a_0___wq__.1`, it is a_0_wq.
const char *name_key(const char *name, struct arena *);
// Whether the words of the one are the last words of the other.
bool is_key_tail(const char *tail, const char *key);
// Which of the keys are meant by a name: those that are its key, or, if none is, all that end so. Returns how many.
uint32_t find_by_name(const char *name, const char *const *keys, uint32_t n, uint32_t *found,
                      struct arena *);
// A help that proposes those of the names, or of their last words, that may be meant at `span`. False: none is near.
bool propose_names(struct diagnostic *, struct span, const char *given, const char *const *names,
                   uint32_t n, struct arena *);

#endif
