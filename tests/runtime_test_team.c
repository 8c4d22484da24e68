/* Teams: every tile exactly once, ranges as promised, workspaces and shares of one's own, teams
 * beside each other, and waking after sleep. Run under the thread sanitizer too. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>
#include "runtime_kernel_fixture.h"

struct visits {
    _Atomic int *tiles;
    int64_t count, grain;
    _Atomic int wrong_ranges;
};

static void visit(void *arguments, int64_t begin, int64_t end, void *workspace) {
    struct visits *visits = arguments;
    int whole = end - begin == visits->grain || end == visits->count;
    if (begin % visits->grain != 0 || !whole)
        visits->wrong_ranges++;
    for (int64_t i = begin; i < end; i++)
        visits->tiles[i]++;
}

static void check_cover(struct team *team, int64_t count, int64_t grain) {
    struct visits visits = {must(calloc((size_t)count + 1, sizeof(int))), count, grain, 0};
    team_run(team, count, grain, visit, &visits);
    for (int64_t i = 0; i < count; i++)
        assert_int_equal(visits.tiles[i], 1);
    assert_int_equal(visits.wrong_ranges, 0);
    free(visits.tiles);
}

static void every_tile_is_visited_once(void **state) {
    for (int threads = 1; threads <= 5; threads += 2) {
        struct team *team = team_create(threads, 64);
        assert_int_equal(team_threads(team), threads);
        for (int64_t count = 0; count < 70; count += 3)
            for (int64_t grain = 1; grain < 12; grain += 5)
                check_cover(team, count, grain);
        team_destroy(team);
    }
}

/* A range writes its number all over the workspace and finds it there at the end. */
static void use_workspace(void *arguments, int64_t begin, int64_t end, void *workspace) {
    volatile int64_t *words = workspace;
    for (int i = 0; i < 128; i++)
        words[i] = begin;
    for (int i = 0; i < 128; i++)
        if (words[i] != begin)
            (*(_Atomic int *)arguments)++;
}

static void workspaces_are_separate(void **state) {
    struct team *team = team_create(3, 1000);
    assert_true(team_workspace_bytes(team) >= 1024);
    _Atomic int clashes = 0;
    team_run(team, 2000, 1, use_workspace, &clashes);
    assert_int_equal(clashes, 0);
    team_destroy(team);
}

/* What two threads do: who took the first range, and what each began with; -1: nothing yet. */
struct beginnings {
    pthread_t owner;
    _Atomic int64_t first[2];
};

static void begin_with(void *arguments, int64_t begin, int64_t end, void *workspace) {
    struct beginnings *beginnings = arguments;
    int64_t nothing = -1;
    int helper = !pthread_equal(pthread_self(), beginnings->owner);
    atomic_compare_exchange_strong(&beginnings->first[helper], &nothing, begin);
    while (beginnings->first[!helper] < 0) /* so that the other takes a range, too */
        sched_yield();
}

static void threads_begin_with_their_own_share(void **state) {
    struct team *team = team_create(2, 64);
    for (int64_t count = 2; count < 50; count += 7) {
        struct beginnings beginnings = {pthread_self(), {-1, -1}};
        team_run(team, count, 1, begin_with, &beginnings);
        assert_int_equal(beginnings.first[0], 0);
        assert_int_equal(beginnings.first[1], count / 2);
    }
    team_destroy(team);
}

static void *run_many(void *argument) {
    struct team *team = team_create(3, 64);
    for (int i = 0; i < 300; i++)
        check_cover(team, 40, 3);
    team_destroy(team);
    return NULL;
}

/* More threads than cores: ranks with a team each, as in tests of large meshes. */
static void teams_run_beside_each_other(void **state) {
    pthread_t ranks[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&ranks[i], NULL, run_many, NULL), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(ranks[i], NULL);
}

static void helpers_wake_from_sleep(void **state) {
    struct team *team = team_create(2, 64);
    for (int i = 0; i < 3; i++) {
        check_cover(team, 64, 1);
        usleep(60000); /* long enough for the helper to sleep */
    }
    check_cover(team, 64, 1);
    usleep(60000);
    team_destroy(team);
}

struct fill {
    double *y;
};

static void fill_tile(void *arguments, int64_t begin, int64_t end) {
    struct fill *fill = arguments;
    for (int64_t i = begin; i < end; i++)
        fill->y[i] = (double)i;
}

static void generated_loops_run_on_the_team(void **state) {
    struct place_context *context = context_of_this_cpu(2);
    double y[1000] = {0};
    CALL_OK(place_parallel(context, 0, (void *)fill_tile, &(struct fill){y}, 1000, 7));
    for (int i = 0; i < 1000; i++)
        assert_true(y[i] == i);
    assert_refused(context, place_parallel(context, 0, (void *)fill_tile, NULL, 1000, 0));
    context_free(context);
}

/* How often the owner was behind a range of its own; other threads never are. */
struct interludes {
    pthread_t owner;
    int64_t own_ranges, calls, of_others;
};

static void count_own_range(void *arguments, int64_t begin, int64_t end, void *workspace) {
    struct interludes *interludes = arguments;
    usleep(10);
    if (pthread_equal(pthread_self(), interludes->owner))
        interludes->own_ranges++;
}

static void count_interlude(void *argument) {
    struct interludes *interludes = argument;
    interludes->calls++;
    interludes->of_others += !pthread_equal(pthread_self(), interludes->owner);
}

static void the_owner_does_something_else_between_ranges(void **state) {
    for (int threads = 1; threads <= 3; threads++) {
        struct interludes interludes = {.owner = pthread_self()};
        struct team *team = team_create(threads, 64);
        team_run(team, 100, 1, count_own_range, &interludes);
        assert_int_equal(interludes.calls, 0);
        team_interleave(team, count_interlude, &interludes);
        interludes.own_ranges = 0;
        team_run(team, 100, 1, count_own_range, &interludes);
        team_run(team, 1, 1, count_own_range, &interludes);
        assert_true(interludes.calls > 0);
        assert_int_equal(interludes.calls, interludes.own_ranges);
        assert_int_equal(interludes.of_others, 0);
        team_destroy(team);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_tile_is_visited_once),
        cmocka_unit_test(workspaces_are_separate),
        cmocka_unit_test(threads_begin_with_their_own_share),
        cmocka_unit_test(teams_run_beside_each_other),
        cmocka_unit_test(helpers_wake_from_sleep),
        cmocka_unit_test(the_owner_does_something_else_between_ranges),
        cmocka_unit_test(generated_loops_run_on_the_team),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
