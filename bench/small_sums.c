/* Times an all_reduce of few bytes, from each rank to all others and in rounds of pairs
 * (runtime/transport/doubling.h), in turns. Ranks are threads, or under a launcher its processes.
 * Prints a line: ranks, bytes, microseconds of the one and of the other, each the best of rounds of
 * some calls, for SECONDS and for five rounds at least.
 *
 *     bench_small_sums RANKS BYTES SECONDS
 *     mpirun -n RANKS bench_small_sums RANKS BYTES SECONDS
 *
 * bench/small_sums makes a table of it. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include "bench/arguments.h"
#include "runtime/calls.h"
#include "runtime/clock.h"
#include "runtime/transport/launch.h"
#include "runtime/transport/transport.h"

enum { MOST_RANKS = 64, MOST_BYTES = COLLECTIVE_SMALL_BYTES, FEWEST_ROUNDS = 5, PATIENCE = 60 };
enum form { DIRECT, IN_ROUNDS, FORMS };

static struct place_axis axis = {"dp", 1, 1};
static const struct place_group group = {{1, {0}}, "dp", 0};
static const struct place_part whole = {.end = 1};
static struct place_program program = {.n_parts = 1,
                                       .parts = &whole,
                                       .n_axes = 1,
                                       .axes = &axis,
                                       .n_groups = 1,
                                       .groups = &group,
                                       .n_handles = 1};

struct rank {
    struct place_context context;
    pthread_t thread;
    double values[MOST_BYTES / sizeof(double)];
    int here; /* among the ranks of this process */
};
static struct rank ranks[MOST_RANKS];
static int n_ranks, bytes;
static double seconds_per_line;

static void check(struct rank *rank, int32_t status) {
    if (status) {
        fprintf(stderr, "%s\n", rank->context.message);
        exit(1);
    }
}

/* All ranks meet; all learn what the first says. */
static int meet(struct rank *rank, int said) {
    int all[MOST_RANKS];
    check(rank, rank->context.transport->share(&rank->context, &said, all, sizeof said));
    return all[0];
}

/* Microseconds of one call, as this rank sees it: nobody is done before all have begun. */
static double round_us(struct rank *rank, enum form form) {
    const int repeats = 10 + 1000 / n_ranks;
    struct place_piece piece = {
        rank->values, rank->values, 1, 0, bytes / (int64_t)sizeof(double), 0};
    meet(rank, 0);
    if (rank->here == 0)
        program.direct_members = form == DIRECT ? MOST_RANKS : 0;
    meet(rank, 0);
    double begin = clock_seconds();
    for (int i = 0; i < repeats; i++) {
        check(rank, place_collective_start(&rank->context, 0, 0, PLACE_ALL_REDUCE, 0, PLACE_F64,
                                           PLACE_SUM, 0, 1, &piece));
        check(rank, place_collective_wait(&rank->context, 0, 0));
    }
    return 1e6 * (clock_seconds() - begin) / repeats;
}

static void *rank_main(void *argument) {
    struct rank *rank = argument;
    double best[FORMS] = {INFINITY, INFINITY}, end = 0;
    for (int round = -1, enough = 0; !enough; round++) { /* the first does not count */
        for (enum form form = DIRECT; form < FORMS; form++) {
            double us = round_us(rank, form);
            best[form] = round < 0 ? best[form] : fmin(best[form], us);
        }
        end = round < 0 ? clock_seconds() + seconds_per_line : end;
        enough = meet(rank, round + 1 >= FEWEST_ROUNDS && clock_seconds() > end);
    }
    if (rank->context.rank == 0)
        printf("%d %d %.3f %.3f\n", n_ranks, bytes, best[DIRECT], best[IN_ROUNDS]);
    rank->context.transport->leave(&rank->context);
    return NULL;
}

int main(int argc, char **argv) {
    struct launch launch;
    char message[512];
    if (argc != 4 || !read_count(argv[1], MOST_RANKS, &n_ranks) ||
        !read_count(argv[2], MOST_BYTES, &bytes) || bytes % (int)sizeof(double) ||
        !read_seconds(argv[3], &seconds_per_line))
        return fprintf(stderr, "usage: %s RANKS BYTES SECONDS\n", argv[0]), 2;
    axis.size = program.devices = n_ranks;
    if (launch_find(&program, PATIENCE, &launch, message, sizeof message) != 0)
        return fprintf(stderr, "%s\n", message), 1;
    int here = launch.join ? launch.ranks : n_ranks;
    struct local_world *world = local_world_new(&program, launch.first, here, here);
    for (int i = 0; i < here; i++) {
        ranks[i].here = i;
        ranks[i].context.program = &program;
        context_set_rank(&ranks[i].context, launch.first + i);
        local_join(world, &ranks[i].context);
        if (launch.join)
            launch.join(&ranks[i].context);
    }
    for (int i = 0; i < here; i++)
        pthread_create(&ranks[i].thread, NULL, rank_main, &ranks[i]);
    for (int i = 0; i < here; i++)
        pthread_join(ranks[i].thread, NULL);
    fflush(stdout);
    launch_end(&launch, 0, 1);
    return 0;
}
