// The table of names.h. At most half of the slots are in use, and names are never removed.
#include "ir/names.h"

#include <inttypes.h>
#include <string.h>

static uint32_t hash_of(const char *name) { // FNV-1a
    uint32_t hash = UINT32_C(0x811c9dc5);
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * UINT32_C(0x01000193);
    return hash;
}

// The slot where the name is, or the free one where it belongs.
static struct named_number *slot_of(const struct names *names, const char *name, uint32_t hash) {
    uint32_t at = hash & (names->n_slots - 1);
    for (; names->slots[at].name; at = (at + 1) & (names->n_slots - 1))
        if (names->slots[at].hash == hash && strcmp(names->slots[at].name, name) == 0)
            break;
    return &names->slots[at];
}

static void grow(struct names *names) {
    struct names larger = {
        .arena = names->arena, .n = names->n, .n_slots = names->n_slots ? 2 * names->n_slots : 64};
    larger.slots = ARENA_ARRAY(names->arena, struct named_number, larger.n_slots);
    for (uint32_t i = 0; i < names->n_slots; i++)
        if (names->slots[i].name)
            *slot_of(&larger, names->slots[i].name, names->slots[i].hash) = names->slots[i];
    *names = larger;
}

uint32_t names_find(const struct names *names, const char *name) {
    if (names->n == 0)
        return NOT_NAMED;
    const struct named_number *slot = slot_of(names, name, hash_of(name));
    return slot->name ? slot->number : NOT_NAMED;
}

void names_add(struct names *names, const char *name, uint32_t number) {
    if (2 * (names->n + 1) > names->n_slots)
        grow(names);
    uint32_t hash = hash_of(name);
    *slot_of(names, name, hash) = (struct named_number){name, hash, number, 1};
    names->n++;
}

const char *names_fresh(struct names *names, const char *name, char mark) {
    struct named_number *slot = names->n ? slot_of(names, name, hash_of(name)) : NULL;
    if (!slot || !slot->name)
        return name;
    const char *fresh;
    do
        fresh = arena_format(names->arena, "%s%c%" PRIu32, name, mark, ++slot->given);
    while (names_find(names, fresh) != NOT_NAMED);
    return fresh;
}
