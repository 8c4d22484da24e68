/* One step of one rank, of training or forward only: what the host says before it, the call of the
 * program's code, what was alive meanwhile. */
#pragma once
#include "runtime/context.h"

struct carried;
struct live_report;

/* Tells the program and the recorder which step of training is next, and what the last one left. */
void rank_begin_step(struct place_context *context, int64_t step, const struct carried *carried);
/* Executes a step on the data that is there, and measures what was alive in it. The key is for what
 * is drawn; 0: nothing is. */
int32_t rank_execute(struct place_context *context, place_entry *entry, double key,
                     struct live_report *report);

/* Ends every rank for what all have found; rank 0 says it. */
int32_t fail_not_a_number(struct place_context *context, const char *what);
