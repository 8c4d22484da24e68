// How many strategies are priced in a second, on one core: of one model and mesh, all that have a program
// of many ways to divide work and to store the states. `price N` goes N times through all of them
// once they are known; configurations are resolved before, as whoever searches makes them himself.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "frontend/frontend.h"
#include "ir/check.h"
#include "ir/diagnostic.h"
#include "passes/passes.h"
#include "tests/oracle/variations.h"

// Llama 3 8B on 64 devices, 8 microbatches.
static const char llama3_8b[] =
    "model llama3_8b : llama { layers = 32  hidden = 4096  heads = 32  head_dim = 128  kv_heads = 8"
    "  ffn = 14336  vocab = 128256 }\n"
    "device h100 { memory = 80 GiB  compute = 67 TFLOP/s  bandwidth = 3.35 TB/s }\n"
    "mesh cluster of h100 { outer = 2 link(50 GB/s, 10 us)  inner = 4 link(50 GB/s, 10 us)"
    "  tp = 8 link(450 GB/s, 1 us)  dp = outer * inner }\n"
    "train { batch = 64  sequence = 4096  microbatch = 1  optimizer = adamw(lr = 3e-4)"
    "  clip = 1.0 }\n";

struct strategies {
    struct config *items;
    uint32_t n, cap;
};

static void resolve(struct arena *arena, struct diagnostics *diagnostics, uint32_t number,
                    struct config *config) {
    const char *text = arena_format(arena, "%s%s", llama3_8b, variation(arena, number));
    uint32_t source;
    struct ast_file file;
    struct frontend_options options = {0};
    bool resolved =
        frontend_read_text(arena, diagnostics, "price.place", text, strlen(text), &source) &&
        frontend_parse(arena, diagnostics, source, &file) &&
        frontend_resolve(arena, diagnostics, &file, &options, config);
    CHECK(resolved);
}

// What is said about those that are refused is forgotten.
static bool price_quietly(struct pricing *pricing, const struct config *config,
                          struct source_files *sources) {
    struct arena arena = {0};
    struct price price;
    bool priced = pricing_price(pricing, config, diagnostics_new(&arena, sources), &price);
    arena_free(&arena);
    return priced;
}

static struct strategies find_strategies(struct arena *arena) {
    struct strategies all = {0};
    struct source_files sources = {0};
    struct diagnostics *diagnostics = diagnostics_new(arena, &sources);
    struct pricing *pricing = NULL;
    for (uint32_t i = 0; i < n_variations(); i++) {
        struct config config;
        resolve(arena, diagnostics, i, &config);
        if (!pricing)
            pricing = pricing_new(arena_copy(arena, &config, sizeof config));
        if (price_quietly(pricing, &config, &sources))
            ARENA_PUSH(arena, all.items, all.n, all.cap, config);
    }
    pricing_free(pricing);
    return all;
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// Returns the seconds that it took; the sum keeps the work from being left out.
static double price_all(struct pricing *pricing, const struct strategies *all, int64_t *sum) {
    struct arena arena = {0};
    struct source_files sources = {0};
    struct diagnostics *diagnostics = diagnostics_new(&arena, &sources);
    double begin = seconds();
    for (uint32_t i = 0; i < all->n; i++) {
        struct price price;
        CHECK(pricing_price(pricing, &all->items[i], diagnostics, &price));
        *sum ^= price.total_bytes;
    }
    double taken = seconds() - begin;
    arena_free(&arena);
    return taken;
}

int main(int argc, char **argv) {
    struct arena arena = {0};
    struct strategies all = find_strategies(&arena);
    int64_t sum = 0;
    int rounds = argc > 1 ? atoi(argv[1]) : 20;
    struct pricing *pricing = pricing_new(&all.items[0]);
    double first = price_all(pricing, &all, &sum), best = first;
    for (int i = 0; i < rounds; i++) {
        double taken = price_all(pricing, &all, &sum);
        best = taken < best ? taken : best;
    }
    printf("%u %llu %.6f %.9f\n", all.n, (unsigned long long)pricing_counts(pricing).outlined,
           first, best);
    fprintf(stderr, "%016llx\n", (unsigned long long)sum);
    pricing_free(pricing);
    arena_free(&arena);
    return 0;
}
