// The words of a step's text that belong to a table: of each, what else could stand there.
#ifndef PLACE_TESTS_STEP_WORDS_H
#define PLACE_TESTS_STEP_WORDS_H

#include <stddef.h>

#include "ir/arena.h"

struct word_table {
    const char *name;
    const char *const *words; // "" is none
    size_t n;
};
// A word that belongs to several tables stands here once for each.
struct step_word {
    size_t begin, end; // in the text
    const struct word_table *table;
    size_t number; // in the table
};
struct step_words {
    struct step_word *items;
    size_t n, capacity;
};
// Those of text[begin, end), where the axes of the mesh that stand there are one more table.
struct step_words step_words_of(struct arena *, const char *text, size_t begin, size_t end);

// The text with something else from `begin` to `end`.
char *text_replaced(struct arena *, const char *text, size_t begin, size_t end, const char *by);

#endif
