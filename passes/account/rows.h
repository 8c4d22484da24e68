// The rows of an account: what one collective sends, and those that say the same joined. An account
// reads collectives off a program; whoever knows them from elsewhere gives them here, too.
#ifndef PLACE_PASSES_ACCOUNT_ROWS_H
#define PLACE_PASSES_ACCOUNT_ROWS_H

#include "passes/passes.h"

struct transfer_rows {
    struct arena *arena;
    struct account_transfer *items;
    uint32_t n, cap;
};

// One collective, and what it carries of each role. Scalars are of ROLE_NONE.
struct carriage {
    struct exchange exchange;
    int64_t group; // members
    enum dtype dtype;
    int64_t unpadded_bytes; // of all roles
    unsigned n;
    struct carried {
        enum role role;
        enum state state;
        int64_t whole_bytes, unpadded_bytes; // a gather's whole is what arrives, else what is given
    } of[N_ROLES];                           // by role
};

// When, and how often in a step, a collective is executed.
struct occurrence {
    enum step_kind step;
    enum phase phase;
    int64_t times;
    int64_t sending; // of these, those in which the device that is accounted for sends
    uint32_t statement;
    struct span span;
};

struct carriage carriage_new(const struct mesh *, const struct exchange *, enum dtype);
// One piece: elements that a device gives, and those that it has then. They travel padded, to a multiple
// of the group or, of flat shards, to as much as these are padded.
void carriage_add(struct carriage *, enum role, enum state, enum dtype, int64_t from, int64_t to);
// The same of the whole alone, padded to a multiple of the group.
void carriage_add_whole(struct carriage *, enum role, enum state, enum dtype, int64_t whole);
// The algorithm by which all of it travels, and what one device sends of what is of one role.
enum algorithm carriage_algorithm(const struct carriage *);
int64_t carriage_sent(const struct carriage *, enum algorithm, const struct carried *);
// A row for each role that is carried. A group of one sends nothing and has no row. Returns the bytes
// that one device sends in all executions together.
int64_t rows_add_carriage(struct transfer_rows *, const struct carriage *,
                          const struct occurrence *);
// A row, joined with that which says the same.
void rows_add(struct transfer_rows *, const struct account_transfer *);

#endif
