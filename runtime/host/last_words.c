/* Where the states of a run are when it ends (see last_words.h). */
#include <stdatomic.h>
#include <stdio.h>
#include "runtime/host/fallback.h"
#include "runtime/host/folder.h"
#include "runtime/host/interrupts.h"
#include "runtime/host/last_words.h"
#include "runtime/host/session.h"

/* ---- for a signal's handler ----------------------------------------------------------------- */

/* The handler may read one while the next is made. */
enum { TEXTS = 2 };
static char texts[TEXTS][4 * FILE_PATH_BYTES];
static int last_text;

static const char *next_text(const struct session *session) {
    const struct checkpoints *checkpoints = &session->checkpoints;
    const char *resumed = session->resumption.path;
    char *text = texts[last_text = (last_text + 1) % TEXTS];
    size_t bytes = sizeof texts[0];
    if (!checkpoints->is_on)
        snprintf(text, bytes, "ended at once: no states were kept\n");
    else if (checkpoints->last >= 0)
        snprintf(
            text, bytes,
            "ended at once: what was trained after step %lld is lost;\n  go on with --resume %s\n",
            (long long)checkpoints->last, checkpoints->path);
    else if (*resumed)
        snprintf(text, bytes,
                 "ended at once: what was trained after %s is lost;\n"
                 "  go on with --resume %s --checkpoint %s\n",
                 resumed, resumed, checkpoints->path);
    else
        snprintf(text, bytes,
                 "ended at once: what was trained is lost,\n"
                 "  for there is no checkpoint yet in %s\n",
                 checkpoints->path);
    return text;
}

void last_words_prepare(const struct session *session, bool has_first_rank) {
    const struct place_run_options *options = session->options;
    bool trains = options->steps > session->resumption.manifest.step;
    bool keeps = session->checkpoints.is_on || options->save || options->dump;
    interrupts_promise(trains && !keeps
                           ? INTERRUPTED("the step is ended first, and no states are kept,\n"
                                         "  for there is neither --checkpoint nor --save")
                           : INTERRUPTED("the step is ended and files are written first"),
                       trains && has_first_rank ? next_text(session) : NULL);
}

/* ---- at the end ----------------------------------------------------------------------------- */

/* The checkpoint before the last: in its folder, or the one from which the run went on. False:
 * there is none. */
static bool find_earlier(const struct session *session, int64_t last, char name[FILE_PATH_BYTES]) {
    const struct resumption *resumption = &session->resumption;
    int64_t step = folder_last_before(session->checkpoints.path, last);
    if (step >= 0)
        folder_name(name, FILE_PATH_BYTES, session->checkpoints.path, step);
    else if (*resumption->path && resumption->manifest.step < last)
        snprintf(name, FILE_PATH_BYTES, "%s", resumption->path);
    else
        return false;
    return true;
}

/* The loss of a step is that of the states before it; those of further back lead to it, on the same
 * devices with the same bits. */
static void report_before_poisoned(const struct session *session, int64_t last) {
    const char *path = session->checkpoints.path;
    char earlier[FILE_PATH_BYTES], beside[FILE_PATH_BYTES];
    int64_t poisoned = atomic_load(&session->poisoned);
    bool has_earlier = find_earlier(session, last, earlier);
    name_beside(beside, path);
    fprintf(stderr, "the states of step %lld are in %s, but ", (long long)last, path);
    if (last == poisoned - 1)
        fprintf(stderr, "step %lld fails on them whatever the rate; lower it in the file, and ",
                (long long)poisoned);
    else
        fprintf(stderr,
                "lead to the same again; lower the rate in the file, and go on with --resume %s%s",
                path, has_earlier ? ", or " : "");
    if (has_earlier)
        fprintf(stderr, "go on from before with --resume %s --checkpoint %s", earlier, beside);
    else if (last == poisoned - 1)
        fprintf(stderr, "begin anew with --checkpoint %s", beside);
    fputc('\n', stderr);
}

/* What is in the folder now: somebody may have removed what was written. */
static void report_checkpoint(const struct session *session, int status) {
    const struct checkpoints *checkpoints = &session->checkpoints;
    int64_t last = folder_last(checkpoints->path);
    if (last < 0)
        fprintf(stderr,
                "note: the checkpoint of step %lld is no longer in %s; somebody has removed it\n",
                (long long)checkpoints->last, checkpoints->path);
    else if (atomic_load(&session->poisoned))
        report_before_poisoned(session, last);
    else
        fprintf(status ? stderr : stdout,
                "the states of step %lld are in %s; go on with --resume %s\n", (long long)last,
                checkpoints->path, checkpoints->path);
}

void last_words_say(const struct session *session, int status) {
    const struct checkpoints *checkpoints = &session->checkpoints;
    if (atomic_load(&session->trained) == 0)
        return;
    if (checkpoints->is_on && checkpoints->last >= 0)
        report_checkpoint(session, status);
    else if (checkpoints->is_on)
        fprintf(stderr, "note: there is no checkpoint yet in %s%s\n", checkpoints->path,
                session->options->save_every ? "" : "; --save-every N writes some on the way");
    else if (status == 1)
        fprintf(stderr, "note: no states were kept; with --checkpoint DIR a run can go on, and "
                        "--save-every N keeps some on the way\n");
}
