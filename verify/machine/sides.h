// What the parts of a job give each other while their steps are executed side by side (abreast.c),
// each on a machine of its own, over one world and in one proof.
//
//   message    has two ends. From one device to another they are matched in the order of starts:
//              the first receive gets what the first send gives. A receive's wait needs the send to
//              be started, a send's wait the receive to have been waited for: so it is between
//              threads, where nothing is kept in between, and whatever else keeps more waits less.
//   meeting    is a collective over the parts' axes. Each part starts its own half of it, by one
//              name and slot, and waits until all with which it has groups wait for it: so it is
//              between threads, which work off in their waits what all have given. Those over
//              equal axes are started by all parts in one order, by which transports know them.
//
// What is given is a judgement, and what arrives is made of that alone: nothing is said of a message
// but that it was sent. Since both ends are of one place along all other axes, it lies as it did.
#ifndef PLACE_VERIFY_MACHINE_SIDES_H
#define PLACE_VERIFY_MACHINE_SIDES_H

#include "verify/machine/contents.h"

struct message {
    const struct statement *send, *receive; // NULL: this end is not started yet
    const struct abstract_machine *from, *to;
    const struct judgement *values; // of the send's pieces; NULL: they are what
    struct token token;             // this says; without content, nobody has asked what it is
    const struct fault *wrong;      // why the ends are not of one message; NULL: they are
    bool taken, left;               // the receive was waited for, and the send
};
struct channel {          // from one device to another
    uint32_t to;          // its number along the parts' axis
    struct message *list; // behind the first n_ended, of which nobody asks any more
    uint32_t n, cap, n_ended;
    uint32_t n_over; // of the list, from its first on: both ends were waited for
    uint32_t n_sent, n_received;
};
struct channels { // of one device that sends
    struct channel **list;
    uint32_t n, cap;
};

struct brought {            // of a piece
    const int64_t *members; // how many devices of each part gave it; NULL: nobody has asked yet
    struct judgement value;
};
struct meeting {
    const struct group *group;
    uint32_t number;                 // among those of the group
    const struct statement **starts; // of every part; NULL: it has not come yet
    int32_t *slots;                  // of the handle, in which each has it
    const struct judgement **given;  // by every part, of every piece
    uint32_t n_started;
    const bool **members;      // of every part: those with which its devices are in groups
    bool *waits;               // of every part: it has come to its wait
    const struct fault *wrong; // why parts do not meet in one collective; NULL: they do
    struct brought *brought;   // of every piece: what the last part got, and from whom
};

struct group { // collectives over equal axes
    struct axis_list axes;
    uint32_t *n_started; // of every part
};

struct end { // of a message or a meeting, from its start to its wait
    uint32_t handle;
    int32_t slot;
    const struct statement *start;
    struct channel *channel; // of a message: of the part's first device
    uint32_t number;         // among those of the channel
    struct meeting *meeting; // NULL: it is a message
};
struct ends { // of a handle
    struct end *list;
    uint32_t n, cap;
};

struct sides {
    struct arena *arena;
    struct abstract_machine *machines; // of every part
    uint32_t n;
    struct channels *channels; // of every number along the parts' axis
    struct meeting **open;     // to which some parts have not come
    uint32_t n_open, cap_open;
    struct group **groups;
    uint32_t n_groups, cap_groups;
    struct ends **ends;          // of every part, of every handle of the step
    struct contents *contents;   // by which tasks are repeated (repeat.c)
    struct memo memo;            // of calls of all parts
    struct memo passing;         // of those that soon will not come again (memo.c)
    struct arena passing_memory; // of what these are remembered by, of each part's own, too
    bool lenient;                // a send may be waited for once the receive is started (abreast.c)
    // What a task leaves in the stores the next ones replace, so what is left is moved from one
    // arena to the other now and then (several parts).
    struct arena states[2];
    int in_use;
    size_t kept_bytes;
};

// The sides of a job, of which each machine is one: nothing is under way.
struct sides *sides_new(struct arena *, struct abstract_machine *machines, uint32_t n);
void sides_begin(struct sides *);  // of another step
void sides_free(struct sides *);   // what is held
void sides_forget(struct sides *); // calls that soon will not come again
// Does the transfer go to other parts?
bool sides_exchange(const struct abstract_machine *, const struct exchange *);
// The collective without the parts' axes: what a part makes of its own before it meets others.
struct exchange sides_own_exchange(const struct abstract_machine *, const struct exchange *);
// One end is started; `given`: what a part gives, of each piece; NULL: what the token says. A receive
// gives nothing.
void sides_start(struct abstract_machine *, const struct statement *start, int32_t slot,
                 const struct judgement *given, struct token token);
// A receive is started and waited for at once: of what is there, and is what it is for. Of a part with
// one device along the parts' axes.
void sides_take(struct abstract_machine *, const struct statement *receive);
// The end that is in flight in the handle's slot; NULL: none is, but maybe a transfer of the part's
// own.
struct end *sides_end(const struct abstract_machine *, uint32_t handle, int32_t slot);
// The part has come to the wait for it. Whether this is over, or others have to come first.
bool sides_come(struct abstract_machine *, const struct end *);
bool sides_are_there(const struct abstract_machine *,
                     const struct end *); // it would be over at once
// What was given of piece i: to a receive by who sends it, to a meeting by each part. Of ends that do
// not fit nothing.
struct given {
    const struct judgement *list;
    uint32_t n;
};
struct given sides_given(const struct abstract_machine *, const struct end *, uint32_t i);
// What arrives of that.
struct judgement sides_arrived(struct abstract_machine *, const struct end *, uint32_t i,
                               struct given);
// The end was waited for. It is gone.
void sides_close(struct abstract_machine *, struct end *);
// The message that the next receive like this one gets, or the one so many behind it or, with a number
// below 0, before it; NULL: nobody has begun it. Of a part with one device along the parts' axes.
struct message *sides_message(const struct abstract_machine *, const struct statement *receive,
                              int32_t ahead);
struct message *sides_sent(const struct abstract_machine *, const struct end *); // of a send
// What was sent; without content: that can't be said so.
struct token sides_token(const struct abstract_machine *, struct message *);
// Whether it is what the receive is for, as far as its type says.
bool sides_can_receive(struct abstract_machine *, const struct message *,
                       const struct statement *receive);
// The part for which the end waits; one of several.
uint32_t sides_awaited(const struct abstract_machine *, const struct end *);

// abreast.c: executes a step of all parts. False: some part gave up, or none could go on; it is said
// why.
bool sides_execute(struct sides *, enum step_kind);

#endif
