/* Progress on stdout (see progress.h). */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "runtime/clock.h"
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

/* On a terminal ten times a second; else about fifty lines in all, and one a second in a long run.
 */
static bool is_due(const struct progress *progress, int64_t step, double now) {
    if (step == progress->before + 1 || step == progress->steps)
        return true;
    if (progress->terminal)
        return now - progress->shown >= 0.1;
    int64_t every = (progress->steps + 49) / 50;
    return step % every == 0 || now - progress->shown >= 10;
}

static int format_step(const struct progress *progress, const struct step_record *record,
                       double now, char *line, size_t bytes) {
    char memory[32], sent[32], left[32], share[32] = "";
    const struct place_program *program = progress->program;
    int64_t sent_bytes = 0;
    for (int32_t i = 0; i < program->n_groups; i++)
        sent_bytes += record->sent_bytes[i];
    double rate = (double)record->tokens / record->seconds;
    /* What is masked is computed too. */
    double flops = program->flops_per_token * (double)program->batch * (double)program->sequence;
    if (progress->peak_flops > 0 && flops > 0)
        snprintf(share, sizeof share, " (%.0f%% of peak)",
                 100 * flops / record->seconds / progress->peak_flops);
    double per_step = (now - progress->started) / (double)(record->step - progress->before);
    return snprintf(
        line, bytes,
        "step %lld/%lld  loss %.4f  grad %.3g  lr %.3g  %.0f tokens/s%s  memory %s  "
        "sent %s  left %s",
        (long long)record->step, (long long)progress->steps, unsigned_nan(record->loss),
        unsigned_nan(record->grad_norm), record->learning_rate, rate, share,
        format_bytes(memory, sizeof memory, record->peak_bytes),
        format_bytes(sent, sizeof sent, sent_bytes),
        format_duration(left, sizeof left, per_step * (double)(progress->steps - record->step)));
}

void progress_step(struct progress *progress, const struct step_record *record) {
    double now = clock_seconds();
    if (progress->quiet || !is_due(progress, record->step, now))
        return;
    char line[512];
    int width = format_step(progress, record, now, line, sizeof line);
    progress->shown = now;
    if (!progress->terminal) {
        puts(line);
        fflush(stdout);
        return;
    }
    int rest = progress->line_width > width ? progress->line_width - width : 0;
    printf("\r%s%*s", line, rest, "");
    fflush(stdout);
    progress->line_width = width;
}

int progress_end(struct progress *progress) {
    if (progress->line_width)
        putchar('\n');
    progress->line_width = 0;
    return fflush(stdout) != 0 || ferror(stdout) ? -1 : 0;
}
