// Types of elements: a table of names, and the order in which they give way to each other.
#include "equal/fx/elements.h"

static const struct {
    const char *text, *word;
    enum element element;
} rows[] = {
#define FX_ELEMENT(text, word, element) {text, word, ELEMENT_TYPE_##element},
#include "equal/fx/elements.def"
#undef FX_ELEMENT
};
enum { N_ROWS = sizeof rows / sizeof *rows };

bool fx_element_of_text(struct word text, enum element *element) {
    for (int i = 0; i < N_ROWS; i++)
        if (word_is(text, rows[i].text)) {
            *element = rows[i].element;
            return true;
        }
    return false;
}

bool fx_element_of_word(struct word word, enum element *element) {
    static const char torch[] = "torch.";
    uint32_t length = sizeof torch - 1;
    if (word.length <= length || __builtin_memcmp(word.text, torch, length) != 0)
        return false;
    word.text += length;
    word.length -= length;
    for (int i = 0; i < N_ROWS; i++)
        if (word_is(word, rows[i].word)) {
            *element = rows[i].element;
            return true;
        }
    return false;
}

// Truths give way to whole numbers, these to reals, and all to what is none of them.
static int rank_of(enum element element) {
    switch (fx_kind(element)) {
    case NUMBER_TRUTH:
        return 0;
    case NUMBER_INTEGER:
    case NUMBER_UNSIGNED:
        return 1;
    case NUMBER_REAL:
        return 2;
    default:
        return 3;
    }
}

// A type that has the numbers of both.
static enum element signed_above(enum element number, enum element natural) {
    if (element_rows[number].bits > element_rows[natural].bits)
        return number;
    return element_rows[natural].bits < 16   ? ELEMENT_TYPE_S16
           : element_rows[natural].bits < 32 ? ELEMENT_TYPE_S32
                                             : ELEMENT_TYPE_S64;
}

enum element fx_promoted(enum element a, enum element b) {
    if (a == b || rank_of(a) > rank_of(b))
        return a;
    if (rank_of(b) > rank_of(a))
        return b;
    if (fx_kind(a) != fx_kind(b))
        return fx_kind(a) == NUMBER_UNSIGNED ? signed_above(b, a) : signed_above(a, b);
    if (element_rows[a].bits != element_rows[b].bits)
        return element_rows[a].bits > element_rows[b].bits ? a : b;
    return fx_kind(a) == NUMBER_REAL ? ELEMENT_TYPE_F32 : a; // f16 and bf16
}
