// A schedule in time: every rank does its tasks in order, each as soon as what it reads is there;
// messages take no time. So it is found what a schedule costs in idle time, how much a rank holds,
// and whether it runs at all. Each task is looked at once, whatever the order of ranks.
#include "ir/check.h"
#include "ir/ir.h"
#include "passes/passes.h"
#include "passes/pipeline/order.h"

const uint32_t task_units[N_TASK_KINDS] = {
    [TASK_FORWARD] = 1,
    [TASK_BACKWARD] = 2,
    [TASK_INPUTS] = 1,
    [TASK_WEIGHTS] = 1,
};

struct rank_clock {
    uint32_t next;     // of its tasks
    double now, begin; // begin: of its first task
    double busy;
};

struct run {
    const struct schedule *s;
    const double *weights;  // of stages; NULL: 1 for all
    const uint32_t *units;  // that tasks of a kind take
    const double *lengths;  // of tasks, by stage and kind, in place of both; NULL: they have these
    uint32_t **task_begins; // by rank and place in its list; NULL: nobody asks
    struct rank_clock *clocks;
    // By (forward, inputs or all of backward, weights; stage; microbatch): when it began and ended,
    // negative: not yet, and the rank that waits for it, from 1 on.
    double *begins, *ends;
    uint32_t *waiters;
    uint32_t *ready, n_ready; // ranks whose next task may be able to run
};

enum { FORWARD_SLOT, INPUTS_SLOT, WEIGHTS_SLOT, N_SLOT_KINDS };

// Where times are.
static size_t slot_of(const struct schedule *s, unsigned kind, uint32_t stage, uint32_t m) {
    return ((size_t)kind * s->n_stages + stage) * s->n_microbatches + m;
}

static size_t slot_of_task(const struct schedule *s, const struct task *task) {
    unsigned kind = task->kind == TASK_FORWARD   ? FORWARD_SLOT
                    : task->kind == TASK_WEIGHTS ? WEIGHTS_SLOT
                                                 : INPUTS_SLOT;
    return slot_of(s, kind, task->stage, task->microbatch);
}

// What a task reads of another stage: of which kind it is there.
struct task_read {
    unsigned kind;
    uint32_t stage;
};

static unsigned task_reads(const struct schedule *s, const struct task *task,
                           struct task_read reads[2]) {
    uint32_t last = s->n_stages - 1;
    unsigned n = 0;
    if (task->kind == TASK_FORWARD && task->stage > 0)
        reads[n++] = (struct task_read){FORWARD_SLOT, task->stage - 1};
    if ((task->kind == TASK_BACKWARD || task->kind == TASK_INPUTS) && task->stage < last)
        reads[n++] = (struct task_read){INPUTS_SLOT, task->stage + 1};
    if ((task->kind == TASK_BACKWARD || task->kind == TASK_WEIGHTS) && s->sums_ends &&
        task->stage == 0 && last > 0)
        reads[n++] = (struct task_read){WEIGHTS_SLOT, last};
    return n;
}

// What of it is not there yet. NULL: all is, since then.
static const struct task_read *lacking(const struct run *run, const struct task *task,
                                       struct task_read reads[2], double *since) {
    unsigned n = task_reads(run->s, task, reads);
    for (unsigned i = 0; i < n; i++) {
        double end = run->ends[slot_of(run->s, reads[i].kind, reads[i].stage, task->microbatch)];
        if (end < 0)
            return &reads[i];
        *since = end > *since ? end : *since;
    }
    return NULL;
}

static double length_of(const struct run *run, const struct task *task) {
    if (run->lengths)
        return run->lengths[(size_t)task->stage * N_TASK_KINDS + task->kind];
    return run->units[task->kind] * (run->weights ? run->weights[task->stage] : 1);
}

static void finish(struct run *run, size_t slot, double begin, double end) {
    run->begins[slot] = begin;
    run->ends[slot] = end;
    if (run->waiters[slot])
        run->ready[run->n_ready++] = run->waiters[slot] - 1;
}

// Runs a rank until it has to wait; ranks that waited for what it did may go on then.
static void advance(struct run *run, uint32_t rank) {
    struct rank_clock *clock = &run->clocks[rank];
    const struct rank_tasks *list = &run->s->ranks[rank];
    for (; clock->next < list->n; clock->next++) {
        const struct task *task = &list->tasks[clock->next];
        double begin = clock->now;
        struct task_read reads[2];
        const struct task_read *lacks = lacking(run, task, reads, &begin);
        if (lacks) {
            run->waiters[slot_of(run->s, lacks->kind, lacks->stage, task->microbatch)] = rank + 1;
            return;
        }
        double length = length_of(run, task);
        if (clock->next == 0)
            clock->begin = begin;
        if (run->task_begins)
            run->task_begins[rank][clock->next] = (uint32_t)begin;
        clock->busy += length;
        clock->now = begin + length;
        finish(run, slot_of_task(run->s, task), begin, clock->now);
        if (task->kind == TASK_BACKWARD) // its weights, too
            finish(run, slot_of(run->s, WEIGHTS_SLOT, task->stage, task->microbatch), begin,
                   clock->now);
    }
}

// The task of a rank that makes what is read.
static const struct task *maker_of(const struct schedule *s, const struct task_read *read,
                                   uint32_t microbatch) {
    const struct rank_tasks *list = &s->ranks[s->rank_of[read->stage]];
    uint32_t i = 0;
    while (i < list->n &&
           !(list->tasks[i].stage == read->stage && list->tasks[i].microbatch == microbatch &&
             (slot_of_task(s, &list->tasks[i]) == slot_of(s, read->kind, read->stage, microbatch) ||
              (list->tasks[i].kind == TASK_BACKWARD && read->kind == WEIGHTS_SLOT))))
        i++;
    CHECK(i < list->n);
    return &list->tasks[i];
}

// From a rank that waits to the one that it waits for, until one comes again: from there on it is a
// circle.
static void find_cycle(struct arena *arena, const struct run *run, uint32_t rank,
                       struct simulation *out) {
    const struct schedule *s = run->s;
    uint32_t *place = ARENA_ARRAY(arena, uint32_t, s->n_ranks), n = 0; // from 1 on
    struct waiting_task *tasks = ARENA_ARRAY(arena, struct waiting_task, s->n_ranks);
    while (place[rank] == 0) {
        const struct task *task = &s->ranks[rank].tasks[run->clocks[rank].next];
        struct task_read reads[2];
        double since = 0;
        const struct task_read *lacks = lacking(run, task, reads, &since);
        CHECK(lacks);
        tasks[n++] = (struct waiting_task){*task, *maker_of(s, lacks, task->microbatch)};
        place[rank] = n;
        rank = s->rank_of[lacks->stage];
    }
    out->cycle = tasks + place[rank] - 1;
    out->n_cycle = n - (place[rank] - 1);
}

// ---- what ranks hold ---------------------------------------------------------------------------

static void count_held(const struct rank_tasks *list, struct rank_load *load) {
    uint32_t held = 0, until_inputs = 0;
    for (uint32_t i = 0; i < list->n; i++) {
        enum task_kind kind = list->tasks[i].kind;
        held += kind == TASK_FORWARD;
        until_inputs += kind == TASK_FORWARD;
        load->in_flight = held > load->in_flight ? held : load->in_flight;
        load->until_inputs = until_inputs > load->until_inputs ? until_inputs : load->until_inputs;
        held -= kind == TASK_BACKWARD || kind == TASK_WEIGHTS;
        until_inputs -= kind == TASK_BACKWARD || kind == TASK_INPUTS;
    }
}

// A heap of when messages that were sent are read, the earliest first.
static void heap_push(double *heap, uint32_t *n, double value) {
    uint32_t at = (*n)++;
    for (; at > 0 && heap[(at - 1) / 2] > value; at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = value;
}

static void heap_pop(double *heap, uint32_t *n) {
    double last = heap[--*n];
    uint32_t at = 0;
    for (uint32_t child; (child = 2 * at + 1) < *n; at = child) {
        child += child + 1 < *n && heap[child + 1] < heap[child];
        if (heap[child] >= last)
            break;
        heap[at] = heap[child];
    }
    heap[at] = last;
}

// A message is sent when its task has ended, and read when the task that needs it begins.
static void count_sends(const struct run *run, uint32_t rank, double *heap,
                        struct rank_load *load) {
    const struct schedule *s = run->s;
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->ranks[rank].n; i++) {
        const struct task *task = &s->ranks[rank].tasks[i];
        unsigned reads = task->kind == TASK_FORWARD ? FORWARD_SLOT : INPUTS_SLOT;
        uint32_t reader;
        if (!task_is_sent(s, task, &reader))
            continue;
        double sent = run->ends[slot_of_task(s, task)];
        double begins = run->begins[slot_of(s, reads, reader, task->microbatch)];
        while (n > 0 && heap[0] <= sent)
            heap_pop(heap, &n);
        if (begins > sent)
            heap_push(heap, &n, begins);
        load->sends = n > load->sends ? n : load->sends;
    }
}

// ---- the whole ---------------------------------------------------------------------------------

static struct fraction fraction_of(double numerator, double denominator) {
    int64_t n = (int64_t)numerator, d = (int64_t)denominator;
    if (n == 0 || d == 0)
        return (struct fraction){0, 1};
    int64_t common = greatest_common_divisor(n, d);
    return (struct fraction){n / common, d / common};
}

static void count_idle(const struct run *run, struct simulation *out) {
    uint32_t p = run->s->n_ranks;
    double busy = 0;
    for (uint32_t rank = 0; rank < p; rank++) {
        const struct rank_clock *clock = &run->clocks[rank];
        out->makespan = clock->now > out->makespan ? clock->now : out->makespan;
        out->spans += clock->now - clock->begin;
        busy += clock->busy;
    }
    out->idle = p * out->makespan - busy;
    out->span_idle = out->spans - busy;
    if (run->weights)
        return;
    out->bubble = fraction_of(out->idle, p * out->makespan);
    out->span_bubble = fraction_of(out->span_idle, out->spans);
}

// Lets every rank go as far as it comes.
static void run_all(struct arena *arena, const struct schedule *s, struct run *run) {
    size_t n_slots = (size_t)N_SLOT_KINDS * s->n_stages * s->n_microbatches;
    run->clocks = ARENA_ARRAY(arena, struct rank_clock, s->n_ranks);
    run->begins = ARENA_ARRAY(arena, double, n_slots);
    run->ends = ARENA_ARRAY(arena, double, n_slots);
    run->waiters = ARENA_ARRAY(arena, uint32_t, n_slots);
    run->ready = ARENA_ARRAY(arena, uint32_t, s->n_ranks);
    for (size_t i = 0; i < n_slots; i++)
        run->ends[i] = -1;
    for (uint32_t rank = s->n_ranks; rank-- > 0;)
        run->ready[run->n_ready++] = rank;
    while (run->n_ready > 0)
        advance(run, run->ready[--run->n_ready]);
}

bool schedule_simulate(struct arena *arena, const struct schedule *s, const double *weights,
                       struct simulation *out) {
    size_t most = 0;
    struct run run = {.s = s, .weights = weights, .units = task_units};
    run_all(arena, s, &run);
    *out = (struct simulation){
        .of = s, .begins = run.begins, .ranks = ARENA_ARRAY(arena, struct rank_load, s->n_ranks)};
    for (uint32_t rank = 0; rank < s->n_ranks; rank++) {
        most = s->ranks[rank].n > most ? s->ranks[rank].n : most;
        if (run.clocks[rank].next < s->ranks[rank].n) {
            find_cycle(arena, &run, rank, out);
            return false;
        }
    }
    double *heap = ARENA_ARRAY(arena, double, most);
    for (uint32_t rank = 0; rank < s->n_ranks; rank++) {
        count_held(&s->ranks[rank], &out->ranks[rank]);
        count_sends(&run, rank, heap, &out->ranks[rank]);
    }
    count_idle(&run, out);
    return true;
}

uint32_t **schedule_begins(struct arena *arena, const struct schedule *s,
                           const uint32_t units[N_TASK_KINDS]) {
    struct run run = {
        .s = s, .units = units, .task_begins = ARENA_ARRAY(arena, uint32_t *, s->n_ranks)};
    for (uint32_t rank = 0; rank < s->n_ranks; rank++)
        run.task_begins[rank] = ARENA_ARRAY(arena, uint32_t, s->ranks[rank].n);
    run_all(arena, s, &run);
    return run.task_begins;
}

double *schedule_ends(struct arena *arena, const struct schedule *s, const double *lengths) {
    struct run run = {.s = s, .lengths = lengths};
    double *ends = ARENA_ARRAY(arena, double, s->n_ranks);
    run_all(arena, s, &run);
    for (uint32_t rank = 0; rank < s->n_ranks; rank++) {
        CHECK(run.clocks[rank].next == s->ranks[rank].n);
        ends[rank] = run.clocks[rank].now;
    }
    return ends;
}

double simulation_begin(const struct simulation *simulation, const struct task *task) {
    return simulation->begins[slot_of_task(simulation->of, task)];
}
