// placec emit --as=pipeline: the schedule as PyTorch's torch.distributed.pipelining reads it, in today's dialect. A
// line for each rank; a cell for each step of a time in which every task takes one, so that columns show who is idle
// when. `schedule from` reads it back.
#include "driver/emit_pipeline.h"
#include "driver/report_pipeline.h"

static void print_task(const struct task *task, FILE *to) {
    fprintf(to, "%u%c%u", task->stage, task_letters[task->kind], task->microbatch);
}

// Prints a row; two tasks side by side stand in the cell of the first.
static void print_rank(const struct rank_tasks *list, const uint32_t *steps, FILE *to) {
    uint32_t column = 0;
    for (uint32_t i = 0; i < list->n; i++) {
        for (; column < steps[i]; column++)
            fputc(',', to);
        bool pair = list->tasks[i].overlapped && i + 1 < list->n;
        fputs(pair ? "(" : "", to);
        print_task(&list->tasks[i], to);
        if (pair) {
            fputc(';', to);
            print_task(&list->tasks[++i], to);
            fputs(")OVERLAP_F_B", to);
        }
    }
    fputc('\n', to);
}

int emit_pipeline(struct compilation *c, FILE *to) {
    const struct schedule *schedule = c->placement.pipeline.schedule;
    if (!schedule)
        return pipeline_missing(c);
    static const uint32_t one[N_TASK_KINDS] = {1, 1, 1, 1};
    uint32_t **steps = schedule_begins(&c->arena, schedule, one);
    for (uint32_t rank = 0; rank < schedule->n_ranks; rank++)
        print_rank(&schedule->ranks[rank], steps[rank], to);
    return STATUS_OK;
}
