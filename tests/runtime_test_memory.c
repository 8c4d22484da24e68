/* What is free, by trees of the files in which the system says so: of both versions of control
 * groups, nested, in containers, and beside each other. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "runtime/host/memory.h"

#define MIB (INT64_C(1) << 20)

static char root[] = "/tmp/place_memory_XXXXXX";

/* A tree of a machine that has a gigabyte. */
static int make_root(void **state) {
    strcpy(strrchr(root, '_'), "_XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state) {
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", root);
    return system(command);
}

static void put(const char *path, const char *text) {
    char whole[512];
    snprintf(whole, sizeof whole, "%s%s", root, path);
    for (char *at = whole + strlen(root) + 1; (at = strchr(at, '/')); *at++ = '/') {
        *at = 0;
        mkdir(whole, 0777);
    }
    FILE *file = fopen(whole, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void put_number(const char *folder, const char *name, int64_t number) {
    char path[512], text[32];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    snprintf(text, sizeof text, "%" PRId64 "\n", number);
    put(path, text);
}

static void put_machine(void) {
    put("/proc/meminfo",
        "MemTotal:       4194304 kB\nMemFree: 1 kB\nMemAvailable:    1048576 kB\n");
}

static void put_version_2(const char *group, const char *mounted) {
    char text[512];
    snprintf(text, sizeof text, "0::%s\n", group);
    put("/proc/self/cgroup", text);
    snprintf(text, sizeof text,
             "22 27 0:21 / /proc rw,relatime - proc proc rw\n"
             "31 23 0:28 %s /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n",
             mounted);
    put("/proc/self/mountinfo", text);
}

static void put_group_2(const char *folder, int64_t limit, int64_t used) {
    put_number(folder, "memory.max", limit);
    put_number(folder, "memory.current", used);
}

static void the_machine_is_what_there_is_without_groups(void **state) {
    assert_int_equal(machine_free_bytes(root), INT64_MAX);
    put_machine();
    assert_int_equal(machine_free_bytes(root), 1024 * MIB);
    put_version_2("/none", "/");
    put("/sys/fs/cgroup/none/memory.max", "max\n");
    assert_int_equal(machine_free_bytes(root), 1024 * MIB);
}

static void the_least_of_all_groups_counts(void **state) {
    put_machine();
    put_version_2("/user.slice/job/step", "/");
    put_group_2("/sys/fs/cgroup/user.slice/job/step", 800 * MIB, 100 * MIB);
    assert_int_equal(machine_free_bytes(root), 700 * MIB);
    put_group_2("/sys/fs/cgroup/user.slice/job", 600 * MIB, 200 * MIB);
    assert_int_equal(machine_free_bytes(root), 400 * MIB);
    put_group_2("/sys/fs/cgroup/user.slice", 2000 * MIB, 1900 * MIB);
    assert_int_equal(machine_free_bytes(root), 100 * MIB);
    put_group_2("/sys/fs/cgroup/user.slice", 2000 * MIB, 2100 * MIB);
    assert_int_equal(machine_free_bytes(root), 0);
    put("/sys/fs/cgroup/user.slice/memory.max", "max\n");
    assert_int_equal(machine_free_bytes(root), 400 * MIB);
}

static void a_group_beside_it_does_not_count(void **state) {
    put_machine();
    put_version_2("/job", "/");
    put_group_2("/sys/fs/cgroup/jobs", MIB, 0);
    put_group_2("/sys/fs/cgroup/job/other", MIB, 0);
    assert_int_equal(machine_free_bytes(root), 1024 * MIB);
}

static void copies_of_files_are_free(void **state) {
    put_machine();
    put_version_2("/job", "/");
    put_group_2("/sys/fs/cgroup/job", 500 * MIB, 450 * MIB);
    put("/sys/fs/cgroup/job/memory.stat",
        "anon 1048576\nfile 314572800\nactive_file 104857600\ninactive_file 209715200\n");
    assert_int_equal(machine_free_bytes(root), 350 * MIB);
}

static void in_a_container_the_mount_is_the_group(void **state) {
    put_machine();
    put_version_2("/", "/");
    put_group_2("/sys/fs/cgroup", 300 * MIB, 100 * MIB);
    assert_int_equal(machine_free_bytes(root), 200 * MIB);
    put_version_2("/docker/abc", "/docker/abc");
    assert_int_equal(machine_free_bytes(root), 200 * MIB);
    put_version_2("/docker/abc/inside", "/docker/abc");
    put_group_2("/sys/fs/cgroup/inside", 150 * MIB, 0);
    assert_int_equal(machine_free_bytes(root), 150 * MIB);
    put_version_2("/../elsewhere", "/");
    assert_int_equal(machine_free_bytes(root), 200 * MIB);
}

/* As SLURM and older systems have it: version 2 is there, without memory. */
static void put_version_1(const char *group, const char *mounted) {
    char text[512];
    snprintf(text, sizeof text, "5:devices:/\n4:cpu,memory:%s\n3:memory_of_others:/wrong\n0::/\n",
             group);
    put("/proc/self/cgroup", text);
    snprintf(text, sizeof text,
             "32 31 0:29 / /sys/fs/cgroup/devices rw - cgroup cgroup rw,devices\n"
             "35 31 0:32 %s /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,cpu,memory\n"
             "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n",
             mounted);
    put("/proc/self/mountinfo", text);
}

static void version_1_nests_too(void **state) {
    const char *job = "/sys/fs/cgroup/memory/slurm/job_7",
               *step = "/sys/fs/cgroup/memory/slurm/job_7/step_0";
    put_machine();
    put_version_1("/slurm/job_7/step_0", "/");
    put_number("/sys/fs/cgroup/memory", "memory.limit_in_bytes", INT64_C(9223372036854771712));
    put_number("/sys/fs/cgroup/memory", "memory.usage_in_bytes", 3000 * MIB);
    put_number(step, "memory.limit_in_bytes", INT64_C(9223372036854771712));
    put_number(step, "memory.usage_in_bytes", 50 * MIB);
    assert_int_equal(machine_free_bytes(root), 1024 * MIB);
    put_number(job, "memory.limit_in_bytes", 200 * MIB);
    put_number(job, "memory.usage_in_bytes", 120 * MIB);
    assert_int_equal(machine_free_bytes(root), 80 * MIB);
    char path[256];
    snprintf(path, sizeof path, "%s/memory.stat", job);
    put(path,
        "inactive_file 1\nactive_file 1\ntotal_inactive_file 20971520\ntotal_active_file 0\n");
    assert_int_equal(machine_free_bytes(root), 100 * MIB);
}

static void version_1_in_a_container(void **state) {
    put_machine();
    put_version_1("/docker/abc", "/docker/abc");
    put_number("/sys/fs/cgroup/memory", "memory.limit_in_bytes", 64 * MIB);
    put_number("/sys/fs/cgroup/memory", "memory.usage_in_bytes", 4 * MIB);
    assert_int_equal(machine_free_bytes(root), 60 * MIB);
}

static void garbage_is_no_limit(void **state) {
    put_machine();
    put("/proc/self/cgroup", "\n0:\n0\n:x:\n0::/job\n");
    put("/proc/self/mountinfo", "\n - \n1 2 3\n1 2 3 / /sys/fs/cgroup rw - cgroup2 x\n"
                                "1 2 3 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    put("/sys/fs/cgroup/job/memory.max", "?\n");
    assert_int_equal(machine_free_bytes(root), 1024 * MIB);
    put_group_2("/sys/fs/cgroup/job", 10 * MIB, 0);
    put("/sys/fs/cgroup/job/memory.stat", "inactive_file\nactive_file x\n");
    assert_int_equal(machine_free_bytes(root), 10 * MIB);
}

/* What is mapped now, and what of it counts as data; sanitizers map terabytes. */
static void read_mapped(rlim_t mapped[2]) {
    unsigned long long pages[2] = {0};
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%llu %*u %*u %*u %*u %llu", &pages[0], &pages[1]), 2);
    fclose(file);
    for (int i = 0; i < 2; i++)
        mapped[i] = (rlim_t)pages[i] * (rlim_t)sysconf(_SC_PAGESIZE);
}

static void both_limits_on_addresses_count(void **state) {
    static const int limits[] = {RLIMIT_AS, RLIMIT_DATA};
    rlim_t mapped[2];
    read_mapped(mapped);
    for (int i = 0; i < 2; i++) {
        struct rlimit before, limit;
        getrlimit(limits[i], &before);
        int64_t free_before = addresses_free_bytes();
        limit = before;
        limit.rlim_cur = mapped[i] + (rlim_t)8192 * MIB;
        if (free_before != INT64_MAX || setrlimit(limits[i], &limit) != 0)
            skip();
        int64_t free_bytes = addresses_free_bytes();
        setrlimit(limits[i], &before);
        assert_in_range(free_bytes, 1, 8192 * MIB);
    }
}

#define IN_ROOT(test) cmocka_unit_test_setup_teardown(test, make_root, remove_root)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_ROOT(the_machine_is_what_there_is_without_groups),
        IN_ROOT(the_least_of_all_groups_counts),
        IN_ROOT(a_group_beside_it_does_not_count),
        IN_ROOT(copies_of_files_are_free),
        IN_ROOT(in_a_container_the_mount_is_the_group),
        IN_ROOT(version_1_nests_too),
        IN_ROOT(version_1_in_a_container),
        IN_ROOT(garbage_is_no_limit),
        cmocka_unit_test(both_limits_on_addresses_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
