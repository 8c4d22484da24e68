// The price of a strategy, between its files. What others may use of it is in passes/passes.h.
//
//   price.c    the whole
//   key.c      what strategies have in common, as bytes
//   outline.c  what is made once for all strategies that divide work alike
//   groups.c   tensors that have the same routes and sizes
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
};
// What the reference program follows from, beside model and training: mesh, islands, averages.
void key_of_reference(struct arena *, const struct config *, struct key *);
// What the division of work follows from, too: splits, where activations are, what is relaxed,
// where layers differ.
void key_of_work(struct arena *, const struct config *, struct key *);
void key_add(struct arena *, struct key *, const void *, size_t bytes);
void key_add_number(struct arena *, struct key *, uint64_t);
bool key_equal(const struct key *, const struct key *);
uint64_t key_hash(const struct key *);
struct key key_copy(struct arena *, const struct key *);

// ---- outlines (outline.c) ---------------------------------------------------------------------
// Facts about routes, in either step.
struct way_facts {
    bool read_once[N_STEPS];
    uint64_t left;
};
struct taken { // by units, in their order
    const int64_t *items;
    uint32_t n;
};
// What work says of a state of a tensor, in a range of its layers: of one kind are those of which it says
// the same.
struct kind {
    enum state state;
    enum dtype dtype;
    enum role role;
    uint32_t facts;        // among the outline's
    int64_t whole;         // elements of a device's tensor before it is cut flat
    int64_t items;         // of buffers that are stacked as the reference's are
    struct taken gathered; // items of what units have of it, if each has its own
    struct taken first;    // of these what the first of a step has
    bool paired;           // microbatches are summed two by two where they are made
};
struct outlined {
    uint32_t tensor; // of the placement
    uint32_t kind;   // among the outline's
    uint32_t way;    // by which chances name it; NO_ID: of the optimizer, which has none
};
// A moment of the program (passes/partition/moments.h), and what it is to each way.
struct outlined_chance {
    uint32_t way, events;
    struct index item;
};
struct outlined_moment {
    enum step_kind step;
    enum phase phase;
    int64_t times;
    const struct loop *loops; // as noted
    int depth;
    uint64_t kinds;
    uint32_t events; // that happen to any of the ways
    bool squares;
    struct outlined_chance *chances;
    uint32_t n_chances;
};
// What programs have in common that divide work alike and of whose units storage asks the same,
// found by making one of them.
struct outline {
    struct outlined_moment *moments; // of the steps that are accounted for
    uint32_t n_moments, cap_moments;
    struct account_transfer *transfers; // of what units send and of scalars, not of squares
    uint32_t n_transfers;
    struct step_work work; // of units of forward and backward
    int64_t activations;   // bytes
    bool averages;         // there is a step that does
    struct outlined *states;
    uint32_t n_states, cap_states;
    struct kind *kinds;
    uint32_t n_kinds, cap_kinds;
    struct way_facts *facts; // the first: nothing is known
    uint32_t n_facts, cap_facts;
    uint32_t n_ways;
};
// NULL: a pass refuses the strategy, as `diagnostics` says. The program is made in `scratch`.
struct outline *outline_make(struct arena *, struct arena *scratch, const struct config *,
                             const struct program *reference, const struct placement *,
                             struct diagnostics *);

// ---- one strategy (groups.c) ------------------------------------------------------------------
// The hops of a route that are collectives.
struct sent_hop {
    struct hop hop;
    enum collective_kind collective;
};
struct sent_hops {
    struct sent_hop *items;
    unsigned n;
    uint32_t events; // at which they are made, by their bits
};
// What is priced of the routes of a state of tensors that are stored alike and about which the same
// facts are known.
struct priced_routes {
    struct station *stations; // the same in all steps
    const bool *is_made;      // by station; what the state does not stop at is no buffer
    const bool *is_of_first;  // by station; the first use of a step alone fills it
    unsigned n_stations;
    int sum, owned, residual; // as in a route
    bool carries;             // microbatches, as a tree
    struct sent_hops sent[N_STEPS];
};
// States of tensors that are stored alike and of one kind.
struct group {
    const struct storage *storage;
    const struct kind *kind;
    const struct priced_routes *routes;
    struct station_size *sizes; // of an item of each station
    uint64_t squares;           // of gradients: axes over which parts of their squares are summed
    int64_t n;                  // states
};
struct pricing_one {
    struct arena *arena; // for this strategy alone
    const struct config *config;
    struct placement placement;
    struct priced_routes **unknown; // of a storage: of gradients, before the facts are known
    const struct outline *outline;
    struct group **groups; // in the order of their first tensors
    uint32_t n_groups;
    const struct group **of_way;
    uint32_t events[N_STEPS]; // at which anything is sent
    struct transfer_rows *rows;
    struct filling *filling;
};
// Routes of gradients before the outline is known, and what it follows from: what storage asks of units.
void key_of_storage(struct pricing_one *, struct key *);
// All groups, once it is.
void group_states(struct pricing_one *);

// The lists of collectives that are filled (sent.c): whoever prices many strategies keeps their room.
struct filling *filling_new(struct arena *);
void price_sent(struct pricing_one *);                       // adds rows
void price_held(const struct pricing_one *, struct price *); // fills bytes in

#endif
