// What is known of padding (see padding.h).
#include "verify/proof/padding.h"

#include "ir/arena.h"

padding_id padding_both(padding_id a, padding_id b) {
    if (a == PADDING_ZEROS || b == PADDING_ZEROS)
        return a == PADDING_ZEROS ? b : a;
    return a == b ? a : PADDING_ANY;
}

struct paddings *paddings_new(struct arena *arena, uint32_t n_tensors) {
    struct paddings *paddings = ARENA_NEW(arena, struct paddings);
    *paddings =
        (struct paddings){.n = n_tensors,
                          .needed = ARENA_ARRAY(arena, bool, n_tensors + 1),
                          .spoilt = ARENA_ARRAY(arena, const struct fault *, n_tensors + 1)};
    return paddings;
}

bool padding_is_zeros(struct paddings *paddings, padding_id padding) {
    if (padding >= PADDING_OF_STATES)
        paddings->needed[padding - PADDING_OF_STATES] = true;
    return padding != PADDING_ANY;
}

bool padding_is_kept(padding_id began, padding_id found) {
    return began == PADDING_ANY || found == PADDING_ZEROS || found == began;
}
