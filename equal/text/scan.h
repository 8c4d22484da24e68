// What all parts of a reader share: a place in the text, the tokens there, and the first error, which ends reading.
// The floor below the readers has
//
//     scan.c          bytes to tokens
//     words.c         numbers for words of the text
//     known_shapes.c  shapes, equal ones once
#ifndef PLACE_EQUAL_TEXT_SCAN_H
#define PLACE_EQUAL_TEXT_SCAN_H

#include <stdbool.h>
#include <stdint.h>

#include "ir/arena.h"
#include "ir/diagnostic.h"

// Bytes of the text.
struct word {
    const char *text;
    uint32_t length;
};

struct scanner {
    const char *at, *begin, *end; // *end is NUL
    uint32_t source;
    struct diagnostics *diagnostics;
    struct arena *arena;   // for what stays
    struct arena *scratch; // for what only reading needs
    bool failed;           // an error was reported; then `at` is the end
};

enum { MAX_NESTING = 64 }; // brackets inside of brackets: bounds recursion

// At the beginning of a source of the diagnostics' set.
struct scanner scanner_new(uint32_t source, struct arena *, struct arena *scratch,
                           struct diagnostics *);
// Reports the first error, at so many bytes of the text, and ends reading: the place becomes the end, where every
// token is missing. NULL: there was an error before. `scan_fail` is false, for those who return it. What is
// found at the text's end is helped by saying so.
struct diagnostic *scan_report(struct scanner *, enum diagnostic_code, struct word at,
                               const char *format, ...) __attribute__((format(printf, 4, 5)));
bool scan_fail(struct scanner *, enum diagnostic_code, struct word at, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
// The text does not go on as it must: "expected WHAT", or that it ends too early.
bool scan_expected(struct scanner *, const char *what);
struct span scan_span(const struct scanner *, struct word);
static inline struct word scan_from(const struct scanner *s, const char *begin) {
    return (struct word){begin, (uint32_t)(s->at - begin)};
}

// Moves to the next byte that is neither blank, nor a line's end, nor of a comment.
void scan_blanks(struct scanner *);
// The next byte behind blanks, which stays; NUL at the end.
char scan_peek(struct scanner *);
// Whether it is this one; then it is behind us.
bool scan_take(struct scanner *, char);
bool scan_need(struct scanner *, char); // or it is an error
// Letters, digits and `_.-`, behind blanks; empty where there are none.
struct word scan_word(struct scanner *);
bool scan_number(struct scanner *, int64_t *);
bool scan_truth(struct scanner *, bool *);
// A text in double quotes, without them and as it is written.
bool scan_quoted(struct scanner *, struct word *);
// Moves behind the bracket that closes the one at the place.
bool scan_balanced(struct scanner *);
// Moves to the comma, line's end or closing bracket that ends a value.
bool scan_value(struct scanner *);

bool word_is(struct word, const char *text);
static inline bool word_ends(struct word word, const char *end, uint32_t length) {
    return word.length >= length &&
           __builtin_memcmp(word.text + word.length - length, end, length) == 0;
}
// Words in messages: printf's "%.*s".
#define WORD(w) (int)((w).length < 200 ? (w).length : 200), (w).text

#endif
