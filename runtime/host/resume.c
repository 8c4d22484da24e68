/* Going on from a checkpoint (see resume.h). */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "runtime/host/folder.h"
#include "runtime/host/fallback.h"
#include "runtime/host/items.h"
#include "runtime/host/resume.h"
#include "runtime/host/segments.h"
#include "runtime/transport/transport.h"

/* Whether one command starts a run and goes on with it: it names the folder for both. */
static bool may_begin_anew(const struct place_run_options *options) {
    return options->checkpoint && options->steps > 0 &&
           is_same_place(options->resume, options->checkpoint);
}

/* Refuses a folder without a checkpoint. */
static int refuse_empty(const struct place_run_options *options, const char *why, char *message,
                        size_t message_bytes) {
    const char *path = options->resume;
    if (options->steps == 0)
        snprintf(message, message_bytes,
                 "%s: %s; name a checkpoint, or a folder of them, that a run with --checkpoint DIR "
                 "has written",
                 path, why);
    else
        snprintf(message, message_bytes,
                 "%s: %s; with --resume %s --checkpoint %s a run begins anew where there is none, "
                 "and goes on where there is",
                 path, why, path, path);
    return -1;
}

/* The last of a folder, or the one that was named; none where the run begins anew. */
static int find_checkpoint(struct resumption *resumption, const struct place_run_options *options,
                           char *message, size_t message_bytes) {
    const char *path = options->resume;
    char inside[FILE_PATH_BYTES + sizeof MANIFEST_NAME];
    int64_t last = folder_last(path);
    bool is_missing = last < 0 && errno == ENOENT;
    if (is_missing && may_begin_anew(options))
        return 0;
    if (is_missing)
        return refuse_empty(options, "there is no such folder", message, message_bytes);
    if (strlen(path) >= FILE_PATH_BYTES - 64 || (last < 0 && errno)) {
        snprintf(message, message_bytes,
                 "%s: cannot be read: %s; --resume takes a checkpoint, or a folder of them", path,
                 errno ? strerror(errno) : strerror(ENAMETOOLONG));
        return -1;
    }
    snprintf(inside, sizeof inside, "%s/" MANIFEST_NAME, path);
    if (last >= 0)
        folder_name(resumption->path, sizeof resumption->path, path, last);
    else if (access(inside, F_OK) == 0)
        snprintf(resumption->path, sizeof resumption->path, "%s", path);
    else if (!may_begin_anew(options))
        return refuse_empty(options, "there is no whole checkpoint in it", message, message_bytes);
    return 0;
}

int resumption_open(struct resumption *resumption, const struct place_run_options *options,
                    const struct place_program *program, const struct entries *wanted,
                    char *message, size_t message_bytes) {
    resumption->options = options;
    resumption->wanted = wanted;
    if (find_checkpoint(resumption, options, message, message_bytes) != 0)
        return -1;
    if (!*resumption->path ||
        resumption_open_named(resumption, program, message, message_bytes) == 0)
        return 0;
    if (resumption->is_damaged)
        advise_fallback(resumption, program, message, message_bytes);
    return -1;
}

/* ---- states --------------------------------------------------------------------------------- */

/* Ends the run, with what is wrong and what to run instead. */
static int32_t fail_damaged(const struct resumption *resumption, struct place_context *context,
                            int32_t source, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static int32_t fail_damaged(const struct resumption *resumption, struct place_context *context,
                            int32_t source, const char *format, ...) {
    const struct tensor_files *files = &resumption->manifest.files;
    char message[2 * FILE_PATH_BYTES], what[ENTRY_NAME_BYTES + 128];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    snprintf(message, sizeof message, "%s/%s: %s", resumption->path,
             files->items[tensor_files_of(files, source)].name, what);
    advise_fallback(resumption, context->program, message, sizeof message);
    return context_fail(context, -1, PLACE_ERROR_HOST, "%s", message);
}

/* Reads what the rank has of a tensor. Of copies the first is added to its sum. */
static int32_t read_entry(const struct resumption *resumption, struct place_context *context,
                          struct panel *panel, int32_t i, content_sum *sum) {
    const struct entry *entry = &resumption->wanted->items[i];
    const struct tensor_files *files = &resumption->manifest.files;
    int32_t source = resumption->sources[i], file = tensor_files_of(files, source);
    struct place_in_file place = {.descriptor = resumption->descriptors[file],
                                  .offset = files->offsets[source]};
    for (const struct component *c = entry->components; c; c = c->next) {
        int64_t copies, copy = entry_copy(context->program, entry, c, context->rank, &copies);
        content_sum unused = 0;
        if (copy < 0)
            continue;
        enum part_end end =
            part_read(context, panel, entry, c, &place, copy == 0 && !c->again ? sum : &unused);
        if (end == PART_ITEM_FAILED)
            return fail_item(context, c->buffer);
        if (end == PART_FILE_FAILED)
            return fail_damaged(resumption, context, source, "%s cannot be read: %s",
                                files->entries.items[source].name, file_shortfall());
    }
    return PLACE_OK;
}

/* The first tensor whose content is not what was written, among those of the manifest; -1: none.
 * `sums` of all ranks, in order. */
static int32_t find_other_content(const struct resumption *resumption, int64_t ranks,
                                  const content_sum *sums) {
    int32_t n = resumption->wanted->n;
    for (int32_t i = 0; i < n; i++) {
        content_sum sum = 0;
        for (int64_t rank = 0; rank < ranks; rank++)
            sum += sums[rank * n + i];
        if (sum != resumption->manifest.sums[resumption->sources[i]])
            return resumption->sources[i];
    }
    return -1;
}

/* All ranks find the same. Rank 0 says it, and looks for another checkpoint first, while a process
 * that ended would end the job. */
static int32_t check_sums(const struct resumption *resumption, struct place_context *context,
                          const content_sum *sums) {
    int32_t source = find_other_content(resumption, context->program->devices, sums);
    if (source < 0)
        return PLACE_OK;
    if (context->rank == 0)
        return fail_damaged(resumption, context, source,
                            "the content of %s is not what was written: the file is damaged, or of "
                            "another checkpoint",
                            resumption->manifest.files.entries.items[source].name);
    return host_share(context, NULL, NULL, 0);
}

int32_t resumption_read(const struct resumption *resumption, struct place_context *context) {
    size_t n = (size_t)resumption->wanted->n;
    struct panel *panel = panel_new();
    content_sum *mine = calloc(n + 1, sizeof *mine);
    content_sum *all = malloc((n * (size_t)context->program->devices + 1) * sizeof *all);
    int32_t status = panel && mine && all
                         ? PLACE_OK
                         : context_fail(context, -1, PLACE_ERROR_HOST, "%s: no memory to read it",
                                        resumption->path);
    for (int32_t i = 0; i < resumption->wanted->n && !status; i++)
        status = read_entry(resumption, context, panel, i, &mine[i]);
    if (!status)
        status = host_share(context, mine, all, n * sizeof *mine);
    if (!status)
        status = check_sums(resumption, context, all);
    panel_free(panel);
    free(mine);
    free(all);
    return status;
}
