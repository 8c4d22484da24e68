/* The checkpoint to go on from where another is damaged (see fallback.h). */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "runtime/host/folder.h"
#include "runtime/host/fallback.h"
#include "runtime/transport/collective.h"

static bool has_content(const struct resumption *resumption) {
    const struct tensor_files *files = &resumption->manifest.files;
    struct panel *panel = panel_new();
    bool same = panel != NULL;
    for (int32_t i = 0; i < files->entries.n && same; i++) {
        const struct entry *entry = &files->entries.items[i];
        struct place_in_file place = {.descriptor =
                                          resumption->descriptors[tensor_files_of(files, i)],
                                      .offset = files->offsets[i]};
        content_sum sum;
        same = whole_sum(panel, entry_elements(entry), (size_t)dtype_size(entry->dtype), &place,
                         &sum) == 0 &&
               sum == resumption->manifest.sums[i];
    }
    panel_free(panel);
    return same;
}

/* Whether a run of this program can go on from it. */
static bool is_whole(const struct place_program *program, const struct entries *wanted,
                     const char *folder, int64_t step) {
    struct resumption other = {.wanted = wanted};
    char unused[256];
    folder_name(other.path, sizeof other.path, folder, step);
    bool whole =
        resumption_open_named(&other, program, unused, sizeof unused) == 0 && has_content(&other);
    resumption_close(&other);
    return whole;
}

/* The last of a folder that is whole, but for one step's; -1: there is none. */
static int64_t find_whole(const struct place_program *program, const struct entries *wanted,
                          const char *folder, int64_t but) {
    int64_t step = folder_last(folder);
    while (step >= 0 && (step == but || !is_whole(program, wanted, folder, step)))
        step = folder_last_before(folder, step);
    return step;
}

/* "." and ".." are no names that a number could be put behind. */
void name_beside(char name[FILE_PATH_BYTES], const char *folder) {
    char place[PATH_MAX];
    const char *slash = strrchr(folder, '/'), *last = slash ? slash + 1 : folder;
    int n = 2;
    if ((strcmp(last, ".") == 0 || strcmp(last, "..") == 0) && realpath(folder, place))
        folder = place;
    do
        snprintf(name, FILE_PATH_BYTES, "%.4000s-%d", folder, n);
    while (access(name, F_OK) == 0 && n++ < INT16_MAX);
}

void advise_fallback(const struct resumption *resumption, const struct place_program *program,
                     char *message, size_t message_bytes) {
    const struct place_run_options *options = resumption->options;
    char folder[FILE_PATH_BYTES], whole[FILE_PATH_BYTES], beside[FILE_PATH_BYTES];
    int64_t damaged;
    size_t used = strlen(message);
    message += used;
    message_bytes -= used;
    if (!folder_of(resumption->path, folder, &damaged)) {
        snprintf(message, message_bytes, "; go on from another checkpoint");
        return;
    }
    int64_t step = find_whole(program, resumption->wanted, folder, damaged);
    bool writes_here = !options->checkpoint || is_same_place(options->checkpoint, folder);
    bool needs_another = options->steps > step && writes_here && step < folder_last(folder);
    name_beside(beside, folder);
    folder_name(whole, sizeof whole, folder, step);
    if (step < 0)
        snprintf(message, message_bytes,
                 "; %s has no other that is whole: leave out --resume to begin anew, with "
                 "--checkpoint %s",
                 folder, beside);
    else
        snprintf(message, message_bytes,
                 "; go on from the last that is whole, with --resume %s%s%s", whole,
                 needs_another ? " --checkpoint " : "", needs_another ? beside : "");
}
