// Every word of a program's text is heard: a text in which one is left out, said twice or replaced
// by another is refused, or is another program. The sample has every word of the form
// (docs/program.md) at least once.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "ir/ir.h"
#include "tests/program_sample.h"
#include "tests/sample.h"

struct word { // a name, value, number, string or punctuation; or several, as a line has
    uint32_t begin, end;
};
enum { MAX_WORDS = 1200 };

static bool is_of_name(char c) {
    return isalnum((unsigned char)c) || c == '_' || c == '.';
}

// Dots and signs belong to names and numbers, as far as it matters here.
static uint32_t word_end(const char *text, uint32_t at) {
    char c = text[at];
    if (c == '"')
        return at + 2 + (uint32_t)strcspn(text + at + 1, "\"");
    if (strncmp(text + at, "->", 2) == 0 || strncmp(text + at, "..", 2) == 0)
        return at + 2;
    if (!isalnum((unsigned char)c) && c != '%' && c != '-' && c != '_')
        return at + 1;
    do
        at++;
    while (is_of_name(text[at]) || (strchr("+-", text[at]) && text[at - 1] == 'e' &&
                                    isdigit((unsigned char)text[at + 1]) && text[at]));
    return at;
}

static uint32_t cut_words(const char *text, struct word words[MAX_WORDS]) {
    uint32_t n = 0;
    for (uint32_t at = 0; text[at];) {
        if (isspace((unsigned char)text[at])) {
            at++;
            continue;
        }
        assert_true(n < MAX_WORDS);
        words[n] = (struct word){at, word_end(text, at)};
        at = words[n++].end;
    }
    return n;
}

static struct program *read_sample(struct arena *arena) {
    struct text_error error;
    return job_only(job_parse(arena, program_sample, strlen(program_sample), 0, &error));
}

static void drop_frees(struct block *block) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < block->n; i++) {
        struct statement s = block->statements[i];
        if (statement_only_frees(&s))
            continue;
        if (s.kind == STATEMENT_LOOP)
            drop_frees(&s.loop.body);
        block->statements[n++] = s;
    }
    block->n = n;
}

// Without what can be derived again.
static const char *bare_text(struct arena *arena, struct program *program) {
    while (program->n_buffers && program_is_frame(program, program->n_buffers - 1))
        program->n_buffers--;
    job_drop_plan(program->job);
    for (int kind = 0; kind < N_STEPS; kind++)
        drop_frees(&program->steps[kind].body);
    return job_text(program->job, arena);
}

struct sample {
    const struct program *program;
    const char *text, *bare;
};

// The sample with `by` in the place of a word: it is another text and, where that is more than frees
// and a plan, no program that is alike.
static void expect_heard(const struct sample *sample, struct word word, const char *by) {
    struct arena arena = {0};
    struct text_error error;
    int length = (int)(word.end - word.begin);
    char *text = arena_format(&arena, "%.*s %s %s", (int)word.begin, program_sample, by,
                              program_sample + word.end);
    struct program *program = job_only(job_parse(&arena, text, strlen(text), 0, &error));
    bool alike = program && job_is_alike(program->job, sample->program->job);
    if (program && strcmp(job_text(program->job, &arena), sample->text) == 0)
        fail_msg("`%s` in the place of `%.*s` changes nothing: ... %.60s", by, length,
                 program_sample + word.begin,
                 program_sample + (word.begin > 20 ? word.begin - 20 : 0));
    if (program && alike != (strcmp(bare_text(&arena, program), sample->bare) == 0))
        fail_msg("with `%s` in the place of `%.*s` it is %salike", by, length,
                 program_sample + word.begin, alike ? "" : "not ");
    arena_free(&arena);
}

static void sample_is_read(void **state) {
    struct arena arena = {0};
    struct text_error error;
    struct program *program =
        job_only(job_parse(&arena, program_sample, strlen(program_sample), 0, &error));
    if (!program)
        fail_msg("%s: %.60s", error.message, program_sample + error.span.begin);
    char *printed = job_text(program->job, &arena);
    struct program *again = job_only(job_parse(&arena, printed, strlen(printed), 0, &error));
    assert_non_null(again);
    assert_string_equal(job_text(again->job, &arena), printed);
    arena_free(&arena);
}

static bool same_word(struct word a, struct word b) {
    uint32_t length = a.end - a.begin;
    return length == b.end - b.begin &&
           memcmp(program_sample + a.begin, program_sample + b.begin, length) == 0;
}

// Takes words once, the first of those that are the same.
static uint32_t different_words(const struct word *words, uint32_t n, struct word *different) {
    uint32_t found = 0;
    for (uint32_t i = 0; i < n; i++) {
        bool known = false;
        for (uint32_t k = 0; k < found && !known; k++)
            known = same_word(words[i], different[k]);
        if (!known)
            different[found++] = words[i];
    }
    return found;
}

static const char *text_of(struct arena *arena, struct word word) {
    return arena_string(arena, program_sample + word.begin, word.end - word.begin);
}

static const char *twice(struct arena *arena, struct word word) {
    const char *text = text_of(arena, word);
    return arena_format(arena, "%s\n%s", text, text);
}

static struct sample sample_of(struct arena *arena) {
    const struct program *program = read_sample(arena);
    return (struct sample){program, job_text(program->job, arena),
                           bare_text(arena, read_sample(arena))};
}

// Replaced by every word that the sample has, or, as that takes half a minute, by every eleventh, or fewer.
static void every_word_is_heard(void **state) {
    static struct word words[MAX_WORDS], different[MAX_WORDS];
    struct arena arena = {0};
    struct sample sample = sample_of(&arena);
    uint32_t n = cut_words(program_sample, words),
             n_different = different_words(words, n, different);
    uint32_t stride = getenv("PLACE_TEST_FULL") ? 1 : 11 * (uint32_t)sample_every();
    for (uint32_t i = 0; i < n; i++) {
        expect_heard(&sample, words[i], "");
        expect_heard(&sample, words[i], twice(&arena, words[i]));
        for (uint32_t k = i % stride; k < n_different; k += stride)
            if (!same_word(words[i], different[k]))
                expect_heard(&sample, words[i], text_of(&arena, different[k]));
    }
    arena_free(&arena);
}

static void every_line_is_heard(void **state) {
    struct arena arena = {0};
    struct sample sample = sample_of(&arena);
    for (uint32_t begin = 0; program_sample[begin];) {
        uint32_t end = begin + (uint32_t)strcspn(program_sample + begin, "\n");
        struct word line = {begin, end};
        expect_heard(&sample, line, "");
        expect_heard(&sample, line, twice(&arena, line));
        begin = end + 1;
    }
    arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(sample_is_read),
                                       cmocka_unit_test(every_word_is_heard),
                                       cmocka_unit_test(every_line_is_heard)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
