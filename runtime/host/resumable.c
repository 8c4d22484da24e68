/* Opening a checkpoint, and whether a program can go on from it (see resumable.h). */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "runtime/host/fields.h"
#include "runtime/host/folder.h"
#include "runtime/host/progress.h"
#include "runtime/host/resumable.h"
#include "runtime/host/safetensors.h"

/* ---- files ---------------------------------------------------------------------------------- */

static int open_file(const char *folder, const char *name, int64_t *bytes) {
    char path[FILE_PATH_BYTES];
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    return file_open_regular(path, bytes);
}

/* ---- the manifest --------------------------------------------------------------------------- */

/* What is newer than this program is not damaged. */
static bool is_newer(const struct resumption *resumption) {
    return resumption->manifest.version > MANIFEST_VERSION;
}

int resumption_read_manifest(struct resumption *resumption, char *message, size_t message_bytes) {
    enum { MOST_BYTES = 1 << 28 };
    char why[256];
    int64_t bytes;
    int descriptor = open_file(resumption->path, MANIFEST_NAME, &bytes), status = -1;
    resumption->is_damaged = true;
    if (descriptor < 0) {
        snprintf(message, message_bytes, "%s: its " MANIFEST_NAME " cannot be read: %s",
                 resumption->path, file_obstacle());
        return -1;
    }
    bool too_large = bytes > MOST_BYTES;
    char *text = too_large ? NULL : malloc((size_t)bytes + 1);
    if (too_large)
        snprintf(message, message_bytes,
                 "%s/" MANIFEST_NAME ": it has %lld bytes, more than any has", resumption->path,
                 (long long)bytes);
    else if (!text)
        snprintf(message, message_bytes, "%s/" MANIFEST_NAME ": no memory for its %lld bytes",
                 resumption->path, (long long)bytes);
    else if (file_read(descriptor, text, (size_t)bytes, 0) != (size_t)bytes)
        snprintf(message, message_bytes, "%s/" MANIFEST_NAME ": cannot be read: %s",
                 resumption->path, file_shortfall());
    else if (manifest_parse(&resumption->manifest, text, (size_t)bytes, why, sizeof why) != 0)
        snprintf(message, message_bytes, "%s/" MANIFEST_NAME ", %s", resumption->path, why);
    else
        status = 0;
    resumption->is_damaged = (text || too_large) && status != 0 && !is_newer(resumption);
    free(text);
    close(descriptor);
    return status;
}

/* A folder that was renamed, or has another's manifest, is not the one that its name says. */
static int check_step(struct resumption *resumption, char *message, size_t message_bytes) {
    char folder[FILE_PATH_BYTES];
    int64_t named, step = resumption->manifest.step;
    if (!folder_of(resumption->path, folder, &named) || named == step)
        return 0;
    resumption->is_damaged = true;
    snprintf(message, message_bytes,
             "%s: its " MANIFEST_NAME " is of step %lld: the folder was renamed, or has files of "
             "another checkpoint",
             resumption->path, (long long)step);
    return -1;
}

/* ---- what the program needs ----------------------------------------------------------------- */

static void format_shape(char *text, size_t bytes, const struct entry *entry) {
    size_t used = (size_t)snprintf(text, bytes, "%s [", safetensors_dtype(entry->dtype));
    for (int i = 0; i < entry->n_shape && used < bytes; i++)
        used += (size_t)snprintf(text + used, bytes - used, "%s%lld", i ? ", " : "",
                                 (long long)entry->shape[i]);
    snprintf(text + used, used < bytes ? bytes - used : 0, "]");
}

static bool is_alike(const struct entry *a, const struct entry *b) {
    return a->dtype == b->dtype && a->n_shape == b->n_shape &&
           memcmp(a->shape, b->shape, (size_t)a->n_shape * sizeof a->shape[0]) == 0;
}

/* The copy that is updated is the most exact there is; where a program keeps none beside its
 * parameters, they are it. */
static int32_t find_source(const struct entries *there, const struct entry *entry) {
    enum { PREFIX = sizeof MASTER_PREFIX - 1 };
    char name[ENTRY_NAME_BYTES + PREFIX];
    int32_t found = -1;
    if (entry->components->buffer->class == PLACE_MASTER &&
        !component_is_rounded(entry, entry->components)) {
        bool has_prefix = strncmp(entry->name, MASTER_PREFIX, PREFIX) == 0;
        snprintf(name, sizeof name, "%s%s", has_prefix ? "" : MASTER_PREFIX, entry->name);
        found = entries_find(there, name);
        return found >= 0 ? found : entries_find(there, name + PREFIX);
    }
    return entries_find(there, entry->name);
}

/* A tensor that no state takes would be lost without a word. What is wrong, or null. */
static const struct entry *find_unused(const struct resumption *resumption) {
    const struct entries *there = &resumption->manifest.files.entries;
    const struct entry *unused = NULL;
    char *used = calloc((size_t)there->n + 1, 1);
    for (int32_t i = 0; used && i < resumption->wanted->n; i++) {
        used[resumption->sources[i]] = 1;
        int32_t named = entries_find(there, resumption->wanted->items[i].name);
        if (named >= 0) /* parameters, where the copy that is updated was taken */
            used[named] = 1;
    }
    for (int32_t i = there->n; used && i-- > 0;)
        if (!used[i] && strncmp(there->items[i].name, MASTER_PREFIX, sizeof MASTER_PREFIX - 1) != 0)
            unused = &there->items[i];
    free(used);
    return unused;
}

/* Tensors of equal shapes may be another model's. Nobody knows where a text is missing. */
int resumption_match_model(const struct resumption *resumption, const struct place_program *program,
                           char *message, size_t message_bytes) {
    const char *there = resumption->manifest.model, *here = program->model;
    struct field_difference first;
    size_t at = 0;
    if (!here || !*there || !field_difference_next(there, here, &at, &first))
        return 0;
    snprintf(message, message_bytes,
             "%s: it is of another model: %s %s, here %s; go on with a file that has the same",
             resumption->path, first.name, first.there, first.here);
    return -1;
}

static const char *how_it_differs(const struct entry *there, const struct entry *here) {
    bool same_shape =
        there->n_shape == here->n_shape &&
        memcmp(there->shape, here->shape, (size_t)here->n_shape * sizeof here->shape[0]) == 0;
    return same_shape ? "it is of another precision; go on with that one"
                      : "it is of another model";
}

static int match_entry(struct resumption *resumption, int32_t i, char *message,
                       size_t message_bytes) {
    const struct entries *there = &resumption->manifest.files.entries;
    const struct entry *entry = &resumption->wanted->items[i];
    char is[128], wanted[128];
    int32_t source = find_source(there, entry);
    resumption->sources[i] = source;
    if (source >= 0 && is_alike(&there->items[source], entry))
        return 0;
    if (source < 0) {
        snprintf(message, message_bytes,
                 "%s: it has no %s, which this program needs: it is of another model, optimizer or "
                 "mesh of devices with states of their own; go on with a file that has the same",
                 resumption->path, entry->name);
        return -1;
    }
    format_shape(is, sizeof is, &there->items[source]);
    format_shape(wanted, sizeof wanted, entry);
    snprintf(message, message_bytes, "%s: %s is %s there, and %s in this program: %s",
             resumption->path, entry->name, is, wanted,
             how_it_differs(&there->items[source], entry));
    return -1;
}

static int match(struct resumption *resumption, const struct place_program *program, char *message,
                 size_t message_bytes) {
    int64_t islands = axes_parts(program, &program->islands);
    if (resumption_match_model(resumption, program, message, message_bytes) != 0)
        return -1;
    if (resumption->manifest.islands != islands) {
        snprintf(message, message_bytes,
                 "%s: it is of %lld model%s trained apart between averages, and this program has "
                 "%lld; go on with as many",
                 resumption->path, (long long)resumption->manifest.islands,
                 plural_s(resumption->manifest.islands), (long long)islands);
        return -1;
    }
    resumption->sources = calloc((size_t)resumption->wanted->n + 1, sizeof(int32_t));
    if (!resumption->sources || !entries_index(&resumption->manifest.files.entries)) {
        snprintf(message, message_bytes, "%s: no memory to read it", resumption->path);
        return -1;
    }
    for (int32_t i = 0; i < resumption->wanted->n; i++)
        if (match_entry(resumption, i, message, message_bytes) != 0)
            return -1;
    const struct entry *unused = find_unused(resumption);
    if (!unused)
        return 0;
    snprintf(message, message_bytes,
             "%s: it has %s, for which this program has no place: it is of another model, "
             "optimizer or mesh of devices with states of their own; go on with a file that has "
             "the same",
             resumption->path, unused->name);
    return -1;
}

/* Whether a file is the one that was written: of its size, and with its header. */
static int check_file(struct resumption *resumption, int32_t i, char *message,
                      size_t message_bytes) {
    const struct tensor_file *file = &resumption->manifest.files.items[i];
    int64_t bytes;
    int descriptor = open_file(resumption->path, file->name, &bytes);
    resumption->descriptors[i] = descriptor;
    resumption->is_damaged = descriptor < 0 || bytes != file->bytes;
    if (descriptor < 0) {
        snprintf(message, message_bytes, "%s/%s: cannot be read: %s", resumption->path, file->name,
                 file_obstacle());
        return -1;
    }
    if (bytes != file->bytes) {
        snprintf(message, message_bytes,
                 "%s/%s: it has %lld byte%s, and had %lld when it was written", resumption->path,
                 file->name, (long long)bytes, plural_s(bytes), (long long)file->bytes);
        return -1;
    }
    char *header = malloc(file->header_bytes);
    bool read =
        header && file_read(descriptor, header, file->header_bytes, 0) == file->header_bytes;
    bool same = read && memcmp(header, file->header, file->header_bytes) == 0;
    if (!read)
        snprintf(message, message_bytes, "%s/%s: cannot be read: %s", resumption->path, file->name,
                 header ? file_shortfall() : "no memory");
    else if (!same)
        snprintf(message, message_bytes,
                 "%s/%s: its header is not the one that was written: it is damaged, or of another "
                 "checkpoint",
                 resumption->path, file->name);
    resumption->is_damaged = header && !same;
    free(header);
    return same ? 0 : -1;
}

int resumption_open_named(struct resumption *resumption, const struct place_program *program,
                          char *message, size_t message_bytes) {
    if (resumption_read_manifest(resumption, message, message_bytes) != 0 ||
        check_step(resumption, message, message_bytes) != 0)
        return -1;
    int32_t n = resumption->manifest.files.n;
    resumption->descriptors = malloc(((size_t)n + 1) * sizeof(int));
    for (int32_t i = 0; resumption->descriptors && i < n; i++)
        resumption->descriptors[i] = -1;
    if (!resumption->descriptors) {
        snprintf(message, message_bytes, "%s: no memory to read it", resumption->path);
        return -1;
    }
    if (match(resumption, program, message, message_bytes) != 0)
        return -1;
    for (int32_t i = 0; i < n; i++)
        if (check_file(resumption, i, message, message_bytes) != 0)
            return -1;
    return 0;
}

void resumption_close(struct resumption *resumption) {
    for (int32_t i = 0; resumption->descriptors && i < resumption->manifest.files.n; i++)
        if (resumption->descriptors[i] >= 0)
            close(resumption->descriptors[i]);
    free(resumption->descriptors);
    free(resumption->sources);
    manifest_free(&resumption->manifest);
    *resumption = (struct resumption){0};
}
