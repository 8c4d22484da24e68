// Messages that a part has sent and has not waited for yet, as its tasks find them (repeat.c): what they are
// read from may not be written, and their slots are taken. Between two tasks no others are followed.
#ifndef PLACE_VERIFY_MACHINE_SENDS_H
#define PLACE_VERIFY_MACHINE_SENDS_H

#include "verify/machine/tasks.h"

struct send {
    uint32_t handle;
    int32_t slot;
    const struct statement *start;
    struct place from[MAX_PIECES];
    uint32_t cells[MAX_PIECES]; // in which these are
    struct token values;
    bool in_store; // it says so
};
struct handle_sends {
    struct send *list;
    uint32_t n, cap;
};
struct pin { // of a cell: what is in the handle's slot is read from there
    uint32_t handle;
    int32_t slot;
    struct place from;
};
struct pins {
    struct pin *list;
    uint32_t n, cap;
};
struct sends { // of a part
    const struct task_texts *texts;
    struct handle_sends *of_handle; // of every handle of the step
    uint32_t n_handles;
    struct pins *pins; // of every cell
    struct send *gone; // which the store has still
    uint32_t n_gone, cap_gone;
    bool known;      // else the store says what is under way
    bool others_fly; // which are not followed
};

void sends_init(struct sends *, const struct abstract_machine *, const struct task_texts *);
void sends_find(struct abstract_machine *, struct sends *); // if it is not known
// It has been started; its cells are found here.
void sends_add(struct abstract_machine *, struct sends *, struct send);
void sends_remove(struct abstract_machine *, struct sends *, struct send *); // it was waited for
void sends_put(struct abstract_machine *, struct sends *); // into the store, which says all then

// ---- what a task finds ------------------------------------------------------------------------

// What its end i waits for; NULL: nothing is under way there.
struct send *sends_awaited(struct sends *, const struct task_at *, uint32_t i);
// Whether a message may be started at its end i: nothing else has its slot then.
bool sends_slot_is_free(struct sends *, const struct task_at *, uint32_t i);

struct sent { // of what it waits for: which of its rows it is read from, and where in them
    const struct statement *start;
    uint32_t rows[MAX_PIECES]; // NO_ID: none of them
    int32_t items[MAX_PIECES];
};
struct sent sends_describe(const struct abstract_machine *, struct sends *, const struct task_at *,
                           uint32_t i);
bool sent_equal(const struct sent *, const struct sent *);

enum { MAX_READERS = 4 };
struct reader { // of a row: a message that it does not wait for
    uint32_t row;
    buffer_id buffer;
    int32_t item;
};
struct readers {
    struct reader list[MAX_READERS];
    uint32_t n;
};
// False: there are more than are followed.
bool sends_find_readers(const struct abstract_machine *, const struct sends *,
                        const struct task_at *, struct readers *);

#endif
