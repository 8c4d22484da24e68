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

static void find_positions(struct splitter *s, struct task_loop *loop) {
    loop->positions = ARENA_ARRAY(s->scratch, uint32_t,
                                  (size_t)3 * s->pipeline->n_stages * (size_t)s->microbatches);
    for (uint32_t rank = 0; rank < loop->schedule->n_ranks; rank++)
        for (uint32_t i = 0; i < loop->schedule->ranks[rank].n; i++) {
            const struct task *task = &loop->schedule->ranks[rank].tasks[i];
            loop->positions[task_slot(s, task->kind, task->stage, task->microbatch)] = i;
            if (task->kind == TASK_BACKWARD)
                loop->positions[task_slot(s, TASK_WEIGHTS, task->stage, task->microbatch)] = i;
        }
}

static double begin_of(const struct task_loop *loop, uint32_t task, int64_t microbatch) {
    const struct task_block *block = &loop->tasks[task];
    const struct task of = {
        .kind = block->kind, .stage = block->stage, .microbatch = (uint32_t)microbatch};
    return simulation_begin(&loop->simulation, &of);
}

// Tasks of a stage in one direction are in the order of microbatches.
static void find_lag(const struct splitter *s, const struct task_loop *loop,
                     struct message *message) {
    for (int64_t m = 0; m < s->microbatches; m++)
        while (m + message->lag < s->microbatches &&
               begin_of(loop, message->from, m + message->lag) < begin_of(loop, message->to, m))
            message->lag++;
}

// From where on something of a microbatch is in a buffer, and behind which position of the rank's list no longer:
// that of its last task, or the one in front of which a message with it is waited for.
struct lifetime {
    uint32_t begin, end;
};

static bool carries(const struct message *message, buffer_id buffer) {
    for (uint32_t k = 0; k < message->n; k++)
        if (message->items[k].buffer == buffer)
            return true;
    return false;
}

static void add_sent(const struct splitter *s, const struct task_loop *loop,
                     const struct message *sent, int64_t m, struct lifetime *life) {
    const struct task_block *from = &loop->tasks[sent->from];
    if (m + sent->lag >= s->microbatches) {
        life->end = UINT32_MAX;
        return;
    }
    uint32_t wait = loop->positions[task_slot(s, from->kind, from->stage, m + sent->lag)] - 1;
    life->end = wait > life->end ? wait : life->end;
}

static void add_task(const struct splitter *s, const struct task_loop *loop, buffer_id buffer,
                     const struct task_block *task, int64_t m, struct lifetime *life) {
    uint32_t at = loop->positions[task_slot(s, task->kind, task->stage, m)];
    life->begin = at < life->begin ? at : life->begin;
    life->end = at > life->end ? at : life->end;
    for (uint32_t i = task->first_sent; i > 0; i = loop->messages[i - 1].next_sent)
        if (carries(&loop->messages[i - 1], buffer))
            add_sent(s, loop, &loop->messages[i - 1], m, life);
    for (uint32_t i = task->first_received; i > 0; i = loop->messages[i - 1].next_received) {
        const struct message *message = &loop->messages[i - 1];
        if (carries(message, buffer) && message->started[m] < life->begin)
            life->begin = message->started[m];
    }
}

static struct lifetime lifetime_of(struct splitter *s, const struct task_loop *loop,
                                   buffer_id buffer, const struct stage_use *home, int64_t m) {
    struct lifetime life = {.begin = UINT32_MAX};
    for (struct stage_use *use = s->buffers[buffer].uses; use; use = use->next)
        for (enum task_kind kind = 0; kind < N_TASK_KINDS && home_of(use) == home; kind++) {
            const struct task_block *task = find_block(s, loop, kind, use->stage);
            if (task && use->kinds >> kind & 1)
                add_task(s, loop, buffer, task, m, &life);
        }
    return life;
}

// Slots in turn, so that no two microbatches of which something is there at once have the same: as many as from
// the first of them to the last. `ends` is room for all.
static int64_t in_flight(struct splitter *s, const struct task_loop *loop, buffer_id buffer,
                         const struct stage_use *home, uint32_t *ends) {
    int64_t most = 1, first = 0;
    for (int64_t m = 0; m < s->microbatches; m++) {
        struct lifetime life = lifetime_of(s, loop, buffer, home, m);
        if (life.begin == UINT32_MAX) // the step has no such task
            return 1;
        ends[m] = m > 0 && ends[m - 1] > life.end ? ends[m - 1] : life.end; // so far
        while (first < m && ends[first] < life.begin)
            first++;
        most = m - first + 1 > most ? m - first + 1 : most;
    }
    return most;
}

static void count_in_flight(struct splitter *s, struct task_loop *loop) {
    uint32_t *ends = ARENA_ARRAY(s->scratch, uint32_t, (size_t)s->microbatches);
    for (buffer_id i = 0; i < s->whole->n_buffers; i++)
        for (struct stage_use *use = s->buffers[i].uses; use && passes_on(&s->buffers[i]);
             use = use->next) {
            if (use->home)
                continue;
            int64_t here = in_flight(s, loop, i, use, ends);
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
            all[(*n)++] =
                (struct arrival){.message = i,
                                 .sender = rank_of_stage(s, from->stage),
                                 .microbatch = m,
                                 .sent = loop->positions[task_slot(s, from->kind, from->stage, m)],
                                 .read = loop->positions[task_slot(s, to->kind, to->stage, m)]};
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

// Microbatches of one message start in their order, and are waited for in it.
static void count_receives(const struct splitter *s, const struct task_loop *loop,
                           struct message *message) {
    const struct task_block *to = &loop->tasks[message->to];
    int64_t last = 0;
    message->slots = 1;
    for (int64_t m = 0; m < s->microbatches; m++) {
        uint32_t read = loop->positions[task_slot(s, to->kind, to->stage, m)];
        while (last + 1 < s->microbatches && message->started[last + 1] <= read)
            last++;
        message->slots = last - m + 1 > message->slots ? last - m + 1 : message->slots;
    }
}

// ---- beside tasks -----------------------------------------------------------------------------

static bool beside_equal(const struct beside *a, const struct beside *b) {
    bool equal = a->settles == b->settles && a->n == b->n;
    for (uint32_t i = 0; equal && i < a->n; i++)
        equal = a->starts[i].message == b->starts[i].message &&
                a->starts[i].later == b->starts[i].later;
    return equal;
}

// Those of the neighbours are mostly the same.
static uint32_t number_of(struct splitter *s, struct task_loop *loop, const struct beside *beside) {
    for (uint32_t i = loop->n_besides; i > 0; i--)
        if (beside_equal(&loop->besides[i - 1], beside))
            return i;
    struct beside made = *beside;
    made.starts = arena_copy(s->scratch, made.starts, made.n * sizeof *made.starts);
    ARENA_PUSH(s->scratch, loop->besides, loop->n_besides, loop->cap_besides, made);
    return loop->n_besides;
}

static uint32_t settled_by(const struct splitter *s, const struct task_loop *loop,
                           const struct task *of) {
    uint32_t settles = 0;
    for (enum task_kind kind = 0; kind < N_TASK_KINDS; kind++) {
        const struct task_block *block = find_block(s, loop, kind, of->stage);
        for (uint32_t i = block && task_does(of->kind, kind) ? block->first_sent : 0; i > 0;
             i = loop->messages[i - 1].next_sent)
            if (of->microbatch >= loop->messages[i - 1].lag)
                settles |= 1u << loop->messages[i - 1].bit;
    }
    return settles;
}

static void list_tasks(struct splitter *s, struct task_loop *loop, uint32_t rank) {
    size_t n, next = 0;
    struct arrival *all = arrivals_at(s, loop, rank, &n);
    struct rank_tasks *list = &loop->lists[rank];
    struct early_receive *starts = ARENA_ARRAY(s->scratch, struct early_receive, n + 1);
    start_receives(s, loop, all, n);
    *list = loop->schedule->ranks[rank];
    list->tasks = arena_copy(s->scratch, list->tasks, list->n * sizeof *list->tasks);
    for (uint32_t i = 0; i < list->n; i++) {
        struct beside beside = {.settles = settled_by(s, loop, &list->tasks[i]), .starts = starts};
        for (; next < n && all[next].read == i; next++)
            starts[beside.n++] = (struct early_receive){
                all[next].message, all[next].microbatch - list->tasks[i].microbatch};
        list->tasks[i].beside = number_of(s, loop, &beside);
    }
    CHECK(next == n);
}

void order_tasks(struct splitter *s) {
    for (int kind = 0; kind < N_STEPS; kind++) {
        struct task_loop *loop = &s->loops[kind];
        if (!loop->loop)
            continue;
        const struct schedule *schedule = s->pipeline->schedule;
        loop->schedule = kind == STEP_TRAIN ? schedule : forward_only(s, schedule);
        CHECK(schedule_simulate(s->scratch, loop->schedule, NULL, &loop->simulation));
        find_positions(s, loop);
        for (uint32_t i = 0; i < loop->n_messages; i++)
            find_lag(s, loop, &loop->messages[i]);
        loop->lists = ARENA_ARRAY(s->scratch, struct rank_tasks, schedule->n_ranks);
        for (uint32_t rank = 0; rank < schedule->n_ranks; rank++)
            list_tasks(s, loop, rank);
        for (uint32_t i = 0; i < loop->n_messages; i++)
            count_receives(s, loop, &loop->messages[i]);
        count_in_flight(s, loop);
    }
}
