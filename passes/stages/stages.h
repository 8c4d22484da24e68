// Between the files that make a program for each rank of a pipeline of one for all of them. The pass itself is
// declared in passes/passes.h.
//
//   tasks.c    the tasks of a step, what they touch, and what goes from one to another
//   slots.c    how many there must be of what a rank has of several microbatches at once
//   order.c    when messages are known to have arrived, and how many microbatches are in flight
//   joins.c    sums over microbatches that have an order
//   copies.c   buffers and statements of the whole as they are in a part
//   loops.c    a rank's tasks in their order
//   outside.c  what stands around them, by whose it is
//   tied.c     gradients of a table that two stages have
//   stages.c   the pass
#ifndef PLACE_PASSES_STAGES_H
#define PLACE_PASSES_STAGES_H

#include "passes/passes.h"
#include "passes/pipeline/order.h"

// ---- tasks ------------------------------------------------------------------------------------

// What one stage does for one microbatch: statements of the loop over microbatches, between two labels.
struct task_block {
    enum task_kind kind;
    uint32_t stage;
    const struct statement *statements;
    uint32_t n;
    struct span span;
    uint32_t first_sent, first_received; // messages, from 1 on; 0: none
    struct joins *joins;                 // NULL: its sums have no order
};

// Items that one task has made and another, on another rank, reads first.
struct message {
    uint32_t from, to;                 // tasks
    uint32_t next_sent, next_received; // of these tasks' messages, from 1 on
    struct reference *items;           // of the whole program, by constants
    uint32_t n, cap;
    uint32_t lag; // by when so many more tasks like the first begin, it has arrived
    uint32_t *
        settled; // by microbatch: the position of the task before which its send is waited for; NEVER: of none
    uint32_t *started;       // the same, before which its receive starts
    int64_t sends, receives; // slots of those that have started and are not waited for
};
enum { NEVER = UINT32_MAX };

// What a rank does in front of a task: it waits for messages that tasks like this one have sent, and starts receives,
// each of a microbatch so much later than the task's.
struct message_of {
    uint32_t message;
    int64_t later;
};
struct message_list {
    struct message_of *of;
    uint32_t n, cap;
};
// How a task's sums over microbatches are joined to those of others, where they have an order: what stands for the
// microbatch's number, from 1 on, 0: that itself; and by level the slot where a sum is kept.
enum { MAX_LEVELS = 8 };
struct joining {
    uint32_t number;
    uint8_t slots[MAX_LEVELS];
};
struct beside {
    struct message_list settles, starts;
    struct joining joins[N_TASK_KINDS]; // of what stands behind labels of each kind
};

// The same of all microbatches of a block of tasks.
struct joins {
    bool as_numbered; // by the numbers that microbatches have
    uint8_t *levels;  // by microbatch: of how many levels its task joins two sums
    int64_t slots[MAX_LEVELS];
};

// A gradient that one rank's task has begun for a microbatch, and to which another rank's would add: a table's that
// stands at both ends. Each begins with zero, and does with its own what is done with all of it.
struct apart {
    uint32_t maker, adder; // tasks
    struct reference item; // of the whole program, by constants
};

struct task_loop {
    const struct statement *loop; // NULL: the step has no tasks
    struct task_block *tasks;
    uint32_t n;
    uint32_t *block_of; // by kind and stage, from 1 on
    struct message *messages;
    uint32_t n_messages, cap_messages;
    struct apart *aparts;
    uint32_t n_aparts, cap_aparts;
    const struct schedule *schedule; // what each rank does of them
    struct simulation simulation;    // of it
    uint32_t *positions;             // of tasks in their rank's list, by task_slot
    uint32_t *turns;                 // which of its stage's tasks of its kind each is, by the same
    uint32_t *by_turn;        // the microbatches of such tasks, in the order that they have there
    struct rank_tasks *lists; // of each rank, with what is beside each task
    struct beside *besides;   // by number, from 1 on
    uint32_t n_besides, cap_besides;
};

// What the tasks of one stage touch of a buffer.
struct stage_use {
    uint32_t stage;
    unsigned kinds; // of tasks, bits 1 << kind
    bool written;
    int64_t first, last;           // places in its stack of layers; of others 0
    int64_t first_slot, last_slot; // the same in its stack of slots
    int64_t in_flight;             // of how many microbatches there is something at once
    buffer_id copy;                // in the stage's part; NO_ID: not made yet
    buffer_id told;                // the same where the host reads it, of one microbatch
    // Another stage of the rank to which this one hands on, or from which it takes, and whose copies it shares;
    // NULL: it has its own.
    struct stage_use *home;
    struct stage_use *next;
};

static inline struct stage_use *home_of(struct stage_use *use) {
    while (use && use->home)
        use = use->home;
    return use;
}

struct rank_copy {
    uint32_t rank;
    unsigned slot; // of sums that wait
    buffer_id copy;
    const struct rank_copy *next;
};

// A buffer of the whole program. What a task makes anew for each microbatch passes from task to task, and each
// stage has a buffer for it; all else there is once on a rank.
struct split_buffer {
    bool is_made;     // by tasks, before any reads it
    bool is_outside;  // statements around the tasks touch it
    bool is_whole;    // of a window that they touch
    bool is_again;    // they have it for something else, too, or its whole
    bool has_windows; // that they touch
    bool waits; // sums of a level of the tree over microbatches do there, for the one beside each
    unsigned level;
    struct stage_use *uses;
    const struct rank_copy *copies;
};

// Ranks that have something, each once, or all of them; or whichever do what it serves.
struct rank_set {
    bool all, any;
    uint32_t *ranks;
    uint32_t n, cap;
};

struct splitter {
    struct arena *arena; // the job's
    struct arena *scratch;
    const struct program *whole;
    const struct placed_pipeline *pipeline;
    int64_t microbatches;
    struct span span; // of the split of layers
    struct task_loop loops[N_STEPS];
    struct split_buffer *buffers;
    struct rank_set *of_tensors; // that is not repeated by layer
    const struct rank_set *
        *of_values; // of buffers that calls around the tasks make of one part; NULL: of others
    uint32_t *
        holders; // by buffer: the rank, from 1 on, that has what was added up of it; only where sums have an order
    struct program **parts; // by rank
};

static inline bool passes_on(const struct split_buffer *buffer) {
    return buffer->is_made && !buffer->is_outside && !buffer->is_whole;
}

static inline uint32_t rank_of_stage(const struct splitter *s, uint32_t stage) {
    return s->pipeline->schedule->rank_of[stage];
}

// Whether a task of the schedule does what stands behind a label of the kind: all of backward does both parts of it.
static inline bool task_does(enum task_kind task, enum task_kind label) {
    return task == label || (task == TASK_BACKWARD && label != TASK_FORWARD);
}

// Where what is known of a task of a microbatch is: forward, backward or its inputs, weights.
static inline size_t task_slot(const struct splitter *s, enum task_kind kind, uint32_t stage,
                               int64_t microbatch) {
    size_t of = kind == TASK_FORWARD ? 0 : kind == TASK_WEIGHTS ? 2 : 1;
    return (of * s->pipeline->n_stages + stage) * (size_t)s->microbatches + (size_t)microbatch;
}

void find_tasks(struct splitter *);
// What stands behind the label of a kind and a stage; NULL: there is none.
const struct task_block *find_block(const struct splitter *, const struct task_loop *,
                                    enum task_kind, uint32_t stage);
struct stage_use *find_use(const struct splitter *, buffer_id, uint32_t stage); // NULL: none
void rank_set_add(struct splitter *, struct rank_set *, uint32_t rank);
bool rank_set_has(const struct rank_set *, uint32_t rank);
// Those that a buffer is of; what is of no part of the model is of all.
const struct rank_set *ranks_of_buffer(struct splitter *, buffer_id);

// ---- slots ------------------------------------------------------------------------------------
// From where on something of a microbatch is there, and behind which position of the rank's list no longer: that of
// its last task, or the one in front of which a message with it is waited for.
struct lifetime {
    uint32_t begin, end;
};

// Lifetimes, mostly by microbatch, and room for what finds slots for them.
struct lives {
    struct lifetime *of;
    uint32_t n;
    const struct lifetime **in_order, **last;
    uint32_t *ends;
};

struct lives lives_of(struct arena *, uint32_t n); // room for so many
// Slots in turn: the fewest of which no two that are there at once have the same.
int64_t slots_of(struct lives *);

// ---- order ------------------------------------------------------------------------------------
void order_tasks(struct splitter *);
// The microbatches of a stage's tasks of a kind, in their order.
static inline const uint32_t *order_of(const struct splitter *s, const struct task_loop *loop,
                                       const struct task_block *task) {
    return &loop->by_turn[task_slot(s, task->kind, task->stage, 0)];
}
static inline uint32_t position_of(const struct splitter *s, const struct task_loop *loop,
                                   const struct task_block *task, int64_t microbatch) {
    return loop->positions[task_slot(s, task->kind, task->stage, microbatch)];
}

// ---- joins ------------------------------------------------------------------------------------
// Where sums have an order, how those of each block of tasks are joined.
void find_joins(struct splitter *, struct task_loop *);
struct joining joining_of(const struct splitter *, const struct task_block *, uint32_t microbatch);

// ---- copies -----------------------------------------------------------------------------------
// Where a copied statement stands: the number of its microbatch, and how many loops are around it.
struct moment {
    int variable; // -1: `offset` is the number
    int64_t offset;
    int depth;
    const struct joining *joins;
};
static inline struct index microbatch_at(const struct moment *at, int64_t later, int64_t modulus) {
    return index_variable(at->variable, at->offset + later, modulus);
}

// A rank's program that is made, and the step.
struct making_part {
    struct splitter *s;
    uint32_t rank;
    enum step_kind kind;
    struct program *part;
    struct step *step;
    uint32_t alone; // of what is made for this tensor alone it, from 1 on; 0: it is for all
};
static inline struct making_part part_of_rank(struct splitter *s, uint32_t rank,
                                              enum step_kind kind) {
    return (struct making_part){s, rank, kind, s->parts[rank], &s->parts[rank]->steps[kind], 0};
}

buffer_id copy_on_rank(struct making_part *, buffer_id);
// An item of a stage's tasks, of the microbatch at the moment.
struct reference reference_in_task(struct making_part *, uint32_t stage, const struct moment *,
                                   struct reference);
struct statement statement_in_task(struct making_part *, uint32_t stage, const struct moment *,
                                   const struct statement *);
uint32_t handle_in_part(struct making_part *, const char *name, int64_t slots);
// A statement around the tasks, all of it.
struct statement statement_outside(struct making_part *, const struct statement *);

// ---- loops, outside, tied ---------------------------------------------------------------------
void push_tasks(struct making_part *);
// What a task does with a tensor's gradients behind its calls, in another stage's task.
void push_tail(struct making_part *, struct block *to, uint32_t stage, const struct moment *,
               const struct task_block *of, uint32_t tensor);
void push_outside(struct splitter *, enum step_kind, const struct statement *);
// One end of a message around the tasks: all of a buffer of the part.
void push_message(struct making_part *, enum collective_kind, const char *name, uint32_t peer,
                  buffer_id);
void push_message_wait(struct making_part *, const char *name);
void exchange_tied(struct splitter *);

#endif
