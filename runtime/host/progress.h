/* What a person sees of a run on stdout: a header, a line that keeps up with the steps, results. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include "runtime/host/log.h"

struct progress {
    const struct place_program *program;
    bool terminal; /* one line that is rewritten; else a line now and then */
    bool quiet;
    int64_t steps, before; /* in all; of these, those that the run goes on behind */
    double started, shown; /* seconds on a monotonic clock */
    double peak_flops;     /* of the machine, measured; 0: not known */
    int line_width;        /* characters of the line that is being rewritten */
    int64_t n_shown;       /* lines, those that were rewritten included */
};

/* The processor's ticks in a second; measuring them takes some milliseconds. */
double clock_ticks_per_second(void);
/* "12.3 MiB" */
const char *format_bytes(char *text, size_t bytes, int64_t value);
/* What is needed and what is there, as texts of 32 bytes: to the byte, where they would read alike. */
void format_lack(char need[32], char room[32], int64_t needed, int64_t there);

/* What a word has behind so many of what it names. */
static inline const char *plural_s(int64_t n) {
    return n == 1 ? "" : "s";
}

/* The value, or, of what is not a number, the one that is printed as `nan`: by its sign it would be
 * `-nan`, which says nothing. */
double unsigned_nan(double value);

/* Terminal or not, and the time; nothing is printed. */
void progress_begin(struct progress *progress, const struct place_program *program, int64_t steps,
                    int64_t before, bool quiet);
void progress_step(struct progress *progress, const struct step_record *record);
/* Ends the line that is being rewritten. 0, or -1 when stdout cannot be written (errno). */
int progress_end(struct progress *progress);
