/* What the tests of the local transport share: a mesh of ranks that are threads, each of which runs
 * a test's body, and what came of it. */
#pragma once
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "runtime/calls.h"
#include "runtime/team.h"
#include "runtime/transport/transport.h"

enum { RANKS = 34, HANDLES = 300 };

static const struct place_statement statements[] = {{"a.place", 10, 3, "first", 0},
                                                    {"a.place", 20, 3, "second", 0},
                                                    {"a.place", 30, 3, "third", 0}};
static struct place_axis axes[2];
enum { OVER_A, OVER_B, OVER_AB, OVER_BA, N_GROUPS };
static const struct place_group groups[N_GROUPS] = {
    {{1, {0}}, "a", 0}, {{1, {1}}, "b", 0}, {{2, {0, 1}}, "a*b", 0}, {{2, {1, 0}}, "b*a", 0}};
static const struct place_part whole = {.end = 1};
static struct place_program program = {.n_parts = 1,
                                       .parts = &whole,
                                       .axes = axes,
                                       .n_groups = N_GROUPS,
                                       .groups = groups,
                                       .n_handles = HANDLES,
                                       .direct_members = RANKS,
                                       .n_statements = 3,
                                       .statements = statements};

static inline void set_mesh(int outer, int inner) {
    axes[0] = (struct place_axis){"a", outer, inner};
    axes[1] = (struct place_axis){"b", inner, 1};
    program.n_axes = 2;
    program.devices = outer * inner;
}

struct rank {
    struct place_context context;
    pthread_t thread;
    int32_t (*body)(struct place_context *context);
    int64_t sent[N_GROUPS];
};
static struct rank ranks[RANKS];
static int threads = 1; /* of each rank */
static int32_t running; /* ranks at a time; 0: all */

static inline void *rank_main(void *argument) {
    struct rank *rank = argument;
    struct place_context *context = &rank->context;
    context->team = threads > 1 ? team_create(threads, 0) : NULL;
    int32_t status = rank->body(context);
    if (!status && !context->transport->share(context, NULL, NULL, 0))
        for (int32_t i = 0; i < N_GROUPS; i++)
            rank->sent[i] = context->transport->sent_bytes(context, i);
    context->transport->leave(context);
    team_destroy(context->team);
    return NULL;
}

static inline void run_ranks(int32_t (*body)(struct place_context *context)) {
    int32_t n = (int32_t)program.devices;
    struct local_world *world = local_world_new(&program, 0, n, running ? running : n);
    assert_non_null(world);
    memset(ranks, 0, sizeof ranks);
    for (int32_t i = 0; i < n; i++) {
        ranks[i].context.program = &program;
        ranks[i].body = body;
        context_set_rank(&ranks[i].context, i);
        local_join(world, &ranks[i].context);
    }
    for (int32_t i = 0; i < n; i++)
        pthread_create(&ranks[i].thread, NULL, rank_main, &ranks[i]);
    for (int32_t i = 0; i < n; i++)
        pthread_join(ranks[i].thread, NULL);
    local_world_free(world);
}

static inline void assert_all_ok(void) {
    for (int64_t i = 0; i < program.devices; i++)
        if (ranks[i].context.status)
            fail_msg("%s", ranks[i].context.message);
}

static inline const char *first_message(enum place_status status) {
    for (int64_t i = 0; i < program.devices; i++)
        if (ranks[i].context.status == status)
            return ranks[i].context.message;
    fail_msg("no rank failed with status %d", status);
    return NULL;
}

static inline int32_t collective(struct place_context *context, enum place_collective kind,
                                 int over, enum place_dtype dtype, int n,
                                 const struct place_piece *pieces) {
    int32_t status =
        place_collective_start(context, 0, 5, kind, over, dtype, PLACE_SUM, 0, n, pieces);
    return status ? status : place_collective_wait(context, 1, 5);
}
