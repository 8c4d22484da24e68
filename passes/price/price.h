// The price of a strategy, between its files. What others may use of it is in passes/passes.h.
//
//   price.c    the whole
//   key.c      what strategies have in common, as bytes
//   outline.c  what is made once for all strategies that divide work alike
//   sent.c     what the hops of routes send
//   held.c     bytes held
#ifndef PLACE_PASSES_PRICE_H
#define PLACE_PASSES_PRICE_H

#include "passes/account/account.h"
#include "passes/partition/moments.h"

// ---- keys (key.c) -----------------------------------------------------------------------------
struct key {
    uint8_t *bytes;
    uint32_t n, cap;
    uint64_t hash; // FNV-1a of them (Fowler, Noll, Vo)
};
// What the reference program follows from, beside model and training: mesh, islands, averages.
void key_of_reference(struct arena *, const struct config *, struct key *);
// What the division of work follows from, too: splits, where activations are, what is relaxed,
// where layers differ.
void key_of_work(struct arena *, const struct config *, struct key *);
void key_add(struct arena *, struct key *, const void *, size_t bytes);
void key_add_number(struct arena *, struct key *, uint64_t);
bool key_equal(const struct key *, const struct key *);
struct key key_copy(struct arena *, const struct key *);

// ---- outlines (outline.c) ---------------------------------------------------------------------
// What programs have in common that divide work alike and of whose units storage asks the same,
// found by making one of them.
struct outline {
    struct notes notes;
    struct account_transfer *transfers; // of what units send and of scalars, not of squares
    uint32_t n_transfers;
    struct step_work work;    // of units of forward and backward
    int64_t activations;      // bytes
    int64_t *gathered;        // of a way: items of what units have of it, if each has its own
    int64_t *whole;           // of a way: elements of a device's tensor before it is cut flat
    struct buffer *optimizer; // of the reference program
    uint32_t n_optimizer;
    bool averages; // there is a step that does
};
// NULL: a pass refuses the strategy, as `diagnostics` says.
struct outline *outline_make(struct arena *, const struct config *, const struct program *reference,
                             const struct placement *, struct diagnostics *);

// ---- one strategy -----------------------------------------------------------------------------
// A state of a tensor in a range of its layers, and what its stations hold. Ways that are alike share
// their routes.
struct priced_way {
    struct stationed of;         // its route is that of the step of training
    const struct route *unknown; // the route before the facts are known
    const struct route *average; // in the step that averages
    const struct route *optimizer;
    uint32_t sends[N_STEPS]; // events at which something is sent, by their bits
    bool is_copy;            // of one before it, as far as routes go
    enum role role;
    uint64_t cuts;  // axes that cut it where it is updated
    uint32_t known; // stations whose sizes have been found, by their bits
    struct station_size sizes[MAX_STATIONS];
};
struct pricing_one {
    struct arena *arena; // for this strategy alone
    const struct config *config;
    struct placement placement;
    const struct outline *outline;
    struct priced_way *ways;
    uint32_t n_ways;
    struct transfer_rows *rows;
    struct filling *filling;
};
// The size of one item of a station.
const struct station_size *size_at(const struct pricing_one *, uint32_t way, int station);

// The lists of collectives that are filled (sent.c): whoever prices many strategies keeps their room.
struct filling *filling_new(struct arena *);
uint32_t sending_events(const struct route *);         // by their bits
void price_sent(struct pricing_one *);                 // adds rows
void price_held(struct pricing_one *, struct price *); // fills bytes in

#endif
