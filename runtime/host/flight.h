/* The flight recorders of a process's ranks, for people: tables of the last calls. */
#pragma once
#include <stdio.h>
#include "runtime/context.h"

struct flight {
    struct place_context *const *contexts;
    int n;
};

/* A table of the last `lines` calls of every rank; the rank that failed first, or that the others
 * wait for, if all ranks of the job are here, comes first and is marked. May be called while the
 * ranks run. */
void flight_print(const struct flight *flight, FILE *to, int lines);

/* The same of all that is recorded, in the file PATH.flight (a rank of several processes:
 * PATH.flight.RANK), and what was said of it in `to`. Path null: a short table in `to` alone. */
void flight_report(const struct flight *flight, const char *path, int processes, FILE *to);

/* "inside collective_wait at file.place:14:3 (wait gather, statement 81)" */
void flight_describe_last(struct place_context *context, char *text, size_t bytes);
