// What is alive, counted from the statements as they are executed, is what is accounted from the
// last uses of items, in every strategy; and every wrong plan that is planted shows as a flaw, by
// the check that whole models (backend_test_model) and examples (examples.py) are held to.
//
// The steps are executed without their work: the runtime is told the statements that generated code
// would tell it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "tests/derive.h"
#include "tests/backend_live.h"
#include "tests/oracle/compiled.h"
#include "tests/oracle/compose.h"
#include "tests/oracle/variations.h"
#include "tests/sample.h"
#include "tests/tiny_strategies.h"

enum { N_COMPOSITIONS = 3000, N_SAMPLED = 300 };

// ---- executing --------------------------------------------------------------------------------

static void execute_block(struct live *live, const struct block *block, int64_t *variables,
                          int depth) {
    for (uint32_t i = 0; i < block->n; i++) {
        const struct statement *s = &block->statements[i];
        if (s->kind != STATEMENT_LOOP) {
            live_begin_statement(live, (int32_t)s->id, variables);
            continue;
        }
        for (int64_t k = 0; k < s->loop.end - s->loop.begin; k++) {
            variables[depth] = loop_variable(&s->loop, depth, k, variables);
            execute_block(live, &s->loop.body, variables, depth + 1);
        }
    }
}

static struct live_report execute(struct live *live, const struct program *program,
                                  enum step_kind step) {
    int64_t variables[LIMIT_LOOP_DEPTH] = {0};
    live_begin_step(live);
    execute_block(live, &program->steps[step].body, variables, 0);
    return live_end_step(live);
}

// Both steps, training last; `observer` sees the training.
static struct live_report measure(struct arena *arena, const struct program *program,
                                  live_observer *observer, void *data) {
    struct place_program *described =
        descriptor_make(arena, program->job, &(struct descriptor_facts){0});
    struct live *live = live_new(described, 0);
    assert_non_null(live);
    execute(live, program, STEP_EVALUATE);
    live_observe(live, observer, data);
    struct live_report report = execute(live, program, STEP_TRAIN);
    live_free(live);
    return report;
}

static struct program *derive(struct arena *arena, enum model_family family,
                              enum tiny_strategy strategy, int64_t microbatches) {
    struct config config = tiny_strategy_config(arena, family, strategy, microbatches);
    struct program *program = derive_program(arena, &config, PASS_MEMORY, NULL);
    assert_non_null(program);
    return program;
}

// ---- as accounted -----------------------------------------------------------------------------

// What should be alive at every statement but frees, which are in no account.
struct expected {
    const struct account_live *moments;
    uint32_t n, at;
    const char *name;
};

static void expect_statement(void *data, int32_t statement, const int64_t *variables,
                             const struct live_bytes *alive) {
    struct expected *e = data;
    if (e->at == e->n || e->moments[e->at].statement != (uint32_t)statement)
        return;
    const struct account_live *moment = &e->moments[e->at++];
    for (int s = 0; s < N_STATES; s++)
        if (alive->states[s] != moment->states[s])
            fail_msg("%s: at statement %d %ld bytes of %s are alive, not %ld", e->name, statement,
                     (long)alive->states[s], state_names[s], (long)moment->states[s]);
    if (alive->sum != moment->sum)
        fail_msg("%s: at statement %d %ld bytes are alive, not %ld", e->name, statement,
                 (long)alive->sum, (long)moment->sum);
}

// Over time: with up to three microbatches every statement is followed.
static void every_strategy_at_every_statement(void **state) {
    for (int i = 0; i < 2 * N_TINY_STRATEGIES; i++) {
        struct arena arena = {0};
        enum tiny_strategy strategy = (enum tiny_strategy)(i / 2);
        const struct program *program =
            derive(&arena, i % 2 ? FAMILY_LLAMA : FAMILY_GPT2, strategy, 1 + i % 2);
        struct expected expected = {.name = tiny_strategy_names[strategy]};
        expected.moments = account_moments(program, 0, &arena, &expected.n);
        measure(&arena, program, expect_statement, &expected);
        assert_int_equal(expected.at, expected.n);
        arena_free(&arena);
    }
}

static void every_strategy_at_its_peak(void **state) {
    for (int i = 0; i < 3 * N_TINY_STRATEGIES; i++) {
        static const int64_t microbatches[] = {1, 2, 7};
        struct arena arena = {0};
        enum tiny_strategy strategy = (enum tiny_strategy)(i / 3);
        const struct program *program =
            derive(&arena, i % 2 ? FAMILY_LLAMA : FAMILY_GPT2, strategy, microbatches[i % 3]);
        struct live_report report = measure(&arena, program, NULL, NULL);
        const char *flaw = live_flaw(&arena, program, 0, account(program, &arena), &report);
        if (flaw)
            fail_msg("%s with %ld microbatches: %s", tiny_strategy_names[strategy],
                     (long)microbatches[i % 3], flaw);
        arena_free(&arena);
    }
}

static bool check_text(const char *text) {
    struct arena arena = {0};
    struct compiled c;
    derive_text(&c, text);
    bool derived = c.final != NULL;
    if (derived) {
        struct live_report report = measure(&arena, job_only(c.final), NULL, NULL);
        const char *flaw =
            live_flaw(&arena, job_only(c.final), 0, account(job_only(c.final), &arena), &report);
        if (flaw)
            fail_msg("%s, of\n%s", flaw, text);
    }
    arena_free(&c.arena);
    arena_free(&arena);
    return derived;
}

static void random_strategies_at_their_peak(void **state) {
    int n = 0;
    for (uint64_t i = 0; i < (getenv("PLACE_TEST_FULL") ? N_COMPOSITIONS : N_SAMPLED);
         i += (uint64_t)sample_every()) {
        struct arena arena = {0};
        n += check_text(compose(&arena, i * FAMILY_SIZE + i % FAMILY_SIZE, &small_dims).text);
        arena_free(&arena);
    }
    assert_true(n > 0);
}

// In steps that divide none of the numbers by which groups are counted.
static uint32_t groups_stride(void) {
    return getenv("PLACE_TEST_FULL") ? 1 : 5 * (uint32_t)sample_every();
}

static void groups_of_layers_at_their_peak(void **state) {
    for (uint32_t i = 0; i < n_grouped(); i += groups_stride()) {
        struct arena arena = {0};
        assert_true(check_text(grouped(&arena, i)));
        arena_free(&arena);
    }
}

// What is kept of a group's last layer and read by nobody dies in some iterations only, and is freed
// behind all of them; of what is freed behind forward nothing is.
static void groups_of_layers_at_every_statement(void **state) {
    for (uint32_t i = 0; i < n_grouped(); i += groups_stride()) {
        struct arena arena = {0};
        struct compiled c;
        if (grouped_keeps(i))
            continue;
        struct expected expected = {.name = grouped(&arena, i)};
        derive_text(&c, expected.name);
        expected.moments = account_moments(job_only(c.final), 0, &arena, &expected.n);
        measure(&arena, job_only(c.final), expect_statement, &expected);
        assert_int_equal(expected.at, expected.n);
        arena_free(&c.arena);
        arena_free(&arena);
    }
}

// ---- wrong plans ------------------------------------------------------------------------------

// A derived program in which something is planted, and what it was accounted before.
struct planted {
    struct arena arena;
    struct program *program;
    struct account *account;
};

static void plant(struct planted *p, int64_t microbatches) {
    *p = (struct planted){0};
    p->program = derive(&p->arena, FAMILY_LLAMA, TINY_ZERO3, microbatches);
    p->account = account(p->program, &p->arena);
}

static struct buffer *buffer_named(struct planted *p, const char *name) {
    buffer_id id = program_find_buffer(p->program, name);
    assert_int_not_equal(id, NO_ID);
    return &p->program->buffers[id];
}

static void expect_flaw(struct planted *p, const char *begin) {
    struct live_report report = measure(&p->arena, p->program, NULL, NULL);
    const char *flaw = live_flaw(&p->arena, p->program, 0, p->account, &report);
    if (!flaw || strncmp(flaw, begin, strlen(begin)) != 0)
        fail_msg("expected `%s ...`, found %s", begin, flaw ? flaw : "no flaw");
    arena_free(&p->arena);
}

static void overlapping_buffers_show(void **state) {
    struct planted p;
    plant(&p, 1); // both alive from the head's forward to its backward
    buffer_named(&p, "logits")->offset_bytes = buffer_named(&p, "saved.norm.y")->offset_bytes;
    expect_flaw(&p, "bytes alive twice");
    plant(&p, 1); // on what lives from step to step
    buffer_named(&p, "logits")->offset_bytes = 0;
    expect_flaw(&p, "bytes alive twice");
    plant(&p, 1); // two of a stack's items, as with a stride too small
    struct buffer *stack = buffer_named(&p, "saved.mlp.up");
    buffer_named(&p, "saved.mlp.gate")->offset_bytes =
        stack->offset_bytes + buffer_item_bytes(p.program, stack) / 64 * 64;
    expect_flaw(&p, "bytes alive twice");
}

static void a_larger_arena_shows(void **state) {
    struct planted p;
    plant(&p, 1); // behind all buffers
    p.program->arena_bytes[TIER_DEVICE] += 4096;
    p.account = account(p.program, &p.arena);
    expect_flaw(&p, "end of what is alive");
    plant(&p, 1); // between two of them: everything behind what persists moves up
    int64_t base = INT64_MAX;
    for (uint32_t i = 0; i < p.program->n_buffers; i++)
        if (!buffer_is_persistent(&p.program->buffers[i]) &&
            p.program->buffers[i].window_of == NO_ID && p.program->buffers[i].offset_bytes < base)
            base = p.program->buffers[i].offset_bytes;
    for (uint32_t i = 0; i < p.program->n_buffers; i++)
        if (p.program->buffers[i].offset_bytes >= base)
            p.program->buffers[i].offset_bytes += 4096;
    p.program->arena_bytes[TIER_DEVICE] += 4096;
    p.account = account(p.program, &p.arena);
    expect_flaw(&p, "bytes never alive");
    plant(&p, 1); // inside one: an item that no layer uses, at the arena's end
    struct buffer *stack = buffer_named(&p, "saved.mlp.up");
    stack->offset_bytes = p.program->arena_bytes[TIER_DEVICE] / 64 * 64 + 64;
    stack->stacks.list[0].count++;
    p.program->arena_bytes[TIER_DEVICE] = stack->offset_bytes + buffer_bytes(p.program, stack);
    p.account = account(p.program, &p.arena);
    expect_flaw(&p, "end of what is alive");
}

// The statement that frees the buffer, in the training step.
static struct statement *free_of(struct planted *p, const char *name, uint32_t *at) {
    buffer_id id = program_find_buffer(p->program, name);
    struct statement_walk walk = walk_statements(&p->program->steps[STEP_TRAIN].body);
    while (walk_next(&walk))
        for (*at = 0; walk.statement->kind == STATEMENT_FREE && *at < walk.statement->free.n_items;
             (*at)++)
            if (walk.statement->free.items[*at].buffer == id)
                return walk.statement;
    fail_msg("nothing frees %s", name);
    return NULL;
}

static void take_free_out(struct planted *p, const char *name) {
    uint32_t at;
    struct statement *s = free_of(p, name, &at);
    s->free.items[at] = s->free.items[--s->free.n_items];
}

static void missing_and_late_frees_show(void **state) {
    struct planted p;
    plant(&p, 1); // never: what is dead is counted on, to the end of the step
    take_free_out(&p, "clip");
    expect_flaw(&p, "bytes that nothing frees");
    plant(&p, 1); // before the peak
    take_free_out(&p, "embedding.token.gathered.embedding_forward");
    expect_flaw(&p, "alive at most");
    plant(&p, 1); // late: with what another statement frees, behind the backward pass
    uint32_t unused;
    take_free_out(&p, "embedding.token.gathered.embedding_forward");
    struct statement *late = free_of(&p, "loss_sum", &unused);
    late->free.items[late->free.n_items++] =
        reference_to(program_find_buffer(p.program, "embedding.token.gathered.embedding_forward"));
    expect_flaw(&p, "alive at most");
    plant(&p, 2); // in the last of two microbatches only, so that the first's lives on in between
    take_free_out(&p, "logits");
    expect_flaw(&p, "alive at most");
}

static void too_small_accounts_show(void **state) {
    struct planted p;
    for (int s = 0; s < N_STATES; s++) {
        plant(&p, 1);
        p.account->live[TIER_DEVICE].states[s] -= 4;
        p.account->live[TIER_DEVICE].transient += 4;
        expect_flaw(&p, state_names[s]);
    }
    plant(&p, 1);
    p.account->live[TIER_DEVICE].sum -= 4;
    expect_flaw(&p, "alive at most");
    plant(&p, 1);
    p.account->arenas[TIER_DEVICE].peak -= 64;
    expect_flaw(&p, "end of the arena");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_strategy_at_every_statement),
        cmocka_unit_test(every_strategy_at_its_peak),
        cmocka_unit_test(random_strategies_at_their_peak),
        cmocka_unit_test(groups_of_layers_at_their_peak),
        cmocka_unit_test(groups_of_layers_at_every_statement),
        cmocka_unit_test(overlapping_buffers_show),
        cmocka_unit_test(a_larger_arena_shows),
        cmocka_unit_test(missing_and_late_frees_show),
        cmocka_unit_test(too_small_accounts_show),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
