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

static const char sample[] =
    "step main {\n"
    "  axis replica = 2 link 5e+10 1e-05\n"
    "  axis shard = 2\n"
    "  product dp = replica*shard\n"
    "  sizes batch = 8 sequence = 4 microbatches = 2 layers = 3 vocab = 16\n"
    "  policy parameters = f32 master = none moments = f32 gradients = bf16\n"
    "       compute = f32 accumulate = f32 gather = f32 reduce = f32\n"
    "       reproducible = 4 of batch, ffn microbatch = 2\n"
    "       relax over replica every = 3 wire over shard way = topk kept = 2\n"
    "  arena 4096\n"
    "  tensor block.w [hidden=6, ffn=5] role mlp.up layers 3 init normal 0.02\n"
    "       saved \"h.%d.w\" columns 1 5 transposed\n"
    "  tensor block.g [hidden=6] role norm layers 3 init ones frozen\n"
    "  tensor both [hidden=6, part=3] role mlp init zeros parts one 1, two 2\n"
    "  buffer words : input i32[batch=8/replica*shard, sequence=4] host tokens\n"
    "       microbatches 2 around shard at 0\n"
    "  buffer w : parameters f32[hidden=6, ffn=5] flat/replica*shard of block.w layers 3 at 64\n"
    "  buffer w.whole : transient f32[hidden=6, ffn=5] of block.w slots 2 pad 4 at 512\n"
    "  buffer w.own : transient f32[hidden=6, ffn=5] flat/replica*shard of block.w slots 2\n"
    "       window of w.whole\n"
    "  buffer odd : parameters f32[hidden=6] of block.g layers 1 from 1 by 2 at 896\n"
    "  buffer x : activations f32[batch=8/replica*shard, sequence=4, hidden=6] at 1024\n"
    "  buffer y : activations f32[batch=8/replica*shard, sequence=4, ffn=5] at 2048\n"
    "  buffer behind : activations f32[batch=8/replica*shard, sequence=4, hidden=6] at 2560\n"
    "  buffer turned : activations f32[batch=8/replica*shard, sequence=8, hidden=3] at 2816\n"
    "  buffer frame : transient f32[flat=40] at 3072\n"
    "  buffer order : input i32[sequence=8/replica*shard zigzag shard] at 3264\n"
    "  train {\n"
    "    start all_gather over replica*shard as gather[0] { w[0] -> w.whole[0] }\n"
    "    for m = 0 .. 2 {\n"
    "      for l = 0 .. 2 descending {\n"
    "        start all_gather over replica*shard as gather[l+1 mod 2] {\n"
    "             w[l+1] -> w.whole[l+1 mod 2] }\n"
    "        wait gather[l mod 2]\n"
    "        call project(x = x, w = w.whole[l mod 2]) -> (y = y)\n"
    "        free w.whole[l mod 2], y\n"
    "      }\n"
    "    }\n"
    "    zero y\n"
    "    for g = 0 .. 1 {\n"
    "      for k = 2*g+1 .. 2*g+3 {\n"
    "        free w[k]\n"
    "      }\n"
    "    }\n"
    "    start permute over shard*replica shift -1 as turn[0] { x -> behind }\n"
    "    start all_to_all over shard dim 2 concat_dim 1 as turn[1] { x -> turned }\n"
    "    start all_reduce over shard operation max as turn[2] { behind -> behind, x -> x }\n"
    "  }\n"
    "  evaluate {\n"
    "    zero y\n"
    "  }\n"
    "  average {\n"
    "    free odd[0]\n"
    "  }\n"
    "}\n"
    "unit main.project {\n"
    "  phase backward\n"
    "  parameter %x : f32[batch=2, sequence=4, hidden=6]\n"
    "  parameter consumed %w : f32[hidden=6, ffn=5]\n"
    "  result %y\n"
    "  result %g in %w\n"
    "  frame 160 of frame\n"
    "  %p = einsum(%x, %w) {labels=\"bsh,hf->bsf\", blocks=\"hidden=3 ffn=5\"} :\n"
    "       f32[batch=2, sequence=4, ffn=5] at 0 role mlp.up\n"
    "  %q = gelu(%p) {approximate=\"tanh\"} : f32[batch=2, sequence=4, ffn=5] inline\n"
    "  %y.started = all_reduce(%q) {axes=replica*shard, operation=\"max\"} :\n"
    "       f32[batch=2, sequence=4, ffn=5] out role mlp\n"
    "  %y = wait(%y.started) : f32[batch=2, sequence=4, ffn=5] in %y.started\n"
    "  %g = cast(%w) : f32[hidden=6, ffn=5] in %w\n"
    "}\n";

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

// The sample with `by` in the place of a word.
static void expect_heard(const char *original, struct word word, const char *by) {
    struct arena arena = {0};
    struct text_error error;
    int length = (int)(word.end - word.begin);
    char *text = arena_format(&arena, "%.*s %s %s", (int)word.begin, sample, by, sample + word.end);
    struct program *program = program_parse(&arena, text, strlen(text), 0, &error);
    if (program && strcmp(program_text(program, &arena), original) == 0)
        fail_msg("`%s` in the place of `%.*s` changes nothing: ... %.60s", by, length,
                 sample + word.begin, sample + (word.begin > 20 ? word.begin - 20 : 0));
    arena_free(&arena);
}

static void sample_is_read(void **state) {
    struct arena arena = {0};
    struct text_error error;
    struct program *program = program_parse(&arena, sample, strlen(sample), 0, &error);
    if (!program)
        fail_msg("%s: %.60s", error.message, sample + error.span.begin);
    char *printed = program_text(program, &arena);
    struct program *again = program_parse(&arena, printed, strlen(printed), 0, &error);
    assert_non_null(again);
    assert_string_equal(program_text(again, &arena), printed);
    arena_free(&arena);
}

static bool same_word(struct word a, struct word b) {
    uint32_t length = a.end - a.begin;
    return length == b.end - b.begin && memcmp(sample + a.begin, sample + b.begin, length) == 0;
}

// Of words that are the same the first.
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
    return arena_string(arena, sample + word.begin, word.end - word.begin);
}

static const char *twice(struct arena *arena, struct word word) {
    const char *text = text_of(arena, word);
    return arena_format(arena, "%s\n%s", text, text);
}

static char *printed_sample(struct arena *arena) {
    struct text_error error;
    return program_text(program_parse(arena, sample, strlen(sample), 0, &error), arena);
}

// Replaced by every word that the sample has, or, as that takes half a minute, by every eleventh.
static void every_word_is_heard(void **state) {
    static struct word words[MAX_WORDS], different[MAX_WORDS];
    struct arena arena = {0};
    const char *original = printed_sample(&arena);
    uint32_t n = cut_words(sample, words), n_different = different_words(words, n, different);
    uint32_t stride = getenv("PLACE_TEST_FULL") ? 1 : 11;
    for (uint32_t i = 0; i < n; i++) {
        expect_heard(original, words[i], "");
        expect_heard(original, words[i], twice(&arena, words[i]));
        for (uint32_t k = i % stride; k < n_different; k += stride)
            if (!same_word(words[i], different[k]))
                expect_heard(original, words[i], text_of(&arena, different[k]));
    }
    arena_free(&arena);
}

static void every_line_is_heard(void **state) {
    struct arena arena = {0};
    const char *original = printed_sample(&arena);
    for (uint32_t begin = 0; sample[begin];) {
        uint32_t end = begin + (uint32_t)strcspn(sample + begin, "\n");
        struct word line = {begin, end};
        expect_heard(original, line, "");
        expect_heard(original, line, twice(&arena, line));
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
