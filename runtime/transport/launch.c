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
#include "runtime/transport/launch.h"

static const char module_name[] = "libplace_mpi.so";

/* The first of these variables that is set, as a number; `otherwise` if none is. */
static int32_t environment_number(const char *const *names, int32_t otherwise) {
    for (; *names; names++)
        if (getenv(*names))
            return atoi(getenv(*names));
    return otherwise;
}

/* How long a launcher may take to end the others when the first has failed. */
enum { PATIENCE_SECONDS = 5 };

int place_speaks(int failing) {
    static const char *const places[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", NULL};
    if (environment_number(places, 0) == 0)
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

int launch_find(const struct place_program *program, double patience_seconds, struct launch *launch,
                char *message, size_t message_bytes) {
    static const char *const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", NULL};
    static const char *const local_sizes[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS",
                                              NULL};
    int32_t processes = environment_number(sizes, 1);
    *launch = (struct launch){.ranks = (int32_t)program->devices, .processes = 1, .neighbours = 1};
    if (processes <= 1) /* also of one that a launcher started alone */
        return 0;
    if (program->devices % processes != 0) {
        snprintf(message, message_bytes,
                 "the launcher started %d processes, but the mesh has %lld device%s; start as many "
                 "or a number that divides them",
                 processes, (long long)program->devices, program->devices == 1 ? "" : "s");
        return -1;
    }
    char why[512] = "it is neither beside the executable nor in the installation";
    void *library = load_module(program, why, sizeof why);
    const struct transport_module *module = library ? dlsym(library, "place_transport_mpi") : NULL;
    if (!module || module->abi_version != PLACE_ABI_VERSION) {
        snprintf(message, message_bytes, "%s cannot be used: %s", module_name,
                 module ? "it belongs to another version of the runtime" : why);
        return -1;
    }
    launch->processes = processes;
    launch->ranks /= processes;
    launch->neighbours = environment_number(local_sizes, processes);
    launch->join = module->join;
    launch->end = module->end;
    return begin_watched(module, program, patience_seconds, launch, message, message_bytes);
}

void launch_end(const struct launch *launch, int status) {
    if (launch->end)
        launch->end(status);
}
