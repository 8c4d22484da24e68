/* Token files, and which window of one is which sample of which step. */
#pragma once
#include <stdint.h>
#include "runtime/context.h"

/* Text has a byte a token; names that end in .u16 or .u32 hold little-endian tokens, whose largest
 * number is the mask: no token. It is no target, and what follows it is none. So a sequence that is
 * shorter is filled up with it. The file is read window by window, not mapped: a file that somebody
 * cuts short, or a disk that fails, is then an error of one read and not a signal. What is appended
 * after the start is left alone. */
struct dataset {
    const char *path;
    int descriptor; /* set by dataset_open, whatever it returns; -1: not open */
    int64_t size_bytes;
    int64_t tokens;
    int width;       /* bytes of a token: 1, 2, 4 */
    int64_t windows; /* of sequence + 1 tokens, sequence apart */
    int64_t sequence;
};

/* 0, or -1 with one line in `message` that says what to do. */
int dataset_open(struct dataset *set, const char *path, int64_t sequence, char *message,
                 size_t message_bytes);
void dataset_close(struct dataset *set);

/* The window that is sample `index` of the run (step * batch + place in the batch, from 0): every
 * epoch is a permutation of all windows that depends on (seed, epoch) alone, and the next epoch
 * follows at once, inside a step too. */
int64_t dataset_window(const struct dataset *set, uint64_t seed, int64_t index);

enum data_order {
    DATA_SHUFFLED,   /* samples of dataset_window */
    DATA_SEQUENTIAL, /* sample i is window i; those behind the last window are masked altogether */
};
/* Fills this rank's tokens and targets with samples first .. first + batch - 1. */
int32_t dataset_fill(struct place_context *context, const struct dataset *set,
                     enum data_order order, uint64_t seed, int64_t first);
/* Writes which sample of the step every one of this rank's is. */
void data_number_samples(struct place_context *context);
/* This rank's share of the targets that are not masked in the samples that were filled: of ranks
 * that have the same samples one counts them. */
int64_t data_targets(struct place_context *context);

/* Fills every sample of this rank with the same `count` tokens, zeros behind them, nothing masked.
 */
void data_fill_same(struct place_context *context, const int32_t *tokens, int64_t count);

/* The first tokens of the file, a mask as 0. */
int32_t dataset_begin(struct place_context *context, const struct dataset *set, int64_t count,
                      int32_t *tokens);
