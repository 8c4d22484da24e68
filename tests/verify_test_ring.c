// Ring attention, written by hand into a derived program that gathers its keys: keys, values and
// their positions go round, attentions over what has come are merged; backward the gradients of
// keys and values travel with them and home. Accepted for rings of two, three and four devices,
// with sequences cut in blocks and in zigzag; mistakes are refused where they are.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "tests/tiny_strategies.h"
#include "tests/trial.h"

enum { SEQUENCE = 24 };

struct ring {
    struct arena *arena;
    int64_t devices, local;
    const char *text; // what is written so far
};

static void say(struct ring *ring, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(struct ring *ring, const char *format, ...) {
    char line[512];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    ring->text = arena_format(ring->arena, "%s%s", ring->text, line);
}

static const char *keys_type(const struct ring *ring) {
    return arena_format(ring->arena, "f64[batch=2, sequence=%d, kv_heads=2, head_dim=8]",
                        (int)ring->local);
}

static const char *queries_type(const struct ring *ring) {
    return arena_format(ring->arena, "f64[batch=2, sequence=%d, heads=2, group=3, head_dim=8]",
                        (int)ring->local);
}

static const char *statistics_type(const struct ring *ring) {
    return arena_format(ring->arena, "f64[batch=2, sequence=%d, heads=2, group=3]",
                        (int)ring->local);
}

// %NAME.r as it comes from the device before.
static void pass_on(struct ring *ring, const char *name, int r, const char *from,
                    const char *type) {
    say(ring, "  %%%s.%d.started = permute(%%%s) {axes=cp, shift=1} : %s\n", name, r, from, type);
    say(ring, "  %%%s.%d = wait(%%%s.%d.started) : %s\n", name, r, name, r, type);
}

static void pass_keys(struct ring *ring) {
    const char *positions = arena_format(ring->arena, "i32[sequence=%d]", (int)ring->local);
    const char *k = "attention.k.rotated", *v = "attention.v", *at = "positions";
    for (int r = 1; r < ring->devices; r++) {
        pass_on(ring, "k", r, k, keys_type(ring));
        pass_on(ring, "v", r, v, keys_type(ring));
        pass_on(ring, "at", r, at, positions);
        k = arena_format(ring->arena, "k.%d", r);
        v = arena_format(ring->arena, "v.%d", r);
        at = arena_format(ring->arena, "at.%d", r);
    }
}

// The operands that travel, at round r.
static const char *travelling(const struct ring *ring, const char *name, int r) {
    static const char *const own[][2] = {
        {"k", "attention.k.rotated"}, {"v", "attention.v"}, {"at", "positions"}};
    for (int i = 0; r == 0 && i < 3; i++)
        if (strcmp(own[i][0], name) == 0)
            return own[i][1];
    return arena_format(ring->arena, "%s.%d", name, r);
}

static const char *write_forward(struct ring *ring) {
    const char *o = "o.0", *lse = "lse.0";
    ring->text = "";
    pass_keys(ring);
    for (int r = 0; r < ring->devices; r++) {
        say(ring,
            "  %%o.%d, %%lse.%d = attention(%%attention.q.rotated, %%%s, %%%s, %%positions, %%%s)",
            r, r, travelling(ring, "k", r), travelling(ring, "v", r), travelling(ring, "at", r));
        say(ring, " {scale=0.35355339059327373} : %s, %s\n", queries_type(ring),
            statistics_type(ring));
    }
    for (int r = 1; r < ring->devices; r++) {
        bool last = r + 1 == ring->devices;
        const char *sum_o = last ? "attention.core.o" : arena_format(ring->arena, "sum.o.%d", r);
        const char *sum_lse =
            last ? "attention.core.lse" : arena_format(ring->arena, "sum.lse.%d", r);
        say(ring, "  %%%s, %%%s = attention_merge(%%%s, %%%s, %%o.%d, %%lse.%d) : ", sum_o, sum_lse,
            o, lse, r, r);
        say(ring, last ? "%s out, %s out\n" : "%s, %s\n", queries_type(ring),
            statistics_type(ring));
        o = sum_o;
        lse = sum_lse;
    }
    return ring->text;
}

// NAME is dk or dv: what the device has of the gradient of the keys that are here at round r.
static void pass_gradient(struct ring *ring, const char *name) {
    const char *sum = arena_format(ring->arena, "%s.0", name);
    for (int r = 1; r < ring->devices; r++) {
        const char *came = arena_format(ring->arena, "%s.came", name);
        pass_on(ring, came, r, sum, keys_type(ring));
        say(ring, "  %%%s.sum.%d = add(%%%s.%d, %%%s.%d) : %s\n", name, r, came, r, name, r,
            keys_type(ring));
        sum = arena_format(ring->arena, "%s.sum.%d", name, r);
    }
    say(ring, "  %%%s.home = permute(%%%s) {axes=cp, shift=1} : %s\n", name, sum, keys_type(ring));
    say(ring, "  %%attention.core.%s.scattered = wait(%%%s.home) : %s\n", name, name,
        keys_type(ring));
}

static const char *write_backward(struct ring *ring) {
    ring->text = "";
    pass_keys(ring);
    for (int r = 0; r < ring->devices; r++) {
        say(ring,
            "  %%dq.%d, %%dk.%d, %%dv.%d = attention_backward(%%attention.q.rotated, %%%s, %%%s, ",
            r, r, r, travelling(ring, "k", r), travelling(ring, "v", r));
        say(ring, "%%attention.core.o, %%attention.core.lse, %%attention.core.o.gradient, ");
        say(ring, "%%positions, %%%s) {scale=0.35355339059327373} : %s, %s, %s\n",
            travelling(ring, "at", r), queries_type(ring), keys_type(ring), keys_type(ring));
    }
    const char *dq = "dq.0";
    for (int r = 1; r < ring->devices; r++) {
        const char *sum = r + 1 == ring->devices ? "attention.core.dq"
                                                 : arena_format(ring->arena, "dq.sum.%d", r);
        say(ring, "  %%%s = add(%%%s, %%dq.%d) : %s\n", sum, dq, r, queries_type(ring));
        dq = sum;
    }
    pass_gradient(ring, "dk");
    pass_gradient(ring, "dv");
    return ring->text;
}

// ---- the program ------------------------------------------------------------------------------

// Replaces the n-th piece of a text that begins with `first` and ends before `end`.
static char *replace_piece(struct arena *arena, const char *text, int nth, const char *first,
                           const char *end, const char *by) {
    const char *at = strstr(text, first);
    for (; nth > 0 && at; nth--)
        at = strstr(at + 1, first);
    const char *behind = at ? strstr(at, end) : NULL;
    if (!behind)
        fail_msg("no piece `%s` to `%s`", first, end);
    return arena_format(arena, "%.*s%s%s", (int)(at - text), text, by, behind);
}

static struct config gathering_config(struct arena *arena, int64_t devices) {
    struct config config = tiny_strategy_config(arena, FAMILY_LLAMA, TINY_DDP, 2);
    tiny_axis(&config, "cp", devices);
    struct axis_list cp = tiny_axes((int)config.mesh.n_axes - 1, -1);
    tiny_split(arena, &config, DIM_SEQUENCE, cp);
    struct mode_statement *mode = tiny_mode(arena, &config, STATE_ACTIVATIONS, EXTENT_GATHERED, cp);
    mode->by = CUT_DIMENSION;
    mode->by_dimension = DIM_SEQUENCE;
    mode->selector.n_roles = 1;
    mode->selector.roles[0] = ROLE_KV;
    config.train.sequence = SEQUENCE;
    config.model.sequence_limit = SEQUENCE + 1;
    return config;
}

static const char *with_rings(struct arena *arena, const char *text, int64_t devices) {
    struct ring ring = {.arena = arena, .devices = devices, .local = SEQUENCE / devices};
    char *made = replace_piece(arena, text, 0, "  %attention.k.rotated.started",
                               "  %attention.out = ", write_forward(&ring));
    // The backward half stands behind it: its gathers, and between them its positions.
    made = replace_piece(arena, made, 0,
                         "  %attention.core.dv.started = ", "  %attention.norm.y.gradient = ", "");
    const char *positions = arena_format(arena,
                                         "  %%positions = iota() {dimension=sequence, axes=cp} : "
                                         "i32[sequence=%d]\n",
                                         (int)ring.local);
    const char *ring_text = write_backward(&ring);
    return replace_piece(
        arena, made, 0, "  %attention.k.rotated.started",
        "  %attention.k.gradient = ", arena_format(arena, "%s%s", positions, ring_text));
}

static const char *in_zigzag(struct arena *arena, const char *text, int64_t devices) {
    struct edit edits[] = {
        {EDIT_REPLACE_ALL, "sequence=24/cp", "sequence=24/cp zigzag cp", 0, 0},
        {EDIT_REPLACE_ALL, "{dimension=sequence, axes=cp}",
         "{dimension=sequence, axes=cp, zigzag=cp}", 0, 0},
        {EDIT_END, NULL, NULL, 0, 0},
    };
    return program_edit(arena, text, edits);
}

static void judge(struct trial *t, int64_t devices, bool zigzag, const struct edit *edits) {
    *t = (struct trial){0};
    t->config = gathering_config(&t->arena, devices);
    assert_true(trial_derive(t, N_PASSES - 1));
    const char *text = with_rings(&t->arena, job_text(t->program->job, &t->arena), devices);
    if (zigzag)
        text = in_zigzag(&t->arena, text, devices);
    trial_read(t, program_edit(&t->arena, text, edits));
    trial_judge(t);
}

static const struct edit nothing[] = {{EDIT_END, NULL, NULL, 0, 0}};

static void rings_are_accepted(void **state) {
    for (int64_t devices = 2; devices <= 4; devices++)
        for (int zigzag = 0; zigzag < 2; zigzag++) {
            struct trial t;
            judge(&t, devices, zigzag, nothing);
            if (t.verdict.kind != VERDICT_ACCEPTED) {
                diagnostics_print(t.diagnostics, stderr, false);
                fail_msg("a ring of %d%s", (int)devices, zigzag ? " in zigzag" : "");
            }
            arena_free(&t.arena);
        }
}

// ---- mistakes ---------------------------------------------------------------------------------

struct mutant {
    const char *name;
    struct edit edits[5];
    const char *code; // NULL: accepted
    const char *at, *says;
};

#define REPLACE_IN_BACKWARD(what, to)                                                              \
    { EDIT_REPLACE, what, to, 1, 0 }

// Mutants of rings of three or four, where the last merge is of round devices - 1; here three.
static const struct mutant mutants[] = {
    {"the last merge left out",
     {REPLACE(
         "%attention.core.o, %attention.core.lse = attention_merge(%sum.o.1, %sum.lse.1, %o.2, "
         "%lse.2)",
         "%attention.core.o, %attention.core.lse = attention_merge(%o.0, %lse.0, %o.1, %lse.1)")},
     "E412",
     "%attention.out = einsum",
     "keys of chunk"},
    {"not begun with its own keys",
     {REPLACE("attention_merge(%o.0, %lse.0, %o.1, %lse.1)",
              "attention_merge(%o.2, %lse.2, %o.1, %lse.1)")},
     "E412",
     "%attention.core.o, %attention.core.lse = attention_merge",
     "twice"},
    {"keys that do not move on in the second round",
     {REPLACE("%k.2.started = permute(%k.1)", "%k.2.started = permute(%attention.k.rotated)")},
     "E510",
     "%o.2, %lse.2 = attention",
     "cut differently"},
    {"nothing moves on in the second round",
     {REPLACE("%k.2.started = permute(%k.1)", "%k.2.started = permute(%attention.k.rotated)"),
      REPLACE("%v.2.started = permute(%v.1)", "%v.2.started = permute(%attention.v)"),
      REPLACE("%at.2.started = permute(%at.1)", "%at.2.started = permute(%positions)")},
     "E412",
     "%attention.core.o, %attention.core.lse = attention_merge",
     "twice"},
    {"values the other way round",
     {REPLACE("%v.1.started = permute(%attention.v) {axes=cp, shift=1}",
              "%v.1.started = permute(%attention.v) {axes=cp, shift=-1}")},
     "E510",
     "%o.1, %lse.1 = attention",
     "cut differently"},
    {"positions that stay",
     {REPLACE("%lse.1 = attention(%attention.q.rotated, %k.1, %v.1, %positions, %at.1)",
              "%lse.1 = attention(%attention.q.rotated, %k.1, %v.1, %positions, %positions)")},
     "E510",
     "%o.1, %lse.1 = attention",
     "cut differently"},
    {"outputs added instead of merged",
     {REPLACE("%sum.o.1, %sum.lse.1 = attention_merge(%o.0, %lse.0, %o.1, %lse.1) : ",
              "%sum.o.1 = add(%o.0, %o.1) : f64[batch=2, sequence=8, heads=2, group=3, "
              "head_dim=8]\n"
              "  %sum.lse.1 = add(%lse.0, %lse.1) : f64[batch=2, sequence=8, heads=2, group=3]\n"
              "  %junk.o, %junk.lse = attention_merge(%o.0, %lse.0, %o.1, %lse.1) : ")},
     "E412",
     "%sum.o.1 = add",
     "no parts of one"},
    {"statistics exchanged",
     {REPLACE("attention_merge(%o.0, %lse.0, %o.1, %lse.1)",
              "attention_merge(%o.0, %lse.1, %o.1, %lse.0)")},
     "E412",
     "%sum.o.1, %sum.lse.1 = attention_merge",
     "no parts of one"},
    {"statistics of other queries",
     {REPLACE("  %sum.o.1, %sum.lse.1 = attention_merge(%o.0, %lse.0, %o.1, %lse.1)",
              "  %p.0, %other.0 = attention(%attention.q, %attention.k.rotated, %attention.v, "
              "%positions, %positions) {scale=0.35355339059327373} : f64[batch=2, sequence=8, "
              "heads=2, group=3, head_dim=8], f64[batch=2, sequence=8, heads=2, group=3]\n"
              "  %p.1, %other.1 = attention(%attention.q, %k.1, %v.1, %positions, %at.1) "
              "{scale=0.35355339059327373} : f64[batch=2, sequence=8, heads=2, group=3, "
              "head_dim=8], f64[batch=2, sequence=8, heads=2, group=3]\n"
              "  %sum.o.1, %sum.lse.1 = attention_merge(%o.0, %other.0, %o.1, %other.1)")},
     "E490",
     "%p.0, %other.0 = attention",
     "where the reference gives it attention.q.rotated"},
    {"statistics of the own keys only, backward",
     {REPLACE("%attention.core.o, %attention.core.lse = attention_merge",
              "%attention.core.o, %unused = attention_merge"),
      REPLACE("%o.0, %lse.0 = attention(", "%o.0, %attention.core.lse = attention("),
      REPLACE("attention_merge(%o.0, %lse.0,", "attention_merge(%o.0, %attention.core.lse,")},
     "E412",
     "%dq.0, %dk.0, %dv.0 = attention_backward",
     "keys of chunk"},
    {"a dq left out",
     {REPLACE("%attention.core.dq = add(%dq.sum.1, %dq.2)",
              "%attention.core.dq = add(%dq.0, %dq.2)")},
     "E412",
     "%attention.q.gradient = rope_backward",
     "keys of chunk"},
    {"dq of one round twice",
     {REPLACE("%attention.core.dq = add(%dq.sum.1, %dq.2)",
              "%attention.core.dq = add(%dq.sum.1, %dq.1)")},
     "E412",
     "%attention.core.dq = add",
     "twice"},
    {"dk not brought home",
     {REPLACE("%attention.core.dk.scattered = wait(%dk.home)", "%ignored = wait(%dk.home)"),
      REPLACE("rope_backward(%attention.core.dk.scattered,", "rope_backward(%dk.sum.2,"),
      REPLACE("in %attention.core.dk.scattered role", "role")},
     "E510",
     "%attention.k.gradient = rope_backward",
     "cut differently"},
    {"dv not brought home",
     {REPLACE("%attention.core.dv.scattered = wait(%dv.home)", "%ignored = wait(%dv.home)"),
      {EDIT_REPLACE_ALL, "%attention.core.dv.scattered", "%dv.sum.2", 0, 0}},
     "E510",
     "%attention.v.weight.gradient = einsum",
     "cut differently"},
    {"dk that stays while the keys move",
     {REPLACE("%dk.sum.1 = add(%dk.came.1, %dk.1)", "%dk.sum.1 = add(%dk.0, %dk.1)")},
     "E510",
     "%dk.sum.1 = add",
     "cut differently"},
    {"dk that skips a device",
     {REPLACE("%dk.came.1.started = permute(%dk.0) {axes=cp, shift=1}",
              "%dk.came.1.started = permute(%dk.0) {axes=cp, shift=2}")},
     "E510",
     "%dk.sum.1 = add",
     "cut differently"},
    {"dk without the queries of one round",
     {REPLACE("%dk.came.2.started = permute(%dk.sum.1)",
              "%dk.came.2.started = permute(%dk.came.1)")},
     "E412",
     "%attention.k.gradient = rope_backward",
     "queries of chunk"},
    {"dv of the keys",
     {REPLACE("%dv.sum.1 = add(%dv.came.1, %dv.1)", "%dv.sum.1 = add(%dv.came.1, %dk.1)")},
     "E412",
     "%dv.sum.1 = add",
     "no parts of one"},
    {"a part of the keys' attention reduced over the ring",
     {REPLACE("%sum.o.1, %sum.lse.1 = attention_merge(%o.0, %lse.0, %o.1, %lse.1) : ",
              "%bad = all_reduce(%lse.1) {axes=cp} : f64[batch=2, sequence=8, heads=2, group=3]\n"
              "  %lse.bad = wait(%bad) : f64[batch=2, sequence=8, heads=2, group=3]\n"
              "  %sum.o.1, %sum.lse.1 = attention_merge(%o.0, %lse.0, %o.1, %lse.bad) : ")},
     "E412",
     "%bad = all_reduce",
     "keys of chunk"},
    {"positions of another order than the tokens",
     {REPLACE("%positions = iota() {dimension=sequence, axes=cp}",
              "%positions = iota() {dimension=sequence, axes=cp, zigzag=cp}")},
     "E510",
     "%attention.q.rotated = rope",
     "cut differently"},
    {"merged in another order",
     {REPLACE("attention_merge(%o.0, %lse.0, %o.1, %lse.1)",
              "attention_merge(%o.2, %lse.2, %o.1, %lse.1)"),
      REPLACE("attention_merge(%sum.o.1, %sum.lse.1, %o.2, %lse.2)",
              "attention_merge(%o.0, %lse.0, %sum.o.1, %sum.lse.1)")},
     NULL,
     NULL,
     NULL},
    {"keys the other way round, and gradients with them",
     {{EDIT_REPLACE_ALL, "{axes=cp, shift=1}", "{axes=cp, shift=-1}", 0, 0}},
     NULL,
     NULL,
     NULL},
};

static void mistakes_are_refused_where_they_are(void **state) {
    unsigned n_failed = 0;
    for (size_t i = 0; i < sizeof mutants / sizeof *mutants; i++) {
        struct trial t;
        judge(&t, 3, false, mutants[i].edits);
        struct expected_verdict expected = {mutants[i].code, mutants[i].at, mutants[i].says};
        n_failed += !trial_end(&t, trial_is_as_expected(&t, expected), mutants[i].name, expected);
    }
    assert_int_equal(n_failed, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rings_are_accepted),
        cmocka_unit_test(mistakes_are_refused_where_they_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
