/* Collectives between processes: values to the bit, bytes, and that what was started arrives while
 * ranks compute, before any wait. Started by a launcher:
 *
 *     mpirun -n PROCESSES runtime_processes OUTER INNER [SECONDS]
 *
 * The mesh has an axis `a` of OUTER and an axis `b` of INNER devices, dealt out evenly. With
 * SECONDS, that is how long a rank waits when it hears nothing, and collectives are started so
 * slowly that the last comes later than that. Exit status 1 and a message: something is wrong. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "runtime/calls.h"
#include "runtime/team.h"
#include "runtime/transport/launch.h"
#include "runtime/transport/transport.h"
#include "tests/try.h"

enum { RANKS = 8, KINDS = 5, GROUPS = 3, PIECES = 5, FLIGHTS = KINDS * GROUPS, LARGE = 5 };
enum { PATIENCE_SECONDS = 30, LARGE_ELEMENTS = 8 << 20 };

static const struct place_statement statements[] = {{"a.place", 10, 3, "start", 0},
                                                    {"a.place", 20, 3, "wait", 0}};
static struct place_axis axes[2];
static const struct place_group groups[GROUPS] = {
    {{1, {0}}, "a", 0}, {{2, {0, 1}}, "a*b", 0}, {{2, {1, 0}}, "b*a", 0}};
static const struct place_part whole = {.end = 1};
static struct place_program program = {.n_parts = 1,
                                       .parts = &whole,
                                       .n_axes = 2,
                                       .axes = axes,
                                       .n_groups = GROUPS,
                                       .groups = groups,
                                       .n_handles = FLIGHTS,
                                       .message_bytes = INT64_C(64) << 20,
                                       .direct_members = RANKS,
                                       .n_statements = 2,
                                       .statements = statements};

/* What travels together over a group of n: short, packed, direct, padded, in rows. A chunk of a
 * piece has so many elements in `rows` rows; of the last chunk `missing` are padding. */
static const struct form {
    int64_t rows, chunk, missing;
} forms[PIECES] = {{1, 3, 1}, {1, 1500, 0}, {1, 8192, 0}, {1, 8192, 5}, {3, 2000, 0}};

/* One collective of a rank. */
struct trial {
    enum place_collective kind;
    int32_t group;
    struct group members;
    struct place_piece pieces[PIECES];
    float *memory[PIECES][2]; /* a source, a result */
    float *wanted[PIECES];    /* the results */
    int64_t results[PIECES];
    int64_t message_bytes;
};

struct rank {
    struct place_context context;
    pthread_t thread;
    struct trial trials[FLIGHTS];
};
static struct rank ranks[RANKS];
static int32_t n_here;
static int patience_seconds = PATIENCE_SECONDS;

/* Values that a float sums differently in another order. */
static float element(int32_t rank, int64_t index) {
    return 1.0f / (float)(1 + rank * 7 + index % 97) + (float)(rank == 1 ? 1e4 : 0);
}

static float *new_floats(int64_t n) {
    float *floats = calloc((size_t)n, sizeof *floats);
    if (!floats)
        abort();
    return floats;
}

/* ---- what a collective gives, by its definition -----------------------------------------------
 */

/* A member's source, as many elements as it may be long. */
static float *source_of(const struct trial *trial, int32_t i, int32_t place, int64_t elements) {
    int32_t rank = group_member(&program, &trial->members, place);
    float *source = new_floats(elements);
    for (int64_t k = 0; k < elements; k++)
        source[k] = element(rank, k + 1000 * i);
    return source;
}

static void want_sums(struct trial *trial, int32_t i, int64_t whole, int64_t begin, int64_t row,
                      int64_t stride) {
    const void *sources[RANKS] = {0};
    struct collective sum = {.kind = PLACE_ALL_REDUCE, .dtype = PLACE_F32};
    int32_t n = trial->members.size;
    float *all = new_floats(whole);
    for (int32_t k = 0; k < n; k++)
        sources[k] = source_of(trial, i, k, whole);
    collective_reduce(&sum, all, sources, n, 0, trial->pieces[i].valid, false);
    for (int64_t k = 0; k < trial->results[i]; k++)
        trial->wanted[i][k] = all[begin + k / row * stride + k % row];
    for (int32_t k = 0; k < n; k++)
        free((void *)sources[k]);
    free(all);
}

static void want_all(struct trial *trial, int32_t i, int32_t place) {
    free(trial->wanted[i]);
    trial->wanted[i] = source_of(trial, i, place, trial->results[i]);
}

/* Chunks of row elements, one after the other or in rows. */
static void want_chunks(struct trial *trial, int32_t i, int64_t part, int64_t row) {
    int64_t n = trial->members.size, place = trial->members.place;
    bool exchanges = trial->kind == PLACE_ALL_TO_ALL;
    for (int32_t k = 0; k < n; k++) {
        float *source = source_of(trial, i, k, n * part);
        for (int64_t at = 0; at < part; at++) {
            int64_t from = exchanges ? (at / row * n + place) * row + at % row : at;
            trial->wanted[i][(at / row * n + k) * row + at % row] = source[from];
        }
        free(source);
    }
}

static void prepare_piece(struct trial *trial, int32_t i) {
    struct place_piece *piece = &trial->pieces[i];
    int64_t n = trial->members.size, place = trial->members.place;
    bool is_whole = trial->kind == PLACE_ALL_REDUCE || trial->kind == PLACE_PERMUTE;
    struct form form = forms[i];
    if (is_whole)
        form.rows = 1;
    if (trial->kind == PLACE_ALL_TO_ALL)
        form.missing = 0;
    int64_t row = form.chunk, part = form.rows * row, whole = n * part;
    int64_t valid = whole - form.missing;
    bool scatters = trial->kind == PLACE_REDUCE_SCATTER;
    float *src = source_of(trial, i, (int32_t)place, whole);
    /* In place where that is allowed: what is direct is. */
    bool in_place = i == 2 && trial->kind != PLACE_ALL_TO_ALL && trial->kind != PLACE_PERMUTE;
    trial->results[i] = is_whole ? valid : scatters ? part : whole;
    float *dst = new_floats(trial->results[i]);
    trial->memory[i][0] = src;
    trial->memory[i][1] = dst;
    if (in_place && trial->kind == PLACE_ALL_GATHER) {
        memcpy(dst + place * part, src, (size_t)part * sizeof *src);
        src = dst + place * part;
    } else if (in_place) {
        dst = scatters ? src + place * part : src;
    }
    trial->wanted[i] = new_floats(whole);
    *piece = (struct place_piece){src, dst, form.rows, row, valid, form.rows};
    if (trial->kind == PLACE_ALL_REDUCE)
        want_sums(trial, i, whole, 0, valid, 0);
    else if (scatters)
        want_sums(trial, i, whole, place * row, row, n * row);
    else if (trial->kind == PLACE_PERMUTE)
        want_all(trial, i, group_before(&trial->members, 1));
    else
        want_chunks(trial, i, part, row);
    if (trial->kind == PLACE_ALL_GATHER) /* what lies behind the whole is nobody's */
        memcpy(trial->wanted[i] + valid, (float *)trial->memory[i][1] + valid,
               (size_t)form.missing * sizeof *dst);
    int64_t chunk = trial->kind == PLACE_ALL_REDUCE ? (valid + n - 1) / n : part;
    trial->message_bytes += 4 * (trial->kind == PLACE_PERMUTE ? valid : chunk);
}

static void prepare(struct trial *trial, int32_t rank, int32_t number) {
    *trial =
        (struct trial){.kind = (enum place_collective)(number % KINDS), .group = number / KINDS};
    trial->members = group_of(&program, rank, &groups[trial->group].axes);
    for (int32_t i = 0; i < PIECES; i++)
        prepare_piece(trial, i);
}

static void clear(struct trial *trial) {
    for (int32_t i = 0; i < PIECES; i++) {
        free(trial->memory[i][0]);
        free(trial->memory[i][1]);
        free(trial->wanted[i]);
    }
}

/* ---- a rank -----------------------------------------------------------------------------------
 */

static int32_t start(struct place_context *context, int32_t handle, enum place_collective kind,
                     int32_t group, int32_t n, const struct place_piece *pieces) {
    return place_collective_start(context, 0, handle, kind, group, PLACE_F32, PLACE_SUM,
                                  kind == PLACE_PERMUTE, n, pieces);
}

static bool is_there(const struct trial *trial) {
    bool there = true;
    for (int32_t i = 0; i < PIECES; i++)
        there &= memcmp(trial->pieces[i].dst, trial->wanted[i],
                        (size_t)trial->results[i] * sizeof(float)) == 0;
    return there;
}

static void compute_tile(void *arguments, int64_t begin, int64_t end, void *workspace) {
    for (int i = 0; i < 1000; i++)
        __builtin_ia32_pause();
}

/* Nothing but kernels, until all that was started is there. */
static int32_t compute_until_all_is_there(struct rank *rank) {
    time_t end = time(NULL) + PATIENCE_SECONDS;
    for (int32_t i = 0; i < FLIGHTS; i++)
        while (!is_there(&rank->trials[i])) {
            if (time(NULL) > end)
                return context_fail(&rank->context, 0, PLACE_ERROR_HOST,
                                    "%s over %s has not come while the rank computed",
                                    collective_name(rank->trials[i].kind),
                                    groups[rank->trials[i].group].name);
            team_run(rank->context.team, 8, 1, compute_tile, NULL);
        }
    return PLACE_OK;
}

/* All that a group's collectives send. */
static int64_t wanted_bytes(const struct rank *rank, int32_t group) {
    int64_t bytes = 0;
    for (int32_t i = 0; i < FLIGHTS; i++) {
        const struct trial *trial = &rank->trials[i];
        int64_t n = trial->members.size;
        int64_t messages = trial->kind == PLACE_PERMUTE      ? n > 1
                           : trial->kind == PLACE_ALL_REDUCE ? 2 * (n - 1)
                                                             : n - 1;
        bytes += trial->group == group ? messages * trial->message_bytes : 0;
    }
    return bytes;
}

static int32_t start_trial(struct rank *rank, int32_t i) {
    struct trial *trial = &rank->trials[i];
    prepare(trial, rank->context.rank, i);
    return start(&rank->context, i, trial->kind, trial->group, PIECES, trial->pieces);
}

static int32_t wait_for_trial(struct rank *rank, int32_t i) {
    struct trial *trial = &rank->trials[i];
    TRY(place_collective_wait(&rank->context, 1, i));
    if (!is_there(trial))
        return context_fail(&rank->context, 1, PLACE_ERROR_HOST, "%s over %s gave something else",
                            collective_name(trial->kind), groups[trial->group].name);
    return PLACE_OK;
}

/* All at once, which come while the rank computes; waited for in another order. */
static int32_t exchange_ahead(struct rank *rank) {
    for (int32_t i = 0; i < FLIGHTS; i++)
        TRY(start_trial(rank, i));
    TRY(compute_until_all_is_there(rank));
    for (int32_t i = 0; i < FLIGHTS; i++)
        TRY(wait_for_trial(rank, i * 7 % FLIGHTS));
    return PLACE_OK;
}

/* Those over `a`, of which the ones where b is 0 are complete long before those over all, which
 * were started before. */
static int32_t exchange_overtaking(struct rank *rank) {
    if (rank->context.head.coordinates[1] == 1)
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    for (int32_t i = KINDS; i < FLIGHTS; i++)
        TRY(start_trial(rank, i));
    for (int32_t i = 0; i < KINDS; i++) {
        TRY(start_trial(rank, i));
        TRY(wait_for_trial(rank, i));
    }
    for (int32_t i = FLIGHTS; i-- > KINDS;)
        TRY(wait_for_trial(rank, i));
    return PLACE_OK;
}

/* By all but one rank at once, who then wait for the last; that one takes some time for each. */
static int32_t exchange_slowly(struct rank *rank) {
    struct timespec pause = {.tv_nsec = 100000000};
    for (int32_t i = 0; i < FLIGHTS; i++) {
        for (int k = 0; k < patience_seconds && rank->context.rank == 1; k++) {
            nanosleep(&pause, NULL);
            team_run(rank->context.team, 8, 1, compute_tile, NULL);
        }
        TRY(start_trial(rank, i));
    }
    for (int32_t i = FLIGHTS; i-- > 0;)
        TRY(wait_for_trial(rank, i));
    return PLACE_OK;
}

/* What all trials of a group have sent since it was so many bytes. */
static int32_t check_bytes(struct rank *rank, const int64_t *before) {
    struct place_context *context = &rank->context;
    for (int32_t i = 0; i < GROUPS; i++) {
        int64_t sent = context->transport->sent_bytes(context, i) - before[i];
        if (sent != wanted_bytes(rank, i))
            return context_fail(context, 1, PLACE_ERROR_HOST, "over %s: %lld bytes, not %lld",
                                groups[i].name, (long long)sent, (long long)wanted_bytes(rank, i));
    }
    return PLACE_OK;
}

static int32_t exchange_all(struct rank *rank, int32_t (*exchange)(struct rank *)) {
    struct place_context *context = &rank->context;
    int64_t before[GROUPS];
    for (int32_t i = 0; i < GROUPS; i++)
        before[i] = context->transport->sent_bytes(context, i);
    TRY(exchange(rank));
    TRY(check_bytes(rank, before));
    for (int32_t i = 0; i < FLIGHTS; i++)
        clear(&rank->trials[i]);
    return context->transport->share(context, NULL, NULL, 0);
}

/* More than there is room for at once. */
static int32_t exchange_much(struct place_context *context) {
    float *all = new_floats((int64_t)LARGE * LARGE_ELEMENTS);
    int32_t over = 1, status = PLACE_OK;
    for (int64_t i = 0; i < LARGE * (int64_t)LARGE_ELEMENTS; i++)
        all[i] = (float)(i % 1000);
    for (int32_t i = 0; i < LARGE; i++) {
        float *part = all + (int64_t)i * LARGE_ELEMENTS;
        struct place_piece piece = {part, part, 1, 0, LARGE_ELEMENTS, 0};
        TRY(start(context, i, PLACE_ALL_REDUCE, over, 1, &piece));
    }
    for (int32_t i = LARGE; i-- > 0;)
        TRY(place_collective_wait(context, 1, i));
    for (int64_t i = 0; i < LARGE * (int64_t)LARGE_ELEMENTS && !status; i++)
        if (all[i] != (float)(program.devices * (i % 1000)))
            status = context_fail(context, 1, PLACE_ERROR_HOST, "element %lld", (long long)i);
    free(all);
    return status;
}

/* As many bytes in as many pieces, but cut elsewhere: each rank sees that it is not the same. */
static int32_t exchange_mismatched(struct place_context *context) {
    float values[6] = {0};
    int64_t first = 2 + 2 * context->rank;
    int32_t over = 1;
    struct place_piece pieces[2] = {{values, values, 1, 0, first, 0},
                                    {values + first, values + first, 1, 0, 6 - first, 0}};
    TRY(start(context, 0, PLACE_ALL_REDUCE, over, 2, pieces));
    int32_t status = place_collective_wait(context, 1, 0);
    bool told = status == PLACE_ERROR_MISMATCH && strstr(context->message, "size of one");
    if (!told)
        fprintf(stderr, "a mismatch was told as: %s\n", context->message);
    context->status = told ? PLACE_OK : PLACE_ERROR_HOST;
    return told ? PLACE_OK : PLACE_ERROR_HOST;
}

static int32_t exchange(struct rank *rank) {
    if (patience_seconds != PATIENCE_SECONDS)
        return exchange_all(rank, exchange_slowly);
    TRY(exchange_all(rank, exchange_ahead));
    for (int round = 0; round < 3; round++)
        TRY(exchange_all(rank, exchange_overtaking));
    if (program.devices != 2)
        return PLACE_OK;
    TRY(exchange_much(&rank->context));
    return exchange_mismatched(&rank->context);
}

static void go_on(void *context) {
    ((struct place_context *)context)->transport->progress(context);
}

static void *rank_main(void *argument) {
    struct rank *rank = argument;
    struct place_context *context = &rank->context;
    context->team = team_create(2, 64);
    if (!context->team)
        abort();
    team_interleave(context->team, go_on, context);
    exchange(rank);
    context->transport->leave(context);
    return NULL;
}

int main(int argc, char **argv) {
    struct launch launch;
    char message[512];
    axes[0] = (struct place_axis){"a", atoi(argv[1]), atoi(argv[2])};
    axes[1] = (struct place_axis){"b", atoi(argv[2]), 1};
    program.devices = axes[0].size * axes[1].size;
    if (argc > 3)
        patience_seconds = atoi(argv[3]);
    if (launch_find(&program, patience_seconds, &launch, message, sizeof message) != 0 ||
        !launch.join)
        return fprintf(stderr, "no launcher: %s\n", message) > 0;
    n_here = launch.ranks;
    struct local_world *world = local_world_new(&program, launch.first, launch.ranks, launch.ranks);
    for (int32_t i = 0; i < n_here; i++) {
        ranks[i].context.program = &program;
        context_set_rank(&ranks[i].context, launch.first + i);
        local_join(world, &ranks[i].context);
        launch.join(&ranks[i].context);
    }
    for (int32_t i = 0; i < n_here; i++)
        pthread_create(&ranks[i].thread, NULL, rank_main, &ranks[i]);
    int failed = 0;
    for (int32_t i = 0; i < n_here; i++)
        pthread_join(ranks[i].thread, NULL);
    for (int32_t i = 0; i < n_here; i++)
        if (ranks[i].context.status)
            failed = fprintf(stderr, "%s\n", ranks[i].context.message) > 0;
    launch_end(&launch, failed, !failed);
    return failed;
}
