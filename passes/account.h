// What the final program holds and sends, to the byte: read off the memory plan and the schedule,
// not estimated. `check` prints it, the descriptor carries it, tests hold it against what was
// measured.
#ifndef PLACE_PASSES_ACCOUNT_H
#define PLACE_PASSES_ACCOUNT_H

#include "ir/ir.h"

// Collectives of the training step that say the same of what they carry, all executions of one step
// together. A statement that carries several roles has its bytes in a row of each.
struct account_transfer {
    struct axis_list axes;
    enum collective_kind kind;
    enum state state; // N_STATES: scalars
    enum role role;   // outermost role of what it carries; ROLE_NONE: scalars
    enum phase phase;
    enum dtype dtype;
    int64_t group;      // members
    int64_t count;      // executions in one step
    int64_t bytes;      // sent by one device in one step, all executions
    uint32_t statement; // id
    struct span span;
};

struct account {
    // At the moment when the most is alive: bytes by state and what is neither; they sum to `peak`.
    int64_t states[N_STATES], transient, peak;
    uint32_t peak_statement; // id of the statement at that moment
    struct span peak_span;
    // Bytes that each state holds from step to step (or, of gradients, as long as they accumulate).
    int64_t held[N_STATES];
    struct account_transfer *transfers;
    uint32_t n_transfers, cap_transfers;
    int64_t total_bytes; // sent by one device in one step
    double flops;        // of one step on one device
};

// `program` is final, planned and numbered. Never fails.
struct account *account(const struct program *program, struct arena *arena);

// Bytes that one device sends in one collective over a group of `group` members (DESIGN.md 3: ring
// convention). `whole_bytes` is the whole, padded to a multiple of the group for all but small
// ones; an all_reduce of up to 4 KiB sends (group - 1) times its unpadded size.
int64_t transfer_bytes(enum collective_kind kind, int64_t group, int64_t whole_bytes,
                       int64_t unpadded_bytes);

#endif
