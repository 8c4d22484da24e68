// Numbers for words of the text: equal words have one, the first 0. Words are kept where they stand.
#ifndef PLACE_EQUAL_TEXT_WORDS_H
#define PLACE_EQUAL_TEXT_WORDS_H

#include "equal/text/scan.h"

struct known_word {
    struct word word;
    uint32_t hash;
    const char *string; // NULL: nobody asked for it yet
};
struct words {
    struct arena *arena;
    struct known_word *known;
    uint32_t n, cap;
    uint32_t *slots; // of the known, from 1 on; 0: free; open addressing, a power of two of them
    uint32_t n_slots;
};

// The word's number; UINT32_MAX: it has none.
uint32_t words_find(const struct words *, struct word);
// The same; it is added where it is new.
uint32_t words_number(struct words *, struct word);
// The word as a string in the arena: one, however often it is asked for.
const char *words_string(struct words *, uint32_t number, struct arena *);

#endif
