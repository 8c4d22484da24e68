// Fuzzes programs that a file writes out: texts that begin as what the compiler emits go the whole
// way of `placec check`, and are refused with messages or accepted and reported, never more.
//
// Bytes at random hardly get past the parser, so most of what is tried differs from a text that is
// read in a word, a number, a name or a line.
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "tests/driver_check.h"
#include "tests/fuzz.h"
#include "tests/random.h"
#include "tests/step_words.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    driver_check((const char *)data, size, true);
    return 0;
}

// ---- what is tried ----------------------------------------------------------------------------

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);
// libFuzzer's own; absent where inputs are only replayed.
__attribute__((weak)) size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

struct mutation {
    struct arena *arena;
    const char *text;
    size_t written, end; // where the program stands
    uint64_t random;
};

struct stretch {
    size_t begin, end;
};

static size_t choose(struct mutation *m, size_t n) {
    return random_bits(&m->random) % n;
}

static char *replace(struct mutation *m, struct stretch at, const char *by) {
    return text_replaced(m->arena, m->text, at.begin, at.end, by);
}

static char *other_word(struct mutation *m) {
    struct step_words words = step_words_of(m->arena, m->text, m->written, m->end);
    if (words.n == 0)
        return NULL;
    const struct step_word *word = &words.items[choose(m, words.n)];
    return replace(m, (struct stretch){word->begin, word->end},
                   word->table->words[choose(m, word->table->n)]);
}

static bool is_of_name(char c) {
    return isalnum((unsigned char)c) || c == '_' || c == '.';
}

// A name or number around or behind a random byte; empty: there is none.
static struct stretch choose_stretch(struct mutation *m) {
    size_t begin = m->written + choose(m, m->end - m->written), end;
    while (begin < m->end && !is_of_name(m->text[begin]))
        begin++;
    while (begin > m->written && begin < m->end && is_of_name(m->text[begin - 1]))
        begin--;
    for (end = begin; end < m->end && is_of_name(m->text[end]);)
        end++;
    return (struct stretch){begin, end};
}

static char *other_number(struct mutation *m) {
    static const char *const numbers[] = {"0",
                                          "1",
                                          "-1",
                                          "2",
                                          "3",
                                          "7",
                                          "64",
                                          "2147483648",
                                          "1099511627776",
                                          "2251799813685248",
                                          "9223372036854775807"};
    struct stretch at = choose_stretch(m);
    for (int i = 0; i < 64 && !isdigit((unsigned char)m->text[at.begin]); i++)
        at = choose_stretch(m);
    long long number = strtoll(m->text + at.begin, NULL, 10);
    if (choose(m, 3) == 0)
        return replace(m, at, numbers[choose(m, sizeof numbers / sizeof *numbers)]);
    bool up = choose(m, 2) && number < LLONG_MAX;
    return replace(m, at, arena_format(m->arena, "%lld", up ? number + 1 : number - 1));
}

static char *other_name(struct mutation *m) {
    struct stretch at = choose_stretch(m), by = choose_stretch(m);
    return replace(m, at, arena_string(m->arena, m->text + by.begin, by.end - by.begin));
}

static struct stretch choose_line(struct mutation *m) {
    size_t begin = m->written + choose(m, m->end - m->written), end;
    while (begin > m->written && m->text[begin - 1] != '\n')
        begin--;
    for (end = begin; end < m->end && m->text[end] != '\n';)
        end++;
    return (struct stretch){begin, end + (end < m->end)};
}

static char *other_line(struct mutation *m) {
    struct stretch at = choose_line(m), by = choose_line(m);
    const char *line = arena_string(m->arena, m->text + by.begin, by.end - by.begin);
    switch (choose(m, 3)) {
    case 0:
        return replace(m, at, "");
    case 1:
        return replace(m, at, line);
    default:
        return replace(m, (struct stretch){at.begin, at.begin}, line);
    }
}

static char *mutate(struct mutation *m) {
    static char *(*const functions[])(struct mutation *) = {other_word, other_word, other_number,
                                                            other_name, other_line};
    return functions[choose(m, sizeof functions / sizeof *functions)](m);
}

static struct mutation begin(struct arena *arena, const char *text, uint64_t random) {
    const char *step = strstr(text, "\nstep ");
    return (struct mutation){.arena = arena,
                             .text = text,
                             .written = step ? (size_t)(step - text) : 0,
                             .end = strlen(text),
                             .random = random};
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
    struct arena arena = {0};
    struct mutation m = begin(&arena, arena_string(&arena, (const char *)data, size), seed);
    size_t n_changes = 1 + choose(&m, 3) * choose(&m, 2);
    if (LLVMFuzzerMutate && choose(&m, 16) == 0)
        size = LLVMFuzzerMutate(data, size, max_size);
    else
        for (size_t i = 0; i < n_changes && m.written < m.end; i++) {
            char *next = mutate(&m);
            size_t length = next ? strlen(next) : max_size;
            if (length >= max_size)
                break;
            memcpy(data, next, size = length);
            m = begin(&arena, next, m.random);
        }
    arena_free(&arena);
    return size;
}
