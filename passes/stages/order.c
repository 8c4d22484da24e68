// Stages, order: what each rank does when, by when messages have arrived, and how many microbatches are in flight.
//
// A send is waited for where it is known to have been received, so that nobody waits: where the tasks that read it
// have begun, if each takes one unit of time, before a later task like the sender's. Whatever tasks really take,
// waiting there ends, since no task waits for one that begins later in that time; and of those that begin at one time
// each waits for one of the next stage, or in backward of the one before, which goes round nowhere.
//
// Between two ranks, in one direction, what is received first is what was sent first. So where a rank's tasks read
// messages in another order than they were sent in, receives start before the task that reads them, in front of the
// one that reads what was sent later.
#include <stdlib.h>
#include <string.h>

#include "ir/check.h"
#include "passes/stages/stages.h"

static const struct schedule *forward_only(struct splitter *s, const struct schedule *of) {
    struct schedule *forward = arena_copy(s->scratch, of, sizeof *of);
    forward->ranks = ARENA_ARRAY(s->scratch, struct rank_tasks, of->n_ranks);
    for (uint32_t rank = 0; rank < of->n_ranks; rank++) {
        struct rank_tasks *to = &forward->ranks[rank];
        for (uint32_t i = 0; i < of->ranks[rank].n; i++)
            if (of->ranks[rank].tasks[i].kind == TASK_FORWARD)
                ARENA_PUSH(s->scratch, to->tasks, to->n, to->cap, of->ranks[rank].tasks[i]);
    }
    return forward;
}

// ---- what is known of tasks -------------------------------------------------------------------

static void place_task(const struct splitter *s, struct task_loop *loop, enum task_kind kind,
                       const struct task *task, uint32_t position, uint32_t *n_placed) {
    size_t first = task_slot(s, kind, task->stage, 0);
    uint32_t turn = n_placed[first / (size_t)s->microbatches]++;
    loop->positions[first + task->microbatch] = position;
    loop->turns[first + task->microbatch] = turn;
    loop->by_turn[first + turn] = task->microbatch;
}

static void find_positions(struct splitter *s, struct task_loop *loop) {
    size_t n_lanes = (size_t)3 * s->pipeline->n_stages, n = n_lanes * (size_t)s->microbatches;
    uint32_t *n_placed = ARENA_ARRAY(s->scratch, uint32_t, n_lanes);
    loop->positions = ARENA_ARRAY(s->scratch, uint32_t, n);
    loop->turns = ARENA_ARRAY(s->scratch, uint32_t, n);
    loop->by_turn = ARENA_ARRAY(s->scratch, uint32_t, n);
    for (uint32_t rank = 0; rank < loop->schedule->n_ranks; rank++)
        for (uint32_t i = 0; i < loop->schedule->ranks[rank].n; i++) {
            const struct task *task = &loop->schedule->ranks[rank].tasks[i];
            place_task(s, loop, task->kind, task, i, n_placed);
            if (task->kind == TASK_BACKWARD)
                place_task(s, loop, TASK_WEIGHTS, task, i, n_placed);
        }
}

static double begin_of(const struct task_loop *loop, uint32_t task, uint32_t microbatch) {
    const struct task_block *block = &loop->tasks[task];
    const struct task of = {.kind = block->kind, .stage = block->stage, .microbatch = microbatch};
    return simulation_begin(&loop->simulation, &of);
}

// ---- sends ------------------------------------------------------------------------------------

static void settle_sends(struct splitter *s, const struct task_loop *loop, struct lives *lives,
                         struct message *message) {
    const struct task_block *from = &loop->tasks[message->from];
    const uint32_t *order = order_of(s, loop, from);
    uint32_t n = lives->n;
    for (uint32_t i = 0; i < n; i++)
        while (i + message->lag < n && begin_of(loop, message->from, order[i + message->lag]) <
                                           begin_of(loop, message->to, order[i]))
            message->lag++;
    message->settled = ARENA_ARRAY(s->scratch, uint32_t, n);
    for (uint32_t i = 0; i < n; i++) {
        bool is_last = i + message->lag >= n;
        uint32_t m = order[i],
                 at = is_last ? NEVER : position_of(s, loop, from, order[i + message->lag]);
        message->settled[m] = at;
        lives->of[m] = (struct lifetime){position_of(s, loop, from, m), is_last ? NEVER : at - 1};
    }
    message->sends = slots_of(lives);
}

// ---- items ------------------------------------------------------------------------------------

static bool carries(const struct message *message, buffer_id buffer) {
    for (uint32_t k = 0; k < message->n; k++)
        if (message->items[k].buffer == buffer)
            return true;
    return false;
}

// What an item's life depends on, whichever microbatch it is of: the tasks of the stages that share its home, and the
// messages that carry it.
struct life_of_item {
    const struct task_block **tasks;
    uint32_t n_tasks, cap_tasks;
    const struct message **sent, **received;
    uint32_t n_sent, cap_sent, n_received, cap_received;
};

static void add_task(struct splitter *s, const struct task_loop *loop, buffer_id buffer,
                     const struct task_block *task, struct life_of_item *item) {
    ARENA_PUSH(s->scratch, item->tasks, item->n_tasks, item->cap_tasks, task);
    for (uint32_t i = task->first_sent; i > 0; i = loop->messages[i - 1].next_sent)
        if (carries(&loop->messages[i - 1], buffer))
            ARENA_PUSH(s->scratch, item->sent, item->n_sent, item->cap_sent,
                       &loop->messages[i - 1]);
    for (uint32_t i = task->first_received; i > 0; i = loop->messages[i - 1].next_received)
        if (carries(&loop->messages[i - 1], buffer))
            ARENA_PUSH(s->scratch, item->received, item->n_received, item->cap_received,
                       &loop->messages[i - 1]);
}

static struct life_of_item find_life(struct splitter *s, const struct task_loop *loop,
                                        buffer_id buffer, const struct stage_use *home) {
    struct life_of_item item = {0};
    for (struct stage_use *use = s->buffers[buffer].uses; use; use = use->next)
        for (enum task_kind kind = 0; kind < N_TASK_KINDS && home_of(use) == home; kind++) {
            const struct task_block *task = find_block(s, loop, kind, use->stage);
            if (task && use->kinds >> kind & 1)
                add_task(s, loop, buffer, task, &item);
        }
    return item;
}

// From the first to the last of the tasks; what is sent is there till that is settled, and what is received from when
// that is started.
static struct lifetime lifetime_of(const struct splitter *s, const struct task_loop *loop,
                                   const struct life_of_item *item, int64_t m) {
    struct lifetime life = {.begin = NEVER};
    for (uint32_t i = 0; i < item->n_tasks; i++) {
        uint32_t at = position_of(s, loop, item->tasks[i], m);
        life.begin = at < life.begin ? at : life.begin;
        life.end = at > life.end ? at : life.end;
    }
    for (uint32_t i = 0; i < item->n_sent; i++) {
        uint32_t settled = item->sent[i]->settled[m], end = settled == NEVER ? NEVER : settled - 1;
        life.end = end > life.end ? end : life.end;
    }
    for (uint32_t i = 0; i < item->n_received; i++) {
        uint32_t started = item->received[i]->started[m];
        life.begin = started < life.begin ? started : life.begin;
    }
    return life;
}

// One is enough of what the step has no task of.
static void count_in_flight(struct splitter *s, const struct task_loop *loop, struct lives *lives) {
    for (buffer_id i = 0; i < s->whole->n_buffers; i++)
        for (struct stage_use *use = s->buffers[i].uses; use && passes_on(&s->buffers[i]);
             use = use->next) {
            struct life_of_item item = {0};
            if (!use->home)
                item = find_life(s, loop, i, use);
            for (uint32_t m = 0; m < lives->n && item.n_tasks; m++)
                lives->of[m] = lifetime_of(s, loop, &item, m);
            int64_t here = item.n_tasks ? slots_of(lives) : 1;
            use->in_flight = here > use->in_flight ? here : use->in_flight;
        }
}

// ---- receives ---------------------------------------------------------------------------------

// One message to a rank: where it is sent in its sender's list, and where the task is that reads it.
struct arrival {
    uint32_t message, sender;
    int64_t microbatch;
    uint32_t sent, read;
};

static int by_sent(const void *left, const void *right) {
    const struct arrival *a = left, *b = right;
    if (a->sender != b->sender)
        return a->sender < b->sender ? -1 : 1;
    if (a->sent != b->sent)
        return a->sent < b->sent ? -1 : 1;
    return a->message < b->message ? -1 : a->message > b->message;
}

static int by_started(const void *left, const void *right) {
    const struct arrival *a = left, *b = right;
    if (a->read != b->read)
        return a->read < b->read ? -1 : 1;
    return by_sent(left, right);
}

static struct arrival *arrivals_at(struct splitter *s, struct task_loop *loop, uint32_t rank,
                                   size_t *n) {
    size_t most = 0;
    *n = 0;
    for (uint32_t i = 0; i < loop->n_messages; i++)
        most += rank_of_stage(s, loop->tasks[loop->messages[i].to].stage) == rank;
    struct arrival *all =
        ARENA_ARRAY(s->scratch, struct arrival, most * (size_t)s->microbatches + 1);
    for (uint32_t i = 0; i < loop->n_messages && most; i++) {
        const struct task_block *from = &loop->tasks[loop->messages[i].from];
        const struct task_block *to = &loop->tasks[loop->messages[i].to];
        for (int64_t m = 0; m < s->microbatches && rank_of_stage(s, to->stage) == rank; m++)
            all[(*n)++] = (struct arrival){.message = i,
                                           .sender = rank_of_stage(s, from->stage),
                                           .microbatch = m,
                                           .sent = position_of(s, loop, from, m),
                                           .read = position_of(s, loop, to, m)};
    }
    return all;
}

// The positions before which receives start; from here on `read` says them.
static void start_receives(struct splitter *s, struct task_loop *loop, struct arrival *all,
                           size_t n) {
    qsort(all, n, sizeof *all, by_sent);
    for (size_t i = n; i-- > 0;) {
        struct arrival *one = &all[i];
        struct message *message = &loop->messages[one->message];
        if (i + 1 < n && all[i + 1].sender == one->sender && all[i + 1].read < one->read)
            one->read = all[i + 1].read;
        if (!message->started)
            message->started = ARENA_ARRAY(s->scratch, uint32_t, (size_t)s->microbatches);
        message->started[one->microbatch] = one->read;
    }
    qsort(all, n, sizeof *all, by_started);
}

static void count_receives(const struct splitter *s, const struct task_loop *loop,
                           struct lives *lives, struct message *message) {
    const struct task_block *to = &loop->tasks[message->to];
    for (uint32_t m = 0; m < lives->n; m++)
        lives->of[m] = (struct lifetime){message->started[m], position_of(s, loop, to, m)};
    message->receives = slots_of(lives);
}

// ---- beside tasks -----------------------------------------------------------------------------

static bool lists_equal(const struct message_list *a, const struct message_list *b) {
    bool equal = a->n == b->n;
    for (uint32_t i = 0; equal && i < a->n; i++)
        equal = a->of[i].message == b->of[i].message && a->of[i].later == b->of[i].later;
    return equal;
}

static void add_message(struct splitter *s, struct message_list *list, uint32_t message,
                        int64_t later) {
    ARENA_PUSH(s->scratch, list->of, list->n, list->cap, (struct message_of){message, later});
}

// Those of the neighbours are mostly the same.
static uint32_t number_of(struct splitter *s, struct task_loop *loop, const struct beside *beside) {
    for (uint32_t i = loop->n_besides; i > 0; i--)
        if (lists_equal(&loop->besides[i - 1].settles, &beside->settles) &&
            lists_equal(&loop->besides[i - 1].starts, &beside->starts) &&
            memcmp(loop->besides[i - 1].joins, beside->joins, sizeof beside->joins) == 0)
            return i;
    ARENA_PUSH(s->scratch, loop->besides, loop->n_besides, loop->cap_besides, *beside);
    return loop->n_besides;
}

static struct message_list settled_by(struct splitter *s, const struct task_loop *loop,
                                      const struct task *of) {
    struct message_list settles = {0};
    for (enum task_kind kind = 0; kind < N_TASK_KINDS; kind++) {
        const struct task_block *block = find_block(s, loop, kind, of->stage);
        size_t first = task_slot(s, kind, of->stage, 0);
        uint32_t turn = loop->turns[first + of->microbatch];
        for (uint32_t i = block && task_does(of->kind, kind) ? block->first_sent : 0; i > 0;
             i = loop->messages[i - 1].next_sent) {
            uint32_t lag = loop->messages[i - 1].lag;
            if (turn >= lag)
                add_message(s, &settles, i - 1,
                            (int64_t)loop->by_turn[first + turn - lag] - of->microbatch);
        }
    }
    return settles;
}

static void add_joins(const struct splitter *s, const struct task_loop *loop, const struct task *of,
                      struct beside *beside) {
    for (enum task_kind kind = 0; kind < N_TASK_KINDS; kind++) {
        const struct task_block *block = find_block(s, loop, kind, of->stage);
        if (block && block->joins && task_does(of->kind, kind))
            beside->joins[kind] = joining_of(s, block, of->microbatch);
    }
}

static void list_tasks(struct splitter *s, struct task_loop *loop, uint32_t rank) {
    size_t n, next = 0;
    struct arrival *all = arrivals_at(s, loop, rank, &n);
    struct rank_tasks *list = &loop->lists[rank];
    start_receives(s, loop, all, n);
    *list = loop->schedule->ranks[rank];
    list->tasks = arena_copy(s->scratch, list->tasks, list->n * sizeof *list->tasks);
    for (uint32_t i = 0; i < list->n; i++) {
        struct beside beside = {.settles = settled_by(s, loop, &list->tasks[i])};
        for (; next < n && all[next].read == i; next++)
            add_message(s, &beside.starts, all[next].message,
                        all[next].microbatch - list->tasks[i].microbatch);
        add_joins(s, loop, &list->tasks[i], &beside);
        list->tasks[i].beside = number_of(s, loop, &beside);
    }
    CHECK(next == n);
}

static void order_loop(struct splitter *s, struct task_loop *loop, struct lives *lives) {
    CHECK(schedule_simulate(s->scratch, loop->schedule, NULL, &loop->simulation));
    find_positions(s, loop);
    find_joins(s, loop);
    for (uint32_t i = 0; i < loop->n_messages; i++)
        settle_sends(s, loop, lives, &loop->messages[i]);
    loop->lists = ARENA_ARRAY(s->scratch, struct rank_tasks, loop->schedule->n_ranks);
    for (uint32_t rank = 0; rank < loop->schedule->n_ranks; rank++)
        list_tasks(s, loop, rank);
    for (uint32_t i = 0; i < loop->n_messages; i++)
        count_receives(s, loop, lives, &loop->messages[i]);
    count_in_flight(s, loop, lives);
}

void order_tasks(struct splitter *s) {
    struct lives lives = lives_of(s->scratch, (uint32_t)s->microbatches);
    for (int kind = 0; kind < N_STEPS; kind++) {
        struct task_loop *loop = &s->loops[kind];
        const struct schedule *schedule = s->pipeline->schedule;
        if (!loop->loop)
            continue;
        loop->schedule = kind == STEP_TRAIN ? schedule : forward_only(s, schedule);
        order_loop(s, loop, &lives);
    }
}
