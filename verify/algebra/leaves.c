// What is known of a sum over microbatches that is under way (struct leaves): which digits of their
// numbers, and of the blocks inside one, are still to be summed, in words, too.
#include "verify/algebra/words.h"

#include <inttypes.h>
#include <string.h>

const struct leaves *leaves_get(const struct world *w, leaves_id id) {
    return interned(&w->leaves, id - 1);
}

leaves_id leaves_intern(struct world *w, const struct leaves *key) {
    if (key->n == 0 && !key->exact && key->summed == 1) // a value like any other
        return LEAVES_NONE;
    return intern(&w->leaves, key, sizeof *key, NULL) + 1;
}

struct leaves leaves_none(void) {
    struct leaves none;
    memset(&none, 0, sizeof none);
    none.summed = none.microbatches = 1;
    return none;
}

const struct digit *leaves_next(const struct leaves *leaves) {
    return leaves->n ? &leaves->left[leaves->n - 1] : NULL;
}

// Is the digit one of a dimension that axes of the model cut?
static bool is_of_blocks(const struct world *w, const struct digit *digit) {
    return digit->owner != OWNER_TIME && !(w->batch_axes >> (digit->owner - OWNER_AXIS) & 1);
}

bool leaves_lack_parts(const struct world *w, const struct leaves *leaves) {
    return leaves->exact || (leaves->n && is_of_blocks(w, leaves_next(leaves)));
}

void leaves_sum(const struct world *w, struct leaves *leaves, int64_t by) {
    struct digit *next = &leaves->left[leaves->n - 1];
    leaves->summed *= is_of_blocks(w, next) ? 1 : by;
    next->size /= by;
    if (next->size == 1) {
        memset(next, 0, sizeof *next);
        leaves->n--;
    }
}

bool leaves_is_part(const struct world *w, leaves_id id) {
    return id && leaves_lack_parts(w, leaves_get(w, id));
}

bool leaves_is_leaf(const struct world *w, leaves_id id) {
    const struct leaves *leaves = id ? leaves_get(w, id) : NULL;
    return leaves && leaves->summed == 1;
}

bool leaves_is_incomplete(const struct world *w, leaves_id id) {
    const struct leaves *leaves = id ? leaves_get(w, id) : NULL;
    return leaves && (leaves->n > 0 || leaves->exact);
}

bool leaves_of_time(const struct world *w, leaves_id id) {
    const struct leaves *leaves = id ? leaves_get(w, id) : NULL;
    for (uint32_t i = 0; leaves && i < leaves->n; i++)
        if (leaves->left[i].owner == OWNER_TIME)
            return true;
    return false;
}

const char *leaves_next_text(const struct world *w, const struct leaves *leaves) {
    const struct digit *next = leaves_next(leaves);
    uint32_t axes = leaves->exact;
    if (!axes && next->owner == OWNER_TIME)
        return "the microbatches of a device";
    return arena_format(w->arena, "the devices of %s",
                        mask_text(w, axes ? axes : 1u << (next->owner - OWNER_AXIS)));
}

const char *leaves_text(const struct world *w, leaves_id id) {
    if (!id)
        return "no sum over microbatches";
    const struct leaves *leaves = leaves_get(w, id);
    int64_t all = leaves->summed;
    if (leaves_lack_parts(w, leaves))
        return "a device's part of a sum";
    for (uint32_t i = 0; i < leaves->n; i++)
        all *= leaves->left[i].size;
    return arena_format(w->arena, "the sum of %" PRId64 " of %" PRId64 " microbatches",
                        leaves->summed, all);
}
