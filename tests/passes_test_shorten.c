// Steps made short: what release and the account find in them is what they find where every
// iteration of the whole step is followed, in random steps and in derived programs of any depth.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "passes/schedule/release.h"
#include "tests/derive.h"
#include "tests/program_edit.h"
#include "tests/random.h"
#include "tests/sample.h"
#include "tests/tiny_strategies.h"

// ---- both ways --------------------------------------------------------------------------------

static bool is_shorter(const struct program *program, struct arena *arena) {
    return shorten(program, STEP_TRAIN, arena).stacks != NULL;
}

// The moments' first greatest.
static struct account_live most_of_all(const struct program *program, struct arena *arena) {
    struct program idle = *program;
    idle.steps[STEP_TRAIN].body.n = 0;
    struct too_long too_long;
    struct account_live most = account_most_alive(&idle, NULL, TIER_DEVICE, &too_long);
    uint32_t n;
    const struct account_live *moments = account_moments(program, 0, arena, &n);
    for (uint32_t i = 0; i < n; i++)
        if (moments[i].sum > most.sum)
            most = moments[i];
    return most;
}

static void check_account(const struct program *program, struct arena *arena, const char *name) {
    struct account_live expected = most_of_all(program, arena);
    struct too_long too_long;
    struct account_live found = account_most_alive(program, NULL, TIER_DEVICE, &too_long);
    assert_int_equal(too_long.statements, 0);
    if (found.sum != expected.sum || found.statement != expected.statement ||
        memcmp(found.states, expected.states, sizeof found.states) != 0 ||
        found.transient != expected.transient) {
        fprintf(stderr, "%s\n", job_text(program->job, arena));
        fail_msg("%s: %ld bytes at statement %u are the most alive, found %ld at %u", name,
                 (long)expected.sum, expected.statement, (long)found.sum, found.statement);
    }
}

static void check_release(struct program *program, struct arena *arena, const char *name) {
    struct program *other = job_only(job_clone(arena, program->job));
    for (int kind = 0; kind < N_STEPS; kind++) {
        struct followed *whole = follow_whole_step(other, kind);
        assert_true(release_by(other, kind, whole));
        followed_free(whole);
    }
    job_number(other->job);
    release(program->job, &(struct pass_context){0});
    char *found = job_text(program->job, arena), *expected = job_text(other->job, arena);
    if (strcmp(found, expected) != 0) {
        fprintf(stderr, "expected:\n%s\nfound:\n%s\n", expected, found);
        fail_msg("%s: frees stand elsewhere", name);
    }
}

// ---- random steps -----------------------------------------------------------------------------

enum { MAX_LOOPS = 4, MOST_TRIPS = 40, MOST_ITERATIONS = 400 };

struct writer {
    FILE *to;
    uint64_t random;
    int layers, depth;
    int iterations; // of the statement that is written
    struct {
        int first, last; // values of the variable
    } loops[MAX_LOOPS];
};

struct stack_of_text {
    int count; // of layers: beyond their number; else all
    bool layers;
};
struct place_of_text {
    const char *name;
    struct stack_of_text stacks[2];
};
static const struct place_of_text places[] = {
    {"x", {{1, true}, {1, false}}},     {"y", {{1, true}, {1, false}}},
    {"z", {{5, true}, {1, false}}},     {"one", {{1, false}, {1, false}}},
    {"one", {{1, false}, {1, false}}},  {"two", {{2, false}, {1, false}}},
    {"two", {{2, false}, {1, false}}},  {"three", {{3, false}, {1, false}}},
    {"in", {{1, false}, {1, false}}},   {"out", {{1, false}, {1, false}}},
    {"rows", {{2, false}, {1, true}}},  {"columns", {{1, true}, {3, false}}},
    {"square", {{1, true}, {1, true}}},
};
enum { PLACE_ROWS = 10 };

static int pick(struct writer *w, int n) {
    return (int)(random_bits(&w->random) % (uint64_t)n);
}

static void write_variable(struct writer *w, int variable, int offset) {
    fprintf(w->to, "%c", 'i' + variable);
    if (offset)
        fprintf(w->to, "%+d", offset);
}

static void write_index(struct writer *w, int count) {
    if (count == 1)
        return;
    if (w->depth == 0 || pick(w, 8) == 0) {
        int ends[] = {0, count - 1, 1, pick(w, count)};
        fprintf(w->to, "[%d]", ends[pick(w, pick(w, 4) ? 2 : 4)]);
        return;
    }
    int variable = pick(w, 3) ? w->depth - 1 : pick(w, w->depth), offset = pick(w, 4) - 1;
    int first = w->loops[variable].first, last = w->loops[variable].last;
    fputc('[', w->to);
    if (first + offset < 0 || last + offset >= count)
        offset = 0;
    write_variable(w, variable, offset);
    if (last + offset >= count || first + offset < 0 || pick(w, 20) == 0)
        fprintf(w->to, " mod %d", count > 3 ? 2 + pick(w, 3) : count);
    fputc(']', w->to);
}

static void write_handle(struct writer *w) {
    int slots = pick(w, 3);
    fprintf(w->to, "%s[", slots == 0 ? "a" : slots == 1 ? "b" : "c");
    if (w->depth == 0 || slots == 0)
        fprintf(w->to, "%d", slots == 0 ? 0 : pick(w, 2));
    else
        write_variable(w, w->depth - 1, pick(w, 2));
    if (w->depth > 0 && slots > 0)
        fprintf(w->to, " mod %d", slots == 1 ? 2 : 3 * MOST_TRIPS);
    fputc(']', w->to);
}

static void write_stacked(struct writer *w, const struct place_of_text *place, const char *name) {
    fputs(name, w->to);
    for (int k = 0; k < 2; k++) {
        const struct stack_of_text *stack = &place->stacks[k];
        write_index(w, stack->layers ? w->layers + stack->count : stack->count);
    }
}

static void write_place(struct writer *w, bool written) {
    const struct place_of_text *place = &places[pick(w, sizeof places / sizeof *places)];
    bool given = place->name[0] == 'i' && written;
    write_stacked(w, place, given ? "out" : place->name);
}

// From a whole to a window in it.
static void write_scatter(struct writer *w) {
    fputs("start reduce_scatter over dp as ", w->to);
    write_handle(w);
    fputs(" { ", w->to);
    write_stacked(w, &places[PLACE_ROWS], "rows");
    fputs(" -> ", w->to);
    write_stacked(w, &places[PLACE_ROWS], "part");
    fputs(" }", w->to);
}

static void write_simple(struct writer *w) {
    int kind = pick(w, 12);
    if (kind < 2) {
        fputs("zero ", w->to);
        write_place(w, true);
    } else if (kind == 2 && pick(w, 3) == 0) {
        write_scatter(w);
    } else if (kind == 2) {
        fputs("start all_reduce over dp as ", w->to);
        write_handle(w);
        fputs(" { ", w->to);
        write_place(w, true);
        fputs(" -> ", w->to);
        write_place(w, true);
        fputs(" }", w->to);
    } else if (kind == 3) {
        fputs("wait ", w->to);
        write_handle(w);
    } else {
        fprintf(w->to, kind < 9 ? "call copy(a = " : "call add(a = ");
        write_place(w, false);
        fputs(kind < 9 ? ") -> (b = " : ", b = ", w->to);
        write_place(w, true);
        fputc(')', w->to);
    }
    fputc('\n', w->to);
}

static void write_block(struct writer *w, int n);

// A loop over a stride's layers in each iteration of the loop right around, if they are layers.
static bool write_strided(struct writer *w) {
    int stride = 2 + pick(w, 2), begin = pick(w, stride), end = begin + 1 + pick(w, stride - begin);
    if (w->depth == 0 || w->loops[w->depth - 1].last * stride + end > w->layers)
        return false;
    w->loops[w->depth].first = w->loops[w->depth - 1].first * stride + begin;
    w->loops[w->depth].last = w->loops[w->depth - 1].last * stride + end - 1;
    char outer = (char)('i' + w->depth - 1);
    fprintf(w->to, "for %c = %d*%c+%d .. %d*%c+%d", 'i' + w->depth, stride, outer, begin, stride,
            outer, end);
    return true;
}

// Over all layers, all but some at the ends, a part, groups of them, or something else.
static void write_loop(struct writer *w) {
    int half = w->layers / 2, kind = pick(w, 10), begin = 0, end = w->layers;
    if (kind == 0)
        end = pick(w, 12) + 1;
    else if (kind == 1)
        begin = end - 1 - pick(w, 2);
    else if (kind == 2)
        end = 1 + pick(w, 2);
    else if (kind == 3)
        *(pick(w, 2) ? &begin : &end) = half;
    else if (kind == 4)
        end = w->layers / (2 + pick(w, 2));
    else
        begin = pick(w, 2), end -= pick(w, 2);
    begin = begin < 0 ? 0 : begin;
    if (pick(w, 2) || !write_strided(w)) {
        if (end <= begin)
            end = begin + 1;
        w->loops[w->depth].first = begin;
        w->loops[w->depth].last = end - 1;
        fprintf(w->to, "for %c = %d .. %d", 'i' + w->depth, begin, end);
    }
    fputs(pick(w, 3) ? " {\n" : " descending {\n", w->to);
    int before = w->iterations;
    w->iterations *= w->loops[w->depth].last - w->loops[w->depth].first + 1;
    w->depth++;
    write_block(w, 1 + pick(w, 4));
    w->depth--;
    w->iterations = before;
    fputs("}\n", w->to);
}

static void write_block(struct writer *w, int n) {
    for (int i = 0; i < n; i++)
        if (w->depth < MAX_LOOPS && w->iterations < MOST_ITERATIONS / w->layers &&
            pick(w, 2 + 2 * w->depth) == 0)
            write_loop(w);
        else
            write_simple(w);
}

static const char units[] = "}\n" UNIT_COPY UNIT_ADD;

static char *random_step(uint64_t seed) {
    char *text;
    size_t length;
    struct writer w = {.to = open_memstream(&text, &length), .random = seed, .iterations = 1};
    w.layers = 1 + pick(&w, MOST_TRIPS);
    fprintf(w.to,
            "step main {\n"
            "  axis dp = 2\n"
            "  sizes batch = 1 sequence = 1 microbatches = 1 layers = %d vocab = 1\n"
            "  policy parameters = f64 master = none moments = f64 gradients = f64\n"
            "       compute = f64 accumulate = f64 gather = f64 reduce = f64 reproducible = 0\n"
            "  buffer in : input f64[hidden=4]\n"
            "  buffer out : output f64[hidden=4]\n"
            "  buffer x : activations f64[hidden=4] layers %d\n"
            "  buffer y : gradients f64[hidden=4] layers %d\n"
            "  buffer z : transient f64[hidden=4] layers %d\n"
            "  buffer one : transient f64[hidden=4]\n"
            "  buffer two : activations f64[hidden=4] slots 2\n"
            "  buffer three : transient f64[hidden=4] slots 3\n"
            "  buffer rows : transient f64[hidden=4] slots 2, layers %d\n"
            "  buffer part : transient f64[hidden=4] flat/dp slots 2, layers %d window of rows\n"
            "  buffer columns : activations f64[hidden=4] layers %d, slots 3\n"
            "  buffer square : transient f64[hidden=4] layers %d, microbatches %d\n"
            "  train {\n",
            w.layers + 5, w.layers + 1, w.layers + 1, w.layers + 5, w.layers + 1, w.layers + 1,
            w.layers + 1, w.layers + 1, w.layers + 1);
    write_block(&w, 3 + pick(&w, 6));
    fprintf(w.to, "}\n%s", units);
    fclose(w.to);
    return text;
}

static bool check_random_step(uint64_t seed) {
    struct arena arena = {0};
    char *text = random_step(seed), name[32];
    struct program *program = program_read(&arena, text, 0);
    snprintf(name, sizeof name, "step %d", (int)seed);
    bool shorter = is_shorter(program, &arena);
    check_account(program, &arena, name);
    check_release(program, &arena, name);
    free(text);
    arena_free(&arena);
    return shorter;
}

static void random_steps(void **state) {
    int n = getenv("PLACE_TEST_FULL") ? 200000 : 4000, n_shorter = 0, every = sample_every();
    for (int i = 0; i < n; i += every)
        n_shorter += check_random_step((uint64_t)i);
    assert_true(n_shorter > n / every / 4);
}

// Ranges of layers are the same in whatever order their items die: here those of `rows` do in
// another order in the short step than in the whole.
static void items_die_in_any_order(void **state) {
    check_random_step(122698);
}

// ---- derived programs -------------------------------------------------------------------------

static void set_layers(struct config *config, int64_t layers) {
    config->model.layers = layers;
    for (uint32_t i = 0; i < config->strategy.n_modes; i++) {
        struct selector *selector = &config->strategy.modes[i].selector;
        if (selector->has_slice && selector->slice_end > 1)
            selector->slice_end = layers;
    }
}

// What `release` found of the step does for the account, behind frees and the plan, as what is found
// again does.
static void check_followed(const struct program *program, const struct followed *followed) {
    struct too_long too_long;
    struct account_live expected = account_most_alive(program, NULL, TIER_DEVICE, &too_long);
    struct account_live found = account_most_alive(program, followed, TIER_DEVICE, &too_long);
    assert_memory_equal(&found, &expected, sizeof found);
}

static void check_derived(struct arena *arena, const struct config *config, const char *name) {
    struct program *program = derive_program(arena, config, PASS_OVERLAP, NULL);
    struct followed *followed = NULL;
    const struct pass_context context = {.followed = &followed};
    if (!program)
        return; // not every number of layers fits every strategy
    assert_true(passes_run(program->job, &context, PASS_RELEASE, PASS_MEMORY));
    check_account(program, arena, name);
    check_followed(program, followed);
    followed_free(followed);
    check_release(program, arena, name);
}

static void tiny_strategies_of_any_depth(void **state) {
    int64_t step = getenv("PLACE_TEST_FULL") ? 1 : 7;
    int64_t n = 0, every = sample_every() > 1 ? 5 : 1;
    for (int i = 0; i < N_TINY_STRATEGIES; i++)
        for (int64_t layers = 1; layers <= 40; layers += step) {
            if (n++ % every)
                continue;
            struct arena arena = {0};
            struct config config =
                tiny_strategy_config(&arena, layers % 2 ? FAMILY_GPT2 : FAMILY_LLAMA,
                                     (enum tiny_strategy)i, 1 + layers % 5 * 3);
            for (uint32_t k = 0; k < config.strategy.n_modes; k++)
                config.strategy.modes[k].prefetch = layers % 4;
            set_layers(&config, layers);
            check_derived(&arena, &config, tiny_strategy_names[i]);
            arena_free(&arena);
        }
}

static void random_strategies_of_any_depth(void **state) {
    int n = getenv("PLACE_TEST_FULL") ? 2000 : 60;
    for (int i = 0; i < n; i += sample_every()) {
        struct arena arena = {0};
        struct config config = random_strategy_config(&arena, (uint64_t)i);
        char name[32];
        snprintf(name, sizeof name, "strategy %d", i);
        set_layers(&config, 12 + i % 29);
        check_derived(&arena, &config, name);
        arena_free(&arena);
    }
}

// What is followed of deep models is what is followed of shallow ones.
static void as_long_for_any_depth(void **state) {
    for (int i = 0; i < N_TINY_STRATEGIES; i++) {
        struct arena arena = {0};
        uint32_t n[2][N_STEPS];
        for (int k = 0; k < 2; k++) {
            struct config config =
                tiny_strategy_config(&arena, FAMILY_LLAMA, (enum tiny_strategy)i, 12 + 100 * k);
            set_layers(&config, k ? 24 * 1000 : 24 * 5);
            const struct program *program = derive_program(&arena, &config, PASS_MEMORY, NULL);
            assert_non_null(program);
            for (int kind = 0; kind < N_STEPS; kind++) {
                struct shortened shortened = shorten(program, kind, &arena);
                n[k][kind] = uses_of(shortened.program, kind, &arena).n;
                if (k && n[0][kind] != n[1][kind])
                    fail_msg("%s: of %s %u and %u statements are followed", tiny_strategy_names[i],
                             step_names[kind], n[0][kind], n[1][kind]);
            }
        }
        arena_free(&arena);
    }
}

// A step that is not shortened, and has more statements than are followed: nothing is, and the loop
// that goes round most is named.
static void too_many_statements_are_not_followed(void **state) {
    struct arena arena = {0};
    struct config config = tiny_strategy_config(&arena, FAMILY_LLAMA, 0, 12);
    set_layers(&config, 24 * 40000);
    struct program *program = derive_program(&arena, &config, PASS_MEMORY, NULL);
    assert_non_null(program);
    struct followed *whole = follow_whole_step(program, STEP_TRAIN);
    assert_true(whole->uses.too_long.statements > LIMIT_FOLLOWED);
    assert_int_equal(whole->uses.n, 0);
    assert_false(release_by(program, STEP_TRAIN, whole));
    followed_free(whole);
    struct too_long none;
    account_most_alive(program, NULL, TIER_DEVICE, &none);
    assert_int_equal(none.statements, 0);
    arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_steps),
        cmocka_unit_test(items_die_in_any_order),
        cmocka_unit_test(tiny_strategies_of_any_depth),
        cmocka_unit_test(random_strategies_of_any_depth),
        cmocka_unit_test(as_long_for_any_depth),
        cmocka_unit_test(too_many_statements_are_not_followed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
