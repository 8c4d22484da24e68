/* Files of what is kept on disk (see offload.h). /tmp is memory on many systems, so that the folder of
 * which nobody says anything is the other one that there always is. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include "runtime/copier.h"
#include "runtime/disk.h"
#include "runtime/host/offload.h"
#include "runtime/mesh.h"

const char *offload_folder(const struct place_run_options *options) {
    const char *temporary = getenv("TMPDIR");
    if (options->offload)
        return options->offload;
    return temporary && *temporary ? temporary : "/var/tmp";
}

/* The errno for which there can be no file of so many bytes, or 0. It is tried, for nothing else knows. */
static int obstacle_of(const char *folder, int64_t bytes) {
    struct stat status;
    if (stat(folder, &status) != 0)
        return errno;
    if (!S_ISDIR(status.st_mode))
        return ENOTDIR;
    struct disk *disk = disk_open(folder, bytes);
    int obstacle = disk ? 0 : errno;
    disk_close(disk);
    return obstacle;
}

int offload_check(struct session *session, int ranks, char *message, size_t message_bytes) {
    int64_t each = program_arena_bytes(session->program, PLACE_DISK);
    const char *folder = offload_folder(session->options);
    char need[32], room[32];
    if (each == 0)
        return 0;
    if (!*folder) {
        snprintf(message, message_bytes,
                 "--offload names no folder; give it a name, or leave it out");
        return -1;
    }
    int obstacle = obstacle_of(folder, each);
    if (obstacle) {
        snprintf(message, message_bytes,
                 "%s: what is kept on disk cannot be there: %s; %sname a folder that exists and "
                 "may be written with --offload DIR",
                 folder, strerror(obstacle), disk_remedy(obstacle));
        return -1;
    }
    int64_t there = room_left(&session->claims, folder);
    if (each <= there / ranks) {
        room_claim(&session->claims, folder, each * ranks);
        return 0;
    }
    format_lack(need, room, each * ranks, there);
    snprintf(message, message_bytes,
             "%s: what is kept on disk takes %s (%d rank%s here), but only %s are left there; make "
             "room, or name a folder elsewhere with --offload DIR",
             folder, need, ranks, plural_s(ranks), room);
    return -1;
}

void offload_warn(const struct session *session) {
    const char *folder = offload_folder(session->options), *where;
    struct statfs status;
    if (program_arena_bytes(session->program, PLACE_DISK) == 0 || statfs(folder, &status) != 0)
        return;
    const char *name = file_system_elsewhere((uint32_t)status.f_type, &where);
    if (name)
        fprintf(stderr,
                "warning: %s: what is kept on disk is %s there (%s); name a folder of a local disk "
                "with --offload DIR\n",
                folder, where, name);
}

static int32_t open_file(struct session *session, struct place_context *context) {
    const char *folder = offload_folder(session->options);
    int64_t bytes = context->part->arena_bytes[PLACE_DISK];
    context->disk = disk_open(folder, bytes);
    if (context->disk)
        return PLACE_OK;
    return context_fail(context, -1, PLACE_ERROR_HOST,
                        "%s: no file of %lld bytes for what is kept on disk: %s; name another "
                        "folder with --offload DIR",
                        folder, (long long)bytes, strerror(errno));
}

int32_t offload_begin(struct session *session, struct place_context *context) {
    const int64_t *bytes = context->part->arena_bytes;
    int32_t status = bytes[PLACE_DISK] > 0 ? open_file(session, context) : PLACE_OK;
    if (status || bytes[PLACE_HOST] + bytes[PLACE_DISK] == 0)
        return status;
    context->copier = copier_new(context);
    return context->copier ? PLACE_OK
                           : context_fail(context, -1, PLACE_ERROR_HOST,
                                          "no memory, or no thread, to copy to and from the host");
}

void offload_end(struct place_context *context) {
    copier_free(context->copier);
    disk_close(context->disk);
    context->copier = NULL;
    context->disk = NULL;
}
