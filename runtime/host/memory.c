/* What the system says about memory (see memory.h).
 *
 * Control groups are of two versions, which may both be there. /proc/self/cgroup names the group by
 * its path in its hierarchy, /proc/self/mountinfo where which part of that hierarchy is mounted: in
 * a container often only the container's own. A limit of any group on the way up ends a process
 * that passes it, without a word, so each is looked at. */
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include "runtime/host/memory.h"

enum { LINE_BYTES = 4096, PATH_BYTES = 4096 };

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t not_negative(int64_t bytes) {
    return bytes > 0 ? bytes : 0;
}

/* ---- files of numbers ----------------------------------------------------------------------- */

static FILE *open_below(const char *root, const char *path) {
    char whole[PATH_BYTES];
    int length = snprintf(whole, sizeof whole, "%s%s", root, path);
    return length < (int)sizeof whole ? fopen(whole, "re") : NULL;
}

/* A number in a file of one line, or `otherwise` ("max", no such file). */
static int64_t number_in(const char *root, const char *folder, const char *name,
                         int64_t otherwise) {
    char path[PATH_BYTES];
    long long number;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = open_below(root, path);
    if (!file)
        return otherwise;
    if (fscanf(file, "%lld", &number) != 1)
        number = otherwise;
    fclose(file);
    return number;
}

/* The number behind a name at the beginning of a line. */
static int64_t number_of(const char *root, const char *path, const char *name, int64_t otherwise) {
    FILE *file = open_below(root, path);
    char line[LINE_BYTES];
    size_t length = strlen(name);
    long long number, found = otherwise;
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, name, length) == 0 && sscanf(line + length, " %lld", &number) == 1)
            found = number;
    if (file)
        fclose(file);
    return found;
}

/* The machine's bytes; /proc/meminfo has all in kibibytes. */
static int64_t machine_bytes(const char *root, const char *name) {
    int64_t kib = number_of(root, "/proc/meminfo", name, -1);
    return kib < 0 ? INT64_MAX : kib * 1024;
}

/* ---- control groups ------------------------------------------------------------------------- */

struct hierarchy {
    const char *controllers; /* in /proc/self/cgroup: "" of version 2, which has one hierarchy */
    const char *file_system, *option; /* of its mount */
    const char *limit, *used;
    const char *files[2]; /* in memory.stat: bytes of copies of files, which are given back */
};
static const struct hierarchy hierarchies[] = {
    {"memory",
     "cgroup",
     "memory",
     "memory.limit_in_bytes",
     "memory.usage_in_bytes",
     {"total_inactive_file ", "total_active_file "}},
    {"", "cgroup2", "", "memory.max", "memory.current", {"inactive_file ", "active_file "}},
};

/* Whether a word is one of a list with commas. */
static bool is_listed(const char *list, const char *word) {
    size_t length = strlen(word);
    if (!length)
        return true;
    for (const char *at = list; (at = strstr(at, word)); at += length)
        if ((at == list || at[-1] == ',') && (!at[length] || at[length] == ','))
            return true;
    return false;
}

/* The path of this process's group in a hierarchy: "NUMBER:CONTROLLERS:PATH". */
static bool find_group(const char *root, const struct hierarchy *hierarchy, char *path) {
    FILE *file = open_below(root, "/proc/self/cgroup");
    char line[LINE_BYTES];
    bool found = false;
    while (file && !found && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = 0;
        char *controllers = strchr(line, ':'),
             *rest = controllers ? strchr(++controllers, ':') : NULL;
        if (!rest)
            continue;
        *rest++ = 0;
        found = *hierarchy->controllers ? is_listed(controllers, hierarchy->controllers)
                                        : !*controllers;
        if (found)
            snprintf(path, PATH_BYTES, "%s", rest);
    }
    if (file)
        fclose(file);
    return found;
}

/* Where a hierarchy is mounted, and which of its groups that is: "ID ID DEVICE GROUP PLACE ... -
 * TYPE SOURCE OPTIONS". */
static bool find_mount(const char *root, const struct hierarchy *hierarchy, char *group,
                       char *place) {
    FILE *file = open_below(root, "/proc/self/mountinfo");
    char line[LINE_BYTES], type[64], options[LINE_BYTES];
    bool found = false;
    while (file && !found && fgets(line, sizeof line, file)) {
        const char *rest = strstr(line, " - ");
        found = rest && sscanf(line, "%*s %*s %*s %4095s %4095s", group, place) == 2 &&
                sscanf(rest, " - %63s %*s %4095s", type, options) == 2 &&
                strcmp(type, hierarchy->file_system) == 0 && is_listed(options, hierarchy->option);
    }
    if (file)
        fclose(file);
    return found;
}

/* A group's path below the one that is mounted, or "": that one. */
static const char *path_below(const char *path, const char *mounted) {
    size_t length = strcmp(mounted, "/") == 0 ? 0 : strlen(mounted);
    bool below = strncmp(path, mounted, length) == 0 && (!path[length] || path[length] == '/');
    return !below || strstr(path, "/..") || strcmp(path + length, "/") == 0 ? "" : path + length;
}

static int64_t group_free_bytes(const char *root, const struct hierarchy *hierarchy,
                                const char *folder) {
    char path[PATH_BYTES];
    int64_t limit = number_in(root, folder, hierarchy->limit, INT64_MAX);
    if (limit == INT64_MAX)
        return INT64_MAX;
    int64_t used = number_in(root, folder, hierarchy->used, 0);
    if (snprintf(path, sizeof path, "%s/memory.stat", folder) < (int)sizeof path)
        for (int i = 0; i < 2; i++)
            used -= number_of(root, path, hierarchy->files[i], 0);
    return not_negative(limit - not_negative(used));
}

static int64_t hierarchy_free_bytes(const char *root, const struct hierarchy *hierarchy) {
    char path[PATH_BYTES], group[PATH_BYTES], folder[2 * PATH_BYTES];
    if (!find_group(root, hierarchy, path) || !find_mount(root, hierarchy, group, folder))
        return INT64_MAX;
    size_t mount = strlen(folder);
    strcat(folder, path_below(path, group));
    int64_t free_bytes = group_free_bytes(root, hierarchy, folder);
    while (strlen(folder) > mount) {
        *strrchr(folder, '/') = 0;
        free_bytes = least(free_bytes, group_free_bytes(root, hierarchy, folder));
    }
    return free_bytes;
}

int64_t machine_free_bytes(const char *root) {
    int64_t free_bytes = machine_bytes(root, "MemAvailable:");
    for (size_t i = 0; i < sizeof hierarchies / sizeof *hierarchies; i++)
        free_bytes = least(free_bytes, hierarchy_free_bytes(root, &hierarchies[i]));
    return free_bytes;
}

/* ---- addresses ------------------------------------------------------------------------------ */

static int64_t left_of(int limited, int64_t used) {
    struct rlimit limit;
    if (getrlimit(limited, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return INT64_MAX;
    return not_negative((int64_t)limit.rlim_cur - used);
}

/* Where memory is not promised twice (vm.overcommit_memory = 2), all that is mapped counts. */
static int64_t promised_bytes(void) {
    if (number_in("", "/proc/sys/vm", "overcommit_memory", 0) != 2)
        return INT64_MAX;
    return not_negative(machine_bytes("", "CommitLimit:") - machine_bytes("", "Committed_AS:"));
}

int64_t addresses_free_bytes(void) {
    char text[128] = "";
    long long pages = 0, data_pages = 0;
    int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC); /* a stream would need memory */
    if (file >= 0 && read(file, text, sizeof text - 1) > 0)
        sscanf(text, "%lld %*s %*s %*s %*s %lld", &pages, &data_pages);
    if (file >= 0)
        close(file);
    long page = sysconf(_SC_PAGESIZE);
    return least(promised_bytes(),
                 least(left_of(RLIMIT_AS, pages * page), left_of(RLIMIT_DATA, data_pages * page)));
}
