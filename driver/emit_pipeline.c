// placec emit --as=pipeline: the schedule as PyTorch's torch.distributed.pipelining reads it, in today's dialect. A
// line for each rank; a cell for each step of a time in which every task takes one, so that columns show who is idle
// when. With --comms cells stand in the order of each rank alone, with what it sends behind the task that makes it, and
// what it receives in front of the task that reads it. `schedule from` reads both back.
#include <stdlib.h>

#include "driver/emit_pipeline.h"
#include "driver/report_pipeline.h"

static void print_task(const struct task *task, FILE *to) {
    fprintf(to, "%u%c%u", task->stage, task_letters[task->kind], task->microbatch);
}

// Whether the task at the place stands in one cell with the next one.
static bool is_pair(const struct rank_tasks *list, uint32_t at) {
    return list->tasks[at].overlapped && at + 1 < list->n;
}

// Prints one cell; returns how many tasks are in it.
static uint32_t print_cell(const struct rank_tasks *list, uint32_t at, FILE *to) {
    if (!is_pair(list, at)) {
        print_task(&list->tasks[at], to);
        return 1;
    }
    fputc('(', to);
    print_task(&list->tasks[at], to);
    fputc(';', to);
    print_task(&list->tasks[at + 1], to);
    fputs(")OVERLAP_F_B", to);
    return 2;
}

// Two tasks side by side are in the column of the first.
static void print_rank(const struct rank_tasks *list, const uint32_t *steps, FILE *to) {
    uint32_t column = 0;
    for (uint32_t i = 0; i < list->n;) {
        for (; column < steps[i]; column++)
            fputc(',', to);
        i += print_cell(list, i, to);
    }
    fputc('\n', to);
}

// ---- with messages ----------------------------------------------------------------------------

// A message to a rank. `before`: the place in its list in front of which it is received.
struct arrival {
    uint32_t from, stage, microbatch, before, order;
    bool forward;
};

struct arrivals {
    struct arrival *items;
    uint32_t n, cap;
};

static size_t slot_of(const struct schedule *s, bool forward, uint32_t stage, uint32_t m) {
    return ((size_t)!forward * s->n_stages + stage) * s->n_microbatches + m;
}

// The cell of each task that may read a message, as the place of the first task in it.
static uint32_t *find_cells(struct arena *arena, const struct schedule *s) {
    uint32_t *cells = ARENA_ARRAY(arena, uint32_t, (size_t)2 * s->n_stages * s->n_microbatches);
    for (uint32_t rank = 0; rank < s->n_ranks; rank++)
        for (uint32_t i = 0, cell = 0; i < s->ranks[rank].n; i++) {
            const struct task *task = &s->ranks[rank].tasks[i];
            cell = i > cell && is_pair(&s->ranks[rank], i - 1) && cell == i - 1 ? cell : i;
            if (task->kind != TASK_WEIGHTS)
                cells[slot_of(s, task->kind == TASK_FORWARD, task->stage, task->microbatch)] = cell;
        }
    return cells;
}

static int by_place(const void *left, const void *right) {
    const struct arrival *a = left, *b = right;
    if (a->before != b->before)
        return a->before < b->before ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

// What each rank receives, in order. From one rank it is what that one sent first: so what is read late is received
// before what was sent behind it.
static struct arrivals *find_arrivals(struct arena *arena, const struct schedule *s) {
    const uint32_t *cells = find_cells(arena, s);
    struct arrivals *all = ARENA_ARRAY(arena, struct arrivals, s->n_ranks);
    uint32_t reader;
    for (uint32_t rank = 0; rank < s->n_ranks; rank++)
        for (uint32_t i = 0; i < s->ranks[rank].n; i++) {
            const struct task *task = &s->ranks[rank].tasks[i];
            if (!task_is_sent(s, task, &reader))
                continue;
            bool forward = task->kind == TASK_FORWARD;
            struct arrivals *to = &all[s->rank_of[reader]];
            struct arrival arrival = {rank,
                                      reader,
                                      task->microbatch,
                                      cells[slot_of(s, forward, reader, task->microbatch)],
                                      to->n,
                                      forward};
            ARENA_PUSH(arena, to->items, to->n, to->cap, arrival);
        }
    for (uint32_t rank = 0; rank < s->n_ranks; rank++) {
        struct arrivals *of = &all[rank];
        for (uint32_t i = of->n; i-- > 1;)
            if (of->items[i - 1].from == of->items[i].from &&
                of->items[i].before < of->items[i - 1].before)
                of->items[i - 1].before = of->items[i].before;
        if (of->n > 0)
            qsort(of->items, of->n, sizeof *of->items, by_place);
    }
    return all;
}

static bool is_backward(const struct task *task) {
    return task->kind != TASK_FORWARD && task->kind != TASK_WEIGHTS;
}

// What backward begins with was made of what forward sent, so nobody waits for that long.
static void print_waits_of_forward(const struct schedule *s, const struct task *task, FILE *to) {
    uint32_t reader;
    struct task forward = {
        .kind = TASK_FORWARD, .stage = task->stage, .microbatch = task->microbatch};
    if (is_backward(task) && task_is_sent(s, &forward, &reader))
        fprintf(to, ",%uWAIT_SEND_F%u", task->stage, task->microbatch);
}

static void print_waits_of_backward(const struct schedule *s, const struct rank_tasks *list,
                                    FILE *to) {
    uint32_t reader;
    for (uint32_t i = 0; i < list->n; i++)
        if (is_backward(&list->tasks[i]) && task_is_sent(s, &list->tasks[i], &reader))
            fprintf(to, ",%uWAIT_SEND_B%u", list->tasks[i].stage, list->tasks[i].microbatch);
}

static void print_with_messages(const struct schedule *s, uint32_t rank,
                                const struct arrivals *arrivals, FILE *to) {
    const struct rank_tasks *list = &s->ranks[rank];
    uint32_t next = 0, reader;
    for (uint32_t i = 0; i < list->n;) {
        uint32_t first = i;
        fputs(i ? "," : "", to);
        for (; next < arrivals->n && arrivals->items[next].before == i; next++)
            fprintf(to, "%uRECV_%c%u,", arrivals->items[next].stage,
                    arrivals->items[next].forward ? 'F' : 'B', arrivals->items[next].microbatch);
        i += print_cell(list, i, to);
        for (uint32_t k = first; k < i; k++)
            if (task_is_sent(s, &list->tasks[k], &reader))
                fprintf(to, ",%uSEND_%c%u", list->tasks[k].stage,
                        list->tasks[k].kind == TASK_FORWARD ? 'F' : 'B', list->tasks[k].microbatch);
        for (uint32_t k = first; k < i; k++)
            print_waits_of_forward(s, &list->tasks[k], to);
    }
    print_waits_of_backward(s, list, to);
    fputc('\n', to);
}

// ---- the whole --------------------------------------------------------------------------------

int emit_pipeline(struct compilation *c, bool with_messages, FILE *to) {
    static const uint32_t one[N_TASK_KINDS] = {1, 1, 1, 1};
    const struct schedule *schedule = c->placement.pipeline.schedule;
    if (!schedule)
        return pipeline_missing(c);
    struct arrivals *arrivals = with_messages ? find_arrivals(&c->arena, schedule) : NULL;
    uint32_t **steps = with_messages ? NULL : schedule_begins(&c->arena, schedule, one);
    for (uint32_t rank = 0; rank < schedule->n_ranks; rank++) {
        if (with_messages)
            print_with_messages(schedule, rank, &arrivals[rank], to);
        else
            print_rank(&schedule->ranks[rank], steps[rank], to);
    }
    return STATUS_OK;
}
