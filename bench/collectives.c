/* Times the collectives of the local transport, alone: ranks are threads, floats, from 1 KiB to 64
 * MiB. Prints a line of each: name, bytes of the whole buffer, microseconds, and microseconds of
 * the limit: the same loops (the same reads, sums and stores of each thread) without a word between
 * the ranks.
 *
 *     bench_collectives RANKS [seconds per line]
 *
 * bench/collectives makes a table of it, beside MPI's. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "runtime/calls.h"
#include "runtime/context.h"
#include "runtime/team.h"
#include "runtime/transport/transport.h"

enum { MOST_RANKS = 64, LARGEST = 64 << 20 };

static const enum place_collective kinds[] = {PLACE_ALL_REDUCE, PLACE_ALL_GATHER,
                                              PLACE_REDUCE_SCATTER, PLACE_ALL_TO_ALL};
enum { KINDS = sizeof kinds / sizeof *kinds };

static struct place_axis axis = {"dp", 1, 1};
static const struct place_group group = {{1, {0}}, "dp", 0};
static struct place_program program = {
    .n_axes = 1, .axes = &axis, .n_groups = 1, .groups = &group, .n_handles = 1};

struct rank {
    struct place_context context;
    pthread_t thread;
    float *from, *to;
};
static struct rank ranks[MOST_RANKS];
static int n_ranks;
static double seconds_per_line = 0.05;
static pthread_barrier_t barrier;

static double now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

/* What one rank gives and gets of a buffer of `bytes` bytes. */
static struct place_piece piece_of(const struct rank *rank, enum place_collective kind,
                                   int64_t bytes) {
    int64_t elements = bytes / 4, chunk = elements / n_ranks;
    return (struct place_piece){rank->from, rank->to,
                                1,          kind == PLACE_ALL_REDUCE ? 0 : chunk,
                                elements,   kind == PLACE_ALL_TO_ALL};
}

static void run(struct rank *rank, enum place_collective kind, int64_t bytes) {
    struct place_piece piece = piece_of(rank, kind, bytes);
    if (place_collective_start(&rank->context, 0, 0, kind, 0, PLACE_F32, PLACE_SUM, 0, 1, &piece) ||
        place_collective_wait(&rank->context, 0, 0)) {
        fprintf(stderr, "%s\n", rank->context.message);
        exit(1);
    }
}

/* ---- the limit --------------------------------------------------------------------------------
 */

struct loop {
    struct collective collective;
    const void *sources[MOST_RANKS];
    struct chunk_copy copy;
    void *to;
    bool streams;
};

static void reduce_tile(void *arguments, int64_t begin, int64_t end, void *workspace) {
    struct loop *loop = arguments;
    collective_reduce(&loop->collective, loop->to, loop->sources, n_ranks, begin, end,
                      loop->streams);
}

static void copy_tile(void *arguments, int64_t begin, int64_t end, void *workspace) {
    chunk_copy_part(&((struct loop *)arguments)->copy, begin, end);
}

enum { GRAIN = 1 << 15 }; /* as in the transport */

static void reduce_chunk(struct rank *rank, struct loop *loop, int64_t chunk, float *to) {
    loop->to = to;
    for (int i = 0; i < n_ranks; i++)
        loop->sources[i] = ranks[i].from + chunk * rank->context.rank;
    team_run(rank->context.team, chunk, GRAIN, reduce_tile, loop);
}

static void copy_chunk(struct rank *rank, struct loop *loop, const float *from, float *to,
                       int64_t chunk) {
    struct chunk_range all = chunk_range_of(1, chunk, 1, 0);
    loop->copy = (struct chunk_copy){(char *)to, (const char *)from, all, all, 4, loop->streams};
    team_run(rank->context.team, chunk, GRAIN, copy_tile, loop);
}

static void run_limit(struct rank *rank, enum place_collective kind, int64_t bytes) {
    struct loop loop = {.collective = {.kind = kind, .dtype = PLACE_F32},
                        .streams = 2 * n_ranks * bytes > sysconf(_SC_LEVEL3_CACHE_SIZE)};
    int64_t chunk = bytes / 4 / n_ranks;
    int32_t own = rank->context.rank;
    if (kind == PLACE_REDUCE_SCATTER)
        reduce_chunk(rank, &loop, chunk, rank->to);
    if (kind == PLACE_ALL_REDUCE)
        reduce_chunk(rank, &loop, chunk, rank->to + own * chunk);
    for (int i = 0; i < n_ranks && kind != PLACE_REDUCE_SCATTER; i++) {
        const float *from = kind == PLACE_ALL_REDUCE   ? ranks[i].to + i * chunk
                            : kind == PLACE_ALL_GATHER ? ranks[i].from
                                                       : ranks[i].from + own * chunk;
        if (kind != PLACE_ALL_REDUCE || i != own)
            copy_chunk(rank, &loop, from, rank->to + i * chunk, chunk);
    }
}

/* ---- timing -----------------------------------------------------------------------------------
 */

typedef void (*body)(struct rank *rank, enum place_collective kind, int64_t bytes);

/* Microseconds of one call, the best of rounds of about a millisecond; all ranks take part, rank 0
 * says when it is enough, and returns the time. */
static double best_us(struct rank *rank, body call, enum place_collective kind, int64_t bytes) {
    static bool enough;
    double best = INFINITY, end = now_us() + seconds_per_line * 1e6;
    int64_t repeats = 1 + 2000000 / bytes;
    do {
        pthread_barrier_wait(&barrier);
        double begin = now_us();
        for (int64_t i = 0; i < repeats; i++)
            call(rank, kind, bytes);
        pthread_barrier_wait(&barrier);
        best = fmin(best, (now_us() - begin) / (double)repeats);
        if (rank->context.rank == 0)
            enough = now_us() > end;
        pthread_barrier_wait(&barrier);
    } while (!enough);
    return best;
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
            double us = best_us(rank, run, kinds[k], bytes);
            double limit = best_us(rank, run_limit, kinds[k], bytes);
            if (rank->context.rank == 0)
                printf("%s %lld %.3f %.3f\n", collective_name(kinds[k]), (long long)bytes, us,
                       limit);
        }
    rank->context.transport->leave(&rank->context);
    return NULL;
}

int main(int argc, char **argv) {
    n_ranks = argc > 1 ? atoi(argv[1]) : 2;
    seconds_per_line = argc > 2 ? atof(argv[2]) : seconds_per_line;
    if (n_ranks < 1 || n_ranks > MOST_RANKS || seconds_per_line <= 0)
        return fprintf(stderr, "usage: %s RANKS [seconds per line]\n", argv[0]), 2;
    axis.size = program.devices = n_ranks;
    struct local_world *world = local_world_new(&program, 0, n_ranks);
    pthread_barrier_init(&barrier, NULL, (unsigned)n_ranks);
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
