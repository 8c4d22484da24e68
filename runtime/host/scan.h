/* Looks through all of a dataset before the first step, as fast as it can be read: a token that the
 * model does not have would end the run when its window comes, and a mask in a context would train
 * on a token that is not there. Sets the hashes and counts of the dataset too. */
#pragma once
#include "runtime/host/data.h"

enum scan_end {
    SCAN_DONE,
    SCAN_REFUSED,     /* with one line in `message` */
    SCAN_INTERRUPTED, /* by a signal (interrupts_seen) */
};
enum scan_end dataset_scan(struct dataset *set, int64_t vocab, int threads, char *message,
                           size_t message_bytes);
