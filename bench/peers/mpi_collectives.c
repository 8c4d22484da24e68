/* MPI's own collectives, as bench/collectives.c times ours: a line of each with its name, bytes of
 * the whole buffer, and microseconds.
 *
 *     mpirun -n RANKS bench_collectives_mpi [seconds per line] */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST = 64 << 20, KINDS = 4 };
static const char *const names[KINDS] = {"all_reduce", "all_gather", "reduce_scatter",
                                         "all_to_all"};
static float *from, *to;

static void run(int kind, int elements, int chunk) {
    if (kind == 0)
        MPI_Allreduce(from, to, elements, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    else if (kind == 1)
        MPI_Allgather(from, chunk, MPI_FLOAT, to, chunk, MPI_FLOAT, MPI_COMM_WORLD);
    else if (kind == 2)
        MPI_Reduce_scatter_block(from, to, chunk, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    else
        MPI_Alltoall(from, chunk, MPI_FLOAT, to, chunk, MPI_FLOAT, MPI_COMM_WORLD);
}

/* The best of rounds of about a millisecond; rank 0 says when it is enough. */
static double best_us(int kind, int bytes, int ranks, int rank, double seconds) {
    double best = INFINITY, end = MPI_Wtime() + seconds;
    int repeats = 1 + 2000000 / bytes, go_on = 1;
    while (go_on) {
        MPI_Barrier(MPI_COMM_WORLD);
        double begin = MPI_Wtime();
        for (int i = 0; i < repeats; i++)
            run(kind, bytes / 4, bytes / 4 / ranks);
        MPI_Barrier(MPI_COMM_WORLD);
        best = fmin(best, (MPI_Wtime() - begin) * 1e6 / repeats);
        go_on = rank == 0 && MPI_Wtime() < end;
        MPI_Bcast(&go_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    return best;
}

int main(int argc, char **argv) {
    int ranks, rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double seconds = argc > 1 ? atof(argv[1]) : 0.05;
    from = calloc(1, LARGEST);
    to = calloc(1, LARGEST);
    if (!from || !to)
        MPI_Abort(MPI_COMM_WORLD, 1);
    memset(from, 0, LARGEST);
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
