// The text form: what print writes, parse reads back to the same text; what is wrong is said where.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/ir.h"
#include "tests/program_sample.h"

static void prints_what_it_reads(void **state) {
    struct arena arena = {0};
    struct text_error error;
    struct program *program =
        job_only(job_parse(&arena, program_sample, strlen(program_sample), 0, &error));
    if (!program)
        print_error("%s at byte %u: %.40s\n", error.message, error.span.begin,
                    program_sample + error.span.begin);
    assert_non_null(program);
    assert_string_equal(job_text(program->job, &arena), program_sample);
    assert_string_equal(job_text(job_clone(&arena, program->job), &arena), program_sample);
    arena_free(&arena);
}

// The text with the first `from` replaced by `to`.
static char *replaced(struct arena *arena, const char *text, const char *from, const char *to) {
    const char *found = strstr(text, from);
    assert_non_null(found);
    return arena_format(arena, "%.*s%s%s", (int)(found - text), text, to, found + strlen(from));
}

static void expect_error_in(struct arena *arena, const char *text, const char *message,
                            const char *where) {
    struct text_error error;
    struct program *program = job_only(job_parse(arena, text, strlen(text), 0, &error));
    if (program && !(error.message = job_check_plan(program->job, arena, &error.span)))
        fail_msg("expected `%s`, got a program", message);
    if (!strstr(error.message, message))
        fail_msg("expected `%s`, got `%s`", message, error.message);
    if (where && strncmp(text + error.span.begin, where, strlen(where)) != 0)
        fail_msg("expected the error at `%s`, it is at `%.20s`", where, text + error.span.begin);
}

// Replaces the first `from` in the sample by `to` and expects `message` at `where`.
static void expect_error(const char *from, const char *to, const char *message, const char *where) {
    struct arena arena = {0};
    expect_error_in(&arena, replaced(&arena, program_sample, from, to), message, where);
    arena_free(&arena);
}

// The same, and `meant` as what should perhaps stand there; NULL: nothing is near.
static void expect_meant(const char *from, const char *to, const char *meant) {
    struct arena arena = {0};
    struct text_error error;
    char *text = replaced(&arena, program_sample, from, to);
    assert_null(job_parse(&arena, text, strlen(text), 0, &error));
    if (!meant)
        assert_null(error.meant);
    else if (!error.meant || strcmp(error.meant, meant) != 0)
        fail_msg("expected `%s` to be meant, got `%s`", meant, error.meant);
    else if (strncmp(text + error.span.begin, to, error.span.end - error.span.begin) != 0)
        fail_msg("what is meant does not stand for `%s`", to);
    arena_free(&arena);
}

// Blocks name every dimension once, which has one, two, four ...
static void blocks_are_a_power_of_two(void **state) {
    static const char *const no_blocks[] = {"",
                                            "ffn",
                                            "ffn=",
                                            "ffn=0",
                                            "ffn=-5",
                                            "hidden=4",
                                            "hidden=2",
                                            "hidden=12",
                                            "heads=1",
                                            "hidde=3",
                                            "=5",
                                            "hidden=3,",
                                            "hidden=3  ffn=5",
                                            "hidden=3 hidden=3",
                                            "hidden=3 ",
                                            "sequence=4 batch=3"};
    for (size_t i = 0; i < sizeof no_blocks / sizeof *no_blocks; i++) {
        struct arena arena = {0};
        const char *to = arena_format(&arena, "hf->bsf\", blocks=\"%s\"", no_blocks[i]);
        expect_error("hf->bsf\", blocks=\"hidden=3 ffn=5\"", to, "does not say lengths of blocks",
                     "%p = einsum");
        arena_free(&arena);
    }
    expect_error("%p = einsum(%x, %w) {labels=\"bsh,hf->bsf\", blocks=\"hidden=3 ffn=5\"} :\n"
                 "       f32[batch=2, sequence=4, ffn=5]",
                 "%p = sum_rows(%w) {keep=1, blocks=\"sequence=4\"} : f32[ffn=5]",
                 "does not say lengths of blocks", "%p = sum_rows");
    expect_error("%p = einsum(%x, %w) {labels=\"bsh,hf->bsf\", blocks=\"hidden=3 ffn=5\"}",
                 "%o = iota() {dimension=positions} : i32[positions=6] inline\n"
                 "%i = iota() {dimension=hidden} : i32[hidden=6] inline\n"
                 "%t = embedding(%o, %w, %i) : f32[positions=6, ffn=5]\n"
                 "%p = einsum(%x, %t) {labels=\"bsh,hf->bsf\", blocks=\"hidden=3 ffn=5\"}",
                 "not what another has in its place", "%p = einsum");
    expect_error("gelu(%p) {", "gelu(%p) {blocks=\"ffn=5\", ", "does not take", NULL);
}

// Two results of a unit in one place: each would be told to hold what the other is.
static void results_have_places_of_their_own(void **state) {
    struct arena arena = {0};
    char *text = replaced(&arena, program_sample, "-> (y = y)", "-> (y = y, z = other)");
    text = replaced(&arena, text, "  buffer frame",
                    "  buffer other : activations f32[batch=8/replica*shard, sequence=4, ffn=5]"
                    " at 3328\n  buffer frame");
    text = replaced(&arena, text, "  result %y\n", "  result %y\n  result %z\n");
    text = replaced(&arena, text, "in %y.started\n",
                    "in %y.started\n  %z = cast(%y) : f32[batch=2, sequence=4, ffn=5] in %y\n");
    expect_error_in(&arena, text, "results `%y` and `%z` lie in one place", NULL);
    text = replaced(&arena, program_sample, ") -> (y = y)", ", o = y)");
    text = replaced(&arena, text, "  result %y\n",
                    "  parameter %o : f32[batch=2, sequence=4, ffn=5]\n"
                    "  result %y in %o\n  result %p in %o\n");
    expect_error_in(&arena, text, "two results take the place of `%o`", NULL);
    arena_free(&arena);
}

static void says_what_is_wrong_and_where(void **state) {
    expect_error("over replica*shard as gather[0]", "over nowhere as gather[0]",
                 "`nowhere` is not an axis of this mesh", "nowhere");
    expect_error("gelu(%p)", "gelu(%q)", "`q` is not a value defined above", "%q");
    expect_error("gelu(%p)", "gellu(%p)", "`gellu` is not an op", "gellu");
    expect_error("zero y\n", "zero z\n", "there is no buffer `z`", "z");
    expect_error("zero y\n", "zero w\n", "has several items", "w\n");
    expect_error("x = x, w", "w = x, w", "expected `x = ...` here", "w = x");
    expect_error("{ w[l+1]", "{ w[l+2]", "an index of buffer w is outside its 3 items", NULL);
    expect_error("ffn=5] inline", "ffn=6] inline", "another type than follows", NULL);
    expect_error("2*g+3", "2*g+4", "an index of buffer w is outside its 3 items", NULL);
    expect_error("g = 0 .. 1", "g = 0 .. 2", "an index of buffer w is outside its 3 items", NULL);
    expect_error("= 2*g+1", "= 2*m+1", "the variable of the loop right around it", "m+1");
    expect_error("= 2*g+1", "= 0*g+1", "by a stride of at least 1", "g+1");
    expect_error("= 2*g+1", "= 1*g+1", "begins and ends by the same stride", "{\n        free");
    expect_error("= 3*g .. 3*g+2", "= 3*g+3 .. 3*g+2", "ends before it begins", NULL);
    expect_error("hidden=6]\n  parameter", "hidden=7]\n  parameter", "differ in a size", NULL);
    expect_error("call project(", "call protect(", "there is no unit `protect`", "protect");
    expect_error("labels=", "eps=", "expected a number", NULL);
    expect_error(" {labels=\"bsh,hf->bsf\", blocks=\"hidden=3 ffn=5\"}", "",
                 "lacks the attribute `labels`", NULL);
    expect_error("  %q = gelu",
                 "  %r = sum_rows(%w) {keep=4294967297} : f32[ffn=5] out\n  %q = gelu",
                 "`keep` of `sum_rows` is one of 0 .. 6", "%r = sum_rows");
    expect_error("  %q = gelu",
                 "  %r = all_gather(%p) {axes=shard, dim=4294967297} : f32[flat=80] out\n"
                 "  %q = gelu",
                 "`dim` of `all_gather` is one of 0 .. 5", "%r = all_gather");
    expect_error("shard = 2\n", "shard = 0\n", "at least one device", NULL);
    expect_error("shard = 2\n", "shard = 16777217\n", "at most 16777216 devices", NULL);
    expect_error("slots 2 pad 4 at 512", "slots 2 at 512", "the last shard", "w.own");
    expect_error("slots 2 pad 4 at 512", "slots 2 pad 0 at 512", "a multiple of at least 1",
                 "0 at");
    expect_error("flat/replica*shard of block.w layers", "flat/replica*shard layers",
                 "persists, but is about no tensor", "w :");
    expect_error("zigzag shard]", "zigzag replica*shard]", "one of the axes that cut it",
                 "zigzag replica*shard");
    expect_error("sequence=8/replica*shard zigzag", "sequence=12/replica*shard zigzag",
                 "12 is not divisible by twice this axis", "zigzag shard");
    expect_error("  train {", "  trian {", "expected axis", "trian");
    expect_error("host tokens", "host words", "`words` is not what the host knows", "words");
    expect_error("host tokens", "host loss",
                 "buffer words is not what the host knows as `loss`: output f64[]", NULL);
    expect_error("i32[batch=8/replica*shard, sequence=4] host",
                 "i32[sequence=4, batch=8/replica*shard] host",
                 "is not what the host knows as `tokens`: input i32[batch, sequence]", NULL);
    expect_error("  buffer w :",
                 "  buffer more : input i32[batch=8/replica*shard, sequence=4] host tokens\n"
                 "  buffer w :",
                 "the host knows two buffers as `tokens`: words and more", "more");
    expect_error("host tokens microbatches 2 around shard", "host tokens slots 2",
                 "is not what the host knows as `tokens`", NULL);
    expect_error("of block.w layers 3 at 64", "of block.w slots 3 at 64",
                 "persists, but its items are no layers", NULL);
    expect_error("f32[flat=40] at 3072", "f32[flat=20] slots 2 at 3072",
                 "is smaller than the frame's 160", NULL);
    expect_error("shift -1", "dim 1", "a permute changes no dimension", NULL);
    expect_error("shard dim 2 concat_dim 1", "shard dim 2", "and a `concat_dim`", NULL);
    expect_error("shard dim 2 concat_dim 1", "shard dim 1 concat_dim 2", "do not fit the axes",
                 NULL);
    expect_error("shard dim 2 concat_dim 1", "shard dim 1 concat_dim 1", "do not fit the axes",
                 NULL);
    expect_error("dim 2 concat_dim 1", "dim 4294967298 concat_dim 1", "is one of 0 .. 5",
                 "4294967298");
    expect_error("dim 2 concat_dim 1", "dim 2 concat_dim 4294967297", "is one of 0 .. 5",
                 "4294967297");
    expect_error("operation max", "operation least", "`least`", "least");
    expect_error("  %q = gelu",
                 "  %r = all_gather(%p) {axes=shard} : f32[flat=80] out\n  %q = gelu",
                 "the sizes of `all_gather` do not fit its axes", "%r = all_gather");
    expect_error("  %q = gelu",
                 "  %r = reduce_scatter(%p) {axes=shard} : f32[flat=80] out\n  %q = gelu",
                 "`reduce_scatter` lacks a `dim`", "%r = reduce_scatter");
    expect_error("shift -1", "shift -1 operation max", "only an all_reduce has", NULL);
    expect_error("operation max", "shift 1", "only a permute has a `shift`", NULL);
    expect_error("{approximate=\"tanh\"", "{approximate=\"tanh", "does not end on its line", NULL);
}

// Each value reads the one before twice: as many ways lead to the first as 2^60.
static void inline_values_are_looked_at_once(void **state) {
    struct arena arena = {0};
    const char *type = "f32[batch=2, sequence=4, ffn=5]";
    char *lines = arena_format(&arena, "  %%a0 = add(%%q, %%q) : %s inline\n", type);
    for (int i = 1; i < 60; i++)
        lines = arena_format(&arena, "%s  %%a%d = add(%%a%d, %%a%d) : %s inline\n", lines, i, i - 1,
                             i - 1, type);
    lines =
        arena_format(&arena, "%s  %%b = add(%%a59, %%a59) : %s at 160\n  %%y.started", lines, type);
    struct text_error error;
    char *text = replaced(&arena, program_sample, "  %y.started", lines);
    text = replaced(&arena, text, "f32[flat=40] at 3072", "f32[flat=80] at 3072");
    text = replaced(&arena, text, "frame 160", "frame 320");
    struct job *job = job_parse(&arena, text, strlen(text), 0, &error);
    assert_non_null(job);
    assert_null(job_check_plan(job, &arena, &error.span));
    arena_free(&arena);
}

static void a_window_is_of_a_buffer(void **state) {
    struct arena arena = {0};
    struct text_error error;
    struct job *job = job_parse(&arena, program_sample, strlen(program_sample), 0, &error);
    assert_non_null(job);
    struct program *program = job->programs[0];
    for (uint32_t i = 0; i < program->n_buffers; i++)
        if (program->buffers[i].window_of != NO_ID)
            program->buffers[i].window_of = NO_ID / 2;
    const char *wrong = job_check(job, &arena, &error.span);
    assert_non_null(wrong);
    assert_non_null(strstr(wrong, "has no whole"));
    arena_free(&arena);
}

static void says_how_a_buffer_is_stacked(void **state) {
    expect_error("slots 2, layers 3", "slots 0, layers 3", "at least one item", "0, layers");
    expect_error("slots 2, layers 3", "slots 2, layers 0", "at least one item", "0 from");
    expect_error("slots 2, layers 3", "slots 2, 3", "what items stand for", "3 from");
    expect_error("layers 3 from 1 by 2 at", "layers 3, microbatches 2 at",
                 "counted by at most 2 kinds of number", "microbatches 2 at");
    expect_error("slots 2, layers 3", "slots 2 layers 3", "a comma stands between", "layers 3");
    expect_error("zigzag shard] at", "zigzag shard] slots 2, layers 3 at",
                 "buffer order outlives the step, but is stacked twice", "order :");
    expect_error("slots 2, layers 3", "slots 400000, layers 400000",
                 "buffer kept has 160000000000 items", "kept :");
    expect_error("slots 2\n       window of", "slots 1, layers 2\n       window of",
                 "buffer w.own is no shard of its whole", "w.own :");
    expect_error("kept[m mod 2][l+1]", "kept", "say which item by two indices", "kept");
    expect_error("kept[m mod 2][l+1]", "kept[l+1]", "say which item by two indices", "kept[l+1]");
    expect_error("kept[m mod 2][l+1]", "kept[m mod 2][l+1][0]", "say which item by two indices",
                 "kept[m mod 2][l+1][0]");
    expect_error("free w[k]", "free w[k][0]", "say which by one index", "w[k][0]");
    expect_error("zero y\n", "zero y[0]\n", "has one item and takes no index", "y[0]");
    expect_error("kept[m mod 2][l+1]", "kept[m mod 2][l+2]",
                 "an index of buffer kept is outside its 3 layers", "zero kept");
    expect_error("kept[m mod 2][l+1]", "kept[l+1][m]",
                 "an index of buffer kept is outside its 2 slots", "zero kept");
    expect_error("kept[m mod 2][l+1]", "kept[m mod 3][l+1]",
                 "an index of buffer kept is outside its 2 slots", "zero kept");
}

// No number is cut to the bits that an index has for it.
static void indices_have_numbers_that_can_be_counted(void **state) {
    static const char message[] = "an index has numbers up to 1048576";
    expect_error("{ w[l+1]", "{ w[l+1048577]", message, "1048577");
    expect_error("{ w[l+1]", "{ w[l+4294967297]", message, "4294967297");
    expect_error("{ w[l+1]", "{ w[l-4294967295]", message, "-4294967295");
    expect_error("kept[m mod 2][l+1]", "kept[m mod 16777218][l+1]", message, "16777218");
    expect_error("kept[m mod 2][l+1]", "kept[4294967296][l+1]", message, "4294967296");
    expect_error("{ w[l+1]", "{ w[l+1048576]", "an index of buffer w is outside its 3 items", NULL);
    expect_error("kept[m mod 2][l+1]", "kept[m mod 0][l+1]", "a modulus is at least 1", NULL);
}

// The second would stand in the place of the first, or beside it unread.
static void takes_nothing_twice(void **state) {
    expect_error("axis shard = 2\n", "axis replica = 2\n", "axis `replica` is declared twice",
                 "replica = 2");
    expect_error("  sizes", "  product dp = shard*replica\n  sizes", "axis `dp` is declared twice",
                 "dp = shard");
    expect_error("product dp", "product shard", "axis `shard` is declared twice", "shard =");
    expect_error("512 on disk\n", "512 on disk\n  arena 8192\n", "`arena` is given twice",
                 "arena 8192");
    expect_error("512 on disk\n", "512 on host\n", "the arena on host is given twice",
                 "512 on host");
    expect_error("  arena",
                 "  sizes batch = 8 sequence = 4 microbatches = 2 layers = 3 vocab = 16\n  arena",
                 "`sizes` is given twice", "sizes");
    expect_error(
        "  arena",
        "  policy parameters = f32 master = none moments = f32 gradients = f32 compute = f32\n"
        "  accumulate = f32 gather = f32 reduce = f32 reproducible = 0\n  arena",
        "`policy` is given twice", "policy");
    expect_error("of batch, ffn", "of batch, ffn, batch", "`batch` is given twice", "batch micro");
    expect_error("buffer behind", "buffer x", "buffer `x` is declared twice", "x : activations");
    expect_error("from 1 of block.n", "of block.g",
                 "tensors block.g and block.n.1_3 have the same layers of block.g", "block.n.1_3");
    expect_error("of block.g layers 1 from 1 by 2", "of block.n.1_3 layers 1",
                 "buffer odd holds layers that its tensor does not have", "odd : parameters");
    expect_error("of block.g layers 1 from 1 by 2", "of block.n.1_3 layers 1 from 3",
                 "buffer odd holds layers that its tensor does not have", "odd : parameters");
    expect_error("tensor block.g", "tensor block.w", "tensor `block.w` is declared twice",
                 "block.w");
    expect_error("slots 2 pad", "layers 2 slots 2 pad", "a comma stands between", "slots");
    expect_error("slots 2 pad", "slots 2 layers 3 pad", "a comma stands between", "layers");
    expect_error("slots 2, layers 3 from 1 by 2", "slots 2, slots 3",
                 "buffer kept is stacked by slots twice", "kept :");
    expect_error("pad 4 at 512", "pad 4 at 512 at 576", "`at` stands twice on this line", "at 576");
    expect_error("pad 4 at 512", "at 512 pad 4", "or out of its order", "pad 4");
    expect_error("  train {", "  train { }\n  train {", "`train` is given twice", "train {\n");
    expect_error("{approximate=\"tanh\"", "{approximate=\"tanh\", approximate=\"none\"",
                 "attribute `approximate` is given twice", "approximate=\"none");
    expect_error("phase backward\n", "phase forward\n  phase backward\n", "`phase` is given twice",
                 "phase backward");
    expect_error("  frame 160 of frame\n", "  frame 160 of frame\n  frame 160\n",
                 "`frame` is given twice", "frame 160\n");
    expect_error("  result %y\n", "  result %y\n  result %y\n", "result `%y` is given twice",
                 "%y\n  result %g");
    expect_error("  parameter consumed %w", "  parameter %x : f32[ffn=5]\n  parameter consumed %w",
                 "expected a new `%name`", "%x : f32[ffn");
    expect_error("unit main.project {", "unit main.project { }\nunit main.project {",
                 "unit `project` is given twice", "unit main.project {\n");
    expect_error("unit main.project {", "step main { }\nunit main.project {",
                 "a text holds one step", "step main { }");
}

// What a file reads in front of the braces: words, and one dot between them.
// What is elsewhere is copied, whole and between two tiers, and run where it is.
static void tiers_are_apart(void **state) {
    expect_error("{ w.host[0] -> w.in[0]", "{ w[0] -> w.in[0]",
                 "a copy of w to w.in, which are both on device", "start copy");
    expect_error("{ w.host[0] -> w.in[0]", "{ w.host[0] -> w.whole[0]",
                 "a copy of w.host to w.whole, which are of different types", "start copy");
    expect_error("start copy as", "start copy over shard as", "expected `as` here", "over shard");
    expect_error("as fetch[0]", "as turn[2]", "`turn` is of copies and of collectives",
                 "start copy as turn");
    expect_error("gather[0] { w[0]", "gather[0] { w.host[0]",
                 "a collective of w.host, which is on host", "start all_gather");
    expect_error("    zero y\n    for", "    zero w.disk[1]\n    for",
                 "w.disk is on disk, where only copies write", "zero w.disk");
    expect_error("at 1024", "on host at 0", "unit project is given `w.whole` on device", "call");
    expect_error("hidden=6] at 1024", "hidden=6] on disk at 0",
                 "unit project is given `x`, which is on disk", "call");
    expect_error("shard at 0", "shard on host at 0",
                 "buffer words is on host, where no input or output", "words : input");
    expect_error("shard at 0", "shard on hots at 0", "`hots` is not where bytes may be", "hots");
    expect_error("640 on host", "63 on host", "of an arena that has 63", "w.host : moment1");
}

static void names_are_a_files(void **state) {
    expect_error("unit main.project", "unit main.project.2", "with one dot", "main.project.2");
    expect_error("unit main.project", "unit project", "with one dot", "project");
    expect_error("unit main.project", "unit other.project", "about strategy `main`, not `other`",
                 "other.project");
    expect_error("result %y", "result y", "expected a `%name` here", "y\n");
    expect_error("result %y", "result %y in x", "expected a `%name` here", "x\n");
    struct arena arena = {0};
    expect_error_in(&arena, strstr(program_sample, "unit main"), "there is no `step NAME", NULL);
    arena_free(&arena);
}

// Wherever an axis may stand, a product's name stands for its axes.
static void reads_names_of_products(void **state) {
    struct arena arena = {0};
    struct text_error error;
    char *text = arena_format(&arena, "%s", program_sample);
    char *at = strstr(text, "product dp = ") + strlen("product dp = ");
    while ((at = strstr(at + 1, "replica*shard")))
        memcpy(at, "dp           ", strlen("replica*shard"));
    assert_null(strstr(strstr(text, "sizes"), "replica*shard"));
    struct program *program = job_only(job_parse(&arena, text, strlen(text), 0, &error));
    if (!program)
        fail_msg("%s", error.message);
    assert_string_equal(job_text(program->job, &arena), program_sample);
    expect_error("over shard dim 2", "over dp*shard dim 2", "axis `shard` stands twice",
                 "shard dim");
    expect_error("over shard dim 2", "over shard*dp dim 2", "axis `shard` stands twice", "dp dim");
    expect_meant("shard operation", "dpp operation", "dp");
    arena_free(&arena);
}

static void elements_have_a_type(void **state) {
    expect_error("transient f32[flat=40]", "transient none[flat=40]", "the type of no elements",
                 "none[flat");
    expect_error("%x : f32", "%x : none", "the type of no elements", "none[batch");
}

static void misspelt_words_are_guessed(void **state) {
    expect_meant("train {", "trian {", "train");
    expect_meant("buffer words", "bufer words", "buffer");
    expect_meant("mlp.up layers", "mpl.up layers", "mlp.up");
    expect_meant("block.w layers 3 at", "blok.w layers 3 at", "block.w");
    expect_meant("w.whole\n", "w.hole\n", "w.whole");
    expect_meant("host tokens", "hots tokens", NULL);
    expect_meant("tokens microbatches", "tokes microbatches", "tokens");
    expect_meant("shard as gather[0]", "shrad as gather[0]", "shard");
    expect_meant("all_gather over", "al_gather over", "all_gather");
    expect_meant("over replica*shard as gather[0]", "ovr replica*shard as gather[0]", "over");
    expect_meant("w.whole[0] }", "w.whoel[0] }", "w.whole");
    expect_meant("wait gather", "wiat gather", "wait");
    expect_meant("project(x", "protect(x", "project");
    expect_meant("backward\n", "backwards\n", "backward");
    expect_meant("parameter %x", "paramter %x", "parameter");
    expect_meant("labels=", "lables=", "labels");
    expect_meant("gelu(%p)", "gleu(%p)", "gelu");
    expect_meant("gelu(%p)", "sigmoid(%p)", NULL);
}

// A value is guessed with its sign.
static void misspelt_values_are_guessed(void **state) {
    struct arena arena = {0};
    struct text_error error;
    char *text = replaced(&arena, program_sample, "%p = einsum", "%pre = einsum");
    text = replaced(&arena, text, "gelu(%p)", "gelu(%per)");
    assert_null(job_parse(&arena, text, strlen(text), 0, &error));
    assert_string_equal(error.meant, "%pre");
    text = replaced(&arena, program_sample, "result %y", "result %why");
    text = replaced(&arena, text, "%y = wait", "%who = wait");
    assert_null(job_parse(&arena, text, strlen(text), 0, &error));
    assert_string_equal(error.meant, "%who");
    assert_string_equal(arena_string(&arena, text + error.span.begin, 4), "%why");
    arena_free(&arena);
}

// Names have any length.
static void prints_long_names(void **state) {
    struct arena arena = {0};
    struct text_error error;
    char name[400];
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = 0;
    const char *text = program_sample;
    for (const char *old = strstr(text, "for l"); old; old = strstr(text, "for l"))
        text = arena_format(&arena, "%.*sfor %s%s", (int)(old - text), text, name, old + 5);
    for (const char *old = strstr(text, "[l"); old; old = strstr(text, "[l"))
        text = arena_format(&arena, "%.*s[%s%s", (int)(old - text), text, name, old + 2);
    assert_ptr_not_equal(text, program_sample);
    struct program *program = job_only(job_parse(&arena, text, strlen(text), 0, &error));
    assert_non_null(program);
    const char *printed = job_text(program->job, &arena);
    struct program *again = job_only(job_parse(&arena, printed, strlen(printed), 0, &error));
    assert_non_null(again);
    assert_string_equal(job_text(again->job, &arena), printed);
    arena_free(&arena);
}

// Twelve elements, two blocks of which three devices each have chunks of both ends.
static void counts_in_zigzag(void **state) {
    static const int64_t expected[] = {0, 5, 1, 4, 2, 3, 6, 11, 7, 10, 8, 9};
    struct mesh mesh = {.axes = {{.name = "a", .size = 2}, {.name = "b", .size = 3}}, .n_axes = 2};
    const struct axis_list cuts = {2, {0, 1}};
    struct order order = order_of_cuts(&mesh, &cuts, 1);
    for (int64_t i = 0; i < 12; i++) {
        assert_int_equal(order_element(order, 12, i), expected[i]);
        assert_int_equal(order_element(order_of_cuts(&mesh, &cuts, -1), 12, i), i);
    }
    assert_true(order_fits(order, 12) && !order_fits(order, 18));
    for (int64_t i = 0; i < 24; i++) // chunks of two
        assert_int_equal(order_element(order, 24, i), 2 * expected[i / 2] + i % 2);
}

static void survives_any_cut(void **state) {
    for (size_t length = 0; length < strlen(program_sample); length++) {
        struct arena arena = {0};
        struct text_error error;
        assert_null(job_parse(&arena, program_sample,
                              length - (length == strlen(program_sample) - 1), 0, &error));
        assert_non_null(error.message);
        arena_free(&arena);
    }
}

static void replaces_a_unit_of_a_derived_program(void **state) {
    struct arena arena = {0};
    struct text_error error;
    struct program *derived =
        job_only(job_parse(&arena, program_sample, strlen(program_sample), 0, &error));
    const char *text = "{ parameter %x : f32[batch=2, sequence=4, hidden=6]\n"
                       "parameter consumed %w : f32[hidden=6, ffn=5]\nresult %y\n"
                       "result %g in %w\n%g = cast(%w) : f32[hidden=6, ffn=5] in %w\n"
                       "%y = einsum(%x, %w) {labels=\"bsh,hf->bsf\"} : f32[batch=2, sequence=4, "
                       "ffn=5] out }";
    struct written_text part = {.unit = "project", .braces = {0, 0, (uint32_t)strlen(text)}};
    struct program *edited =
        job_only(job_parse_written(&arena, derived->job, text, &part, 1, &error));
    assert_non_null(edited);
    assert_int_equal(edited->job->units[0].n_ops, 2);
    assert_int_equal(derived->job->units[0].n_ops, 5);
    const char *other = "{ parameter %x : f32[batch=2, sequence=4, hidden=6]\nresult %x }";
    part.braces.end = (uint32_t)strlen(other);
    assert_null(job_parse_written(&arena, derived->job, other, &part, 1, &error));
    assert_non_null(strstr(error.message, "give the step too"));
    arena_free(&arena);
}

// ---- parts ------------------------------------------------------------------------------------

static const char two_parts[] =
    "step main {\n"
    "  axis stage = 3\n"
    "  axis dp = 2\n"
    "  sizes batch = 1 sequence = 1 microbatches = 1 layers = 1 vocab = 1\n"
    "  policy parameters = f64 master = none moments = f64 gradients = f64\n"
    "       compute = f64 accumulate = f64 gather = f64 reduce = f64 reproducible = 0\n"
    "  tensor w [hidden=4] role norm init ones\n"
    "  part first over stage 0 .. 2 {\n"
    "    arena 256\n"
    "    buffer w : parameters f64[hidden=4] flat/dp of w at 0\n"
    "    buffer part : transient f64[hidden=4] at 64\n"
    "    buffer frame : transient f64[flat=4] at 128\n"
    "    train {\n"
    "      start all_gather over dp as gather[0] { w -> part }\n"
    "      wait gather[0]\n"
    "      call double(x = part)\n"
    "    }\n"
    "  }\n"
    "  part last over stage 2 .. 3 {\n"
    "    arena 128\n"
    "    buffer frame : transient f64[flat=4] at 0\n"
    "    buffer train : transient f64[hidden=4] at 64\n"
    "    train {\n"
    "      call double(x = train)\n"
    "    }\n"
    "  }\n"
    "}\n"
    "unit main.double {\n"
    "  phase forward\n"
    "  parameter %x : f64[hidden=4]\n"
    "  result %z in %x\n"
    "  frame 32 of frame\n"
    "  %y = add(%x, %x) : f64[hidden=4] at 0\n"
    "  %z = add(%y, %y) : f64[hidden=4] in %x\n"
    "}\n";

// Each part has its own buffers, by whatever names, of which units know only their frame's.
static void parts_have_their_own_buffers(void **state) {
    struct arena arena = {0};
    struct text_error error = {0};
    struct job *job = job_parse(&arena, two_parts, strlen(two_parts), 0, &error);
    if (!job)
        fail_msg("%s at %.40s", error.message, two_parts + error.span.begin);
    assert_int_equal(job->n_programs, 2);
    assert_string_equal(job_text(job, &arena), two_parts);
    assert_null(job_check_plan(job, &arena, NULL));
    const struct program *first = job->programs[0], *last = job->programs[1];
    assert_string_equal(last->part.name, "last");
    assert_int_equal(program_frame(first, 0), program_find_buffer(first, "frame"));
    assert_int_equal(program_frame(last, 0), program_find_buffer(last, "frame"));
    assert_int_not_equal(program_frame(first, 0), program_frame(last, 0));
    struct job *copy = job_clone(&arena, job);
    assert_string_equal(job_text(copy, &arena), two_parts);
    assert_true(job_is_alike(job, copy));
    copy->programs[1]->part.begin--;
    assert_false(job_is_alike(job, copy));
    arena_free(&arena);
}

// What a part does not call has no frame there, whatever has its name.
static void frames_are_of_parts_that_call(void **state) {
    struct arena arena = {0};
    struct text_error error = {0};
    char *text = replaced(&arena, two_parts, "frame : transient f64[flat=4] at 0",
                          "frame : transient f64[flat=1] at 0");
    struct job *job = job_parse(&arena, text, strlen(text), 0, &error);
    assert_non_null(strstr(job_check_plan(job, &arena, NULL), "smaller than the frame"));
    text = replaced(&arena, text, "call double(x = train)", "zero train");
    job = job_parse(&arena, text, strlen(text), 0, &error);
    assert_null(job_check_plan(job, &arena, NULL));
    arena_free(&arena);
}

// Statement ids are those of one text: no two statements of the parts have the same.
static void statements_of_parts_are_told_apart(void **state) {
    struct arena arena = {0};
    struct text_error error = {0};
    struct job *job = job_parse(&arena, two_parts, strlen(two_parts), 0, &error);
    const struct step *first = &job->programs[0]->steps[STEP_TRAIN];
    const struct step *last = &job->programs[1]->steps[STEP_TRAIN];
    assert_int_equal(job->n_ids, 2 + 3 + 1);
    assert_int_equal(first->body.statements[2].id, 4);
    assert_int_equal(last->body.statements[0].id, 5);
    struct span at = job_spans(job, &arena)[5];
    assert_memory_equal(two_parts + at.begin, "call double(x = train)", 22);
    arena_free(&arena);
}

static void expect_plan_error(const char *of, const char *from, const char *to, const char *message,
                              const char *where) {
    struct arena arena = {0};
    struct text_error error = {0};
    char *text = replaced(&arena, of, from, to);
    struct job *job = job_parse(&arena, text, strlen(text), 0, &error);
    if (job && !(error.message = job_check_plan(job, &arena, &error.span)))
        fail_msg("expected `%s`, got a job", message);
    if (!strstr(error.message, message))
        fail_msg("expected `%s`, got `%s`", message, error.message);
    if (strncmp(text + error.span.begin, where, strlen(where)) != 0)
        fail_msg("expected the error at `%s`, it is at `%.20s`", where, text + error.span.begin);
    arena_free(&arena);
}

static void expect_part_error(const char *from, const char *to, const char *message,
                              const char *where) {
    expect_plan_error(two_parts, from, to, message, where);
}

static void parts_leave_no_device_out(void **state) {
    expect_part_error("last over stage 2 .. 3", "last over stage 1 .. 3", "does not go on where",
                      "part last");
    expect_part_error("last over stage 2 .. 3", "last over stage 2 .. 4", "not end at 3",
                      "part last");
    expect_part_error("first over stage 0 .. 2", "first over stage 0 .. 0", "does not go on where",
                      "part first");
    expect_part_error("last over stage 2", "last over dp 0", "not over the axes of part first",
                      "part last");
    expect_part_error("part last", "part first", "part `first` is given twice", "part first");
    expect_part_error("part last over stage 2 .. 3 {\n", "part last over stage 2 .. 3 {\n  arena 1",
                      "`arena` is given twice", "arena 128");
    expect_part_error("  part first", "  buffer loose : transient f64[hidden=4]\n  part first",
                      "stand inside the parts", "part first");
    expect_part_error("  part last", "  buffer loose : transient f64[hidden=4]\n  part last",
                      "`buffer` stands inside a part", "buffer loose");
    expect_part_error("  part last", "  evaluate {\n  }\n  part last",
                      "`evaluate` stands inside a part", "evaluate");
    expect_part_error("    arena 128", "    part inner over dp 0 .. 2 {\n    }\n    arena 128",
                      "stands inside no other", "part inner");
    expect_part_error("    arena 128", "    axis cp = 2\n    arena 128",
                      "`axis` is about all parts", "axis cp");
    expect_part_error("    buffer train", "    evaluate {\n    }\n    buffer train",
                      "only one has a step `evaluate`", "part last");
    expect_part_error("flat/dp of w", "flat/stage of w", "cut over axes that parts are over",
                      "w : parameters");
    expect_part_error("    buffer train",
                      "    buffer w : parameters f32[hidden=4] of w\n"
                      "    buffer train",
                      "parts hold parameters of w as f64", "w : parameters f32");
    expect_part_error("      call double(x = train)",
                      "      start all_reduce over stage as met[0] { train -> train }\n"
                      "      wait met[0]\n      call double(x = train)",
                      "part first starts nothing as `met`", "start all_reduce");
    expect_part_error("      call double(x = part)",
                      "      start all_reduce over stage as met[0] { part -> part }\n"
                      "      wait met[0]\n      call double(x = part)",
                      "part last starts nothing as `met`", "start all_reduce");
    expect_part_error("    buffer frame : transient f64[flat=4] at 0\n", "",
                      "does not say which buffer its frame is", "{\n  phase");
}

// ---- messages ---------------------------------------------------------------------------------

static char *two_parts_with_messages(struct arena *arena) {
    char *text = replaced(arena, two_parts, "      call double(x = part)\n",
                          "      call double(x = part)\n"
                          "      start send over stage to 2 as out[0] { part, part }\n"
                          "      wait out[0]\n");
    return replaced(arena, text, "      call double(x = train)\n",
                    "      start receive over stage from 0 as in[0] { train }\n"
                    "      wait in[0]\n"
                    "      call double(x = train)\n");
}

// A send reads what it names and writes nothing, a receive the other way round.
static void messages_have_one_end_here(void **state) {
    struct arena arena = {0};
    struct text_error error = {0};
    char *text = two_parts_with_messages(&arena);
    struct job *job = job_parse(&arena, text, strlen(text), 0, &error);
    if (!job)
        fail_msg("%s at %.40s", error.message, text + error.span.begin);
    assert_string_equal(job_text(job, &arena), text);
    const struct program *first = job->programs[0], *last = job->programs[1];
    const struct statement *send = &first->steps[STEP_TRAIN].body.statements[3];
    const struct statement *receive = &last->steps[STEP_TRAIN].body.statements[0];
    assert_int_equal(send->start.exchange.peer, 2);
    assert_int_equal(receive->start.exchange.peer, 0);
    for (uint32_t i = 0; i < 2; i++) {
        assert_ptr_equal(statement_access(first, send, i).at, &send->start.pieces[i].from);
        assert_false(statement_access(first, send, i).written);
    }
    assert_null(statement_access(first, send, 2).at);
    assert_ptr_equal(statement_access(last, receive, 0).at, &receive->start.pieces[0].to);
    assert_true(statement_access(last, receive, 0).written);
    assert_null(statement_access(last, receive, 1).at);
    assert_int_equal(
        exchange_sent_bytes(&send->start.exchange, ALGORITHM_DIRECT, DTYPE_F64, 3, 66, 64), 64);
    assert_int_equal(
        exchange_sent_bytes(&receive->start.exchange, ALGORITHM_DIRECT, DTYPE_F64, 3, 66, 64), 0);
    struct job *copy = job_clone(&arena, job);
    assert_string_equal(job_text(copy, &arena), text);
    assert_true(job_is_alike(job, copy));
    copy->programs[0]->steps[STEP_TRAIN].body.statements[3].start.exchange.peer = 1;
    assert_false(job_is_alike(job, copy));
    arena_free(&arena);
}

// Where buffers are renumbered both ends of a message are, which are one place.
static void messages_follow_their_buffers(void **state) {
    struct arena arena = {0};
    struct text_error error = {0};
    char *text = two_parts_with_messages(&arena);
    text = replaced(&arena, text, "    buffer frame",
                    "    buffer idle : transient f64[hidden=4] at 96\n    buffer frame");
    text = replaced(&arena, text, "    buffer part",
                    "    buffer unused : transient f64[hidden=4] at 192\n    buffer part");
    struct job *job = job_parse(&arena, text, strlen(text), 0, &error);
    struct program *first = job->programs[0];
    bool *removed = ARENA_ARRAY(&arena, bool, first->n_buffers);
    removed[program_find_buffer(first, "unused")] = removed[program_find_buffer(first, "idle")] =
        true;
    program_remove_buffers(first, removed);
    assert_null(job_check_plan(job, &arena, NULL));
    assert_string_equal(job_text(job, &arena), two_parts_with_messages(&arena));
    arena_free(&arena);
}

static void expect_message_error(const char *from, const char *to, const char *message,
                                 const char *where) {
    struct arena arena = {0};
    expect_plan_error(two_parts_with_messages(&arena), from, to, message, where);
    arena_free(&arena);
}

static void messages_are_between_parts(void **state) {
    expect_message_error("send over stage to 2", "send over stage to 1", "of part first itself",
                         "start send");
    expect_message_error("send over stage to 2", "send over stage to 3", "no device 3 of 3 to send",
                         "start send");
    expect_message_error("receive over stage from 0", "receive over stage from -1",
                         "no device -1 of 3 to receive", "start receive");
    expect_message_error("send over stage to 2", "send over dp to 0",
                         "over the axes that these are over", "start send");
    expect_message_error("send over stage to 2", "send over stage*dp to 2",
                         "over the axes that these are over", "start send");
    expect_message_error("send over stage to 2", "send over stage from 2", "expected `to`", "from");
    expect_message_error("receive over stage from 0", "receive over stage to 0", "expected `from`",
                         "to 0");
    expect_message_error("send over stage to 2", "send over stage to 2 dim 0", "takes no `dim`",
                         "start send");
    expect_message_error("send over stage to 2", "send over stage to 2 shift 1", "only a permute",
                         "start send");
    expect_message_error("out[0] { part, part }", "out[0] { part -> part }", "expected `}`",
                         "-> part");
    expect_message_error("      wait out[0]\n",
                         "      wait out[0]\n"
                         "      start receive over stage from 2 as out[0] { part }\n",
                         "`out` is of receives and of sends", "start receive");
    expect_message_error("as out[0] { part, part }\n      wait out[0]",
                         "as gather[0] { part }\n      wait gather[0]",
                         "`gather` is of sends and of collectives", "start send");
    // What a part sends by this name is no collective in which it meets the other.
    expect_message_error("      wait in[0]\n",
                         "      wait in[0]\n"
                         "      start all_reduce over stage as out[0] { train -> train }\n",
                         "part first starts nothing as `out`", "start all_reduce");
}

static void messages_need_parts(void **state) {
    struct arena arena = {0};
    struct text_error error = {0};
    char *text =
        replaced(&arena, program_sample, "start copy as fetch[0] {",
                 "start send over shard to 1 as away[0] { x }\n    start copy as fetch[0] {");
    struct job *job = job_parse(&arena, text, strlen(text), 0, &error);
    if (job)
        error.message = job_check(job, &arena, &error.span);
    assert_non_null(strstr(error.message, "a send is between parts, and this step has none"));
    assert_memory_equal(text + error.span.begin, "start send", 10);
    arena_free(&arena);
}

// A label is of a kind, a stage and one of the microbatches.
static void tasks_are_labels(void **state) {
    expect_error("task F 0 m", "task X 0 m", "expected what a task is", "X 0");
    expect_error("task F 0 m", "task 0 F m", "expected what a task is", "0 F");
    expect_error("task F 0 m", "task F -1 m", "numbered from 0", "-1");
    expect_error("task F 0 m", "task F 0 m+1", "outside the 2 of a step", "task F");
    expect_error("task W 3 1", "task W 3 2", "outside the 2 of a step", "task W");
    expect_error("task end", "task ende", "or `end`", "ende");
    struct arena arena = {0};
    struct text_error error;
    struct job *job = job_parse(&arena, program_sample, strlen(program_sample), 0, &error);
    struct job *copy = job_clone(&arena, job);
    struct statement_walk walk = walk_statements(&job_only(copy)->steps[STEP_TRAIN].body);
    while (walk_next(&walk) && walk.statement->kind != STATEMENT_TASK)
        ;
    assert_null(statement_access(job_only(copy), walk.statement, 0).at);
    assert_true(job_is_alike(job, copy));
    walk.statement->task.stage++;
    assert_false(job_is_alike(job, copy));
    arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prints_what_it_reads),
        cmocka_unit_test(says_what_is_wrong_and_where),
        cmocka_unit_test(a_window_is_of_a_buffer),
        cmocka_unit_test(inline_values_are_looked_at_once),
        cmocka_unit_test(says_how_a_buffer_is_stacked),
        cmocka_unit_test(indices_have_numbers_that_can_be_counted),
        cmocka_unit_test(blocks_are_a_power_of_two),
        cmocka_unit_test(results_have_places_of_their_own),
        cmocka_unit_test(takes_nothing_twice),
        cmocka_unit_test(tiers_are_apart),
        cmocka_unit_test(names_are_a_files),
        cmocka_unit_test(reads_names_of_products),
        cmocka_unit_test(elements_have_a_type),
        cmocka_unit_test(misspelt_words_are_guessed),
        cmocka_unit_test(misspelt_values_are_guessed),
        cmocka_unit_test(prints_long_names),
        cmocka_unit_test(counts_in_zigzag),
        cmocka_unit_test(survives_any_cut),
        cmocka_unit_test(replaces_a_unit_of_a_derived_program),
        cmocka_unit_test(parts_have_their_own_buffers),
        cmocka_unit_test(frames_are_of_parts_that_call),
        cmocka_unit_test(statements_of_parts_are_told_apart),
        cmocka_unit_test(parts_leave_no_device_out),
        cmocka_unit_test(messages_have_one_end_here),
        cmocka_unit_test(messages_follow_their_buffers),
        cmocka_unit_test(messages_are_between_parts),
        cmocka_unit_test(messages_need_parts),
        cmocka_unit_test(tasks_are_labels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
