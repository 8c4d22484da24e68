// place, said schedule: whether what a file says is an order of the tasks of this pipeline: its rows the ranks, its
// stages the list's, each task once, on its rank, behind what it reads; and whether that order runs. All of it is told
// at cells of the file.
#include <inttypes.h>
#include <string.h>

#include "ir/diagnostic.h"
#include "passes/placement/pipeline.h"
#include "passes/placement/place.h"
#include "passes/placement/reports.h"

static const struct pipeline_config *said(const struct placing *p) {
    return &p->config->strategy.pipeline;
}

static const struct schedule *order(const struct placing *p) {
    return said(p)->file->schedule;
}

// The cell of a task; of one that is missing its rank's row ends there.
static struct span cell_at(const struct placing *p, struct task_place place) {
    const struct schedule_file *file = said(p)->file;
    if (place.index < file->schedule->ranks[place.rank].n)
        return file->tasks[place.rank][place.index];
    struct span row = file->ranks[place.rank];
    return span_of(row.source, row.end, row.end);
}

static bool same_task(const struct task *a, const struct task *b) {
    return a->kind == b->kind && a->stage == b->stage && a->microbatch == b->microbatch;
}

// The first of these tasks in its rank's list, which it is in.
static struct span cell_of(const struct placing *p, const struct task *task) {
    struct task_place place = {order(p)->rank_of[task->stage], 0};
    const struct rank_tasks *list = &order(p)->ranks[place.rank];
    while (place.index < list->n && !same_task(&list->tasks[place.index], task))
        place.index++;
    return cell_at(p, place);
}

static struct diagnostic *report_cell(struct placing *p, struct span span, const char *message) {
    struct diagnostic *d = report(p->diagnostics, E333, span, "%s", message);
    diagnostic_note_at(d, said(p)->method_span, "the file is named here");
    if (said(p)->origin.inner)
        diagnostic_origin(d, &said(p)->origin);
    return d;
}

// ---- sizes ------------------------------------------------------------------------------------

bool check_said_ranks(struct placing *p, uint32_t n_ranks) {
    const struct schedule_file *file = said(p)->file;
    uint32_t n = file->schedule->n_ranks;
    if (n == n_ranks)
        return true;
    struct diagnostic *d = report_cell(
        p, file->ranks[n > n_ranks ? n_ranks : n - 1],
        arena_format(p->arena,
                     "the file has rows for %u rank%s, and there %s %u device%s over `%s`", n,
                     plural_s(n), n_ranks == 1 ? "is" : "are", n_ranks, plural_s(n_ranks),
                     axes_text(p, &said(p)->axes)));
    diagnostic_say(d, n > n_ranks ? "the first row too many" : "the last row");
    diagnostic_help(d, "a file is for one number of devices: write one for %u", n_ranks);
    return false;
}

// A cell with the greatest stage, or the greatest microbatch.
static struct span greatest(const struct placing *p, bool stage) {
    const struct schedule *s = order(p);
    for (uint32_t rank = 0; rank < s->n_ranks; rank++)
        for (uint32_t i = 0; i < s->ranks[rank].n; i++) {
            const struct task *task = &s->ranks[rank].tasks[i];
            if (stage ? task->stage + 1 == s->n_stages : task->microbatch + 1 == s->n_microbatches)
                return cell_at(p, (struct task_place){rank, i});
        }
    return said(p)->method_span;
}

bool check_said_stages(struct placing *p) {
    uint32_t n = order(p)->n_stages, listed = said(p)->n_stages;
    if (listed == 0 || listed == n)
        return true;
    struct diagnostic *d =
        report_cell(p, greatest(p, true),
                    arena_format(p->arena, "the file has %u stage%s, and `stages` has %u", n,
                                 plural_s(n), listed));
    diagnostic_note_at(d, said(p)->stages_span, "the list has an entry for each stage");
    diagnostic_help(d, "let the compiler choose: `stages = auto`");
    diagnostic_edit(d, said(p)->stages_span, "auto");
    return false;
}

static bool check_microbatches(struct placing *p) {
    uint32_t n = order(p)->n_microbatches, m = (uint32_t)p->placement->microbatches;
    int64_t told = said(p)->microbatches;
    if (n != m) {
        struct diagnostic *d =
            report_cell(p, greatest(p, false),
                        arena_format(p->arena, "the file has %u microbatch%s, and a step has %u", n,
                                     n == 1 ? "" : "es", m));
        propose_number_of_microbatches(p, d, n, n);
        return false;
    }
    if (told == 0 || told == n)
        return true;
    struct diagnostic *d =
        report(p->diagnostics, E333, said(p)->microbatches_span,
               "the file has %u microbatch%s, not %" PRId64, n, n == 1 ? "" : "es", told);
    diagnostic_help(d, "say `microbatches = %u`, or leave it out", n);
    diagnostic_edit(d, said(p)->microbatches_span, "%u", n);
    return false;
}

// ---- tasks ------------------------------------------------------------------------------------

static bool check_tasks(struct placing *p) {
    struct schedule_fault fault;
    if (!schedule_is_wrong(p->arena, order(p), &fault))
        return true;
    const struct rank_tasks *list = &order(p)->ranks[fault.place.rank];
    struct span at = cell_at(p, fault.place);
    struct diagnostic *d = report_cell(p, at, fault.what);
    diagnostic_help(d, "%s", fault.help);
    if (fault.place.index == list->n) {
        diagnostic_say(d, "its row ends here");
        return false;
    }
    const struct task *task = &list->tasks[fault.place.index];
    struct span first = cell_of(p, task);
    if (!span_equal(first, at))
        diagnostic_label(d, first, "the first time");
    return false;
}

enum { CYCLE_LABELS = 4 };

// What the first stage adds to what the last makes comes behind that on their rank.
static void report_early(struct placing *p, const struct waiting_task *early) {
    struct diagnostic *d =
        report_cell(p, cell_of(p, &early->task), "this comes before what it adds to");
    diagnostic_say(d, "embedding and head are one table, whose summands are added first");
    diagnostic_label(d, cell_of(p, &early->read), "the head's");
    diagnostic_help(d, "let the last stage make its weights' gradients first%s",
                    p->placement->ordered ? ", or leave out `reproducible`" : "");
}

static uint32_t index_in(const struct rank_tasks *list, const struct task *task) {
    uint32_t i = 0;
    while (i < list->n && !same_task(&list->tasks[i], task))
        i++;
    return i;
}

// Whether the schedule runs with a task moved in front of another of its rank.
static bool runs_moved(struct placing *p, const struct schedule *schedule, const struct task *task,
                       const struct task *before) {
    struct schedule moved = *schedule;
    struct simulation simulation;
    uint32_t rank = schedule->rank_of[task->stage];
    moved.ranks = arena_copy(p->arena, schedule->ranks, schedule->n_ranks * sizeof *moved.ranks);
    struct rank_tasks *list = &moved.ranks[rank];
    list->tasks = arena_copy(p->arena, list->tasks, list->n * sizeof *list->tasks);
    uint32_t from = index_in(list, task), to = index_in(list, before);
    if (from >= list->n || to >= from)
        return false;
    struct task held = list->tasks[from];
    memmove(&list->tasks[to + 1], &list->tasks[to], (from - to) * sizeof *list->tasks);
    list->tasks[to] = held;
    return !schedule_is_wrong(p->arena, &moved, NULL) &&
           schedule_simulate(p->arena, &moved, NULL, &simulation);
}

// What a task of the cycle reads stands behind the next task of the cycle, on that one's rank.
static void help_run(struct placing *p, struct diagnostic *d, const struct schedule *schedule,
                     const struct simulation *simulation) {
    for (uint32_t i = 0; i < simulation->n_cycle && i < CYCLE_LABELS; i++) {
        const struct task *read = &simulation->cycle[i].read;
        const struct task *kept = &simulation->cycle[(i + 1) % simulation->n_cycle].task;
        if (!runs_moved(p, schedule, read, kept))
            continue;
        diagnostic_help(d, "let `%s` come before `%s`", task_text(p->arena, schedule, read),
                        task_text(p->arena, schedule, kept));
        return;
    }
    diagnostic_help(d, "begin with the order of a method, which runs: `placec emit --as=pipeline` "
                       "writes it");
}

static bool check_runs(struct placing *p, const struct schedule *schedule) {
    struct simulation simulation;
    if (schedule_simulate(p->arena, schedule, NULL, &simulation))
        return true;
    const struct waiting_task *cycle = simulation.cycle;
    if (simulation.n_cycle == 1) {
        report_early(p, cycle);
        return false;
    }
    struct diagnostic *d = report_cell(
        p, cell_of(p, &cycle[0].task),
        arena_format(p->arena, "in this order %u tasks wait for each other", simulation.n_cycle));
    diagnostic_say(d, "waits for %s, which stands behind another that waits",
                   task_text(p->arena, schedule, &cycle[0].read));
    for (uint32_t i = 1; i < simulation.n_cycle && i <= CYCLE_LABELS; i++)
        diagnostic_label(d, cell_of(p, &cycle[i].task), "waits for %s",
                         task_text(p->arena, schedule, &cycle[i].read));
    help_run(p, d, schedule, &simulation);
    return false;
}

// ---- the whole --------------------------------------------------------------------------------

const struct schedule *check_said_schedule(struct placing *p) {
    struct schedule *schedule = arena_copy(p->arena, order(p), sizeof *order(p));
    schedule->sums_ends = sums_ends(p, schedule);
    bool good = check_microbatches(p) && check_tasks(p) && check_runs(p, schedule);
    return good ? schedule : NULL;
}
