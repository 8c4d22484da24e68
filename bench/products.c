/* What the product library reaches alone: products of given shapes, their operands in the cache if
 * they fit, on as many threads at a time as asked, each with operands of its own.
 *
 *     bench_products SECONDS THREADS
 *
 * Reads a line "m n k transpose_a transpose_b added" for each shape, the last three 0 or 1, and
 * prints a line for it: GFLOP/s of one thread, in the best product of so many seconds, the mean of
 * the threads. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include "bench/arguments.h"
#include "runtime/clock.h"
#include "runtime/product.h"

enum { MOST_THREADS = 4096 };

struct worker {
    pthread_t thread;
    pthread_barrier_t *start;
    struct product product;
    double seconds; /* to go on for */
    double best;    /* seconds of a product */
};

static float *matrix(int64_t elements) {
    float *at = aligned_alloc(64, ((size_t)elements * sizeof *at + 63) / 64 * 64);
    for (int64_t i = 0; i < elements; i++)
        at[i] = (float)(i * 29 % 101) * 1e-3f;
    return at;
}

/* Multiplies until the time is over: longer than asked by one product at most. */
static void *work(void *argument) {
    struct worker *w = argument;
    struct product *p = &w->product;
    float *a = matrix(p->m * p->k), *b = matrix(p->k * p->n), *c = matrix(p->m * p->n);
    p->a = a, p->b = b, p->c = c;
    product_compute(p);
    pthread_barrier_wait(w->start);
    double end = clock_seconds() + w->seconds, begin;
    do {
        begin = clock_seconds();
        product_compute(p);
        w->best = fmin(w->best, clock_seconds() - begin);
    } while (begin < end);
    free(a);
    free(b);
    free(c);
    return NULL;
}

static double gflops_per_s(const struct product *product, int threads, double seconds) {
    struct worker *workers = calloc((size_t)threads, sizeof *workers);
    pthread_barrier_t start;
    pthread_barrier_init(&start, NULL, (unsigned)threads);
    for (int t = 0; t < threads; t++) {
        workers[t] = (struct worker){
            .start = &start, .product = *product, .seconds = seconds, .best = INFINITY};
        pthread_create(&workers[t].thread, NULL, work, &workers[t]);
    }
    double sum = 0, flops = 2.0 * (double)product->m * (double)product->n * (double)product->k;
    for (int t = 0; t < threads; t++) {
        pthread_join(workers[t].thread, NULL);
        sum += 1e-9 * flops / workers[t].best;
    }
    pthread_barrier_destroy(&start);
    free(workers);
    return sum / threads;
}

static int read_product(struct product *p) {
    long long m, n, k;
    *p = (struct product){.dtype = PLACE_F32};
    if (scanf("%lld %lld %lld %d %d %d", &m, &n, &k, &p->transpose_a, &p->transpose_b, &p->beta) !=
        6)
        return 0;
    p->m = m, p->n = n, p->k = k;
    p->lda = p->transpose_a ? m : k, p->ldb = p->transpose_b ? k : n, p->ldc = n;
    return 1;
}

int main(int argc, char **argv) {
    const char *message;
    double seconds;
    int threads;
    if (argc != 3 || !read_seconds(argv[1], &seconds) ||
        !read_count(argv[2], MOST_THREADS, &threads))
        return fprintf(stderr, "usage: %s SECONDS THREADS\n", argv[0]), 2;
    if (product_load(&message) != PLACE_OK) {
        fprintf(stderr, "%s\n", message);
        return 1;
    }
    struct product product;
    while (read_product(&product))
        printf("%.1f\n", gflops_per_s(&product, threads, seconds));
    return 0;
}
