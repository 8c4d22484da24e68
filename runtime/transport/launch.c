/* Finding a launcher and the transport to its other processes (see launch.h). */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "runtime/clock.h"
#include "runtime/patience.h"
#include "runtime/transport/job.h"
#include "runtime/transport/launch.h"

static const char module_name[] = "libplace_mpi.so";

static const struct launcher {
    const char *name, *rank, *processes, *local_rank, *local_processes;
    bool is_mpi;
} launchers[] = {
#define LAUNCHER(name, rank, processes, local_rank, local_processes, is_mpi)                       \
    {name, rank, processes, local_rank, local_processes, is_mpi},
#include "runtime/transport/launchers.def"
#undef LAUNCHER
};

/* A variable's number, or `otherwise` where it is not set, or has no name. */
static int32_t environment_number(const char *name, int32_t otherwise) {
    const char *value = getenv(name);
    return value && *value ? atoi(value) : otherwise;
}

static bool is_said(const char *name) {
    return !*name || environment_number(name, -1) >= 0;
}

/* The one that has started this process; null: none. */
static const struct launcher *find_launcher(void) {
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++)
        if (is_said(launchers[i].rank) && is_said(launchers[i].processes))
            return &launchers[i];
    return NULL;
}

/* How long a launcher may take to end the others when the first has failed. */
enum { PATIENCE_SECONDS = 5 };

int place_speaks(int failing) {
    const struct launcher *launcher = find_launcher();
    if (!launcher || environment_number(launcher->local_rank, 0) == 0)
        return 1;
    if (!failing)
        return 0;
    sigset_t end, before;
    sigemptyset(&end);
    sigaddset(&end, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &end, &before);
    int ended = sigtimedwait(&end, NULL, &(struct timespec){.tv_sec = PATIENCE_SECONDS});
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return ended < 0;
}

/* Loads the module from a folder; null: it is not there, or `why` says why it cannot be loaded. */
static void *load_from(const char *folder, char *why, size_t why_bytes) {
    char path[4200];
    snprintf(path, sizeof path, "%s/%s", folder, module_name);
    if (access(path, R_OK) != 0)
        return NULL;
    void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (!library)
        snprintf(why, why_bytes, "%s", dlerror());
    return library;
}

/* Beside the executable, then where the installation keeps it. */
static void *load_module(const struct place_program *program, char *why, size_t why_bytes) {
    char folder[4096];
    const char *said = getenv("PLACE_TRANSPORT_PATH");
    void *library = said ? load_from(said, why, why_bytes) : NULL;
    ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);
    if (!library && length > 0) {
        folder[length] = 0;
        *strrchr(folder, '/') = 0;
        library = load_from(folder, why, why_bytes);
    }
    if (!library && program->library_directory)
        library = load_from(program->library_directory, why, why_bytes);
    return library;
}

/* ---- starting together ---- */

/* Whoever starts MPI waits in it for all the others of the launcher. Launchers end the rest where a
 * process fails first, but not where it ends well, or hangs. */
struct start_watch {
    pthread_t thread;
    double patience_seconds;
    _Atomic bool ended;
};

static void *watch_start(void *argument) {
    const struct start_watch *watch = argument;
    struct patience patience = patience_from(clock_seconds());
    while (!atomic_load(&watch->ended)) {
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
        if (patience_look(&patience, clock_seconds()) < watch->patience_seconds)
            continue;
        if (place_speaks(1))
            fprintf(stderr,
                    "error: for %.0f seconds some of the launcher's processes have not started "
                    "MPI; start all of them with one command line, or set PLACE_TIMEOUT to wait "
                    "longer\n",
                    watch->patience_seconds);
        job_end_after(watch->patience_seconds);
        _exit(1); /* the thread that waits cannot be ended */
    }
    return NULL;
}

/* The module's `begin`, which may wait in vain. */
static int begin_watched(const struct transport_module *module, const struct place_program *program,
                         double patience_seconds, struct launch *launch, char *message,
                         size_t message_bytes) {
    struct start_watch watch = {.patience_seconds = patience_seconds};
    bool watched = pthread_create(&watch.thread, NULL, watch_start, &watch) == 0;
    int status = module->begin(program, launch->processes, patience_seconds, &launch->first,
                               message, message_bytes);
    atomic_store(&watch.ended, true);
    if (watched)
        pthread_join(watch.thread, NULL);
    return status;
}

/* Refuses processes that MPI does not join: each would be the whole run. */
static int refuse_strangers(const struct launcher *launcher, char *message, size_t message_bytes) {
    char number[64] = "", processes[16] = "N";
    if (*launcher->processes) {
        snprintf(processes, sizeof processes, "%d", environment_number(launcher->processes, 0));
        snprintf(number, sizeof number, " of %s=%s", launcher->processes, processes);
    }
    snprintf(message, message_bytes,
             "%s has started this process (%s=%d%s), but not by MPI, so each process would train "
             "the whole mesh and write the same files; start them with `mpirun -n %s`%s. If there "
             "is only this one, unset %s",
             launcher->name, launcher->rank, environment_number(launcher->rank, 0), number,
             processes,
             strncmp(launcher->rank, "SLURM", 5) == 0 ? ", or srun's with --mpi=pmix" : "",
             launcher->rank);
    return -1;
}

/* Loads the transport and has it begin. */
static int join_others(const struct place_program *program, double patience_seconds,
                       struct launch *launch, char *message, size_t message_bytes) {
    char why[512] = "it is neither beside the executable nor in the installation; name the folder "
                    "that it is in with PLACE_TRANSPORT_PATH";
    void *library = load_module(program, why, sizeof why);
    const struct transport_module *module = library ? dlsym(library, "place_transport_mpi") : NULL;
    if (!module || module->abi_version != PLACE_ABI_VERSION) {
        snprintf(message, message_bytes, "%s cannot be used: %s", module_name,
                 module ? "it belongs to another version of the runtime; name the folder of this "
                          "version's with PLACE_TRANSPORT_PATH"
                        : why);
        return -1;
    }
    launch->join = module->join;
    launch->end = module->end;
    return begin_watched(module, program, patience_seconds, launch, message, message_bytes);
}

int launch_find(const struct place_program *program, double patience_seconds, struct launch *launch,
                char *message, size_t message_bytes) {
    const struct launcher *launcher = find_launcher();
    *launch = (struct launch){.ranks = (int32_t)program->devices, .processes = 1, .neighbours = 1};
    if (!launcher)
        return 0;
    int32_t processes = environment_number(launcher->processes, INT32_MAX);
    if (processes <= 1) /* also of one that a launcher started alone */
        return 0;
    if (!launcher->is_mpi)
        return refuse_strangers(launcher, message, message_bytes);
    if (program->devices % processes != 0) {
        snprintf(message, message_bytes,
                 "the launcher started %d processes, but the mesh has %lld device%s; start as many "
                 "or a number that divides them",
                 processes, (long long)program->devices, program->devices == 1 ? "" : "s");
        return -1;
    }
    launch->processes = processes;
    launch->patience_seconds = patience_seconds;
    launch->ranks /= processes;
    launch->neighbours = environment_number(launcher->local_processes, processes);
    return join_others(program, patience_seconds, launch, message, message_bytes);
}

void launch_end(const struct launch *launch, int status, int together) {
    if (launch->end && !together && !job_end_after(launch->patience_seconds) && place_speaks(0))
        fprintf(stderr,
                "note: if the job goes on, end it by its launcher's means (scancel, kill)\n");
    if (launch->end)
        launch->end(status, together);
}
