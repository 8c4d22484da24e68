// A hash table of words; at most half of its slots are in use.
#include "equal/text/words.h"

#include <string.h>

static uint32_t hash_of(struct word word) {
    uint64_t hash = word.length;
    for (; word.length >= 8; word.text += 8, word.length -= 8) {
        uint64_t eight;
        memcpy(&eight, word.text, 8);
        hash = (hash ^ eight) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    uint64_t rest = 0;
    memcpy(&rest, word.text, word.length);
    hash = (hash ^ rest) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(hash >> 32);
}

static uint32_t *slot_of(const struct words *words, struct word word, uint32_t hash) {
    uint32_t at = hash & (words->n_slots - 1);
    for (; words->slots[at]; at = (at + 1) & (words->n_slots - 1)) {
        const struct known_word *known = &words->known[words->slots[at] - 1];
        if (known->hash == hash && known->word.length == word.length &&
            memcmp(known->word.text, word.text, word.length) == 0)
            break;
    }
    return &words->slots[at];
}

static void grow(struct words *words) {
    words->n_slots = words->n_slots ? 2 * words->n_slots : 256;
    words->slots = ARENA_ARRAY(words->arena, uint32_t, words->n_slots);
    for (uint32_t i = 0; i < words->n; i++)
        *slot_of(words, words->known[i].word, words->known[i].hash) = i + 1;
}

uint32_t words_find(const struct words *words, struct word word) {
    return words->n ? *slot_of(words, word, hash_of(word)) - 1 : UINT32_MAX;
}

uint32_t words_number(struct words *words, struct word word) {
    if (2 * (words->n + 1) > words->n_slots)
        grow(words);
    uint32_t hash = hash_of(word), *slot = slot_of(words, word, hash);
    if (!*slot) {
        struct known_word known = {word, hash, NULL};
        ARENA_PUSH(words->arena, words->known, words->n, words->cap, known);
        *slot = words->n;
    }
    return *slot - 1;
}

const char *words_string(struct words *words, uint32_t number, struct arena *arena) {
    struct known_word *known = &words->known[number];
    if (!known->string)
        known->string = arena_string(arena, known->word.text, known->word.length);
    return known->string;
}
