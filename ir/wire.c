// Codes of gradients: how much of a gradient travels, and how long that is. A tensor is coded as it
// lies, in blocks of WIRE_BLOCK elements, the last one shorter; a block's code is so many words of
// 32 bits, of which numbers are f32 whatever the gradient's type is:
//   sign   the mean magnitude; a bit for every element, 1: it is below zero
//   int8   what one unit is: the greatest magnitude / 127; a signed byte for every element
//   topk   the `kept` elements of greatest magnitude, in their order; a byte for each: where it is
// Bits and bytes fill words from the least significant end on. Blocks are coded apart from each
// other, so that a code neither depends on how many threads make it nor on where layers are cut.
#include <string.h>

#include "ir/ir.h"

bool wire_equal(struct wire a, struct wire b) {
    return a.way == b.way && a.kept == b.kept;
}

const char *wire_text(struct wire wire, struct arena *arena) {
    const char *way = wire_way_names[wire.way];
    return wire.way == WIRE_TOPK ? arena_format(arena, "%s %lld", way, (long long)wire.kept) : way;
}

static int64_t block_words(struct wire wire, int64_t elements) {
    int64_t kept = wire.kept < elements ? wire.kept : elements;
    switch (wire.way) {
    case WIRE_SIGN:
        return 1 + (elements + 31) / 32;
    case WIRE_INT8:
        return 1 + (elements + 3) / 4;
    case WIRE_TOPK:
        return kept + (kept + 3) / 4;
    default:
        return 0;
    }
}

int64_t wire_words(struct wire wire, int64_t elements) {
    int64_t last = elements % WIRE_BLOCK;
    return size_plus(size_times(elements / WIRE_BLOCK, block_words(wire, WIRE_BLOCK)),
                     last ? block_words(wire, last) : 0);
}

struct wire op_wire(const struct op *op) {
    const struct attribute *way = op_attribute(op, ATTRIBUTE_WAY);
    const struct attribute *kept = op_attribute(op, ATTRIBUTE_KEPT);
    int found = way ? table_find(wire_way_names, N_WIRE_WAYS, way->word) : -1;
    struct wire wire = {.way = found < 0 ? WIRE_NONE : (enum wire_way)found,
                        .kept = kept ? kept->integer : 0};
    bool topk = wire.way == WIRE_TOPK;
    bool fits = topk ? wire.kept >= 1 && wire.kept <= WIRE_BLOCK : !kept;
    return fits ? wire : (struct wire){.way = WIRE_NONE};
}
