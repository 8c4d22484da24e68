/* The peak that shares of peak are about: fp32 fused multiply-adds with the widest vectors of this
 * CPU, in registers alone, at once on as many threads as asked.
 *
 *     bench_peak SECONDS THREADS...
 *
 * Prints a line for each number of threads: the number, GFLOP/s (of the best block of some
 * milliseconds), and the instructions that were taken. */
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include "bench/arguments.h"
#include "runtime/clock.h"

/* Sums that do not wait for each other: more than latency times units of any CPU so far (4 cycles,
 * 2 units), and few enough for 16 registers. */
enum { CHAINS = 12, ROUNDS = 1 << 19, MOST_THREADS = 4096 };

/* Returns what was summed, so that nothing is optimised away. The sums begin differently, or one
 * would be computed for all of them, and converge: x = 0.999 x + 0.001. */
typedef float (*block)(void);

#define BLOCK(name, target_name, lanes)                                                            \
    __attribute__((target(target_name), noinline)) static float name(void) {                       \
        typedef float vector __attribute__((vector_size(4 * (lanes))));                            \
        vector sums[CHAINS], factor = (vector){0} + 0.999f, summand = (vector){0} + 0.001f;        \
        for (int chain = 0; chain < CHAINS; chain++)                                               \
            sums[chain] = (vector){0} + (float)chain;                                              \
        for (int round = 0; round < ROUNDS; round++)                                               \
            for (int chain = 0; chain < CHAINS; chain++)                                           \
                sums[chain] = sums[chain] * factor + summand;                                      \
        vector sum = sums[0];                                                                      \
        for (int chain = 1; chain < CHAINS; chain++)                                               \
            sum += sums[chain];                                                                    \
        return sum[0];                                                                             \
    }

BLOCK(block_avx512, "avx512f", 16)
BLOCK(block_fma, "avx2,fma", 8)
BLOCK(block_sse, "sse2", 4)

struct peak {
    block run;
    int lanes;
    const char *instructions;
};

static struct peak best_of_cpu(void) {
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f"))
        return (struct peak){block_avx512, 16, "AVX-512"};
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return (struct peak){block_fma, 8, "AVX2, FMA"};
    return (struct peak){block_sse, 4, "SSE2, no FMA"};
}

struct worker {
    pthread_t thread;
    pthread_barrier_t *start;
    block run;
    int blocks;
    double *seconds; /* when each block began, and when it ended */
};

static void *work(void *argument) {
    struct worker *w = argument;
    volatile float sink;
    for (int i = 0; i < w->blocks; i++) {
        pthread_barrier_wait(w->start);
        w->seconds[2 * i] = clock_seconds();
        sink = w->run();
        w->seconds[2 * i + 1] = clock_seconds();
    }
    (void)sink;
    return NULL;
}

/* Seconds that all threads together took for a block: from the first start to the last end, in the
 * best block. */
static double best_block_seconds(const struct worker *workers, int threads) {
    double best = INFINITY;
    for (int i = 0; i < workers[0].blocks; i++) {
        double begin = INFINITY, end = 0;
        for (int t = 0; t < threads; t++) {
            begin = fmin(begin, workers[t].seconds[2 * i]);
            end = fmax(end, workers[t].seconds[2 * i + 1]);
        }
        best = fmin(best, end - begin);
    }
    return best;
}

static double gflops_per_s(const struct peak *peak, int threads, int blocks) {
    struct worker *workers = calloc((size_t)threads, sizeof *workers);
    pthread_barrier_t start;
    pthread_barrier_init(&start, NULL, (unsigned)threads);
    for (int t = 0; t < threads; t++) {
        workers[t] = (struct worker){.start = &start, .run = peak->run, .blocks = blocks};
        workers[t].seconds = calloc((size_t)blocks, 2 * sizeof *workers[t].seconds);
        pthread_create(&workers[t].thread, NULL, work, &workers[t]);
    }
    for (int t = 0; t < threads; t++)
        pthread_join(workers[t].thread, NULL);
    double seconds = best_block_seconds(workers, threads);
    for (int t = 0; t < threads; t++)
        free(workers[t].seconds);
    free(workers);
    pthread_barrier_destroy(&start);
    return 2.0 * ROUNDS * CHAINS * peak->lanes * threads / seconds * 1e-9;
}

static bool read_arguments(int argc, char **argv, double *seconds, int *threads) {
    bool right = argc > 2 && read_seconds(argv[1], seconds);
    for (int i = 2; i < argc && right; i++)
        right = read_count(argv[i], MOST_THREADS, &threads[i - 2]);
    return right;
}

int main(int argc, char **argv) {
    double seconds;
    int *threads = calloc((size_t)argc, sizeof *threads);
    if (!read_arguments(argc, argv, &seconds, threads))
        return fprintf(stderr, "usage: %s SECONDS THREADS...\n", argv[0]), 2;
    struct peak peak = best_of_cpu();
    double start = clock_seconds();
    volatile float warm = peak.run();
    (void)warm;
    double block_seconds = clock_seconds() - start;
    int blocks = (int)(seconds / block_seconds) + 1;
    for (int i = 0; i < argc - 2; i++)
        printf("%d %.1f %s\n", threads[i], gflops_per_s(&peak, threads[i], blocks),
               peak.instructions);
    free(threads);
    return 0;
}
