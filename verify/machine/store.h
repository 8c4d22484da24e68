// The abstract store: what every item of every buffer holds while a step is executed, what is on
// its way between devices, and to which buffer every byte belongs. Its size depends on the text of
// the step, not on the number of layers or microbatches:
//
//   run      consecutive items of a buffer that hold the same thing one layer (or microbatch)
//            further. Consecutive slots of a handle are runs too, of transfers.
//   series   the runs of a buffer or handle, in order and without gaps
//   stretch  bytes of the arena that one buffer was the last to write. Buffers that share bytes
//            thus poison one another, and the memory plan is proved with the rest.
//
// Items, slots, layers and microbatches are numbers that may hold symbols (number.h).
#ifndef PLACE_VERIFY_MACHINE_STORE_H
#define PLACE_VERIFY_MACHINE_STORE_H

#include "verify/proof/proof.h"

struct abstract_machine;

enum item_state {
    ITEM_EMPTY = 0, // never written in this step; of a slot: nothing is in flight
    ITEM_READY,
    ITEM_IN_FLIGHT, // the target of a transfer that nobody has waited for; the slot of one
    ITEM_WINDOW,    // only the device's own shard is new; what is held is the shard
    ITEM_FREED,
    ITEM_OVERWRITTEN, // in whole or part, by what stands at `by`
    ITEM_CONSUMED,    // a unit used its place
};

// A value, and for a piece of a transfer the items it reads and fills. Those of its numbers that
// `moves` names grow by one from each item of a run to the next; a layer's by one more than the run
// skips: what is kept of each group of layers, or of layers that take turns, is of every n-th.
struct held {
    struct judgement value;
    padding_id
        behind; // of a window: what is behind the whole's elements, where its own part is not
    int32_t from, to;
    uint8_t moves; // bits: 1 << enum held_number
};
enum held_number { HELD_LAYER, HELD_MICROBATCH, HELD_FROM, HELD_TO, N_HELD_NUMBERS };
int32_t *held_number(struct held *held, enum held_number which);

struct run {
    int32_t begin, end; // items or slots; never none
    enum item_state state;
    buffer_id window;              // WINDOW: the buffer that was written
    const struct span *by;         // what made the state; not part of it
    const struct statement *start; // of a transfer
    const struct held *held;       // of the first item; never changed
    uint32_t n_held;               // READY and WINDOW: 1; of a transfer: its pieces; else 0
    int32_t skipped;               // layers between those of two items, where they have others
};
struct series {
    struct run *runs;
    uint32_t n, cap;
};

struct stretch { // begins where this item of this buffer does and ends where the next one begins
    buffer_id buffer;
    int32_t item;
    buffer_id owner; // NO_ID: nobody has written there
    const struct span *by;
};
struct region { // buffers that share bytes, directly or by way of others
    struct stretch *stretches;
    uint32_t n, cap;
};

struct place { // an item of the buffer that has the bytes
    buffer_id buffer;
    int32_t item;
};
struct home_list { // flights.c
    uint32_t *list, n, cap;
};
struct handle_list { // in order
    uint32_t *handles, n, cap;
};
struct store {
    struct series *items;   // of every buffer
    struct series *flights; // of every handle of the step
    uint32_t n_handles;
    struct home_list *homes;    // of every handle: where what it carries is read and filled
    struct handle_list *flying; // of every home: those that have anything in flight there
    struct region *regions;
    struct place *claims; // of the present statement
    uint32_t n_claims, cap_claims;
    struct place met[2]; // two of its places that share bytes, the last that were found
};

// series.c
const struct run *series_find(struct world *, const struct series *, int32_t item);
bool run_is_single(const struct run *);
// Whether what both hold changes alike from item to item.
bool runs_move_alike(const struct run *, const struct run *);
// The i-th held, of the item.
struct held run_held(struct world *, const struct run *, uint32_t i, int32_t item);
struct run run_part(struct world *, const struct run *, int32_t begin, int32_t end);
// Puts the run where others are, which it replaces or cuts; joins it with its neighbours. What it
// holds is copied where it stays a run of its own.
void series_put(struct world *, struct series *, struct run run);
struct cut { // of a list: what stands at begin .. end-1
    uint32_t begin, end;
};
// The list with what is cut out replaced; it may have moved.
void *list_splice(struct arena *, void *list, uint32_t *n, uint32_t *cap, size_t size,
                  struct cut cut, const void *by, uint32_t n_by);

// bytes.c
void regions_init(struct abstract_machine *);  // which buffers share bytes
void regions_clear(struct abstract_machine *); // nobody has written anything
bool buffers_meet(const struct abstract_machine *, buffer_id a,
                  buffer_id b); // in some of their items
bool bytes_intersect(struct abstract_machine *, struct place a, struct place b);
// Items first .. end-1 are written, by what stands at `by`.
void bytes_take(struct abstract_machine *, buffer_id, int32_t first, int32_t end,
                const struct span *by);
// The stretches from the first place's beginning, inside the first of them maybe, to the other's; 0:
// the bytes are shared by nobody.
uint32_t bytes_stretches(struct abstract_machine *, struct place from, struct place to,
                         const struct stretch **list);
// Puts such a list back, of which the first begins where it is put.
void bytes_put(struct abstract_machine *, const struct stretch *list, uint32_t n, struct place to);
// The first of what others have written of these items' bytes since; NULL: nothing.
const struct stretch *bytes_lost(struct abstract_machine *, buffer_id, int32_t first, int32_t end);
// The first item behind `item`, or `end`, of whose bytes another one than of this item's was the
// last to write. Not inside iterations that stand for many.
int32_t bytes_alike(struct abstract_machine *, buffer_id, int32_t item, int32_t end);
// The items of a buffer that share bytes with the place: *first .. *end-1. Of an iteration that
// stands for many, in the first of them.
void bytes_items(struct abstract_machine *, struct place, buffer_id, int32_t *first, int32_t *end);
struct address bytes_begin(const struct abstract_machine *, buffer_id, int32_t item);

// plan.c: of two buffers that share bytes the one that is where it should not be, if that is known;
// else NO_ID. Where a history is kept only: it is looked for in all of the program.
buffer_id plan_misplaced(const struct abstract_machine *, buffer_id, buffer_id);

// What the host writes before the step, or the step before left. Of a window nobody asks: it is
// read and written as a part of its whole.
static inline bool is_filled(const struct buffer *buffer) {
    return class_persistent[buffer->class] || buffer->class == CLASS_INPUT;
}

// found.c
void note_found(struct abstract_machine *, buffer_id, const struct judgement *value);
void note_gather(struct abstract_machine *, const struct transfer *start, buffer_id from,
                 const struct judgement *value);

// initial.c
// The form of a buffer that the host or the initialisation filled by its declared layout.
form_id form_declared(struct abstract_machine *, const struct buffer *);
void initials_init(
    struct abstract_machine *); // what persistent and input buffers hold before a step
struct run initial_run(const struct abstract_machine *, buffer_id); // of all items of one of these
struct judgement initial_judgement(struct abstract_machine *, buffer_id, int64_t item);
// The state of this class that the step finds of the same tensor and layer.
struct term store_leaf(struct abstract_machine *, struct reference, enum buffer_class);
void store_init(struct abstract_machine *, const struct step *);

// places.c
int32_t number_of(struct abstract_machine *, struct index);
int32_t item_of(struct abstract_machine *, const struct reference *);
buffer_id owner_of(const struct program *, buffer_id); // who has the bytes: a window's whole
struct place place_of(struct abstract_machine *, struct reference);
const char *place_name(const struct abstract_machine *, struct place);

// store.c
struct judgement store_read(struct abstract_machine *, struct reference, struct span span);
// Whether the item holds a value, and which.
bool store_holds(struct abstract_machine *, buffer_id, int64_t item, struct judgement *value);
// What an item holds behind the step; a fault is told where it was lost.
struct judgement store_at_end(struct abstract_machine *, buffer_id, int64_t item, const char *what);
void store_write(struct abstract_machine *, struct reference, struct judgement value,
                 struct span span);
// A note for the history, where one is kept: what was made last goes there.
void store_note_place(struct abstract_machine *, buffer_id to, struct place,
                      const struct judgement *made);
// The bytes are used for something that has no meaning; `state` says what.
void store_clobber(struct abstract_machine *, struct reference, enum item_state state,
                   struct span span);
void store_set(struct abstract_machine *, struct place,
               struct run content); // state, held, window, by
// What is behind the elements of an item of a buffer in which windows lie, on all devices.
padding_id store_padding(struct abstract_machine *, struct place);
// Takes the place's bytes from whoever has them. NULL, or why what is written there is spoilt.
const struct fault *store_touch(struct abstract_machine *, struct place, struct span span);
// Whether `inner` is where the axes, inside `outer`, find each device's shard.
bool windows_nest(const struct abstract_machine *, buffer_id outer, const struct axis_list *axes,
                  buffer_id inner);
// One statement may not write the same bytes twice, nor read what it writes. After
// store_begin_claims each place that is written is claimed; false: another one has some of its
// bytes.
void store_begin_claims(struct abstract_machine *);
bool store_claim(struct abstract_machine *, struct reference);
bool store_is_claimed(struct abstract_machine *, struct reference);
// The places that met are of two buffers: the plan has put together what one statement, `user`,
// needs at once. NULL: they are of one.
const struct fault *store_plan_fault(struct abstract_machine *, enum diagnostic_code,
                                     const char *user, struct span span);

// flights.c
static inline struct series *flights_of(const struct store *store, uint32_t handle) {
    return &store->flights[handle];
}
// Puts the run into the handle's slots.
void put_flights(struct abstract_machine *, uint32_t handle, struct run run);
void flights_init(struct abstract_machine *, const struct step *);
// The handles that have anything in flight where a write to the buffer may reach.
const struct handle_list *flights_near(const struct abstract_machine *, buffer_id);
void flights_find(struct abstract_machine *); // which handles have any: all flights are others now
// A place is written: what transfers deliver from it or to it is spoilt. NULL, or why what is
// written now is spoilt too.
const struct fault *disturb_flights(struct abstract_machine *, struct place, struct span span);

// transfer.c
void store_start(struct abstract_machine *, const struct statement *);
void store_wait(struct abstract_machine *, const struct statement *);

// snapshot.c: the store as a whole, for induction.c.
struct snapshot {
    struct series *items, *flights;
    struct region *regions;
};
struct snapshot snapshot_take(const struct abstract_machine *, struct arena *); // which it lives in
void snapshot_put(struct abstract_machine *, const struct snapshot *);
// All that the store holds, to another arena. While no snapshot is kept.
void store_move(struct abstract_machine *, struct arena *to);
// The store is made to depend on the symbol: what differs from `before`, its state some iterations
// ago, is `now` in it where it was `now - shift` before, and becomes the symbol. False: something
// differs in another way, and the store has no meaning.
//
// For instance, of `for l = 0 .. 16 { call block(h = act[l], w = w[l]) -> (y = act[l + 1]) }`,
// where two iterations were executed and now = 2, shift = 1:
//
//   before      act: item 0 the input | item 1 r[0]          | items 2 .. 16 empty
//   the store   act: item 0 the input | items 1 .. 2 r[0..1] | items 3 .. 16 empty
//   becomes     act: item 0 the input | items 1 .. x r[0..x-1] | items x+1 .. 16 empty
//
// The end of the second run went from 2 to 3, by the shift, so it is x + 1; its begin stayed 1, and
// so did the layer of its first item, 0. The run is of one layer more with each item, which the two
// that it has now say. Had the end grown by two, or the layer at all, it would not fit, and nothing
// would be said of x. For how long this goes on is noted with the symbol (number.h): the last run
// has an item as long as x + 1 < 17.
bool store_generalise(struct abstract_machine *, const struct snapshot *before, int32_t now,
                      int32_t shift, int32_t symbol);
// The store with the symbol that was begun last replaced.
void store_replace(struct abstract_machine *, int32_t by);
bool store_equal(const struct abstract_machine *, const struct snapshot *);

#endif
