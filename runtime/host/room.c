/* See room.h. */
#include "runtime/host/room.h"
#include <stddef.h>
#include <sys/stat.h>
#include "runtime/disk.h"

/* The claim on the path's file system: of no bytes, if there was none; NULL: it cannot be asked, or there are too many
 * of them. */
static struct claim *claim_of(struct claims *claims, const char *path) {
    struct stat status;
    if (stat(path, &status) != 0)
        return NULL;
    for (int i = 0; i < claims->n; i++)
        if (claims->list[i].device == (uint64_t)status.st_dev)
            return &claims->list[i];
    if (claims->n == MOST_FILE_SYSTEMS)
        return NULL;
    claims->list[claims->n] = (struct claim){(uint64_t)status.st_dev, 0};
    return &claims->list[claims->n++];
}

int64_t room_left(struct claims *claims, const char *path) {
    const struct claim *claim = claim_of(claims, path);
    int64_t there = disk_room(path), taken = claim ? claim->bytes : 0;
    if (there == INT64_MAX)
        return there;
    return there > taken ? there - taken : 0;
}

void room_claim(struct claims *claims, const char *path, int64_t bytes) {
    struct claim *claim = claim_of(claims, path);
    if (claim)
        claim->bytes += bytes;
}

const char *room_beside(struct claims *claims, const char *path) {
    const struct claim *claim = claim_of(claims, path);
    return claim && claim->bytes ? " beside what else this run writes there" : "";
}
