// Loops are proved by induction; here that is held against following every iteration one by one:
// for whatever program the verdict is the same, and the first thing that is told is the same
// message at the same place.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mutants.h"
#include "tests/oracle/mutate.h"
#include "tests/random.h"
#include "tests/sample.h"
#include "tests/trial.h"

static const struct edit no_edits[1];

static bool is_refused(const struct trial *t) {
    return t->verdict.kind != VERDICT_ACCEPTED;
}

struct outcome {
    struct verdict verdict;
    const struct diagnostics *diagnostics;
};

static bool is_told_at(const struct diagnostic *d, struct span span) {
    bool is = d->span.begin == span.begin;
    for (uint32_t i = 0; i < d->n_notes; i++)
        is |= d->notes[i].span.begin == span.begin;
    return is;
}

// Whether two tell of one statement. What an op is given wrongly may be told at one of those that made
// it, with a note where it is used: which, depends on the iteration that is looked at.
static bool tell_of_one_place(const struct diagnostic *x, const struct diagnostic *y) {
    bool same = is_told_at(x, y->span);
    for (uint32_t i = 0; i < y->n_notes; i++)
        same |= is_told_at(x, y->notes[i].span);
    return same;
}

// Whether the first thing that one tells is among the first so many that the other tells: its code
// and place. Messages may name another layer of a mistake that several make.
static bool tells_first(const struct diagnostics *one, const struct diagnostics *other,
                        uint32_t among) {
    const struct diagnostic *x = one->items[0];
    bool tells = false;
    for (uint32_t i = 0; i < other->n_items && i < among; i++)
        tells |= other->items[i]->code == x->code && tell_of_one_place(other->items[i], x);
    return tells;
}

// What is told is in the order of where it first happened. One by one a value that is wrong in each
// iteration may be found in the second only, if another mistake hides it in the first: of several
// mistakes either may be told first.
static bool same_outcome(const struct outcome *a, const struct outcome *b, bool several) {
    if (a->verdict.kind != b->verdict.kind || !a->diagnostics->n_items != !b->diagnostics->n_items)
        return false;
    uint32_t among = several ? UINT32_MAX : 1;
    return !a->diagnostics->n_items || (tells_first(a->diagnostics, b->diagnostics, among) &&
                                        tells_first(b->diagnostics, a->diagnostics, among));
}

// Judges the program in both ways; the judgement by induction stays.
static bool agrees_on(struct trial *t, const char *name, bool several) {
    trial_judge_one_by_one(t);
    struct outcome one_by_one = {t->verdict, t->diagnostics};
    trial_judge(t);
    struct outcome by_induction = {t->verdict, t->diagnostics};
    if (same_outcome(&by_induction, &one_by_one, several))
        return true;
    print_error("%s: by induction\n", name);
    diagnostics_print(by_induction.diagnostics, stderr, false);
    print_error("one by one\n");
    diagnostics_print(one_by_one.diagnostics, stderr, false);
    if (getenv("PRINT"))
        fputs(t->text, stderr);
    return false;
}

static bool agrees(struct trial *t, const char *name) {
    return agrees_on(t, name, false);
}

// ---- what is derived, and mistakes in it ------------------------------------------------------

static bool ends_within(const struct selector *selector, int64_t layers) {
    return !selector->has_slice || selector->slice_end <= layers;
}

// Whether all slices of layers that the strategy names are there.
static bool has_layers(const struct config *config) {
    const struct strategy_config *strategy = &config->strategy;
    bool has = true;
    for (uint32_t i = 0; i < strategy->n_splits; i++)
        has = has && ends_within(&strategy->splits[i].scope, config->model.layers);
    for (uint32_t i = 0; i < strategy->n_modes; i++)
        has = has && ends_within(&strategy->modes[i].selector, config->model.layers);
    return has;
}

// False: the strategy is of more layers.
static bool derive(struct trial *t, enum model_family family, enum tiny_strategy strategy,
                   int64_t layers, int64_t microbatches) {
    *t = (struct trial){0};
    t->config = tiny_strategy_config(&t->arena, family, strategy, microbatches);
    t->config.model.layers = layers;
    if (!has_layers(&t->config))
        return false;
    assert_true(trial_derive(t, N_PASSES - 1));
    return true;
}

static void agrees_on_what_is_derived(void **state) {
    static const int64_t microbatches[] = {1, 3, 7};
    // A sample takes half of the strategies at each depth, with one of the models, in turns.
    int stride = getenv("PLACE_TEST_FULL") ? 1 : 4 * sample_every(), depth = 0;
    unsigned n_failed = 0;
    for (int64_t layers = 1; layers <= 13; layers += 1 + layers / 4, depth++)
        for (int i = depth % stride; i < 2 * N_TINY_STRATEGIES; i += stride) {
            struct trial t;
            enum tiny_strategy strategy = i / 2;
            if (derive(&t, i % 2 ? FAMILY_GPT2 : FAMILY_LLAMA, strategy, layers,
                       microbatches[(layers + i) % 3])) {
                assert_true(trial_edit(&t, no_edits));
                n_failed += !agrees(&t, tiny_strategy_names[strategy]) || is_refused(&t);
            }
            arena_free(&t.arena);
        }
    assert_int_equal(n_failed, 0);
}

// How often the verdicts differ. Models of few layers have no place for some of the edits. A sample
// takes few depths of each mutant.
static unsigned disagreements(const struct known_mutant *mutants, size_t n, unsigned *n_judged) {
    unsigned n_failed = 0;
    size_t stride = getenv("PLACE_TEST_FULL") ? 1 : 4 * (size_t)sample_every();
    for (size_t i = 0, k = 0; i < n; i++)
        for (int64_t layers = 1; layers <= 13; layers += 1 + layers / 4, k++) {
            struct trial t;
            if (k % stride == 0 && derive(&t, mutants[i].family, mutants[i].strategy, layers, 3) &&
                trial_edit(&t, mutants[i].edits)) {
                n_failed += !agrees(&t, mutants[i].name);
                (*n_judged)++;
            }
            arena_free(&t.arena);
        }
    return n_failed;
}

static void agrees_on_mistakes(void **state) {
    unsigned n_judged = 0;
    assert_int_equal(disagreements(wrong_mutants, n_wrong_mutants, &n_judged), 0);
    assert_int_equal(disagreements(harmless_mutants, n_harmless_mutants, &n_judged), 0);
    print_message("%u mutants\n", n_judged);
    size_t depths = getenv("PLACE_TEST_FULL") ? 5 : 1;
    assert_true(n_judged * (unsigned)sample_every() >
                depths * (n_wrong_mutants + n_harmless_mutants));
}

// Whether the verdicts agree on a random mistake of that kind; N_MUTATIONS: of any.
static bool agrees_on_random_mistake(uint64_t seed, enum mutation kind, unsigned *n_judged) {
    struct trial t = {0};
    uint64_t random = seed * 91 + 7;
    enum model_family family = random_bits(&random) % 2 ? FAMILY_GPT2 : FAMILY_LLAMA;
    enum tiny_strategy strategy = random_bits(&random) % N_TINY_STRATEGIES;
    t.config =
        tiny_strategy_config(&t.arena, family, strategy, 1 + (int64_t)(random_bits(&random) % 7));
    t.config.model.layers = 6 + (int64_t)(random_bits(&random) % 8);
    for (uint32_t i = 0; i < t.config.strategy.n_modes; i++)
        t.config.strategy.modes[i].prefetch = (int64_t)(random_bits(&random) % 3);
    assert_true(trial_derive(&t, N_PASSES - 1));
    assert_true(trial_edit(&t, no_edits));
    struct mutant mutant;
    enum mutation any = random_bits(&random) % N_MUTATIONS;
    bool right = true;
    if (kind == N_MUTATIONS)
        kind = any;
    if (mutate(&t.arena, t.program->job, kind, random, &mutant)) {
        t.program = mutant.program;
        ++*n_judged;
        right = agrees_on(&t, arena_format(&t.arena, "seed %d: %s", (int)seed, mutant.what),
                          kind == MUTATION_SEVERAL);
    }
    arena_free(&t.arena);
    return right;
}

static void agrees_on_random_mistakes(void **state) {
    uint64_t first = getenv("SEED") ? strtoull(getenv("SEED"), NULL, 10) : 0;
    uint64_t n = getenv("SEED") ? 1 : getenv("PLACE_TEST_FULL") ? 2000 : 50;
    unsigned n_judged = 0, n_failed = 0;
    for (uint64_t seed = first; seed < first + n; seed += (uint64_t)sample_every())
        n_failed += !agrees_on_random_mistake(seed, N_MUTATIONS, &n_judged);
    print_message("%u mutants, %u disagreements\n", n_judged, n_failed);
    assert_int_equal(n_failed, 0);
}

// What a wrong value in a loop is compared with stands in other layers than its own; and what a
// remembered call makes is no sum of all that the call is given.
static void agrees_where_once_it_did_not(void **state) {
    static const struct {
        uint64_t seed;
        enum mutation kind;
    } mistakes[] = {
        {547, MUTATION_WRONG_SHARD}, {1482, MUTATION_SWAP_GROUP}, {1571, MUTATION_SWAP_GROUP}};
    unsigned n_judged = 0;
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++)
        assert_true(agrees_on_random_mistake(mistakes[i].seed, mistakes[i].kind, &n_judged));
    assert_int_equal(n_judged, sizeof mistakes / sizeof *mistakes);
}

// A buffer is put elsewhere in the plan, mostly where others are: into some layers' items of them.
static const char *move_buffer(struct program *program, uint64_t *random) {
    struct buffer *moved = &program->buffers[random_bits(random) % program->n_buffers];
    const struct buffer *to = &program->buffers[random_bits(random) % program->n_buffers];
    if (moved->window_of != NO_ID || buffer_is_persistent(moved) || to->window_of != NO_ID ||
        buffer_is_persistent(to) || moved == to)
        return NULL;
    int64_t room = buffer_bytes(program, to) + buffer_bytes(program, moved);
    int64_t shift = (int64_t)(random_bits(random) % (uint64_t)(room / 64 + 1)) * 64;
    int64_t offset = to->offset_bytes - buffer_bytes(program, moved) + shift;
    moved->offset_bytes = offset < 0 ? 0 : offset;
    return moved->name;
}

static void agrees_on_random_plans(void **state) {
    uint64_t first = getenv("SEED") ? strtoull(getenv("SEED"), NULL, 10) : 0;
    uint64_t n = getenv("SEED") ? 1 : getenv("PLACE_TEST_FULL") ? 4000 : 200;
    unsigned n_accepted = 0, n_refused = 0, n_failed = 0;
    for (uint64_t seed = first; seed < first + n; seed += (uint64_t)sample_every()) {
        struct trial t;
        uint64_t random = seed * 57 + 3;
        assert_true(derive(&t, random_bits(&random) % 2 ? FAMILY_GPT2 : FAMILY_LLAMA,
                           random_bits(&random) % N_TINY_STRATEGIES,
                           6 + (int64_t)(random_bits(&random) % 6),
                           1 + (int64_t)(random_bits(&random) % 4)));
        assert_true(trial_edit(&t, no_edits));
        const char *moved = move_buffer(t.program, &random);
        if (moved) {
            n_failed += !agrees(&t, arena_format(&t.arena, "seed %d: %s", (int)seed, moved));
            *(is_refused(&t) ? &n_refused : &n_accepted) += 1;
        }
        arena_free(&t.arena);
    }
    print_message("%u plans accepted, %u refused, %u disagreements\n", n_accepted, n_refused,
                  n_failed);
    assert_int_equal(n_failed, 0);
    assert_true(getenv("SEED") || sample_every() > 1 || (n_accepted > 5 && n_refused > 5));
}

// ---- what a wrong invariant would let through -------------------------------------------------

enum { LAYERS = 12 }; // of the texts below
#define SPLIT(n, border)                                                                           \
    {EDIT_DOUBLE, "for l = 0 .. 12 {", NULL, n, 0},                                                \
        {EDIT_REPLACE, "for l = 0 .. 12 {", "for l = 0 .. " border " {", n, 0}, {                  \
        EDIT_REPLACE, "for l = 0 .. 12 {", "for l = " border " .. 12 {", n, 0                      \
    }
#define NTH(n, what, to)                                                                           \
    { EDIT_REPLACE, what, to, n, 0 }

static const struct known_mutant in_loops[] = {
    {"the last layer by hand", FAMILY_LLAMA, TINY_DDP, {SPLIT(0, "11")}, NULL, NULL},
    {"the first layer by hand", FAMILY_LLAMA, TINY_DDP, {SPLIT(0, "1")}, NULL, NULL},
    {"two slices of layers", FAMILY_LLAMA, TINY_DDP, {SPLIT(0, "5")}, NULL, NULL},
    {"only the last layer reads another one's input",
     FAMILY_LLAMA,
     TINY_DDP,
     {SPLIT(0, "11"),
      NTH(1, "call block_forward(x = hidden[l]", "call block_forward(x = hidden[l-1]")},
     "E512",
     "%attention.norm.y, %attention.norm.rstd = rms_norm"},
    {"a layer between two slices is left out",
     FAMILY_LLAMA,
     TINY_DDP,
     {SPLIT(0, "5"), NTH(0, "for l = 5 .. 12 {", "for l = 6 .. 12 {")},
     "E611",
     "call block_forward(x = hidden[l]"},
    {"a layer between two slices is done twice",
     FAMILY_LLAMA,
     TINY_DDP,
     {SPLIT(2, "5"), NTH(0, "for l = 5 .. 12 {", "for l = 4 .. 12 {"),
      DELETE("free block.attention.norm.gain.gradient[l]"),
      DELETE("free block.attention.norm.gain.gradient[l]")},
     "E490",
     "%attention.norm.gain.updated.p"},
    {"the gather of the layer behind the next",
     FAMILY_LLAMA,
     TINY_ZERO3,
     {NTH(0, "block.attention.q.weight[l+1] ->", "block.attention.q.weight[l+2 mod 12] ->")},
     "E512",
     "start all_gather over dp as gather.block_forward"},
    {"only the last gather is of another layer",
     FAMILY_LLAMA,
     TINY_ZERO3,
     {NTH(0, "block.attention.q.weight[l+1] ->", "block.attention.q.weight[l+1 mod 11] ->")},
     "E512",
     "start all_gather over dp as gather.block_forward"},
    {"only odd layers read another slot",
     FAMILY_LLAMA,
     TINY_ZERO3,
     {NTH(0, "mlp.up.weight = block.mlp.up.weight.gathered.block_forward[l mod 2]",
          "mlp.up.weight = block.mlp.up.weight.gathered.block_forward[0]")},
     "E610",
     "call block_forward(x = hidden[l]"},
    {"no wait in the epilogue",
     FAMILY_LLAMA,
     TINY_ZERO3,
     {{EDIT_DELETE, "wait gather.block_forward[l mod 2]", NULL, 1, 0}},
     "E610",
     "call block_forward(x = hidden[l]"},
    {"the second layer's sum starts where the first one's still is",
     FAMILY_LLAMA,
     TINY_DDP,
     {REPLACE_ALL("reduce.block_backward[l mod 12]", "reduce.block_backward[0]")},
     "E612",
     "start all_reduce over dp as reduce.block_backward[0]"},
    {"a wait for what the iteration before started",
     FAMILY_LLAMA,
     TINY_ZERO3,
     {BEFORE("wait reduce.block_backward[0]",
             "start all_gather over dp as gather.block_backward[l-1"),
      BEHIND("call accumulate_block_backward", "wait reduce.block_backward[0]")},
     "E612",
     "wait reduce.block_backward[0]"},
    {"inputs kept for four layers only",
     FAMILY_LLAMA,
     TINY_DDP,
     {REPLACE_ALL("hidden[l+1]", "hidden[l+1 mod 4]"), REPLACE_ALL("hidden[l]", "hidden[l mod 4]"),
      REPLACE_ALL("hidden[12]", "hidden[0]")},
     "E611",
     "call block_backward(x = hidden[l mod 4]"},
    {"only the last microbatch reads another one's targets",
     FAMILY_LLAMA,
     TINY_DDP,
     {NTH(1, "targets = targets[m]", "targets = targets[m mod 6]")},
     "E512",
     "call head_forward"},
};

// Layers are gathered in groups of two, with one left over.
enum { LAYERS_IN_GROUPS = 41 };
static const struct known_mutant in_groups[] = {
    {"only the last group gathers another layer",
     FAMILY_LLAMA,
     TINY_GATHER_LAYERS,
     {NTH(0, "block.attention.q.weight.0_40[l+2] ->",
          "block.attention.q.weight.0_40[l+2 mod 39] ->")},
     "E512",
     "start all_gather over dp as gather.block_forward"},
    {"the group before the first is left out in backward",
     FAMILY_LLAMA,
     TINY_GATHER_LAYERS,
     {NTH(0, "for u = 1 .. 20 descending {", "for u = 2 .. 20 descending {")},
     "E612",
     "wait gather.block_backward.2[l mod 4]"},
    {"the layer of the next group's slot",
     FAMILY_LLAMA,
     TINY_GATHER_LAYERS,
     {NTH(0, "mlp.up.weight = block.mlp.up.weight.0_40.gathered.block_forward[l mod 4]",
          "mlp.up.weight = block.mlp.up.weight.0_40.gathered.block_forward[l+2 mod 4]")},
     "E610",
     "call block_forward(x = hidden[l]"},
    {"nothing waits for the last group",
     FAMILY_LLAMA,
     TINY_GATHER_LAYERS,
     {{EDIT_DELETE, "wait gather.block_forward[l mod 4]", NULL, 1, 0}},
     "E610",
     "call block_forward(x = hidden[l]"},
    {"only the last group keeps its input elsewhere",
     FAMILY_LLAMA,
     TINY_RECOMPUTE_LAYERS,
     {NTH(0, "(y = saved.hidden.0_40[g])", "(y = saved.hidden.0_40[g mod 19])")},
     "E611",
     "call take_hidden_0_40"},
    {"only the last group is recomputed from another one's input",
     FAMILY_LLAMA,
     TINY_RECOMPUTE_LAYERS,
     {NTH(0, "call take_hidden_0_40(x = saved.hidden.0_40[g])",
          "call take_hidden_0_40(x = saved.hidden.0_40[g mod 19])")},
     "E490",
     "%attention.q = einsum(%attention.norm.y.gathered"},
};

static void find_mistakes(const struct known_mutant *mutants, size_t n, int64_t layers,
                          int64_t microbatches) {
    unsigned n_failed = 0;
    for (size_t i = 0; i < n; i++) {
        const struct known_mutant *mutant = &mutants[i];
        struct trial t;
        assert_true(derive(&t, mutant->family, mutant->strategy, layers, microbatches));
        if (!trial_edit(&t, mutant->edits))
            fail_msg("%s: the edits find nothing, or make no program", mutant->name);
        struct expected_verdict expected = {mutant->code, mutant->at, NULL};
        bool right = agrees(&t, mutant->name) && trial_is_as_expected(&t, expected);
        n_failed += !trial_end(&t, right, mutant->name, expected);
    }
    assert_int_equal(n_failed, 0);
}

static void finds_mistakes_of_some_iterations(void **state) {
    find_mistakes(in_loops, sizeof in_loops / sizeof *in_loops, LAYERS, 7);
}

static void finds_mistakes_of_some_groups(void **state) {
    find_mistakes(in_groups, sizeof in_groups / sizeof *in_groups, LAYERS_IN_GROUPS, 1);
}

// ---- cost -------------------------------------------------------------------------------------

static struct verdict verdict_of(enum tiny_strategy strategy, int64_t layers,
                                 int64_t microbatches) {
    struct trial t;
    assert_true(derive(&t, FAMILY_LLAMA, strategy, layers, microbatches));
    trial_judge(&t);
    assert_false(is_refused(&t));
    struct verdict verdict = t.verdict;
    arena_free(&t.arena);
    return verdict;
}

// From where on all kinds of layers and their last ones are apart. Some of these have loops over
// groups of layers.
static void cost_does_not_grow(void **state) {
    static const int64_t sizes[][2] = {{208, 1}, {1000, 1}, {1000, 40}, {208, 1000}};
    int stride = sample_every() > 1 ? 4 : 1;
    for (enum tiny_strategy strategy = 0; strategy < N_TINY_STRATEGIES; strategy += stride) {
        struct verdict verdicts[4];
        if (strategy == TINY_RECOMPUTE_LAYERS)
            continue; // see below
        for (int i = 0; i < 4; i++)
            verdicts[i] = verdict_of(strategy, sizes[i][0], sizes[i][1]);
        assert_int_equal(verdicts[0].n_statements, verdicts[1].n_statements);
        assert_int_equal(verdicts[0].n_terms, verdicts[1].n_terms);
        assert_int_equal(verdicts[2].n_statements, verdicts[3].n_statements);
        assert_int_equal(verdicts[2].n_terms, verdicts[3].n_terms);
    }
}

// Where items that two statements write by turns share bytes with other buffers, each is a stretch
// of its own (store.h): iterations go one by one; microbatches around them are still proved.
static void what_alternates_is_followed(void **state) {
    struct verdict few = verdict_of(TINY_RECOMPUTE_LAYERS, 40, 20);
    struct verdict many = verdict_of(TINY_RECOMPUTE_LAYERS, 160, 20);
    struct verdict often = verdict_of(TINY_RECOMPUTE_LAYERS, 40, 100);
    assert_true(many.n_statements <= 4 * few.n_statements);
    assert_int_equal(often.n_statements, few.n_statements);
    assert_true(many.n_terms <= 4 * few.n_terms);
}

// What a layer makes is no longer the reference's, and what the next makes of it is new again: no
// state is like the one before. What is looked for in each of these values leaves nothing behind.
enum { AFFORDABLE_BYTES = 256 * 1024 * 1024 };
static const struct edit growing[] = {
    REPLACE("add(%x, %attention.out)", "add(%attention.out, %attention.out)"), {0}};

static void what_grows_is_followed_as_far_as_affordable(void **state) {
    static const int64_t layers[] = {12, 100000};
    static const char *const codes[] = {"E413", "E491"};
    static const char *const places[] = {"%attention.y = add", "for l = 0 .. 100000 {"};
    for (int i = 0; i < 2; i++) {
        struct trial t;
        assert_true(derive(&t, FAMILY_LLAMA, TINY_DDP, layers[i], 1));
        assert_true(trial_edit(&t, growing));
        trial_judge(&t);
        assert_true(is_refused(&t));
        assert_string_equal(diagnostic_rows[t.diagnostics->items[0]->code].text, codes[i]);
        assert_memory_equal(trial_place(&t), places[i], strlen(places[i]));
        assert_true(t.arena.total_bytes < AFFORDABLE_BYTES);
        arena_free(&t.arena);
    }
}

// Memory is looked at before each statement; what is refused for it names the one that was next, of
// the program that is judged, and is not judged again to say why.
static void what_grows_is_followed_as_far_as_memory_lasts(void **state) {
    enum { LEFT_BYTES = 4 * 1024 * 1024 };
    struct expected_verdict expected = {"E491", "call block_", "takes more than 2 GiB of memory"};
    struct trial t;
    assert_true(derive(&t, FAMILY_LLAMA, TINY_DDP, 1000, 1));
    assert_true(trial_edit(&t, growing));
    // Taken, but never touched.
    arena_alloc(&t.arena, (size_t)LIMIT_CHECK_BYTES - LEFT_BYTES - t.arena.total_bytes);
    trial_judge(&t);
    assert_non_null(t.diagnostics->items[0]->help);
    assert_true(trial_end(&t, trial_is_as_expected(&t, expected), "memory", expected));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_on_what_is_derived),
        cmocka_unit_test(agrees_on_mistakes),
        cmocka_unit_test(agrees_on_random_mistakes),
        cmocka_unit_test(agrees_where_once_it_did_not),
        cmocka_unit_test(agrees_on_random_plans),
        cmocka_unit_test(finds_mistakes_of_some_iterations),
        cmocka_unit_test(finds_mistakes_of_some_groups),
        cmocka_unit_test(cost_does_not_grow),
        cmocka_unit_test(what_alternates_is_followed),
        cmocka_unit_test(what_grows_is_followed_as_far_as_affordable),
        cmocka_unit_test(what_grows_is_followed_as_far_as_memory_lasts),
    };
    if (getenv("FILTER"))
        cmocka_set_test_filter(getenv("FILTER"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
