/* Files of tokens, and which window of them is which sample of which step. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "runtime/context.h"
#include "runtime/host/data_files.h"
#include "runtime/host/data_kind.h"
#include "runtime/host/file.h"

/* A file that is read piece by piece, not mapped: one that somebody cuts short, or a disk that
 * fails, is then an error of one read and not a signal. What is appended after the start is left
 * alone. */
struct data_file {
    const char *path; /* null: there is none */
    int descriptor;   /* -1: not open */
    int64_t begin;    /* bytes of a header, which is no content */
    int64_t bytes;    /* of its content */
    uint64_t hash;    /* of its content (content_hash.h); set by dataset_scan */
    dev_t device;
    ino_t inode;
};

/* The token of so many bytes that stands here, -1 for the mask. */
static inline int64_t data_token(const unsigned char *at, int width) {
    if (width == 1)
        return at[0];
    if (width == 2) {
        uint16_t token = (uint16_t)(at[0] | at[1] << 8);
        return token == UINT16_MAX ? -1 : token;
    }
    uint64_t token = number_at(at, (size_t)width), mask = UINT64_MAX >> (64 - 8 * width);
    if (token == mask)
        return -1;
    return token > INT64_MAX ? INT64_MAX : (int64_t)token; /* no vocabulary has either */
}

/* What a run is asked to read. */
struct data_request {
    struct place_list names;
    struct place_list targets; /* a file for each: which of its tokens count; none: all do */
    const char *type;          /* what --data-type says; null: nothing */
    const char *option, *targets_option; /* that name the files */
};

/* One file of a dataset. Its windows are its own: none goes on in the next file. */
struct data_part {
    struct data_file file, targets;
    enum data_kind kind;
    int width; /* bytes of a token */
    int64_t tokens;
    int64_t windows;      /* of sequence + 1 tokens, sequence apart */
    int64_t first_window; /* its place among those of all files */
};

/* The largest number of two bytes or more is the mask: no token. It is no target, and what follows
 * it is none. So a sequence that is shorter is filled up with it. Beside data in which every token
 * is there, the file of targets has one byte for each: 1 where it counts as a target, else 0. */
struct dataset {
    struct data_request request;
    struct data_files files, target_files;
    struct data_part *parts; /* in the order of the files */
    int32_t n_parts;         /* 0: there is no data */
    int64_t tokens, windows; /* of all files */
    int64_t sequence;
    /* Set by dataset_scan: places of the windows that count, windows without any. */
    int64_t targets_that_count, idle_windows;
};

/* What the data are called: "shard_0.bin and 9 more". */
struct data_name {
    char text[FILE_PATH_BYTES + 32];
};
struct data_name dataset_name(const struct dataset *set);
struct data_name targets_name(const struct dataset *set);
bool dataset_is_text(const struct dataset *set);

/* 0, or -1 with one line in `message` that says what to do. What is open is closed by
 * dataset_close, whatever this returns. */
int dataset_open(struct dataset *set, const struct data_request *request,
                 const struct place_program *program, char *message, size_t message_bytes);
void dataset_close(struct dataset *set);

/* The hash of all that is read, file by file: the tokens, of how many bytes they are, and which
 * count as targets; that of the tokens alone; and that of the files of targets. */
uint64_t dataset_hash(const struct dataset *set);
uint64_t dataset_tokens_hash(const struct dataset *set);
uint64_t dataset_targets_hash(const struct dataset *set);

/* The window that is sample `index` of the run (step * batch + place in the batch, from 0): every
 * epoch is a permutation of all windows that depends on (seed, epoch) alone, and the next epoch
 * follows at once, inside a step too. */
int64_t dataset_window(const struct dataset *set, uint64_t seed, int64_t index);

enum data_order {
    DATA_SHUFFLED,   /* samples of dataset_window */
    DATA_SEQUENTIAL, /* sample i is window i; those behind the last window are masked altogether */
};
/* Fills this rank's tokens and targets with samples first .. first + batch - 1. Where it fails, no
 * more than these has been written: the training states are those after the step before, as long as
 * no rank has begun this one. */
int32_t dataset_fill(struct place_context *context, const struct dataset *set,
                     enum data_order order, uint64_t seed, int64_t first);
/* Writes which sample of the step every one of this rank's is. */
void data_number_samples(struct place_context *context);
/* The targets that this rank counts, which are not masked in the samples that were filled: of ranks
 * that have the same samples one counts them. */
int64_t data_targets(struct place_context *context);

/* Fills every sample of this rank with the same `count` tokens, zeros behind them, nothing masked.
 */
void data_fill_same(struct place_context *context, const int32_t *tokens, int64_t count);

/* The first tokens of the first file, up to *count, or to the first mask, where *count becomes
 * less; there is at least one. */
int32_t dataset_begin(struct place_context *context, const struct dataset *set, int64_t *count,
                      int32_t *tokens);
