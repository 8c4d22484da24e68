/* The run's log (see log.h). */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "runtime/host/arena.h"
#include "runtime/host/file.h"
#include "runtime/host/log.h"

enum { LINE_BYTES = 16384 };

struct line {
    char text[LINE_BYTES];
    size_t used;
};

static void line_add(struct line *line, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void line_add(struct line *line, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(line->text + line->used, LINE_BYTES - line->used, format, arguments);
    va_end(arguments);
    line->used += (size_t)n;
    if (line->used >= LINE_BYTES)
        line->used = LINE_BYTES - 1;
}

size_t quote_json(char *to, size_t bytes, const char *text) {
    size_t used = 0;
    char piece[8];
    used += (size_t)snprintf(to, bytes, "\"");
    for (; *text && used + 8 < bytes; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            snprintf(piece, sizeof piece, "\\%c", c);
        else if (c < 32)
            snprintf(piece, sizeof piece, "\\u%04x", c);
        else
            snprintf(piece, sizeof piece, "%c", c);
        used += (size_t)snprintf(to + used, bytes - used, "%s", piece);
    }
    return used + (size_t)snprintf(to + used, bytes - used, "\"");
}

static void line_string(struct line *line, const char *text) {
    if (!text)
        line_add(line, "null");
    else if (line->used < LINE_BYTES - 8)
        line->used += quote_json(line->text + line->used, LINE_BYTES - line->used, text);
}

/* JSON has no number for these. */
static void line_number(struct line *line, const char *name, double value) {
    if (isfinite(value))
        line_add(line, ", \"%s\": %.17g", name, value);
    else
        line_add(line, ", \"%s\": null", name);
}

/* One write per line; what a full disk left of one is cut off again. Why it took a part is what it
 * says of the rest. */
static int line_write(struct run_log *log, struct line *line, char *message, size_t message_bytes) {
    line_add(line, "\n");
    size_t written = 0;
    while (written < line->used) {
        ssize_t n = write(log->descriptor, line->text + written, line->used - written);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        written += (size_t)n;
    }
    if (written == line->used) {
        log->length += (int64_t)written;
        return 0;
    }
    int reason = errno;
    if (written > 0 && ftruncate(log->descriptor, log->length) != 0)
        reason = errno;
    snprintf(message, message_bytes, "%s: the log cannot be written: %s; it ends with a whole line",
             log->path, strerror(reason));
    return -1;
}

/* Writes what is relaxed, as `check --json` says it. */
static void line_relaxed(struct line *line, const struct place_program *program, int32_t i) {
    const struct place_relaxed *relaxed = &program->relaxed[i];
    line_add(line, "%s{\"condition\": ", i ? ", " : "");
    line_string(line, relaxed->condition);
    line_add(line, ", \"axes\": [");
    for (int32_t k = 0; k < relaxed->axes.n; k++) {
        line_add(line, k ? ", " : "");
        line_string(line, program->axes[relaxed->axes.axes[k]].name);
    }
    line_add(line, "], \"line\": %d}", relaxed->line);
}

static int write_header(struct run_log *log, const struct place_program *program, char *message,
                        size_t message_bytes) {
    struct line line = {.used = 0};
    line_add(&line, "{\"schema\": 1, \"plan_hash\": ");
    line_string(&line, program->plan_hash);
    line_add(&line, ", \"mesh\": [");
    for (int i = 0; i < program->n_axes; i++) {
        line_add(&line, "%s{\"axis\": ", i ? ", " : "");
        line_string(&line, program->axes[i].name);
        line_add(&line, ", \"size\": %lld, \"factors\": null}", (long long)program->axes[i].size);
    }
    line_add(&line, "], \"relaxed\": [");
    for (int32_t i = 0; i < program->n_relaxed; i++)
        line_relaxed(&line, program, i);
    line_add(&line, "], \"held\": {");
    for (int i = 0; i < LIVE_TRANSIENT; i++)
        line_add(&line, "%s\"%s\": %lld", i ? ", " : "", live_state_names[i],
                 (long long)arena_held_bytes(program, (enum live_state)i));
    line_add(&line, "}}");
    return line_write(log, &line, message, message_bytes);
}

/* Up to the end of the last whole line: what a killed run left of another is cut off. Of what is
 * not a regular file, nothing. */
static int64_t whole_lines_bytes(const char *place) {
    char piece[4096];
    struct stat status;
    int64_t end = 0;
    int descriptor = open(place, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (descriptor >= 0 && fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode))
        end = status.st_size;
    while (end > 0) {
        int64_t begin = end > (int64_t)sizeof piece ? end - (int64_t)sizeof piece : 0;
        ssize_t n = pread(descriptor, piece, (size_t)(end - begin), begin);
        const char *last = n > 0 ? memrchr(piece, '\n', (size_t)n) : NULL;
        end = last ? begin + (last - piece) + 1 : begin;
        if (last)
            break;
    }
    if (descriptor >= 0)
        close(descriptor);
    return end;
}

/* A pipe of the shell's, as /dev/stderr may lead to, has no name: it is opened by the link. A pipe
 * that nobody reads is refused, not waited for; one that is read may be slow. */
static int open_place(const char *path, const char *place) {
    enum { HOW = O_WRONLY | O_CLOEXEC | O_NONBLOCK };
    struct stat status;
    bool nameless = lstat(place, &status) != 0 && stat(path, &status) == 0 &&
                    !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
    return nameless ? open(path, HOW) : open(place, HOW | O_CREAT | O_NOFOLLOW, 0666);
}

int run_log_open(struct run_log *log, const char *path, bool goes_on,
                 const struct place_program *program, char *message, size_t message_bytes) {
    char place[FILE_PATH_BYTES];
    *log = (struct run_log){.path = path, .descriptor = -1};
    if (follow_links(path, place) == 0)
        log->descriptor = open_place(path, place);
    if (log->descriptor < 0) {
        snprintf(message, message_bytes, "%s: the log cannot be opened: %s; %s", path,
                 strerror(errno),
                 errno == ENXIO ? "start who reads this pipe first"
                                : "name a file in a folder that exists and may be written");
        return -1;
    }
    fcntl(log->descriptor, F_SETFL, 0);
    if (!file_lock(log->descriptor)) {
        snprintf(message, message_bytes,
                 "%s: another run writes this log; give this one a log of its own", path);
        run_log_close(log);
        return -1;
    }
    log->length = goes_on ? whole_lines_bytes(place) : 0;
    /* Not a regular file (a pipe, /dev/null) has nothing to forget. */
    if ((ftruncate(log->descriptor, log->length) != 0 && errno != EINVAL) ||
        (log->length > 0 && lseek(log->descriptor, log->length, SEEK_SET) < 0)) {
        snprintf(message, message_bytes, "%s: the log cannot be written: %s", path,
                 strerror(errno));
        run_log_close(log);
        return -1;
    }
    int status = write_header(log, program, message, message_bytes);
    if (status != 0)
        run_log_close(log);
    return status;
}

/* The tiers behind the device. */
static const char *const tier_names[PLACE_N_TIERS] = {
    [PLACE_HOST] = "host",
    [PLACE_DISK] = "disk",
};

/* What was alive at most, by state, and what of the plan that does not fit. */
static void line_live(struct line *line, const struct live_report *live) {
    const struct live_bytes *peak = &live->peak[PLACE_DEVICE];
    line_add(line, ", \"live_bytes\": {\"peak\": %lld", (long long)peak->sum);
    for (int i = 0; i < LIVE_STATES; i++)
        line_add(line, ", \"%s\": %lld", live_state_names[i], (long long)peak->states[i]);
    for (int tier = PLACE_HOST; tier < PLACE_N_TIERS; tier++)
        line_add(line, ", \"%s\": %lld", tier_names[tier], (long long)live->peak[tier].sum);
    line_add(line, ", \"statement\": %d, \"end\": %lld, \"overlapping\": %lld",
             live->peak_statement, (long long)live->end[PLACE_DEVICE],
             (long long)live->overlapping);
    line_add(line, ", \"unfreed\": %lld, \"unused\": %lld}", (long long)live->unfreed,
             (long long)live->unused);
}

/* Bytes of the tiers behind the device. */
static void line_tiers(struct line *line, const char *name, const int64_t bytes[PLACE_N_TIERS]) {
    line_add(line, ", \"%s\": {", name);
    for (int tier = PLACE_HOST; tier < PLACE_N_TIERS; tier++)
        line_add(line, "%s\"%s\": %lld", tier > PLACE_HOST ? ", " : "", tier_names[tier],
                 (long long)bytes[tier]);
    line_add(line, "}");
}

int run_log_step(struct run_log *log, const struct place_program *program,
                 const struct step_record *record, char *message, size_t message_bytes) {
    struct line line = {.used = 0};
    line_add(&line, "{\"step\": %lld", (long long)record->step);
    line_number(&line, "loss", record->loss);
    line_number(&line, "grad_norm", record->grad_norm);
    line_number(&line, "lr", record->learning_rate);
    if (record->is_scaled) {
        line_number(&line, "loss_scale", record->loss_scale);
        line_add(&line, ", \"skipped\": %s", record->skipped ? "true" : "false");
    }
    line_add(&line, ", \"tokens\": %lld", (long long)record->tokens);
    line_number(&line, "seconds", record->seconds);
    line_number(&line, "tokens_per_second", (double)record->tokens / record->seconds);
    line_add(&line, ", \"bytes_sent\": {");
    for (int32_t i = 0; i < program->n_groups; i++) {
        line_add(&line, "%s", i ? ", " : "");
        line_string(&line, program->groups[i].name);
        line_add(&line, ": %lld", (long long)record->sent_bytes[i]);
    }
    line_add(&line, "}");
    line_tiers(&line, "bytes_copied", record->copied_bytes);
    line_add(&line, ", \"peak_bytes\": %lld", (long long)record->peak_bytes[PLACE_DEVICE]);
    line_tiers(&line, "peak_bytes_beyond", record->peak_bytes);
    line_live(&line, &record->live);
    if (!isfinite(record->loss))
        line_add(&line, ", \"status\": \"nan\"");
    line_add(&line, "}");
    return line_write(log, &line, message, message_bytes);
}

int run_log_evaluation(struct run_log *log, int64_t step, double loss, int64_t tokens,
                       char *message, size_t message_bytes) {
    struct line line = {.used = 0};
    line_add(&line, "{\"eval\": {\"step\": %lld", (long long)step);
    line_number(&line, "loss", loss);
    line_add(&line, ", \"tokens\": %lld}}", (long long)tokens);
    return line_write(log, &line, message, message_bytes);
}

int run_log_checkpoint(struct run_log *log, int64_t step, double seconds, int64_t bytes,
                       char *message, size_t message_bytes) {
    struct line line = {.used = 0};
    line_add(&line, "{\"checkpoint\": {\"step\": %lld", (long long)step);
    line_number(&line, "seconds", seconds);
    line_add(&line, ", \"bytes\": %lld}}", (long long)bytes);
    return line_write(log, &line, message, message_bytes);
}

void run_log_close(struct run_log *log) {
    if (log->descriptor >= 0)
        close(log->descriptor);
    log->descriptor = -1;
}
