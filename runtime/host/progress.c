/* Progress on stdout (see progress.h). */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "runtime/clock.h"
#include "runtime/host/columns.h"
#include "runtime/host/progress.h"

double clock_ticks_per_second(void) {
    double begin = clock_seconds();
    uint64_t ticks = __builtin_ia32_rdtsc();
    nanosleep(&(struct timespec){0, 5000000}, NULL);
    return (double)(__builtin_ia32_rdtsc() - ticks) / (clock_seconds() - begin);
}

const char *format_bytes(char *text, size_t bytes, int64_t value) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double scaled = (double)value;
    int unit = 0;
    while (scaled >= 1024 && unit < 4) {
        scaled /= 1024;
        unit++;
    }
    snprintf(text, bytes, unit ? "%.1f %s" : "%.0f %s", scaled, units[unit]);
    return text;
}

void format_lack(char need[32], char room[32], int64_t needed, int64_t there) {
    format_bytes(need, 32, needed);
    format_bytes(room, 32, there);
    if (strcmp(need, room) != 0)
        return;
    snprintf(need, 32, "%lld B", (long long)needed);
    snprintf(room, 32, "%lld B", (long long)there);
}

double unsigned_nan(double value) {
    return isnan(value) ? fabs(value) : value;
}

static const char *format_duration(char *text, size_t bytes, double seconds) {
    int64_t s = (int64_t)(seconds + 0.5);
    if (s >= 3600)
        snprintf(text, bytes, "%lldh%02lldm", (long long)(s / 3600), (long long)(s / 60 % 60));
    else if (s >= 60)
        snprintf(text, bytes, "%lldm%02llds", (long long)(s / 60), (long long)(s % 60));
    else
        snprintf(text, bytes, "%llds", (long long)s);
    return text;
}

void progress_begin(struct progress *progress, const struct place_program *program, int64_t steps,
                    int64_t before, bool quiet) {
    *progress = (struct progress){.program = program,
                                  .terminal = isatty(STDOUT_FILENO),
                                  .quiet = quiet,
                                  .steps = steps,
                                  .before = before,
                                  .started = clock_seconds()};
}

/* A line is due on a terminal ten times a second; else about fifty times in all, and once a second
 * in a long run. */
static bool is_due(const struct progress *progress, int64_t step, double now) {
    if (step == progress->before + 1 || step == progress->steps)
        return true;
    if (progress->terminal)
        return now - progress->shown >= 0.1;
    int64_t every = (progress->steps + 49) / 50;
    return step % every == 0 || now - progress->shown >= 10;
}

/* What a line says, from left to right; the columns of a terminal are given to what has the lowest
 * rank first. */
struct line_part {
    char text[48];
    int rank;
};
enum { STEP, LOSS, GRADIENT, RATE, SPEED, SHARE, MEMORY, SENT, LEFT, N_PARTS };

__attribute__((format(printf, 3, 4))) static void say(struct line_part *part, int rank,
                                                      const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    part->rank = rank;
    vsnprintf(part->text, sizeof part->text, format, arguments);
    va_end(arguments);
}

static void format_parts(const struct progress *progress, const struct step_record *record,
                         double now, struct line_part parts[N_PARTS]) {
    const struct place_program *program = progress->program;
    char bytes[32];
    int64_t sent_bytes = 0;
    for (int32_t i = 0; i < program->n_groups; i++)
        sent_bytes += record->sent_bytes[i];
    /* What is masked is computed too. */
    double flops = program->flops_per_token * (double)program->batch * (double)program->sequence;
    double per_step = (now - progress->started) / (double)(record->step - progress->before);
    say(&parts[STEP], 0, "step %lld/%lld", (long long)record->step, (long long)progress->steps);
    say(&parts[LOSS], 1, "  loss %.4f", unsigned_nan(record->loss));
    if (record->skipped)
        say(&parts[GRADIENT], 4, "  skipped at scale %.3g", record->loss_scale);
    else
        say(&parts[GRADIENT], 4, "  grad %.3g", unsigned_nan(record->grad_norm));
    say(&parts[RATE], 5, "  lr %.3g", record->learning_rate);
    say(&parts[SPEED], 2, "  %.0f tokens/s", (double)record->tokens / record->seconds);
    parts[SHARE] = (struct line_part){.rank = 6};
    if (progress->peak_flops > 0 && flops > 0)
        say(&parts[SHARE], 6, " (%.0f%% of peak)",
            100 * flops / record->seconds / progress->peak_flops);
    say(&parts[MEMORY], 7, "  memory %s",
        format_bytes(bytes, sizeof bytes, record->peak_bytes[PLACE_DEVICE]));
    say(&parts[SENT], 8, "  sent %s", format_bytes(bytes, sizeof bytes, sent_bytes));
    say(&parts[LEFT], 3, "  left %s",
        format_duration(bytes, sizeof bytes, per_step * (double)(progress->steps - record->step)));
}

/* What there is no room for is left out, the highest rank first. */
static int format_line(const struct line_part parts[N_PARTS], int columns, char *line,
                       size_t bytes) {
    for (int last = N_PARTS - 1;; last--) {
        int width = 0;
        for (int i = 0; i < N_PARTS; i++)
            if (parts[i].rank <= last)
                width += snprintf(line + width, bytes - (size_t)width, "%s", parts[i].text);
        if (width <= columns || last == 0)
            return width;
    }
}

/* A terminal's last column stays free, in which some begin the next line. Every tenth line stays:
 * the next is written below it. */
static void show_on_terminal(struct progress *progress, const char *line, int width) {
    int rest = progress->line_width > width ? progress->line_width - width : 0;
    bool stays = ++progress->n_shown % 10 == 0;
    printf("\r%s%*s", line, rest, "");
    if (stays)
        putchar('\n');
    progress->line_width = stays ? 0 : width;
}

void progress_step(struct progress *progress, const struct step_record *record) {
    double now = clock_seconds();
    if (progress->quiet || !is_due(progress, record->step, now))
        return;
    char line[N_PARTS * sizeof(struct line_part)];
    struct line_part parts[N_PARTS];
    format_parts(progress, record, now, parts);
    int columns = progress->terminal ? terminal_columns(STDOUT_FILENO) - 1 : (int)sizeof line;
    int width = format_line(parts, columns, line, sizeof line);
    progress->shown = now;
    if (progress->terminal)
        show_on_terminal(progress, line, width);
    else
        puts(line);
    fflush(stdout);
}

int progress_end(struct progress *progress) {
    if (progress->line_width)
        putchar('\n');
    progress->line_width = 0;
    return fflush(stdout) != 0 || ferror(stdout) ? -1 : 0;
}
