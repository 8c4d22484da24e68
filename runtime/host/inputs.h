/* What a run reads: opened before time is spent, told, and looked through before the first step. */
#pragma once
#include "runtime/host/scan.h"
#include "runtime/host/session.h"

/* What the options say of data that there is none of. Null, or what is wrong. */
const char *inputs_check(const struct place_run_options *options);
/* 0, or -1 with one line in `message`. */
int inputs_open(struct session *session, char *message, size_t message_bytes);
/* The header's lines about them, and what they count where it is not all, once they are looked
 * through. */
void inputs_print(const struct session *session);
void inputs_print_targets(const struct session *session);
/* Each process looks through its own files, with so many threads. */
enum scan_end inputs_scan(struct session *session, int threads, char *message,
                          size_t message_bytes);
/* What the scan has found that is no error but hardly meant, on stderr. */
void inputs_warn(const struct session *session);
void inputs_close(struct session *session);
