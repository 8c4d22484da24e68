// How long the verifier takes about one file, which comes on standard input: "tasks seconds seconds
// bytes", of its pipeline's tasks in all steps of all ranks, of deriving the programs, of the least of some
// proofs, on one core, and what such a proof keeps.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "ir/check.h"
#include "tests/oracle/compiled.h"

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int64_t count_tasks(const struct job *job) {
    int64_t n = 0;
    for (uint32_t i = 0; i < job->n_programs; i++)
        for (int s = 0; s < N_STEPS; s++) {
            struct statement_walk walk = walk_statements(&job->programs[i]->steps[s].body);
            while (walk_next(&walk))
                n += walk.statement->kind == STATEMENT_TASK ? walk_trips(&walk) : 0;
        }
    return n;
}

static char *read_all(struct arena *arena) {
    char *text = NULL;
    uint32_t n = 0, cap = 0;
    for (int c = getchar(); c != EOF; c = getchar())
        ARENA_PUSH(arena, text, n, cap, (char)c);
    ARENA_PUSH(arena, text, n, cap, '\0');
    return text;
}

int main(int argc, char **argv) {
    struct compiled c = {0};
    int rounds = argc > 1 ? atoi(argv[1]) : 3;
    const char *text = read_all(&c.arena);
    double begin = seconds();
    derive_text(&c, text);
    double derived = seconds() - begin, best = 0;
    size_t bytes = 0;
    if (!c.final) {
        diagnostics_print(c.diagnostics, stderr, false);
        return 1;
    }
    for (int i = 0; i < rounds; i++) {
        struct arena arena = {0};
        begin = seconds();
        struct verdict verdict = verify(c.reference, c.final, &arena, c.diagnostics);
        double taken = seconds() - begin;
        CHECK(verdict.kind == VERDICT_ACCEPTED);
        best = i == 0 || taken < best ? taken : best;
        bytes = arena_used_bytes(&arena);
        arena_free(&arena);
    }
    printf("%lld %.6f %.6f %zu\n", (long long)count_tasks(c.final), derived, best, bytes);
    arena_free(&c.arena);
    return 0;
}
