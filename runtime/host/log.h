/* The run's log: JSON lines (docs/json.md), locked while it is written, whole lines only. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include "runtime/live.h"
#include "runtime/place.h"

/* What one step did, over all ranks. */
struct step_record {
    int64_t step;
    double loss, grad_norm, learning_rate;
    bool is_scaled;    /* the loss is: */
    double loss_scale; /* by it */
    bool skipped;      /* the update, since gradients were not finite */
    int64_t tokens;    /* that the loss is a mean over: targets that are not masked */
    double seconds;
    const int64_t *sent_bytes;           /* over every group of the program: maximum over ranks */
    int64_t copied_bytes[PLACE_N_TIERS]; /* to and from each: maximum over ranks */
    int64_t peak_bytes[PLACE_N_TIERS];   /* touched, maximum over ranks */
    struct live_report live; /* of the rank that had most alive; flaws: maximum over ranks */
};

struct run_log {
    int descriptor; /* -1: no log */
    int64_t length; /* bytes of whole lines */
    const char *path;
};

/* Opens and locks the file, forgets what it held, or keeps its whole lines where a run goes on, and
 * writes the first line of this run. 0, or -1 with one line in `message` (also when another run
 * holds it, whose log then stays as it is). */
int run_log_open(struct run_log *log, const char *path, bool goes_on,
                 const struct place_program *program, char *message, size_t message_bytes);
int run_log_step(struct run_log *log, const struct place_program *program,
                 const struct step_record *record, char *message, size_t message_bytes);
/* A line of an evaluation behind a step. */
int run_log_evaluation(struct run_log *log, int64_t step, double loss, int64_t tokens,
                       char *message, size_t message_bytes);
/* A line of a checkpoint that is whole: how long training waited for it. */
int run_log_checkpoint(struct run_log *log, int64_t step, double seconds, int64_t bytes,
                       char *message, size_t message_bytes);
void run_log_close(struct run_log *log);

/* Appends a JSON string with its quotes. Returns the characters written, at most bytes - 1. */
size_t quote_json(char *to, size_t bytes, const char *text);
