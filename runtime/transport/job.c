/* Ending a job whose launcher does not (see job.h). Whoever waits for it is a shell of its own: it
 * must outlive this process, and not keep the memory or the connections that this one has. */
#define _GNU_SOURCE /* posix_spawn_file_actions_addclosefrom_np */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "runtime/transport/job.h"

extern char **environ;

/* Launchers that are there for one job alone, as the system names their processes. */
static const char *const launchers[] = {"mpirun", "mpiexec",       "orterun",
                                        "orted",  "mpiexec.hydra", "hydra_pmi_proxy"};
enum { LONGEST_SECONDS = 60, ANCESTORS = 8 };

/* A process's name, and its parent; 0: there is none. */
static pid_t parent_of(pid_t process, char name[64]) {
    char path[64], line[512] = "";
    int parent = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)process);
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    char *read = fgets(line, sizeof line, file);
    fclose(file);
    char *begin = read ? strchr(line, '(') : NULL, *end = read ? strrchr(line, ')') : NULL;
    if (!begin || !end || sscanf(end, ") %*c %d", &parent) != 1)
        return 0;
    snprintf(name, 64, "%.*s", (int)(end - begin - 1), begin + 1);
    return parent;
}

static bool is_launcher(const char *name) {
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++)
        if (strcmp(name, launchers[i]) == 0)
            return true;
    return false;
}

/* The nearest ancestor that is one; 0: none. */
static pid_t find_launcher(void) {
    char name[64] = "";
    pid_t process = getppid();
    for (int i = 0; i < ANCESTORS && process > 1; i++) {
        pid_t parent = parent_of(process, name);
        if (is_launcher(name))
            return process;
        process = parent;
    }
    return 0;
}

/* Starts the command in a session of its own, so that what the launcher sends to this process does
 * not reach it. */
static bool start_apart(char *const *command) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    pid_t child;
    posix_spawn_file_actions_init(&actions);
    for (int file = STDIN_FILENO; file <= STDERR_FILENO; file++)
        posix_spawn_file_actions_addopen(&actions, file, "/dev/null", O_RDWR, 0);
    posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
    bool started = posix_spawn(&child, command[0], &actions, &attributes, command, environ) == 0;
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return started;
}

bool job_end_after(double seconds) {
    static char script[] =
        "i=0; while [ $2 -gt $((i += 1)) ]; do sleep 1; kill -0 $1 || exit; done\n"
        "kill $1; sleep 5; kill -KILL $1";
    char process[16], longest[16];
    pid_t launcher = find_launcher();
    if (!launcher)
        return false;
    snprintf(process, sizeof process, "%d", (int)launcher);
    snprintf(longest, sizeof longest, "%d",
             seconds < LONGEST_SECONDS ? (int)seconds + 2 : LONGEST_SECONDS);
    return start_apart((char *[]){"/bin/sh", "-c", script, "sh", process, longest, NULL});
}
