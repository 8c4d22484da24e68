/* Small all_reduces between processes, of a few members and of many: bits and bytes, with each to
 * all others and in rounds of pairs, among other collectives of their groups. Started by a
 * launcher:
 *
 *     mpirun -n PROCESSES runtime_doubling_processes OUTER INNER
 *
 * The mesh has an axis `a` of OUTER and an axis `b` of INNER devices, dealt out evenly. Exit status
 * 1 and a message: something is wrong. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/calls.h"
#include "runtime/transport/doubling.h"
#include "runtime/transport/launch.h"
#include "runtime/transport/transport.h"
#include "tests/try.h"

enum { MOST_RANKS = 64, GROUPS = 3, ROUNDS = 20, PATIENCE_SECONDS = 60 };
/* What each group does in a round: small sums, with one in their midst that is not, one of 16 bits,
 * and a gather. */
enum { SMALL_BEFORE, LARGE, SMALL_BETWEEN, GATHER, SMALL_BEHIND, SMALL_OF_16_BITS, KINDS };
enum { FEW = 7, MANY = 2000 };

static const struct place_statement statements[] = {{"a.place", 10, 3, "start", 0},
                                                    {"a.place", 20, 3, "wait", 0}};
static struct place_axis axes[2];
static const struct place_group groups[GROUPS] = {
    {{1, {0}}, "a", 0}, {{2, {0, 1}}, "a*b", 0}, {{2, {1, 0}}, "b*a", 0}};
static const struct place_part whole = {.end = 1};
static struct place_program program = {.n_parts = 1,
                                       .parts = &whole,
                                       .n_axes = 2,
                                       .axes = axes,
                                       .n_groups = GROUPS,
                                       .groups = groups,
                                       .n_handles = GROUPS * KINDS,
                                       .message_bytes = INT64_C(64) << 20,
                                       .n_statements = 2,
                                       .statements = statements};

struct rank {
    struct place_context context;
    pthread_t thread;
    float given[GROUPS][KINDS][MANY], got[GROUPS][KINDS][MANY];
    float all[GROUPS][MOST_RANKS]; /* of a gather, which gives one element */
};
static struct rank ranks[MOST_RANKS];
static pthread_barrier_t all_here;

/* Values that a float sums differently in another order. */
static float element(int32_t rank, int32_t kind, int64_t i) {
    return 1.0f / (float)(1 + rank * 7 + kind * 13 + i % 97) + (float)(rank == 1 ? 1e4 : 0);
}

static enum place_dtype dtype_of(int32_t kind) {
    return kind == SMALL_OF_16_BITS ? PLACE_F16 : PLACE_F32;
}

/* Writes it as it is given. */
static void put_element(int32_t rank, int32_t kind, int64_t i, void *to) {
    float value = element(rank, kind, i);
    if (kind == SMALL_OF_16_BITS)
        round_elements(PLACE_F16, to, &value, 1);
    else
        memcpy(to, &value, sizeof value);
}

static int64_t length_of(int32_t kind) {
    return kind == LARGE ? MANY : kind == GATHER ? 1 : FEW;
}

static int32_t start(struct rank *rank, int32_t group, int32_t kind) {
    struct group members = group_of(&program, rank->context.rank, &groups[group].axes);
    char *from = (char *)rank->given[group][kind];
    for (int64_t i = 0; i < length_of(kind); i++)
        put_element(rank->context.rank, kind, i, from + i * dtype_size(dtype_of(kind)));
    struct place_piece sum = {from, rank->got[group][kind], 1, 0, length_of(kind), 0};
    struct place_piece gather = {from, rank->all[group], 1, 1, members.size, 0};
    return place_collective_start(&rank->context, 0, group * KINDS + kind,
                                  kind == GATHER ? PLACE_ALL_GATHER : PLACE_ALL_REDUCE, group,
                                  dtype_of(kind), PLACE_SUM, 0, 1, kind == GATHER ? &gather : &sum);
}

/* By its definition, from one element of each member. */
static bool is_right(const struct rank *rank, int32_t group, int32_t kind, int64_t i) {
    struct group members = group_of(&program, rank->context.rank, &groups[group].axes);
    struct collective sum = {.kind = PLACE_ALL_REDUCE, .dtype = dtype_of(kind)};
    float values[MOST_RANKS], wanted;
    size_t width = (size_t)dtype_size(sum.dtype);
    const void *sources[MOST_RANKS];
    for (int32_t k = 0; k < members.size; k++) {
        put_element(group_member(&program, &members, k), kind, i, &values[k]);
        sources[k] = &values[k];
    }
    if (kind == GATHER)
        return memcmp(rank->all[group], values, (size_t)members.size * sizeof *values) == 0;
    collective_reduce(&sum, &wanted, sources, members.size, 0, 1, false);
    return memcmp(&wanted, (char *)rank->got[group][kind] + (size_t)i * width, width) == 0;
}

static int32_t wait(struct rank *rank, int32_t group, int32_t kind) {
    TRY(place_collective_wait(&rank->context, 1, group * KINDS + kind));
    for (int64_t i = 0; i < length_of(kind); i += kind == LARGE ? 131 : 1)
        if (!is_right(rank, group, kind, i))
            return context_fail(&rank->context, 1, PLACE_ERROR_HOST,
                                "number %d over %s gave something else", kind, groups[group].name);
    return PLACE_OK;
}

/* Partials that a member gives, by the rounds themselves. */
static int64_t partials_of(const struct group *members) {
    int64_t given = 0;
    for (int32_t round = 0; round < doubling_rounds(members->size); round++)
        for (int32_t seat = 0; seat < doubling_seats(members->size, members->place); seat++) {
            struct doubling_turn turn =
                doubling_turn_of(members->size, members->place, seat, round);
            given += turn.gives && turn.partner != members->place;
        }
    return given;
}

static int32_t check_bytes(struct rank *rank, const int64_t *before) {
    struct place_context *context = &rank->context;
    for (int32_t g = 0; g < GROUPS; g++) {
        struct group members = group_of(&program, context->rank, &groups[g].axes);
        int64_t n = members.size, sent = context->transport->sent_bytes(context, g) - before[g];
        int64_t small = n > program.direct_members ? partials_of(&members) : n - 1;
        int64_t narrow = n > program.direct_members ? 4 : 2;
        int64_t wanted = 4 * (3 * small * FEW + 2 * (n - 1) * ((MANY + n - 1) / n) + n - 1) +
                         narrow * small * FEW;
        if (sent != ROUNDS * wanted)
            return context_fail(context, 1, PLACE_ERROR_HOST, "over %s: %lld bytes, not %lld",
                                groups[g].name, (long long)sent, (long long)(ROUNDS * wanted));
    }
    return PLACE_OK;
}

/* All of a round in flight at once, waited for in another order. */
static int32_t exchange(struct rank *rank) {
    struct place_context *context = &rank->context;
    int64_t before[GROUPS];
    for (int32_t g = 0; g < GROUPS; g++)
        before[g] = context->transport->sent_bytes(context, g);
    for (int round = 0; round < ROUNDS; round++) {
        for (int32_t i = 0; i < GROUPS * KINDS; i++)
            TRY(start(rank, i % GROUPS, i / GROUPS));
        for (int32_t i = 0; i < GROUPS * KINDS; i++)
            TRY(wait(rank, i * 7 % (GROUPS * KINDS) % GROUPS, i * 7 % (GROUPS * KINDS) / GROUPS));
    }
    TRY(context->transport->share(context, NULL, NULL, 0));
    return check_bytes(rank, before);
}

/* One rank has a piece that is cut elsewhere: somebody sees it, and says so. The others are
 * stopped, or, in other processes, wait until the job ends. */
static int32_t exchange_mismatched(struct place_context *context) {
    float values[6] = {0};
    int64_t first = context->rank == 1 ? 2 : 4;
    int32_t over = 1;
    struct place_piece pieces[2] = {{values, values, 1, 0, first, 0},
                                    {values + first, values + first, 1, 0, 6 - first, 0}};
    TRY(place_collective_start(context, 0, 0, PLACE_ALL_REDUCE, over, PLACE_F32, PLACE_SUM, 0, 2,
                               pieces));
    int32_t status = place_collective_wait(context, 1, 0);
    bool told = status == PLACE_ERROR_MISMATCH && strstr(context->message, "size of one");
    if (!told)
        fprintf(stderr, "a mismatch was told as: %s\n", context->message);
    context->status = told ? PLACE_OK : PLACE_ERROR_HOST;
    return context->status;
}

static int32_t exchange_all(struct rank *rank) {
    static const int32_t limits[] = {MOST_RANKS, 4, 0};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        if (pthread_barrier_wait(&all_here) == PTHREAD_BARRIER_SERIAL_THREAD)
            program.direct_members = limits[i];
        pthread_barrier_wait(&all_here);
        TRY(exchange(rank));
    }
    return program.devices == 2 ? exchange_mismatched(&rank->context) : PLACE_OK;
}

static void *rank_main(void *argument) {
    struct rank *rank = argument;
    exchange_all(rank);
    rank->context.transport->leave(&rank->context);
    return NULL;
}

int main(int argc, char **argv) {
    struct launch launch;
    char message[512];
    axes[0] = (struct place_axis){"a", atoi(argv[1]), atoi(argv[2])};
    axes[1] = (struct place_axis){"b", atoi(argv[2]), 1};
    program.devices = axes[0].size * axes[1].size;
    if (launch_find(&program, PATIENCE_SECONDS, &launch, message, sizeof message) != 0 ||
        !launch.join)
        return fprintf(stderr, "no launcher: %s\n", message) > 0;
    struct local_world *world = local_world_new(&program, launch.first, launch.ranks, launch.ranks);
    pthread_barrier_init(&all_here, NULL, (unsigned)launch.ranks);
    for (int32_t i = 0; i < launch.ranks; i++) {
        ranks[i].context.program = &program;
        context_set_rank(&ranks[i].context, launch.first + i);
        local_join(world, &ranks[i].context);
        launch.join(&ranks[i].context);
    }
    for (int32_t i = 0; i < launch.ranks; i++)
        pthread_create(&ranks[i].thread, NULL, rank_main, &ranks[i]);
    int failed = 0;
    for (int32_t i = 0; i < launch.ranks; i++)
        pthread_join(ranks[i].thread, NULL);
    for (int32_t i = 0; i < launch.ranks; i++)
        if (ranks[i].context.status)
            failed = fprintf(stderr, "%s\n", ranks[i].context.message) > 0;
    launch_end(&launch, failed, !failed);
    return failed;
}
