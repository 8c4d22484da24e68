// Transfers on their way: those of a part with itself (transfers.c), and those of several parts, which
// are messages and collectives over the parts' axes (between.c).
#ifndef PLACE_TESTS_ORACLE_FLIGHTS_H
#define PLACE_TESTS_ORACLE_FLIGHTS_H

#include "tests/oracle/calls.h"
#include "tests/oracle/collective.h"
#include "tests/oracle/memory.h"

// Which transfer, and the items that it is about.
struct flight {
    const struct statement *start; // NULL: the slot is free
    struct reference *from, *to;   // of every piece, with constant indices
    int64_t variables[LIMIT_LOOP_DEPTH];
    int depth; // when it was started
    struct arena arena;
    struct array **held;       // IN_BETWEEN: what was read, of every piece and device
    struct devices *of;        // with several parts: whose it is; else NULL, as what follows
    struct message **messages; // of every number that the part has along the parts' axes
    struct meeting *meeting;   // NULL: it is a message
};

// ---- transfers.c ------------------------------------------------------------------------------

unsigned char *flight_place(const struct devices *, int timing, int64_t device, struct reference);
bool flight_has_item(const struct devices *, int64_t device, struct reference);
struct array flight_load(const struct devices *, struct arena *, int timing, int64_t device,
                         struct reference);
// The exchange of a piece, with its owner's place as the shift.
struct exchange flight_exchange(const struct devices *, const struct transfer *,
                                struct reference from, struct reference to);
// What one device receives of a piece, of which `sources` are all devices'.
struct array flight_receive(const struct devices *, struct arena *, const struct exchange *,
                            const struct array *sources, int64_t device, struct reference to);
struct moment flight_moment(const struct flight *, const struct devices *, int64_t device,
                            enum timing);
// A piece arrives at a device. `keeps`: what was written there since its memory was spoilt stays.
void flight_deliver(struct devices *, int timing, const struct flight *, const struct statement *at,
                    uint32_t piece, int64_t device, const struct array *, bool keeps);
// The memory in which pieces arrive is nobody's until then.
void flight_spoil_targets(struct devices *, const struct flight *);
struct flight *flight_in(struct devices *, uint32_t handle, struct index, const int64_t *variables);
struct reference reference_fixed(struct reference, const int64_t *variables);

bool transfer_start(struct devices *, const struct statement *, const int64_t *variables,
                    int depth);
bool transfer_wait(struct devices *, const struct statement *, const int64_t *variables);
void item_spoil(struct devices *, int timing, struct reference);

// ---- between.c --------------------------------------------------------------------------------

struct between *between_new(struct arena *, struct cluster *); // nothing is on its way
bool between_start(struct devices *, struct flight *);
// Whether the flight's wait can be executed. `takes`: it then reads what other parts hold.
bool between_is_ready(const struct flight *, bool *takes);
void between_end(struct flight *, const struct statement *wait);
// When all parts have ended: false, if something was started whose other ends never were.
bool between_is_over(struct cluster *);

#endif
