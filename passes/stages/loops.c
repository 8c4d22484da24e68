// Stages, loops: a rank's tasks in their order, in loops where that repeats (passes/pipeline/roll.c).
//
// A task begins with the waits for what tasks like it have sent and others have received by now, and with what it
// receives itself; it ends with what it sends. What nothing like it comes behind is waited for behind all tasks.
//
//   for m = 3 .. 16 {
//     task F 0 m
//     wait down[m mod 2]
//     ...
//     start send over pp to 1 as down[m mod 2] { hidden[m mod 4][2] }
//     task B 0 m-3
//     start receive over pp from 1 as back[0] { dhidden[0] }
//     wait back[0]
//     ...
//   }
#include "ir/check.h"
#include "passes/pipeline/roll.h"
#include "passes/stages/stages.h"

static struct task_loop *loop_of(const struct making_part *m) {
    return &m->s->loops[m->kind];
}

// ---- messages ---------------------------------------------------------------------------------

static struct statement statement_of(const struct making_part *m, enum statement_kind kind) {
    return (struct statement){.kind = kind, .span = m->s->span};
}

static void push(struct making_part *m, struct block *to, struct statement statement) {
    block_push(m->s->arena, to, statement);
}

static const char *name_of_message(struct making_part *m, const struct message *message,
                                   const char *verb) {
    const struct task_loop *loop = loop_of(m);
    const struct task_block *from = &loop->tasks[message->from], *to = &loop->tasks[message->to];
    const char *name = arena_format(m->s->arena, "%s.%c%u.%c%u", verb, task_letters[from->kind],
                                    from->stage, task_letters[to->kind], to->stage);
    uint32_t n = 1; // of those between the two so far, of other types
    for (const struct message *other = loop->messages; other != message; other++)
        n += other->from == message->from && other->to == message->to;
    return n > 1 ? arena_format(m->s->arena, "%s.%u", name, n) : name;
}

static void push_half(struct making_part *m, struct block *to, const struct message *message,
                      bool sends, uint32_t handle, struct index index, const struct moment *at) {
    const struct task_loop *loop = loop_of(m);
    uint32_t own = loop->tasks[sends ? message->from : message->to].stage;
    uint32_t other = loop->tasks[sends ? message->to : message->from].stage;
    struct statement start = statement_of(m, STATEMENT_START);
    start.start =
        (struct transfer){.exchange = exchange_flat(sends ? COLLECTIVE_SEND : COLLECTIVE_RECEIVE,
                                                    &m->s->pipeline->axes),
                          .handle = handle,
                          .handle_index = index,
                          .pieces = ARENA_ARRAY(m->s->arena, struct transfer_piece, message->n),
                          .n_pieces = message->n};
    start.start.exchange.peer = rank_of_stage(m->s, other);
    for (uint32_t i = 0; i < message->n; i++) {
        struct reference item = reference_in_task(m, own, at, message->items[i]);
        start.start.pieces[i] = (struct transfer_piece){item, item};
    }
    push(m, to, start);
}

static void push_wait(struct making_part *m, struct block *to, uint32_t handle,
                      struct index index) {
    struct statement wait = statement_of(m, STATEMENT_WAIT);
    wait.wait.handle = handle;
    wait.wait.index = index;
    push(m, to, wait);
}

// The slot, of so many, of the microbatch that is `later` than the one at the moment. One slot is named by the
// variable, too, so that what is sent is seen to be the iteration's own.
static struct index slot_of(const struct moment *at, int64_t later, int64_t slots) {
    int64_t turns = (later % slots + slots) % slots;
    return at->variable < 0 ? index_constant((at->offset + turns) % slots)
                            : microbatch_at(at, turns, slots);
}

static uint32_t receiving(struct making_part *m, const struct message *message) {
    return handle_in_part(m, name_of_message(m, message, "receive"), message->receives);
}

static void push_starts(struct making_part *m, struct block *to, const struct message_list *starts,
                        const struct moment *at) {
    for (uint32_t i = 0; i < starts->n; i++) {
        const struct message *message = &loop_of(m)->messages[starts->of[i].message];
        struct moment moment = *at;
        moment.offset += starts->of[i].later;
        push_half(m, to, message, false, receiving(m, message),
                  slot_of(&moment, 0, message->receives), &moment);
    }
}

static void push_receives(struct making_part *m, struct block *to, const struct task_block *task,
                          const struct moment *at) {
    for (uint32_t i = task->first_received; i > 0; i = loop_of(m)->messages[i - 1].next_received) {
        const struct message *message = &loop_of(m)->messages[i - 1];
        push_wait(m, to, receiving(m, message), slot_of(at, 0, message->receives));
    }
}

static uint32_t sending(struct making_part *m, const struct message *message) {
    return handle_in_part(m, name_of_message(m, message, "send"), message->sends);
}

static void push_sends(struct making_part *m, struct block *to, const struct task_block *task,
                       const struct moment *at) {
    const struct message *messages = loop_of(m)->messages;
    uint32_t first = task->first_sent ? task->first_sent - 1 : 0;
    for (uint32_t i = task->first_sent; i > 0; i = messages[i - 1].next_sent)
        first = i - 1 < first ? i - 1 : first;
    for (uint32_t i = first; task->first_sent && i < task->first_sent; i++) // in their order
        if (&loop_of(m)->tasks[messages[i].from] == task)
            push_half(m, to, &messages[i], true, sending(m, &messages[i]),
                      slot_of(at, 0, messages[i].sends), at);
}

static void push_settled(struct making_part *m, struct block *to,
                         const struct message_list *settles, const struct moment *at) {
    for (uint32_t i = 0; i < settles->n; i++) {
        const struct message *message = &loop_of(m)->messages[settles->of[i].message];
        push_wait(m, to, sending(m, message), slot_of(at, settles->of[i].later, message->sends));
    }
}

// ---- gradients that others add to -------------------------------------------------------------

static void push_zeroes(struct making_part *m, struct block *to, uint32_t task,
                        const struct moment *at) {
    const struct task_loop *loop = loop_of(m);
    for (uint32_t i = 0; i < loop->n_aparts; i++) {
        const struct apart *apart = &loop->aparts[i];
        struct statement zero = statement_of(m, STATEMENT_ZERO);
        if (apart->adder != task)
            continue;
        zero.zero = reference_in_task(m, loop->tasks[task].stage, at, apart->item);
        push(m, to, zero);
    }
}

static void push_tails(struct making_part *m, struct block *to, uint32_t task,
                       const struct moment *at) {
    const struct task_loop *loop = loop_of(m);
    for (uint32_t i = 0; i < loop->n_aparts; i++) {
        bool again = false;
        for (uint32_t k = 0; k < i; k++)
            again |=
                loop->aparts[k].maker == task && loop->aparts[k].adder == loop->aparts[i].adder;
        if (loop->aparts[i].maker == task && !again)
            push_tail(m, to, loop->tasks[task].stage, at, &loop->tasks[loop->aparts[i].adder],
                      m->s->whole->buffers[loop->aparts[i].item.buffer].tensor);
    }
}

// ---- a task -----------------------------------------------------------------------------------

static void push_block(struct making_part *m, struct block *to, const struct task_block *block,
                       const struct beside *beside, const struct moment *moment) {
    struct moment here = *moment;
    here.joins = &beside->joins[block->kind];
    const struct moment *at = &here;
    uint32_t task = (uint32_t)(block - loop_of(m)->tasks);
    push_receives(m, to, block, at);
    push_zeroes(m, to, task, at);
    for (uint32_t i = 0; i < block->n; i++)
        push(m, to, statement_in_task(m, block->stage, at, &block->statements[i]));
    push_tails(m, to, task, at);
    push_sends(m, to, block, at);
}

// A stage may have nothing to do in a task, as the embedding alone where backward is of inputs.
static void push_task(struct making_part *m, struct block *to, const struct task *of,
                      const struct moment *at) {
    const struct task_loop *loop = loop_of(m);
    const struct beside *beside = &loop->besides[of->beside - 1];
    const struct task_block *blocks[N_TASK_KINDS];
    struct statement label = statement_of(m, STATEMENT_TASK);
    label.task = (struct task_label){of->kind, of->stage, microbatch_at(at, 0, 0)};
    push(m, to, label);
    for (enum task_kind kind = 0; kind < N_TASK_KINDS; kind++)
        blocks[kind] = task_does(of->kind, kind) ? find_block(m->s, loop, kind, of->stage) : NULL;
    push_settled(m, to, &beside->settles, at);
    push_starts(m, to, &beside->starts, at);
    for (enum task_kind kind = 0; kind < N_TASK_KINDS; kind++)
        if (blocks[kind])
            push_block(m, to, blocks[kind], beside, at);
}

// ---- loops of tasks ---------------------------------------------------------------------------

// What stands around an item: the variable of the innermost loop, and what it is where the microbatch of the
// item's task is its own. `counts`: the variable is no microbatch, but the number of an iteration.
struct around {
    int depth;
    bool counts;
    int64_t stride, first; // of the innermost loop: of a count; the microbatch of its first task
};

static void push_item(struct making_part *, struct block *, const struct rolled *,
                      const struct around *);

static void push_items(struct making_part *m, struct block *to, const struct rolled *items,
                       uint32_t n, const struct around *around) {
    for (uint32_t i = 0; i < n; i++)
        push_item(m, to, &items[i], around);
}

static struct statement microbatch_loop(const struct making_part *m, int64_t begin, int64_t n,
                                        int64_t stride) {
    struct statement made = statement_of(m, STATEMENT_LOOP);
    made.loop = (struct loop){.name = "m", .begin = begin, .end = begin + n, .stride = stride};
    return made;
}

// A loop of which each iteration is the one before, a microbatch later.
static void push_successive(struct making_part *m, struct block *to, const struct rolled *item,
                            const struct around *around) {
    int64_t begin = item->task.microbatch, stride = 0;
    if (around->depth > 0 && around->counts)
        stride = around->stride;
    else if (around->depth > 0) {
        begin -= around->first;
        stride = 1;
    }
    struct statement made = microbatch_loop(m, begin, item->count, stride);
    const struct around inside = {around->depth + 1, false, 0, item->task.microbatch};
    push_items(m, &made.loop.body, item->body, item->n_body, &inside);
    push(m, to, made);
}

// The same, a microbatch earlier.
static void push_descending(struct making_part *m, struct block *to, const struct rolled *item) {
    int64_t last = item->task.microbatch - (item->count - 1);
    struct statement made = microbatch_loop(m, last, item->count, 0);
    made.loop.descending = true;
    const struct around inside = {1, false, 0, item->task.microbatch};
    push_items(m, &made.loop.body, item->body, item->n_body, &inside);
    push(m, to, made);
}

// A loop whose iterations are several microbatches apart counts them.
static void push_counted(struct making_part *m, struct block *to, const struct rolled *item) {
    struct statement made = microbatch_loop(m, 0, item->count, 0);
    made.loop.name = "r";
    const struct around inside = {1, true, item->stride, 0};
    push_items(m, &made.loop.body, item->body, item->n_body, &inside);
    push(m, to, made);
}

// Every iteration by itself, where no variable could say which microbatches it has.
static void push_unrolled(struct making_part *m, struct block *to, const struct rolled *item,
                          const struct around *around) {
    struct rank_tasks tasks = unroll_tasks(m->s->scratch, item, 1);
    for (uint32_t i = 0; i < tasks.n; i++) {
        const struct rolled one = {.task = tasks.tasks[i], .count = 1};
        push_item(m, to, &one, around);
    }
}

static void push_item(struct making_part *m, struct block *to, const struct rolled *item,
                      const struct around *around) {
    int64_t microbatch = item->task.microbatch;
    if (item->n_body > 0) {
        if (item->stride == 1)
            push_successive(m, to, item, around);
        else if (around->depth == 0 && item->stride == -1)
            push_descending(m, to, item);
        else if (around->depth == 0 && item->stride > 1)
            push_counted(m, to, item);
        else
            push_unrolled(m, to, item, around);
        return;
    }
    if (around->depth > 0 && around->counts) { // a loop of one iteration, whose variable it is
        const struct rolled body = {.task = item->task, .count = 1};
        const struct rolled one = {item->task, 1, 1, (struct rolled *)&body, 1};
        push_successive(m, to, &one, around);
        return;
    }
    struct moment at = {.variable = -1, .offset = microbatch, .depth = around->depth};
    if (around->depth > 0)
        at = (struct moment){.variable = around->depth - 1,
                             .offset = microbatch - around->first,
                             .depth = around->depth};
    push_task(m, to, &item->task, &at);
}

// ---- the whole --------------------------------------------------------------------------------

// What the last tasks have sent, in loops over microbatches that follow one another.
static void push_last_waits(struct making_part *m, struct block *to) {
    const struct task_loop *loop = loop_of(m);
    for (uint32_t i = 0; i < loop->n_messages; i++) {
        const struct message *message = &loop->messages[i];
        const struct task_block *from = &loop->tasks[message->from];
        if (rank_of_stage(m->s, from->stage) != m->rank)
            continue;
        const uint32_t *order = order_of(m->s, loop, from);
        uint32_t handle = sending(m, message), all = (uint32_t)m->s->microbatches, n;
        for (uint32_t at = all > message->lag ? all - message->lag : 0; at < all; at += n) {
            for (n = 1; at + n < all && order[at + n] == order[at] + n;)
                n++;
            struct statement made = microbatch_loop(m, order[at], n, 0);
            struct moment moment = {
                .variable = n > 1 ? 0 : -1, .offset = n > 1 ? 0 : order[at], .depth = 1};
            push_wait(m, n > 1 ? &made.loop.body : to, handle, slot_of(&moment, 0, message->sends));
            if (n > 1)
                push(m, to, made);
        }
    }
}

void push_tasks(struct making_part *m) {
    uint32_t n;
    const struct rolled *items =
        roll_tasks(m->s->scratch, &loop_of(m)->lists[m->rank], m->s->pipeline->n_chunks, &n);
    push_items(m, &m->step->body, items, n, &(struct around){0});
    struct statement end = statement_of(m, STATEMENT_TASK);
    end.task = (struct task_label){.kind = N_TASK_KINDS, .microbatch = index_constant(0)};
    push(m, &m->step->body, end);
    push_last_waits(m, &m->step->body);
}
