/* MPI's own collectives, as bench/collectives.c times ours: a line of each with its name, bytes of
 * the whole buffer, and microseconds. MPI has no bf16, so its sum is an operation of ours there.
 *
 *     mpirun -n RANKS bench_collectives_mpi TYPE SECONDS */
#include <math.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bench/arguments.h"
#include "runtime/clock.h"

enum { LARGEST = 64 << 20, KINDS = 4, FEWEST_ROUNDS = 5 };
static const char *const names[KINDS] = {"all_reduce", "all_gather", "reduce_scatter",
                                         "all_to_all"};
static char *from, *to;
static MPI_Datatype type;
static MPI_Op sum;
static int element_bytes;

static float single_of(uint16_t upper_half) {
    uint32_t bits = (uint32_t)upper_half << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void add_bf16(void *more, void *sums, int *count, MPI_Datatype *words) {
    const uint16_t *a = more;
    uint16_t *b = sums;
    for (int i = 0; i < *count; i++) {
        float both = single_of(a[i]) + single_of(b[i]);
        uint32_t bits;
        memcpy(&bits, &both, sizeof bits);
        b[i] = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    }
}

static bool is_type(const char *word) {
    return strcmp(word, "fp32") == 0 || strcmp(word, "fp64") == 0 || strcmp(word, "bf16") == 0;
}

static void choose_type(const char *word) {
    bool is_bf16 = strcmp(word, "bf16") == 0;
    type = is_bf16 ? MPI_UINT16_T : strcmp(word, "fp64") == 0 ? MPI_DOUBLE : MPI_FLOAT;
    MPI_Type_size(type, &element_bytes);
    sum = MPI_SUM;
    if (is_bf16)
        MPI_Op_create(add_bf16, 1, &sum);
}

static void run(int kind, int elements, int chunk) {
    if (kind == 0)
        MPI_Allreduce(from, to, elements, type, sum, MPI_COMM_WORLD);
    else if (kind == 1)
        MPI_Allgather(from, chunk, type, to, chunk, type, MPI_COMM_WORLD);
    else if (kind == 2)
        MPI_Reduce_scatter_block(from, to, chunk, type, sum, MPI_COMM_WORLD);
    else
        MPI_Alltoall(from, chunk, type, to, chunk, type, MPI_COMM_WORLD);
}

/* The time of one call, from where the first rank begins to where the last ends; all on one
 * machine, by its clock. */
static double round_us(int kind, int bytes, int ranks) {
    int repeats = 1 + 2000000 / bytes;
    double span[2], of_all[2];
    MPI_Barrier(MPI_COMM_WORLD);
    span[0] = -clock_seconds();
    for (int i = 0; i < repeats; i++)
        run(kind, bytes / element_bytes, bytes / element_bytes / ranks);
    span[1] = clock_seconds();
    MPI_Allreduce(span, of_all, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return 1e6 * (of_all[0] + of_all[1]) / repeats;
}

/* The best of rounds of about a millisecond, or of one call where that takes longer, behind one
 * that does not count; rank 0 says when it is enough. */
static double best_us(int kind, int bytes, int ranks, int rank, double seconds) {
    round_us(kind, bytes, ranks);
    double best = INFINITY, end = clock_seconds() + seconds;
    int enough = 0, rounds = 0;
    while (!enough) {
        best = fmin(best, round_us(kind, bytes, ranks));
        enough = ++rounds >= FEWEST_ROUNDS && clock_seconds() > end;
        MPI_Bcast(&enough, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    return best;
}

int main(int argc, char **argv) {
    int ranks, rank;
    double seconds;
    if (argc != 3 || !is_type(argv[1]) || !read_seconds(argv[2], &seconds))
        return fprintf(stderr, "usage: %s fp32|fp64|bf16 SECONDS\n", argv[0]), 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    choose_type(argv[1]);
    from = aligned_alloc(4096, LARGEST);
    to = aligned_alloc(4096, LARGEST);
    if (!from || !to)
        MPI_Abort(MPI_COMM_WORLD, 1);
    memset(from, 0, LARGEST); /* the pages are there before anybody reads */
    memset(to, 0, LARGEST);
    for (int kind = 0; kind < KINDS; kind++)
        for (int bytes = 1 << 10; bytes <= LARGEST; bytes *= 4) {
            double us = best_us(kind, bytes, ranks, rank, seconds);
            if (rank == 0)
                printf("%s %d %.3f\n", names[kind], bytes, us);
        }
    MPI_Finalize();
    return 0;
}
