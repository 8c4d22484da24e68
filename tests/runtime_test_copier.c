/* Copies between the tiers of ranks: what arrives, in what order and how much is counted; a disk that
 * takes no more or is slow, a file that became shorter, and waits that end because another rank has failed. */
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include "runtime/copier.h"
#include "runtime/disk.h"
#include "runtime/host/sentinel.h"
#include "tests/runtime_transport_fixture.h"
#include "tests/system_faults.h"

enum { BYTES = 3 << 20, FIRST = 1000, PAGE = 4096 }; /* more than one chunk; within pages */

/* A rank's memory: of the device and of the host. */
struct tiers {
    char *device, *host;
};

static struct tiers tiers_begin(struct place_context *context) {
    struct tiers tiers = {malloc(BYTES), malloc(BYTES)};
    assert_true(tiers.device && tiers.host);
    for (int i = 0; i < BYTES; i++)
        tiers.device[i] = (char)(i * 7 + i / 251 + context->rank);
    context->disk = disk_open("/var/tmp", 2 * BYTES);
    assert_non_null(context->disk);
    context->copier = copier_new(context);
    assert_non_null(context->copier);
    return tiers;
}

static void tiers_end(struct place_context *context, struct tiers *tiers) {
    copier_free(context->copier);
    disk_close(context->disk);
    free(tiers->device);
    free(tiers->host);
}

static void *on_disk(int64_t offset) {
    return (void *)(uintptr_t)offset;
}

static int32_t copy(struct place_context *context, struct place_copy piece) {
    int32_t status = place_copy_start(context, 0, 3, 1, &piece);
    return status ? status : place_copy_wait(context, 1, 3);
}

/* ---- what arrives --------------------------------------------------------------------------- */

static int32_t go_round(struct place_context *context) {
    struct tiers t = tiers_begin(context);
    int64_t n = BYTES - 2 * FIRST - 13;
    const struct place_copy out = {t.device + FIRST, t.host, n, PLACE_DEVICE, PLACE_HOST};
    const struct place_copy down[] = {
        {t.host, on_disk(FIRST), n, PLACE_HOST, PLACE_DISK},
        {t.device, on_disk(FIRST + n), FIRST, PLACE_DEVICE, PLACE_DISK},
    };
    const struct place_copy up = {on_disk(FIRST), t.device, n + FIRST, PLACE_DISK, PLACE_DEVICE};
    char *before = malloc(BYTES);
    memcpy(before, t.device, BYTES);
    int32_t status = copy(context, out);
    if (!status)
        status = place_copy_start(context, 0, 7, 2, down);
    if (!status)
        status = place_copy_start(context, 0, 8, 1, &up); /* behind it, in the order of starts */
    if (!status)
        status = place_copy_wait(context, 1, 8);
    if (!status)
        status = place_copy_wait(context, 1, 7);
    assert_memory_equal(t.device, before + FIRST, (size_t)n);
    assert_memory_equal(t.device + n, before, FIRST);
    assert_int_equal(copier_copied_bytes(context->copier, PLACE_HOST), n);
    assert_int_equal(copier_copied_bytes(context->copier, PLACE_DISK), 2 * (n + FIRST));
    assert_int_equal(disk_written_bytes(context->disk), 2 * FIRST + n);
    free(before);
    tiers_end(context, &t);
    return status;
}

static void all_arrives_and_is_counted(void **state) {
    set_mesh(2, 2);
    run_ranks(go_round);
    assert_all_ok();
}

/* A copy whose ends are within pages goes by way of the cache at its ends alone. */
static int32_t write_past_the_cache(struct place_context *context) {
    struct tiers t = tiers_begin(context);
    int32_t status = copy(
        context, (struct place_copy){t.device, on_disk(FIRST), BYTES, PLACE_DEVICE, PLACE_DISK});
    tiers_end(context, &t);
    return status;
}

static void the_cache_is_passed(void **state) {
    int64_t before = system_cached_bytes();
    set_mesh(1, 1);
    run_ranks(write_past_the_cache);
    assert_all_ok();
    int64_t cached = system_cached_bytes() - before;
    if (system_passes_cache("/var/tmp"))
        assert_in_range(cached, 1, 2 * PAGE);
    else
        assert_int_equal(cached, BYTES);
}

/* Neighbours in a page keep what they have. */
static void pages_are_shared(void **state) {
    struct disk *disk = disk_open("/var/tmp", 8 * PAGE);
    char *expected = calloc(1, 8 * PAGE), *there = malloc(8 * PAGE), *piece = malloc(8 * PAGE);
    assert_true(disk && expected && there && piece);
    unsigned random = 1;
    for (int i = 0; i < 200; i++) {
        random = random * 1103515245 + 12345;
        int at = (int)(random >> 8) % (8 * PAGE), n = (int)(random >> 4) % (8 * PAGE - at) + 1;
        memset(piece, i, (size_t)n);
        memset(expected + at, i, (size_t)n);
        assert_int_equal(disk_write(disk, piece, at, n), 0);
        at = at / 3;
        assert_int_equal(disk_read(disk, there, at, 8 * PAGE - at), 0);
        assert_memory_equal(there, expected + at, (size_t)(8 * PAGE - at));
    }
    free(expected);
    free(there);
    free(piece);
    disk_close(disk);
}

/* Numbers are those of linux/magic.h. */
static void file_systems_elsewhere_are_known(void **state) {
    const char *where = NULL;
    assert_string_equal(file_system_elsewhere(0x6969, &where), "NFS");
    assert_string_equal(where, "on another machine");
    assert_string_equal(file_system_elsewhere(0x01021994, &where), "tmpfs");
    assert_string_equal(where, "in memory");
    assert_null(file_system_elsewhere(0xEF53, &where)); /* ext4 */
}

/* ---- what fails ----------------------------------------------------------------------------- */

/* The limit is one of the process, and hits who writes beyond it. */
static int32_t write_too_far(struct place_context *context) {
    struct tiers t = tiers_begin(context);
    struct rlimit old, few = {PAGE, 0};
    getrlimit(RLIMIT_FSIZE, &old);
    few.rlim_max = old.rlim_max;
    setrlimit(RLIMIT_FSIZE, &few);
    int32_t status =
        copy(context, (struct place_copy){t.device, on_disk(0), BYTES, PLACE_DEVICE, PLACE_DISK});
    setrlimit(RLIMIT_FSIZE, &old);
    tiers_end(context, &t);
    return status;
}

static void a_full_disk_is_told(void **state) {
    signal(SIGXFSZ, SIG_IGN);
    set_mesh(1, 1);
    run_ranks(write_too_far);
    const char *message = first_message(PLACE_ERROR_HOST);
    assert_non_null(strstr(message, "a.place:20:3 (second, statement 1)"));
    assert_non_null(strstr(message, "kept on disk cannot be written: File too large; raise the "
                                    "limit of a file's size (ulimit -f), or name a folder"));
}

static int32_t read_too_far(struct place_context *context) {
    struct tiers t = tiers_begin(context);
    int32_t status = copy(context, (struct place_copy){on_disk(BYTES), t.device, BYTES + PAGE,
                                                       PLACE_DISK, PLACE_DEVICE});
    tiers_end(context, &t);
    return status;
}

static void a_short_file_is_told(void **state) {
    set_mesh(1, 1);
    run_ranks(read_too_far);
    assert_non_null(strstr(first_message(PLACE_ERROR_HOST), "cannot be read: Input/output error"));
}

/* One rank fails while others wait for copies, one behind the other, or for nothing. */
static int32_t fail_or_copy(struct place_context *context) {
    struct tiers t = tiers_begin(context);
    int32_t status = PLACE_OK;
    if (context->rank == 0)
        status = context_fail(context, 2, PLACE_ERROR_HOST, "on purpose");
    while (!status)
        status =
            copy(context, (struct place_copy){t.device, t.host, BYTES, PLACE_DEVICE, PLACE_HOST});
    tiers_end(context, &t);
    return status;
}

static void waits_end_where_another_failed(void **state) {
    set_mesh(3, 1);
    run_ranks(fail_or_copy);
    assert_non_null(strstr(first_message(PLACE_ERROR_ABORTED), "another rank failed"));
}

static int32_t wait_for_nothing(struct place_context *context) {
    struct tiers t = tiers_begin(context);
    int32_t status = place_copy_wait(context, 1, 3);
    tiers_end(context, &t);
    return status;
}

static void nothing_in_flight_is_told(void **state) {
    set_mesh(1, 1);
    run_ranks(wait_for_nothing);
    assert_non_null(strstr(first_message(PLACE_ERROR_ARGUMENT), "nothing is in flight"));
}

/* On a disk that takes three times as long for the copy as a rank is given without progress; else the
 * process is ended. */
static int32_t copy_slowly(struct place_context *context) {
    struct tiers t = tiers_begin(context);
    struct place_context *const contexts[] = {context};
    const struct flight flight = {contexts, 1};
    sentinel_hold_requests();
    struct sentinel *sentinel = sentinel_start(&flight, NULL, 1, 1);
    assert_non_null(sentinel);
    atomic_store(&context->recorder.in_step, 1);
    int32_t status =
        copy(context, (struct place_copy){t.device, on_disk(0), BYTES, PLACE_DEVICE, PLACE_DISK});
    atomic_store(&context->recorder.in_step, 0);
    sentinel_stop(sentinel);
    sentinel_release_requests();
    tiers_end(context, &t);
    return status;
}

static void a_slow_copy_is_not_stuck(void **state) {
    set_mesh(1, 1);
    setenv("FAULT_PWRITE_SECONDS", "0.25", 1);
    run_ranks(copy_slowly);
    unsetenv("FAULT_PWRITE_SECONDS");
    assert_all_ok();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_arrives_and_is_counted),
        cmocka_unit_test(the_cache_is_passed),
        cmocka_unit_test(pages_are_shared),
        cmocka_unit_test(file_systems_elsewhere_are_known),
        cmocka_unit_test(a_full_disk_is_told),
        cmocka_unit_test(a_short_file_is_told),
        cmocka_unit_test(waits_end_where_another_failed),
        cmocka_unit_test(nothing_in_flight_is_told),
        cmocka_unit_test(a_slow_copy_is_not_stuck),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
