/* What a run reads (see inputs.h). */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "runtime/host/file.h"
#include "runtime/host/inputs.h"

const char *inputs_check(const struct place_run_options *options) {
    bool has_data = options->data.n > 0, has_eval = options->eval.n > 0;
    if (options->targets.n > 0 && !has_data)
        return "--targets says which tokens of the data count: give --data FILE, or leave it out";
    if (options->eval_targets.n > 0 && !has_eval)
        return "--eval-targets says which tokens of held-out data count: give --eval FILE, or "
               "leave it out";
    if (options->data_type && !has_data && !has_eval)
        return "--data-type says what data hold: give --data FILE, or leave it out";
    return NULL;
}

/* Whether the data have text; without any, a vocabulary of all bytes and nothing else is taken for
 * text. */
static bool speaks_text(const struct session *session) {
    const struct dataset *set = session->data.n_parts > 0 ? &session->data : &session->eval;
    return set->n_parts > 0 ? dataset_is_text(set) : session->program->vocab == 256;
}

static int open_prompt(struct session *session, char *message, size_t message_bytes) {
    const struct place_program *program = session->program;
    const char *text = session->options->prompt;
    session->speaks_text = speaks_text(session);
    return text ? prompt_read(&session->prompt, text, session->speaks_text, program->vocab,
                              program->sequence, message, message_bytes)
                : 0;
}

int inputs_open(struct session *session, char *message, size_t message_bytes) {
    const struct place_run_options *options = session->options;
    const struct data_request data = {options->data, options->targets, options->data_type, "--data",
                                      "--targets"},
                              eval = {options->eval, options->eval_targets, options->data_type,
                                      "--eval", "--eval-targets"};
    if (data.names.n > 0 &&
        dataset_open(&session->data, &data, session->program, message, message_bytes) != 0)
        return -1;
    if (eval.names.n > 0 &&
        dataset_open(&session->eval, &eval, session->program, message, message_bytes) != 0)
        return -1;
    return open_prompt(session, message, message_bytes);
}

void inputs_close(struct session *session) {
    dataset_close(&session->data);
    dataset_close(&session->eval);
    prompt_free(&session->prompt);
}

/* ---- told ----------------------------------------------------------------------------------- */

enum { PART_BYTES = FILE_PATH_BYTES + 64 };

/* Part of a sentence, on lines of 80 columns where it can be: from which column on, and to which.
 */
__attribute__((format(printf, 2, 3))) static int say(int column, const char *format, ...) {
    char part[PART_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(part, sizeof part, format, arguments);
    va_end(arguments);
    int length = (int)strlen(part);
    if (column == 0)
        printf("%s", part);
    else if (column + length + 3 <= 80) /* with what stands before and behind it */
        column += printf("; %s", part) - length;
    else
        column = printf(";\n  %s", part) - length - 2;
    return column + length;
}

/* The kind of all files, where they are alike. */
static const char *kind_of(const struct dataset *set, char *kind, size_t bytes) {
    const struct data_part *first = &set->parts[0];
    for (int32_t i = 1; i < set->n_parts; i++)
        if (set->parts[i].kind != first->kind || set->parts[i].width != first->width)
            return "tokens of several kinds";
    return data_kind_said(kind, bytes, first->kind, first->width);
}

static int print_input(const char *name, const struct dataset *set) {
    char kind[64];
    int column =
        say(0, "%s: %s, %s", name, dataset_name(set).text, kind_of(set, kind, sizeof kind));
    column = say(column, "%lld token%s, %lld window%s of %lld", (long long)set->tokens,
                 plural_s(set->tokens), (long long)set->windows, plural_s(set->windows),
                 (long long)set->sequence);
    if (set->target_files.n > 0)
        column = say(column, "targets by %s", targets_name(set).text);
    return column;
}

void inputs_print(const struct session *session) {
    const struct dataset *data = &session->data, *eval = &session->eval;
    int64_t steps = session->options->steps;
    if (data->n_parts > 0) {
        int column = print_input("data", data);
        if (steps > 0)
            say(column, "%lld step%s: %.3g epochs", (long long)steps, plural_s(steps),
                (double)steps * (double)session->program->batch / (double)data->windows);
        printf("\n");
    }
    if (eval->n_parts > 0) {
        print_input("eval data", eval);
        printf("\n");
    }
}

static void print_targets(const char *name, const struct dataset *set) {
    int64_t all = set->windows * set->sequence;
    if (set->targets_that_count < all)
        printf("%s: %lld of %lld targets count\n", name, (long long)set->targets_that_count,
               (long long)all);
}

void inputs_print_targets(const struct session *session) {
    print_targets("data", &session->data);
    print_targets("eval data", &session->eval);
    fflush(stdout);
}

/* ---- looked through ------------------------------------------------------------------------- */

static bool has_no_target(const struct dataset *set) {
    return set->n_parts > 0 && set->idle_windows == set->windows;
}

static enum scan_end refuse_idle(const struct dataset *set, const char *consequence, char *message,
                                 size_t message_bytes) {
    snprintf(message, message_bytes,
             "%s: no token of it counts as a target, so %s; give data that are not all masked%s%s",
             dataset_name(set).text, consequence,
             set->target_files.n > 0 ? ", with the byte 1 for what counts in " : "",
             set->target_files.n > 0 ? targets_name(set).text : "");
    return SCAN_REFUSED;
}

/* Steps that change nothing but the step's number would look like training. */
static bool trains(const struct session *session) {
    return session->options->steps > session->resumption.manifest.step;
}

enum scan_end inputs_scan(struct session *session, int threads, char *message,
                          size_t message_bytes) {
    struct dataset *data = &session->data, *eval = &session->eval;
    int64_t vocab = session->program->vocab;
    enum scan_end end = SCAN_DONE;
    if (data->n_parts > 0)
        end = dataset_scan(data, vocab, threads, message, message_bytes);
    if (!end && eval->n_parts > 0)
        end = dataset_scan(eval, vocab, threads, message, message_bytes);
    if (!end && has_no_target(data) && trains(session))
        return refuse_idle(data, "nothing would be trained", message, message_bytes);
    if (!end && has_no_target(eval))
        return refuse_idle(eval, "there is no loss to report", message, message_bytes);
    return end;
}

static void warn_of_idle(const struct dataset *set, const char *consequence) {
    if (set->idle_windows == 0)
        return;
    fprintf(stderr, "warning: %s: %lld of %lld window%s %s no target: %s\n", dataset_name(set).text,
            (long long)set->idle_windows, (long long)set->windows, plural_s(set->windows),
            set->idle_windows == 1 ? "has" : "have", consequence);
}

/* Somebody's will, or two patterns that fit one file. */
static void warn_of_twice(const struct dataset *set) {
    for (int32_t i = 1; i < set->n_parts; i++)
        for (int32_t j = 0; j < i; j++) {
            const struct data_file *a = &set->parts[i].file, *b = &set->parts[j].file;
            if (a->device == b->device && a->inode == b->inode) {
                fprintf(stderr, "warning: %s is named twice, so its windows are taken twice\n",
                        a->path);
                return;
            }
        }
}

void inputs_warn(const struct session *session) {
    warn_of_twice(&session->data);
    warn_of_twice(&session->eval);
    warn_of_idle(&session->data, "nothing is learned from them");
    warn_of_idle(&session->eval, "the loss does not count them");
}
