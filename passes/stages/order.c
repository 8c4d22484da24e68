// Stages, order: what each rank does when, by when messages have arrived, and how many microbatches are in flight.
//
// A send is waited for where it is known to have been received, so that nobody waits: where the tasks that read it
// have begun, if each takes one unit of time, before a later task like the sender's. Whatever tasks really take,
// waiting there ends, since no task waits for one that begins later in that time; and of those that begin at one time
// each waits for one of the next stage, or in backward of the one before, which goes round nowhere.
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
                                  (size_t)2 * s->pipeline->n_stages * (size_t)s->microbatches);
    for (uint32_t rank = 0; rank < loop->schedule->n_ranks; rank++)
        for (uint32_t i = 0; i < loop->schedule->ranks[rank].n; i++) {
            const struct task *task = &loop->schedule->ranks[rank].tasks[i];
            loop->positions[task_slot(s, task->kind, task->stage, task->microbatch)] = i;
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

// The position behind which a microbatch's item is no longer needed: that of its last task, or the one in front of
// which its message is waited for.
static uint32_t end_of(const struct splitter *s, const struct task_loop *loop,
                       const struct stage_use *use, const struct message *sent, int64_t m) {
    uint32_t end = 0;
    for (unsigned kind = 0; kind < N_TASK_KINDS; kind++)
        if (use->kinds >> kind & 1) {
            uint32_t at = loop->positions[task_slot(s, (enum task_kind)kind, use->stage, m)];
            end = at > end ? at : end;
        }
    if (!sent)
        return end;
    const struct task_block *from = &loop->tasks[sent->from];
    if (m + sent->lag >= s->microbatches)
        return UINT32_MAX;
    uint32_t wait = loop->positions[task_slot(s, from->kind, from->stage, m + sent->lag)] - 1;
    return wait > end ? wait : end;
}

static uint32_t begin_of_use(const struct splitter *s, const struct task_loop *loop,
                             const struct stage_use *use, int64_t m) {
    uint32_t begin = UINT32_MAX;
    for (unsigned kind = 0; kind < N_TASK_KINDS; kind++)
        if (use->kinds >> kind & 1) {
            uint32_t at = loop->positions[task_slot(s, (enum task_kind)kind, use->stage, m)];
            begin = at < begin ? at : begin;
        }
    return begin;
}

static const struct message *message_with(const struct task_loop *loop, buffer_id buffer,
                                          uint32_t stage) {
    const struct message *latest = NULL;
    for (uint32_t i = 0; i < loop->n_messages; i++) {
        const struct message *message = &loop->messages[i];
        for (uint32_t k = 0; k < message->n && loop->tasks[message->from].stage == stage; k++)
            if (message->items[k].buffer == buffer && (!latest || message->lag > latest->lag))
                latest = message;
    }
    return latest;
}

// Slots in turn, so that no two microbatches of which something is there at once have the same: as many as from
// the first of them to the last. `ends` is room for all.
static int64_t in_flight(const struct splitter *s, const struct task_loop *loop,
                         const struct stage_use *use, const struct message *sent, uint32_t *ends) {
    int64_t most = 1, first = 0;
    for (int64_t m = 0; m < s->microbatches; m++) {
        uint32_t end = end_of(s, loop, use, sent, m);
        ends[m] = m > 0 && ends[m - 1] > end ? ends[m - 1] : end; // so far
        uint32_t begin = begin_of_use(s, loop, use, m);
        while (first < m && ends[first] < begin)
            first++;
        most = m - first + 1 > most ? m - first + 1 : most;
    }
    return most;
}

// Many buffers of a stage are touched by the same tasks.
struct known {
    uint32_t stage;
    unsigned kinds;
    const struct message *sent;
    int64_t in_flight;
};

static void count_in_flight(struct splitter *s, struct task_loop *loop) {
    uint32_t *ends = ARENA_ARRAY(s->scratch, uint32_t, (size_t)s->microbatches);
    unsigned all = 0;
    for (uint32_t i = 0; i < loop->n; i++)
        all |= 1u << loop->tasks[i].kind;
    struct known *known = ARENA_ARRAY(s->scratch, struct known, s->pipeline->n_stages);
    for (buffer_id i = 0; i < s->whole->n_buffers; i++)
        for (struct stage_use *use = s->buffers[i].uses; use && passes_on(&s->buffers[i]);
             use = use->next) {
            const struct message *sent =
                loop->n_messages ? message_with(loop, i, use->stage) : NULL;
            struct known *last = &known[use->stage];
            struct stage_use here = *use;
            here.kinds &= all;
            if (!here.kinds)
                continue;
            if (!last->in_flight || last->kinds != here.kinds || last->sent != sent)
                *last = (struct known){use->stage, here.kinds, sent,
                                       in_flight(s, loop, &here, sent, ends)};
            if (last->in_flight > use->in_flight)
                use->in_flight = last->in_flight;
        }
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
        count_in_flight(s, loop);
    }
}
