// How long a step of a pipeline takes at least. A rank does its tasks in order, and each waits for what other ranks
// have made. So a step is no shorter than its schedule, simulated with what each task takes, and what a rank does
// around its tasks comes on top of that.
//
// The labels in a rank's program say what is done in which task. What all tasks of a stage and a kind ask of the
// device is spread evenly over them, since they do the same for one microbatch after the other. Each thing that may be
// what is waited for (operations, memory, a link) is simulated alone, as if tasks took nothing else: the longest of
// these is the least. Where nothing overlaps, a task takes the sum of them.
#include <math.h>

#include "ir/check.h"
#include "passes/account/account.h"
#include "passes/pipeline/order.h"

struct tasks {
    struct arena arena;
    const struct job *job;
    const struct schedule *schedule;
    const struct step_work *works; // of one call, by unit
    // What is asked of a rank, by stage and kind of task, of all microbatches together; behind these, by rank, around
    // tasks.
    struct demand *demands;
    uint32_t n_lanes;        // of stages and kinds
    uint32_t *n_tasks;       // of each
    struct step_time *times; // of the demands
};

static size_t lane_of(uint32_t stage, enum task_kind kind) {
    return (size_t)stage * N_TASK_KINDS + kind;
}

// ---- what is asked ----------------------------------------------------------------------------

// The demand that counts what stands behind a label. A person may have written one that the schedule has no task for.
static struct demand *demand_behind(const struct tasks *t, const struct task_label *label,
                                    uint32_t rank) {
    bool is_task = label->kind != N_TASK_KINDS && label->stage < t->schedule->n_stages &&
                   t->n_tasks[lane_of(label->stage, label->kind)] > 0;
    return &t->demands[is_task ? lane_of(label->stage, label->kind) : t->n_lanes + rank];
}

static double copied_by_device(const struct program *program, const struct statement_walk *walk) {
    const struct transfer *start = &walk->statement->start;
    double bytes = 0;
    for (uint32_t i = 0; i < start->n_pieces; i++) {
        const struct transfer_piece *piece = &start->pieces[i];
        if (program->buffers[piece->from.buffer].tier == TIER_DEVICE ||
            program->buffers[piece->to.buffer].tier == TIER_DEVICE)
            bytes += (double)account_copied(program, start, i) *
                     (double)account_trips_of_copy(program, walk, piece);
    }
    return bytes;
}

static void ask(const struct tasks *t, struct demand *demand, struct counting *counting,
                const struct statement_walk *walk) {
    const struct program *program = counting->program;
    const struct statement *s = walk->statement;
    int64_t every = counting->step == STEP_AVERAGE ? program->job->policy.average_every : 1;
    counting->rows = demand->transfers;
    count_statement(counting, walk);
    demand->transfers = counting->rows;
    if (s->kind == STATEMENT_CALL && counting->step == STEP_TRAIN)
        account_add_work(&demand->work, &t->works[s->call.unit],
                         (double)account_trips(program, walk));
    else if (s->kind == STATEMENT_START && is_copy(&s->start))
        demand->host_link_bytes += copied_by_device(program, walk) / (double)every;
}

// What a rank does in a training step, or in the average behind some, which has no tasks.
static void ask_for_step(struct tasks *t, uint32_t rank, enum step_kind step) {
    const struct program *program = t->job->programs[rank];
    struct counting counting = {.program = program, .phase = PHASE_FORWARD, .step = step};
    struct demand *demand = &t->demands[t->n_lanes + rank];
    struct statement_walk walk = walk_statements(&program->steps[step].body);
    while (walk_next(&walk))
        if (walk.statement->kind == STATEMENT_TASK)
            demand = demand_behind(t, &walk.statement->task, rank);
        else
            ask(t, demand, &counting, &walk);
}

static const struct step_work *works_of_units(struct tasks *t) {
    struct step_work *works = ARENA_ARRAY(&t->arena, struct step_work, t->job->n_units + 1);
    for (uint32_t i = 0; i < t->job->n_units; i++)
        works[i] = account_work_of_unit(t->job, &t->job->units[i]);
    return works;
}

static void count_tasks(struct tasks *t) {
    t->n_tasks = ARENA_ARRAY(&t->arena, uint32_t, t->n_lanes);
    for (uint32_t rank = 0; rank < t->schedule->n_ranks; rank++)
        for (uint32_t i = 0; i < t->schedule->ranks[rank].n; i++) {
            const struct task *task = &t->schedule->ranks[rank].tasks[i];
            t->n_tasks[lane_of(task->stage, task->kind)]++;
        }
}

static void find_demands(struct tasks *t) {
    uint32_t n = t->n_lanes + t->schedule->n_ranks;
    t->works = works_of_units(t);
    count_tasks(t);
    t->demands = ARENA_ARRAY(&t->arena, struct demand, n);
    for (uint32_t i = 0; i < n; i++)
        t->demands[i].transfers.arena = &t->arena;
    for (uint32_t rank = 0; rank < t->schedule->n_ranks; rank++) {
        ask_for_step(t, rank, STEP_TRAIN);
        ask_for_step(t, rank, STEP_AVERAGE);
    }
}

// ---- how long it takes ------------------------------------------------------------------------

// What a demand takes of one thing. Not known: nothing.
static double compute_of(const struct step_time *time, unsigned axis) {
    return fmax(time->compute_s, 0);
}

static double memory_of(const struct step_time *time, unsigned axis) {
    return fmax(time->memory_s, 0);
}

static double host_link_of(const struct step_time *time, unsigned axis) {
    return fmax(time->host_link_s, 0);
}

static double link_of(const struct step_time *time, unsigned axis) {
    return fmax(time->axes[axis].seconds, 0);
}

static double all_of(const struct step_time *time, unsigned axis) {
    return fmax(time->worst_s, 0);
}

// How long a step is where its parts take so much.
static double step_of(struct tasks *t, double (*seconds)(const struct step_time *, unsigned axis),
                      unsigned axis) {
    double *lengths = ARENA_ARRAY(&t->arena, double, t->n_lanes), longest = 0;
    for (uint32_t lane = 0; lane < t->n_lanes; lane++)
        if (t->n_tasks[lane] > 0)
            lengths[lane] = seconds(&t->times[lane], axis) / t->n_tasks[lane];
    const double *ends = schedule_ends(&t->arena, t->schedule, lengths);
    for (uint32_t rank = 0; rank < t->schedule->n_ranks; rank++)
        longest = fmax(longest, ends[rank] + seconds(&t->times[t->n_lanes + rank], axis));
    return longest;
}

// The time of all demands together, for each of the ranks.
static struct step_time mean_time(struct tasks *t, const struct device_config *device) {
    struct demand all = {.transfers.arena = &t->arena};
    double share = 1.0 / t->schedule->n_ranks;
    for (uint32_t i = 0; i < t->n_lanes + t->schedule->n_ranks; i++) {
        const struct demand *one = &t->demands[i];
        account_add_work(&all.work, &one->work, 1);
        all.host_link_bytes += one->host_link_bytes;
        for (uint32_t k = 0; k < one->transfers.n; k++)
            rows_add(&all.transfers, &one->transfers.items[k]);
    }
    struct step_time mean = account_time_of(t->job, &all, device);
    mean.work = (struct step_work){0};
    account_add_work(&mean.work, &all.work, share);
    mean.compute_s *= share;
    mean.memory_s *= share;
    mean.host_link_bytes *= share;
    mean.host_link_s *= share;
    for (uint32_t axis = 0; axis < t->job->mesh.n_axes; axis++) {
        mean.axes[axis].bytes *= share;
        mean.axes[axis].hops *= share;
        mean.axes[axis].seconds *= share;
        mean.axes[axis].slowest.seconds *= share;
    }
    mean.best_s *= share;
    mean.worst_s *= share;
    return mean;
}

struct step_time account_pipeline_time(const struct job *job, const struct schedule *schedule,
                                       const struct device_config *device) {
    CHECK(job->n_programs == schedule->n_ranks);
    struct tasks t = {
        .job = job, .schedule = schedule, .n_lanes = schedule->n_stages * N_TASK_KINDS};
    find_demands(&t);
    t.times = ARENA_ARRAY(&t.arena, struct step_time, t.n_lanes + schedule->n_ranks);
    for (uint32_t i = 0; i < t.n_lanes + schedule->n_ranks; i++)
        t.times[i] = account_time_of(job, &t.demands[i], device);
    struct step_time time = mean_time(&t, device);
    if (time.best_s >= 0) {
        double longest = fmax(step_of(&t, compute_of, 0), step_of(&t, memory_of, 0));
        longest = fmax(longest, step_of(&t, host_link_of, 0));
        for (uint32_t axis = 0; axis < job->mesh.n_axes; axis++)
            longest = fmax(longest, step_of(&t, link_of, axis));
        time.idle_s = fmax(longest - time.best_s, 0);
        time.best_s = fmax(longest, time.best_s);
        time.worst_s = fmax(step_of(&t, all_of, 0), time.worst_s);
    }
    arena_free(&t.arena);
    return time;
}
