/* Removing old checkpoints (see prune.h). */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "runtime/host/kind.h"
#include "runtime/host/prune.h"
#include "runtime/host/resumable.h"

/* What a step has, by its manifest; the indices follow from that. */
struct old {
    struct resumption resumption; /* of which the path and the manifest */
    int descriptor;               /* -1: not open */
    char name[64];                /* in its folder */
};

static const char *const others[] = {MANIFEST_NAME, CONFIG_NAME, "model" TENSOR_INDEX_SUFFIX,
                                     "states" TENSOR_INDEX_SUFFIX};
enum { OTHERS = sizeof others / sizeof *others };

/* Somebody may have put one of his own there. */
static bool is_own_config(const struct old *old) {
    char path[FILE_PATH_BYTES + sizeof "/" CONFIG_NAME];
    struct stat status;
    snprintf(path, sizeof path, "%s/" CONFIG_NAME, old->resumption.path);
    return lstat(path, &status) == 0 && S_ISREG(status.st_mode) && !kind_missed(FILE_CONFIG, path);
}

static bool is_its_own(const struct old *old, const char *name) {
    const struct tensor_files *files = &old->resumption.manifest.files;
    for (int i = 0; i < OTHERS; i++)
        if (strcmp(name, others[i]) == 0)
            return strcmp(name, CONFIG_NAME) != 0 || is_own_config(old);
    for (int32_t i = 0; i < files->n; i++)
        if (strcmp(name, files->items[i].name) == 0)
            return true;
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Whether it has something that is not of a checkpoint, or nobody can say; what, is then in `why`.
 */
static bool may_have_more(const struct old *old, char *why, size_t why_bytes) {
    DIR *list = folder_list(old->descriptor);
    const struct dirent *entry = NULL;
    errno = list ? 0 : errno;
    while (list && (entry = readdir(list)) && is_its_own(old, entry->d_name))
        errno = 0;
    int reason = errno;
    if (entry)
        snprintf(why, why_bytes, "it has %s, which is of no checkpoint", entry->d_name);
    else if (reason)
        snprintf(why, why_bytes, "it cannot be read: %s", strerror(reason));
    if (list)
        closedir(list);
    return entry || reason;
}

/* Whether it can be removed as a whole; else `why` not. */
static bool can_be_removed(struct folder *folder, struct old *old, char *why, size_t why_bytes) {
    char message[FILE_PATH_BYTES + 256];
    old->descriptor =
        openat(folder->descriptor, old->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (old->descriptor < 0)
        snprintf(why, why_bytes, "%s",
                 errno == ELOOP || errno == ENOTDIR ? "it is no folder" : strerror(errno));
    else if (faccessat(old->descriptor, ".", W_OK | X_OK, AT_EACCESS) != 0)
        snprintf(why, why_bytes, "it may not be: %s", strerror(errno));
    else if (resumption_read_manifest(&old->resumption, message, sizeof message) != 0)
        snprintf(why, why_bytes, "its " MANIFEST_NAME " does not say what is its own");
    else
        return !may_have_more(old, why, why_bytes);
    return false;
}

/* Removes a checkpoint, which has no name of one while only a part of it is there. */
static bool remove_old(struct folder *folder, const struct old *old, char *why, size_t why_bytes) {
    const struct tensor_files *files = &old->resumption.manifest.files;
    char removed[sizeof old->name + 16];
    folder_removed(removed, sizeof removed, old->name);
    if (renameat(folder->descriptor, old->name, folder->descriptor, removed) != 0) {
        snprintf(why, why_bytes, "it may not be: %s", strerror(errno));
        return false;
    }
    for (int i = 0; i < OTHERS; i++)
        unlinkat(old->descriptor, others[i], 0);
    for (int32_t i = 0; i < files->n; i++)
        unlinkat(old->descriptor, files->items[i].name, 0);
    if (unlinkat(folder->descriptor, removed, AT_REMOVEDIR) == 0)
        return true;
    snprintf(why, why_bytes, "%s: what is left of it is in %s", strerror(errno), removed);
    return false;
}

static bool prune_step(struct folder *folder, int64_t step, char *why, size_t why_bytes) {
    struct old old = {.descriptor = -1};
    folder_name(old.resumption.path, sizeof old.resumption.path, folder->path, step);
    snprintf(old.name, sizeof old.name, "%s", strrchr(old.resumption.path, '/') + 1);
    bool gone =
        can_be_removed(folder, &old, why, why_bytes) && remove_old(folder, &old, why, why_bytes);
    resumption_close(&old.resumption);
    if (old.descriptor >= 0)
        close(old.descriptor);
    return gone;
}

void folder_prune(struct folder *folder, int64_t keep, char *message, size_t message_bytes) {
    char why[512];
    int64_t step = INT64_MAX, highest = folder->told;
    size_t used = 0;
    *message = 0;
    for (int64_t i = 0; i < keep && step >= 0; i++)
        step = folder_last_before(folder->path, step);
    while (step >= 0 && (step = folder_last_before(folder->path, step)) >= 0) {
        if (prune_step(folder, step, why, sizeof why) || step <= folder->told ||
            used >= message_bytes)
            continue;
        if (used == 0)
            used = (size_t)snprintf(message, message_bytes, "%s: not removed:", folder->path);
        if (used < message_bytes)
            used += (size_t)snprintf(message + used, message_bytes - used, "%s step %lld, for %s",
                                     highest > folder->told ? ";" : "", (long long)step, why);
        highest = step > highest ? step : highest;
    }
    if (used < message_bytes) /* else what did not fit is told the next time */
        folder->told = highest;
}
