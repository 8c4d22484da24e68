// Interning: equal bytes get equal small numbers, so that equality of everything that the verifier
// reasons about (terms, scales, digits, forms) is equality of integers.
#ifndef PLACE_VERIFY_ALGEBRA_INTERN_H
#define PLACE_VERIFY_ALGEBRA_INTERN_H

#include <stdbool.h>
#include <stdint.h>

#include "ir/arena.h"

struct intern_entry {
    const void *bytes;
    uint32_t size;
};
struct intern_slot {
    uint32_t entry; // + 1; 0: free
    uint32_t hash;  // tells most entries apart without looking at them
};
struct intern {
    struct arena *arena;
    struct intern_entry *entries;
    uint32_t n, cap;
    struct intern_slot *slots; // open addressing, a power of two of them
    uint32_t n_slots;
};

// The number of `bytes`; `*added` (may be NULL) says that they are new. Padding must be zeroed.
uint32_t intern(struct intern *set, const void *bytes, uint32_t size, bool *added);
// Whether they are in the set, which stays as it is.
bool intern_has(const struct intern *set, const void *bytes, uint32_t size);
static inline const void *interned(const struct intern *set, uint32_t id) {
    return set->entries[id].bytes;
}

#endif
