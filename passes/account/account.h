// The account, between its files. What others may use of it is in passes/passes.h.
//
//   account.c        memory, and the whole
//   carried.c        which state a piece of a transfer carries
//   communication.c  what the collectives of a program send
//   copies.c         what is copied between tiers
//   routes.c         what each hop of a route sends, and how often
//   owned.c          how often an owner does what owners do
//   rows.c           what one collective sends (rows.h)
//   tasks.c          what tasks of a pipeline take of time, and a step of them
//   time.c           what it takes of time, at least
//   traffic.c        how one state of each tensor travels
#ifndef PLACE_PASSES_ACCOUNT_H
#define PLACE_PASSES_ACCOUNT_H

#include "passes/account/rows.h"

// The state that a piece of a collective carries; N_STATES: none, it is a scalar. Transients are
// parts or wholes of the state that is gathered or reduced there: the other end says of which,
// where that is no transient.
enum state state_of_piece(const struct exchange *, const struct buffer *from,
                          const struct buffer *to);
// The same of a copy: the state of the end which is kept, where the other is a staging place.
enum state state_of_copy(const struct program *, const struct transfer_piece *);

// How often a step executes the statement on the device that computes most, the first of the owners; a
// transfer to or from owners, how often the device sends that sends most, the first of them or the last.
int64_t account_trips(const struct program *, const struct statement_walk *);
// The same of a copy of a piece: by the owner of it who owns as much as any.
int64_t account_trips_of_copy(const struct program *, const struct statement_walk *,
                              const struct transfer_piece *);
// What one device sends of a piece in one execution of the transfer.
int64_t account_copied(const struct program *, const struct transfer *, uint32_t piece);
int64_t account_piece(const struct program *, const struct transfer *, uint32_t piece);

// The work of one call of a unit, and of all calls of some of the units; NULL: of all.
struct step_work account_work_of_unit(const struct job *, const struct unit *);
struct step_work account_work_of(const struct program *, const bool *units);
void account_add_work(struct step_work *, const struct step_work *, double times);

// What a part of a step asks of a device, its memory and its links, and how long it takes at least.
struct demand {
    struct step_work work;
    double host_link_bytes;
    struct transfer_rows transfers;
};
struct step_time account_time_of(const struct job *, const struct demand *,
                                 const struct device_config *);

// Collectives are counted statement by statement, in the order of the text: a gather is of the phase
// of the call that comes next, a reduction of that of the last.
struct counting {
    const struct program *program;
    struct transfer_rows rows;
    int64_t *sent;    // by statement id; NULL: it is not asked for
    enum phase phase; // of the last call
    enum step_kind step;
};
void count_statement(struct counting *, const struct statement_walk *);
void account_communication(struct counting *, enum step_kind);

// Fills in what is said of copies.
void account_copies(const struct program *, struct arena *, struct account *);

#endif
