// Schedules of pipelines: how a text names what a task is, and methods; which tasks send what they make.
#include "ir/schedule.h"

const char task_letters[N_TASK_KINDS] = {
    [TASK_FORWARD] = 'F',
    [TASK_BACKWARD] = 'B',
    [TASK_INPUTS] = 'I',
    [TASK_WEIGHTS] = 'W',
};

const char *const method_names[N_METHODS] = {
#define METHOD(ID, name, map, chunks, order, lead, splits) name,
#include "ir/methods.def"
#undef METHOD
};

bool task_is_sent(const struct schedule *s, const struct task *task, uint32_t *reader) {
    bool forward = task->kind == TASK_FORWARD;
    *reader = forward ? task->stage + 1 : task->stage - 1;
    return task->kind != TASK_WEIGHTS && task->stage != (forward ? s->n_stages - 1 : 0) &&
           s->rank_of[*reader] != s->rank_of[task->stage];
}
