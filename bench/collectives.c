/* Times the collectives of the local transport, alone: ranks are threads, from 1 KiB to 64 MiB.
 * Prints a line of each: name, bytes of the whole buffer, microseconds, and microseconds of the
 * limit: the same loops (the same reads, sums and stores: every thread its rank's portion) without
 * a word between the ranks. Rounds of both take turns, so that both meet the same machine: for
 * SECONDS, and for five rounds at least.
 *
 *     bench_collectives RANKS TYPE SECONDS
 *
 * bench/collectives makes a table of it, beside MPI's. */
#define _GNU_SOURCE
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bench/arguments.h"
#include "ir/limits.h"
#include "runtime/calls.h"
#include "runtime/clock.h"
#include "runtime/context.h"
#include "runtime/cores.h"
#include "runtime/team.h"
#include "runtime/transport/portion.h"
#include "runtime/transport/transport.h"

enum { MOST_RANKS = 64, LARGEST = 64 << 20, FEWEST_ROUNDS = 5 };

static const enum place_collective kinds[] = {PLACE_ALL_REDUCE, PLACE_ALL_GATHER,
                                              PLACE_REDUCE_SCATTER, PLACE_ALL_TO_ALL};
enum { KINDS = sizeof kinds / sizeof *kinds };

static const struct type {
    const char *word;
    enum place_dtype dtype;
} types[] = {{"fp32", PLACE_F32}, {"fp64", PLACE_F64}, {"bf16", PLACE_BF16}, {"fp16", PLACE_F16}};
enum { TYPES = sizeof types / sizeof *types };
static const struct type *type;

static struct place_axis axis = {"dp", 1, 1};
static const struct place_group group = {{1, {0}}, "dp", 0};
static const struct place_part whole = {.end = 1};
static struct place_program program = {
    .n_parts = 1,
    .parts = &whole,
    .n_axes = 1,
    .axes = &axis,
    .n_groups = 1,
    .groups = &group,
    .n_handles = 1,
    .direct_members = LIMIT_DIRECT_MEMBERS,
};

struct rank {
    struct place_context context;
    pthread_t thread;
    char *from, *to;
    _Atomic int64_t sent_bytes[MOST_RANKS];
    double begin, end; /* seconds, of its last round */
};
static struct rank ranks[MOST_RANKS];
static int n_ranks;
static int cores;
static int64_t cached_bytes;
static double seconds_per_line;

/* What one rank gives and gets of a buffer of `bytes` bytes. */
static struct place_piece piece_of(const struct rank *rank, enum place_collective kind,
                                   int64_t bytes) {
    int64_t elements = bytes / dtype_size(type->dtype), chunk = elements / n_ranks;
    return (struct place_piece){rank->from, rank->to,
                                1,          kind == PLACE_ALL_REDUCE ? 0 : chunk,
                                elements,   kind == PLACE_ALL_TO_ALL};
}

static void run(struct rank *rank, enum place_collective kind, int64_t bytes) {
    struct place_piece piece = piece_of(rank, kind, bytes);
    if (place_collective_start(&rank->context, 0, 0, kind, 0, type->dtype, PLACE_SUM, 0, 1,
                               &piece) ||
        place_collective_wait(&rank->context, 0, 0)) {
        fprintf(stderr, "%s\n", rank->context.message);
        exit(1);
    }
}

/* All ranks meet, running: they spin, where they do not outnumber the cores, since a rank that is
 * woken up by the system comes late. */
static void meet(void) {
    static _Atomic int arrivals;
    int before = atomic_fetch_add(&arrivals, 1), all = before - before % n_ranks + n_ranks;
    while (atomic_load_explicit(&arrivals, memory_order_acquire) < all)
        if (n_ranks <= cores)
            __builtin_ia32_pause();
        else
            sched_yield();
}

/* ---- the limit --------------------------------------------------------------------------------
 */

static void run_limit(struct rank *rank, enum place_collective kind, int64_t bytes) {
    struct place_piece piece = piece_of(rank, kind, bytes);
    struct collective collective = {
        .kind = kind, .dtype = type->dtype, .n_pieces = 1, .pieces = &piece};
    const void *sources[MOST_RANKS];
    void *results[MOST_RANKS];
    for (int i = 0; i < n_ranks; i++) {
        sources[i] = ranks[i].from;
        results[i] = ranks[i].to;
    }
    struct portions portions = {
        .collective = &collective,
        .n = n_ranks,
        .sources = sources,
        .results = results,
        .sent_bytes = rank->sent_bytes,
        .streams = portions_bytes(&collective, n_ranks) > cached_bytes,
    };
    for (int64_t i = 0; i < portion_tiles(&collective, n_ranks); i++)
        portion_do_tile(&portions, rank->context.rank, i);
}

/* ---- timing -----------------------------------------------------------------------------------
 */

typedef void (*body)(struct rank *rank, enum place_collective kind, int64_t bytes);

/* The time of one call, from where the first rank begins to where the last ends: where ranks
 * outnumber the cores, each sees only a part of the others' time. */
static double round_us(struct rank *rank, body call, enum place_collective kind, int64_t bytes) {
    int64_t repeats = 1 + 2000000 / bytes;
    meet();
    rank->begin = clock_seconds();
    for (int64_t i = 0; i < repeats; i++)
        call(rank, kind, bytes);
    rank->end = clock_seconds();
    meet();
    double begin = INFINITY, end = 0;
    for (int i = 0; i < n_ranks; i++) {
        begin = fmin(begin, ranks[i].begin);
        end = fmax(end, ranks[i].end);
    }
    meet(); /* nobody begins another round while these are read */
    return 1e6 * (end - begin) / (double)repeats;
}

/* Microseconds of one call, and of the limit: the best of rounds of about a millisecond, or of
 * one call where that takes longer. The first round does not count. All ranks take part, rank 0
 * says when it is enough. */
static void best_us(struct rank *rank, enum place_collective kind, int64_t bytes, double best[2]) {
    static bool enough;
    round_us(rank, run, kind, bytes);
    round_us(rank, run_limit, kind, bytes);
    double end = clock_seconds() + seconds_per_line;
    best[0] = best[1] = INFINITY;
    int rounds = 0;
    do {
        best[0] = fmin(best[0], round_us(rank, run, kind, bytes));
        best[1] = fmin(best[1], round_us(rank, run_limit, kind, bytes));
        if (rank->context.rank == 0)
            enough = ++rounds >= FEWEST_ROUNDS && clock_seconds() > end;
        meet();
    } while (!enough);
}

static void *rank_main(void *argument) {
    struct rank *rank = argument;
    rank->context.team = team_create(1, 0);
    rank->from = aligned_alloc(4096, LARGEST);
    rank->to = aligned_alloc(4096, LARGEST);
    if (!rank->context.team || !rank->from || !rank->to) {
        fprintf(stderr, "no memory for %d ranks\n", n_ranks);
        exit(1);
    }
    memset(rank->from, 0, LARGEST); /* the pages are there before anybody reads */
    memset(rank->to, 0, LARGEST);
    for (int k = 0; k < KINDS; k++)
        for (int64_t bytes = 1 << 10; bytes <= LARGEST; bytes *= 4) {
            double best[2];
            best_us(rank, kinds[k], bytes, best);
            if (rank->context.rank == 0)
                printf("%s %lld %.3f %.3f\n", collective_name(kinds[k]), (long long)bytes, best[0],
                       best[1]);
        }
    rank->context.transport->leave(&rank->context);
    return NULL;
}

static const struct type *type_of(const char *word) {
    for (int i = 0; i < TYPES; i++)
        if (strcmp(types[i].word, word) == 0)
            return &types[i];
    return NULL;
}

int main(int argc, char **argv) {
    type = argc == 4 ? type_of(argv[2]) : NULL;
    if (!type || !read_count(argv[1], MOST_RANKS, &n_ranks) ||
        !read_seconds(argv[3], &seconds_per_line))
        return fprintf(stderr, "usage: %s RANKS fp32|fp64|bf16 SECONDS\n", argv[0]), 2;
    cores = available_cores();
    cached_bytes = portions_cached_bytes();
    axis.size = program.devices = n_ranks;
    struct local_world *world = local_world_new(&program, 0, n_ranks, n_ranks);
    for (int i = 0; i < n_ranks; i++) {
        ranks[i].context.program = &program;
        context_set_rank(&ranks[i].context, i);
        local_join(world, &ranks[i].context);
        pthread_create(&ranks[i].thread, NULL, rank_main, &ranks[i]);
    }
    for (int i = 0; i < n_ranks; i++)
        pthread_join(ranks[i].thread, NULL);
    local_world_free(world);
    return 0;
}
