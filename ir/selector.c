// Selectors against what they select among; see config.h and docs/language.md.
#include <string.h>

#include "ir/config.h"

// A subsequence: every step of the selector is found, in order, in the path.
bool selector_matches(const struct selector *selector, const uint8_t *roles, unsigned n_roles) {
    unsigned step = 0;
    for (unsigned i = 0; i < n_roles && step < selector->n_roles; i++)
        step += roles[i] == selector->roles[step];
    return step == selector->n_roles;
}

bool selector_covers(const struct selector *selector, int64_t layer) {
    return !selector->has_slice || (layer >= selector->slice_begin && layer < selector->slice_end &&
                                    (layer - selector->slice_begin) % selector->slice_step == 0);
}

int64_t selector_next(const struct selector *selector, int64_t layer) {
    int64_t begin = selector->slice_begin, step = selector->slice_step;
    if (!selector->has_slice)
        return INT64_MAX;
    if (layer < begin)
        return begin;
    int64_t last = begin + (selector->slice_end - 1 - begin) / step * step;
    if (layer > last)
        return INT64_MAX;
    if (step == 1)
        return last + 1;
    int64_t behind = (layer - begin) % step; // the last one that it covers
    return behind == 0 ? layer + 1 : layer - behind + step;
}

bool selector_equal(const struct selector *a, const struct selector *b) {
    return a->n_roles == b->n_roles && memcmp(a->roles, b->roles, a->n_roles) == 0 &&
           a->has_slice == b->has_slice && a->slice_begin == b->slice_begin &&
           a->slice_end == b->slice_end && a->slice_step == b->slice_step;
}
