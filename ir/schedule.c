// Schedules of pipelines: how a text names what a task is, and methods.
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
