// placec check --timeline: who computes what when, where every stage takes as long as any other. A line for each rank,
// with a cell for each unit of time, as far as the terminal reaches:
//
//     rank 0 F0 F1 .. B0 -- F2 B1 -- ...
//     rank 1 .. F0 B0 -- F1 B1 -- F2 ...
//
// Two dots are idle, dashes go on with the task before them, three dots say that it goes on. A task names its stage where a rank has several.
#include <string.h>
#include <unistd.h>

#include "driver/report_pipeline.h"
#include "driver/timeline.h"
#include "runtime/host/columns.h"

static struct timeline timeline_of(struct compilation *c) {
    const struct schedule *schedule = c->placement.pipeline.schedule;
    struct timeline made = {.of = schedule,
                            .begins = schedule_begins(&c->arena, schedule, task_units)};
    for (uint32_t rank = 0; rank < schedule->n_ranks; rank++)
        for (uint32_t i = 0; i < schedule->ranks[rank].n; i++) {
            uint32_t end = made.begins[rank][i] + task_units[schedule->ranks[rank].tasks[i].kind];
            made.end = end > made.end ? end : made.end;
        }
    return made;
}

struct cells {
    int label;      // characters of each
    uint32_t shown; // how many fit
    bool names_stages;
};

static int digits(uint32_t number) {
    int n = 1;
    for (; number >= 10; number /= 10)
        n++;
    return n;
}

static const char cut[] = " ...";
enum { LEAST_SHOWN = 1 };

static struct cells cells_for(const struct compilation *c, const struct timeline *timeline,
                              int columns) {
    const struct schedule *s = timeline->of;
    struct cells cells = {.names_stages = c->placement.pipeline.n_chunks > 1};
    cells.label =
        1 + digits(s->n_microbatches - 1) + (cells.names_stages ? digits(s->n_stages - 1) : 0);
    int cell = 1 + cells.label;
    if ((int64_t)timeline->end * cell <= columns) {
        cells.shown = timeline->end;
        return cells;
    }
    int fit = (columns - (int)strlen(cut)) / cell;
    cells.shown = (uint32_t)(fit < LEAST_SHOWN ? LEAST_SHOWN : fit);
    return cells;
}

// The same in each of the cells up to a time.
static void fill(const struct cells *cells, const char *with, uint32_t *now, uint32_t until,
                 FILE *to) {
    for (; *now < until && *now < cells->shown; ++*now)
        fprintf(to, " %*s", cells->label, with);
}

static void print_rank(const struct timeline *timeline, const struct cells *cells, uint32_t rank,
                       FILE *to) {
    const struct rank_tasks *list = &timeline->of->ranks[rank];
    uint32_t now = 0;
    for (uint32_t i = 0; i < list->n && now < cells->shown; i++) {
        const struct task *task = &list->tasks[i];
        uint32_t begin = timeline->begins[rank][i];
        fill(cells, "..", &now, begin, to);
        if (begin >= cells->shown)
            break;
        char label[32];
        int n = cells->names_stages ? snprintf(label, sizeof label, "%u", task->stage) : 0;
        snprintf(label + n, sizeof label - (size_t)n, "%c%u", task_letters[task->kind],
                 task->microbatch);
        fprintf(to, " %*s", cells->label, label);
        now++;
        fill(cells, "--", &now, begin + task_units[task->kind], to);
    }
    fill(cells, "..", &now, timeline->end, to);
    fprintf(to, "%s\n", cells->shown < timeline->end ? cut : "");
}

static void print_timeline(struct compilation *c, const struct timeline *timeline, FILE *to) {
    int rank_digits = digits(timeline->of->n_ranks - 1);
    struct cells cells = cells_for(
        c, timeline, terminal_columns(fileno(to)) - (int)strlen("    rank ") - rank_digits);
    fprintf(to, "\n  timeline, if all stages take one time: F%s 1, B 2\n",
            timeline->of->splits_backward ? ", I and W take" : " takes");
    for (uint32_t rank = 0; rank < timeline->of->n_ranks; rank++) {
        fprintf(to, "    rank %*u", rank_digits, rank);
        print_rank(timeline, &cells, rank, to);
    }
}

int draw_timeline(struct compilation *c, const struct options *options) {
    const char *path = options->values[OPTION_TIMELINE];
    if (!is_pipelined(c))
        return pipeline_missing(c);
    struct timeline timeline = timeline_of(c);
    if (*path)
        return write_picture(c, &timeline, path);
    print_timeline(c, &timeline, stdout);
    return STATUS_OK;
}
