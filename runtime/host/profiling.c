/* The table of a profile, and who has one (see profiling.h). */
#include <stdio.h>
#include <stdlib.h>
#include "runtime/host/columns.h"
#include "runtime/host/profiling.h"
#include "runtime/host/trace.h"
#include "runtime/profile.h"
#include "runtime/team.h"
#include "runtime/transport/transport.h"

enum {
    SPANS_PER_THREAD = 1 << 15, /* some tens of steps of a small model; 0.8 MB */
    LONGEST_STATEMENTS = 12,
};

int32_t profiling_begin(const struct session *session, struct place_context *context) {
    const struct place_run_options *options = session->options;
    if (!options->profile && !options->trace)
        return PLACE_OK;
    struct profile *profile = profile_new(session->program, team_threads(context->team),
                                          options->trace ? SPANS_PER_THREAD : 0);
    if (!profile)
        return context_fail(context, -1, PLACE_ERROR_HOST, "no memory for a profile");
    context->recorder.profile = profile;
    team_profile(context->team, profile);
    return PLACE_OK;
}

void profiling_end(struct place_context *context) {
    struct profile *profile = context->recorder.profile;
    context->recorder.profile = NULL;
    team_profile(context->team, NULL);
    profile_free(profile);
}

bool profiling_counts_step(const struct session *session, int64_t step) {
    int64_t first = session->resumption.manifest.step + 1; /* touches memory for the first time */
    return step > first || session->options->steps == first;
}

/* ---- one rank ------------------------------------------------------------------------------- */

/* Milliseconds of a step. What generated code does between calls is the schedule's. */
struct rank_shares {
    double works[N_WORKS], hidden, step;
};

static double total_ticks(const struct profile *profile, int32_t statement, enum work work) {
    double ticks = 0;
    for (int32_t call = 0; call < N_RECORDED; call++)
        if (work_of_call(call) == work)
            ticks += (double)profile_total(profile, statement, call)->ticks;
    return ticks;
}

static struct rank_shares shares_of(const struct profile *profile, double ticks_per_ms) {
    struct rank_shares shares = {.hidden = (double)profile->hidden,
                                 .step = (double)profile->step_ticks};
    double in_calls = 0;
    for (int work = 0; work < N_WORKS; work++) {
        for (int32_t i = -1; i < profile->program->n_statements; i++)
            shares.works[work] += total_ticks(profile, i, (enum work)work);
        in_calls += shares.works[work];
    }
    shares.works[WORK_SCHEDULE] += shares.step - in_calls;
    double scale = profile->steps ? 1 / (ticks_per_ms * (double)profile->steps) : 0;
    for (int work = 0; work < N_WORKS; work++)
        shares.works[work] *= scale;
    shares.hidden *= scale;
    shares.step *= scale;
    return shares;
}

/* ---- tables --------------------------------------------------------------------------------- */

/* One member of every rank's shares, given by its place in rank_shares. */
static void print_row(const char *name, const struct rank_shares *all, int64_t ranks,
                      size_t member) {
    double mean = 0, most = 0, step = 0;
    for (int64_t i = 0; i < ranks; i++) {
        double ms = *(const double *)((const char *)&all[i] + member);
        mean += ms / (double)ranks;
        most = ms > most ? ms : most;
        step += all[i].step / (double)ranks;
    }
    printf("  %-32s %10.3f %10.3f %8.1f %%\n", name, mean, most, step > 0 ? 100 * mean / step : 0);
}

static void print_shares(const struct rank_shares *all, int64_t ranks, uint64_t steps) {
    printf("\nwhere a step's time goes, ms, mean of %llu step%s\n", (unsigned long long)steps,
           plural_s((int64_t)steps));
    printf("  %-32s %10s %10s %10s\n", "", "mean rank", "most", "share");
    for (size_t work = 0; work < N_WORKS; work++) {
        print_row(work_names[work], all, ranks,
                  offsetof(struct rank_shares, works) + work * sizeof(double));
        if (work == WORK_COLLECTIVE_WAITING)
            print_row("  hidden (not in the step)", all, ranks,
                      offsetof(struct rank_shares, hidden));
    }
    print_row("step", all, ranks, offsetof(struct rank_shares, step));
}

/* ---- tasks ---------------------------------------------------------------------------------- */

/* One kind of task of one stage, over all ranks that have it. */
static void print_task(const struct place_program *program, const struct profile_total *all,
                       int32_t stage, int letter, double ticks_per_ms, double steps) {
    size_t n = (size_t)program->n_stages * N_TASK_LETTERS;
    struct profile_total sum = {0};
    double ranks = 0;
    for (int64_t rank = 0; rank < program->devices; rank++) {
        const struct profile_total *one =
            &all[(size_t)rank * n + (size_t)stage * N_TASK_LETTERS + (size_t)letter];
        ranks += one->calls > 0;
        sum.calls += one->calls;
        sum.ticks += one->ticks;
    }
    if (sum.calls)
        printf("  %8d %8c %10.0f %10.3f\n", stage, TASK_LETTERS[letter],
               (double)sum.calls / (steps * ranks),
               (double)sum.ticks / (ticks_per_ms * (double)sum.calls));
}

static void print_tasks(const struct place_program *program, const struct profile_total *all,
                        double ticks_per_ms, uint64_t steps) {
    printf("\nthe tasks of a pipeline: how many a step has, ms of one without waiting\n"
           "  %8s %8s %10s %10s\n",
           "stage", "task", "times", "ms");
    for (int32_t stage = 0; stage < program->n_stages; stage++)
        for (int letter = 0; letter < N_TASK_LETTERS; letter++)
            print_task(program, all, stage, letter, ticks_per_ms, (double)steps);
}

/* Every rank tells, the first one prints. */
static int32_t report_tasks(struct place_context *context, bool prints, double ticks_per_ms) {
    const struct profile *profile = context->recorder.profile;
    const struct place_program *program = context->program;
    size_t bytes = (size_t)program->n_stages * N_TASK_LETTERS * sizeof *profile->tasks;
    if (bytes == 0)
        return PLACE_OK;
    struct profile_total *all = malloc((size_t)program->devices * bytes);
    int32_t status = all ? host_share(context, profile->tasks, all, bytes)
                         : context_fail(context, -1, PLACE_ERROR_HOST, "no memory for a profile");
    if (!status && prints)
        print_tasks(program, all, ticks_per_ms, profile->steps);
    free(all);
    return status;
}

/* ---- statements and products ---------------------------------------------------------------- */

struct long_statement {
    int32_t statement;
    uint64_t ticks, calls;
};

static int by_ticks(const void *a, const void *b) {
    uint64_t x = ((const struct long_statement *)a)->ticks;
    uint64_t y = ((const struct long_statement *)b)->ticks;
    return (x < y) - (x > y);
}

static void print_statements(const struct place_context *context, double ticks_per_ms) {
    const struct profile *profile = context->recorder.profile;
    int32_t n = profile->program->n_statements;
    struct long_statement *rows = calloc((size_t)n + 1, sizeof *rows);
    if (!rows)
        return;
    for (int32_t i = 0; i < n; i++) {
        rows[i].statement = i;
        for (int32_t call = 0; call < N_RECORDED; call++) {
            const struct profile_total *total = profile_total(profile, i, call);
            rows[i].ticks += total->ticks;
            rows[i].calls = total->calls > rows[i].calls ? total->calls : rows[i].calls;
        }
    }
    qsort(rows, (size_t)n, sizeof *rows, by_ticks);
    printf("\nthe longest statements of rank %d\n  %10s %10s\n", context->rank, "ms a step",
           "times");
    double steps = profile->steps ? (double)profile->steps : 1;
    for (int32_t i = 0; i < n && i < LONGEST_STATEMENTS && rows[i].ticks; i++) {
        char where[256];
        context_describe_statement(profile->program, rows[i].statement, where, sizeof where);
        int column = printf("  %10.3f %10.0f  ", (double)rows[i].ticks / (ticks_per_ms * steps),
                            (double)rows[i].calls / steps);
        print_words(stdout, where, column);
    }
    free(rows);
}

/* Products of one shape, whichever statements make them. */
struct product_row {
    struct profile_product product;
    uint64_t ticks, calls;
};

static bool same_product(const struct profile_product *a, const struct profile_product *b) {
    return a->m == b->m && a->n == b->n && a->k == b->k && a->transpose_a == b->transpose_a &&
           a->transpose_b == b->transpose_b && a->added == b->added;
}

static int product_by_ticks(const void *a, const void *b) {
    uint64_t x = ((const struct product_row *)a)->ticks;
    uint64_t y = ((const struct product_row *)b)->ticks;
    return (x < y) - (x > y);
}

/* Adds what the statement's products took to the row of their shape. Returns how many rows there
 * are. */
static int32_t add_products(const struct profile *profile, int32_t statement,
                            struct product_row *rows, int32_t n) {
    struct profile_product product = profile_product_of(profile, statement);
    if (product.m == 0)
        return n;
    int32_t at = 0;
    while (at < n && !same_product(&rows[at].product, &product))
        at++;
    rows[at].product = product;
    for (int32_t call = 0; call < N_RECORDED; call++)
        if (work_of_call(call) == WORK_PRODUCT) {
            rows[at].ticks += profile_total(profile, statement, call)->ticks;
            rows[at].calls += profile_total(profile, statement, call)->calls;
        }
    return at == n ? n + 1 : n;
}

static void print_product(const struct product_row *row, double ms, double times) {
    const struct profile_product *p = &row->product;
    double flops = 2.0 * (double)p->m * (double)p->n * (double)p->k * times;
    printf("  %10.3f %10.0f %10.1f  %lld x %lld x %lld%s%s%s\n", ms, times, 1e-6 * flops / ms,
           (long long)p->m, (long long)p->n, (long long)p->k,
           p->transpose_a ? ", a transposed" : "", p->transpose_b ? ", b transposed" : "",
           p->added ? ", added" : "");
}

static void print_products(const struct place_context *context, double ticks_per_ms) {
    const struct profile *profile = context->recorder.profile;
    int32_t n_statements = profile->program->n_statements, n = 0;
    struct product_row *rows = calloc((size_t)n_statements + 1, sizeof *rows);
    if (!rows)
        return;
    for (int32_t i = -1; i < n_statements; i++)
        n = add_products(profile, i, rows, n);
    qsort(rows, (size_t)n, sizeof *rows, product_by_ticks);
    printf("\nthe products of rank %d: c, m x n, of a, m x k, and b\n  %10s %10s %10s  m x n x k\n",
           context->rank, "ms a step", "times", "GFLOP/s");
    double steps = profile->steps ? (double)profile->steps : 1;
    for (int32_t i = 0; i < n && rows[i].ticks; i++)
        print_product(&rows[i], (double)rows[i].ticks / (ticks_per_ms * steps),
                      (double)rows[i].calls / steps);
    free(rows);
}

int32_t profiling_report(const struct session *session, struct place_context *context) {
    const struct profile *profile = context->recorder.profile;
    if (!profile)
        return PLACE_OK;
    int64_t ranks = session->program->devices;
    double ticks_per_ms = 1e-3 * clock_ticks_per_second();
    struct rank_shares mine = shares_of(profile, ticks_per_ms),
                       *all = calloc((size_t)ranks, sizeof *all);
    int32_t status = all ? host_share(context, &mine, all, sizeof mine)
                         : context_fail(context, -1, PLACE_ERROR_HOST, "no memory for a profile");
    bool prints = !status && context->rank == 0 && session->options->profile;
    if (prints && profile->steps == 0)
        printf("\nwhere a step's time goes: no step was made\n");
    prints = prints && profile->steps > 0;
    if (prints)
        print_shares(all, ranks, profile->steps);
    if (!status)
        status = report_tasks(context, prints, ticks_per_ms);
    if (prints && !status) {
        print_statements(context, ticks_per_ms);
        print_products(context, ticks_per_ms);
    }
    free(all);
    if (!status && session->options->trace)
        status = trace_write(context, session->options->trace, 1e-3 * ticks_per_ms);
    return status;
}
