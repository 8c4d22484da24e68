// The price of a strategy, which is found without a program, is what the account says of the program:
// every row of what is sent, the bytes of each state, and of transients unless gathers start ahead of
// their use, which may take more. Of every example, of random strategies, and of all ways to store the
// states of one model, which share what is found once.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/diagnostic.h"
#include "passes/passes.h"
#include "tests/oracle/compiled.h"
#include "tests/oracle/compose.h"
#include "tests/oracle/variations.h"
#include "tests/sample.h"

enum { N_COMPOSITIONS = 3000, N_SAMPLED = 300 };

// ---- rows -------------------------------------------------------------------------------------

static bool same_row(const struct account_transfer *a, const struct account_transfer *b) {
    return a->kind == b->kind && a->state == b->state && a->role == b->role && a->step == b->step &&
           a->phase == b->phase && a->dtype == b->dtype && axis_list_equal(&a->axes, &b->axes);
}

static bool same_numbers(const struct account_transfer *a, const struct account_transfer *b) {
    return a->group == b->group && a->count == b->count && a->bytes == b->bytes &&
           a->direct_bytes == b->direct_bytes && a->doubling_bytes == b->doubling_bytes &&
           a->n_rings == b->n_rings && a->n_direct == b->n_direct && a->n_doubling == b->n_doubling;
}

static void print_rows(const char *of, const struct mesh *mesh, const struct account_transfer *rows,
                       uint32_t n) {
    struct arena arena = {0};
    for (uint32_t i = 0; i < n; i++) {
        const struct account_transfer *t = &rows[i];
        fprintf(stderr, "  %s: %s over %s, %s %s %s step %d dtype %d: %lld times, %lld bytes\n", of,
                collective_names[t->kind], mesh_axes_text(mesh, &t->axes, &arena),
                t->state < N_STATES ? state_names[t->state] : "scalars", role_names[t->role],
                phase_names[t->phase], t->step, t->dtype, (long long)t->count, (long long)t->bytes);
    }
    arena_free(&arena);
}

// An account goes by the text, in which a gather may stand before a call of another phase than that of
// the one which it is for: phases do not count.
static void join_phases(struct account_transfer *rows, uint32_t *n) {
    uint32_t joined = 0;
    for (uint32_t i = 0; i < *n; i++) {
        struct account_transfer row = rows[i];
        uint32_t k = 0;
        row.phase = PHASE_FORWARD;
        while (k < joined && !same_row(&rows[k], &row))
            k++;
        if (k == joined) {
            rows[joined++] = row;
            continue;
        }
        rows[k].count += row.count;
        rows[k].bytes += row.bytes;
        rows[k].direct_bytes += row.direct_bytes;
        rows[k].doubling_bytes += row.doubling_bytes;
        rows[k].n_rings += row.n_rings;
        rows[k].n_direct += row.n_direct;
        rows[k].n_doubling += row.n_doubling;
    }
    *n = joined;
}

static bool rows_agree(const struct account *account, const struct price *price) {
    bool agree = account->n_transfers == price->n_transfers;
    for (uint32_t i = 0; agree && i < account->n_transfers; i++) {
        bool found = false;
        for (uint32_t k = 0; k < price->n_transfers; k++)
            found |= same_row(&account->transfers[i], &price->transfers[k]) &&
                     same_numbers(&account->transfers[i], &price->transfers[k]);
        agree = found;
    }
    return agree && account->total_bytes == price->total_bytes;
}

// ---- the price of a program -------------------------------------------------------------------

// The FLOP of the updates in a training step, which prices leave out.
static double update_flops(const struct program *program) {
    double flops = 0;
    struct statement_walk walk = walk_statements(&program->steps[STEP_TRAIN].body);
    for (const struct call *call; (call = walk_next_call(&walk));) {
        const struct unit *unit = &program->job->units[call->unit];
        for (uint32_t i = 0; i < unit->n_ops && unit->phase == PHASE_UPDATE; i++)
            flops += op_flops(unit, &unit->ops[i]) * (double)walk_trips(&walk);
    }
    return flops;
}

static int64_t transient_bytes(const struct program *program) {
    int64_t bytes = 0;
    for (uint32_t i = 0; i < program->n_buffers; i++) {
        const struct buffer *buffer = &program->buffers[i];
        if (buffer->class == CLASS_TRANSIENT && buffer->tensor != NO_ID)
            bytes += buffer_bytes(program, buffer);
    }
    return bytes;
}

static const char *disagreement(const struct compiled *c, struct price *price,
                                struct arena *arena) {
    struct account *of = account(job_only(c->final), arena);
    join_phases(of->transfers, &of->n_transfers);
    join_phases(price->transfers, &price->n_transfers);
    int64_t transient = transient_bytes(job_only(c->final));
    int64_t priced = price->gathered_bytes + price->unreduced_bytes;
    if (!rows_agree(of, price)) {
        print_rows("account", &c->config.mesh, of->transfers, of->n_transfers);
        print_rows("price", &c->config.mesh, price->transfers, price->n_transfers);
        return "what is sent";
    }
    for (int state = 0; state < N_STATES; state++)
        if (of->held[state] != price->held[state])
            return arena_format(arena, "%s: %lld in the account, %lld in the price",
                                state_names[state], (long long)of->held[state],
                                (long long)price->held[state]);
    if (price->is_ahead ? transient < priced : transient != priced)
        return arena_format(arena, "transients: %lld in the account, %s%lld in the price",
                            (long long)transient, price->is_ahead ? "at least " : "",
                            (long long)priced);
    struct step_work work = account_work(job_only(c->final));
    double least = 0.5 * (work.flops - update_flops(job_only(c->final)));
    if (price->work.again_flops != work.again_flops || price->work.flops > work.flops ||
        price->work.flops < least || price->work.moved_bytes > work.moved_bytes)
        return "the work of forward and backward";
    for (unsigned axis = 0; axis < c->config.mesh.n_axes; axis++) {
        struct step_time time = account_time(job_only(c->final), of, &c->config.device);
        struct axis_time alone = price_axis_time(&c->config, price, axis);
        if (time.axes[axis].bytes != alone.bytes || time.axes[axis].seconds != alone.seconds)
            return "the time of an axis";
    }
    return NULL;
}

// Twice: what was found once is used again.
static bool check_price(struct pricing *pricing, struct compiled *c, const char *name) {
    struct arena arena = {0};
    const char *wrong = NULL;
    for (int again = 0; again < 2 && !wrong; again++) {
        struct price price;
        struct diagnostics *diagnostics = diagnostics_new(&arena, &c->sources);
        bool priced = pricing_price(pricing, &c->config, diagnostics, &price);
        if (priced != (c->final != NULL))
            wrong = priced ? "priced, though it is refused" : "refused, though it has a program";
        else if (priced)
            wrong = disagreement(c, &price, &arena);
    }
    if (wrong)
        fprintf(stderr, "%s: %s %s\n", name, wrong, first_code(c->diagnostics));
    arena_free(&arena);
    return !wrong;
}

// What has no meaning as a text is no strategy; what ranks of a pipeline hold and send has no price yet.
static bool check_alone(struct compiled *c, const char *name) {
    if (!c->reference || (c->final && c->final->n_programs > 1))
        return true;
    struct pricing *pricing = pricing_new(&c->config);
    bool right = check_price(pricing, c, name);
    pricing_free(pricing);
    return right;
}

// ---- examples and compositions ----------------------------------------------------------------

static void examples_cost_what_their_programs_do(void **state) {
    DIR *folder = opendir("../../examples");
    assert_non_null(folder);
    int n_wrong = 0;
    for (struct dirent *entry; (entry = readdir(folder));) {
        struct arena names = {0};
        struct compiled c;
        if (strstr(entry->d_name, ".place")) {
            derive_file(&c, arena_format(&names, "../../examples/%s", entry->d_name), "../..");
            n_wrong += !check_alone(&c, entry->d_name);
            arena_free(&c.arena);
        }
        arena_free(&names);
    }
    closedir(folder);
    assert_int_equal(n_wrong, 0);
}

static void random_strategies_cost_what_their_programs_do(void **state) {
    int n_wrong = 0, n_programs = 0;
    uint64_t n = getenv("PLACE_TEST_FULL") ? N_COMPOSITIONS : N_SAMPLED;
    for (uint64_t i = 0; i < n; i += (uint64_t)sample_every()) {
        struct arena arena = {0};
        struct compiled c;
        struct composition composition =
            compose(&arena, i * FAMILY_SIZE + i % FAMILY_SIZE, &small_dims);
        derive_text(&c, composition.text);
        n_programs += c.final != NULL;
        n_wrong +=
            !check_alone(&c, arena_format(&arena, "composition.%llu", (unsigned long long)i));
        arena_free(&c.arena);
        arena_free(&arena);
    }
    assert_int_equal(n_wrong, 0);
    assert_true(n_programs > 0);
}

static void groups_of_layers_cost_what_their_programs_do(void **state) {
    int n_wrong = 0;
    uint32_t stride = getenv("PLACE_TEST_FULL") ? 1 : 5 * (uint32_t)sample_every();
    for (uint32_t i = 0; i < n_grouped(); i += stride) {
        struct arena arena = {0};
        struct compiled c;
        const char *text = grouped(&arena, i);
        derive_text(&c, text);
        n_wrong += !check_alone(&c, text);
        arena_free(&c.arena);
        arena_free(&arena);
    }
    assert_int_equal(n_wrong, 0);
}

// ---- one model --------------------------------------------------------------------------------

static const char one_model[] =
    "model tiny : llama { layers = 4  hidden = 64  heads = 4  head_dim = 16  kv_heads = 4  ffn = 96"
    "  vocab = 128 }\n"
    "device core { memory = 1 GiB  compute = 100 GFLOP/s  bandwidth = 20 GB/s }\n"
    "mesh ranks of core { outer = 2 link(1 GB/s, 10 us)  inner = 2 link(10 GB/s, 1 us)"
    "  tp = 2 link(20 GB/s, 1 us)  dp = outer * inner }\n"
    "train { batch = 16  sequence = 32  microbatch = %d  optimizer = adamw(lr = 1e-3)  clip = 1.0 "
    "%s}\n";

// Whether a variation is one of those that are tried.
typedef bool (*sampling)(uint32_t i);

// Every so many, in steps that no list's length divides.
static bool some(uint32_t i) {
    return i % (getenv("PLACE_TEST_FULL") ? 7 : 29 * (uint32_t)sample_every()) == 0;
}

// All ways to store the states, of some ways to divide work.
static bool all_storages(uint32_t i) {
    return i / n_storages() % (11 * (uint32_t)sample_every()) == 0;
}

// All with one pricing.
static void check_variations(int microbatch, const char *training, sampling takes) {
    struct arena first = {0};
    struct compiled of_all;
    const char *head = arena_format(&first, one_model, microbatch, training);
    uint32_t n = n_variations(), n_priced = 0;
    derive_text(&of_all, arena_format(&first, "%s%s", head, variation(&first, 0)));
    struct pricing *pricing = pricing_new(&of_all.config);
    int n_wrong = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!takes(i))
            continue;
        struct arena arena = {0};
        struct compiled c;
        const char *strategy = variation(&arena, i);
        derive_text(&c, arena_format(&arena, "%s%s", head, strategy));
        n_priced += c.final != NULL;
        n_wrong += c.reference && !check_price(pricing, &c, strategy);
        arena_free(&c.arena);
        arena_free(&arena);
    }
    struct pricing_counts counts = pricing_counts(pricing);
    pricing_free(pricing);
    arena_free(&of_all.arena);
    arena_free(&first);
    assert_int_equal(n_wrong, 0);
    if (sample_every() == 1)
        assert_true(counts.outlined < n_priced);
}

static void ways_to_store_cost_what_their_programs_do(void **state) {
    check_variations(2, "", some);
    check_variations(4, "", some);
    check_variations(2, "reproducible = 8 ", some);
    check_variations(2, "precision { reduce = fp64 } ", some);
    check_variations(2, "optimizer.layers[0:2] = sgd(lr = 1e-2, momentum = 0.9) ", some);
    check_variations(2, "precision { parameters = bf16  master = fp32  compute = bf16 } ", some);
    check_variations(2, "precision { gather = bf16  compute = bf16 } ", some);
}

static void what_storages_share_is_the_same_for_all_of_them(void **state) {
    check_variations(2, "", all_storages);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples_cost_what_their_programs_do),
        cmocka_unit_test(random_strategies_cost_what_their_programs_do),
        cmocka_unit_test(groups_of_layers_cost_what_their_programs_do),
        cmocka_unit_test(ways_to_store_cost_what_their_programs_do),
        cmocka_unit_test(what_storages_share_is_the_same_for_all_of_them)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
