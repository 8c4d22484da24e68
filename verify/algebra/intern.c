// One open-addressing table for everything that is hash-consed; see intern.h. At most two thirds of
// the slots are in use, and entries are never removed.
#include "verify/algebra/intern.h"

#include <string.h>

enum { LANES = 4 };

static uint64_t word_at(const unsigned char *bytes) {
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

static uint64_t mix(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

static uint32_t hash_bytes(const void *bytes, uint32_t size) {
    // FNV-1a over words of eight bytes, then a final mix: keys' low bits are alike. Long keys, which sums of many are, go
    // by four words at once, since each step waits for the one before.
    const unsigned char *at = bytes;
    uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ size;
    if (size >= 8 * LANES) {
        uint64_t lanes[LANES] = {hash, hash + 1, hash + 2, hash + 3};
        for (; size >= 8 * LANES; size -= 8 * LANES, at += 8 * LANES)
            for (int i = 0; i < LANES; i++)
                lanes[i] = mix(lanes[i], word_at(at + 8 * i));
        for (int i = 0; i < LANES; i++)
            hash = mix(hash, lanes[i]);
    }
    for (; size >= 8; size -= 8, at += 8)
        hash = mix(hash, word_at(at));
    for (; size > 0; size--, at++)
        hash = (hash ^ *at) * UINT64_C(0x100000001b3);
    hash ^= hash >> 32;
    hash *= UINT64_C(0xd6e8feb86659fd93);
    return (uint32_t)(hash ^ hash >> 32);
}

static void grow(struct intern *set) {
    uint32_t n_slots = set->n_slots ? set->n_slots * 2 : 256;
    struct intern_slot *slots = ARENA_ARRAY(set->arena, struct intern_slot, n_slots);
    for (uint32_t i = 0; i < set->n_slots; i++) {
        struct intern_slot slot = set->slots[i];
        uint32_t at = slot.hash & (n_slots - 1);
        while (slot.entry && slots[at].entry)
            at = (at + 1) & (n_slots - 1);
        if (slot.entry)
            slots[at] = slot;
    }
    set->slots = slots;
    set->n_slots = n_slots;
}

// The slot where they are, or the free one where they belong.
static struct intern_slot *find(const struct intern *set, const void *bytes, uint32_t size,
                                uint32_t hash) {
    uint32_t at = hash & (set->n_slots - 1);
    for (; set->slots[at].entry; at = (at + 1) & (set->n_slots - 1)) {
        if (set->slots[at].hash != hash)
            continue;
        const struct intern_entry *entry = &set->entries[set->slots[at].entry - 1];
        if (entry->size == size && memcmp(entry->bytes, bytes, size) == 0)
            break;
    }
    return &set->slots[at];
}

bool intern_has(const struct intern *set, const void *bytes, uint32_t size) {
    return set->n && find(set, bytes, size, hash_bytes(bytes, size))->entry;
}

uint32_t intern(struct intern *set, const void *bytes, uint32_t size, bool *added) {
    if ((set->n + 1) * 3 > set->n_slots * 2)
        grow(set);
    uint32_t hash = hash_bytes(bytes, size);
    struct intern_slot *slot = find(set, bytes, size, hash);
    if (added)
        *added = !slot->entry;
    if (slot->entry)
        return slot->entry - 1;
    struct intern_entry entry = {arena_copy(set->arena, bytes, size), size};
    ARENA_PUSH(set->arena, set->entries, set->n, set->cap, entry);
    *slot = (struct intern_slot){set->n, hash};
    return set->n - 1;
}
